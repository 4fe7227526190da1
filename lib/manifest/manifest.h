/* From the files of one revision to what is desired. The format: docs/manifests.md. */
#ifndef TENDER_MANIFEST_MANIFEST_H
#define TENDER_MANIFEST_MANIFEST_H

#include "base/arena.h"
#include "base/buf.h"
#include "model/desired.h"
#include "model/settings.h"

/* How the manifest stage reads files: the repository, behind functions, so that it depends on no particular
 * source. The functions' contracts are those of repository_list and repository_read. */
struct manifest_source {
    int (*list)(void *context, const char *folder, void (*each)(void *user, const char *name, bool is_folder),
                void *user, struct err *e);
    int (*read)(void *context, const char *path, struct buf *out, struct err *e);
    /* As repository_resolve; may be NULL: there are no symbolic links. */
    int (*resolve)(void *context, const char *path, struct arena *arena, const char **out,
                   struct string_list *links, struct err *e);
    void *context;
};

struct manifest_options {
    const char *subdir;       /* "": the root */
    struct string_list files; /* exactly these files (globs); not set: found as docs/manifests.md says */
    struct string_list teams; /* only teams whose name matches one of these globs; not set: all */
    struct string_list exclude_teams; /* but none whose name matches one of these */
    struct string_list changed; /* only teams that one of these paths belongs to (repository_changes); not
                                   set: all */
    const struct settings *settings; /* for what tender.yml says of sources; NULL: nothing */
    int64_t max_document_bytes;
    /* The environment for $VARIABLES. Returns NULL where unset. */
    const char *(*variable)(void *context, const char *name);
    void *variable_context;
};

/* Reads everything, collects all diagnostics. Returns 0 also where files have errors (they are in the
 * result); -1 only if nothing can be said: the source can't be read, out of memory. The result lives in the
 * arena. */
int manifest_load(const struct manifest_source *source, const struct manifest_options *options,
                  struct arena *arena, struct desired *out, struct err *e) MUST_CHECK;

/* tender.yml at the root (settings' `in_file` keys, `sources`): sets what it holds; fine if it is missing.
 * Values of keys in `already_set` (names of settings that a flag or the environment gave) are checked but not
 * taken. Diagnostics are appended to `out`. */
int manifest_load_settings(const struct manifest_source *source, const struct manifest_options *options,
                           bool (*already_set)(void *context, const char *name), void *already_set_context,
                           struct settings *settings, struct arena *arena, struct desired *out,
                           struct err *e) MUST_CHECK;

#endif
