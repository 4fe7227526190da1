/* Events pass through here to the sink of the program, below nothing but a threshold. */
#include "base/log.h"
#include "base/text.h"
#include <stdarg.h>
#include <stdio.h>

enum { MESSAGE_BYTES = 4096 };

void log_event(const struct log *log, enum log_level level, const char *event, const struct log_field *fields,
               size_t field_count, const char *format, ...)
{
    if (log == NULL || log->write == NULL || level < log->threshold)
        return;
    char message[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(message, sizeof message, format, arguments) >= (int)sizeof message)
        text_mark_cut(message, sizeof message);
    va_end(arguments);
    log->write(log->context, level, event, message, fields, field_count);
}
