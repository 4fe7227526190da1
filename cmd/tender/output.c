/* All that a person or a CI log sees: the report on standard output, log lines on standard error. */
#include "output.h"
#include "base/files.h"
#include "base/text.h"
#include "report/report.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 64 * 1024, REPORT_BYTES = 256 * 1024 * 1024 };

static void write_log(void *context, enum log_level level, const char *event, const char *message,
                      const struct log_field *fields, size_t field_count)
{
    struct output *output = context;
    struct err e;
    err_init(&e);
    CLEANUP(buf_done) struct buf line = BUF_INIT(LINE_BYTES);
    output_end_progress(output);
    if (report_log_line(output->log_as_json, output->clock->wall_ms(output->clock->context), level, event,
                        message, fields, field_count, &line, &e) == 0)
        fputs(buf_text(&line), stderr);
    else
        fprintf(stderr, "%s\n", message);
    fflush(stderr);
}

static enum log_level level_of(const char *name)
{
    static const char *const names[] = {"debug", "info", "warning", "error"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        if (text_equal(name, names[i]))
            return (enum log_level)i;
    return LOG_INFO;
}

void output_init(struct output *output, const struct settings *settings, const struct clock *clock)
{
    *output = (struct output){
        .log_as_json = text_equal(settings->log_format, "json"),
        .error_is_terminal = isatty(STDERR_FILENO) == 1,
        .clock = clock,
        .log = {.write = write_log, .context = output, .threshold = level_of(settings->log_level)},
    };
}

struct report_style output_style(const struct settings *settings)
{
    bool is_terminal = isatty(STDOUT_FILENO) == 1;
    const char *term = getenv("TERM");
    const char *no_color = getenv("NO_COLOR");
    bool automatic = is_terminal && text_is_empty(no_color) && !text_equal(term, "dumb");
    return (struct report_style){
        .color = text_equal(settings->color, "always") || (text_equal(settings->color, "auto") && automatic),
        .width = is_terminal ? output_terminal_width(STDOUT_FILENO) : 0,
        .tender_version = TENDER_VERSION,
    };
}

int output_print(const struct buf *text, struct err *e)
{
    if (fwrite(buf_text(text), 1, text->length, stdout) != text->length || fflush(stdout) != 0)
        return err_set_errno(e, "can't write to standard output");
    return 0;
}

static int write_report_file(const struct settings *settings, const struct run_report *report, struct err *e)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT(REPORT_BYTES);
    struct report_style plain = {0};
    if (report_writer_find("json")->run(report, &plain, &text, e) < 0)
        return -1;
    if (strcmp(settings->report_file, "-") == 0)
        return output_print(&text, e);
    if (file_write_atomically(settings->report_file, buf_text(&text), text.length, 0644, e) < 0)
        return err_prefix(e, "the report");
    return 0;
}

int output_report(const struct settings *settings, const struct run_report *report, struct err *e)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT(REPORT_BYTES);
    struct report_style style = output_style(settings);
    bool file_is_output = text_equal(settings->report_file, "-");
    if (!file_is_output && (report_writer_find(settings->format)->run(report, &style, &text, e) < 0 ||
                            output_print(&text, e) < 0))
        return -1;
    return settings->report_file == NULL ? 0 : write_report_file(settings, report, e);
}

void output_error(const struct err *e)
{
    char text[ERR_TEXT_BYTES + ERR_FILE_BYTES + 32];
    const char *rest = err_format(e, text, sizeof text);
    fputs("tender: ", stderr);
    for (bool is_last = false; !is_last;) {
        char line[sizeof text];
        size_t length = strcspn(rest, "\n");
        is_last = rest[length] == '\0';
        fprintf(stderr, "%s\n", text_printable(rest, length, '?', line, sizeof line));
        rest += length + 1;
    }
}
