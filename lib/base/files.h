/* Files and folders. Files that others may read appear by rename only, after write, fsync and a checked
 * close. */
#ifndef TENDER_BASE_FILES_H
#define TENDER_BASE_FILES_H

#include "base/buf.h"
#include "base/err.h"
#include <stdint.h>
#include <sys/types.h>

void file_close_cleanup(int *file);   /* for CLEANUP: closes if >= 0 */
void file_free_cleanup(char **bytes); /* for CLEANUP: free() */

/* Appends the whole file to `out`, whose maximum bounds it. A missing file is ERR_NOT_FOUND. */
int file_read(const char *path, struct buf *out, struct err *e) MUST_CHECK;
/* Writes path.tmp.PID beside it, fsyncs, renames, fsyncs the folder. On failure the old file is untouched and
 * nothing is left behind. A device or a pipe is written to as it is. */
int file_write_atomically(const char *path, const void *bytes, size_t length, mode_t mode,
                          struct err *e) MUST_CHECK;
/* As it, but without a sync, for what may be lost or empty after a power cut: path.tmp, renamed. */
int file_write_unsynced(const char *path, const void *bytes, size_t length, mode_t mode,
                        struct err *e) MUST_CHECK;
int file_write_all(int file, const void *bytes, size_t length, struct err *e) MUST_CHECK;
int file_sync_folder_of(const char *path, struct err *e) MUST_CHECK;
/* Makes the folder and its parents (mode 0700); fine if it is there. */
int folder_make(const char *path, struct err *e) MUST_CHECK;
/* Removes the tree; fine if it is not there. Symbolic links are removed, not followed. */
int folder_remove(const char *path, struct err *e) MUST_CHECK;
/* Bytes that an unprivileged user may still write where `path` lies. */
int folder_free_bytes(const char *path, uint64_t *out, struct err *e) MUST_CHECK;
/* flock(LOCK_EX|LOCK_NB) on `path` (made if missing). -1 with ERR_LOCKED if another process holds it. The
 * lock lives as long as *file is open. */
int file_lock(const char *path, int *file, struct err *e) MUST_CHECK;
/* "folder/name", malloc'ed, NULL when out of memory. */
char *path_join(const char *folder, const char *name) MUST_CHECK;

#endif
