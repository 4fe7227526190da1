/* Which proxy a URL is reached through: one rule for packages, Fleet's API and Git, so that no library's own
 * reading of the environment counts. */
#ifndef TENDER_NET_PROXY_H
#define TENDER_NET_PROXY_H

#include "base/err.h"
#include <stdbool.h>

/* The proxy for an http or https URL by the environment: `https_proxy` or `HTTPS_PROXY` for https,
 * `http_proxy` or `HTTP_PROXY` for http, else `all_proxy` or `ALL_PROXY`; the lower case wins, empty is
 * unset. *out is "scheme://[userinfo@]host:port", the caller's to free; NULL: none, or the host is excepted.
 * One whose login can't be told from its host with certainty is refused (ERR_CONFIG; the text shows none of
 * it).
 */
int proxy_for(const char *url, char **out, struct err *e) MUST_CHECK;
/* Whether `no_proxy` (or `NO_PROXY`) excepts the URL's host: names (and what ends with them, with or without
 * a dot in front), addresses, blocks of addresses as 10.0.0.0/8, with commas or blanks between; "*": all. */
bool proxy_excepts(const char *no_proxy, const char *url);
/* An HTTP proxy speaks for itself: it may answer plain requests and CONNECT on its own. */
bool proxy_speaks_http(const char *proxy);

#endif
