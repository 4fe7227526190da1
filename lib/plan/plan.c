/* From what is desired and what Fleet has to what is to be done. plan_build() goes over the teams in three
 * steps: each declared item is matched and judged (match, diff, decide, apps), then pruning is decided over
 * all teams (guards), then each team's way of delivery is chosen (delivery). Pure: the same input gives the
 * same plan. */
#include "base/text.h"
#include "plan/work.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NAME_BYTES = 512 };

bool title_is_package(const struct observed_title *title)
{
    return (title->kind == SOFTWARE_PACKAGE || title->kind == SOFTWARE_SCRIPT_PACKAGE) &&
           title->maintained_app_id == 0;
}

uint64_t digest_head(const char *sha256)
{
    uint64_t head = 0;
    for (size_t i = 0; sha256 != NULL && i < sizeof head && sha256[i] != '\0'; i++)
        head = head << 8 | (unsigned char)sha256[i];
    return head;
}

static int compare_held(const void *a, const void *b)
{
    const struct held_digest *left = a;
    const struct held_digest *right = b;
    if (left->head != right->head)
        return left->head < right->head ? -1 : 1;
    return strcmp(left->sha256, right->sha256);
}

/* Most teams have much the same: each digest is kept once, before they are sorted. */
struct held_set {
    uint32_t *slots; /* an item's index + 1; 0: free. At least half are */
    size_t mask;
    struct held_digest *items;
    size_t count;
};

static void hold(struct held_set *set, const struct held_digest *item)
{
    size_t at = (size_t)(item->head * 0x9E3779B97F4A7C15u >> 32) & set->mask;
    for (; set->slots[at] != 0; at = (at + 1) & set->mask) {
        const struct held_digest *other = &set->items[set->slots[at] - 1];
        if (other->head == item->head && text_equal(other->sha256, item->sha256))
            return;
    }
    set->items[set->count] = *item;
    set->slots[at] = (uint32_t)++set->count;
}

int held_digests_read(const struct observed_team *const *teams, size_t count, struct arena *arena,
                      struct held_digests *out, struct err *e)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += teams[i] == NULL ? 0 : teams[i]->title_count;
    struct held_set set = {.mask = 15};
    while (set.mask < 2 * total)
        set.mask = 2 * set.mask + 1;
    set.slots = arena_alloc_array(arena, set.mask + 1, sizeof *set.slots, e);
    set.items = arena_alloc_array(arena, total, sizeof *set.items, e);
    if (set.slots == NULL || set.items == NULL)
        return -1;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; teams[i] != NULL && j < teams[i]->title_count; j++) {
            const struct observed_title *title = &teams[i]->titles[j];
            if (!text_is_empty(title->sha256))
                hold(&set, &(struct held_digest){.head = digest_head(title->sha256),
                                                 .sha256 = title->sha256,
                                                 .title_id = title->title_id});
        }
    if (set.count > 0)
        qsort(set.items, set.count, sizeof *set.items, compare_held);
    *out = (struct held_digests){.items = set.items, .count = set.count};
    return 0;
}

const struct held_digest *held_digests_find(const struct held_digests *held, const char *sha256)
{
    if (held->count == 0 || sha256 == NULL)
        return NULL;
    const struct held_digest wanted = {.head = digest_head(sha256), .sha256 = sha256};
    return bsearch(&wanted, held->items, held->count, sizeof *held->items, compare_held);
}

/* Fleet looks teams up without regard to case, so two that differ only in case can't be told apart. */
static const struct observed_team *find_team(const struct observed *observed,
                                             const struct desired_team *desired,
                                             const struct observed_team **twin)
{
    const struct observed_team *found = NULL;
    *twin = NULL;
    for (size_t i = 0; i < observed->team_count; i++) {
        const struct observed_team *team = &observed->teams[i];
        bool matches =
            desired->is_no_team ? team->id == 0 : team->id != 0 && strcasecmp(team->name, desired->name) == 0;
        if (matches && found == NULL)
            found = team;
        else if (matches)
            *twin = team;
    }
    return found;
}

static size_t declared_count(const struct desired_team *team)
{
    return team->packages.count + team->maintained_apps.count + team->app_store_apps.count;
}

static int add_declared(struct plan_team *team, const struct software_list *list, struct arena *arena,
                        struct err *e)
{
    char name[NAME_BYTES];
    for (size_t i = 0; i < list->count; i++) {
        struct plan_item *item = &team->items[team->item_count++];
        software_name(&list->items[i], name, sizeof name);
        *item = (struct plan_item){.wish = &list->items[i],
                                   .explanation = "",
                                   .sha256 = list->items[i].sha256,
                                   .name = arena_strdup(arena, name, e)};
        if (item->name == NULL)
            return -1;
    }
    return 0;
}

static int start_team(const struct planner *planner, struct team_work *work, struct err *e)
{
    struct plan_team *team = work->team;
    size_t titles = team->observed == NULL ? 0 : team->observed->title_count;
    size_t packages = team->desired->packages.count;
    team->items =
        arena_alloc_array(planner->arena, declared_count(team->desired) + titles, sizeof *team->items, e);
    work->candidates = arena_alloc_array(planner->arena, packages, sizeof *work->candidates, e);
    work->claimed = arena_alloc_array(planner->arena, titles, sizeof *work->claimed, e);
    if (team->items == NULL || work->candidates == NULL || work->claimed == NULL ||
        add_declared(team, &team->desired->packages, planner->arena, e) < 0 ||
        add_declared(team, &team->desired->maintained_apps, planner->arena, e) < 0 ||
        add_declared(team, &team->desired->app_store_apps, planner->arena, e) < 0)
        return -1;
    for (size_t i = 0; i < packages; i++)
        work->candidates[i] =
            (struct candidate){.wish = &team->desired->packages.items[i], .item = &team->items[i]};
    work->candidate_count = packages;
    return 0;
}

/* The new item that probably updates the title. */
static const struct plan_item *successor_of(const struct team_work *work, const struct observed_title *title)
{
    for (size_t i = 0; i < work->candidate_count; i++)
        if (work->candidates[i].item->likely_title == title)
            return work->candidates[i].item;
    return NULL;
}

static int explain_undeclared(const struct planner *planner, const struct team_work *work,
                              const struct observed_title *title, const char **out, struct err *e)
{
    const struct plan_item *successor = successor_of(work, title);
    *out = !title_is_package(title) ? "not declared; apps are never removed"
           : work->team->desired->packages.state == LIST_ABSENT
               ? "not declared; the team's file does not manage packages"
               : "not declared; kept, for pruning is off";
    if (successor != NULL)
        *out = arena_printf(planner->arena, e, "not declared; “%s” is probably its next version",
                            successor->name);
    return *out == NULL ? -1 : 0;
}

/* What the team has and its file does not declare: kept, until pruning says otherwise. */
static int add_undeclared(const struct planner *planner, struct team_work *work, struct err *e)
{
    struct plan_team *team = work->team;
    for (size_t i = 0; team->observed != NULL && i < team->observed->title_count; i++) {
        const struct observed_title *title = &team->observed->titles[i];
        const char *explanation = NULL;
        if (work->claimed[i])
            continue;
        if (explain_undeclared(planner, work, title, &explanation, e) < 0)
            return -1;
        team->items[team->item_count++] =
            (struct plan_item){.action = PLAN_KEEP,
                               .reason = REASON_UNDECLARED,
                               .explanation = explanation,
                               .name = text_is_empty(title->display_name) ? title->name : title->display_name,
                               .title = title,
                               .sha256 = title->sha256};
    }
    return 0;
}

static int plan_missing_team(const struct planner *planner, struct team_work *work, struct err *e)
{
    struct plan_team *team = work->team;
    const struct observed *observed = planner->input->observed;
    const char **names = arena_alloc_array(planner->arena, observed->team_count, sizeof *names, e);
    if (names == NULL)
        return -1;
    size_t count = 0;
    for (size_t i = 0; i < observed->team_count; i++)
        if (observed->teams[i].id != 0)
            names[count++] = observed->teams[i].name;
    const char *nearest = text_nearest(team->desired->name, names, count);
    const char *explanation =
        nearest == NULL
            ? arena_printf(planner->arena, e, "Fleet has no team “%s” (or the token may not see it)",
                           team->desired->name)
            : arena_printf(planner->arena, e, "Fleet has no team “%s”; did you mean “%s”?",
                           team->desired->name, nearest);
    if (explanation == NULL)
        return -1;
    decide_all(team, PLAN_WAITING, REASON_TEAM_MISSING, explanation);
    return 0;
}

/* Whether the team as a whole can't be planned; its items say why. 1: settled here, 0: go on. */
static int settle_whole_team(const struct planner *planner, struct team_work *work,
                             const struct observed_team *twin, struct err *e)
{
    struct plan_team *team = work->team;
    if (team->desired->is_invalid) {
        decide_all(team, PLAN_BLOCKED, REASON_TEAM_INVALID,
                   "the team's files have errors; nothing of the team is changed");
        return 1;
    }
    if (!planner->input->observed->is_read)
        return 0;
    if (twin != NULL) {
        const char *explanation =
            arena_printf(planner->arena, e,
                         "Fleet has two teams whose names differ only in case, “%s” and “%s”: rename one",
                         team->observed->name, twin->name);
        decide_all(team, PLAN_BLOCKED, REASON_TEAM_UNREADABLE, explanation);
        return explanation == NULL ? -1 : 1;
    }
    if (team->observed != NULL && !text_is_empty(team->observed->error)) {
        const char *explanation =
            arena_printf(planner->arena, e, "what the team has could not be read: %s", team->observed->error);
        decide_all(team, PLAN_BLOCKED, REASON_TEAM_UNREADABLE, explanation);
        return explanation == NULL ? -1 : 1;
    }
    if (team->observed == NULL && !planner->input->options->create_teams)
        return plan_missing_team(planner, work, e) < 0 ? -1 : 1;
    return 0;
}

static int plan_team(const struct planner *planner, struct team_work *work, struct err *e)
{
    struct plan_team *team = work->team;
    const struct observed_team *twin = NULL;
    team->observed = find_team(planner->input->observed, team->desired, &twin);
    team->delivery_reason = "";
    team->removals_withheld = "";
    if (start_team(planner, work, e) < 0)
        return -1;
    int settled = settle_whole_team(planner, work, twin, e);
    if (settled != 0)
        return settled < 0 ? -1 : 0;
    team->create_team = team->observed == NULL && planner->input->observed->is_read;
    if (match_packages(planner, work, e) < 0)
        return -1;
    for (size_t i = 0; i < work->candidate_count; i++)
        if (decide_package(planner, work, &work->candidates[i], e) < 0)
            return -1;
    decide_apps(planner, work, work->candidate_count);
    return add_undeclared(planner, work, e);
}

static void count_items(struct plan *plan)
{
    for (size_t i = 0; i < plan->team_count; i++) {
        plan->change_count += plan->teams[i].create_team ? 1 : 0;
        for (size_t j = 0; j < plan->teams[i].item_count; j++)
            plan->counts[plan->teams[i].items[j].action]++;
    }
    plan->change_count += plan->counts[PLAN_CREATE] + plan->counts[PLAN_UPDATE] + plan->counts[PLAN_REMOVE] +
                          plan->counts[PLAN_CHECK];
}

int planner_run(struct planner *planner, struct plan *out, struct team_work **works_out, struct err *e)
{
    const struct desired *desired = planner->input->desired;
    const struct observed *observed = planner->input->observed;
    struct plan plan = {.team_count = desired->team_count};
    plan.teams = arena_alloc_array(planner->arena, plan.team_count, sizeof *plan.teams, e);
    struct team_work *works = arena_alloc_array(planner->arena, plan.team_count, sizeof *works, e);
    const struct observed_team **teams =
        arena_alloc_array(planner->arena, observed->team_count, sizeof *teams, e);
    if (plan.teams == NULL || works == NULL || teams == NULL)
        return -1;
    for (size_t i = 0; i < observed->team_count; i++)
        teams[i] = &observed->teams[i];
    if (held_digests_read(teams, observed->team_count, planner->arena, &planner->held, e) < 0)
        return -1;
    for (size_t i = 0; i < plan.team_count; i++) {
        plan.teams[i].desired = &desired->teams[i];
        works[i].team = &plan.teams[i];
        if (plan_team(planner, &works[i], e) < 0)
            return -1;
    }
    if (apply_pruning(planner, works, plan.team_count, e) < 0)
        return -1;
    for (size_t i = 0; i < plan.team_count; i++)
        if (choose_delivery(planner, &works[i], e) < 0)
            return -1;
    count_items(&plan);
    *out = plan;
    *works_out = works;
    return 0;
}

int plan_build(const struct plan_input *input, struct arena *arena, struct plan *out, struct err *e)
{
    struct planner planner = {.input = input, .arena = arena};
    struct team_work *works = NULL;
    return planner_run(&planner, out, &works, e);
}
