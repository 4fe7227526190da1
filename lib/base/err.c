/* Errors as plain values: every stage fills one, the report and the exit status are made from it. */
#include "base/err.h"
#include "base/text.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

void err_init(struct err *e)
{
    *e = (struct err){.class = ERR_NONE};
}

bool err_is_set(const struct err *e)
{
    return e->class != ERR_NONE;
}

PRINTF_LIKE(2, 0) static void print_text(struct err *e, const char *format, va_list arguments)
{
    int length = vsnprintf(e->text, sizeof e->text, format, arguments);
    if (length >= (int)sizeof e->text)
        text_mark_cut(e->text, sizeof e->text);
}

void err_fill(struct err *e, enum err_class class_, const char *format, ...)
{
    if (err_is_set(e))
        return;
    va_list arguments;
    va_start(arguments, format);
    print_text(e, format, arguments);
    va_end(arguments);
    e->class = class_;
}

void err_fill_errno(struct err *e, const char *format, ...)
{
    int number = errno;
    if (err_is_set(e))
        return;
    va_list arguments;
    va_start(arguments, format);
    print_text(e, format, arguments);
    va_end(arguments);
    e->class = number == ENOMEM ? ERR_MEMORY : ERR_SYSTEM;
    size_t used = strlen(e->text);
    int length = snprintf(e->text + used, sizeof e->text - used, ": %s", strerror(number));
    if (length >= (int)(sizeof e->text - used))
        text_mark_cut(e->text, sizeof e->text);
}

void err_add_prefix(struct err *e, const char *format, ...)
{
    char old[ERR_TEXT_BYTES];
    memcpy(old, e->text, sizeof old);
    va_list arguments;
    va_start(arguments, format);
    print_text(e, format, arguments);
    va_end(arguments);
    size_t used = strlen(e->text);
    int length = snprintf(e->text + used, sizeof e->text - used, ": %s", old);
    if (length >= (int)(sizeof e->text - used))
        text_mark_cut(e->text, sizeof e->text);
}

void err_at(struct err *e, const char *file, int line, int column)
{
    if (e->file[0] != '\0' || file == NULL)
        return;
    int length = snprintf(e->file, sizeof e->file, "%s", file);
    if (length >= (int)sizeof e->file)
        text_mark_cut(e->file, sizeof e->file);
    e->line = line;
    e->column = column;
}

const char *err_format(const struct err *e, char *out, unsigned long size)
{
    char place[32] = "";
    if (e->line > 0 && e->column > 0)
        snprintf(place, sizeof place, ":%d:%d", e->line, e->column);
    else if (e->line > 0)
        snprintf(place, sizeof place, ":%d", e->line);
    bool has_file = e->file[0] != '\0';
    int length =
        snprintf(out, size, "%s%s%s%s", e->file, has_file ? place : "", has_file ? ": " : "", e->text);
    if (length >= 0 && (unsigned long)length >= size)
        text_mark_cut(out, size);
    return out;
}

const char *err_class_name(enum err_class class_)
{
    switch (class_) {
    case ERR_NONE:
        return "none";
    case ERR_MEMORY:
        return "memory";
    case ERR_SYSTEM:
        return "system";
    case ERR_USAGE:
        return "usage";
    case ERR_CONFIG:
        return "configuration";
    case ERR_MANIFEST:
        return "manifest";
    case ERR_REPOSITORY:
        return "repository";
    case ERR_NETWORK:
        return "network";
    case ERR_SERVER:
        return "server";
    case ERR_UNAUTHORISED:
        return "unauthorised";
    case ERR_NOT_FOUND:
        return "not-found";
    case ERR_CONFLICT:
        return "conflict";
    case ERR_LOCKED:
        return "locked";
    case ERR_INTERRUPTED:
        return "interrupted";
    }
    return "unknown";
}
