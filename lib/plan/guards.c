/* Pruning: which undeclared packages are removed. A team's removals are withheld as one where a guard trips;
 * the rest of the plan stands. */
#include "base/text.h"
#include "plan/work.h"
#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

/* The team's own rule; NULL if it has none. */
static const struct guard_rule *own_guard(const struct plan_options *options, const struct desired_team *team)
{
    for (size_t i = 0; i < options->guard_count; i++)
        if (fnmatch(options->guards[i].team, team->name, 0) == 0)
            return &options->guards[i];
    return NULL;
}

/* What holds for the team: its rule, or the general settings. */
static struct guard_rule guard_of(const struct plan_options *options, const struct desired_team *team)
{
    const struct guard_rule *own = own_guard(options, team);
    return own != NULL ? *own
                       : (struct guard_rule){.allow_empty = options->allow_empty,
                                             .max_removals = options->max_removals};
}

static bool prunes(const struct plan_options *options, const struct desired_team *team)
{
    enum tristate own = guard_of(options, team).prune;
    if (own != TRISTATE_ABSENT)
        return own == TRISTATE_TRUE;
    if (options->prune)
        return true;
    for (size_t i = 0; i < options->prune_teams.count; i++)
        if (fnmatch(options->prune_teams.items[i], team->name, 0) == 0)
            return true;
    return false;
}

/* A title that a new item probably updates is not a candidate, so that a mere new version trips no guard. */
static bool is_removable(const struct plan_team *team, const struct plan_item *item)
{
    if (item->wish != NULL || item->reason != REASON_UNDECLARED || !title_is_package(item->title))
        return false;
    for (size_t i = 0; i < team->item_count; i++)
        if (team->items[i].likely_title == item->title)
            return false;
    return true;
}

static size_t count_removable(const struct plan_team *team)
{
    size_t count = 0;
    for (size_t i = 0; i < team->item_count; i++)
        count += is_removable(team, &team->items[i]) ? 1 : 0;
    return count;
}

/* A declared item of which nobody knows which title it is may be one of those to be removed; an app may take
 * the place of a package. */
static const struct plan_item *find_untold(const struct team_work *work)
{
    for (size_t i = 0; i < work->candidate_count; i++)
        if (work->candidates[i].known_title_id == 0)
            return work->candidates[i].item;
    for (size_t i = work->candidate_count; i < work->team->item_count; i++)
        if (work->team->items[i].wish != NULL && work->team->items[i].title == NULL)
            return &work->team->items[i];
    return NULL;
}

static int guard_empty_pattern(const struct planner *planner, const struct team_work *work, const char **out,
                               struct err *e)
{
    const char *pattern = work->team->desired->packages.empty_pattern;
    if (pattern == NULL)
        return 0;
    *out =
        arena_printf(planner->arena, e,
                     "no file matches %s, which may be a misspelt or renamed folder; correct the pattern, or "
                     "take it out",
                     pattern);
    return *out == NULL ? -1 : 0;
}

static int guard_idle(const struct planner *planner, const struct team_work *work, const char **out,
                      struct err *e)
{
    const char *idle = planner->input->desired->idle_guard;
    if (idle == NULL || own_guard(planner->input->options, work->team->desired) != NULL)
        return 0;
    *out = arena_printf(
        planner->arena, e,
        "the guard %s is for no team, and may be meant for this one; correct it, or take it out", idle);
    return *out == NULL ? -1 : 0;
}

static int guard_untold(const struct planner *planner, const struct team_work *work, const char **out,
                        struct err *e)
{
    const struct plan_item *untold = find_untold(work);
    if (untold == NULL)
        return 0;
    *out = arena_printf(planner->arena, e,
                        "which title “%s” is in Fleet is not known in this run; it may be one of those",
                        untold->name);
    return *out == NULL ? -1 : 0;
}

static int guard_in_use(const struct planner *planner, const struct team_work *work, const char **out,
                        struct err *e)
{
    for (size_t i = 0; i < work->team->item_count; i++) {
        const struct plan_item *item = &work->team->items[i];
        if (!is_removable(work->team, item))
            continue;
        if (item->title->policies.count > 0)
            *out = arena_printf(planner->arena, e, "the policy “%s” installs “%s”",
                                item->title->policies.items[0], item->name);
        else if (item->title->install_during_setup == TRISTATE_TRUE)
            *out = arena_printf(planner->arena, e, "the set-up experience installs “%s”", item->name);
        else
            continue;
        return *out == NULL ? -1 : 0;
    }
    return 0;
}

static int guard_setup_unknown(const struct planner *planner, const struct team_work *work, const char **out,
                               struct err *e)
{
    const struct observed_team *observed = work->team->observed;
    if (observed == NULL || observed->setup_error == NULL)
        return 0;
    *out =
        arena_printf(planner->arena, e, "whether the set-up experience uses them could not be looked up: %s",
                     observed->setup_error);
    return *out == NULL ? -1 : 0;
}

static int guard_team_limit(const struct planner *planner, const struct team_work *work, const char **out,
                            struct err *e)
{
    int64_t limit = guard_of(planner->input->options, work->team->desired).max_removals;
    size_t count = count_removable(work->team);
    if ((int64_t)count <= limit)
        return 0;
    *out =
        arena_printf(planner->arena, e,
                     "%zu removals are more than max_removals (%" PRId64 ") allows for a team", count, limit);
    return *out == NULL ? -1 : 0;
}

static int guard_empty(const struct planner *planner, const struct team_work *work, const char **out,
                       struct err *e)
{
    (void)e;
    for (size_t i = 0; i < work->candidate_count; i++)
        if (work->candidates[i].title != NULL || work->candidates[i].item->action == PLAN_CREATE)
            return 0;
    if (!guard_of(planner->input->options, work->team->desired).allow_empty)
        *out = "they would leave the team without any package; allow_empty permits that";
    return 0;
}

static int (*const guards[])(const struct planner *, const struct team_work *, const char **,
                             struct err *) = {guard_empty_pattern, guard_idle,          guard_untold,
                                              guard_in_use,        guard_setup_unknown, guard_team_limit,
                                              guard_empty};

static int withhold(const struct planner *planner, struct plan_team *team, const char *why, struct err *e)
{
    size_t count = count_removable(team);
    team->removals_withheld = arena_printf(planner->arena, e, "%zu removal%s withheld: %s", count,
                                           count == 1 ? " is" : "s are", why);
    if (team->removals_withheld == NULL)
        return -1;
    for (size_t i = 0; i < team->item_count; i++)
        if (is_removable(team, &team->items[i])) {
            team->items[i].reason = REASON_REMOVAL_WITHHELD;
            team->items[i].explanation = why;
        }
    return 0;
}

static void remove_undeclared(struct plan_team *team)
{
    for (size_t i = 0; i < team->item_count; i++)
        if (is_removable(team, &team->items[i])) {
            team->items[i].action = PLAN_REMOVE;
            team->items[i].reason = REASON_NONE;
            team->items[i].explanation = "not declared, and pruning is on";
        }
}

int apply_pruning(const struct planner *planner, struct team_work *works, size_t count, struct err *e)
{
    const struct plan_options *options = planner->input->options;
    int64_t removals = 0;
    bool run_is_full = false;
    for (size_t i = 0; i < count; i++) {
        struct plan_team *team = works[i].team;
        int64_t removable = (int64_t)count_removable(team);
        if (removable == 0 || team->desired->packages.state == LIST_ABSENT || !prunes(options, team->desired))
            continue;
        const char *why = NULL;
        for (size_t guard = 0; guard < ARRAY_LENGTH(guards) && why == NULL; guard++)
            if (guards[guard](planner, &works[i], &why, e) < 0)
                return -1;
        if (why == NULL && (run_is_full || removals + removable > options->max_removals_run)) {
            run_is_full = true;
            why = arena_printf(planner->arena, e,
                               "together with the teams before, they are more than max_removals_run (%" PRId64
                               ") allows",
                               options->max_removals_run);
            if (why == NULL)
                return -1;
        }
        if (why == NULL) {
            remove_undeclared(team);
            removals += removable;
        } else if (withhold(planner, team, why, e) < 0) {
            return -1;
        }
    }
    return 0;
}
