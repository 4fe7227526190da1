/* Inside lib/manifest: names as people write them, and as Fleet compares them. The only user of libutf8proc.
 */
#ifndef TENDER_MANIFEST_NAMES_H
#define TENDER_MANIFEST_NAMES_H

#include "base/arena.h"
#include <stdbool.h>

/* Without blanks at both ends, in Unicode's form NFC: what Fleet keeps. *out is NULL if `text` is no UTF-8.
 * In the arena. */
int name_normalise(struct arena *arena, const char *text, const char **out, struct err *e) MUST_CHECK;
/* What two names have in common that Fleet's database takes for one: letters' case, accents, compatible forms
 * and characters that are not seen are ignored, and all characters beyond U+FFFF (emoji) are alike. `name` is
 * UTF-8. NULL when out of memory. */
const char *name_fold(struct arena *arena, const char *name, struct err *e) MUST_CHECK;
/* A character that no name, path or URL may hold: ASCII and C1 control characters, line ends too; its offset,
 * or -1. */
long name_find_control(const char *text);

#endif
