/* How the simulated server fetches a package itself: one plain GET over http, redirects followed, nothing
 * resumed and nothing retried, as Fleet 4.69 does it. Errors have Go's words, for they come back through the
 * poll. */
#ifndef FLEETSIM_DOWNLOAD_H
#define FLEETSIM_DOWNLOAD_H

#include "base/digest.h"
#include "sim.h"

struct download {
    char *path; /* owned: a temporary file in the store's folder; removed by download_done if still there */
    char file_name[1024];
    char sha256[DIGEST_HEX_BYTES];
};

int download_fetch(struct sim *sim, const char *url, struct download *out, struct err *e) MUST_CHECK;
void download_done(struct download *download);

#endif
