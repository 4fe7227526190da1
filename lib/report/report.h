/* Outcomes written for people and programs, behind one ops table: text, json, and what CI systems read.
 * Writers write into a buffer; only cmd/ prints. */
#ifndef TENDER_REPORT_REPORT_H
#define TENDER_REPORT_REPORT_H

#include "base/buf.h"
#include "base/log.h"
#include "model/outcome.h"
#include "model/settings.h"

enum { REPORT_FORMAT_VERSION = 1 };

/* The program's exit statuses (README.md, tender.1). Where several hold: 77, 1, 65, 3, 2. */
enum exit_status {
    EXIT_STATUS_DONE = 0,
    EXIT_STATUS_FAILED = 1,
    EXIT_STATUS_CHANGES = 2,
    EXIT_STATUS_PARTIAL = 3,
    EXIT_STATUS_LOCKED = 5,
    EXIT_STATUS_USAGE = 64,
    EXIT_STATUS_MANIFESTS = 65,
    EXIT_STATUS_UNAUTHORISED = 77,
};

struct report_style {
    bool color; /* ANSI colours */
    int width;  /* columns of the terminal; 0: unknown */
    const char *tender_version;
};

/* What a command writes. */
enum report_document { REPORT_NOTHING, REPORT_RUN, REPORT_DIAGNOSTICS, REPORT_SHOW, REPORT_SETTINGS };

struct report_writer {
    const char *name; /* "text", "json", … */
    /* NULL: this format can't say it. */
    int (*run)(const struct run_report *report, const struct report_style *style, struct buf *out,
               struct err *e);
    int (*diagnostics)(const struct desired *desired, const struct report_style *style, struct buf *out,
                       struct err *e); /* tender validate */
    int (*show)(const struct desired *desired, const struct report_style *style, struct buf *out,
                struct err *e); /* tender show */
    int (*settings)(const struct settings *settings, const struct report_style *style, struct buf *out,
                    struct err *e); /* tender config */
};

const struct report_writer *report_writer_find(const char *name); /* NULL if there is none */
extern const struct report_writer *const report_writers[];        /* ends with NULL */
/* ERR_USAGE, naming the formats that can, where the format of that name can't write the document. */
int report_writer_check(const char *name, enum report_document document, struct err *e) MUST_CHECK;

/* Appends one event of the log as a line: "17:50:08 warning: …", or a JSON object with time, level, event,
 * message and the fields. */
int report_log_line(bool as_json, int64_t wall_ms, enum log_level level, const char *event,
                    const char *message, const struct log_field *fields, size_t field_count, struct buf *out,
                    struct err *e) MUST_CHECK;

/* Counts outcomes and sets exit_status: the design's statuses and precedence. `detailed`: plan with
 * --detailed-exitcode. */
void report_finish(struct run_report *report, bool detailed);
/* The exit status that an error alone leads to. */
int report_exit_status_of(const struct err *e);

#endif
