/* How a team's changes are brought to Fleet: whole, by one call that replaces the team's set, only where
 * every title that the team will have is known exactly; else item by item. */
#include "base/text.h"
#include "plan/work.h"
#include <string.h>

bool team_changes(const struct plan_team *team)
{
    if (team->create_team)
        return true;
    for (size_t i = 0; i < team->item_count; i++) {
        enum plan_action action = team->items[i].action;
        if (action == PLAN_CREATE || action == PLAN_UPDATE || action == PLAN_REMOVE || action == PLAN_CHECK)
            return true;
    }
    return false;
}

static const char *reason_of_apps(const struct plan_team *team)
{
    if (team->desired->maintained_apps.count > 0)
        return "the team's file declares Fleet-maintained apps";
    for (size_t i = 0; team->observed != NULL && i < team->observed->title_count; i++)
        if (team->observed->titles[i].kind == SOFTWARE_MAINTAINED_APP ||
            team->observed->titles[i].maintained_app_id != 0)
            return "the team has Fleet-maintained apps";
    return NULL;
}

/* A title that stays as Fleet has it: the batch call must name it with everything that it has. */
static bool is_carried_over(const struct plan_item *item)
{
    return item->title != NULL && title_is_package(item->title) &&
           (item->action == PLAN_KEEP || item->action == PLAN_WAITING || item->action == PLAN_BLOCKED);
}

static int reason_of_carried_over(const struct planner *planner, const struct plan_team *team,
                                  const char **out, struct err *e)
{
    for (size_t i = 0; i < team->item_count; i++) {
        const struct plan_item *item = &team->items[i];
        if (!is_carried_over(item) || (item->title->has_details && !text_is_empty(item->title->sha256)))
            continue;
        *out = arena_printf(planner->arena, e, "“%s” stays as it is, but %s", item->name,
                            item->title->has_details ? "Fleet does not tell its digest"
                                                     : "its details were not read");
        return *out == NULL ? -1 : 0;
    }
    return 0;
}

/* A new item may turn out to be a title that the team has already. */
static int reason_of_collision(const struct planner *planner, const struct team_work *work, const char **out,
                               struct err *e)
{
    const struct plan_item *kept = NULL;
    for (size_t i = 0; kept == NULL && i < work->team->item_count; i++)
        if (work->team->items[i].wish == NULL && title_is_package(work->team->items[i].title) &&
            work->team->items[i].action != PLAN_REMOVE)
            kept = &work->team->items[i];
    for (size_t i = 0; kept != NULL && i < work->candidate_count; i++) {
        const struct candidate *candidate = &work->candidates[i];
        bool is_new = candidate->item->action == PLAN_CREATE || candidate->item->action == PLAN_CHECK;
        if (!is_new || candidate->known_title_id != 0)
            continue;
        const struct observed_title *likely = candidate->item->likely_title;
        *out = arena_printf(planner->arena, e, "“%s” may be the title “%s”, which the team has",
                            candidate->item->name, likely != NULL ? likely->name : kept->name);
        return *out == NULL ? -1 : 0;
    }
    return 0;
}

/* Item by item, bytes go by upload: that another team has them does not help. */
static int need_bytes_for_uploads(const struct planner *planner, struct team_work *work, struct err *e)
{
    for (size_t i = 0; i < work->candidate_count; i++) {
        struct candidate *candidate = &work->candidates[i];
        struct plan_item *item = candidate->item;
        bool needs_upload = item->action == PLAN_CREATE || item->action == PLAN_CHECK ||
                            (item->action == PLAN_UPDATE && (item->changed_fields & FIELD_BYTES) != 0);
        if (!needs_upload || item->needs_bytes || text_is_empty(candidate->wish->url))
            continue;
        const struct remembered_validator *last =
            item->action == PLAN_CHECK ? memory_find_validator(planner->input->memory, candidate->wish->url)
                                       : NULL;
        /* What the URL answered last is what the team has: if it still holds, nothing is uploaded. */
        if (last != NULL && candidate->title != NULL && text_equal(last->sha256, candidate->title->sha256))
            continue;
        const struct package *package = candidate->package;
        if (package != NULL && (package->state == PACKAGE_FAILED || package->state == PACKAGE_INTERRUPTED)) {
            if (decide_fetch_failed(planner, work, candidate, e) < 0)
                return -1;
            continue;
        }
        item->needs_bytes = true;
        item->needs_fetch = item->action == PLAN_CHECK || package == NULL || package->path == NULL;
    }
    return 0;
}

/* What is not understood can't be carried over by a call that replaces the set. */
static int reason_of_unclear(const struct planner *planner, const struct plan_team *team, const char **out,
                             struct err *e)
{
    if (team->observed == NULL || team->observed->unclear_count == 0)
        return 0;
    *out = arena_printf(planner->arena, e, "Fleet lists %zu title%s of the team without saying what it is",
                        team->observed->unclear_count, team->observed->unclear_count == 1 ? "" : "s");
    return *out == NULL ? -1 : 0;
}

int choose_delivery(const struct planner *planner, struct team_work *work, struct err *e)
{
    struct plan_team *team = work->team;
    if (!planner->input->observed->is_read || !team_changes(team))
        return 0;
    const char *reason = reason_of_apps(team);
    if (reason == NULL && reason_of_unclear(planner, team, &reason, e) < 0)
        return -1;
    if (reason == NULL && reason_of_carried_over(planner, team, &reason, e) < 0)
        return -1;
    if (reason == NULL && reason_of_collision(planner, work, &reason, e) < 0)
        return -1;
    team->delivery = reason == NULL ? DELIVERY_WHOLE : DELIVERY_ITEM_BY_ITEM;
    team->delivery_reason = reason == NULL ? "" : reason;
    if (team->delivery == DELIVERY_ITEM_BY_ITEM && need_bytes_for_uploads(planner, work, e) < 0)
        return -1;
    if (!team_changes(team)) {
        team->delivery = DELIVERY_NONE;
        team->delivery_reason = "";
    }
    return 0;
}
