/* A growable byte buffer with a maximum. Always NUL-terminated behind its length once something was added. */
#ifndef TENDER_BASE_BUF_H
#define TENDER_BASE_BUF_H

#include "base/err.h"
#include <stddef.h>

struct buf {
    char *bytes; /* NULL until the first addition; owned */
    size_t length;
    size_t capacity;
    size_t max_bytes; /* an addition beyond it fails */
};

#define BUF_INIT(max) ((struct buf){.max_bytes = (max)})

void buf_done(struct buf *buf);  /* frees the bytes; the buffer may be used again */
void buf_clear(struct buf *buf); /* length 0, memory kept */
int buf_add(struct buf *buf, const void *bytes, size_t length, struct err *e) MUST_CHECK;
int buf_add_text(struct buf *buf, const char *text, struct err *e) MUST_CHECK;
int buf_printf(struct buf *buf, struct err *e, const char *format, ...) PRINTF_LIKE(3, 4) MUST_CHECK;
/* The text, "" if nothing was added. Borrowed. */
const char *buf_text(const struct buf *buf);

#endif
