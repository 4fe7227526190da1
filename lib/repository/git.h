/* Inside lib/repository: what its git files share. The only files that know libgit2. */
#ifndef TENDER_REPOSITORY_GIT_H
#define TENDER_REPOSITORY_GIT_H

#include "repository/reader.h"
#include <git2.h>

enum { GIT_TEXT_BYTES = 512, GIT_KEY_BYTES = 8192 };

/* libgit2's last message without what is secret in it: URLs are redacted, the options' URL and password do
 * not appear. Returns out. */
const char *git_reason(const struct repository_options *options, char out[GIT_TEXT_BYTES]);
/* Fills `e`: "context: reason" with the class that libgit2's error means. Always -1. */
int git_fail(const struct repository_options *options, const char *context, struct err *e);

enum fetch_result {
    FETCH_DONE,
    FETCH_UNREACHABLE, /* the remote can't be read now: the mirror may do */
    FETCH_DENIED,      /* it refuses us, or its certificate or key is not trusted */
    FETCH_MIRROR_BAD,  /* the mirror itself can't be read or written */
    FETCH_FATAL,       /* stopped by a signal, or out of memory */
};

/* Brings heads, tags and HEAD (as refs/tender/HEAD) of options->url into the bare repository `mirror`, in a
 * child process that ends with this call: by itself, or killed at options' limits in time or when a stop is
 * asked for. Handles of the mirror that are open do not all see what is new. `e` is filled unless FETCH_DONE.
 */
enum fetch_result git_fetch(const char *mirror, const struct repository_options *options, struct err *e);
/* The same here and now, without a limit in time: only for git_child.c. */
enum fetch_result git_fetch_here(const char *mirror, const struct repository_options *options, struct err *e);

/* git_http.c: the transport for options->url, which is http or https. */
int git_http_transport(git_transport **out, git_remote *owner, const struct repository_options *options,
                       bool *has_given_login);

enum revision_result {
    REVISION_FOUND,
    REVISION_UNKNOWN,
    REVISION_UNKNOWN_SHALLOW, /* in a shallow clone: it may be older than what that holds */
    REVISION_SHALLOW,         /* older than what a shallow clone holds */
    REVISION_TOO_OLD,         /* "main~9" where there are fewer */
    REVISION_NO_PARENT,       /* "main^2" where main merges nothing */
    REVISION_NO_LOG,          /* "@{u}", "main@{1}": not known here */
    REVISION_AMBIGUOUS,       /* the beginning of several ids */
    REVISION_TWO_NAMES,       /* a branch and a tag that differ */
    REVISION_INVALID,         /* no revision, or several */
    REVISION_SEARCH,          /* ":/text" */
    REVISION_NO_COMMIT,       /* a file or a folder */
    REVISION_UNREADABLE,      /* libgit2 says why */
};
/* The commit that `revision` names: an id or its first 7 digits or more, a branch, a tag, a full reference,
 * one of them with what git rev-parse takes behind it ("main~1", "v1^{}", "@{u}"). HEAD, "@" and NULL:
 * `head`; where that is NULL, the mirror's remote's HEAD, or the repository's own. */
enum revision_result git_find_commit(git_repository *repository, const char *revision, const git_oid *head,
                                     git_commit **out);
/* Fills `e` with what to do about a result other than FOUND and UNREADABLE; `who` should have the revision.
 * Always -1. */
int git_no_such_revision(const char *who, const char *revision, enum revision_result result, struct err *e);

/* The mirror of options->url, fetched as needed, and the commit in it. */
int git_mirror_open(const struct repository_options *options, git_repository **repository,
                    git_commit **commit, char warning[WARNING_BYTES], struct err *e) MUST_CHECK;
/* Sets the mirror aside and fetches it anew, because an object of `id` could not be read. */
int git_mirror_rebuild(const struct repository_options *options, const git_oid *id,
                       git_repository **repository, git_commit **commit, struct err *e) MUST_CHECK;

/* git_changes.c */
/* What libgit2 has to know before it opens anything. */
int git_set_options(const struct repository_options *options, struct err *e) MUST_CHECK;
/* A --dir may lie below its repository's root: then the same folder of a commit is meant. "" : it is the
 * root, or there is no work tree. */
void git_folder_below(const char *work_tree, const char *directory, char out[PATH_MAX]);
/* The commit's tree, or the folder `below` of it. GIT_ENOTFOUND if it has none. */
int git_tree_of_commit(git_repository *repository, const git_commit *commit, const char *below,
                       git_tree **out);
struct git_changes_from {
    const char *since;
    const git_oid *head; /* what HEAD in it means; NULL: the repository's own */
};
/* As repository_changes: to the tree, which is the folder `below`. */
int git_changes_of_tree(git_repository *repository, const struct repository_options *options,
                        const struct git_changes_from *from, const char *below, git_tree *tree,
                        struct arena *arena, struct string_list *out, struct err *e) MUST_CHECK;

void git_repository_cleanup(git_repository **repository);
void git_commit_cleanup(git_commit **commit);

#endif
