/* Inside lib/manifest: a JSON document written from front to back. The first error sticks. */
#ifndef TENDER_MANIFEST_JSON_WRITER_H
#define TENDER_MANIFEST_JSON_WRITER_H

#include "base/buf.h"
#include <stdint.h>

struct json_writer {
    struct buf *out;
    struct err *e;
    bool failed;
    bool has_sibling; /* something stands before the next value */
    int depth;
};

/* `name` is the member's name; NULL in an array, and for the document itself. */
void write_open(struct json_writer *writer, const char *name, char bracket); /* '{' or '[' */
void write_close(struct json_writer *writer, char bracket);                  /* '}' or ']' */
void write_text(struct json_writer *writer, const char *name, const char *text);
void write_number(struct json_writer *writer, const char *name, int64_t number);
void write_fraction(struct json_writer *writer, const char *name, double number);
void write_truth(struct json_writer *writer, const char *name, bool is_true);
/* The texts up to the first NULL, as an array. */
void write_texts(struct json_writer *writer, const char *name, const char *const *texts);
int write_end(struct json_writer *writer) MUST_CHECK; /* a line end, and 0 / -1 */

#endif
