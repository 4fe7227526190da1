/* The whole way of the data, in the order in which it flows. Each step is a function of this folder that
 * calls one stage. */
#include "reconcile/reconcile.h"
#include "base/files.h"
#include "base/url.h"
#include "reconcile/run.h"
#include "report/report.h"
#include <stdlib.h>
#include <string.h>

int reconcile_lock(const struct settings *settings, int *file, struct err *e)
{
    if (folder_make(settings->state_dir, e) < 0)
        return err_prefix(e, "state folder");
    CLEANUP(file_free_cleanup) char *path = path_join(settings->state_dir, "lock");
    if (path == NULL)
        return err_set(e, ERR_MEMORY, "out of memory");
    if (file_lock(path, file, e) == 0)
        return 0;
    if (e->class == ERR_LOCKED)
        return err_prefix(
            e,
            "another tender run is at work with this state folder; wait for it, or use another --state-dir");
    return -1;
}

static int reconcile(struct run *run, struct err *e)
{
    if (run_read_manifests(run, e) < 0)
        return -1;
    if (run->until == RECONCILE_MANIFESTS || run->desired->team_count == 0)
        return 0;
    if (run_open_connections(run, e) < 0)
        return -1;
    run_open_memory(run);
    if (run->until == RECONCILE_FETCH) {
        if (run_observe_nothing(run, e) < 0)
            return -1;
    } else if (run_observe(run, e) < 0) {
        return -1;
    }
    if (run_plan(run, e) < 0)
        return -1;
    if (run->until == RECONCILE_PLAN) {
        if (run_probe(run, e) < 0 || run_plan(run, e) < 0)
            return -1;
        return run_describe(run, e);
    }
    if (run_fetch(run, e) < 0 || run_plan(run, e) < 0)
        return -1;
    int result = run->until == RECONCILE_FETCH ? run_describe(run, e) : run_deliver(run, e);
    run_prune_cache(run);
    return result;
}

static void describe_run(struct run *run, const char *command)
{
    const struct settings *settings = run->settings;
    struct err ignored;
    err_init(&ignored);
    char repository[URL_TEXT_BYTES];
    char fleet_url[URL_TEXT_BYTES] = "";
    url_redact(settings->repository != NULL  ? settings->repository
               : settings->directory != NULL ? settings->directory
                                             : "",
               repository, sizeof repository);
    if (settings->fleet_url != NULL)
        url_redact(settings->fleet_url, fleet_url, sizeof fleet_url);
    const char *repository_copy = arena_strdup(run->arena, repository, &ignored);
    const char *fleet_url_copy = arena_strdup(run->arena, fleet_url, &ignored);
    *run->report = (struct run_report){
        .command = command,
        .is_plan = run->until == RECONCILE_PLAN,
        .tender_version = run->world->tender_version,
        .repository = repository_copy != NULL ? repository_copy : "",
        .revision = "",
        .fleet_url = fleet_url_copy != NULL ? fleet_url_copy : "",
        .server_version = "",
        .started_wall_ms = run->world->clock->wall_ms(run->world->clock->context),
        .warning = "",
    };
}

/* Bytes and outcomes are in the teams' records; the report has their sums. */
static void complete_report(struct run *run)
{
    struct run_report *report = run->report;
    report->diagnostic_count = run->desired->diagnostic_count;
    report->diagnostics = run->desired->diagnostics;
    if (run->desired->revision != NULL)
        report->revision = run->desired->revision;
    if (run->observed.server_version != NULL)
        report->server_version = run->observed.server_version;
    for (size_t i = 0; i < run->known_count; i++)
        report->received_bytes += run->known[i].package->received_bytes;
    for (size_t i = 0; i < report->team_count; i++)
        for (size_t k = 0; k < report->teams[i].outcome_count; k++)
            report->uploaded_bytes += report->teams[i].outcomes[k].uploaded_bytes;
    struct err ignored;
    err_init(&ignored);
    struct call_statistics *calls = NULL;
    size_t call_count = 0;
    if (run->fleet != NULL && fleet_statistics(run->fleet, run->arena, &calls, &call_count, &ignored) == 0) {
        report->calls = calls;
        report->call_count = call_count;
    }
    report->was_interrupted = loop_stop_requested(run->world->loop) != LOOP_GO_ON;
    const struct clock *clock = run->world->clock;
    report->duration_ms = clock->wall_ms(clock->context) - report->started_wall_ms;
}

int reconcile_run(const struct reconcile_world *world, enum reconcile_until until, const char *command,
                  struct settings *settings, struct arena *arena, struct desired *desired,
                  struct run_report *report)
{
    *desired = (struct desired){.revision = ""};
    struct run run = {
        .world = world,
        .until = until,
        .settings = settings,
        .arena = arena,
        .report = report,
        .desired = desired,
        .observed = {.server_version = "", .role = ""},
        .cache_hold = -1,
    };
    describe_run(&run, command);
    struct err e;
    err_init(&e);
    if (reconcile(&run, &e) < 0)
        report->failure = e;
    complete_report(&run);
    report_finish(report, settings->detailed_exitcode);
    if (run.state != NULL && until == RECONCILE_APPLY) {
        struct err state_error;
        err_init(&state_error);
        if (state_record_run(run.state, report, &state_error) < 0 ||
            state_commit(run.state, &state_error) < 0)
            log_warning(world->log, "state",
                        "what this run learned could not be saved (the next one will ask again): %s",
                        state_error.text);
    }
    run_done(&run);
    return report->exit_status;
}
