/* One team from its plan to its outcomes: it is created where that is asked for, looked at once more, written
 * in the way that the plan chose (item by item where the whole was refused), and read back. */
#include "base/text.h"
#include "deliver/work.h"
#include <string.h>

static enum item_stage first_stage(const struct plan_item *item)
{
    return action_writes(item->action) ? STAGE_PENDING : STAGE_SETTLED;
}

int team_set_plan(struct team_delivery *team, const struct plan_team *plan, struct err *e)
{
    struct delivery *run = team->run;
    team->plan = plan;
    if (outcomes_of_team(plan, run->input->packages, run->input->package_count, run->arena, team->result, e) <
        0)
        return -1;
    team->result->team_id = team->team_id;
    team->items = arena_alloc_array(run->arena, plan->item_count, sizeof *team->items, e);
    if (team->items == NULL)
        return -1;
    team->item_count = plan->item_count;
    for (size_t i = 0; i < plan->item_count; i++) {
        const struct plan_item *item = &plan->items[i];
        team->items[i] = (struct item_delivery){
            .plan = item,
            .outcome = &team->result->outcomes[i],
            .stage = first_stage(item),
            .title_id = item->title != NULL ? item->title->title_id : 0,
            .wants_setup =
                (item->action == PLAN_CREATE && item->wish->setup_experience == TRISTATE_TRUE) ||
                (item->action == PLAN_UPDATE && (item->changed_fields & FIELD_SETUP_EXPERIENCE) != 0),
        };
        if (item->action == PLAN_CHECK &&
            item_failed_because(team, &team->items[i],
                                "whether its bytes changed could not be told in this run",
                                "run again; a pinned hash_sha256 makes it certain", e) < 0)
            return -1;
    }
    team->basis = plan->observed != NULL ? *plan->observed : (struct observed_team){.id = team->team_id};
    return 0;
}

static int create(struct team_delivery *team, struct err *e)
{
    struct delivery *run = team->run;
    struct fleet_team made;
    if (fleet_create_team(run->options->fleet, team->plan->desired->name, run->arena, &made, e) < 0)
        return -1;
    team->now = &run->observed.teams[run->observed.team_count++];
    *team->now = (struct observed_team){.id = made.id, .name = made.name};
    team->team_id = made.id;
    team->api_name = made.name;
    team->result->team_id = made.id;
    log_info(run->options->log, "team-created", "team %s was created (id %lld)", made.name,
             (long long)made.id);
    return 0;
}

static bool has_pending(const struct team_delivery *team)
{
    for (size_t i = 0; i < team->item_count; i++)
        if (team->items[i].stage == STAGE_PENDING)
            return true;
    return false;
}

static bool has_sent(const struct team_delivery *team)
{
    for (size_t i = 0; i < team->item_count; i++)
        if (team->items[i].stage == STAGE_SENT)
            return true;
    return false;
}

static int commit(struct team_delivery *team, struct err *e)
{
    if (bytes_save_endangered(team, e) < 0)
        return -1;
    if (team->plan->delivery == DELIVERY_WHOLE) {
        enum whole_result result = WHOLE_DONE;
        if (commit_whole(team, &result, e) < 0)
            return -1;
        if (result == WHOLE_DONE)
            return 0;
        team->result->delivery = DELIVERY_ITEM_BY_ITEM;
    }
    return commit_items(team, e);
}

/* Whatever ended the writes: what was sent is read back, so that its outcome is the truth. */
static int commit_and_read_back(struct team_delivery *team, struct err *e)
{
    struct err trouble, unread;
    err_init(&trouble);
    err_init(&unread);
    int result = commit(team, &trouble);
    if (has_sent(team) && !fleet_is_locked_out(team->run->options->fleet) && trouble.class != ERR_MEMORY &&
        read_back(team, &unread) < 0 && result == 0)
        return err_set(e, unread.class, "%s", unread.text);
    return result < 0 ? err_set(e, trouble.class, "%s", trouble.text) : 0;
}

/* What is as wished already, and was looked at: the next run need not look again. */
static int remember_unchanged(struct team_delivery *team, struct err *e)
{
    for (size_t i = 0; i < team->item_count; i++) {
        const struct plan_item *item = team->items[i].plan;
        if (item->action != PLAN_UNCHANGED || item->wish == NULL || item->title == NULL ||
            item->wish->kind == SOFTWARE_MAINTAINED_APP || item->wish->kind == SOFTWARE_APP_STORE_APP)
            continue;
        const struct observed_title *title = team_find_title(team, item->title->title_id);
        if (title != NULL && title->has_details && remember_item(team, item, title, 0, 0, e) < 0)
            return -1;
    }
    return 0;
}

/* A failure of the team as a whole (its list can't be read, it can't be created) is every pending item's. */
static int fail_team(struct team_delivery *team, const struct err *cause, struct err *e)
{
    team->result->error = arena_strdup(team->run->arena, cause->text, e);
    if (team->result->error == NULL)
        return -1;
    for (size_t i = 0; i < team->item_count; i++)
        if (team->items[i].stage != STAGE_SETTLED && item_failed(team, &team->items[i], cause, e) < 0)
            return -1;
    return 0;
}

static int write_team(struct team_delivery *team, struct err *e)
{
    if (team->plan->create_team && team->now == NULL && create(team, e) < 0)
        return -1;
    if (!has_pending(team))
        return 0;
    if (team_look_again(team, e) < 0)
        return -1;
    return has_pending(team) ? commit_and_read_back(team, e) : 0;
}

/* A new item turned out to be a title that the team had and that nobody declared: it was an update, and the
 * title is no longer undeclared. Last of all, for it moves the outcomes. */
static void join_successors(struct team_delivery *team)
{
    struct team_outcome *result = team->result;
    for (size_t i = 0; i < team->item_count; i++) {
        const struct item_delivery *item = &team->items[i];
        if (item->plan->wish == NULL || item->plan->title != NULL || item->title_id == 0 ||
            item->outcome->kind != OUTCOME_CREATED)
            continue;
        for (size_t k = result->outcome_count; k-- > 0;) {
            const struct outcome *other = &result->outcomes[k];
            if (other->place.file != NULL || other->title_id != item->title_id)
                continue;
            item->outcome->kind = OUTCOME_UPDATED;
            item->outcome->changed_fields |= FIELD_BYTES;
            result->outcome_count--;
            memmove(&result->outcomes[k], &result->outcomes[k + 1],
                    (result->outcome_count - k) * sizeof *result->outcomes);
        }
    }
}

int team_deliver(struct team_delivery *team, struct err *e)
{
    struct delivery *run = team->run;
    if (team->plan->create_team || has_pending(team)) {
        struct err trouble;
        err_init(&trouble);
        fleet_begin_commit(run->options->fleet);
        int result = write_team(team, &trouble);
        fleet_end_commit(run->options->fleet);
        if (result < 0 && delivery_is_fatal(run, &trouble))
            return err_set(e, trouble.class, "%s", trouble.text);
        if (result < 0 && fail_team(team, &trouble, e) < 0)
            return -1;
    }
    if (remember_unchanged(team, e) < 0)
        return -1;
    join_successors(team);
    return 0;
}
