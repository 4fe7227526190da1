/* The Fleet server as the other stages see it: reading what it has. One function per endpoint is in client.h;
 * this header is for reconcile. */
#ifndef TENDER_FLEET_FLEET_H
#define TENDER_FLEET_FLEET_H

#include "base/arena.h"
#include "model/observed.h"
#include "model/outcome.h"
#include "model/settings.h"
#include "net/http.h"

struct fleet; /* a connection to one server with one token; counts its calls */

struct fleet_options {
    struct loop *loop;
    struct http *http;
    const struct settings *settings; /* URL, token, limits, retry */
    const struct clock *clock;
    const struct jitter *jitter;
    const struct log *log;
    int64_t deadline_monotonic_ms; /* 0: none; calls under way are given up then */
};

/* Checks URL and token form only; sends nothing. */
struct fleet *fleet_new(const struct fleet_options *options, struct err *e) MUST_CHECK;
void fleet_free(struct fleet *fleet);
void fleet_cleanup(struct fleet **fleet);

/* Version, user, teams, labels and each wanted team's software list. `wanted_teams` are the names that the
 * manifests have (any case); others are named but their software is not read. A team whose list can't be read
 * has `error`; -1 only where nothing can be read (401: ERR_UNAUTHORISED, a role that may not read:
 * ERR_UNAUTHORISED naming the missing right, unreachable: ERR_NETWORK). */
int fleet_observe(struct fleet *fleet, const char *const *wanted_teams, size_t wanted_count,
                  struct arena *arena, struct observed *out, struct err *e) MUST_CHECK;

/* Fills the title's details; several at once (limits.parallel_api). A title that fails leaves has_details
 * false and gets its team's error. */
struct fleet_title_request {
    struct observed_team *team;
    struct observed_title *title;
};
int fleet_read_details(struct fleet *fleet, const struct fleet_title_request *requests, size_t count,
                       struct arena *arena, struct err *e) MUST_CHECK;
/* The set-up experience flags of the team's titles. Absent where the server has none. */
int fleet_read_setup_experience(struct fleet *fleet, struct observed_team *team, struct arena *arena,
                                struct err *e) MUST_CHECK;

/* The same before planning: a failure is the team's `setup_error`; -1 only for what is fatal for the run. */
int fleet_observe_setup_experience(struct fleet *fleet, struct observed_team *team, struct arena *arena,
                                   struct err *e) MUST_CHECK;

/* Time per kind of call, for the report. */
int fleet_statistics(const struct fleet *fleet, struct arena *arena, struct call_statistics **out,
                     size_t *count, struct err *e) MUST_CHECK;

#endif
