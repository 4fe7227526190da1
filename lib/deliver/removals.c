/* Removing: only what is still unused when it is looked at afresh, and only while every declared item's title
 * is known. What does not pass is withheld and stays; the rest goes on. */
#include "base/text.h"
#include "deliver/work.h"
#include <string.h>

static bool is_removal(const struct item_delivery *item)
{
    return item->stage == STAGE_PENDING && item->plan->action == PLAN_REMOVE;
}

static bool has_removals(const struct team_delivery *team)
{
    for (size_t i = 0; i < team->item_count; i++)
        if (is_removal(&team->items[i]))
            return true;
    return false;
}

/* An item that could not be added: which title it would have been is not known, and it may be one of those.
 */
static const struct item_delivery *find_untold(const struct team_delivery *team)
{
    for (size_t i = 0; i < team->item_count; i++) {
        const struct item_delivery *item = &team->items[i];
        if (item->plan->action == PLAN_CREATE && item->outcome->kind == OUTCOME_FAILED && item->title_id == 0)
            return item;
    }
    return NULL;
}

static int withhold_all(struct team_delivery *team, const char *why, struct err *e)
{
    if (why == NULL)
        return -1;
    for (size_t i = 0; i < team->item_count; i++)
        if (is_removal(&team->items[i]) && item_withheld(team, &team->items[i], why, e) < 0)
            return -1;
    team->result->removals_withheld = why;
    return 0;
}

/* Details and set-up flags as they are now. */
static int look(struct team_delivery *team, struct err *e)
{
    bool *wanted = arena_alloc_array(team->run->arena, team->now->title_count, sizeof *wanted, e);
    if (wanted == NULL)
        return -1;
    for (size_t i = 0; i < team->item_count; i++)
        for (size_t k = 0; k < team->now->title_count && is_removal(&team->items[i]); k++)
            if (team->now->titles[k].title_id == team->items[i].title_id) {
                wanted[k] = true;
                team->now->titles[k].has_details = false;
            }
    if (team_read_missing_details(team, wanted, e) < 0)
        return -1;
    return fleet_read_setup_experience(team->run->options->fleet, team->now, team->run->arena, e);
}

static int check_one(struct team_delivery *team, struct item_delivery *item, struct err *e)
{
    struct arena *arena = team->run->arena;
    const struct observed_title *title = team_find_title(team, item->title_id);
    const char *why = NULL;
    if (title == NULL)
        return 0;
    if (title->policies.count > 0)
        why = arena_printf(arena, e, "not removed: the policy \"%s\" installs it", title->policies.items[0]);
    else if (title->install_during_setup == TRISTATE_TRUE)
        why = "not removed: it is installed while computers are set up (set-up experience)";
    else
        return 0;
    return why == NULL ? -1 : item_withheld(team, item, why, e);
}

int removals_check(struct team_delivery *team, struct err *e)
{
    struct delivery *run = team->run;
    if (!has_removals(team))
        return 0;
    const struct item_delivery *untold = find_untold(team);
    if (untold != NULL)
        return withhold_all(
            team,
            arena_printf(run->arena, e,
                         "\"%s\" could not be added, so which title it is stays unknown; it may "
                         "be one of those",
                         untold->outcome->name),
            e);
    struct err trouble;
    err_init(&trouble);
    if (look(team, &trouble) < 0) {
        if (delivery_is_fatal(run, &trouble))
            return err_set(e, trouble.class, "%s", trouble.text);
        return withhold_all(team,
                            arena_printf(run->arena, e,
                                         "whether something uses them could not be looked up: %s",
                                         trouble.text),
                            e);
    }
    for (size_t i = 0; i < team->item_count; i++)
        if (is_removal(&team->items[i]) && check_one(team, &team->items[i], e) < 0)
            return -1;
    return 0;
}

int removals_commit(struct team_delivery *team, struct err *e)
{
    struct delivery *run = team->run;
    for (size_t i = 0; i < team->item_count; i++) {
        struct item_delivery *item = &team->items[i];
        struct err trouble;
        err_init(&trouble);
        if (!is_removal(item))
            continue;
        const char *stop = delivery_stop_reason(run);
        int result;
        if (stop != NULL) {
            result = item_failed_because(team, item, stop, "run again: what is done stays done", e);
        } else if (fleet_delete_package(run->options->fleet, team->team_id, item->title_id, &trouble) == 0) {
            item->stage = STAGE_SENT;
            result = 0;
        } else if (delivery_is_fatal(run, &trouble)) {
            result = err_set(e, trouble.class, "%s", trouble.text);
        } else if (trouble.class == ERR_CONFLICT) {
            result = item_withheld(team, item, trouble.text, e);
        } else {
            result = item_failed(team, item, &trouble, e);
        }
        if (result < 0)
            return -1;
    }
    return 0;
}
