/* Two files for one team: by names that Fleet takes for the same, or as x.yml beside x.yaml. Nothing is done
 * for either of them. */
#include "manifest/load.h"
#include "manifest/names.h"
#include <string.h>

struct names {
    struct team_source *sources;
    struct map by_name, by_stem; /* → the first of these sources that has it */
};

/* *first is the earlier source with the same key, NULL if there is none: then this one is remembered. */
static int find_first(struct load *load, struct names *names, struct map *map, const char *key,
                      const struct team_source *source, struct team_source **first, struct err *e)
{
    struct map_slot *slot = key == NULL ? NULL : map_slot(map, load->arena, key, e);
    if (slot == NULL)
        return -1;
    const struct team_source *found = slot->value;
    *first = found == NULL ? NULL : &names->sources[found - names->sources];
    if (found == NULL)
        slot->value = source;
    return 0;
}

static int collide(struct load *load, struct team_source *first, struct team_source *second, const char *why,
                   struct err *e)
{
    if (first->is_left_out && second->is_left_out)
        return 0;
    first->is_invalid = true;
    second->is_invalid = true;
    return diagnose(load, RULE_TEAM_COLLISION, &second->file, second->name_place,
                    "rename one of the two, or remove it", e, "%s: \"%s\" here, \"%s\" in %s:%d", why,
                    second->name, first->name, first->name_place.file, first->name_place.line);
}

/* The path without its ".yml"; NULL when out of memory. */
static const char *stem_of(struct load *load, const char *path, struct err *e)
{
    const char *dot = strrchr(path, '.');
    return arena_strndup(load->arena, path, dot == NULL ? strlen(path) : (size_t)(dot - path), e);
}

static int check_one(struct load *load, struct names *names, struct team_source *source, struct err *e)
{
    struct team_source *by_name;
    struct team_source *by_stem;
    const char *folded = source->is_no_team ? "no team" : name_fold(load->arena, source->name, e);
    if (find_first(load, names, &names->by_name, folded, source, &by_name, e) < 0 ||
        find_first(load, names, &names->by_stem, stem_of(load, source->file.path, e), source, &by_stem, e) <
            0)
        return -1;
    if (by_stem != NULL && collide(load, by_stem, source, "two files for one team, .yml and .yaml", e) < 0)
        return -1;
    if (by_name == NULL || by_name == by_stem)
        return 0;
    return collide(load, by_name, source, "two files for one team, as Fleet compares names", e);
}

int check_team_names(struct load *load, struct team_source *sources, size_t count, struct err *e)
{
    struct names names = {.sources = sources};
    for (size_t i = 0; i < count; i++)
        if (sources[i].name != NULL && !sources[i].is_misnamed && check_one(load, &names, &sources[i], e) < 0)
            return -1;
    return 0;
}
