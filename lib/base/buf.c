/* Text and bodies that are built piece by piece: API answers, reports, messages. */
#include "base/buf.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_done(struct buf *buf)
{
    free(buf->bytes);
    *buf = BUF_INIT(buf->max_bytes);
}

void buf_clear(struct buf *buf)
{
    buf->length = 0;
    if (buf->bytes != NULL)
        buf->bytes[0] = '\0';
}

static int reserve(struct buf *buf, size_t more, struct err *e)
{
    if (more > buf->max_bytes - buf->length)
        return err_set(e, ERR_MEMORY, "more than %zu bytes", buf->max_bytes);
    size_t needed = buf->length + more + 1;
    if (needed <= more) /* a maximum near SIZE_MAX */
        return err_set(e, ERR_MEMORY, "out of memory");
    if (needed <= buf->capacity)
        return 0;
    size_t capacity = buf->capacity < 128 ? 128 : buf->capacity * 2;
    if (capacity < needed)
        capacity = needed;
    char *bytes = realloc(buf->bytes, capacity);
    if (bytes == NULL)
        return err_set(e, ERR_MEMORY, "out of memory");
    buf->bytes = bytes;
    buf->capacity = capacity;
    return 0;
}

int buf_add(struct buf *buf, const void *bytes, size_t length, struct err *e)
{
    if (reserve(buf, length, e) < 0)
        return -1;
    if (length > 0)
        memcpy(buf->bytes + buf->length, bytes, length);
    buf->length += length;
    buf->bytes[buf->length] = '\0';
    return 0;
}

int buf_add_text(struct buf *buf, const char *text, struct err *e)
{
    return buf_add(buf, text, strlen(text), e);
}

int buf_printf(struct buf *buf, struct err *e, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    int result =
        length < 0 ? err_set(e, ERR_SYSTEM, "text can't be formatted") : reserve(buf, (size_t)length, e);
    if (result == 0) {
        vsnprintf(buf->bytes + buf->length, (size_t)length + 1, format, again);
        buf->length += (size_t)length;
    }
    va_end(again);
    return result;
}

const char *buf_text(const struct buf *buf)
{
    return buf->bytes == NULL ? "" : buf->bytes;
}
