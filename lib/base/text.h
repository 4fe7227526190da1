/* Small questions about text that several stages ask. No allocation. */
#ifndef TENDER_BASE_TEXT_H
#define TENDER_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool text_equal(const char *a, const char *b); /* NULL equals NULL only */
bool text_is_empty(const char *text);          /* NULL or "" */
bool text_starts_with(const char *text, const char *prefix);
bool text_ends_with(const char *text, const char *suffix);
/* ASCII letters without regard to case. */
bool text_ends_with_ignoring_case(const char *text, const char *suffix);
/* Puts `mark` in the place of each occurrence of `word`, in place; `mark` must not be longer than `word`. */
void text_replace(char *text, const char *word, const char *mark);
/* Edits (insert, delete, replace, swap of neighbours) between two words of at most 63 bytes; a large number
 * for longer ones. */
unsigned text_edit_distance(const char *a, const char *b);
/* The candidate nearest to `word` that is near enough to be what was meant (at most a third of its letters
 * differ, one in a short word, '-' counts as '_'); NULL if none. */
const char *text_nearest(const char *word, const char *const *candidates, size_t count);
enum { TEXT_SIZE_BYTES = 32 };
/* "812 bytes", "1.4 MiB" */
const char *text_size(uint64_t bytes, char out[TEXT_SIZE_BYTES]);
/* Copies at most size - 1 bytes of printable text: the first line that is not blank, what is no UTF-8 and
 * control characters as '?', cut with "…" if it does not fit. The result is valid UTF-8. */
const char *text_first_line(const char *text, size_t length, char *out, size_t size);
/* What makes a terminal do things, or shows a text in another order than it has: the controls C0, C1 and DEL,
 * line and paragraph separators, and the controls of writing direction (Unicode UAX 9). */
bool text_character_deceives(unsigned character);
/* Copies `length` bytes as text that a terminal and a JSON writer can take: characters that deceive (line
 * ends too) and bytes that are no UTF-8 become `instead`; cut with "…" if it does not fit into `size`.
 * Returns out. */
const char *text_printable(const char *text, size_t length, char instead, char *out, size_t size);
/* The bytes that begin a character of UTF-8. */
size_t text_count_characters(const char *text, size_t length);
/* Ends a text that did not fit into its `size` bytes with "…" (where that fits), not in the middle of a
 * character. */
void text_mark_cut(char *text, size_t size);
/* Valid UTF-8 (RFC 3629: no surrogates, no overlong forms). On false, *bad_offset (may be NULL) is the first
 * bad byte. */
bool text_is_utf8(const char *text, size_t length, size_t *bad_offset);

#endif
