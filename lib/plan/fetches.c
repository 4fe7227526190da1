/* From the plan's items to the downloads that they need: one per URL and pinned digest, whichever teams want
 * it. */
#include "base/text.h"
#include "base/url.h"
#include "plan/work.h"
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 512, TEAMS_NAMED = 3 };

/* An item that wants bytes, and where it stands in the plan. */
struct want {
    const struct software_item *wish;
    const char *team;
    const struct plan_item *item;
    size_t order;
};

struct want_list {
    struct want *items;
    size_t count, capacity;
};

static int compare_texts(const char *a, const char *b)
{
    return strcmp(a == NULL ? "" : a, b == NULL ? "" : b);
}

static int compare_sources(const struct want *a, const struct want *b)
{
    int by_url = compare_texts(a->wish->url, b->wish->url);
    return by_url != 0 ? by_url : compare_texts(a->wish->sha256, b->wish->sha256);
}

static int compare_wants(const void *a, const void *b)
{
    const struct want *left = a;
    const struct want *right = b;
    int by_source = compare_sources(left, right);
    return by_source != 0 ? by_source : (left->order > right->order) - (left->order < right->order);
}

static int compare_groups(const void *a, const void *b)
{
    const struct want *const *left = a;
    const struct want *const *right = b;
    return ((*left)->order > (*right)->order) - ((*left)->order < (*right)->order);
}

static int collect_wants(const struct plan *plan, bool probe_only, struct arena *arena,
                         struct want_list *list, struct err *e)
{
    for (size_t i = 0; i < plan->team_count; i++)
        for (size_t j = 0; j < plan->teams[i].item_count; j++) {
            const struct plan_item *item = &plan->teams[i].items[j];
            if (!item->needs_fetch || item->wish == NULL || text_is_empty(item->wish->url) ||
                (probe_only && item->action != PLAN_CHECK))
                continue;
            struct want *want = ARENA_PUSH(arena, &list->items, &list->count, &list->capacity, e);
            if (want == NULL)
                return -1;
            *want = (struct want){
                .wish = item->wish, .team = plan->teams[i].desired->name, .item = item, .order = list->count};
        }
    return 0;
}

/* "Workstations, Servers", or the first ones "and 12 more teams". */
static const char *wanted_by(const struct want *group, size_t count, struct arena *arena, struct err *e)
{
    size_t teams = 0;
    const char *named = "";
    for (size_t i = 0; i < count && named != NULL; i++) {
        if (i > 0 && group[i].team == group[i - 1].team)
            continue;
        if (teams++ < TEAMS_NAMED)
            named = arena_printf(arena, e, "%s%s%s", named, teams == 1 ? "" : ", ", group[i].team);
    }
    if (named == NULL || teams <= TEAMS_NAMED)
        return named;
    return arena_printf(arena, e, "%s and %zu more team%s", named, teams - TEAMS_NAMED,
                        teams - TEAMS_NAMED == 1 ? "" : "s");
}

/* The backup URLs of all that share the source, each once. */
static int join_backups(const struct want *group, size_t count, struct arena *arena, struct string_list *out,
                        struct err *e)
{
    size_t most = 0;
    for (size_t i = 0; i < count; i++)
        most += group[i].wish->backup_urls.count;
    const char **urls = arena_alloc_array(arena, most, sizeof *urls, e);
    if (urls == NULL)
        return -1;
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < group[i].wish->backup_urls.count; j++) {
            const char *url = group[i].wish->backup_urls.items[j];
            bool is_there = text_equal(url, group[i].wish->url);
            for (size_t k = 0; k < used && !is_there; k++)
                is_there = strcmp(urls[k], url) == 0;
            if (!is_there)
                urls[used++] = url;
        }
    *out = (struct string_list){.is_set = used > 0, .count = used, .items = urls};
    return 0;
}

static int make_request(const struct want *group, size_t count, const struct memory *memory,
                        const struct held_digests *held, bool probe_only, struct arena *arena,
                        struct package_request *out, struct err *e)
{
    const struct software_item *wish = group[0].wish;
    char name[NAME_BYTES];
    struct package_request request = {.url = wish->url,
                                      .sha256 = wish->sha256,
                                      .probe_only = probe_only,
                                      .bytes_needed = wish->sha256 != NULL};
    bool always = false;
    for (size_t i = 0; i < count; i++) {
        always = always || group[i].wish->always_download;
        request.bytes_needed = request.bytes_needed || group[i].item->needs_bytes;
    }
    if (wish->sha256 == NULL && !always)
        request.known = memory_find_validator(memory, wish->url);
    request.known_bytes_are_held =
        request.known != NULL && held_digests_find(held, request.known->sha256) != NULL;
    request.bytes_needed = request.bytes_needed && !probe_only;
    request.name = arena_strdup(arena, software_name(wish, name, sizeof name), e);
    request.wanted_by = wanted_by(group, count, arena, e);
    if (request.name == NULL || request.wanted_by == NULL ||
        join_backups(group, count, arena, &request.backup_urls, e) < 0)
        return -1;
    *out = request;
    return 0;
}

static int read_held(const struct plan *plan, struct arena *arena, struct held_digests *out, struct err *e)
{
    const struct observed_team **teams = arena_alloc_array(arena, plan->team_count, sizeof *teams, e);
    if (teams == NULL)
        return -1;
    for (size_t i = 0; i < plan->team_count; i++)
        teams[i] = plan->teams[i].observed;
    return held_digests_read(teams, plan->team_count, arena, out, e);
}

int plan_fetches(const struct plan *plan, const struct memory *memory, bool probe_only, struct arena *arena,
                 struct plan_fetches *out, struct err *e)
{
    struct want_list wants = {0};
    struct held_digests held;
    if (collect_wants(plan, probe_only, arena, &wants, e) < 0 || read_held(plan, arena, &held, e) < 0)
        return -1;
    struct plan_fetches fetches = {0};
    const struct want **groups = arena_alloc_array(arena, wants.count, sizeof *groups, e);
    fetches.requests = arena_alloc_array(arena, wants.count, sizeof *fetches.requests, e);
    fetches.items = arena_alloc_array(arena, wants.count, sizeof *fetches.items, e);
    if (groups == NULL || fetches.requests == NULL || fetches.items == NULL)
        return -1;
    if (wants.count > 0)
        qsort(wants.items, wants.count, sizeof *wants.items, compare_wants);
    for (size_t i = 0; i < wants.count; i++)
        if (i == 0 || compare_sources(&wants.items[i - 1], &wants.items[i]) != 0)
            groups[fetches.count++] = &wants.items[i];
    if (fetches.count > 0) /* back to the plan's order */
        qsort(groups, fetches.count, sizeof *groups, compare_groups);
    const struct want *end = wants.items + wants.count;
    for (size_t i = 0; i < fetches.count; i++) {
        size_t count = 1;
        while (groups[i] + count < end && compare_sources(groups[i], groups[i] + count) == 0)
            count++;
        fetches.items[i] = groups[i]->wish;
        if (make_request(groups[i], count, memory, &held, probe_only, arena, &fetches.requests[i], e) < 0)
            return -1;
    }
    *out = fetches;
    return 0;
}
