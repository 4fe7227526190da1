/* The content-addressed cache: `sha256/ab/abcd…` holds verified packages, `partial/` what is not whole yet.
 * Several processes may use it at once. */
#ifndef TENDER_FETCH_CACHE_H
#define TENDER_FETCH_CACHE_H

#include "base/digest.h"
#include "base/err.h"
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* Makes the folders. */
int cache_prepare(const char *cache_dir, struct err *e) MUST_CHECK;
/* Something of another kind in a place of the cache's is renamed, not lost: the cache is rebuilt. */
int cache_set_aside(const char *path, struct err *e) MUST_CHECK;
/* "<cache_dir>/sha256/ab/abcd…". -1: the path would be too long. */
int cache_path(const char *cache_dir, const char *sha256, char out[PATH_MAX], struct err *e) MUST_CHECK;
/* Whether an entry is there (its bytes are not verified), and how long it is. */
bool cache_has(const char *cache_dir, const char *sha256, uint64_t *size_bytes);
/* Marks an entry as used now: pruning takes the longest unused first. */
void cache_touch(const char *cache_dir, const char *sha256);

/* Brings synced files that lie in the cache's `partial/` to their places by rename. The folders are synced
 * once for many files: what a power cut takes until then is a name, and costs a download. */
struct cache_commit {
    const char *cache_dir;
    size_t unsynced; /* files since the last sync */
    bool has_new_folder;
    bool folder_is_unsynced[256]; /* by a digest's first two digits */
};
void cache_commit_begin(struct cache_commit *commit, const char *cache_dir);
int cache_commit_file(struct cache_commit *commit, const char *file_path, const char *sha256,
                      struct err *e) MUST_CHECK;
int cache_commit_sync(struct cache_commit *commit, struct err *e) MUST_CHECK;
void cache_remove(const char *cache_dir, const char *sha256);

/* The file name that an entry came with, kept beside it where its URL does not say it. Losing it costs
 * nothing but the better name. */
void cache_set_name(const char *cache_dir, const char *sha256, const char *file_name);
bool cache_name(const char *cache_dir, const char *sha256, char *out, size_t size);

#endif
