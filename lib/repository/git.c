/* One commit's tree, read straight from the object database: no checkout, so no half-written work tree and no
 * line ends changed on the way. */
#include "repository/git.h"
#include "base/files.h"
#include "base/text.h"
#include "base/url.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct git_reader {
    struct repository_options options; /* its texts are copied below */
    char *url, *state_dir, *username, *password, *ssh_folder;
    git_repository *repository;
    git_oid commit;
    git_tree *root;
    bool is_mirror;
    bool was_rebuilt;
};

static void git_reader_free(void *data)
{
    struct git_reader *reader = data;
    if (reader == NULL)
        return;
    git_tree_free(reader->root);
    git_repository_free(reader->repository);
    free(reader->url);
    free(reader->state_dir);
    free(reader->username);
    free(reader->password);
    free(reader->ssh_folder);
    free(reader);
    git_libgit2_shutdown();
}

static void git_reader_cleanup(struct git_reader **reader)
{
    git_reader_free(*reader);
    *reader = NULL;
}

static void entry_cleanup(git_tree_entry **entry)
{
    git_tree_entry_free(*entry);
}

static void tree_cleanup(git_tree **tree)
{
    git_tree_free(*tree);
}

static void odb_object_cleanup(git_odb_object **object)
{
    git_odb_object_free(*object);
}

static void odb_cleanup(git_odb **odb)
{
    git_odb_free(*odb);
}

/* An object of the commit can't be read: the mirror is made anew once, and the caller tries again. */
static int repair(struct git_reader *reader, struct err *e)
{
    if (!reader->is_mirror || reader->was_rebuilt)
        return git_fail(&reader->options, "can't read the repository's objects", e);
    reader->was_rebuilt = true;
    /* Closed first: libgit2 shares open packs by their path, and the new pack has the damaged one's name. */
    git_tree_free(reader->root);
    git_repository_free(reader->repository);
    reader->root = NULL;
    reader->repository = NULL;
    git_repository *repository = NULL;
    CLEANUP(git_commit_cleanup) git_commit *commit = NULL;
    if (git_mirror_rebuild(&reader->options, &reader->commit, &repository, &commit, e) < 0)
        return err_prefix(e, "the mirror is damaged");
    git_tree *root = NULL;
    int code = git_commit_tree(&root, commit);
    git_commit_cleanup(&commit);
    reader->root = root;
    reader->repository = repository;
    return code == 0 ? 0 : git_fail(&reader->options, "can't read the repository's objects", e);
}

/* A damaged mirror that could not be made anew. */
static int is_lost(struct err *e)
{
    return err_set(e, ERR_REPOSITORY, "the mirror is damaged, and the repository can't be fetched again");
}

/* 0, 1 if it is not there, -1. The entry is freed by the caller. */
static int find_entry(struct git_reader *reader, const char *path, git_tree_entry **out, struct err *e)
{
    for (;;) {
        if (reader->root == NULL)
            return is_lost(e);
        int code = git_tree_entry_bypath(out, reader->root, path);
        if (code == 0)
            return 0;
        const git_error *last = git_error_last();
        /* A missing name is the tree's class; a missing object is the database's. */
        if (code == GIT_ENOTFOUND && (last == NULL || last->klass == GIT_ERROR_TREE))
            return 1;
        if (repair(reader, e) < 0)
            return -1;
    }
}

static bool can_read(const struct git_reader *reader, const git_oid *id, git_odb_object **out)
{
    CLEANUP(odb_cleanup) git_odb *odb = NULL;
    return git_repository_odb(&odb, reader->repository) == 0 && git_odb_read(out, odb, id) == 0;
}

static int read_object(struct git_reader *reader, const git_oid *id, git_odb_object **out, struct err *e)
{
    if (reader->repository == NULL)
        return is_lost(e);
    if (can_read(reader, id, out))
        return 0;
    if (repair(reader, e) < 0)
        return -1;
    return can_read(reader, id, out) ? 0
                                     : git_fail(&reader->options, "can't read the repository's objects", e);
}

static enum entry_type type_of(const git_tree_entry *entry)
{
    switch (git_tree_entry_filemode(entry)) {
    case GIT_FILEMODE_BLOB:
    case GIT_FILEMODE_BLOB_EXECUTABLE:
        return ENTRY_FILE;
    case GIT_FILEMODE_TREE:
        return ENTRY_FOLDER;
    case GIT_FILEMODE_LINK:
        return ENTRY_LINK;
    default:
        return ENTRY_OTHER; /* a submodule */
    }
}

static int require_entry(struct git_reader *reader, const char *path, git_tree_entry **entry, struct err *e)
{
    int code = find_entry(reader, path, entry, e);
    return code > 0 ? err_set(e, ERR_NOT_FOUND, "%s does not exist", path) : code;
}

static int git_look(void *data, const char *path, enum entry_type *type, char target[PATH_MAX], struct err *e)
{
    struct git_reader *reader = data;
    CLEANUP(entry_cleanup) git_tree_entry *entry = NULL;
    if (require_entry(reader, path, &entry, e) < 0)
        return -1;
    *type = type_of(entry);
    if (*type != ENTRY_LINK)
        return 0;
    CLEANUP(odb_object_cleanup) git_odb_object *object = NULL;
    if (read_object(reader, git_tree_entry_id(entry), &object, e) < 0)
        return -1;
    size_t length = git_odb_object_size(object);
    if (length >= PATH_MAX)
        return err_set(e, ERR_REPOSITORY, "%s: the symbolic link's target is too long", path);
    memcpy(target, git_odb_object_data(object), length);
    target[length] = '\0';
    return 0;
}

static int git_read(void *data, const char *path, struct buf *out, struct err *e)
{
    struct git_reader *reader = data;
    CLEANUP(entry_cleanup) git_tree_entry *entry = NULL;
    if (require_entry(reader, path, &entry, e) < 0)
        return -1;
    const git_oid *id = git_tree_entry_id(entry);
    size_t size = 0;
    git_object_t type;
    git_odb *odb = NULL;
    /* Its size without its bytes; damage shows when it is read. */
    bool is_known = reader->repository != NULL && git_repository_odb(&odb, reader->repository) == 0 &&
                    git_odb_read_header(&size, &type, odb, id) == 0;
    git_odb_free(odb);
    if (is_known && reader_check_size(path, size, reader->options.max_file_bytes, out, e) < 0)
        return -1;
    CLEANUP(odb_object_cleanup) git_odb_object *object = NULL;
    if (read_object(reader, id, &object, e) < 0)
        return -1;
    size = git_odb_object_size(object);
    if (reader_check_size(path, size, reader->options.max_file_bytes, out, e) < 0)
        return -1;
    return buf_add(out, git_odb_object_data(object), size, e);
}

static int open_folder(struct git_reader *reader, const char *folder, git_tree **out, struct err *e)
{
    if (reader->root == NULL)
        return is_lost(e);
    if (folder[0] == '\0')
        return git_tree_dup(out, reader->root) == 0 ? 0 : err_set(e, ERR_MEMORY, "out of memory");
    CLEANUP(entry_cleanup) git_tree_entry *entry = NULL;
    if (require_entry(reader, folder, &entry, e) < 0)
        return -1;
    if (git_tree_lookup(out, reader->repository, git_tree_entry_id(entry)) == 0)
        return 0;
    if (repair(reader, e) < 0)
        return -1;
    if (git_tree_lookup(out, reader->repository, git_tree_entry_id(entry)) == 0)
        return 0;
    return git_fail(&reader->options, "can't read the repository's objects", e);
}

static int git_list(void *data, const char *folder, struct arena *arena, struct repository_entry **entries,
                    size_t *count, struct err *e)
{
    struct git_reader *reader = data;
    CLEANUP(tree_cleanup) git_tree *tree = NULL;
    if (open_folder(reader, folder, &tree, e) < 0)
        return -1;
    size_t total = git_tree_entrycount(tree);
    struct repository_entry *listed = arena_alloc_array(arena, total, sizeof *listed, e);
    if (listed == NULL)
        return -1;
    for (size_t i = 0; i < total; i++) {
        const git_tree_entry *entry = git_tree_entry_byindex(tree, i);
        listed[i].name = arena_strdup(arena, git_tree_entry_name(entry), e);
        listed[i].type = type_of(entry);
        if (listed[i].name == NULL)
            return -1;
    }
    *entries = listed;
    *count = total;
    return 0;
}

static int open_root(struct git_reader *reader, const git_commit *commit, struct err *e)
{
    char below[PATH_MAX];
    const char *work = reader->is_mirror ? NULL : git_repository_workdir(reader->repository);
    git_folder_below(work, reader->options.directory, below);
    int code = git_tree_of_commit(reader->repository, commit, below, &reader->root);
    if (code == GIT_ENOTFOUND)
        return err_set(e, ERR_REPOSITORY, "the commit has no folder %s", below);
    return code == 0 ? 0 : git_fail(&reader->options, "can't read the commit's tree", e);
}

static int git_changes(void *data, const char *since, struct arena *arena, struct string_list *out,
                       struct err *e)
{
    struct git_reader *reader = data;
    if (reader->root == NULL)
        return is_lost(e);
    char below[PATH_MAX];
    const char *work = reader->is_mirror ? NULL : git_repository_workdir(reader->repository);
    git_folder_below(work, reader->options.directory, below);
    /* The mirror's HEAD is the commit that is read, whichever branch it is of. */
    const struct git_changes_from from = {.since = since, .head = reader->is_mirror ? &reader->commit : NULL};
    return git_changes_of_tree(reader->repository, &reader->options, &from, below, reader->root, arena, out,
                               e);
}

static int open_directory_commit(const struct repository_options *options, git_repository **repository,
                                 git_commit **commit, struct err *e)
{
    char context[PATH_MAX + 64];
    snprintf(context, sizeof context, "can't open %s as a Git repository", options->directory);
    if (git_repository_open_ext(repository, options->directory, 0, NULL) < 0)
        return git_fail(options, context, e);
    enum revision_result result = git_find_commit(*repository, options->revision, NULL, commit);
    if (result == REVISION_FOUND)
        return 0;
    if (result == REVISION_UNREADABLE)
        return git_fail(options, "can't read the commit", e);
    snprintf(context, sizeof context, "the repository in %s", options->directory);
    return git_no_such_revision(context, options->revision, result, e);
}

static int copy_text(char **to, const char **slot, const char *from, struct err *e)
{
    if (from == NULL)
        return 0;
    *to = strdup(from);
    *slot = *to;
    return *to == NULL ? err_set(e, ERR_MEMORY, "out of memory") : 0;
}

/* A repair may fetch again, long after the caller's texts are gone. */
static int copy_options(struct git_reader *reader, const struct repository_options *options, struct err *e)
{
    reader->options = *options;
    if (copy_text(&reader->url, &reader->options.url, options->url, e) < 0 ||
        copy_text(&reader->state_dir, &reader->options.state_dir, options->state_dir, e) < 0 ||
        copy_text(&reader->username, &reader->options.username, options->username, e) < 0 ||
        copy_text(&reader->password, &reader->options.password, options->password, e) < 0)
        return -1;
    return copy_text(&reader->ssh_folder, &reader->options.ssh_folder, options->ssh_folder, e);
}

int git_reader_open(const struct repository_options *options, struct reader *out,
                    char revision[REVISION_BYTES], char warning[WARNING_BYTES], struct err *e)
{
    static const struct reader_ops ops = {.list = git_list,
                                          .read = git_read,
                                          .look = git_look,
                                          .changes = git_changes,
                                          .free = git_reader_free};
    struct git_reader *allocated = calloc(1, sizeof *allocated);
    if (allocated == NULL)
        return err_set(e, ERR_MEMORY, "out of memory");
    if (git_libgit2_init() < 0) {
        free(allocated);
        return err_set(e, ERR_REPOSITORY, "libgit2 can't be used");
    }
    CLEANUP(git_reader_cleanup) struct git_reader *reader = allocated;
    /* Declared behind the reader, so freed before the library may be shut down. */
    CLEANUP(git_commit_cleanup) git_commit *commit = NULL;
    warning[0] = '\0';
    reader->is_mirror = options->url != NULL;
    if (copy_options(reader, options, e) < 0 || git_set_options(options, e) < 0)
        return -1;
    int result = reader->is_mirror ? git_mirror_open(options, &reader->repository, &commit, warning, e)
                                   : open_directory_commit(options, &reader->repository, &commit, e);
    if (result < 0)
        return -1;
    git_oid_cpy(&reader->commit, git_commit_id(commit));
    git_oid_tostr(revision, REVISION_BYTES, git_commit_id(commit));
    if (open_root(reader, commit, e) < 0)
        return -1;
    *out = (struct reader){.ops = &ops, .data = TAKE(reader)};
    return 0;
}
