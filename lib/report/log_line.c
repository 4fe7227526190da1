/* One event of the log as one line: words for people, or a JSON object for programs. */
#include "base/clock.h"
#include "base/text.h"
#include "report/report.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *level_name(enum log_level level)
{
    static const char *const names[] = {"debug", "info", "warning", "error"};
    return names[level];
}

enum { LINE_TEXT_BYTES = 4096 };

/* What servers and file names say may hold line ends, terminal sequences and bytes that are no UTF-8: an
 * event stays one line, and shows them as '?'. */
static const char *clean(const char *text, char out[LINE_TEXT_BYTES])
{
    return text_printable(text, strlen(text), '?', out, LINE_TEXT_BYTES);
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
    char line[LINE_TEXT_BYTES];
    return buf_printf(out, e, "%s %s%s%s\n", time_text, word, word[0] != '\0' ? ": " : "",
                      clean(message, line));
}

static int write_json(int64_t wall_ms, enum log_level level, const char *event, const char *message,
                      const struct log_field *fields, size_t field_count, struct buf *out, struct err *e)
{
    char time_text[CLOCK_TEXT_BYTES];
    char text[LINE_TEXT_BYTES];
    json_t *object = json_pack("{ss, ss, ss, ss}", "time", clock_iso8601(wall_ms, time_text), "level",
                               level_name(level), "event", event, "message", clean(message, text));
    for (size_t i = 0; object != NULL && i < field_count; i++) {
        json_t *value = fields[i].text != NULL ? json_string(clean(fields[i].text, text))
                                               : json_integer(fields[i].number);
        if (json_object_set_new(object, fields[i].name, value) < 0) {
            json_decref(object);
            object = NULL;
        }
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
