/* From the files of one revision to the desired state: finds the team files, reads each with all that it
 * refers to, and collects what is wrong. A mistake in one team's files leaves the other teams alone. */
#include "manifest/load.h"
#include "base/text.h"
#include "manifest/schema.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct finder {
    struct load *load;
    const char **paths;
    size_t count, capacity;
    const char **bases; /* the folders that hold a folder of teams */
    size_t base_count, base_capacity;
    bool is_told; /* why a folder of teams is not read */
};

static int add_text(struct load *load, const char ***items, size_t *count, size_t *capacity, const char *text,
                    struct err *e)
{
    const char **slot = ARENA_PUSH(load->arena, items, count, capacity, e);
    if (slot == NULL)
        return -1;
    *slot = text;
    return 0;
}

static bool is_team_folder(const char *name)
{
    return strcmp(name, "teams") == 0 || strcmp(name, "fleets") == 0;
}

/* Where the teams lie must be readable: to go on without a folder would read as success. */
static int list_or_fail(struct load *load, const char *folder, struct listing *out, struct err *e)
{
    if (reference_list(load, folder, out, e) < 0)
        return -1;
    return out->problem == NULL ? 0 : err_set(e, ERR_REPOSITORY, "%s", out->problem);
}

/* What should be a folder of teams is a symbolic link that can't be followed, or a file. */
static int complain_of_link(struct finder *finder, const char *base, const char *name, struct err *e)
{
    struct load *load = finder->load;
    struct listing listing;
    const char *leads_to = NULL;
    const char *path = reference_join(load, base, name, e);
    if (path == NULL || reference_list(load, path, &listing, e) < 0)
        return -1;
    if (listing.problem == NULL && load->source->resolve != NULL &&
        load->source->resolve(load->source->context, path, load->arena, &leads_to, NULL, e) < 0)
        return -1;
    if (listing.problem == NULL && (leads_to == NULL || strcmp(leads_to, path) == 0))
        return 0;
    finder->is_told = true;
    if (listing.problem != NULL)
        return diagnose(load, RULE_TEAM_FOLDER, NULL, (struct place){.file = path}, NULL, e, "%s",
                        listing.problem);
    return diagnose(load, RULE_TEAM_FOLDER, NULL, (struct place){.file = path}, NULL, e,
                    "%s is a symbolic link to %s, which is no folder of the repository", path, leads_to);
}

static int add_team_folder(struct finder *finder, const char *base, const char *name, struct err *e)
{
    struct load *load = finder->load;
    struct listing listing;
    const char *folder = reference_join(load, base, name, e);
    if (folder == NULL || list_or_fail(load, folder, &listing, e) < 0 ||
        add_text(load, &finder->bases, &finder->base_count, &finder->base_capacity, base, e) < 0)
        return -1;
    for (size_t i = 0; i < listing.count; i++) {
        const struct listing_entry *entry = &listing.entries[i];
        if (entry->is_folder || entry->name[0] == '.' || !schema_is_yaml(entry->name))
            continue;
        const char *path = reference_join(load, folder, entry->name, e);
        if (path == NULL || add_text(load, &finder->paths, &finder->count, &finder->capacity, path, e) < 0)
            return -1;
    }
    return 0;
}

/* "Teams" is no folder of teams to Fleet's workflows; to pass over its files in silence would leave their
 * teams unmanaged. */
static int check_folder_name(struct finder *finder, const char *base, const char *name, struct err *e)
{
    static const char *const names[] = {"teams", "fleets"};
    struct load *load = finder->load;
    struct listing listing;
    bool is_near = false;
    bool has_files = false;
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        is_near = is_near || strcasecmp(name, names[i]) == 0;
    if (!is_near || is_team_folder(name))
        return 0;
    const char *path = reference_join(load, base, name, e);
    if (path == NULL || reference_list(load, path, &listing, e) < 0)
        return -1;
    for (size_t i = 0; i < listing.count; i++)
        has_files = has_files || (!listing.entries[i].is_folder && schema_is_yaml(listing.entries[i].name));
    finder->is_told = finder->is_told || has_files;
    return !has_files ? 0
                      : diagnose(load, RULE_UNREAD_FOLDER, NULL, (struct place){.file = path}, "rename it", e,
                                 "the files in this folder are not read: the name of a folder of teams is "
                                 "teams or fleets, in small letters");
}

/* Folders named teams or fleets: here, and with `deeper` one level below. */
static int find_in(struct finder *finder, const char *base, bool deeper, struct err *e)
{
    struct listing listing;
    if (list_or_fail(finder->load, base, &listing, e) < 0)
        return -1;
    for (size_t i = 0; i < listing.count; i++) {
        const struct listing_entry *entry = &listing.entries[i];
        if (!entry->is_folder && is_team_folder(entry->name) &&
            complain_of_link(finder, base, entry->name, e) < 0)
            return -1;
        if (!entry->is_folder || entry->name[0] == '.')
            continue;
        if (check_folder_name(finder, base, entry->name, e) < 0)
            return -1;
        if (is_team_folder(entry->name)) {
            if (add_team_folder(finder, base, entry->name, e) < 0)
                return -1;
        } else if (deeper) {
            const char *below = reference_join(finder->load, base, entry->name, e);
            if (below == NULL || find_in(finder, below, false, e) < 0)
                return -1;
        }
    }
    return 0;
}

/* A folder in place of the files in it. */
static int advise_folder(struct load *load, const char *pattern, const char **advice, struct err *e)
{
    struct listing listing;
    const char *reason;
    const char *path = reference_resolve(load, "", pattern, &reason, e);
    if (path == NULL)
        return reason == NULL ? -1 : 0;
    if (reference_list(load, path, &listing, e) < 0)
        return -1;
    if (listing.count > 0)
        *advice = arena_printf(load->arena, e, "it is a folder: write %s/*.yml", path);
    return listing.count > 0 && *advice == NULL ? -1 : 0;
}

/* A pattern of -f stands nowhere: it takes the file's place. */
static int complain_of_pattern(struct load *load, size_t index, const char *reason, struct err *e)
{
    const char *pattern = load->options->files.items[index];
    struct place place = settings_item_place(load, &load->options->files, "file", index);
    struct yaml_file *file = NULL;
    const char *advice =
        pattern[0] == '/' ? "write it from the repository's root on, without the first \"/\"" : NULL;
    if (reason == NULL && advise_folder(load, pattern, &advice, e) < 0)
        return -1;
    if (place.line == 0)
        return diagnose(load, RULE_TEAM_FOLDER, NULL, (struct place){.file = pattern}, advice, e, "%s",
                        reason != NULL ? reason : "no file of the repository matches");
    if (settings_reopen(load, &file, e) < 0)
        return -1;
    if (reason != NULL)
        return diagnose(load, RULE_TEAM_FOLDER, file, place, advice, e, "\"files\": %s", reason);
    return diagnose(load, RULE_TEAM_FOLDER, file, place, advice, e,
                    "no file of the repository matches \"%s\"", pattern);
}

static int find_named(struct finder *finder, const struct string_list *patterns, struct err *e)
{
    struct load *load = finder->load;
    for (size_t i = 0; i < patterns->count; i++) {
        struct string_list found;
        const char *reason;
        const char *pattern = reference_resolve(load, "", patterns->items[i], &reason, e);
        if (pattern == NULL && reason == NULL)
            return -1;
        if (pattern != NULL && reference_glob(load, pattern, &found, &reason, e) < 0)
            return -1;
        if (pattern == NULL || found.count == 0) {
            if (complain_of_pattern(load, i, reason, e) < 0)
                return -1;
            continue;
        }
        for (size_t k = 0; k < found.count; k++)
            if (add_text(load, &finder->paths, &finder->count, &finder->capacity, found.items[k], e) < 0)
                return -1;
    }
    return 0;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A --subdir that is not there would read as one without teams. */
static int find_below(struct finder *finder, const char *base, struct err *e)
{
    struct listing listing;
    const char *slash = strrchr(base, '/');
    const char *name = slash == NULL ? base : slash + 1;
    const char *above =
        arena_strndup(finder->load->arena, base, slash == NULL ? 0 : (size_t)(slash - base), e);
    if (above == NULL || list_or_fail(finder->load, above, &listing, e) < 0)
        return -1;
    bool is_there = base[0] == '\0';
    for (size_t i = 0; i < listing.count && !is_there; i++)
        is_there = listing.entries[i].is_folder && strcmp(listing.entries[i].name, name) == 0;
    return is_there ? find_in(finder, base, true, e)
                    : err_set(e, ERR_CONFIG, "subdir %s: the repository has no such folder", base);
}

/* One file that two paths lead to (symbolic links) is one team: by its own path, or the first one. */
static int drop_other_ways(struct finder *finder, struct err *e)
{
    const struct load *load = finder->load;
    const char **ends = arena_alloc_array(load->arena, finder->count, sizeof *ends, e);
    size_t kept = 0;
    if (ends == NULL)
        return -1;
    for (size_t i = 0; i < finder->count; i++) {
        ends[i] = NULL;
        if (load->source->resolve != NULL && load->source->resolve(load->source->context, finder->paths[i],
                                                                   load->arena, &ends[i], NULL, e) < 0)
            return -1;
    }
    for (size_t i = 0; i < finder->count; i++) {
        bool is_link = ends[i] != NULL && strcmp(ends[i], finder->paths[i]) != 0, is_other_way = false;
        for (size_t k = 0; is_link && k < finder->count && !is_other_way; k++)
            is_other_way = k != i && ends[k] != NULL && strcmp(ends[k], ends[i]) == 0 &&
                           (k < i || strcmp(finder->paths[k], ends[k]) == 0);
        if (!is_other_way)
            finder->paths[kept++] = finder->paths[i];
    }
    finder->count = kept;
    return 0;
}

static int find_team_files(struct finder *finder, struct err *e)
{
    const struct manifest_options *options = finder->load->options;
    const char *subdir = options->subdir == NULL ? "" : options->subdir;
    const char *reason;
    const char *base = subdir[0] == '\0' ? "" : reference_resolve(finder->load, "", subdir, &reason, e);
    if (base == NULL)
        return reason == NULL ? -1 : err_set(e, ERR_CONFIG, "subdir %s: %s", subdir, reason);
    int result = options->files.is_set ? find_named(finder, &options->files, e) : find_below(finder, base, e);
    if (result < 0)
        return -1;
    if (finder->count > 1)
        qsort(finder->paths, finder->count, sizeof *finder->paths, compare_paths);
    size_t kept = 0;
    for (size_t i = 0; i < finder->count; i++)
        if (kept == 0 || strcmp(finder->paths[kept - 1], finder->paths[i]) != 0)
            finder->paths[kept++] = finder->paths[i];
    finder->count = kept;
    if (drop_other_ways(finder, e) < 0)
        return -1;
    bool is_in_doubt = options->settings != NULL && options->settings->selection_in_doubt;
    if (options->files.is_set || finder->base_count > 0 || finder->is_told || is_in_doubt)
        return 0;
    return diagnose(finder->load, RULE_NO_TEAMS, NULL, (struct place){.file = NULL},
                    "name the files with -f, or the folder that holds teams/ with --subdir", e,
                    "there is no folder teams/ or fleets/ %s%s or one level below: nothing to do",
                    base[0] == '\0' ? "at the root" : "in ", base);
}

/* Only its `software` is looked at: what else is in it is not ours to judge. */
static int check_default_file(struct load *load, const char *path, struct err *e)
{
    struct file_problem unreadable;
    const struct yaml_node *root;
    struct err problem = {.class = ERR_NONE};
    struct yaml_file *file = arena_alloc(load->arena, sizeof *file, e);
    if (file == NULL || reference_read(load, path, file, &unreadable, e) < 0)
        return -1;
    if (unreadable.is_missing)
        return 0;
    const char *reason = unreadable.text;
    if (reason == NULL) {
        if (yaml_parse(file, load->arena, &root, &problem) == 0)
            return team_file_check_organisation(load, root, e);
        if (problem.class != ERR_MANIFEST)
            return err_set(e, problem.class, "%s", problem.text);
        reason = problem.text;
    }
    const struct place place = {.file = path, .line = problem.line, .column = problem.column};
    return diagnose(load, RULE_ORGANISATION_FILE, file, place, NULL, e,
                    "whether its \"software\" is empty can't be checked: %s", reason);
}

/* Beside a folder of teams. */
static int check_default_names(struct load *load, const char *base, struct err *e)
{
    static const char *const names[] = {"default.yml", "default.yaml"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        const char *path = reference_join(load, base, names[i], e);
        if (path == NULL || check_default_file(load, path, e) < 0)
            return -1;
    }
    return 0;
}

static int check_default_files(struct load *load, const struct finder *finder, struct err *e)
{
    for (size_t i = 0; i < finder->base_count; i++) {
        bool is_done = false;
        for (size_t k = 0; k < i; k++)
            is_done = is_done || strcmp(finder->bases[i], finder->bases[k]) == 0;
        if (!is_done && check_default_names(load, finder->bases[i], e) < 0)
            return -1;
    }
    return 0;
}

static int open_teams(struct load *load, const struct finder *finder, struct team_source *sources,
                      struct err *e)
{
    bool are_known = load->error_count == 0; /* all files that are wanted were found */
    for (size_t i = 0; i < finder->count; i++) {
        size_t findings = load->finding_count;
        size_t errors = load->error_count;
        if (team_file_open(load, finder->paths[i], &sources[i], e) < 0)
            return -1;
        if (sources[i].is_organisation && team_file_check_organisation(load, sources[i].root, e) < 0)
            return -1;
        are_known = are_known && (sources[i].name != NULL || sources[i].is_organisation);
        if (selection_takes(load, &sources[i]))
            continue;
        sources[i].is_left_out = true;
        load->finding_count = findings;
        load->error_count = errors;
    }
    if (selection_check(load, sources, finder->count, are_known, e) < 0)
        return -1;
    return check_team_names(load, sources, finder->count, e);
}

static int read_teams(struct load *load, struct team_source *sources, size_t count, struct desired *out,
                      struct err *e)
{
    out->teams = arena_alloc_array(load->arena, count, sizeof *out->teams, e);
    if (out->teams == NULL)
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (sources[i].name == NULL || sources[i].is_left_out)
            continue;
        if (team_file_read(load, &sources[i], &out->teams[out->team_count], e) < 0)
            return -1;
        out->team_count++;
    }
    return 0;
}

/* Reads the teams only to know which files each of them refers to. */
static int choose_changed(const struct manifest_source *source, const struct manifest_options *options,
                          struct arena *arena, struct map *chosen, struct err *e)
{
    struct load load = {.source = source, .options = options, .arena = arena};
    struct finder finder = {.load = &load};
    if (find_team_files(&finder, e) < 0)
        return -1;
    struct team_source *sources = arena_alloc_array(arena, finder.count, sizeof *sources, e);
    struct selected_team *teams = arena_alloc_array(arena, finder.count, sizeof *teams, e);
    if (sources == NULL || teams == NULL || open_teams(&load, &finder, sources, e) < 0)
        return -1;
    for (size_t i = 0; i < finder.count; i++) {
        struct desired_team ignored;
        teams[i].path = sources[i].file.path;
        if (sources[i].name == NULL || sources[i].is_left_out)
            continue;
        load.files = &teams[i].files;
        if (selection_record(&load, teams[i].path, e) < 0 ||
            team_file_read(&load, &sources[i], &ignored, e) < 0)
            return -1;
    }
    return selection_choose(&load, teams, finder.count, chosen, e);
}

int manifest_load(const struct manifest_source *source, const struct manifest_options *options,
                  struct arena *arena, struct desired *out, struct err *e)
{
    struct load load = {.source = source, .options = options, .arena = arena};
    struct finder finder = {.load = &load};
    struct desired result = *out;
    struct map chosen = {.count = 0};
    result.team_count = 0;
    if (options->changed.is_set && choose_changed(source, options, arena, &chosen, e) < 0)
        return -1;
    load.chosen = options->changed.is_set ? &chosen : NULL;
    if (find_team_files(&finder, e) < 0)
        return -1;
    struct team_source *sources = arena_alloc_array(arena, finder.count, sizeof *sources, e);
    if (sources == NULL || open_teams(&load, &finder, sources, e) < 0 ||
        read_teams(&load, sources, finder.count, &result, e) < 0 ||
        check_default_files(&load, &finder, e) < 0 ||
        backups_apply(&load, result.teams, result.team_count, e) < 0 ||
        diagnose_finish(&load, &result, e) < 0)
        return -1;
    result.idle_guard = load.idle_guard;
    result.secrets = load.secrets;
    result.secret_count = load.secret_count;
    result.file_count += load.file_count;
    *out = result;
    return 0;
}
