/* The file system as every stage uses it: whole reads with a maximum, writes that appear by rename only. */
#include "base/files.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { READ_BYTES = 64 * 1024, FOLDER_DEPTH = 32 };

void file_close_cleanup(int *file)
{
    if (*file >= 0)
        close(*file);
    *file = -1;
}

void file_free_cleanup(char **bytes)
{
    free(*bytes);
    *bytes = NULL;
}

static int read_to_end(int file, const char *path, struct buf *out, struct err *e)
{
    char slice[READ_BYTES];
    for (;;) {
        ssize_t got = read(file, slice, sizeof slice);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set_errno(e, "can't read %s", path);
        if (got == 0)
            return buf_add(out, "", 0, e);
        bool fits = (size_t)got <= out->max_bytes - out->length;
        if (buf_add(out, slice, (size_t)got, e) < 0)
            return fits ? err_prefix(e, "%s", path) : err_prefix(e, "%s is too large", path);
    }
}

int file_read(const char *path, struct buf *out, struct err *e)
{
    CLEANUP(file_close_cleanup) int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 && errno == ENOENT)
        return err_set(e, ERR_NOT_FOUND, "%s does not exist", path);
    if (file < 0)
        return err_set_errno(e, "can't open %s", path);
    size_t length_before = out->length;
    int result = read_to_end(file, path, out, e);
    if (result < 0 && out->bytes != NULL) { /* half a file is no result */
        out->length = length_before;
        out->bytes[length_before] = '\0';
    }
    return result;
}

int file_write_all(int file, const void *bytes, size_t length, struct err *e)
{
    const char *rest = bytes;
    while (length > 0) {
        ssize_t written = write(file, rest, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return err_set_errno(e, "can't write");
        rest += written;
        length -= (size_t)written;
    }
    return 0;
}

int file_sync_folder_of(const char *path, struct err *e)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int length = slash == NULL   ? snprintf(folder, sizeof folder, ".")
                 : slash == path ? snprintf(folder, sizeof folder, "/")
                                 : snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    if (length < 0 || length >= (int)sizeof folder)
        return err_set(e, ERR_SYSTEM, "path too long: %s", path);
    CLEANUP(file_close_cleanup) int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0)
        return err_set_errno(e, "can't open folder %s", folder);
    /* Some network file systems can't sync a folder; the file itself is synced. */
    if (fsync(file) < 0 && errno != EINVAL && errno != ENOTSUP)
        return err_set_errno(e, "can't sync folder %s", folder);
    return 0;
}

static int write_temporary(const char *path, const void *bytes, size_t length, mode_t mode, struct err *e)
{
    /* What lies there is a killed run's rest, or a trap in a folder that others may write: made anew either
     * way. */
    if (unlink(path) < 0 && errno != ENOENT)
        return err_set_errno(e, "can't remove %s", path);
    CLEANUP(file_close_cleanup)
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (file < 0)
        return err_set_errno(e, "can't create %s", path);
    if (file_write_all(file, bytes, length, e) < 0)
        return err_prefix(e, "%s", path);
    if (fsync(file) < 0)
        return err_set_errno(e, "can't sync %s", path);
    int closing = file;
    file = -1;
    if (close(closing) < 0)
        return err_set_errno(e, "can't close %s", path);
    return 0;
}

/* /dev/null, /dev/stderr, a named pipe: a rename would replace the device itself. */
static bool is_device(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

static int write_device(const char *path, const void *bytes, size_t length, struct err *e)
{
    CLEANUP(file_close_cleanup) int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return err_set_errno(e, "can't open %s", path);
    if (file_write_all(file, bytes, length, e) < 0)
        return err_prefix(e, "%s", path);
    return 0;
}

int file_write_atomically(const char *path, const void *bytes, size_t length, mode_t mode, struct err *e)
{
    if (is_device(path))
        return write_device(path, bytes, length, e);
    char temporary[PATH_MAX];
    if (snprintf(temporary, sizeof temporary, "%s.tmp.%ld", path, (long)getpid()) >= (int)sizeof temporary)
        return err_set(e, ERR_SYSTEM, "path too long: %s", path);
    if (write_temporary(temporary, bytes, length, mode, e) < 0) {
        unlink(temporary);
        return -1;
    }
    if (rename(temporary, path) < 0) {
        err_fill_errno(e, "can't rename %s to %s", temporary, path);
        unlink(temporary);
        return -1;
    }
    return file_sync_folder_of(path, e);
}

int file_write_unsynced(const char *path, const void *bytes, size_t length, mode_t mode, struct err *e)
{
    char temporary[PATH_MAX];
    if (snprintf(temporary, sizeof temporary, "%s.tmp", path) >= (int)sizeof temporary)
        return err_set(e, ERR_SYSTEM, "path too long: %s", path);
    CLEANUP(file_close_cleanup)
    int file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
    if (file < 0)
        return err_set_errno(e, "can't create %s", temporary);
    if (file_write_all(file, bytes, length, e) < 0) {
        unlink(temporary);
        return err_prefix(e, "%s", temporary);
    }
    int closing = file;
    file = -1;
    if (close(closing) < 0 || rename(temporary, path) < 0) {
        err_fill_errno(e, "can't write %s", path);
        unlink(temporary);
        return -1;
    }
    return 0;
}

static bool is_folder(const char *path)
{
    int number = errno;
    struct stat status;
    bool yes = stat(path, &status) == 0 && S_ISDIR(status.st_mode);
    errno = number;
    return yes;
}

int folder_make(const char *path, struct err *e)
{
    char partial[PATH_MAX];
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof partial)
        return err_set(e, ERR_SYSTEM, "no usable folder name: %s", path);
    memcpy(partial, path, length + 1);
    for (size_t i = 1; i <= length; i++) {
        if (partial[i] != '/' && partial[i] != '\0')
            continue;
        partial[i] = '\0';
        /* A read-only or automounted parent may say EROFS or EACCES for a folder that is there. */
        if (mkdir(partial, 0700) < 0 && errno != EEXIST && !is_folder(partial))
            return err_set_errno(e, "can't make folder %s", partial);
        partial[i] = path[i];
    }
    struct stat status;
    if (stat(path, &status) < 0)
        return err_set_errno(e, "can't look at %s", path);
    if (!S_ISDIR(status.st_mode))
        return err_set(e, ERR_SYSTEM, "%s is not a folder", path);
    return 0;
}

static int remove_entry(const char *path, const struct stat *status, int flag, struct FTW *position)
{
    (void)status;
    (void)flag;
    (void)position;
    return remove(path);
}

int folder_remove(const char *path, struct err *e)
{
    struct stat status;
    if (lstat(path, &status) < 0 && errno == ENOENT)
        return 0;
    if (nftw(path, remove_entry, FOLDER_DEPTH, FTW_DEPTH | FTW_PHYS) != 0)
        return err_set_errno(e, "can't remove %s", path);
    return 0;
}

int folder_free_bytes(const char *path, uint64_t *out, struct err *e)
{
    struct statvfs status;
    if (statvfs(path, &status) < 0)
        return err_set_errno(e, "can't see the free space of %s", path);
    *out = (uint64_t)status.f_bavail * status.f_frsize;
    return 0;
}

int file_lock(const char *path, int *file, struct err *e)
{
    CLEANUP(file_close_cleanup) int opened = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (opened < 0)
        return err_set_errno(e, "can't open the lock %s", path);
    if (flock(opened, LOCK_EX | LOCK_NB) < 0) {
        if (errno == EWOULDBLOCK)
            return err_set(e, ERR_LOCKED, "%s is held by another process", path);
        return err_set_errno(e, "can't lock %s", path);
    }
    *file = opened;
    opened = -1;
    return 0;
}

char *path_join(const char *folder, const char *name)
{
    char *joined = NULL;
    if (asprintf(&joined, "%s/%s", folder, name) < 0)
        return NULL;
    return joined;
}
