/* The first stage: one revision's files behind one small interface, wherever they come from. */
#include "repository/repository.h"
#include "repository/reader.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LISTS_MAX_BYTES = 256 * 1024 * 1024 };

struct repository {
    struct reader reader;
    struct arena *arena; /* the lists that were given out */
    const char *revision;
    char warning[WARNING_BYTES];
};

static int open_reader(struct repository *repository, const struct repository_options *options, struct err *e)
{
    if (options->url == NULL && options->revision == NULL) {
        repository->revision = arena_printf(repository->arena, e, "folder %s", options->directory);
        return repository->revision == NULL ? -1 : directory_reader_open(options, &repository->reader, e);
    }
    char revision[REVISION_BYTES];
    if (git_reader_open(options, &repository->reader, revision, repository->warning, e) < 0)
        return -1;
    repository->revision = arena_strdup(repository->arena, revision, e);
    return repository->revision == NULL ? -1 : 0;
}

struct repository *repository_open(const struct repository_options *options, struct err *e)
{
    if (options->url == NULL && options->directory == NULL) {
        err_fill(e, ERR_REPOSITORY, "no repository was named: give --repository URL or --dir FOLDER");
        return NULL;
    }
    CLEANUP(repository_cleanup) struct repository *repository = calloc(1, sizeof *repository);
    if (repository != NULL)
        repository->arena = arena_new(LISTS_MAX_BYTES);
    if (repository == NULL || repository->arena == NULL) {
        err_fill(e, ERR_MEMORY, "out of memory");
        return NULL;
    }
    if (open_reader(repository, options, e) < 0)
        return NULL;
    return TAKE(repository);
}

void repository_close(struct repository *repository)
{
    if (repository == NULL)
        return;
    if (repository->reader.ops != NULL)
        repository->reader.ops->free(repository->reader.data);
    arena_free(repository->arena);
    free(repository);
}

void repository_cleanup(struct repository **repository)
{
    repository_close(*repository);
    *repository = NULL;
}

const char *repository_revision(const struct repository *repository)
{
    return repository->revision;
}

const char *repository_warning(const struct repository *repository)
{
    return repository->warning;
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const struct repository_entry *)a)->name, ((const struct repository_entry *)b)->name);
}

/* What a link leads to; it stays ENTRY_LINK where that can't be followed. */
static int follow_link(const struct reader *reader, const char *folder, struct repository_entry *entry,
                       struct err *e)
{
    char path[PATH_MAX];
    char resolved[PATH_MAX];
    enum entry_type type;
    struct err trouble = {.class = ERR_NONE};
    if (snprintf(path, sizeof path, "%s%s%s", folder, folder[0] == '\0' ? "" : "/", entry->name) >=
        (int)sizeof path)
        return 0;
    if (reader_resolve(reader, path, resolved, &type, NULL, &trouble) == 0)
        entry->type = type;
    else if (trouble.class == ERR_MEMORY)
        return err_set(e, ERR_MEMORY, "%s", trouble.text);
    return 0;
}

int repository_list(struct repository *repository, const char *folder,
                    const struct repository_entry **entries, size_t *count, struct err *e)
{
    const struct reader *reader = &repository->reader;
    char resolved[PATH_MAX];
    enum entry_type type;
    struct repository_entry *found = NULL;
    size_t found_count = 0;
    if (reader_resolve(reader, folder, resolved, &type, NULL, e) < 0)
        return -1;
    if (type != ENTRY_FOLDER)
        return err_set(e, ERR_NOT_FOUND, "%s is not a folder", folder);
    if (reader->ops->list(reader->data, resolved, repository->arena, &found, &found_count, e) < 0)
        return -1;
    for (size_t i = 0; i < found_count; i++)
        if (found[i].type == ENTRY_LINK && follow_link(reader, resolved, &found[i], e) < 0)
            return -1;
    if (found_count > 1)
        qsort(found, found_count, sizeof *found, compare_entries);
    *entries = found;
    *count = found_count;
    return 0;
}

static int copy_trail(const struct link_trail *trail, struct arena *arena, struct string_list *out,
                      struct err *e)
{
    const char **paths = arena_alloc_array(arena, trail->count, sizeof *paths, e);
    if (paths == NULL)
        return -1;
    for (size_t i = 0; i < trail->count; i++) {
        paths[i] = arena_strdup(arena, trail->paths[i], e);
        if (paths[i] == NULL)
            return -1;
    }
    *out = (struct string_list){.is_set = true, .count = trail->count, .items = paths};
    return 0;
}

int repository_resolve(struct repository *repository, const char *path, struct arena *arena, const char **out,
                       struct string_list *links, struct err *e)
{
    char resolved[PATH_MAX];
    enum entry_type type;
    struct link_trail trail; /* not zeroed as a whole: its texts are large */
    struct err trouble = {.class = ERR_NONE};
    *out = NULL;
    int result = reader_resolve(&repository->reader, path, resolved, &type, &trail, &trouble);
    if (result < 0 && trouble.class != ERR_NOT_FOUND && trouble.class != ERR_REPOSITORY)
        return err_set(e, trouble.class, "%s", trouble.text);
    if (links != NULL && copy_trail(&trail, arena, links, e) < 0)
        return -1;
    if (result < 0 && trouble.class == ERR_REPOSITORY)
        return 0;
    *out = arena_strdup(arena, resolved, e);
    return *out == NULL ? -1 : 0;
}

int repository_changes(struct repository *repository, const char *since, struct arena *arena,
                       struct string_list *out, struct err *e)
{
    const struct reader *reader = &repository->reader;
    return reader->ops->changes(reader->data, since, arena, out, e);
}

int repository_read(struct repository *repository, const char *path, struct buf *out, struct err *e)
{
    const struct reader *reader = &repository->reader;
    char resolved[PATH_MAX];
    enum entry_type type;
    struct link_trail trail; /* not zeroed as a whole: its texts are large */
    struct err trouble = {.class = ERR_NONE};
    if (reader_resolve(reader, path, resolved, &type, &trail, &trouble) < 0) {
        if (trouble.class == ERR_NOT_FOUND && trail.is_link)
            return err_set(e, ERR_REPOSITORY, "%s is a symbolic link to %s, which does not exist", path,
                           resolved);
        return err_set(e, trouble.class, "%s", trouble.text);
    }
    if (type != ENTRY_FILE)
        return err_set(e, ERR_REPOSITORY, "%s is %s, not a file", path,
                       type == ENTRY_FOLDER ? "a folder" : "something else");
    return reader->ops->read(reader->data, resolved, out, e);
}
