/* Maintained and App Store apps: matched and shown, not yet delivered. What is there as wished is unchanged,
 * anything else that is declared is blocked; nothing of theirs is ever removed. */
#include "base/text.h"
#include "plan/work.h"
#include <string.h>

static bool is_app_of(const struct software_item *wish, const struct observed_title *title)
{
    if (wish->kind == SOFTWARE_MAINTAINED_APP)
        return title->kind == SOFTWARE_MAINTAINED_APP && text_equal(wish->slug, title->slug);
    return !text_is_empty(title->app_store_id) && text_equal(wish->app_store_id, title->app_store_id) &&
           (text_is_empty(wish->platform) || text_equal(wish->platform, title->platform));
}

/* One App Store id may be several titles, one per platform: all of them are declared. */
static void match_app(struct team_work *work, struct plan_item *item)
{
    const struct observed_team *observed = work->team->observed;
    bool differs = false;
    for (size_t i = 0; observed != NULL && i < observed->title_count; i++) {
        const struct observed_title *title = &observed->titles[i];
        if (!is_app_of(item->wish, title))
            continue;
        work->claimed[i] = true;
        bool title_differs = title->self_service != item->wish->self_service;
        if (item->title == NULL || (title_differs && !differs))
            item->title = title;
        differs = differs || title_differs;
    }
    if (differs)
        item->changed_fields = FIELD_SELF_SERVICE;
}

void decide_apps(const struct planner *planner, struct team_work *work, size_t first_item)
{
    for (size_t i = first_item; i < work->team->item_count; i++) {
        struct plan_item *item = &work->team->items[i];
        bool maintained = item->wish->kind == SOFTWARE_MAINTAINED_APP;
        if (planner->input->observed->is_read)
            match_app(work, item);
        if (item->title != NULL && item->changed_fields == 0)
            continue;
        item->action = PLAN_BLOCKED;
        item->reason = REASON_NOT_SUPPORTED;
        item->explanation = maintained
                                ? "delivering Fleet-maintained apps is not supported yet; add it in Fleet"
                                : "delivering App Store apps is not supported yet; add it in Fleet";
    }
}
