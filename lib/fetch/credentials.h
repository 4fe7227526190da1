/* What a request takes along to prove who asks: by the rule of the very URL that is asked, so that a redirect
 * to another origin finds no rule, or that origin's own. Inside of lib/fetch only. */
#ifndef TENDER_FETCH_CREDENTIALS_H
#define TENDER_FETCH_CREDENTIALS_H

#include "base/buf.h"
#include "model/settings.h"

struct credentials {
    const char *header; /* a whole header line; NULL: none */
    const char *username, *password;
    const char *client_cert, *client_key;              /* files, PEM */
    struct buf header_text, password_text, netrc_text; /* what was read from files */
};

/* `source_url`: what was asked before any redirect. A netrc entry names a host only, and its default every
 * one: it holds for the origin of the source, never for the one that a redirect names. For credentials_done()
 * in any case. -1: a file that is named can't be read, or does not hold what it must.
 */
int credentials_find(struct credentials *credentials, const struct settings *settings, const char *url,
                     const char *source_url, struct err *e) MUST_CHECK;
void credentials_done(struct credentials *credentials); /* wipes them */
/* Whether anything would be sent to this URL. */
bool credentials_exist(const struct settings *settings, const char *url, const char *source_url);
/* The entry of a netrc file for the host, or its default; false: none. The text is cut into its words. */
bool netrc_find(char *text, const char *host, const char **username, const char **password);

#endif
