/* What happens, as events. Library code never prints: it calls the sink that cmd/ hands in, which writes text
 * or JSON lines. Every value has been redacted before it comes here. */
#ifndef TENDER_BASE_LOG_H
#define TENDER_BASE_LOG_H

#include "base/attributes.h"
#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR };

/* One name/value pair of an event. A NULL text means the number counts. */
struct log_field {
    const char *name;
    const char *text;
    int64_t number;
};

#define LOG_TEXT(name_, text_) ((struct log_field){.name = (name_), .text = (text_)})
#define LOG_NUMBER(name_, number_) ((struct log_field){.name = (name_), .number = (number_)})

struct log {
    /* `event`: a fixed word ("attempt", "wait", "upload"); `message`: the sentence for people. All borrowed
     * for the call. */
    void (*write)(void *context, enum log_level level, const char *event, const char *message,
                  const struct log_field *fields, size_t field_count);
    void *context;
    enum log_level threshold; /* events below it are dropped */
};

/* `log` may be NULL: nothing happens. */
void log_event(const struct log *log, enum log_level level, const char *event, const struct log_field *fields,
               size_t field_count, const char *format, ...) PRINTF_LIKE(6, 7);

#define log_debug(log, event, ...) log_event((log), LOG_DEBUG, (event), NULL, 0, __VA_ARGS__)
#define log_info(log, event, ...) log_event((log), LOG_INFO, (event), NULL, 0, __VA_ARGS__)
#define log_warning(log, event, ...) log_event((log), LOG_WARNING, (event), NULL, 0, __VA_ARGS__)
#define log_error(log, event, ...) log_event((log), LOG_ERROR, (event), NULL, 0, __VA_ARGS__)

#endif
