/* What the text writers share: a page whose first error sticks, and text that fits a terminal. For this
 * folder only. */
#ifndef TENDER_REPORT_PAGE_H
#define TENDER_REPORT_PAGE_H

#include "report/report.h"
#include <jansson.h>

struct page {
    struct buf *out;
    struct err *e;
    bool failed; /* an addition failed: the rest does nothing */
    bool color;
    int width; /* columns to wrap at; 0: lines are not wrapped */
};

enum paint { PAINT_NONE, PAINT_BOLD, PAINT_DIM, PAINT_GREEN, PAINT_YELLOW, PAINT_RED };

void page_printf(struct page *page, const char *format, ...) PRINTF_LIKE(2, 3);
/* Text of unknown origin: control characters, which a terminal would obey, become '?'. */
void page_text(struct page *page, const char *text);
void page_painted(struct page *page, enum paint paint, const char *text);
/* Pads with blanks to `columns`; a longer text is cut with "…". */
void page_cell(struct page *page, const char *text, int columns, bool to_the_right);
/* `lead` stands before the first line; the following ones are indented as far. Ends with a line end. */
void page_paragraph(struct page *page, const char *lead, const char *text);
/* Columns that a terminal needs for the text. Own table, since wcwidth knows nothing in the C locale. */
int text_columns(const char *text);
int page_result(const struct page *page); /* 0 / -1 */
/* "file:line:column", without what is not known; "" for nowhere. Returns out. */
const char *place_text(const struct place *place, char *out, size_t size);
enum { PLACE_TEXT_BYTES = 640 };
/* "1 error", "2 errors" */
void page_count(struct page *page, size_t count, const char *one, const char *many);
/* URL whole but for userinfo, malloc'ed; NULL when out of memory. */
char *url_without_userinfo(const char *url) MUST_CHECK;

/* text_items.c */
void text_write_changes(struct page *page, const struct run_report *report);
void text_write_troubles(struct page *page, const struct run_report *report);
void text_write_kept(struct page *page, const struct run_report *report);

/* text_manifests.c */
void text_write_diagnostics(struct page *page, const struct diagnostic *diagnostics, size_t count);
int text_diagnostics(const struct desired *desired, const struct report_style *style, struct buf *out,
                     struct err *e);
int text_show(const struct desired *desired, const struct report_style *style, struct buf *out,
              struct err *e);

/* text.c */
struct page page_open(const struct report_style *style, struct buf *out, struct err *e);
int text_run(const struct run_report *report, const struct report_style *style, struct buf *out,
             struct err *e);

/* json.c, json_manifests.c */
int json_run(const struct run_report *report, const struct report_style *style, struct buf *out,
             struct err *e);
int json_diagnostics(const struct desired *desired, const struct report_style *style, struct buf *out,
                     struct err *e);
int json_show(const struct desired *desired, const struct report_style *style, struct buf *out,
              struct err *e);

/* text_settings.c, json_settings.c */
int text_settings(const struct settings *settings, const struct report_style *style, struct buf *out,
                  struct err *e);
int json_settings(const struct settings *settings, const struct report_style *style, struct buf *out,
                  struct err *e);

/* github.c, sarif.c, gitlab.c */
int github_diagnostics(const struct desired *desired, const struct report_style *style, struct buf *out,
                       struct err *e);
int sarif_diagnostics(const struct desired *desired, const struct report_style *style, struct buf *out,
                      struct err *e);
int gitlab_diagnostics(const struct desired *desired, const struct report_style *style, struct buf *out,
                       struct err *e);

/* Of a finding's `related` in a document: more say nothing. */
enum { RELATED_MOST = 1000 };
/* message.c: the text, then trail and advice, if any, each between `before` and `after`. malloc'ed; NULL when
 * out of memory. */
char *finding_message(const struct diagnostic *diagnostic, const char *before, const char *after) MUST_CHECK;

/* fingerprint.c */

/* The same for the same fault in the same file, also where lines were added above it; the faults of one
 * document all differ. `hex` has one for each diagnostic. */
int fingerprints(const struct desired *desired, char (**hex)[DIGEST_HEX_BYTES], struct err *e) MUST_CHECK;

/* Values that a document is built of. Bytes that are no UTF-8 become U+FFFD. NULL when out of memory. */
json_t *json_text(const char *text); /* NULL: "" */
json_t *json_text_or_null(const char *text);
json_t *json_texts(const struct string_list *list);
json_t *json_diagnostic_list(const struct diagnostic *diagnostics, size_t count, bool errors_only);
/* Takes over `value`; a NULL value or a failure is remembered in *failed. */
void json_put(json_t *object, const char *name, json_t *value, bool *failed);
void json_add(json_t *array, json_t *value, bool *failed);
/* Writes the document with two blanks of indentation and a line end; takes it over. */
int json_write(json_t *document, bool failed, struct buf *out, struct err *e) MUST_CHECK;

#endif
