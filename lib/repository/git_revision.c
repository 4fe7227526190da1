/* From what a user writes for a commit to the commit: names as Git knows them (a branch, a tag, an id), and
 * what git rev-parse lets stand behind one ("HEAD~1", "main^", "@{u}"). Each way in which that fails has its
 * own advice. */
#include "base/text.h"
#include "repository/git.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GIT_SHORT_ID = 7, NAME_BYTES = 1024 };

static void object_cleanup(git_object **object)
{
    git_object_free(*object);
}

static enum revision_result result_of(int code)
{
    return code == 0 ? REVISION_FOUND : code == GIT_ENOTFOUND ? REVISION_UNKNOWN : REVISION_UNREADABLE;
}

static enum revision_result peel(git_object *object, git_commit **out)
{
    int code = git_object_peel((git_object **)out, object, GIT_OBJECT_COMMIT);
    return code == GIT_EPEEL || code == GIT_EINVALIDSPEC ? REVISION_NO_COMMIT
           : code == 0                                   ? REVISION_FOUND
                                                         : REVISION_UNREADABLE;
}

/* The commit behind a reference, tags peeled. REVISION_UNKNOWN only where the reference does not exist. */
static enum revision_result find_reference(git_repository *repository, const char *prefix, const char *name,
                                           git_commit **out)
{
    char full[NAME_BYTES];
    git_reference *reference = NULL;
    git_object *object = NULL;
    if (snprintf(full, sizeof full, "%s%s", prefix, name) >= (int)sizeof full)
        return REVISION_UNKNOWN;
    int code = git_reference_lookup(&reference, repository, full);
    if (code == GIT_EINVALIDSPEC)
        return REVISION_UNKNOWN;
    if (code == 0) {
        code = git_reference_peel(&object, reference, GIT_OBJECT_COMMIT);
        /* HEAD of a branch without a commit is no damage. */
        if (code == GIT_ENOTFOUND && git_reference_type(reference) == GIT_REFERENCE_DIRECT)
            code = GIT_ERROR;
    }
    git_reference_free(reference);
    if (code == GIT_EPEEL || code == GIT_EINVALIDSPEC)
        return REVISION_NO_COMMIT; /* a tag of a file, say */
    if (code == 0)
        *out = (git_commit *)object;
    return result_of(code);
}

static enum revision_result find_id(git_repository *repository, const char *text, git_commit **out)
{
    git_oid id;
    if (strlen(text) != GIT_OID_HEXSZ || git_oid_fromstr(&id, text) < 0)
        return REVISION_UNKNOWN;
    git_odb *odb = NULL;
    if (git_repository_odb(&odb, repository) < 0)
        return REVISION_UNREADABLE;
    bool exists = git_odb_exists(odb, &id) == 1;
    git_odb_free(odb);
    if (!exists)
        return REVISION_UNKNOWN;
    CLEANUP(object_cleanup) git_object *object = NULL;
    if (git_object_lookup(&object, repository, &id, GIT_OBJECT_ANY) < 0)
        return REVISION_UNREADABLE;
    return peel(object, out);
}

/* The beginning of a commit's id: at least 7 digits, and only one commit begins so. */
static enum revision_result find_short_id(git_repository *repository, const char *text, git_commit **out)
{
    git_oid id;
    size_t length = strlen(text);
    if (length < GIT_SHORT_ID || length >= GIT_OID_HEXSZ || git_oid_fromstrp(&id, text) < 0)
        return REVISION_UNKNOWN;
    int code = git_commit_lookup_prefix(out, repository, &id, length);
    return code == GIT_EAMBIGUOUS ? REVISION_AMBIGUOUS : result_of(code);
}

/* A branch, or else a tag; where it is both, they must mean the same commit. */
static enum revision_result find_branch_or_tag(git_repository *repository, const char *name, git_commit **out)
{
    CLEANUP(git_commit_cleanup) git_commit *tag = NULL;
    enum revision_result by_branch = find_reference(repository, "refs/heads/", name, out);
    if (by_branch == REVISION_UNREADABLE)
        return by_branch;
    enum revision_result by_tag = find_reference(repository, "refs/tags/", name, &tag);
    if (by_branch != REVISION_FOUND) {
        if (by_tag == REVISION_FOUND)
            *out = TAKE(tag);
        return by_tag;
    }
    if (by_tag != REVISION_FOUND || git_oid_equal(git_commit_id(*out), git_commit_id(tag)))
        return REVISION_FOUND;
    git_commit_cleanup(out);
    return REVISION_TWO_NAMES;
}

static enum revision_result find_name(git_repository *repository, const char *name, git_commit **out)
{
    static const char remote[] = "origin/";
    enum revision_result result = find_id(repository, name, out);
    if (result == REVISION_UNKNOWN && (text_starts_with(name, "refs/") || text_ends_with(name, "_HEAD")))
        result = find_reference(repository, "", name, out);
    if (result == REVISION_UNKNOWN)
        result = find_branch_or_tag(repository, name, out);
    if (result == REVISION_UNKNOWN) /* "heads/main", "tags/v1" */
        result = find_reference(repository, "refs/", name, out);
    if (result == REVISION_UNKNOWN)
        result = find_reference(repository, "refs/remotes/origin/", name, out);
    if (result == REVISION_UNKNOWN)
        result = find_reference(repository, "refs/remotes/", name, out);
    /* In the mirror, the remote's branches are its own. */
    if (result == REVISION_UNKNOWN && text_starts_with(name, remote) &&
        git_repository_is_bare(repository) == 1)
        result = find_reference(repository, "refs/heads/", name + sizeof remote - 1, out);
    return result == REVISION_UNKNOWN ? find_short_id(repository, name, out) : result;
}

static enum revision_result find_head(git_repository *repository, const git_oid *head, git_commit **out)
{
    if (head != NULL)
        return git_commit_lookup(out, repository, head) == 0 ? REVISION_FOUND : REVISION_UNREADABLE;
    enum revision_result result = find_reference(repository, "refs/tender/", "HEAD", out);
    return result == REVISION_UNKNOWN ? find_reference(repository, "", "HEAD", out) : result;
}

static bool is_head(const char *name, size_t length)
{
    return (length == 1 && name[0] == '@') || (length == 4 && memcmp(name, "HEAD", length) == 0);
}

/* Where the name ends and what git rev-parse takes behind one begins: "~1", "^", "@{u}", ":path". */
static size_t name_length(const char *revision)
{
    size_t length = 0;
    while (revision[length] != '\0' && strchr("~^:", revision[length]) == NULL &&
           strncmp(revision + length, "@{", 2) != 0)
        length++;
    return length;
}

/* Why `suffix`, behind a name that is known, leads to no commit. */
static enum revision_result suffix_failed(git_repository *repository, int code, const char *suffix)
{
    const git_error *last = git_error_last();
    if (code == GIT_EINVALIDSPEC)
        return REVISION_INVALID;
    if (code == GIT_EAMBIGUOUS)
        return REVISION_AMBIGUOUS;
    if (code == GIT_EPEEL)
        return REVISION_NO_COMMIT;
    if (code != GIT_ENOTFOUND)
        return REVISION_UNREADABLE;
    if (strstr(suffix, "@{") != NULL)
        return REVISION_NO_LOG;
    /* A parent that the commit names and that is not there. */
    if (last != NULL && last->klass == GIT_ERROR_ODB)
        return git_repository_is_shallow(repository) == 1 ? REVISION_SHALLOW : REVISION_UNREADABLE;
    if (suffix[0] == ':')
        return REVISION_NO_COMMIT;
    return suffix[0] == '^' && suffix[1] > '1' && suffix[1] <= '9' ? REVISION_NO_PARENT : REVISION_TOO_OLD;
}

/* The name's own commit takes its place, so that it means the same as alone. */
static enum revision_result find_behind_name(git_repository *repository, const char *revision, size_t length,
                                             const git_oid *head, git_commit **out)
{
    char text[NAME_BYTES];
    char id[REVISION_BYTES];
    const char *suffix = revision + length;
    bool has_log = strncmp(suffix, "@{", 2) == 0;
    /* libgit2 1.5 loses memory with each commit that such a search looks at. */
    if (text_starts_with(revision, ":/") || strstr(suffix, "^{/") != NULL)
        return REVISION_SEARCH;
    if (length == 0 && !has_log)
        return REVISION_INVALID;
    if (has_log && git_repository_is_bare(repository) == 1)
        return REVISION_NO_LOG;
    if (has_log) {
        snprintf(text, sizeof text, "%s", revision);
    } else {
        CLEANUP(git_commit_cleanup) git_commit *base = NULL;
        char name[NAME_BYTES];
        snprintf(name, sizeof name, "%.*s", (int)length, revision);
        enum revision_result result = is_head(revision, length) ? find_head(repository, head, &base)
                                                                : find_name(repository, name, &base);
        if (result != REVISION_FOUND)
            return result;
        git_oid_tostr(id, sizeof id, git_commit_id(base));
        snprintf(text, sizeof text, "%s%s", id, suffix);
    }
    CLEANUP(object_cleanup) git_object *object = NULL;
    int code = git_revparse_single(&object, repository, text);
    if (code != 0)
        return suffix_failed(repository, code, suffix);
    return peel(object, out);
}

enum revision_result git_find_commit(git_repository *repository, const char *revision, const git_oid *head,
                                     git_commit **out)
{
    if (revision == NULL || is_head(revision, strlen(revision)))
        return find_head(repository, head, out);
    if (strlen(revision) >= NAME_BYTES / 2)
        return REVISION_UNKNOWN;
    if (strstr(revision, "..") != NULL)
        return REVISION_INVALID;
    size_t length = name_length(revision);
    enum revision_result result = revision[length] == '\0'
                                      ? find_name(repository, revision, out)
                                      : find_behind_name(repository, revision, length, head, out);
    if (result == REVISION_UNKNOWN && git_repository_is_shallow(repository) == 1)
        return REVISION_UNKNOWN_SHALLOW;
    return result;
}

int git_no_such_revision(const char *who, const char *revision, enum revision_result result, struct err *e)
{
    static const char fetch_more[] = "fetch more of it first (git fetch --unshallow; in CI a depth of 0)";
    switch (result) {
    case REVISION_FOUND:
    case REVISION_UNREADABLE:
    case REVISION_UNKNOWN:
        break;
    case REVISION_UNKNOWN_SHALLOW:
        return err_set(
            e, ERR_REPOSITORY,
            "%s has no branch, tag or commit \"%s\": a shallow clone holds the newest commits only; if "
            "it is an older one, %s",
            who, revision, fetch_more);
    case REVISION_SHALLOW:
        return err_set(e, ERR_REPOSITORY,
                       "%s has no \"%s\": a shallow clone holds the newest commits only; %s", who, revision,
                       fetch_more);
    case REVISION_TOO_OLD:
        return err_set(e, ERR_REPOSITORY, "%s has no \"%s\": the history does not go back that far", who,
                       revision);
    case REVISION_NO_PARENT:
        return err_set(e, ERR_REPOSITORY, "%s has no \"%s\": the commit has no such parent", who, revision);
    case REVISION_NO_LOG:
        return err_set(
            e, ERR_REPOSITORY,
            "%s has no \"%s\": upstreams and former values are kept in no mirror, and in a clone only "
            "for branches that were set up or moved there; name a branch, a tag or a commit",
            who, revision);
    case REVISION_AMBIGUOUS:
        return err_set(e, ERR_REPOSITORY,
                       "%s has several objects whose id begins with \"%s\": write more of it", who, revision);
    case REVISION_TWO_NAMES:
        return err_set(e, ERR_REPOSITORY,
                       "%s has a branch and a tag \"%s\", which differ: write refs/heads/%s or refs/tags/%s",
                       who, revision, revision, revision);
    case REVISION_INVALID:
        return err_set(
            e, ERR_REPOSITORY,
            "\"%s\" is no single revision: name one branch, tag or commit, as git rev-parse takes it",
            revision);
    case REVISION_SEARCH:
        return err_set(
            e, ERR_REPOSITORY,
            "\"%s\" searches the commits' messages, which is not done here: give what git rev-parse "
            "'%s' prints",
            revision, revision);
    case REVISION_NO_COMMIT:
        return err_set(e, ERR_REPOSITORY, "\"%s\" is something else than a commit", revision);
    }
    return err_set(e, ERR_REPOSITORY, "%s has no branch, tag or commit \"%s\"", who, revision);
}
