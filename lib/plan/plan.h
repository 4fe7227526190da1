/* The planner: a pure function of what is desired, what Fleet has, what is remembered and which digests are
 * known. No I/O, no clock, no log. It runs twice: before the fetch, and after it with what the fetch found.
 */
#ifndef TENDER_PLAN_PLAN_H
#define TENDER_PLAN_PLAN_H

#include "base/arena.h"
#include "model/memory.h"
#include "model/package.h"
#include "model/plan.h"
#include "model/settings.h"

struct plan_options {
    bool prune, allow_empty, create_teams, relearn, full;
    struct string_list prune_teams; /* globs */
    int64_t max_removals, max_removals_run;
    size_t guard_count;
    const struct guard_rule *guards; /* for teams whose name matches: the first one counts */
    int64_t now_wall_ms;             /* for "once a day" */
};

/* What is known of the bytes behind an item's sources, from probes (first plan) or from the fetch (second
 * plan). */
struct known_package {
    const struct software_item *item; /* one of the items that share these bytes */
    const struct package *package;
};

struct plan_input {
    const struct desired *desired;
    const struct observed *observed;
    const struct memory *memory;
    const struct known_package *known;
    size_t known_count;
    const struct plan_options *options;
};

/* All in the arena. Fails only for lack of memory. */
int plan_build(const struct plan_input *input, struct arena *arena, struct plan *out,
               struct err *e) MUST_CHECK;

/* One title whose details the planner needs before it can tell. */
struct wanted_details {
    struct observed_team *team;
    struct observed_title *title;
};
/* Which titles' details are to be read: where the list differs from what is remembered, where the wish
 * differs from what was applied last, where something is to be removed or carried over, everywhere once a day
 * or with `full`. `observed` gives out mutable titles, so that the reader can fill them. */
int plan_wanted_details(const struct desired *desired, struct observed *observed, const struct memory *memory,
                        const struct plan_options *options, struct arena *arena, struct wanted_details **out,
                        size_t *count, struct err *e) MUST_CHECK;

/* The downloads (or probes) that the plan's items need: one per (URL, digest), whichever teams want it.
 * requests[i] belongs to items[i]. */
struct plan_fetches {
    struct package_request *requests;
    const struct software_item **items;
    size_t count;
};
int plan_fetches(const struct plan *plan, const struct memory *memory, bool probe_only, struct arena *arena,
                 struct plan_fetches *out, struct err *e) MUST_CHECK;

#endif
