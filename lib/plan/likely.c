/* A new version mostly comes under a new URL, which differs from the old one in its numbers. The team's title
 * that came from such a URL is probably the one that the new item updates; the server alone can tell, and
 * delivery asks it. */
#include "base/text.h"
#include "base/url.h"
#include "plan/work.h"
#include <ctype.h>
#include <string.h>

static bool is_digit(char letter)
{
    return isdigit((unsigned char)letter) != 0;
}

/* Behind a number like 138.0.4. */
static const char *skip_number(const char *text)
{
    while (is_digit(*text) || (*text == '.' && is_digit(text[1])))
        text++;
    return text;
}

static bool differs_in_numbers_only(const char *a, const char *b)
{
    while (*a != '\0' && *b != '\0') {
        if (is_digit(*a) && is_digit(*b)) {
            a = skip_number(a);
            b = skip_number(b);
        } else if (*a++ != *b++) {
            return false;
        }
    }
    return *a == *b;
}

/* The team's first remembered item: they are sorted by team. */
static size_t first_of_team(const struct memory *memory, int64_t team_id)
{
    size_t low = 0;
    size_t high = memory->item_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memory->items[middle].team_id < team_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool came_from_such_url(const struct memory *memory, int64_t team_id,
                               const struct observed_title *title, const char *url)
{
    if (!text_is_empty(title->url) && differs_in_numbers_only(title->url, url))
        return true;
    char shown[URL_TEXT_BYTES];
    url_redact(url, shown, sizeof shown); /* as it is remembered */
    for (size_t i = memory == NULL ? 0 : first_of_team(memory, team_id);
         memory != NULL && i < memory->item_count && memory->items[i].team_id == team_id; i++) {
        const struct remembered_item *item = &memory->items[i];
        const char *remembered = item->title_id == title->title_id ? software_key_url(item->key) : NULL;
        if (remembered != NULL && differs_in_numbers_only(remembered, shown))
            return true;
    }
    return false;
}

static bool is_new(const struct candidate *candidate)
{
    return candidate->title == NULL && candidate->known_title_id == 0 && candidate->conflicting == NULL &&
           !text_is_empty(candidate->wish->url);
}

/* Only one new item may be meant, and only one title. */
static bool has_rival(const struct team_work *work, const struct candidate *candidate)
{
    for (size_t i = 0; i < work->candidate_count; i++)
        if (&work->candidates[i] != candidate && is_new(&work->candidates[i]) &&
            differs_in_numbers_only(work->candidates[i].wish->url, candidate->wish->url))
            return true;
    return false;
}

void find_likely_titles(const struct planner *planner, struct team_work *work)
{
    const struct observed_team *observed = work->team->observed;
    for (size_t i = 0; observed != NULL && i < work->candidate_count; i++) {
        struct candidate *candidate = &work->candidates[i];
        const struct observed_title *likely = NULL;
        size_t found = 0;
        if (!is_new(candidate) || has_rival(work, candidate))
            continue;
        for (size_t j = 0; j < observed->title_count; j++)
            if (!work->claimed[j] && title_is_package(&observed->titles[j]) &&
                came_from_such_url(planner->input->memory, observed->id, &observed->titles[j],
                                   candidate->wish->url)) {
                likely = &observed->titles[j];
                found++;
            }
        candidate->item->likely_title = found == 1 ? likely : NULL;
    }
}
