/* Which teams are read: those whose names are wanted, and of them, with --changed-since, those that a change
 * touches. For that, while the teams are read, each file that one refers to is written down, through package
 * files and symbolic links; then those of which one changed are chosen, and read again alone. */
#include "base/text.h"
#include "manifest/load.h"
#include <fnmatch.h>
#include <string.h>

static bool matches_any(const struct string_list *patterns, const char *name)
{
    for (size_t i = 0; i < patterns->count; i++)
        if (fnmatch(patterns->items[i], name, 0) == 0)
            return true;
    return false;
}

bool selection_takes(const struct load *load, const struct team_source *source)
{
    const struct manifest_options *options = load->options;
    const char *name = source->name;
    if (name == NULL)
        return true;
    if (load->chosen != NULL && map_get(load->chosen, source->file.path) == NULL)
        return false;
    return (!options->teams.is_set || matches_any(&options->teams, name)) &&
           !matches_any(&options->exclude_teams, name);
}

/* "did you mean" the team's name that is nearest to a pattern; NULL if none is near. */
static int nearest_team(struct load *load, const char *pattern, const struct team_source *sources,
                        size_t count, const char **advice, struct err *e)
{
    const char **names = arena_alloc_array(load->arena, count, sizeof *names, e);
    size_t named = 0;
    *advice = NULL;
    if (names == NULL)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (sources[i].name != NULL)
            names[named++] = sources[i].name;
    const char *nearest = text_nearest(pattern, names, named);
    if (nearest == NULL)
        return 0;
    *advice = arena_printf(load->arena, e, "did you mean \"%s\"?", nearest);
    return *advice == NULL ? -1 : 0;
}

/* A misspelt pattern would read as success. */
static int check_patterns(struct load *load, const struct string_list *patterns, const char *setting,
                          const struct team_source *sources, size_t count, bool are_known, struct err *e)
{
    const struct string_list *excluded = &load->options->exclude_teams;
    for (size_t i = 0; patterns->is_set && i < patterns->count; i++) {
        const char *pattern = patterns->items[i];
        const char *advice = NULL;
        size_t matches = 0;
        size_t left = 0;
        for (size_t k = 0; k < count; k++) {
            bool is_match = sources[k].name != NULL && fnmatch(pattern, sources[k].name, 0) == 0;
            matches += is_match;
            left += is_match && (patterns == excluded || !matches_any(excluded, sources[k].name));
        }
        if (left > 0)
            continue;
        if (matches == 0 && nearest_team(load, pattern, sources, count, &advice, e) < 0)
            return -1;
        if (matches == 0 && advice == NULL && !are_known)
            continue; /* it may be for a team that is not known */
        struct place place = settings_item_place(load, patterns, setting, i);
        struct yaml_file *file = NULL;
        if ((place.line > 0 && settings_reopen(load, &file, e) < 0) ||
            diagnose(load, RULE_TEAM_PATTERN, file, place, advice, e,
                     matches == 0 ? "no team's name matches \"%s\""
                                  : "exclude_teams leaves out all of \"%s\"",
                     pattern) < 0)
            return -1;
    }
    return 0;
}

/* One that is for nobody leaves the team that it was meant for to the general settings: the planner withholds
 * removals then. */
static int tell_idle_guard(struct load *load, const struct guard_rule *guard,
                           const struct team_source *sources, size_t count, struct err *e)
{
    const char *advice = NULL;
    struct yaml_file *file = NULL;
    load->idle_guard = arena_printf(load->arena, e, "“%s” (%s:%d:%d)", guard->team, guard->place.file,
                                    guard->place.line, guard->place.column);
    if (load->idle_guard == NULL || settings_reopen(load, &file, e) < 0 ||
        nearest_team(load, guard->team, sources, count, &advice, e) < 0)
        return -1;
    return diagnose(load, RULE_UNUSED_SETTING, file, guard->place, advice, e,
                    "no team's name matches the guard \"%s\": it may be meant for any of them, so nothing is "
                    "removed from those without a guard",
                    guard->team);
}

static int check_guards(struct load *load, const struct team_source *sources, size_t count, struct err *e)
{
    const struct settings *settings = load->options->settings;
    for (size_t i = 0; i < settings->guard_count; i++) {
        bool has_team = false;
        for (size_t k = 0; k < count; k++)
            has_team = has_team || (sources[k].name != NULL &&
                                    fnmatch(settings->guards[i].team, sources[k].name, 0) == 0);
        if (!has_team && tell_idle_guard(load, &settings->guards[i], sources, count, e) < 0)
            return -1;
    }
    return 0;
}

/* To do nothing because nothing is wanted is said. */
static int check_any(struct load *load, const struct team_source *sources, size_t count, struct err *e)
{
    const struct manifest_options *options = load->options;
    bool is_chosen =
        options->changed.is_set || load->error_count > 0 || (count == 0 && !options->files.is_set);
    for (size_t i = 0; i < count; i++)
        is_chosen = is_chosen || !sources[i].is_left_out;
    const char *text = count == 0 ? "no file is wanted: nothing to do" : "no team is wanted: nothing to do";
    return is_chosen ? 0
                     : diagnose(load, RULE_NO_TEAMS, NULL, (struct place){.file = NULL}, NULL, e, "%s", text);
}

int selection_check(struct load *load, const struct team_source *sources, size_t count, bool are_known,
                    struct err *e)
{
    const struct manifest_options *options = load->options;
    const struct settings *settings = options->settings;
    if (settings != NULL && settings->selection_in_doubt)
        return 0;
    if (check_patterns(load, &options->teams, "team", sources, count, are_known, e) < 0 ||
        check_patterns(load, &options->exclude_teams, "exclude-team", sources, count, are_known, e) < 0)
        return -1;
    if (settings != NULL && are_known && settings_name_files(load) &&
        check_guards(load, sources, count, e) < 0)
        return -1;
    return check_any(load, sources, count, e);
}

static char present[] = "present"; /* the value of a map that is only asked whether it has a key */

static int push(struct load *load, const char *path, struct err *e)
{
    struct file_list *files = load->files;
    const char **slot = ARENA_PUSH(load->arena, &files->paths, &files->count, &files->capacity, e);
    if (slot == NULL)
        return -1;
    *slot = path;
    return 0;
}

/* The path, each symbolic link on its way, and *resolved, where it leads: NULL if out of the repository. */
static int record(struct load *load, const char *path, const char **resolved, struct err *e)
{
    struct string_list links = {.count = 0};
    *resolved = path;
    if (push(load, path, e) < 0)
        return -1;
    if (load->source->resolve == NULL)
        return 0;
    if (load->source->resolve(load->source->context, path, load->arena, resolved, &links, e) < 0)
        return -1;
    for (size_t i = 0; i < links.count; i++)
        if (push(load, links.items[i], e) < 0)
            return -1;
    return *resolved == NULL || strcmp(*resolved, path) == 0 ? 0 : push(load, *resolved, e);
}

int selection_record(struct load *load, const char *path, struct err *e)
{
    const char *resolved;
    return load->files == NULL ? 0 : record(load, path, &resolved, e);
}

int selection_record_all(struct load *load, const struct file_list *files, struct err *e)
{
    for (size_t i = 0; load->files != NULL && i < files->count; i++)
        if (push(load, files->paths[i], e) < 0)
            return -1;
    return 0;
}

/* As reference_glob finds them: "*", "?" and "[…]" within a part, "**" for any folders. */
static bool matches(const char *pattern, const char *path)
{
    size_t part = strcspn(pattern, "/");
    size_t name = strcspn(path, "/");
    char part_text[256], name_text[256];
    if (part >= sizeof part_text || name >= sizeof name_text)
        return false;
    bool is_last = pattern[part] == '\0';
    if (part == 2 && pattern[0] == '*' && pattern[1] == '*') {
        if (path[0] == '.')
            return false;
        if (matches(is_last ? "*" : pattern + part + 1, path))
            return true;
        return path[name] == '/' && matches(pattern, path + name + 1);
    }
    memcpy(part_text, pattern, part);
    memcpy(name_text, path, name);
    part_text[part] = name_text[name] = '\0';
    if (fnmatch(part_text, name_text, FNM_PERIOD) != 0 || is_last != (path[name] == '\0'))
        return false;
    return is_last || matches(pattern + part + 1, path + name + 1);
}

/* The pattern with the folder that it names, before any "*", as it lies behind symbolic links. */
static int resolve_pattern(struct load *load, const char **pattern, struct err *e)
{
    const char *resolved;
    size_t length = strcspn(*pattern, "*?[\\");
    while (length > 0 && (*pattern)[length - 1] != '/')
        length--;
    if (length == 0)
        return 0;
    const char *folder = arena_strndup(load->arena, *pattern, length - 1, e);
    if (folder == NULL || record(load, folder, &resolved, e) < 0)
        return -1;
    if (resolved == NULL || strcmp(resolved, folder) == 0)
        return 0;
    *pattern = reference_join(load, resolved, *pattern + length, e);
    return *pattern == NULL ? -1 : 0;
}

int selection_record_matches(struct load *load, const char *pattern, struct err *e)
{
    const struct string_list *changed = &load->options->changed;
    if (load->files == NULL)
        return 0;
    if (resolve_pattern(load, &pattern, e) < 0)
        return -1;
    for (size_t i = 0; i < changed->count; i++)
        if (matches(pattern, changed->items[i]) && push(load, changed->items[i], e) < 0)
            return -1;
    return 0;
}

/* The path itself, a folder around it of which all is new, or one that is a symbolic link and leads elsewhere
 * now. */
static int is_changed(struct load *load, const struct map *changed, const char *path, bool *out,
                      struct err *e)
{
    *out = map_get(changed, path) != NULL || map_get(changed, "") != NULL;
    char *folder = arena_strdup(load->arena, path, e);
    if (folder == NULL)
        return -1;
    for (char *slash = strrchr(folder, '/'); slash != NULL && !*out; slash = strrchr(folder, '/')) {
        slash[1] = '\0';
        *out = map_get(changed, folder) != NULL;
        slash[0] = '\0';
        *out = *out || map_get(changed, folder) != NULL;
    }
    return 0;
}

int selection_choose(struct load *load, const struct selected_team *teams, size_t count, struct map *chosen,
                     struct err *e)
{
    struct map changed = {.count = 0};
    const struct string_list *paths = &load->options->changed;
    bool is_all = false;
    for (size_t i = 0; i < paths->count; i++)
        if (map_put(&changed, load->arena, paths->items[i], present, e) < 0)
            return -1;
    if (is_changed(load, &changed, "tender.yml", &is_all, e) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        bool is_chosen = is_all;
        for (size_t k = 0; k < teams[i].files.count && !is_chosen; k++)
            if (is_changed(load, &changed, teams[i].files.paths[k], &is_chosen, e) < 0)
                return -1;
        if (is_chosen && map_put(chosen, load->arena, teams[i].path, present, e) < 0)
            return -1;
    }
    return 0;
}
