/* Set-up experience flags where there is no batch to carry them: one call per platform, which replaces that
 * platform's list, so what is in it already stays in it. */
#include "base/text.h"
#include "deliver/work.h"

static bool is_of(const struct team_delivery *team, const struct item_delivery *item, const char *platform)
{
    const struct observed_title *title = team_find_title(team, item->title_id);
    return item->stage == STAGE_SENT && item->wants_setup && title != NULL &&
           text_equal(title->platform, platform);
}

static bool has_flags_for(const struct team_delivery *team, const char *platform)
{
    for (size_t i = 0; i < team->item_count; i++)
        if (is_of(team, &team->items[i], platform))
            return true;
    return false;
}

/* The platform's list as it is to be: what is flagged now, with the items' wishes laid over it. */
static int list_to_be(const struct team_delivery *team, const char *platform, const struct setup_rows *rows,
                      int64_t **out, size_t *count, struct err *e)
{
    int64_t *ids = arena_alloc_array(team->run->arena, rows->count + team->item_count, sizeof *ids, e);
    if (ids == NULL)
        return -1;
    *count = 0;
    for (size_t i = 0; i < rows->count; i++) {
        bool decided = false;
        for (size_t k = 0; k < team->item_count; k++)
            decided = decided || (is_of(team, &team->items[k], platform) &&
                                  team->items[k].title_id == rows->items[i].title_id);
        if (!decided && rows->items[i].install_during_setup)
            ids[(*count)++] = rows->items[i].title_id;
    }
    for (size_t k = 0; k < team->item_count; k++)
        if (is_of(team, &team->items[k], platform) &&
            team->items[k].plan->wish->setup_experience == TRISTATE_TRUE)
            ids[(*count)++] = team->items[k].title_id;
    *out = ids;
    return 0;
}

static int commit_platform(struct team_delivery *team, const char *platform, struct err *e)
{
    struct fleet *fleet = team->run->options->fleet;
    struct setup_rows rows = {.items = NULL};
    int64_t *ids = NULL;
    size_t count = 0;
    if (fleet_list_setup_experience(fleet, team->team_id, platform, team->run->arena, &rows, e) < 0 ||
        list_to_be(team, platform, &rows, &ids, &count, e) < 0)
        return -1;
    return fleet_put_setup_experience(fleet, team->team_id, platform, ids, count, e);
}

int commit_setup_flags(struct team_delivery *team, struct err *e)
{
    static const char *const platforms[] = {"darwin", "windows", "linux"};
    bool is_wanted = false;
    for (size_t i = 0; i < team->item_count; i++)
        is_wanted = is_wanted || (team->items[i].wants_setup && team->items[i].stage == STAGE_SENT);
    if (!is_wanted)
        return 0;
    if (team_read_list(team, e) < 0) /* the platform of what was just added */
        return -1;
    for (size_t p = 0; p < ARRAY_LENGTH(platforms); p++) {
        struct err trouble;
        err_init(&trouble);
        if (!has_flags_for(team, platforms[p]) || commit_platform(team, platforms[p], &trouble) == 0)
            continue;
        if (delivery_is_fatal(team->run, &trouble))
            return err_set(e, trouble.class, "%s", trouble.text);
        const char *why = arena_strdup(team->run->arena, trouble.text, e);
        if (why == NULL)
            return -1;
        for (size_t i = 0; i < team->item_count; i++)
            if (is_of(team, &team->items[i], platforms[p]))
                team->items[i].setup_error = why;
    }
    return 0;
}
