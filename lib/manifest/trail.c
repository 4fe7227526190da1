/* How a file that something is wrong with was come to: each finding in or about it names the files that led
 * there, and everybody else who refers to it, so that it is plain whom it concerns. */
#include "base/text.h"
#include "manifest/load.h"
#include <stdio.h>
#include <string.h>

enum {
    LISTED_MAX = 20, /* of one list; the rest is counted */
    LIST_BYTES = 4096,
    CHAIN_MAX = 4, /* team → package file → query; a team's file may name itself */
};

/* Who names a file, in the order in which they were read. */
struct users {
    struct place *places;
    size_t count, capacity;
    const char *text; /* for all findings in the file; NULL: not made yet */
};

/* The list of a key, made where there is none yet; NULL when out of memory. */
static struct users *list_of(struct load *load, const char *key, struct err *e)
{
    struct users *const *known = map_get(&load->users, key);
    if (known != NULL)
        return *known;
    struct users *users = arena_alloc(load->arena, sizeof *users, e);
    struct users **handle = arena_alloc(load->arena, sizeof *handle, e);
    if (users == NULL || handle == NULL)
        return NULL;
    *users = (struct users){.count = 0};
    *handle = users;
    return map_put(&load->users, load->arena, key, handle, e) < 0 ? NULL : users;
}

int trail_add(struct load *load, const char *key, struct place from, struct err *e)
{
    load->met_count++;
    if (strcmp(key, from.file) == 0)
        return 0;
    struct users *users = list_of(load, key, e);
    const char *step = arena_printf(load->arena, e, "%s\n%s:%d", key, from.file, from.line);
    struct map_slot *slot =
        users == NULL || step == NULL ? NULL : map_slot(&load->steps, load->arena, step, e);
    if (slot == NULL)
        return -1;
    if (slot->value != NULL)
        return 0;
    slot->value = step;
    struct place *place = ARENA_PUSH(load->arena, &users->places, &users->count, &users->capacity, e);
    if (place == NULL)
        return -1;
    *place = from;
    return 0;
}

int trail_about(struct load *load, const char *key, struct place from, struct err *e)
{
    load->findings[load->latest].about = key;
    return trail_add(load, key, from, e);
}

/* A text that grows in a fixed room; what does not fit is cut off. */
struct text {
    char bytes[LIST_BYTES];
    size_t used;
};

static void add(struct text *text, const char *format, ...) PRINTF_LIKE(2, 3);
static void add(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(text->bytes + text->used, LIST_BYTES - text->used, format, arguments);
    va_end(arguments);
    text->used += written < 0 ? 0 : (size_t)written;
    if (text->used < LIST_BYTES)
        return;
    text_mark_cut(text->bytes, LIST_BYTES);
    text->used = LIST_BYTES - 1;
}

/* What stands before the n-th of a list: "a, b and c", "a, b and 3 more". */
static const char *separator(size_t nth, size_t count)
{
    return nth == 0 ? "" : nth + 1 == count ? " and " : ", ";
}

static const struct users *users_of(const struct load *load, const char *key)
{
    struct users *const *known = map_get(&load->users, key);
    return known == NULL ? NULL : *known;
}

/* From the `first` one on; with `deeper`, who uses a file that is no team's stands behind it. */
static void list_users(const struct load *load, const struct users *users, size_t first, bool deeper,
                       struct text *out)
{
    size_t count = users->count - first;
    size_t shown = count <= LISTED_MAX ? count : LISTED_MAX;
    for (size_t i = 0; i < shown; i++) {
        const struct place *place = &users->places[first + i];
        const struct users *theirs = deeper ? users_of(load, place->file) : NULL;
        add(out, "%s%s:%d", separator(i, count), place->file, place->line);
        if (theirs == NULL)
            continue;
        add(out, " (used by ");
        list_users(load, theirs, 0, false, out);
        add(out, ")");
    }
    if (count > shown)
        add(out, " and %zu more", count - shown);
}

/* "teams/a.yml:4 → lib/p.yml:2 → " before the file; the number of steps. */
static int add_chain(const struct load *load, const char *key, int depth, struct text *out)
{
    const struct users *users = users_of(load, key);
    if (users == NULL || depth == CHAIN_MAX)
        return 0;
    int steps = add_chain(load, users->places[0].file, depth + 1, out);
    add(out, "%s:%d → ", users->places[0].file, users->places[0].line);
    return steps + 1;
}

/* What trail_add had of the file that the finding is in or about; NULL if it is about none. */
static const char *key_of(const struct finding *finding)
{
    return finding->about != NULL ? finding->about : finding->diagnostic.place.file;
}

static void add_users(const struct load *load, const struct finding *finding, struct text *out)
{
    struct text chain = {.used = 0};
    const char *key = key_of(finding);
    const struct users *users = key == NULL ? NULL : users_of(load, key);
    if (users == NULL)
        return;
    int steps = add_chain(load, key, 0, &chain);
    if (steps <= 1 && finding->about == NULL) {
        add(out, "used by ");
        list_users(load, users, 0, true, out);
        return;
    }
    if (steps > 1)
        add(out, "%s%.*s", chain.bytes, (int)strcspn(key, "\n"), key);
    if (users->count > 1) {
        add(out, "%salso named in ", steps > 1 ? "; " : "");
        list_users(load, users, 1, true, out);
    }
    const struct users *between = steps > 1 ? users_of(load, users->places[0].file) : NULL;
    if (between != NULL && between->count > 1) {
        add(out, "; %s is also used by ", users->places[0].file);
        list_users(load, between, 1, false, out);
    }
}

/* The entries that take the fault over by an alias or a merge key. */
static void add_sharers(const struct finding *finding, struct text *out)
{
    size_t shown = finding->sharer_count <= LISTED_MAX ? finding->sharer_count : LISTED_MAX;
    if (shown == 0)
        return;
    add(out, "%s%sused by the entr%s of line%s ", out->used > 0 ? "; " : "", finding->is_own ? "also " : "",
        shown == 1 ? "y" : "ies", shown == 1 ? "" : "s");
    for (size_t i = 0; i < shown; i++)
        add(out, "%s%d", separator(i, finding->sharer_count), finding->sharers[i]);
    if (shown < finding->sharer_count)
        add(out, " and %zu more", finding->sharer_count - shown);
}

/* What is to be said of the files, made once for all findings in one; NULL when out of memory. */
static const char *users_text(struct load *load, const struct finding *finding, struct err *e)
{
    const char *key = key_of(finding);
    struct users *const *known = key == NULL ? NULL : map_get(&load->users, key);
    if (known == NULL)
        return "";
    struct users *users = *known;
    if (users->text != NULL)
        return users->text;
    struct text text = {.used = 0};
    add_users(load, finding, &text);
    users->text = arena_strdup(load->arena, text.bytes, e);
    return users->text;
}

int trail_finish(struct load *load, struct finding *finding, struct err *e)
{
    struct diagnostic *diagnostic = &finding->diagnostic;
    const struct users *users = key_of(finding) == NULL ? NULL : users_of(load, key_of(finding));
    diagnostic->related = users == NULL ? NULL : users->places;
    diagnostic->related_count = users == NULL ? 0 : users->count;
    diagnostic->trail = users_text(load, finding, e);
    if (diagnostic->trail == NULL)
        return -1;
    if (finding->sharer_count > 0) {
        struct text text = {.used = 0};
        add(&text, "%s", diagnostic->trail);
        add_sharers(finding, &text);
        diagnostic->trail = arena_strdup(load->arena, text.bytes, e);
        if (diagnostic->trail == NULL)
            return -1;
    }
    diagnostic->trail = diagnostic->trail[0] == '\0' ? NULL : diagnostic->trail;
    return 0;
}
