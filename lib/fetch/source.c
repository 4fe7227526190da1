/* Rotation: a transfer asks here where to go next, and says how it went. */
#include "fetch/source.h"

struct source *source_next(const struct source_list *list, int64_t now_ms)
{
    struct source *parked = NULL;
    for (size_t i = 0; i < list->count; i++) {
        struct source *source = &list->items[i];
        if (source->is_out || source->was_tried)
            continue;
        if (host_parked_until(source->host) <= now_ms)
            return source;
        if (parked == NULL || host_parked_until(source->host) < host_parked_until(parked->host))
            parked = source;
    }
    return parked;
}

void source_failed_for_now(struct source_list *list, const struct source *source)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].host == source->host)
            list->items[i].was_tried = true;
}

void source_failed_for_good(struct source *source)
{
    source->is_out = true;
}

bool source_any_left(const struct source_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (!list->items[i].is_out)
            return true;
    return false;
}

bool source_round_is_over(const struct source_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (!list->items[i].is_out && !list->items[i].was_tried)
            return false;
    return true;
}

static void forget_turns(struct source_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        list->items[i].was_tried = false;
}

void source_next_round(struct source_list *list)
{
    list->round++;
    forget_turns(list);
}

void source_reset_rounds(struct source_list *list)
{
    list->round = 0;
    forget_turns(list);
}

int64_t source_parked_until(const struct source_list *list)
{
    int64_t earliest = 0;
    bool is_first = true;
    for (size_t i = 0; i < list->count; i++) {
        const struct source *source = &list->items[i];
        if (source->is_out || source->was_tried)
            continue;
        int64_t until = host_parked_until(source->host);
        if (is_first || until < earliest)
            earliest = until;
        is_first = false;
    }
    return earliest;
}
