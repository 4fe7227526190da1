/* Which titles' details are worth a request before the plan is made. The planner itself is asked: it is run
 * on the lists alone, and says what it could not tell. */
#include "plan/work.h"
#include <stdlib.h>

struct wanted_list {
    struct wanted_details *items;
    size_t count, capacity;
};

static bool is_certain_change(const struct candidate *candidate)
{
    enum plan_action action = candidate->item->action;
    return action == PLAN_CREATE || action == PLAN_UPDATE || candidate->wants_details;
}

static bool has_certain_change(const struct team_work *work)
{
    for (size_t i = 0; i < work->candidate_count; i++)
        if (is_certain_change(&work->candidates[i]))
            return true;
    for (size_t i = 0; i < work->team->item_count; i++)
        if (work->team->items[i].action == PLAN_REMOVE)
            return true;
    return false;
}

static const struct candidate *candidate_of(const struct team_work *work, const struct plan_item *item)
{
    for (size_t i = 0; i < work->candidate_count; i++)
        if (work->candidates[i].item == item)
            return &work->candidates[i];
    return NULL;
}

/* In a team that changes, also what is removed or carried over. A check alone asks only for what is not
 * declared: most checks end as unchanged. */
static bool wants_details(const struct team_work *work, const struct plan_item *item, bool changes,
                          bool certainly)
{
    if (item->title == NULL || !title_is_package(item->title) || item->title->has_details)
        return false;
    const struct candidate *candidate = candidate_of(work, item);
    if (candidate != NULL && candidate->wants_details)
        return true;
    if (item->action == PLAN_REMOVE || item->reason == REASON_REMOVAL_WITHHELD)
        return true;
    if (item->action == PLAN_CHECK)
        return certainly;
    return changes &&
           (item->action == PLAN_KEEP || item->action == PLAN_WAITING || item->action == PLAN_BLOCKED);
}

/* The plan borrows const; the reader fills the same titles. */
static struct wanted_details mutable_title(struct observed *observed, const struct plan_team *team,
                                           const struct observed_title *title)
{
    struct observed_team *mutable_team = &observed->teams[team->observed - observed->teams];
    return (struct wanted_details){.team = mutable_team,
                                   .title = &mutable_team->titles[title - team->observed->titles]};
}

static int collect_team(struct observed *observed, const struct team_work *work, struct arena *arena,
                        struct wanted_list *list, struct err *e)
{
    const struct plan_team *team = work->team;
    if (team->observed == NULL || team->observed->error != NULL || team->desired->is_invalid)
        return 0;
    bool certainly = has_certain_change(work);
    bool changes = certainly || team_changes(team);
    for (size_t i = 0; i < team->item_count; i++) {
        if (!wants_details(work, &team->items[i], changes, certainly))
            continue;
        struct wanted_details *wanted = ARENA_PUSH(arena, &list->items, &list->count, &list->capacity, e);
        if (wanted == NULL)
            return -1;
        *wanted = mutable_title(observed, team, team->items[i].title);
    }
    return 0;
}

static int compare_wanted(const void *a, const void *b)
{
    const struct wanted_details *left = a;
    const struct wanted_details *right = b;
    if (left->team != right->team)
        return left->team < right->team ? -1 : 1;
    return left->title < right->title ? -1 : left->title > right->title;
}

/* Two items of one title want it twice. */
static size_t drop_repeated(struct wanted_details *items, size_t count)
{
    size_t used = 0;
    if (count > 0)
        qsort(items, count, sizeof *items, compare_wanted);
    for (size_t i = 0; i < count; i++)
        if (used == 0 || items[used - 1].title != items[i].title)
            items[used++] = items[i];
    return used;
}

int plan_wanted_details(const struct desired *desired, struct observed *observed, const struct memory *memory,
                        const struct plan_options *options, struct arena *arena, struct wanted_details **out,
                        size_t *count, struct err *e)
{
    const struct plan_input input = {
        .desired = desired, .observed = observed, .memory = memory, .options = options};
    struct planner planner = {.input = &input, .arena = arena};
    struct plan plan;
    struct team_work *works = NULL;
    struct wanted_list list = {0};
    if (planner_run(&planner, &plan, &works, e) < 0)
        return -1;
    for (size_t i = 0; i < plan.team_count; i++)
        if (collect_team(observed, &works[i], arena, &list, e) < 0)
            return -1;
    *out = list.items;
    *count = drop_repeated(list.items, list.count);
    return 0;
}
