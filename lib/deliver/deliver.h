/* From plan and files to API calls: uploads what Fleet lacks, commits each team, reads back, compares; one
 * outcome per item. */
#ifndef TENDER_DELIVER_DELIVER_H
#define TENDER_DELIVER_DELIVER_H

#include "base/arena.h"
#include "fleet/fleet.h"
#include "model/outcome.h"
#include "plan/plan.h"

struct deliver_options {
    struct fleet *fleet;
    struct loop *loop; /* a stop lets the commit under way end within limits.shutdown_grace_ms */
    const struct settings *settings;
    const struct clock *clock;
    const struct log *log;
    const struct memory_sink *memory;
    int64_t deadline_monotonic_ms; /* 0: none */
};

struct deliver_input {
    const struct plan_input *plan_input;  /* to plan a team again when its list changed under us */
    const struct plan *plan;              /* the second plan */
    const struct known_package *packages; /* where the bytes are */
    size_t package_count;
};

/* results[i] belongs to plan->teams[i]. -1 only for what is fatal for the run (401 in mid-run, out of
 * memory); results are filled as far as it came, with what was not tried marked failed. */
int deliver_run(const struct deliver_options *options, const struct deliver_input *input, struct arena *arena,
                struct team_outcome *results, struct err *e) MUST_CHECK;

/* The outcomes of a plan that is not delivered (tender plan; teams without anything to do). */
int deliver_describe(const struct plan *plan, const struct known_package *packages, size_t package_count,
                     struct arena *arena, struct team_outcome *results, struct err *e) MUST_CHECK;

#endif
