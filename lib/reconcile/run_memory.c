/* What former runs learned is read before planning, and what this one learns is written behind each stage.
 * `apply` and `run` hold the state folder's lock and one open database. `fetch` works beside them: it reads,
 * and writes what the downloads taught in one short transaction at its end. */
#include "base/text.h"
#include "reconcile/run.h"

enum { SAVE_EVERY_MS = 5000 };

static const char *server_url(const struct run *run)
{
    return run->settings->fleet_url != NULL ? run->settings->fleet_url : "";
}

void run_open_memory(struct run *run)
{
    struct err e;
    err_init(&e);
    bool is_read_only = run->until != RECONCILE_APPLY;
    run->state = state_open(run->settings->state_dir, server_url(run), is_read_only, run->world->log, &e);
    if (run->state == NULL || state_load(run->state, run->arena, &run->memory, &e) < 0) {
        log_warning(run->world->log, "state", "no memory of former runs: %s", e.text);
        state_close(run->state);
        run->state = NULL;
        run->memory = (struct memory){0};
        return;
    }
    if (run->until == RECONCILE_APPLY)
        run->sink = state_sink(run->state);
}

static int64_t now_ms(const struct run *run)
{
    return run->world->clock->monotonic_ms(run->world->clock->context);
}

static int write_learned(const struct run *run, struct state *state, struct err *e)
{
    const struct memory_sink sink = state_sink(state);
    for (size_t i = 0; i < run->learned_count; i++)
        sink.validator(sink.context, &run->learned[i]);
    return state_commit(state, e);
}

void run_save_learned(struct run *run)
{
    struct err e;
    err_init(&e);
    CLEANUP(state_cleanup) struct state *opened = NULL;
    struct state *state = run->state;
    if (run->learned_count == 0)
        return;
    if (run->until == RECONCILE_FETCH)
        state = opened = state_open(run->settings->state_dir, server_url(run), false, run->world->log, &e);
    bool has_failed = state == NULL ? err_is_set(&e) : write_learned(run, state, &e) < 0;
    if (has_failed)
        log_warning(run->world->log, "state",
                    "what the downloads taught could not be saved (their servers are asked for the bodies "
                    "again next time): %s",
                    e.text);
    run->learned_count = 0;
    run->learned_saved_ms = now_ms(run);
}

/* Its strings are in the run's arena already. A database that is locked for each row would keep other
 * processes out for as long as the downloads take. */
static void keep_validator(void *context, const struct remembered_validator *validator)
{
    struct run *run = context;
    struct err ignored;
    err_init(&ignored);
    struct remembered_validator *kept =
        ARENA_PUSH(run->arena, &run->learned, &run->learned_count, &run->learned_capacity, &ignored);
    if (kept != NULL)
        *kept = *validator;
    if (run->until == RECONCILE_APPLY && now_ms(run) - run->learned_saved_ms >= SAVE_EVERY_MS)
        run_save_learned(run);
}

struct memory_sink run_learning_sink(struct run *run)
{
    run->learned_saved_ms = now_ms(run);
    return (struct memory_sink){.validator = keep_validator, .context = run};
}
