/* Which observed title each declared package stands for: by its digest, else by what was remembered, else by
 * the URL that Fleet names, else by the title that these bytes are in other teams. Two declared packages for
 * one title are marked as conflicting. */
#include "base/text.h"
#include "plan/work.h"
#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES = 8192 };

/* An item's bytes are known by another item's fetch if source and pinned digest are the same. */
static bool shares_bytes(const struct software_item *a, const struct software_item *b)
{
    return a == b || (a->kind == b->kind && text_equal(a->url, b->url) && text_equal(a->sha256, b->sha256));
}

static const struct package *find_known(const struct plan_input *input, const struct software_item *wish)
{
    for (size_t i = 0; i < input->known_count; i++)
        if (shares_bytes(input->known[i].item, wish))
            return input->known[i].package;
    return NULL;
}

static void resolve_bytes(const struct planner *planner, struct candidate *candidate)
{
    const struct package *package = find_known(planner->input, candidate->wish);
    candidate->package = package;
    candidate->sha256 = candidate->wish->sha256;
    candidate->bytes = candidate->sha256 != NULL ? BYTES_KNOWN : BYTES_UNKNOWN;
    if (candidate->sha256 != NULL || package == NULL)
        return;
    switch (package->state) {
    case PACKAGE_FETCHED:
    case PACKAGE_CACHED:
    case PACKAGE_NOT_MODIFIED:
        candidate->sha256 = package->sha256;
        candidate->bytes = package->sha256 != NULL ? BYTES_KNOWN : BYTES_UNKNOWN;
        break;
    case PACKAGE_CHANGED:
    case PACKAGE_UNKNOWN:
        break;
    case PACKAGE_FAILED:
    case PACKAGE_INTERRUPTED:
        candidate->bytes = BYTES_FAILED;
        break;
    }
}

static int identify(const struct planner *planner, const struct plan_team *team, struct candidate *candidate,
                    struct err *e)
{
    char key[KEY_BYTES];
    if (software_key(candidate->wish, key, sizeof key, e) < 0)
        return -1;
    candidate->key = arena_strdup(planner->arena, key, e);
    if (candidate->key == NULL)
        return -1;
    if (team->observed != NULL)
        candidate->remembered = memory_find_item(planner->input->memory, team->observed->id, key);
    resolve_bytes(planner, candidate);
    candidate->item->sha256 = candidate->sha256;
    const struct held_digest *held = held_digests_find(&planner->held, candidate->sha256);
    candidate->known_title_id = held == NULL ? 0 : held->title_id;
    return 0;
}

static bool title_matches_digest(const struct candidate *candidate, const struct observed_title *title)
{
    return candidate->sha256 != NULL && text_equal(candidate->sha256, title->sha256);
}

static bool title_matches_memory(const struct candidate *candidate, const struct observed_title *title)
{
    return candidate->remembered != NULL && candidate->remembered->title_id == title->title_id;
}

static bool title_matches_url(const struct candidate *candidate, const struct observed_title *title)
{
    return !text_is_empty(candidate->wish->url) && text_equal(candidate->wish->url, title->url);
}

static bool title_matches_other_team(const struct candidate *candidate, const struct observed_title *title)
{
    return candidate->known_title_id != 0 && candidate->known_title_id == title->title_id;
}

/* The title is in the team, but as a Fleet-maintained app. */
static const struct observed_title *find_app(const struct observed_team *observed,
                                             const struct candidate *candidate)
{
    for (size_t i = 0; i < observed->title_count; i++)
        if (!title_is_package(&observed->titles[i]) &&
            (title_matches_digest(candidate, &observed->titles[i]) ||
             title_matches_other_team(candidate, &observed->titles[i])))
            return &observed->titles[i];
    return NULL;
}

/* Each package is compared with each title of its team: so that most of it stays in a few lines of cache. */
static uint64_t *digest_heads(const struct planner *planner, const struct observed_team *observed,
                              struct err *e)
{
    uint64_t *heads = arena_alloc_array(planner->arena, observed->title_count, sizeof *heads, e);
    for (size_t i = 0; heads != NULL && i < observed->title_count; i++)
        if (title_is_package(&observed->titles[i]))
            heads[i] = digest_head(observed->titles[i].sha256);
    return heads;
}

/* Behind the digest, the surest evidence first. */
static bool (*const ways[])(const struct candidate *, const struct observed_title *) = {
    title_matches_memory, title_matches_url, title_matches_other_team};

/* The title's index; title_count if there is none. */
static size_t find_title(const struct observed_team *observed, const struct candidate *candidate,
                         const uint64_t *heads)
{
    uint64_t head = digest_head(candidate->sha256);
    for (size_t i = 0; head != 0 && i < observed->title_count; i++)
        if (heads[i] == head && title_matches_digest(candidate, &observed->titles[i]))
            return i;
    for (size_t way = 0; way < ARRAY_LENGTH(ways); way++)
        for (size_t i = 0; i < observed->title_count; i++)
            if (title_is_package(&observed->titles[i]) && ways[way](candidate, &observed->titles[i]))
                return i;
    return observed->title_count;
}

static void match_one(struct team_work *work, struct candidate *candidate, const uint64_t *heads)
{
    const struct observed_team *observed = work->team->observed;
    size_t found = find_title(observed, candidate, heads);
    if (found == observed->title_count) {
        candidate->app = find_app(observed, candidate);
        return;
    }
    candidate->title = &observed->titles[found];
    candidate->item->title = candidate->title;
    candidate->known_title_id = candidate->title->title_id;
    work->claimed[found] = true;
}

static bool is_same_title(const struct candidate *a, const struct candidate *b)
{
    if (a->title != NULL || b->title != NULL)
        return a->title == b->title;
    if (a->known_title_id != 0 && a->known_title_id == b->known_title_id)
        return true;
    return (a->sha256 != NULL && text_equal(a->sha256, b->sha256)) || strcmp(a->key, b->key) == 0;
}

int match_packages(const struct planner *planner, struct team_work *work, struct err *e)
{
    const struct observed_team *observed = work->team->observed;
    const uint64_t *heads = observed == NULL ? NULL : digest_heads(planner, observed, e);
    if (observed != NULL && heads == NULL)
        return -1;
    for (size_t i = 0; i < work->candidate_count; i++) {
        if (identify(planner, work->team, &work->candidates[i], e) < 0)
            return -1;
        if (observed != NULL)
            match_one(work, &work->candidates[i], heads);
    }
    for (size_t i = 0; i < work->candidate_count; i++)
        for (size_t j = i + 1; j < work->candidate_count; j++) {
            struct candidate *a = &work->candidates[i];
            struct candidate *b = &work->candidates[j];
            if (!is_same_title(a, b))
                continue;
            a->conflicting = a->conflicting == NULL ? b : a->conflicting;
            b->conflicting = b->conflicting == NULL ? a : b->conflicting;
        }
    find_likely_titles(planner, work);
    return 0;
}
