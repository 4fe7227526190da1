/* The name that a download should have. Pure. */
#ifndef TENDER_FETCH_DISPOSITION_H
#define TENDER_FETCH_DISPOSITION_H

#include <stdbool.h>
#include <stddef.h>

enum { FILE_NAME_BYTES = 256 };

/* The file name in a Content-Disposition value (RFC 6266: filename* before filename), decoded and made
 * harmless: no folders, no control bytes, not "." or "..", at most 255 bytes (the extension is kept). False:
 * it has none. */
bool disposition_file_name(const char *value, char out[FILE_NAME_BYTES]);
/* RFC 6266, else the final URL's last segment, else the original URL's; "package" if nothing is left.
 * `disposition` and `final_url` may be NULL. Returns out. */
const char *disposition_choose(const char *disposition, const char *final_url, const char *original_url,
                               char out[FILE_NAME_BYTES]);

#endif
