/* Plan, fetch, plan again, deliver: each a call of one stage with what the former ones found. */
#include "base/digest.h"
#include "base/text.h"
#include "reconcile/run.h"
#include <string.h>
#include <unistd.h>

const char *run_cache_dir(struct run *run, struct err *e)
{
    if (run->settings->cache_dir != NULL)
        return run->settings->cache_dir;
    return arena_printf(run->arena, e, "%s/cache", run->settings->state_dir);
}

static struct plan_input plan_input_of(const struct run *run)
{
    return (struct plan_input){
        .desired = run->desired,
        .observed = &run->observed,
        .memory = &run->memory,
        .known = run->known,
        .known_count = run->known_count,
        .options = &run->plan_options,
    };
}

int run_plan(struct run *run, struct err *e)
{
    const struct plan_input input = plan_input_of(run);
    return plan_build(&input, run->arena, &run->plan, e);
}

static size_t count_items(const struct plan *plan)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->team_count; i++)
        count += plan->teams[i].item_count;
    return count;
}

/* The digest of what an item's URL held last, where a download of now failed: it is what comes back. */
static const char *last_digest(const struct run *run, const struct software_item *wish)
{
    const struct remembered_validator *last =
        wish == NULL || wish->url == NULL ? NULL : memory_find_validator(&run->memory, wish->url);
    return last == NULL ? NULL : last->sha256;
}

/* In use is what a manifest names, and what this run touched. -1: no memory. */
static int gather_in_use(const struct run *run, const char ***out, size_t *out_count, struct err *e)
{
    size_t most = 3 * count_items(&run->plan) + run->known_count, count = 0;
    const char **in_use = arena_alloc_array(run->arena, most, sizeof *in_use, e);
    if (in_use == NULL)
        return -1;
    for (size_t i = 0; i < run->plan.team_count; i++)
        for (size_t k = 0; k < run->plan.teams[i].item_count; k++) {
            const struct plan_item *item = &run->plan.teams[i].items[k];
            const char *last = last_digest(run, item->wish);
            if (item->sha256 != NULL)
                in_use[count++] = item->sha256;
            if (last != NULL)
                in_use[count++] = last;
            if (item->wish == NULL || item->wish->url == NULL)
                continue;
            char *url_sha256 = arena_alloc(run->arena, DIGEST_HEX_BYTES, e);
            if (url_sha256 == NULL ||
                digest_bytes(item->wish->url, strlen(item->wish->url), url_sha256, e) < 0)
                return -1;
            in_use[count++] = url_sha256;
        }
    for (size_t i = 0; i < run->known_count; i++)
        if (run->known[i].package->sha256 != NULL)
            in_use[count++] = run->known[i].package->sha256;
    *out = in_use;
    *out_count = count;
    return 0;
}

static void make_room(void *context, uint64_t free_bytes)
{
    struct run *run = context;
    struct err e;
    err_init(&e);
    const char **in_use;
    size_t count;
    const char *cache_dir = run_cache_dir(run, &e);
    if (cache_dir == NULL || gather_in_use(run, &in_use, &count, &e) < 0 ||
        fetch_make_room(cache_dir, run->cache_hold, free_bytes, in_use, count, run->world->log, &e) < 0)
        log_warning(run->world->log, "cache", "no room could be made in the cache: %s", e.text);
}

static int make_fetch_options(struct run *run, const struct memory_sink *learning, struct fetch_options *out,
                              struct err *e)
{
    const char *cache_dir = run_cache_dir(run, e);
    if (cache_dir == NULL)
        return -1;
    *out = (struct fetch_options){
        .loop = run->world->loop,
        .http = run->package_http,
        .cache_dir = cache_dir,
        .settings = run->settings,
        .clock = run->world->clock,
        .jitter = run->world->jitter,
        .log = run->world->log,
        .memory = learning,
        .deadline_monotonic_ms = run->deadline_monotonic_ms,
        .progress = run->world->progress,
        .progress_context = run->world->progress_context,
        .make_room = make_room,
        .make_room_context = run,
    };
    return 0;
}

static bool is_known(const struct run *run, const struct software_item *item)
{
    for (size_t i = 0; i < run->known_count; i++)
        if (run->known[i].item->kind == item->kind && text_equal(run->known[i].item->sha256, item->sha256))
            return true;
    return false;
}

/* Script packages come from the repository: they are put into the cache as a download would be. */
static int store_scripts(struct run *run, const struct fetch_options *options, struct known_package *known,
                         struct err *e)
{
    for (size_t i = 0; i < run->plan.team_count; i++) {
        const struct plan_team *team = &run->plan.teams[i];
        for (size_t k = 0; k < team->item_count; k++) {
            const struct software_item *wish = team->items[k].wish;
            if (wish == NULL || wish->kind != SOFTWARE_SCRIPT_PACKAGE || wish->script.text == NULL ||
                is_known(run, wish))
                continue;
            if (!team->items[k].needs_bytes && run->until != RECONCILE_FETCH)
                continue;
            struct package *package = arena_alloc(run->arena, sizeof *package, e);
            const char *slash = strrchr(wish->script.path, '/');
            const char *name = slash == NULL ? wish->script.path : slash + 1;
            if (package == NULL || fetch_store(options, wish->script.text, wish->script.length, name,
                                               run->arena, package, e) < 0)
                return -1;
            known[run->known_count++] = (struct known_package){.item = wish, .package = package};
        }
    }
    return 0;
}

static int fetch(struct run *run, bool probe_only, struct err *e)
{
    struct fetch_options options;
    struct plan_fetches fetches = {0};
    const struct memory_sink learning = run_learning_sink(run);
    if (make_fetch_options(run, &learning, &options, e) < 0 ||
        plan_fetches(&run->plan, &run->memory, probe_only, run->arena, &fetches, e) < 0)
        return -1;
    struct package *packages = arena_alloc_array(run->arena, fetches.count, sizeof *packages, e);
    struct known_package *known =
        arena_alloc_array(run->arena, fetches.count + count_items(&run->plan), sizeof *known, e);
    if (packages == NULL || known == NULL)
        return -1;
    run->known = known;
    for (run->known_count = 0; run->known_count < fetches.count; run->known_count++)
        known[run->known_count] = (struct known_package){.item = fetches.items[run->known_count],
                                                         .package = &packages[run->known_count]};
    int result = fetches.count == 0
                     ? 0
                     : fetch_run(&options, fetches.requests, fetches.count, run->arena, packages, e);
    if (result < 0 || probe_only)
        return result;
    return store_scripts(run, &options, known, e);
}

int run_probe(struct run *run, struct err *e)
{
    return fetch(run, true, e);
}

int run_fetch(struct run *run, struct err *e)
{
    const char *cache_dir = run_cache_dir(run, e);
    if (cache_dir == NULL)
        return -1;
    run->cache_hold = fetch_hold_cache(cache_dir);
    int result = fetch(run, false, e);
    run_save_learned(run);
    return result;
}

static int make_team_outcomes(struct run *run, struct err *e)
{
    struct team_outcome *teams = arena_alloc_array(run->arena, run->plan.team_count, sizeof *teams, e);
    if (teams == NULL)
        return -1;
    run->report->teams = teams;
    run->report->team_count = run->plan.team_count;
    return 0;
}

int run_deliver(struct run *run, struct err *e)
{
    if (make_team_outcomes(run, e) < 0)
        return -1;
    const struct deliver_options options = {
        .fleet = run->fleet,
        .loop = run->world->loop,
        .settings = run->settings,
        .clock = run->world->clock,
        .log = run->world->log,
        .memory = &run->sink,
        .deadline_monotonic_ms = run->deadline_monotonic_ms,
    };
    const struct plan_input plan_input = plan_input_of(run);
    const struct deliver_input input = {
        .plan_input = &plan_input,
        .plan = &run->plan,
        .packages = run->known,
        .package_count = run->known_count,
    };
    return deliver_run(&options, &input, run->arena, run->report->teams, e);
}

/* `tender fetch`: what became of each package, instead of what would become of each team. */
static void describe_fetched(struct run *run)
{
    for (size_t i = 0; i < run->plan.team_count; i++) {
        struct team_outcome *team = &run->report->teams[i];
        for (size_t k = 0; k < team->outcome_count; k++) {
            struct outcome *outcome = &team->outcomes[k];
            const struct package *package = outcome->package;
            if (package != NULL && (package->state == PACKAGE_FETCHED || package->state == PACKAGE_CACHED))
                outcome->kind = OUTCOME_FETCHED;
        }
    }
}

int run_describe(struct run *run, struct err *e)
{
    if (make_team_outcomes(run, e) < 0 ||
        deliver_describe(&run->plan, run->known, run->known_count, run->arena, run->report->teams, e) < 0)
        return -1;
    if (run->until == RECONCILE_FETCH)
        describe_fetched(run);
    return 0;
}

void run_release_cache(struct run *run)
{
    if (run->cache_hold >= 0)
        close(run->cache_hold);
    run->cache_hold = -1;
}

void run_prune_cache(struct run *run)
{
    struct err e;
    err_init(&e);
    const char **in_use;
    size_t count;
    const char *cache_dir = run_cache_dir(run, &e);
    run_release_cache(run);
    if (cache_dir == NULL || gather_in_use(run, &in_use, &count, &e) < 0 ||
        fetch_prune_cache(cache_dir, (uint64_t)run->settings->limits.max_cache_bytes, in_use, count,
                          run->world->log, &e) < 0)
        log_warning(run->world->log, "cache", "the cache could not be pruned: %s", e.text);
}
