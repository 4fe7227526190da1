/* What the first bytes of a file say it is. Pure. */
#ifndef TENDER_FETCH_SNIFF_H
#define TENDER_FETCH_SNIFF_H

#include <stdbool.h>
#include <stddef.h>

/* So many first bytes are enough for every check. */
enum { SNIFF_BYTES = 512 };

/* Why these first bytes can't be a package named `file_name` ("an HTML page, not a pkg"); NULL if they can.
 * A name without a known extension accepts everything that is not plainly something else. Constant text. */
const char *sniff_refuse(const char *file_name, const void *bytes, size_t length);
/* What the bytes plainly are, though nobody wants it: "an HTML page", "a Git LFS pointer"; NULL otherwise. */
const char *sniff_impostor(const void *bytes, size_t length);
/* Whether the name's extension says what the bytes must be. */
bool sniff_knows(const char *file_name);

#endif
