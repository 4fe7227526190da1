/* Inside lib/repository: what a source of files (a commit's tree, a folder) can do, and how both follow
 * symbolic links. */
#ifndef TENDER_REPOSITORY_READER_H
#define TENDER_REPOSITORY_READER_H

#include "base/arena.h"
#include "model/software.h"
#include "repository/repository.h"
#include <limits.h>

enum { LINKS_MAX = 8 };

struct reader_ops {
    /* `folder` and `path` are resolved: no part of them is a link. */
    int (*list)(void *reader, const char *folder, struct arena *arena, struct repository_entry **entries,
                size_t *count, struct err *e);
    int (*read)(void *reader, const char *path, struct buf *out, struct err *e);
    /* The type of what lies there, a link unfollowed; its target goes into `target` then. ERR_NOT_FOUND if
     * nothing does. */
    int (*look)(void *reader, const char *path, enum entry_type *type, char target[PATH_MAX], struct err *e);
    /* As repository_changes; the list is in the arena. */
    int (*changes)(void *reader, const char *since, struct arena *arena, struct string_list *out,
                   struct err *e);
    void (*free)(void *reader);
};

struct reader {
    const struct reader_ops *ops;
    void *data;
};

/* The symbolic links that a path leads through, each as a path from the root. */
struct link_trail {
    size_t count;
    bool is_link; /* the path's last part is one */
    char paths[LINKS_MAX][PATH_MAX];
};

/* Follows the links in `path` inside the root. ERR_NOT_FOUND, with the path where it would lie in `out`, or
 * ERR_REPOSITORY for a link out of the root or more than LINKS_MAX of them. `trail` may be NULL; it is filled
 * whatever comes of it. */
int reader_resolve(const struct reader *reader, const char *path, char out[PATH_MAX], enum entry_type *type,
                   struct link_trail *trail, struct err *e) MUST_CHECK;

/* Whether a file of `size` bytes fits; ERR_REPOSITORY if not. */
int reader_check_size(const char *path, uint64_t size, int64_t max_file_bytes, const struct buf *out,
                      struct err *e) MUST_CHECK;

enum { REVISION_BYTES = 41, WARNING_BYTES = 1024 };

/* git_changes.c: repository_changes for a folder's files as they lie. */
int directory_changes(const char *directory, const char *since, struct arena *arena, struct string_list *out,
                      struct err *e) MUST_CHECK;

int directory_reader_open(const struct repository_options *options, struct reader *out,
                          struct err *e) MUST_CHECK;
/* From the mirror of options->url, or from the repository in options->directory. `warning` is "" if there is
 * nothing to warn of. */
int git_reader_open(const struct repository_options *options, struct reader *out,
                    char revision[REVISION_BYTES], char warning[WARNING_BYTES], struct err *e) MUST_CHECK;

#endif
