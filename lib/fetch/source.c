/* Rotation: a transfer asks here where to go next, and says how it went. */
#include "fetch/source.h"

/* Whether `source` is asked rather than `other`, which is before it in the list. */
static bool goes_before(const struct source *source, const struct source *other, int64_t now_ms)
{
    int64_t until = host_parked_until(source->host), other_until = host_parked_until(other->host);
    if ((until > now_ms || other_until > now_ms) && until != other_until)
        return until < other_until;
    return source->turns < other->turns;
}

struct source *source_next(const struct source_list *list, int64_t now_ms)
{
    struct source *next = NULL;
    for (size_t i = 0; i < list->count; i++) {
        struct source *source = &list->items[i];
        if (source->is_out || source->was_tried)
            continue;
        if (next == NULL || goes_before(source, next, now_ms))
            next = source;
    }
    return next;
}

void source_failed_for_now(struct source_list *list, struct source *source)
{
    source->turns++;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].host == source->host)
            list->items[i].was_tried = true;
}

void source_failed_for_good(struct source *source)
{
    source->is_out = true;
}

bool source_other_is_open(const struct source_list *list, const struct source *source, int64_t now_ms)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct source *other = &list->items[i];
        if (!other->is_out && !other->was_tried && other->host != source->host &&
            host_parked_until(other->host) <= now_ms)
            return true;
    }
    return false;
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
