/* run: the same as apply, again and again. A run that fails as a whole makes the next ones rarer, up to an
 * hour apart. */
#include "base/files.h"
#include "commands.h"
#include "output.h"
#include <string.h>

enum { RUN_ARENA_BYTES = 1024 * 1024 * 1024, MOST_DOUBLINGS = 10 };

#define LONGEST_PAUSE_MS INT64_C(3600000)

static bool is_quiet(const struct run_report *report)
{
    size_t changed =
        report->counts[OUTCOME_CREATED] + report->counts[OUTCOME_UPDATED] + report->counts[OUTCOME_REMOVED];
    return report->exit_status == EXIT_STATUS_DONE && changed == 0;
}

/* The report as a whole where something happened; else one line. */
static int tell(struct output *output, const struct settings *settings, const struct run_report *report,
                struct err *e)
{
    if (!is_quiet(report) || settings->report_file != NULL)
        return output_report(settings, report, e);
    log_info(&output->log, "run", "nothing to do: %zu items of %zu teams are as revision %.12s says",
             report->counts[OUTCOME_UNCHANGED], report->team_count, report->revision);
    return 0;
}

static int run_once(struct program *program, struct output *output, int *status, struct err *e)
{
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(RUN_ARENA_BYTES);
    if (arena == NULL)
        return err_set(e, ERR_MEMORY, "out of memory");
    struct reconcile_world world = program_world(program, &output->log);
    world.progress = output_progress;
    world.progress_context = output;
    struct settings settings = program->settings;
    struct desired desired;
    struct run_report report;
    *status =
        reconcile_run(&world, RECONCILE_APPLY, program->command->name, &settings, arena, &desired, &report);
    output_end_progress(output);
    program->settings.interval_ms =
        settings.interval_ms; /* tender.yml may set it, for the pause behind this run */
    program->settings.interval_jitter_percent = settings.interval_jitter_percent;
    return tell(output, &settings, &report, e);
}

static bool failed_as_a_whole(int status)
{
    return status == EXIT_STATUS_FAILED || status == EXIT_STATUS_UNAUTHORISED ||
           status == EXIT_STATUS_MANIFESTS;
}

static int64_t pause_ms(const struct settings *settings, int failures)
{
    const struct jitter *jitter = jitter_system();
    int64_t pause = settings->interval_ms;
    int64_t longest = pause > LONGEST_PAUSE_MS ? pause : LONGEST_PAUSE_MS;
    for (int i = 1; i < failures && i < MOST_DOUBLINGS && pause < longest; i++)
        pause *= 2;
    if (pause > longest)
        pause = longest;
    double spread = (double)pause * (double)settings->interval_jitter_percent / 100;
    return pause + (int64_t)(spread * (2 * jitter->next(jitter->context) - 1));
}

int command_loop(struct program *program)
{
    struct err e;
    err_init(&e);
    struct output output;
    const struct clock *clock = clock_system();
    output_init(&output, &program->settings, clock);
    CLEANUP(file_close_cleanup) int lock = -1;
    if (reconcile_lock(&program->settings, &lock, &e) < 0) {
        output_error(&e);
        return report_exit_status_of(&e);
    }
    int failures = 0;
    int status = EXIT_STATUS_DONE;
    while (loop_stop_requested(program->loop) == LOOP_GO_ON) {
        int64_t started_ms = clock->monotonic_ms(clock->context);
        if (run_once(program, &output, &status, &e) < 0) {
            output_error(&e);
            return report_exit_status_of(&e);
        }
        if (status == EXIT_STATUS_USAGE)
            return status;
        failures = failed_as_a_whole(status) ? failures + 1 : 0;
        if (loop_stop_requested(program->loop) != LOOP_GO_ON)
            break;
        int64_t pause = pause_ms(&program->settings, failures);
        char text[CLOCK_TEXT_BYTES];
        log_info(&output.log, "pause", "next run in %s (SIGHUP: now)", clock_duration_text(pause, text));
        if (!loop_take_wake(program->loop) && loop_wait_until(program->loop, started_ms + pause, &e) < 0) {
            output_error(&e);
            return EXIT_STATUS_FAILED;
        }
        (void)loop_take_wake(program->loop);
    }
    log_info(&output.log, "stop", "asked to stop: done");
    return EXIT_STATUS_DONE;
}
