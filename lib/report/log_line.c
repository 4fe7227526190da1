/* One event of the log as one line: words for people, or a JSON object for programs. */
#include "base/clock.h"
#include "report/report.h"
#include <jansson.h>
#include <stdlib.h>
#include <time.h>

static const char *level_name(enum log_level level)
{
    static const char *const names[] = {"debug", "info", "warning", "error"};
    return names[level];
}

static int write_text(int64_t wall_ms, enum log_level level, const char *message, struct buf *out,
                      struct err *e)
{
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm local;
    char time_text[16] = "";
    if (localtime_r(&seconds, &local) != NULL)
        strftime(time_text, sizeof time_text, "%H:%M:%S", &local);
    const char *word = level == LOG_INFO ? "" : level_name(level);
    return buf_printf(out, e, "%s %s%s%s\n", time_text, word, word[0] != '\0' ? ": " : "", message);
}

static int write_json(int64_t wall_ms, enum log_level level, const char *event, const char *message,
                      const struct log_field *fields, size_t field_count, struct buf *out, struct err *e)
{
    char time_text[CLOCK_TEXT_BYTES];
    json_t *object = json_pack("{ss, ss, ss, ss}", "time", clock_iso8601(wall_ms, time_text), "level",
                               level_name(level), "event", event, "message", message);
    if (object == NULL) /* bytes that are no UTF-8 are left out rather than the whole line */
        object = json_pack("{ss, ss, ss, ss}", "time", time_text, "level", level_name(level), "event", event,
                           "message", "(not UTF-8)");
    for (size_t i = 0; object != NULL && i < field_count; i++) {
        json_t *value = fields[i].text != NULL ? json_string(fields[i].text) : json_integer(fields[i].number);
        json_object_set_new(object, fields[i].name, value);
    }
    char *line = object == NULL ? NULL : json_dumps(object, JSON_COMPACT | JSON_PRESERVE_ORDER);
    json_decref(object);
    int result = line == NULL ? err_set(e, ERR_MEMORY, "out of memory") : buf_printf(out, e, "%s\n", line);
    free(line);
    return result;
}

int report_log_line(bool as_json, int64_t wall_ms, enum log_level level, const char *event,
                    const char *message, const struct log_field *fields, size_t field_count, struct buf *out,
                    struct err *e)
{
    if (as_json)
        return write_json(wall_ms, level, event, message, fields, field_count, out, e);
    return write_text(wall_ms, level, message, out, e);
}
