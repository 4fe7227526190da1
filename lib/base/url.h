/* What all stages ask of a URL, without decoding or re-encoding it. Parsing for requests is libcurl's job
 * (net/). */
#ifndef TENDER_BASE_URL_H
#define TENDER_BASE_URL_H

#include <stdbool.h>
#include <stddef.h>

enum { URL_TEXT_BYTES = 1024, URL_HOST_BYTES = 264 };

/* The URL as it may be shown: userinfo as "***@", the query as "?…" , the fragment dropped, control bytes and
 * what is no UTF-8 as '?', cut at the end with "…". What can't be taken apart with certainty (a password with
 * a bare '/' in it) is shown as its scheme and three stars. Works on any text; what is not a URL comes
 * through with the same rules. Returns out.
 */
const char *url_redact(const char *url, char *out, size_t size);
/* "host:port" in lower case with the scheme's default port filled in; "" if there is no host, or one that two
 * readers may read differently (blanks, a backslash). Returns out. */
const char *url_host(const char *url, char *out, size_t size);
/* The last path segment, percent-decoded for people to read, without query; "" if none. Returns out. */
const char *url_file_name(const char *url, char *out, size_t size);
bool url_is_http(const char *url); /* http:// or https://, with a host; a port is 1 to 65535 */
/* The same, and other URLs may begin with it: no query, no fragment, no blank. */
bool url_is_prefix(const char *url);

#endif
