/* The bare mirror of one URL in the state directory: made, fetched under a lock, and made anew when it is
 * damaged. It saves work and bridges an outage; nothing is lost with it. */
#include "base/digest.h"
#include "base/files.h"
#include "base/text.h"
#include "base/url.h"
#include "repository/git.h"
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOCK_WAIT_MS = 100, NFTW_FOLDERS = 16 };

struct mirror {
    const struct repository_options *options;
    char path[PATH_MAX];  /* the bare repository */
    char aside[PATH_MAX]; /* where a damaged one goes */
    int lock;             /* -1: not held */
    bool is_new;          /* made in this run */
    bool is_damaged;      /* found out before a fetch; why: */
    char damage[GIT_TEXT_BYTES];
    git_repository *repository;
};

void git_repository_cleanup(git_repository **repository)
{
    git_repository_free(*repository);
    *repository = NULL;
}

void git_commit_cleanup(git_commit **commit)
{
    git_commit_free(*commit);
    *commit = NULL;
}

static void mirror_done(struct mirror *mirror)
{
    git_repository_free(mirror->repository);
    file_close_cleanup(&mirror->lock);
}

static bool is_past_deadline(const struct repository_options *options)
{
    return options->deadline_monotonic_ms > 0 &&
           options->clock->monotonic_ms(options->clock->context) >= options->deadline_monotonic_ms;
}

/* Waits for another run that is fetching, as long as a fetch may take. */
static int lock_mirror(struct mirror *mirror, struct err *e)
{
    const struct repository_options *options = mirror->options;
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s.lock", mirror->path) >= (int)sizeof path)
        return err_set(e, ERR_SYSTEM, "path too long: %s", mirror->path);
    int64_t waited_ms = 0;
    for (;;) {
        struct err trouble = {.class = ERR_NONE};
        if (file_lock(path, &mirror->lock, &trouble) == 0)
            return 0;
        if (trouble.class != ERR_LOCKED || (options->timeout_ms > 0 && waited_ms > options->timeout_ms) ||
            is_past_deadline(options))
            return err_set(e, trouble.class, "%s", trouble.text);
        if (options->stop != NULL && *options->stop)
            return err_set(e, ERR_INTERRUPTED, "stopped by a signal while another run was fetching");
        nanosleep(&(struct timespec){.tv_nsec = LOCK_WAIT_MS * 1000000L}, NULL);
        waited_ms += LOCK_WAIT_MS;
    }
}

/* The URL is the key, but not its password: a token that changes must not cost a new mirror. */
static int name_mirror(struct mirror *mirror, struct err *e)
{
    const char *state_dir = mirror->options->state_dir;
    char key[GIT_KEY_BYTES];
    char hex[DIGEST_HEX_BYTES];
    url_redact(mirror->options->url, key, sizeof key);
    if (digest_bytes(key, strlen(key), hex, e) < 0)
        return -1;
    char folder[PATH_MAX];
    if (snprintf(folder, sizeof folder, "%s/mirror", state_dir) >= PATH_MAX ||
        snprintf(mirror->path, sizeof mirror->path, "%s/mirror/%.16s.git", state_dir, hex) >= PATH_MAX ||
        snprintf(mirror->aside, sizeof mirror->aside, "%s/mirror/%.16s.git.corrupt", state_dir, hex) >=
            PATH_MAX)
        return err_set(e, ERR_SYSTEM, "the state directory's path is too long");
    return folder_make(folder, e);
}

static int remove_leftover(const char *path, const struct stat *status, int flag, struct FTW *position)
{
    (void)status;
    bool is_lock = text_ends_with(path, ".lock");
    /* A pack or an object that was never finished. A reference may be called so. */
    bool is_unfinished =
        strstr(path + position->base, "_git2_") != NULL && strstr(path, ".git/objects/") != NULL;
    if (flag == FTW_F && (is_lock || is_unfinished))
        unlink(path);
    return 0;
}

/* A fetch that was killed leaves libgit2's lock and temporary files behind; nobody else is writing now, we
 * hold the lock. */
static void remove_leftovers(const struct mirror *mirror)
{
    static const char *const places[] = {"refs",        "objects",         "packed-refs.lock", "HEAD.lock",
                                         "config.lock", "FETCH_HEAD.lock", "shallow.lock"};
    for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
        char path[PATH_MAX];
        if (snprintf(path, sizeof path, "%s/%s", mirror->path, places[i]) < (int)sizeof path)
            nftw(path, remove_leftover, NFTW_FOLDERS, FTW_PHYS);
    }
}

static int make_mirror(struct mirror *mirror, struct err *e)
{
    git_repository_init_options init;
    git_repository_init_options_init(&init, GIT_REPOSITORY_INIT_OPTIONS_VERSION);
    init.flags = GIT_REPOSITORY_INIT_BARE | GIT_REPOSITORY_INIT_MKPATH;
    init.mode = 0700;
    if (git_repository_init_ext(&mirror->repository, mirror->path, &init) < 0)
        return git_fail(mirror->options, "can't make the mirror in the state directory", e);
    mirror->is_new = true;
    return 0;
}

static int set_aside(struct mirror *mirror, const char *why, struct err *e)
{
    git_repository_cleanup(&mirror->repository);
    log_warning(mirror->options->log, "mirror",
                "the mirror %s is damaged (%s): it is set aside and made anew", mirror->path, why);
    if (folder_remove(mirror->aside, e) < 0)
        return -1;
    if (rename(mirror->path, mirror->aside) < 0)
        return err_set_errno(e, "can't set the damaged mirror %s aside", mirror->path);
    return make_mirror(mirror, e);
}

/* The rebuilt one came to nothing: the old one may still have what is wished. */
static void take_back(struct mirror *mirror)
{
    struct err ignored = {.class = ERR_NONE};
    git_repository_cleanup(&mirror->repository);
    if (access(mirror->aside, F_OK) == 0 && folder_remove(mirror->path, &ignored) == 0 &&
        rename(mirror->aside, mirror->path) == 0)
        (void)git_repository_open_bare(&mirror->repository, mirror->path);
}

/* Whether every reference can be read and its object is here, and the settings can be read: a power cut
 * leaves files of no bytes or of zeros. libgit2 itself meets them in the middle of a fetch, with errors that
 * look like the server's. */
static bool is_sound(git_repository *repository)
{
    git_reference_iterator *references = NULL;
    git_reference *reference = NULL;
    git_config *config = NULL;
    git_odb *odb = NULL;
    int code = git_repository_config_snapshot(&config, repository);
    if (code == 0)
        code = git_repository_odb(&odb, repository);
    if (code == 0)
        code = git_reference_lookup(&reference, repository, "HEAD");
    git_reference_free(reference);
    if (code == 0)
        code = git_reference_iterator_new(&references, repository);
    while (code == 0 && (code = git_reference_next(&reference, references)) == 0) {
        const git_oid *target = git_reference_target(reference);
        bool is_here = target == NULL || git_odb_exists(odb, target) == 1;
        if (!is_here)
            git_error_set_str(GIT_ERROR_REFERENCE, "a reference names an object that is not there");
        git_reference_free(reference);
        code = is_here ? 0 : GIT_ERROR;
    }
    git_reference_iterator_free(references);
    git_config_free(config);
    git_odb_free(odb);
    return code == GIT_ITEROVER;
}

/* What is damaged stays in its place until another one is fetched: it may have what is wished. */
static int open_or_make(struct mirror *mirror, struct err *e)
{
    mirror->lock = -1;
    if (name_mirror(mirror, e) < 0 || lock_mirror(mirror, e) < 0)
        return -1;
    if (access(mirror->path, F_OK) != 0)
        return make_mirror(mirror, e);
    remove_leftovers(mirror);
    git_error_clear();
    mirror->is_damaged =
        git_repository_open_bare(&mirror->repository, mirror->path) < 0 || !is_sound(mirror->repository);
    if (mirror->is_damaged)
        git_reason(mirror->options, mirror->damage);
    return 0;
}

/* Whether the commit and its tree can be read. */
static bool has_tree(const git_commit *commit)
{
    git_tree *tree = NULL;
    bool readable = git_commit_tree(&tree, commit) == 0;
    git_tree_free(tree);
    return readable;
}

static enum revision_result find_readable(git_repository *repository, const char *revision,
                                          git_commit **commit)
{
    if (repository == NULL)
        return REVISION_UNKNOWN;
    enum revision_result result = git_find_commit(repository, revision, NULL, commit);
    if (result == REVISION_FOUND && !has_tree(*commit)) {
        git_commit_cleanup(commit);
        return REVISION_UNREADABLE;
    }
    return result;
}

static bool is_full_id(const char *revision)
{
    return revision != NULL && strlen(revision) == GIT_OID_HEXSZ &&
           strspn(revision, "0123456789abcdefABCDEF") == GIT_OID_HEXSZ;
}

static enum fetch_result fetch(struct mirror *mirror, struct err *e)
{
    /* Opened anew behind it, whatever came of it: it was another process that wrote. */
    git_repository_cleanup(&mirror->repository);
    enum fetch_result result = git_fetch(mirror->path, mirror->options, e);
    if (git_repository_open_bare(&mirror->repository, mirror->path) == 0 || result != FETCH_DONE)
        return result;
    (void)git_fail(mirror->options, "can't open the mirror", e);
    return FETCH_MIRROR_BAD;
}

static enum fetch_result fetch_or_rebuild(struct mirror *mirror, struct err *e)
{
    struct err first = {.class = ERR_NONE};
    enum fetch_result result = mirror->is_damaged ? FETCH_MIRROR_BAD : fetch(mirror, &first);
    if (result == FETCH_MIRROR_BAD && !mirror->is_new) {
        if (set_aside(mirror, mirror->is_damaged ? mirror->damage : first.text, e) < 0)
            return FETCH_FATAL;
        first = (struct err){.class = ERR_NONE};
        result = fetch(mirror, &first);
        if (result != FETCH_DONE)
            take_back(mirror);
    }
    if (result != FETCH_DONE)
        (void)err_set(e, first.class, "%s", first.text);
    return result;
}

static void warn_of_age(const struct repository_options *options, const git_commit *commit, bool is_reached,
                        const char *cause, char warning[WARNING_BYTES])
{
    char age[CLOCK_TEXT_BYTES];
    char id[REVISION_BYTES];
    int64_t age_ms =
        options->clock->wall_ms(options->clock->context) - (int64_t)git_commit_time(commit) * 1000;
    git_oid_tostr(id, sizeof id, git_commit_id(commit));
    int length = snprintf(warning, WARNING_BYTES,
                          "the repository can't be %s: the commit %.12s from before, %s old, is used (%s)",
                          is_reached ? "fetched" : "reached", id,
                          clock_duration_text(age_ms < 0 ? 0 : age_ms, age), cause);
    if (length >= WARNING_BYTES)
        memcpy(warning + WARNING_BYTES - sizeof "…)", "…)", sizeof "…)");
}

static int no_such_revision(const struct repository_options *options, enum revision_result result,
                            struct err *e)
{
    char url[URL_TEXT_BYTES];
    url_redact(options->url, url, sizeof url);
    if (options->revision == NULL)
        return err_set(
            e, ERR_REPOSITORY,
            "%s has no commit at its HEAD: it is empty, or its default branch is gone; name a branch "
            "with --revision",
            url);
    if (result != REVISION_UNKNOWN)
        return git_no_such_revision(url, options->revision, result, e);
    return err_set(e, ERR_REPOSITORY,
                   "%s has no branch, tag or commit \"%s\" (a commit must be on a branch or a tag)", url,
                   options->revision);
}

/* After a fetch: the commit, from a mirror made anew if the one at hand turns out damaged. */
static int find_after_fetch(struct mirror *mirror, git_commit **commit, struct err *e)
{
    char reason[GIT_TEXT_BYTES];
    const struct repository_options *options = mirror->options;
    enum revision_result result = find_readable(mirror->repository, options->revision, commit);
    if (result == REVISION_UNREADABLE) {
        if (set_aside(mirror, git_reason(options, reason), e) < 0 || fetch(mirror, e) != FETCH_DONE)
            return -1;
        result = find_readable(mirror->repository, options->revision, commit);
    }
    if (result == REVISION_UNREADABLE)
        return git_fail(options, "can't read the commit", e);
    return result == REVISION_FOUND ? 0 : no_such_revision(options, result, e);
}

static int mirror_find(struct mirror *mirror, git_commit **commit, char warning[WARNING_BYTES], struct err *e)
{
    const struct repository_options *options = mirror->options;
    /* A commit's id says all: what is here need not be asked for. */
    if (is_full_id(options->revision) &&
        find_readable(mirror->repository, options->revision, commit) == REVISION_FOUND)
        return 0;
    struct err trouble = {.class = ERR_NONE};
    enum fetch_result result = fetch_or_rebuild(mirror, &trouble);
    if (result == FETCH_DONE)
        return find_after_fetch(mirror, commit, e);
    bool may_use_old = result == FETCH_UNREACHABLE || result == FETCH_MIRROR_BAD;
    if (!may_use_old || find_readable(mirror->repository, options->revision, commit) != REVISION_FOUND)
        return err_set(e, trouble.class, "%s", trouble.text);
    warn_of_age(options, *commit, result == FETCH_MIRROR_BAD, trouble.text, warning);
    return 0;
}

int git_mirror_open(const struct repository_options *options, git_repository **repository,
                    git_commit **commit, char warning[WARNING_BYTES], struct err *e)
{
    CLEANUP(mirror_done) struct mirror mirror = {.options = options, .lock = -1};
    if (open_or_make(&mirror, e) < 0 || mirror_find(&mirror, commit, warning, e) < 0)
        return -1;
    *repository = TAKE(mirror.repository);
    return 0;
}

int git_mirror_rebuild(const struct repository_options *options, const git_oid *id,
                       git_repository **repository, git_commit **commit, struct err *e)
{
    CLEANUP(mirror_done) struct mirror mirror = {.options = options, .lock = -1};
    if (open_or_make(&mirror, e) < 0 || set_aside(&mirror, "an object can't be read", e) < 0)
        return -1;
    if (fetch(&mirror, e) != FETCH_DONE)
        return -1;
    if (git_commit_lookup(commit, mirror.repository, id) < 0)
        return git_fail(options, "the commit is gone from the repository", e);
    *repository = TAKE(mirror.repository);
    return 0;
}
