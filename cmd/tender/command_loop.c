/* run: the same as apply, again and again. A run that fails as a whole makes the next ones rarer, up to an
 * hour apart. */
#include "base/files.h"
#include "commands.h"
#include "output.h"
#include <string.h>

enum { RUN_ARENA_BYTES = 1024 * 1024 * 1024, MOST_DOUBLINGS = 10 };

#define LONGEST_PAUSE_MS INT64_C(3600000)

/* What a report says of the items, as one digest: a run that finds the same as the last one has nothing new
 * to tell. */
static int outcomes_digest(const struct run_report *report, char hex[DIGEST_HEX_BYTES], struct err *e)
{
    CLEANUP(digest_cleanup) struct digest *digest = digest_new(e);
    if (digest == NULL)
        return -1;
    for (size_t i = 0; i < report->team_count; i++)
        for (size_t k = 0; k < report->teams[i].outcome_count; k++) {
            const struct outcome *outcome = &report->teams[i].outcomes[k];
            const char *const texts[] = {outcome->team, outcome->name, outcome_kind_name(outcome->kind),
                                         outcome->kept};
            for (size_t t = 0; t < ARRAY_LENGTH(texts); t++)
                if (digest_update(digest, texts[t], strlen(texts[t]) + 1, e) < 0)
                    return -1;
        }
    return digest_finish(digest, hex, e);
}

static bool is_quiet(const struct run_report *report, const char *before, const char *now)
{
    size_t changed =
        report->counts[OUTCOME_CREATED] + report->counts[OUTCOME_UPDATED] + report->counts[OUTCOME_REMOVED];
    bool is_partial = report->exit_status == EXIT_STATUS_PARTIAL;
    return changed == 0 &&
           (report->exit_status == EXIT_STATUS_DONE || (is_partial && strcmp(before, now) == 0));
}

/* The report as a whole where something happened or is new; else one line. */
static int tell(struct output *output, const struct settings *settings, const struct run_report *report,
                char last[DIGEST_HEX_BYTES], struct err *e)
{
    char before[DIGEST_HEX_BYTES];
    memcpy(before, last, sizeof before);
    if (outcomes_digest(report, last, e) < 0)
        return -1;
    if (!is_quiet(report, before, last) || settings->report_file != NULL)
        return output_report(settings, report, e);
    size_t troubles = report->counts[OUTCOME_FAILED] + report->counts[OUTCOME_WAITING] +
                      report->counts[OUTCOME_BLOCKED] + report->counts[OUTCOME_WITHHELD];
    log_info(&output->log, "run",
             "nothing to do: %zu items are as revision %.12s says; %zu need attention, as before",
             report->counts[OUTCOME_UNCHANGED], report->revision, troubles);
    return 0;
}

static int run_once(struct program *program, struct output *output, int *status, char last[DIGEST_HEX_BYTES],
                    struct err *e)
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
    return tell(output, &settings, &report, last, e);
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
    if (program_check_report_file(&program->settings, &e) < 0 ||
        reconcile_lock(&program->settings, &lock, &e) < 0)
        return program_fail(program->command, &e);
    int failures = 0;
    char last[DIGEST_HEX_BYTES] = "";
    int status = EXIT_STATUS_DONE;
    while (loop_stop_requested(program->loop) == LOOP_GO_ON) {
        int64_t started_ms = clock->monotonic_ms(clock->context);
        if (run_once(program, &output, &status, last, &e) < 0)
            return program_fail(program->command, &e);
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
