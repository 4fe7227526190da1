/* The look before the commit: a team's list is read once more, and the team is planned again where it is not
 * what the plan was made from. Between two looks nobody else's change gets lost, only within the call itself.
 */
#include "base/text.h"
#include "deliver/work.h"
#include <string.h>

enum { MAX_PLANS = 2, SCRATCH_BYTES = 256 * 1024 * 1024 };

const struct observed_title *team_find_title(const struct team_delivery *team, int64_t title_id)
{
    for (size_t i = 0; team->now != NULL && i < team->now->title_count; i++)
        if (team->now->titles[i].title_id == title_id)
            return &team->now->titles[i];
    return NULL;
}

static const struct observed_title *find_in(const struct observed_team *team, int64_t title_id)
{
    for (size_t i = 0; i < team->title_count; i++)
        if (team->titles[i].title_id == title_id)
            return &team->titles[i];
    return NULL;
}

static int same_row(const struct observed_title *a, const struct observed_title *b, bool *same, struct err *e)
{
    char left[DIGEST_HEX_BYTES], right[DIGEST_HEX_BYTES];
    if (observed_row_fingerprint(a, left, e) < 0 || observed_row_fingerprint(b, right, e) < 0)
        return -1;
    *same = strcmp(left, right) == 0;
    return 0;
}

/* Only the list's fields come from the list; what else is known of a title whose row is the same still holds.
 */
static void take_over_details(struct observed_title *title, const struct observed_title *old)
{
    struct observed_title row = *title;
    *title = *old;
    title->name = row.name;
    title->sha256 = row.sha256 != NULL ? row.sha256 : old->sha256;
    title->policies = row.policies;
}

int team_read_list(struct team_delivery *team, struct err *e)
{
    struct delivery *run = team->run;
    struct title_rows rows = {.items = NULL};
    struct observed_team old = *team->now;
    if (fleet_list_titles(run->options->fleet, team->team_id, run->arena, &rows, e) < 0)
        return -1;
    for (size_t i = 0; i < rows.count; i++) {
        bool same = false;
        const struct observed_title *before = find_in(&old, rows.items[i].title_id);
        if (before != NULL && same_row(&rows.items[i], before, &same, e) < 0)
            return -1;
        if (same)
            take_over_details(&rows.items[i], before);
        else if (before != NULL)
            rows.items[i].install_during_setup = before->install_during_setup;
    }
    team->now->titles = rows.items;
    team->now->title_count = rows.count;
    team->now->unclear_count = rows.unclear_count;
    team->now->error = NULL;
    return 0;
}

int team_read_missing_details(struct team_delivery *team, const bool *wanted, struct err *e)
{
    struct delivery *run = team->run;
    struct observed_team *now = team->now;
    struct fleet_title_request *requests =
        arena_alloc_array(run->arena, now->title_count, sizeof *requests, e);
    if (requests == NULL)
        return -1;
    size_t count = 0;
    for (size_t i = 0; i < now->title_count; i++)
        if (wanted[i] && !now->titles[i].has_details && now->titles[i].kind != SOFTWARE_APP_STORE_APP)
            requests[count++] = (struct fleet_title_request){now, &now->titles[i]};
    now->error = NULL;
    if (fleet_read_details(run->options->fleet, requests, count, run->arena, e) < 0)
        return -1;
    if (now->error == NULL)
        return 0;
    const char *why = now->error;
    now->error = NULL;
    return err_set(e, ERR_SERVER, "%s", why);
}

static int is_basis(const struct team_delivery *team, bool *same, struct err *e)
{
    const struct observed_team *basis = &team->basis;
    *same = basis->title_count == team->now->title_count && basis->unclear_count == team->now->unclear_count;
    for (size_t i = 0; i < basis->title_count && *same; i++) {
        const struct observed_title *now = team_find_title(team, basis->titles[i].title_id);
        if (now == NULL)
            *same = false;
        else if (same_row(&basis->titles[i], now, same, e) < 0)
            return -1;
    }
    return 0;
}

/* This team alone, as if the manifests had no other. */
static struct desired desired_alone(const struct team_delivery *team)
{
    const struct desired *all = team->run->input->plan_input->desired;
    struct desired alone = *all;
    alone.teams = &all->teams[team->index];
    alone.team_count = 1;
    return alone;
}

/* Which details it takes is worked out in memory of its own: it happens once per team. */
static int read_wanted_details(struct team_delivery *team, struct err *e)
{
    struct delivery *run = team->run;
    const struct plan_input *input = run->input->plan_input;
    const struct desired alone = desired_alone(team);
    CLEANUP(arena_cleanup) struct arena *scratch = arena_new(SCRATCH_BYTES);
    if (scratch == NULL)
        return err_set(e, ERR_MEMORY, "out of memory");
    struct wanted_details *wanted = NULL;
    size_t count = 0;
    if (plan_wanted_details(&alone, &run->observed, input->memory, input->options, scratch, &wanted, &count,
                            e) < 0)
        return -1;
    bool *flags = arena_alloc_array(scratch, team->now->title_count, sizeof *flags, e);
    if (flags == NULL)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (wanted[i].team == team->now)
            flags[wanted[i].title - team->now->titles] = true;
    return team_read_missing_details(team, flags, e);
}

/* The set-up flags that were looked up before are looked up again. */
static int read_setup_flags(struct team_delivery *team, struct err *e)
{
    bool are_known = false;
    for (size_t i = 0; i < team->basis.title_count; i++)
        are_known = are_known || team->basis.titles[i].install_during_setup != TRISTATE_ABSENT;
    for (size_t i = 0; i < team->item_count; i++)
        are_known = are_known || team->items[i].plan->action == PLAN_REMOVE ||
                    (team->items[i].plan->wish != NULL &&
                     team->items[i].plan->wish->setup_experience != TRISTATE_ABSENT);
    return are_known ? fleet_read_setup_experience(team->run->options->fleet, team->now, team->run->arena, e)
                     : 0;
}

static int64_t removals_elsewhere(const struct team_delivery *team)
{
    int64_t count = 0;
    for (size_t i = 0; i < team->run->team_count; i++) {
        const struct team_delivery *other = &team->run->teams[i];
        for (size_t k = 0; other != team && k < other->item_count; k++)
            count += other->items[k].plan->action == PLAN_REMOVE;
    }
    return count;
}

/* This team alone: the removals of the others count against the run's limit. */
static int plan_again(struct team_delivery *team, struct err *e)
{
    struct delivery *run = team->run;
    if (read_setup_flags(team, e) < 0 || read_wanted_details(team, e) < 0)
        return -1;
    struct plan_input input = *run->input->plan_input;
    const struct desired alone = desired_alone(team);
    struct plan_options options = *input.options;
    struct plan plan;
    options.max_removals_run -= removals_elsewhere(team);
    if (options.max_removals_run < 0)
        options.max_removals_run = 0;
    struct desired *desired = arena_memdup(run->arena, &alone, sizeof alone, e);
    if (desired == NULL)
        return -1;
    input.desired = desired;
    input.observed = &run->observed;
    input.options = &options;
    if (plan_build(&input, run->arena, &plan, e) < 0)
        return -1;
    return team_set_plan(team, &plan.teams[0], e);
}

/* Bytes that a former team of this run got tell which title they are: where this team has the title, with
 * other bytes, the item is an update of it by digest, not a new upload. */
static bool learned_a_title(const struct team_delivery *team)
{
    const struct delivery *run = team->run;
    for (size_t i = 0; i < team->item_count; i++) {
        const struct plan_item *item = team->items[i].plan;
        if (team->items[i].stage != STAGE_PENDING || item->action != PLAN_CREATE || item->sha256 == NULL ||
            !item->needs_bytes)
            continue;
        int64_t title_id = bytes_title(run, item->sha256);
        if (title_id != 0 && team_find_title(team, title_id) != NULL)
            return true;
    }
    return false;
}

int team_look_again(struct team_delivery *team, struct err *e)
{
    for (int plans = 0;; plans++) {
        bool same = false;
        if (team_read_list(team, e) < 0 || is_basis(team, &same, e) < 0)
            return -1;
        if (same && (plans > 0 || !learned_a_title(team)))
            return 0;
        if (!same)
            log_info(team->run->options->log, "plan-again",
                     "%s: its software changed since it was read; planned again", team->plan->desired->name);
        if (plans == MAX_PLANS)
            return team_fail_pending(
                team,
                "the team's software changes each time it is read: something else is "
                "writing to it at the same time",
                "see who else writes to this team (another run, fleetctl gitops), and run "
                "again",
                e);
        if (plan_again(team, e) < 0)
            return -1;
    }
}
