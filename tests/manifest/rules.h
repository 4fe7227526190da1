/* Which rules of the format, of the field tables and which rows of the field reports have a case of their own
 * in invalid/. */
#ifndef TENDER_TESTS_MANIFEST_RULES_H
#define TENDER_TESTS_MANIFEST_RULES_H

#include <stdbool.h>
#include <stddef.h>

enum { RULES_MAX = 400, RULE_BYTES = 64 };

struct rules {
    char names[RULES_MAX][RULE_BYTES];
    bool has_case[RULES_MAX];
    size_t count;
};

/* Every rule that must have a case: those of the table in lib/manifest/schema.c, of the list in rules.c, and
 * the rows of field-reports F. */
void rules_collect(struct rules *rules);
/* Notes the case's words behind "# breaks:". False, and a line on stdout, for a word that is no rule, and for
 * a case that names none. */
bool rules_note(struct rules *rules, const char *name, const char *text, size_t length);
/* The rules without a case, each told on stdout; their number. */
size_t rules_missing(const struct rules *rules);

#endif
