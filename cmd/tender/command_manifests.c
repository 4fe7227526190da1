/* validate, show, config: the manifests and the settings alone, without a server. */
#include "commands.h"
#include "output.h"
#include <string.h>

enum { RUN_ARENA_BYTES = 1024 * 1024 * 1024, TEXT_BYTES = 256 * 1024 * 1024 };

static int write_document(const struct program *program, enum report_document document,
                          const struct desired *desired, struct buf *out, struct err *e)
{
    const struct report_writer *writer = report_writer_find(program->settings.format);
    const struct report_style style = output_style(&program->settings);
    switch (document) {
    case REPORT_SHOW:
        return writer->show(desired, &style, out, e);
    case REPORT_SETTINGS:
        return writer->settings(&program->settings, &style, out, e);
    case REPORT_NOTHING:
    case REPORT_RUN:
    case REPORT_DIAGNOSTICS:
        break;
    }
    return writer->diagnostics(desired, &style, out, e);
}

int command_manifests(struct program *program)
{
    struct err e;
    err_init(&e);
    struct output output;
    output_init(&output, &program->settings, clock_system());
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(RUN_ARENA_BYTES);
    if (arena == NULL) {
        (void)err_set(&e, ERR_MEMORY, "out of memory");
        output_error(&e);
        return report_exit_status_of(&e);
    }
    const struct reconcile_world world = program_world(program, &output.log);
    struct desired desired;
    struct run_report report;
    enum report_document document = program->command->document;
    int status = reconcile_run(&world, document == REPORT_SETTINGS ? RECONCILE_SETTINGS : RECONCILE_MANIFESTS,
                               program->command->name, &program->settings, arena, &desired, &report);
    if (err_is_set(&report.failure))
        output_error(&report.failure);
    if (err_is_set(&report.failure) && desired.diagnostic_count == 0)
        return status;
    /* Settings that are wrong are told like every other mistake in a file. */
    if (document == REPORT_SETTINGS && desired.error_count > 0)
        document = REPORT_DIAGNOSTICS;
    CLEANUP(buf_done) struct buf text = BUF_INIT(TEXT_BYTES);
    int result = write_document(program, document, &desired, &text, &e);
    if (result < 0 || output_print(&text, &e) < 0) {
        output_error(&e);
        return EXIT_STATUS_FAILED;
    }
    return desired.error_count > 0 ? EXIT_STATUS_MANIFESTS : status;
}
