/* What a person sees while downloads run: on a terminal one line per transfer that is under way, drawn over
 * again, and a line for all; elsewhere one plain line every 30 s, so that nobody takes a long download for a
 * hang. */
#include "base/text.h"
#include "output.h"
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    TERMINAL_INTERVAL_MS = 200,
    PLAIN_INTERVAL_MS = 30 * 1000,
    RATE_INTERVAL_MS = 2000,
    MOST_LINES = 8, /* of single transfers */
    LINE_BYTES = 512,
    DEFAULT_WIDTH = 80,
    DEFAULT_HEIGHT = 24,
    NAME_COLUMNS = 32,
};

static struct winsize terminal_size(int file)
{
    struct winsize size = {0};
    if (ioctl(file, TIOCGWINSZ, &size) != 0)
        size = (struct winsize){0};
    if (size.ws_col == 0)
        size.ws_col = DEFAULT_WIDTH;
    if (size.ws_row == 0)
        size.ws_row = DEFAULT_HEIGHT;
    return size;
}

int output_terminal_width(int file)
{
    return terminal_size(file).ws_col;
}

void output_end_progress(struct output *output)
{
    if (output->progress_lines > 1)
        fprintf(stderr, "\033[%dA", output->progress_lines - 1);
    if (output->progress_lines > 0)
        fputs("\r\033[J", stderr);
    output->progress_lines = 0;
}

/* "45 %, 12 MiB of 27 MiB, 3 MiB/s, 5 s left" */
static void describe_receiving(const struct fetch_progress_item *item, char *out, size_t size)
{
    char bytes[TEXT_SIZE_BYTES], total[TEXT_SIZE_BYTES], rate[TEXT_SIZE_BYTES], left[CLOCK_TEXT_BYTES];
    text_size(item->bytes, bytes);
    text_size(item->bytes_per_second, rate);
    if (item->total_bytes == 0) {
        snprintf(out, size, "%s, %s/s", bytes, rate);
        return;
    }
    int percent = (int)(100.0 * (double)item->bytes / (double)item->total_bytes);
    int length = snprintf(out, size, "%d %%, %s of %s", percent, bytes, text_size(item->total_bytes, total));
    if (item->bytes_per_second > 0 && item->total_bytes > item->bytes && length > 0 && (size_t)length < size)
        snprintf(out + length, size - (size_t)length, ", %s/s, %s left", rate,
                 clock_duration_text(
                     (int64_t)((item->total_bytes - item->bytes) / item->bytes_per_second + 1) * 1000, left));
}

static void describe_item(const struct fetch_progress_item *item, char *out, size_t size)
{
    char wait[CLOCK_TEXT_BYTES];
    switch (item->state) {
    case FETCH_WAITING:
        snprintf(out, size, "waits %s, attempt %d follows", clock_duration_text(item->resumes_in_ms, wait),
                 item->attempt);
        return;
    case FETCH_CONNECTING:
        snprintf(out, size, "connects");
        return;
    case FETCH_VERIFYING:
        snprintf(out, size, "is verified");
        return;
    case FETCH_QUEUED:
    case FETCH_RECEIVING:
    case FETCH_ENDED:
        describe_receiving(item, out, size);
        return;
    }
}

static bool is_under_way(const struct fetch_progress_item *item)
{
    return item->state != FETCH_QUEUED && item->state != FETCH_ENDED;
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

static uint64_t speed_of(const struct output *output, const struct fetch_progress *progress, int64_t now_ms)
{
    int64_t passed_ms = now_ms - output->last_bytes_ms;
    return passed_ms > 0 ? (progress->received_bytes - output->last_bytes) * 1000 / (uint64_t)passed_ms : 0;
}

static int describe_all(const struct output *output, const struct fetch_progress *progress, int64_t now_ms,
                        char *out, size_t size)
{
    char received[TEXT_SIZE_BYTES], rate[TEXT_SIZE_BYTES], failed[48] = "";
    if (progress->failed > 0)
        snprintf(failed, sizeof failed, " (%zu failed)", progress->failed);
    return snprintf(out, size, "%zu of %zu packages%s, %s, %s/s", progress->ended, progress->count, failed,
                    text_size(progress->received_bytes, received),
                    text_size(speed_of(output, progress, now_ms), rate));
}

static void put_line(struct output *output, const char *line, int columns)
{
    fprintf(stderr, "%s\r\033[K%.*s", output->progress_lines > 0 ? "\n" : "",
            (int)bytes_that_fit(line, columns), line);
    output->progress_lines++;
}

static void draw(struct output *output, const struct fetch_progress *progress, int64_t now_ms)
{
    struct winsize size = terminal_size(STDERR_FILENO);
    int columns = size.ws_col - 1, most = size.ws_row - 2, shown = 0, hidden = 0;
    char line[LINE_BYTES], what[LINE_BYTES / 2];
    if (most > MOST_LINES)
        most = MOST_LINES;
    output_end_progress(output);
    for (size_t i = 0; i < progress->count; i++) {
        const struct fetch_progress_item *item = &progress->items[i];
        if (!is_under_way(item))
            continue;
        if (shown >= most) {
            hidden++;
            continue;
        }
        describe_item(item, what, sizeof what);
        snprintf(line, sizeof line, "%.*s: %s", (int)bytes_that_fit(item->name, NAME_COLUMNS), item->name,
                 what);
        put_line(output, line, columns);
        shown++;
    }
    int length = describe_all(output, progress, now_ms, line, sizeof line);
    if (hidden > 0 && length > 0 && (size_t)length < sizeof line)
        snprintf(line + length, sizeof line - (size_t)length, ", %d more under way", hidden);
    put_line(output, line, columns);
    fflush(stderr);
}

static void tell(struct output *output, const struct fetch_progress *progress, int64_t now_ms)
{
    char line[2 * LINE_BYTES], what[LINE_BYTES / 2];
    int length = describe_all(output, progress, now_ms, line, sizeof line);
    for (size_t i = 0; i < progress->count && length > 0 && (size_t)length < sizeof line; i++) {
        if (!is_under_way(&progress->items[i]))
            continue;
        describe_item(&progress->items[i], what, sizeof what);
        length +=
            snprintf(line + length, sizeof line - (size_t)length, " · %s: %s", progress->items[i].name, what);
    }
    log_info(&output->log, "progress", "downloading: %s", line);
}

void output_progress(void *context, const struct fetch_progress *progress)
{
    struct output *output = context;
    int64_t now_ms = output->clock->monotonic_ms(output->clock->context);
    bool is_drawn = output->error_is_terminal && !output->log_as_json;
    if (output->last_progress_ms == 0 || progress->received_bytes < output->last_bytes) {
        output->last_progress_ms = output->last_bytes_ms = now_ms;
        output->last_bytes = progress->received_bytes;
    }
    if (progress->ended == progress->count) {
        output_end_progress(output);
        output->last_progress_ms = 0;
        return;
    }
    if (now_ms - output->last_progress_ms < (is_drawn ? TERMINAL_INTERVAL_MS : PLAIN_INTERVAL_MS))
        return;
    if (is_drawn)
        draw(output, progress, now_ms);
    else
        tell(output, progress, now_ms);
    output->last_progress_ms = now_ms;
    if (now_ms - output->last_bytes_ms >= RATE_INTERVAL_MS) {
        output->last_bytes_ms = now_ms;
        output->last_bytes = progress->received_bytes;
    }
}
