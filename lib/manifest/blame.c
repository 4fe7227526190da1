/* Files that are named but can't be used: told once each, at the first place that names them, with the way
 * that led there and everybody else who names them. */
#include "base/text.h"
#include "manifest/names.h"
#include "manifest/schema.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum {
    LISTED_MAX = 5,    /* the rest is counted */
    ADVISED_MAX = 100, /* each advice reads folders */
    LIST_BYTES = 2048,
};

static int advise_base(struct load *load, const struct yaml_node *at, const char **advice, struct err *e);

/* Told at once, at `at`; who else names it is added at the end. */
static int tell(struct load *load, struct broken *broken, const char *key, const char *problem, struct err *e)
{
    const char *file = broken->first->file->path;
    const char *label = key == NULL ? "" : arena_printf(load->arena, e, "\"%s\": ", key);
    const char *chain =
        load->referrer == NULL || strcmp(file, load->referrer) == 0
            ? ""
            : arena_printf(load->arena, e, " (%s → %s → %s)", load->referrer, file, broken->path);
    const char *advice = NULL;
    if (label == NULL || chain == NULL)
        return -1;
    bool is_advised = load->broken_count <= ADVISED_MAX;
    if (is_advised && reference_advice(load, broken->path, &advice, e) < 0)
        return -1;
    if (is_advised && advice == NULL && advise_base(load, broken->first, &advice, e) < 0)
        return -1;
    broken->diagnostic = load->diagnostic_count;
    return diagnose_error(load, broken->first, advice, e, "%s%s%s", label, problem, chain);
}

int reference_blame(struct load *load, const struct yaml_node *at, const char *key, const char *path,
                    const char *problem, struct err *e)
{
    struct map_slot *slot = map_slot(&load->broken_paths, load->arena, path, e);
    if (slot == NULL)
        return -1;
    if (slot->value != NULL) {
        const size_t *index = slot->value;
        struct broken *known = load->broken[*index];
        struct place *other = ARENA_PUSH(load->arena, &known->others, &known->count, &known->capacity, e);
        if (other == NULL)
            return -1;
        *other = yaml_place(at);
        return 0;
    }
    size_t *number = arena_alloc(load->arena, sizeof *number, e);
    struct broken *broken = arena_alloc(load->arena, sizeof *broken, e);
    struct broken **listed =
        ARENA_PUSH(load->arena, &load->broken, &load->broken_count, &load->broken_capacity, e);
    if (number == NULL || broken == NULL || listed == NULL)
        return -1;
    *number = load->broken_count - 1;
    *broken = (struct broken){.path = path, .first = at};
    *listed = broken;
    slot->value = number;
    return tell(load, broken, key, problem, e);
}

/* "a, b and 3 more" grows in `out`. */
static void add_listed(char *out, size_t number, size_t count, const char *text)
{
    size_t used = strlen(out);
    if (number == LISTED_MAX)
        snprintf(out + used, LIST_BYTES - used, " and %zu more", count - number);
    if (number < LISTED_MAX)
        snprintf(out + used, LIST_BYTES - used, "%s%s",
                 number == 0                                  ? ""
                 : number + 1 == count && count <= LISTED_MAX ? " and "
                                                              : ", ",
                 text);
}

/* The other places that name it, "" if there is none. */
static void list_others(const struct broken *broken, char *out)
{
    out[0] = '\0';
    for (size_t i = 0; i < broken->count; i++) {
        char place[512];
        snprintf(place, sizeof place, "%s:%d", broken->others[i].file, broken->others[i].line);
        add_listed(out, i, broken->count, place);
    }
}

/* The other teams that use the package file which names it. */
static void list_users(const struct load *load, const struct broken *broken, char *out)
{
    const struct package_file *file = map_get(&load->packages, broken->first->file->path);
    out[0] = '\0';
    for (size_t i = 1; file != NULL && i < file->users->count; i++)
        add_listed(out, i - 1, file->users->count - 1, file->users->files[i]);
}

int reference_blame_finish(struct load *load, struct err *e)
{
    for (size_t i = 0; i < load->broken_count; i++) {
        char others[LIST_BYTES];
        char users[LIST_BYTES];
        const struct broken *broken = load->broken[i];
        struct diagnostic *diagnostic = &load->diagnostics[broken->diagnostic];
        list_others(broken, others);
        list_users(load, broken, users);
        if (others[0] == '\0' && users[0] == '\0')
            continue;
        diagnostic->text = arena_printf(
            load->arena, e, "%s%s%s%s%s%s%s", diagnostic->text, others[0] == '\0' ? "" : "; also named in ",
            others, users[0] == '\0' ? "" : "; ", users[0] == '\0' ? "" : broken->first->file->path,
            users[0] == '\0' ? "" : " is used by ", users);
        if (diagnostic->text == NULL)
            return -1;
    }
    return 0;
}

enum part_match { PART_NONE, PART_SAME, PART_FOLDED, PART_NEAR };

/* The entry of `folder` that a part of a path means. */
static int match_part(struct load *load, const char *folder, const char *part, bool is_folder,
                      const char **name, enum part_match *match, struct err *e)
{
    struct listing listing;
    *match = PART_NONE;
    if (reference_list(load, folder, &listing, e) < 0)
        return -1;
    const char **names = arena_alloc_array(load->arena, listing.count, sizeof *names, e);
    const char *folded = name_fold(load->arena, part, e);
    if (names == NULL || folded == NULL)
        return -1;
    size_t count = 0;
    for (size_t i = 0; i < listing.count && *match != PART_SAME; i++) {
        const struct listing_entry *entry = &listing.entries[i];
        if (entry->is_folder != is_folder)
            continue;
        names[count++] = entry->name;
        const char *entry_folded = name_fold(load->arena, entry->name, e);
        if (entry_folded == NULL)
            return -1;
        bool is_same = strcmp(entry->name, part) == 0;
        if (!is_same && strcmp(entry_folded, folded) != 0)
            continue;
        *match = is_same ? PART_SAME : PART_FOLDED;
        *name = entry->name;
    }
    if (*match != PART_NONE)
        return 0;
    *name = text_nearest(part, names, count);
    *match = *name == NULL ? PART_NONE : PART_NEAR;
    return 0;
}

/* The path that `path` means: *out is NULL if there is none. `worst` is how far a part of it is from that. */
static int find_meant(struct load *load, const char *path, const char **out, enum part_match *worst,
                      struct err *e)
{
    const char *folder = "";
    *out = NULL;
    *worst = PART_SAME;
    for (const char *rest = path; *rest != '\0';) {
        size_t length = strcspn(rest, "/");
        bool is_last = rest[length] == '\0';
        const char *part = arena_strndup(load->arena, rest, length, e);
        const char *name = NULL;
        enum part_match match;
        if (part == NULL || match_part(load, folder, part, !is_last, &name, &match, e) < 0)
            return -1;
        if (match == PART_NONE)
            return 0;
        *worst = match > *worst ? match : *worst;
        folder = reference_join(load, folder, name, e);
        if (folder == NULL)
            return -1;
        rest += length + (is_last ? 0 : 1);
    }
    *out = folder;
    return 0;
}

int reference_advice(struct load *load, const char *path, const char **advice, struct err *e)
{
    const char *meant;
    enum part_match worst;
    *advice = NULL;
    if (find_meant(load, path, &meant, &worst, e) < 0)
        return -1;
    if (meant == NULL || worst == PART_SAME)
        return 0;
    *advice =
        arena_printf(load->arena, e, "did you mean %s?%s", meant,
                     worst == PART_NEAR ? "" : " Upper and lower case, and how accents are written, matter");
    return *advice == NULL ? -1 : 0;
}

/* A path that was written as if it began at the root. */
static int advise_base(struct load *load, const struct yaml_node *at, const char **advice, struct err *e)
{
    const char *reason;
    const char *meant;
    enum part_match worst;
    char up[PATH_MAX] = "";
    const char *path = reference_resolve(load, "", at->text, &reason, e);
    if (path == NULL)
        return reason == NULL ? -1 : 0;
    if (find_meant(load, path, &meant, &worst, e) < 0)
        return -1;
    for (const char *slash = at->file->path; (slash = strchr(slash, '/')) != NULL; slash++)
        if (strlen(up) + 4 < sizeof up)
            strcat(up, "../");
    if (meant == NULL || worst != PART_SAME || up[0] == '\0')
        return 0;
    *advice = arena_printf(load->arena, e, "a path is relative to the file that it stands in: write %s%s", up,
                           path);
    return *advice == NULL ? -1 : 0;
}
