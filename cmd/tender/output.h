/* Standard output and standard error: reports, log lines and progress. */
#ifndef TENDER_CMD_OUTPUT_H
#define TENDER_CMD_OUTPUT_H

#include "base/buf.h"
#include "base/log.h"
#include "fetch/fetch.h"
#include "model/outcome.h"
#include "model/settings.h"
#include "report/report.h"

struct output {
    bool log_as_json;
    bool error_is_terminal;   /* progress lines that are drawn over; elsewhere a plain line every 30 s */
    int progress_lines;       /* drawn; the cursor stands in the last one */
    int64_t last_progress_ms; /* monotonic */
    int64_t last_bytes_ms;
    uint64_t last_bytes;
    struct log log;
    const struct clock *clock;
};

void output_init(struct output *output, const struct settings *settings, const struct clock *clock);
/* For reconcile_world.progress; the context is the output. */
void output_progress(void *context, const struct fetch_progress *progress);
void output_end_progress(struct output *output);
int output_terminal_width(int file); /* in columns; 80 where it can't be told */

struct report_style output_style(const struct settings *settings);
/* Writes to standard output. A failing standard output is the program's failure: -1. */
int output_print(const struct buf *text, struct err *e) MUST_CHECK;
/* The run's report in settings->format on standard output, and as JSON in settings->report_file. */
int output_report(const struct settings *settings, const struct run_report *report, struct err *e) MUST_CHECK;
void output_error(const struct err *e); /* "tender: …" on standard error */

#endif
