/* All that a person or a CI log sees: the report on standard output; log lines and progress on standard
 * error. */
#include "output.h"
#include "base/files.h"
#include "base/text.h"
#include "report/report.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    LINE_BYTES = 64 * 1024,
    REPORT_BYTES = 256 * 1024 * 1024,
    TERMINAL_INTERVAL_MS = 200,
    PLAIN_INTERVAL_MS = 30 * 1000,
    DEFAULT_WIDTH = 80,
};

static int terminal_width(int file)
{
    struct winsize size;
    if (ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return DEFAULT_WIDTH;
}

void output_end_progress(struct output *output)
{
    if (output->progress_is_shown)
        fputs("\r\033[K", stderr);
    output->progress_is_shown = false;
}

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

/* "firefox.pkg 45 %", "alpha.deb waits 3 s", … */
static void describe_item(const struct fetch_progress_item *item, char *out, size_t size)
{
    char amount[TEXT_SIZE_BYTES], wait[CLOCK_TEXT_BYTES];
    switch (item->state) {
    case FETCH_WAITING:
        snprintf(out, size, "%s waits %s", item->name, clock_duration_text(item->resumes_in_ms, wait));
        return;
    case FETCH_CONNECTING:
        snprintf(out, size, "%s connects", item->name);
        return;
    case FETCH_VERIFYING:
        snprintf(out, size, "%s is verified", item->name);
        return;
    case FETCH_QUEUED:
    case FETCH_RECEIVING:
    case FETCH_ENDED:
        break;
    }
    if (item->total_bytes > 0)
        snprintf(out, size, "%s %d %%", item->name,
                 (int)(100.0 * (double)item->bytes / (double)item->total_bytes));
    else
        snprintf(out, size, "%s %s", item->name, text_size(item->bytes, amount));
}

static void describe_progress(struct output *output, const struct fetch_progress *progress, int64_t now_ms,
                              char *out, size_t size)
{
    char received[TEXT_SIZE_BYTES], rate[TEXT_SIZE_BYTES];
    int64_t passed_ms = now_ms - output->last_bytes_ms;
    uint64_t speed =
        passed_ms > 0 ? (progress->received_bytes - output->last_bytes) * 1000 / (uint64_t)passed_ms : 0;
    int length = snprintf(out, size, "%zu of %zu packages%s, %s, %s/s", progress->ended, progress->count,
                          progress->failed > 0 ? " (some failed)" : "",
                          text_size(progress->received_bytes, received), text_size(speed, rate));
    for (size_t i = 0; i < progress->count && length > 0 && (size_t)length < size; i++) {
        const struct fetch_progress_item *item = &progress->items[i];
        if (item->state == FETCH_QUEUED || item->state == FETCH_ENDED)
            continue;
        char text[256];
        describe_item(item, text, sizeof text);
        length += snprintf(out + length, size - (size_t)length, " · %s", text);
    }
}

/* Cut by characters, not bytes, so that a terminal line never wraps. */
static size_t bytes_that_fit(const char *text, int columns)
{
    size_t at = 0;
    while (text[at] != '\0' && columns > 0) {
        at++;
        while (((unsigned char)text[at] & 0xC0) == 0x80)
            at++;
        columns--;
    }
    return at;
}

void output_progress(void *context, const struct fetch_progress *progress)
{
    struct output *output = context;
    int64_t now_ms = output->clock->monotonic_ms(output->clock->context);
    if (output->last_progress_ms == 0 || progress->received_bytes < output->last_bytes) {
        output->last_progress_ms = output->last_bytes_ms = now_ms;
        output->last_bytes = progress->received_bytes;
    }
    if (progress->ended == progress->count) {
        output_end_progress(output);
        return;
    }
    int interval_ms = output->error_is_terminal ? TERMINAL_INTERVAL_MS : PLAIN_INTERVAL_MS;
    if (now_ms - output->last_progress_ms < interval_ms)
        return;
    char line[1024];
    describe_progress(output, progress, now_ms, line, sizeof line);
    if (output->error_is_terminal && !output->log_as_json) {
        size_t length = bytes_that_fit(line, terminal_width(STDERR_FILENO) - 1);
        char shown[sizeof line];
        fprintf(stderr, "\r\033[K%s", text_printable(line, length, '?', shown, sizeof shown));
        fflush(stderr);
        output->progress_is_shown = true;
    } else {
        log_info(&output->log, "progress", "downloading: %s", line);
    }
    output->last_progress_ms = now_ms;
    if (now_ms - output->last_bytes_ms >= 2000) {
        output->last_bytes_ms = now_ms;
        output->last_bytes = progress->received_bytes;
    }
}

struct report_style output_style(const struct settings *settings)
{
    bool is_terminal = isatty(STDOUT_FILENO) == 1;
    const char *term = getenv("TERM");
    const char *no_color = getenv("NO_COLOR");
    bool automatic = is_terminal && text_is_empty(no_color) && !text_equal(term, "dumb");
    return (struct report_style){
        .color = text_equal(settings->color, "always") || (text_equal(settings->color, "auto") && automatic),
        .width = is_terminal ? terminal_width(STDOUT_FILENO) : 0,
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
