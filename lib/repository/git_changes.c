/* Which files differ from another revision: asked before the manifests are read, to know whose teams are
 * touched. Two trees are compared, or a tree with the files as they lie; no rename is guessed, so each side
 * of one counts. */
#include "base/files.h"
#include "base/text.h"
#include "repository/git.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void diff_cleanup(git_diff **diff)
{
    git_diff_free(*diff);
}

static void tree_cleanup(git_tree **tree)
{
    git_tree_free(*tree);
}

int git_set_options(const struct repository_options *options, struct err *e)
{
    /* We read objects and run nothing of the repository, so who owns it does not matter (CI's checkouts and
     * mounted volumes often belong to another user). */
    git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0);
    if (options->ca_file != NULL &&
        git_libgit2_opts(GIT_OPT_SET_SSL_CERT_LOCATIONS, options->ca_file, NULL) < 0)
        return git_fail(options, "can't use the CA file for git", e);
    return 0;
}

void git_folder_below(const char *work_tree, const char *directory, char out[PATH_MAX])
{
    CLEANUP(file_free_cleanup) char *top = work_tree == NULL ? NULL : realpath(work_tree, NULL);
    CLEANUP(file_free_cleanup) char *folder = directory == NULL ? NULL : realpath(directory, NULL);
    size_t length = top == NULL ? 0 : strlen(top);
    bool is_below =
        top != NULL && folder != NULL && strncmp(top, folder, length) == 0 && folder[length] == '/';
    snprintf(out, PATH_MAX, "%s", is_below ? folder + length + 1 : "");
}

int git_tree_of_commit(git_repository *repository, const git_commit *commit, const char *below,
                       git_tree **out)
{
    CLEANUP(tree_cleanup) git_tree *root = NULL;
    int code = git_commit_tree(&root, commit);
    if (code < 0)
        return code == GIT_ENOTFOUND ? GIT_ERROR : code;
    if (below[0] == '\0') {
        *out = TAKE(root);
        return 0;
    }
    git_tree_entry *entry = NULL;
    code = git_tree_entry_bypath(&entry, root, below);
    if (code < 0 || git_tree_entry_type(entry) != GIT_OBJECT_TREE)
        code = GIT_ENOTFOUND;
    else if (git_tree_lookup(out, repository, git_tree_entry_id(entry)) < 0)
        code = GIT_ERROR;
    git_tree_entry_free(entry);
    return code;
}

/* The tree of `since`; NULL where it has no folder `below`: then everything is new. */
static int tree_since(git_repository *repository, const struct repository_options *options,
                      const struct git_changes_from *from, const char *below, git_tree **out, struct err *e)
{
    CLEANUP(git_commit_cleanup) git_commit *commit = NULL;
    enum revision_result result = git_find_commit(repository, from->since, from->head, &commit);
    if (result == REVISION_UNREADABLE)
        return git_fail(options, "--changed-since: can't read the commit", e);
    if (result != REVISION_FOUND)
        return git_no_such_revision("the repository", from->since, result, e) < 0
                   ? err_prefix(e, "--changed-since")
                   : 0;
    int code = git_tree_of_commit(repository, commit, below, out);
    if (code == GIT_ENOTFOUND)
        return 0;
    return code == 0 ? 0 : git_fail(options, "--changed-since: can't read the commit", e);
}

struct collector {
    struct arena *arena;
    const char **paths;
    size_t count, capacity;
};

/* The path as seen from `prefix`, which ends in '/' or is "". */
static int add_path(struct collector *collector, const char *path, const char *prefix, struct err *e)
{
    size_t length = strlen(prefix);
    bool is_around = length > 0 && text_ends_with(path, "/") && text_starts_with(prefix, path);
    if (!is_around && strncmp(path, prefix, length) != 0)
        return 0;
    const char **slot =
        ARENA_PUSH(collector->arena, &collector->paths, &collector->count, &collector->capacity, e);
    if (slot == NULL)
        return -1;
    *slot = arena_strdup(collector->arena, is_around ? "" : path + length, e);
    return *slot == NULL ? -1 : 0;
}

static int collect(const git_diff *diff, const char *prefix, struct arena *arena, struct string_list *out,
                   struct err *e)
{
    struct collector collector = {.arena = arena};
    for (size_t i = 0; i < git_diff_num_deltas(diff); i++) {
        const git_diff_delta *delta = git_diff_get_delta(diff, i);
        if (add_path(&collector, delta->new_file.path, prefix, e) < 0)
            return -1;
        if (strcmp(delta->old_file.path, delta->new_file.path) != 0 &&
            add_path(&collector, delta->old_file.path, prefix, e) < 0)
            return -1;
    }
    *out = (struct string_list){.is_set = true, .count = collector.count, .items = collector.paths};
    return 0;
}

int git_changes_of_tree(git_repository *repository, const struct repository_options *options,
                        const struct git_changes_from *from, const char *below, git_tree *tree,
                        struct arena *arena, struct string_list *out, struct err *e)
{
    CLEANUP(tree_cleanup) git_tree *before = NULL;
    CLEANUP(diff_cleanup) git_diff *diff = NULL;
    if (tree_since(repository, options, from, below, &before, e) < 0)
        return -1;
    if (git_diff_tree_to_tree(&diff, repository, before, tree, NULL) < 0)
        return git_fail(options, "--changed-since: can't compare the commits", e);
    return collect(diff, "", arena, out, e);
}

/* In the work tree, all that Git does not know counts as new: folders are not looked into. */
static int changes_of_work_tree(git_repository *repository, const struct repository_options *options,
                                const char *since, struct arena *arena, struct string_list *out,
                                struct err *e)
{
    CLEANUP(tree_cleanup) git_tree *before = NULL;
    CLEANUP(diff_cleanup) git_diff *diff = NULL;
    const struct git_changes_from from = {.since = since};
    git_diff_options how;
    char below[PATH_MAX];
    char prefix[PATH_MAX + 1];
    if (git_repository_workdir(repository) == NULL)
        return err_set(e, ERR_REPOSITORY, "--changed-since: %s is no work tree", options->directory);
    git_folder_below(git_repository_workdir(repository), options->directory, below);
    snprintf(prefix, sizeof prefix, "%s%s", below, below[0] == '\0' ? "" : "/");
    if (git_diff_options_init(&how, GIT_DIFF_OPTIONS_VERSION) < 0)
        return git_fail(options, "--changed-since", e);
    how.flags = GIT_DIFF_INCLUDE_UNTRACKED | GIT_DIFF_INCLUDE_IGNORED | GIT_DIFF_INCLUDE_TYPECHANGE;
    if (tree_since(repository, options, &from, "", &before, e) < 0)
        return -1;
    if (git_diff_tree_to_workdir_with_index(&diff, repository, before, &how) < 0)
        return git_fail(options, "--changed-since: can't compare the commit with the folder", e);
    return collect(diff, prefix, arena, out, e);
}

int directory_changes(const char *directory, const char *since, struct arena *arena, struct string_list *out,
                      struct err *e)
{
    const struct repository_options options = {.directory = directory};
    CLEANUP(git_repository_cleanup) git_repository *repository = NULL;
    if (git_libgit2_init() < 0)
        return err_set(e, ERR_REPOSITORY, "libgit2 can't be used");
    int result = git_set_options(&options, e);
    if (result == 0 && git_repository_open_ext(&repository, directory, 0, NULL) < 0)
        result = err_set(e, ERR_REPOSITORY, "--changed-since: %s is in no Git work tree", directory);
    if (result == 0)
        result = changes_of_work_tree(repository, &options, since, arena, out, e);
    git_repository_cleanup(&repository);
    git_libgit2_shutdown();
    return result;
}
