/* From a path as it stands in a file to the file that it means: always relative to the file that contains it,
 * never outside the repository; scripts and queries are read once, however many packages name them. */
#include "base/text.h"
#include "manifest/load.h"
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GLOB_MAX_DEPTH = 16, GLOB_MAX_FOLDERS = 20000 };

static void buf_cleanup(struct buf *buf)
{
    buf_done(buf);
}

int reference_read(struct load *load, const char *path, struct yaml_file *out, struct file_problem *problem,
                   struct err *e)
{
    CLEANUP(buf_cleanup) struct buf buf = BUF_INIT((size_t)load->options->max_document_bytes);
    struct err trouble = {.class = ERR_NONE};
    *problem = (struct file_problem){.text = NULL};
    if (load->source->read(load->source->context, path, &buf, &trouble) < 0) {
        if (trouble.class != ERR_NOT_FOUND && trouble.class != ERR_REPOSITORY)
            return err_set(e, trouble.class, "%s", trouble.text);
        problem->is_missing = trouble.class == ERR_NOT_FOUND;
        problem->text = problem->is_missing ? arena_printf(load->arena, e, "%s does not exist", path)
                                            : arena_strdup(load->arena, trouble.text, e);
        return problem->text == NULL ? -1 : 0;
    }
    load->file_count++;
    static const char pointer[] = "version https://git-lfs.github.com/spec/";
    if (text_starts_with(buf_text(&buf), pointer)) {
        problem->text =
            arena_printf(load->arena, e,
                         "%s is a Git LFS pointer, not the file that it stands for: keep the file in "
                         "Git itself, or give a checkout with its LFS files by --dir",
                         path);
        return problem->text == NULL ? -1 : 0;
    }
    const char *name = arena_strdup(load->arena, path, e);
    const char *text = arena_strndup(load->arena, buf_text(&buf), buf.length, e);
    if (name == NULL || text == NULL)
        return -1;
    *out = (struct yaml_file){.path = name, .text = text, .length = buf.length};
    return 0;
}

const char *reference_join(struct load *load, const char *folder, const char *name, struct err *e)
{
    return arena_printf(load->arena, e, "%s%s%s", folder, folder[0] == '\0' ? "" : "/", name);
}

/* Appends `reference`'s parts to `path`; false if they lead out of the root. */
static bool walk_parts(char *path, size_t size, const char *reference)
{
    size_t used = strlen(path);
    while (*reference != '\0') {
        size_t length = strcspn(reference, "/");
        if (length == 2 && reference[0] == '.' && reference[1] == '.') {
            if (used == 0)
                return false;
            const char *slash = memrchr(path, '/', used);
            used = slash == NULL ? 0 : (size_t)(slash - path);
        } else if (length > 0 && !(length == 1 && reference[0] == '.')) {
            if (used + length + 2 > size)
                return false;
            if (used > 0)
                path[used++] = '/';
            memcpy(path + used, reference, length);
            used += length;
        }
        path[used] = '\0';
        reference += length;
        reference += *reference == '/' ? 1 : 0;
    }
    return true;
}

const char *reference_resolve(struct load *load, const char *from, const char *reference, const char **reason,
                              struct err *e)
{
    char path[PATH_MAX];
    const char *slash = strrchr(from, '/');
    *reason = NULL;
    size_t folder = slash == NULL ? 0 : (size_t)(slash - from);
    if (folder < sizeof path) {
        memcpy(path, from, folder);
        path[folder] = '\0';
    }
    if (folder >= sizeof path)
        *reason = "the path is too long";
    else if (reference[0] == '\0')
        *reason = "the path is empty";
    else if (reference[0] == '/')
        *reason = "the path is absolute: paths are relative to the file that they stand in";
    else if (strlen(reference) >= PATH_MAX)
        *reason = "the path is too long";
    else if (!walk_parts(path, sizeof path, reference))
        *reason = "the path leads out of the repository";
    else if (path[0] == '\0')
        *reason = "the path names no file";
    return *reason != NULL ? NULL : arena_strdup(load->arena, path, e);
}

struct lister {
    struct load *load;
    struct listing *out;
    struct err *e;
    bool failed;
};

static void add_entry(void *user, const char *name, bool is_folder)
{
    struct lister *lister = user;
    if (lister->failed)
        return;
    struct arena *arena = lister->load->arena;
    struct listing_entry *entry =
        ARENA_PUSH(arena, &lister->out->entries, &lister->out->count, &lister->out->capacity, lister->e);
    lister->failed = entry == NULL;
    if (lister->failed)
        return;
    entry->is_folder = is_folder;
    entry->name = arena_strdup(arena, name, lister->e);
    lister->failed = entry->name == NULL;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct listing_entry *)a)->name, ((const struct listing_entry *)b)->name);
}

int reference_list(struct load *load, const char *folder, struct listing *out, struct err *e)
{
    struct err trouble = {.class = ERR_NONE};
    struct err out_of_memory = {.class = ERR_NONE};
    *out = (struct listing){.count = 0};
    struct lister lister = {.load = load, .out = out, .e = &out_of_memory};
    int result = load->source->list(load->source->context, folder, add_entry, &lister, &trouble);
    if (lister.failed)
        return err_set(e, out_of_memory.class, "%s", out_of_memory.text);
    if (result < 0) {
        out->count = 0;
        if (trouble.class == ERR_NOT_FOUND)
            return 0;
        if (trouble.class != ERR_REPOSITORY)
            return err_set(e, trouble.class, "%s", trouble.text);
        out->problem = arena_strdup(load->arena, trouble.text, e);
        return out->problem == NULL ? -1 : 0;
    }
    if (out->count > 1)
        qsort(out->entries, out->count, sizeof *out->entries, compare_names);
    return 0;
}

struct globber {
    struct load *load;
    const char **paths;
    size_t count, capacity;
    int folders;         /* looked into so far: "**" twice may visit one many times */
    const char *problem; /* ends the search */
};

static int glob_part(struct globber *globber, const char *folder, const char *pattern, int depth,
                     struct err *e);

static int add_match(struct globber *globber, const char *path, struct err *e)
{
    const char **slot =
        ARENA_PUSH(globber->load->arena, &globber->paths, &globber->count, &globber->capacity, e);
    if (slot == NULL)
        return -1;
    *slot = path;
    return 0;
}

/* `rest` is what follows the part, "" at the end. */
static int glob_entry(struct globber *globber, const char *folder, const struct listing_entry *entry,
                      const char *part, const char *rest, int depth, struct err *e)
{
    bool is_deep = strcmp(part, "**") == 0;
    if (!is_deep && fnmatch(part, entry->name, FNM_PERIOD) != 0)
        return 0;
    if (is_deep && (entry->name[0] == '.' || !entry->is_folder))
        return 0;
    if (!entry->is_folder && rest[0] != '\0')
        return 0;
    const char *path = reference_join(globber->load, folder, entry->name, e);
    if (path == NULL)
        return -1;
    if (is_deep) {
        const char *again = arena_printf(globber->load->arena, e, "**%s%s", rest[0] == '\0' ? "" : "/", rest);
        return again == NULL ? -1 : glob_part(globber, path, again, depth + 1, e);
    }
    if (rest[0] != '\0')
        return glob_part(globber, path, rest, depth + 1, e);
    return entry->is_folder ? 0 : add_match(globber, path, e);
}

static int glob_part(struct globber *globber, const char *folder, const char *pattern, int depth,
                     struct err *e)
{
    struct listing listing;
    size_t length = strcspn(pattern, "/");
    if (depth > GLOB_MAX_DEPTH || globber->problem != NULL)
        return 0;
    if (++globber->folders > GLOB_MAX_FOLDERS) {
        globber->problem = arena_printf(
            globber->load->arena, e, "the pattern looks into more than %d folders, the limit for one pattern",
            GLOB_MAX_FOLDERS);
        return globber->problem == NULL ? -1 : 0;
    }
    const char *part = arena_strndup(globber->load->arena, pattern, length, e);
    const char *rest = pattern + length + (pattern[length] == '/' ? 1 : 0);
    if (part == NULL || reference_list(globber->load, folder, &listing, e) < 0)
        return -1;
    globber->problem = listing.problem;
    /* "**" also stands for no folder at all. */
    if (strcmp(part, "**") == 0 && glob_part(globber, folder, rest[0] == '\0' ? "*" : rest, depth + 1, e) < 0)
        return -1;
    for (size_t i = 0; i < listing.count && globber->problem == NULL; i++)
        if (glob_entry(globber, folder, &listing.entries[i], part, rest, depth, e) < 0)
            return -1;
    return 0;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A folder that is named as such, before any "*", and is there but can't be read (a link out of the
 * repository) would read as empty: the search skips it. */
static int check_named_folder(struct globber *globber, const char *pattern, struct err *e)
{
    struct listing listing;
    size_t length = strcspn(pattern, "*?[\\");
    while (length > 0 && pattern[length - 1] != '/')
        length--;
    if (length == 0)
        return 0;
    const char *folder = arena_strndup(globber->load->arena, pattern, length - 1, e);
    if (folder == NULL || reference_list(globber->load, folder, &listing, e) < 0)
        return -1;
    globber->problem = listing.problem;
    return 0;
}

int reference_glob(struct load *load, const char *pattern, struct string_list *out, const char **problem,
                   struct err *e)
{
    struct globber globber = {.load = load};
    if (check_named_folder(&globber, pattern, e) < 0 || glob_part(&globber, "", pattern, 0, e) < 0)
        return -1;
    *problem = globber.problem;
    if (globber.problem != NULL)
        globber.count = 0;
    if (globber.count > 1)
        qsort(globber.paths, globber.count, sizeof *globber.paths, compare_paths);
    size_t kept = 0;
    for (size_t i = 0; i < globber.count; i++)
        if (kept == 0 || strcmp(globber.paths[kept - 1], globber.paths[i]) != 0)
            globber.paths[kept++] = globber.paths[i];
    *out = (struct string_list){.is_set = true, .count = kept, .items = globber.paths};
    return 0;
}
