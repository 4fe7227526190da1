/* What the planner's own files share while a plan is made. Not for other stages. */
#ifndef TENDER_PLAN_WORK_H
#define TENDER_PLAN_WORK_H

#include "plan/plan.h"

/* How a digest begins, as a number that sorts as the text does; 0 for none. What is compared many times is
 * compared by it first. */
uint64_t digest_head(const char *sha256);

/* Which digests Fleet has, in any team whose software was read: each once, sorted by digest. */
struct held_digest {
    uint64_t head;
    const char *sha256;
    int64_t title_id;
};
struct held_digests {
    size_t count;
    struct held_digest *items;
};

struct planner {
    const struct plan_input *input;
    struct arena *arena;
    struct held_digests held;
};

enum bytes_state {
    BYTES_UNKNOWN, /* an unpinned URL that nobody asked yet, or that could not tell */
    BYTES_KNOWN,   /* the digest is known */
    BYTES_FAILED,  /* asked for, but not got */
};

/* One declared package on its way to its plan item. */
struct candidate {
    const struct software_item *wish;
    struct plan_item *item;
    const char *key; /* software_key() */
    const struct remembered_item *remembered;
    const struct package *package; /* what the fetch or the probe found; NULL: not asked */
    enum bytes_state bytes;
    const char *sha256;                  /* what it is to have; NULL unless known */
    const struct observed_title *title;  /* NULL: not matched */
    int64_t known_title_id;              /* which title these bytes are, from other teams; 0: unknown */
    const struct observed_title *app;    /* the team has this title as an app: it can't be a package too */
    const struct candidate *conflicting; /* another item of the team for the same title */
    bool wants_details;                  /* can't be told without the title's details, which are not read */
};

struct team_work {
    struct plan_team *team;
    struct candidate *candidates; /* the packages, in file order */
    size_t candidate_count;
    bool *claimed; /* per observed title: an item of the manifest stands for it */
};

/* plan.c */
int planner_run(struct planner *planner, struct plan *out, struct team_work **works,
                struct err *e) MUST_CHECK;
int held_digests_read(const struct observed_team *const *teams, size_t count, struct arena *arena,
                      struct held_digests *out, struct err *e) MUST_CHECK;
const struct held_digest *held_digests_find(const struct held_digests *held, const char *sha256);
bool title_is_package(const struct observed_title *title);

/* match.c */
int match_packages(const struct planner *planner, struct team_work *work, struct err *e) MUST_CHECK;

/* likely.c: after matching, a title that a new item probably is the next version of. A hint: nothing is
 * decided by it. */
void find_likely_titles(const struct planner *planner, struct team_work *work);

/* diff.c */
struct field_diff {
    unsigned changed;
    unsigned assumed;
    bool wants_details;
};
int diff_package(const struct planner *planner, const struct candidate *candidate, struct field_diff *out,
                 struct err *e) MUST_CHECK;

/* decide.c */
int decide_package(const struct planner *planner, const struct team_work *work, struct candidate *candidate,
                   struct err *e) MUST_CHECK;
/* The bytes could not be got: what Fleet has stays. */
int decide_fetch_failed(const struct planner *planner, const struct team_work *work,
                        struct candidate *candidate, struct err *e) MUST_CHECK;
/* Blocks or parks a team's items as one: the explanation is the same for all. */
void decide_all(struct plan_team *team, enum plan_action action, enum plan_reason reason,
                const char *explanation);

/* apps.c */
void decide_apps(const struct planner *planner, struct team_work *work, size_t first_item);

/* guards.c */
int apply_pruning(const struct planner *planner, struct team_work *works, size_t count,
                  struct err *e) MUST_CHECK;

/* delivery.c */
int choose_delivery(const struct planner *planner, struct team_work *work, struct err *e) MUST_CHECK;
bool team_changes(const struct plan_team *team);

#endif
