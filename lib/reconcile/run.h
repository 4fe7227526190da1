/* One run's values and resources, in the order in which they come to be. Only for the files of this folder.
 */
#ifndef TENDER_RECONCILE_RUN_H
#define TENDER_RECONCILE_RUN_H

#include "deliver/deliver.h"
#include "fleet/fleet.h"
#include "manifest/manifest.h"
#include "plan/plan.h"
#include "reconcile/reconcile.h"
#include "repository/repository.h"
#include "state/state.h"

struct run {
    const struct reconcile_world *world;
    enum reconcile_until until;
    struct settings *settings;
    struct arena *arena;
    struct run_report *report;
    int64_t deadline_monotonic_ms; /* 0: none */

    struct repository *repository;
    struct manifest_source source;
    struct desired *desired;
    struct http *package_http;
    struct http *api_http;
    struct fleet *fleet;
    struct observed observed;
    struct state *state; /* NULL: none could be opened; the run does without */
    struct memory memory;
    struct memory_sink sink; /* of what deliver learns */
    size_t learned_count, learned_capacity;
    struct remembered_validator *learned; /* by the downloads, and not written yet */
    int64_t learned_saved_ms;
    int cache_hold; /* -1: none */
    struct plan_options plan_options;
    struct known_package *known;
    size_t known_count;
    struct plan plan;
};

/* run_open.c: settings, repository, connections */
int run_read_manifests(struct run *run, struct err *e) MUST_CHECK;
int run_open_connections(struct run *run, struct err *e) MUST_CHECK;
int run_observe(struct run *run, struct err *e) MUST_CHECK;
/* When the work is to end, so that the report is there before `limit_ms` are over: a tenth earlier, at most
 * two seconds. 0: never, as no limit is set. */
int64_t run_deadline_ms(int64_t started_ms, int64_t limit_ms);
/* For `fetch`: as if Fleet had every team, and nothing in it. */
int run_observe_nothing(struct run *run, struct err *e) MUST_CHECK;
void run_done(struct run *run);

/* run_memory.c */
void run_open_memory(struct run *run);
/* Where the fetch stage tells what it learns; run_save_learned() writes it. */
struct memory_sink run_learning_sink(struct run *run);
void run_save_learned(struct run *run);

/* run_stages.c: plan, fetch, deliver */
int run_plan(struct run *run, struct err *e) MUST_CHECK;
int run_probe(struct run *run, struct err *e) MUST_CHECK;
int run_fetch(struct run *run, struct err *e) MUST_CHECK;
int run_deliver(struct run *run, struct err *e) MUST_CHECK;
int run_describe(struct run *run, struct err *e) MUST_CHECK;
void run_prune_cache(struct run *run); /* gives up the hold of the cache */
void run_release_cache(struct run *run);

/* The cache's folder: settings' or state_dir/cache. In the arena. */
const char *run_cache_dir(struct run *run, struct err *e) MUST_CHECK;

#endif
