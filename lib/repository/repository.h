/* Where the manifests come from: a commit of a Git repository, read from the object database without a
 * checkout, or a folder's files as they lie. Paths are relative to the root, with '/', without "." and ".."
 * parts; names are bytes. */
#ifndef TENDER_REPOSITORY_REPOSITORY_H
#define TENDER_REPOSITORY_REPOSITORY_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "model/settings.h"
#include "model/software.h"
#include <stddef.h>

struct repository; /* one revision, opened; const to its readers */

enum entry_type { ENTRY_FILE, ENTRY_FOLDER, ENTRY_LINK, ENTRY_OTHER };

struct repository_entry {
    const char *name; /* in this folder */
    enum entry_type type;
};

struct repository_options {
    const char *url;       /* https, ssh, file or plain path of a Git repository; NULL: directory */
    const char *revision;  /* branch, tag or commit; NULL: the remote's HEAD */
    const char *directory; /* --dir: with `revision` a commit of it, else its files as they lie */
    const char *state_dir; /* the bare mirror lives in state_dir/mirror */
    const char *ca_file;   /* NULL: the system's */
    const char *username;  /* for https where the URL has none; NULL: none */
    const char *password;  /* secret: for https, or an ssh key's passphrase; NULL: none */
    const char
        *ssh_folder;    /* the key files id_ed25519, id_ecdsa, id_rsa, tried after the agent; NULL: none */
    int64_t timeout_ms; /* of the whole fetch; 0: none */
    int64_t deadline_monotonic_ms; /* the run's, by `clock`: no fetch goes on behind it; 0: none */
    int64_t max_file_bytes;
    const bool *stop; /* set by a signal: gives up soon; may be NULL */
    /* For http and https: how often a host that fails for a moment is asked again. NULL: not at all. */
    const struct retry_policy *retry;
    const struct jitter *jitter;
    const struct clock *clock;
    const struct log *log;
};

/* Fetches into the mirror as needed (in a child process, so that a silent server holds up nobody for longer
 * than the limits) and opens the revision. Where the remote can't be reached but the mirror has the wished
 * revision from before, that one is opened and repository_warning() says so and how old it is. Errors:
 * ERR_REPOSITORY with what to do next. */
struct repository *repository_open(const struct repository_options *options, struct err *e) MUST_CHECK;
void repository_close(struct repository *repository);
void repository_cleanup(struct repository **repository);

const char *repository_revision(const struct repository *repository); /* commit id (40 hex), or "folder D" */
const char *repository_warning(const struct repository *repository);  /* "" if none */

/* The folder's entries, sorted by bytes; "" is the root. A symbolic link counts as what it leads to, as
 * ENTRY_LINK only where it leads nowhere or out of the root. `*entries` lives until the repository is closed.
 * A missing folder: ERR_NOT_FOUND. */
int repository_list(struct repository *repository, const char *folder,
                    const struct repository_entry **entries, size_t *count, struct err *e) MUST_CHECK;
/* Appends the file's bytes. Symbolic links are followed inside the root only, at most 8 deep. ERR_NOT_FOUND
 * if there is none; too large, a folder, a link out of the root or to nothing: ERR_REPOSITORY. */
int repository_read(struct repository *repository, const char *path, struct buf *out,
                    struct err *e) MUST_CHECK;
/* The path without symbolic links, in the arena; where it leads nowhere, the path that is missing. NULL where
 * it leads out of the root. `links`, unless NULL: the symbolic links that it leads through, in the arena. */
int repository_resolve(struct repository *repository, const char *path, struct arena *arena, const char **out,
                       struct string_list *links, struct err *e) MUST_CHECK;
/* The files that differ between the branch, tag or commit `since` and this revision, deleted ones too, in the
 * arena. A path that ends in '/' stands for all that lies below it; "" for everything. A folder must be in a
 * Git work tree; what is not committed there, is ignored or is unknown to Git counts as a difference.
 * ERR_REPOSITORY if there is no such revision. */
int repository_changes(struct repository *repository, const char *since, struct arena *arena,
                       struct string_list *out, struct err *e) MUST_CHECK;

#endif
