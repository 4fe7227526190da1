/* Files that are named but can't be used: told once each, at the first place that names them; the other
 * places stand in its trail. */
#include "base/text.h"
#include "manifest/names.h"
#include "manifest/schema.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { ADVISED_MAX = 100 }; /* each advice reads folders */

static int advise_base(struct load *load, const struct yaml_node *at, const char **advice, struct err *e);

const char *reference_spelling(const char *path)
{
    size_t length = strlen(path);
    if (strchr(path, '\\') != NULL)
        return "between the parts of a path stands \"/\", not \"\\\"";
    if (strstr(path, "://") != NULL)
        return "this is a URL: it belongs behind \"url\"";
    if (text_starts_with(path, "~/"))
        return "no shell reads this: \"~\" is no home folder here";
    return length > 0 && (path[0] == ' ' || path[length - 1] == ' ')
               ? "the path has a blank before or behind it: remove it"
               : NULL;
}

static int tell(struct load *load, enum rule rule, const struct yaml_node *at, const char *key,
                const char *path, const char *problem, struct err *e)
{
    bool is_advised = load->broken_paths.count <= ADVISED_MAX;
    const char *advice = at->kind == YAML_SCALAR ? reference_spelling(at->text) : NULL;
    if (rule == RULE_MISSING_FILE && key == NULL && strpbrk(path, "*?") != NULL)
        advice = "\"path\" is taken literally: a pattern stands behind \"paths\"";
    if (is_advised && advice == NULL && reference_advice(load, path, &advice, e) < 0)
        return -1;
    if (is_advised && advice == NULL && advise_base(load, at, &advice, e) < 0)
        return -1;
    return key == NULL ? diagnose_at(load, rule, at, advice, e, "%s", problem)
                       : diagnose_at(load, rule, at, advice, e, "\"%s\": %s", key, problem);
}

int reference_blame(struct load *load, enum rule rule, const struct yaml_node *at, const char *key,
                    const char *path, const char *problem, struct err *e)
{
    const char *about = arena_printf(load->arena, e, "%s\n%s", path, problem);
    struct map_slot *slot = about == NULL ? NULL : map_slot(&load->broken_paths, load->arena, about, e);
    if (slot == NULL)
        return -1;
    const struct yaml_node *first = slot->value == NULL ? at : slot->value;
    slot->value = first;
    bool is_first = first->file == at->file && first->line == at->line && first->column == at->column;
    if (!is_first)
        return trail_add(load, about, yaml_place(at), e);
    return tell(load, rule, at, key, path, problem, e) < 0 ? -1 : trail_about(load, about, yaml_place(at), e);
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
