/* Bytes that arrive go through here to the disk and into the digest at once; they are written back in slices,
 * so that the sync at the end is short. */
#include "fetch/partial.h"
#include "base/files.h"
#include "fetch/cache.h"
#include "fetch/partial_about.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    WRITEBACK_BYTES = 8 * 1024 * 1024,
    GATHER_BYTES = 256 * 1024,
    UNDESCRIBED_BYTES = 1024 * 1024, /* may be lost with the process */
};

void partial_init(struct partial *partial)
{
    *partial = (struct partial){.file = -1, .expected_bytes = -1};
}

static void free_description(struct partial *partial)
{
    free(partial->validator);
    free(partial->file_name);
    partial->validator = partial->file_name = NULL;
    partial->source[0] = '\0';
    partial->expected_bytes = -1;
}

static void free_all(struct partial *partial)
{
    if (partial->file >= 0)
        close(partial->file);
    digest_free(partial->digest);
    free_description(partial);
    free(partial->gathered);
    free(partial->path);
    free(partial->about);
    partial_init(partial);
}

void partial_done(struct partial *partial)
{
    partial_close(partial);
}

bool partial_is_open(const struct partial *partial)
{
    return partial->file >= 0;
}

static int name_files(struct partial *partial, const char *cache_dir, const char *key, struct err *e)
{
    if (asprintf(&partial->path, "%s/partial/%s.part", cache_dir, key) < 0)
        partial->path = NULL;
    if (asprintf(&partial->about, "%s/partial/%s.about", cache_dir, key) < 0)
        partial->about = NULL;
    if (partial->path == NULL || partial->about == NULL)
        return err_set(e, ERR_MEMORY, "out of memory");
    return 0;
}

/* A folder, a pipe or a link in a file's place would stop this download for ever. */
static int make_way(const struct partial *partial, struct err *e)
{
    char temporary[PATH_MAX];
    snprintf(temporary, sizeof temporary, "%s.tmp", partial->about);
    const char *const paths[] = {partial->path, partial->about, temporary};
    for (size_t i = 0; i < ARRAY_LENGTH(paths); i++) {
        struct stat status;
        if (lstat(paths[i], &status) == 0 && !S_ISREG(status.st_mode) && cache_set_aside(paths[i], e) < 0)
            return -1;
    }
    return 0;
}

/* The one who held the lock may have renamed or removed the file meanwhile: then we hold a lock on nothing.
 */
static int lock_what_is_there(struct partial *partial, struct stat *status, struct err *e)
{
    enum { TRIES = 16 };
    for (int i = 0; i < TRIES; i++) {
        CLEANUP(file_close_cleanup) int file = -1;
        struct stat named;
        if (file_lock(partial->path, &file, e) < 0)
            return -1;
        if (fstat(file, status) < 0)
            return err_set_errno(e, "can't look at %s", partial->path);
        if (stat(partial->path, &named) == 0 && named.st_ino == status->st_ino &&
            named.st_dev == status->st_dev) {
            partial->file = file;
            file = -1;
            return 0;
        }
    }
    return err_set(e, ERR_LOCKED, "%s is held by another process", partial->path);
}

int partial_open(struct partial *partial, const char *cache_dir, const char *key, bool is_pinned,
                 struct err *e)
{
    struct stat status;
    free_all(partial);
    partial->digest = digest_new(e);
    if (partial->digest == NULL || name_files(partial, cache_dir, key, e) < 0 || make_way(partial, e) < 0 ||
        lock_what_is_there(partial, &status, e) < 0) {
        free_all(partial);
        return -1;
    }
    if (status.st_size == 0) {
        unlink(partial->about); /* of other bytes, if there is one */
        return 0;
    }
    partial->has_left_traces = true;
    bool is_known = about_read(partial, is_pinned, e) == 0;
    if (err_is_set(e) && e->class == ERR_MEMORY) {
        free_all(partial);
        return -1;
    }
    err_init(e);
    bool is_too_long = is_known && partial->expected_bytes >= 0 && status.st_size > partial->expected_bytes;
    if (is_too_long || (!is_known && !is_pinned))
        return partial_restart(partial, e);
    if (!is_known)
        free_description(partial);
    partial->size_bytes = (uint64_t)status.st_size;
    partial->is_resumed = true;
    return 0;
}

int partial_hash_slice(struct partial *partial, size_t slice_bytes, struct err *e)
{
    enum { READ_BYTES = 256 * 1024 };
    CLEANUP(file_free_cleanup) char *bytes = malloc(READ_BYTES);
    if (bytes == NULL)
        return err_set(e, ERR_MEMORY, "out of memory");
    while (slice_bytes > 0 && partial->hashed_bytes < partial->size_bytes) {
        uint64_t left = partial->size_bytes - partial->hashed_bytes;
        size_t wanted = left < READ_BYTES ? (size_t)left : READ_BYTES;
        ssize_t got = pread(partial->file, bytes, wanted, (off_t)partial->hashed_bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0 ? err_set(e, ERR_SYSTEM, "%s became shorter", partial->path)
                            : err_set_errno(e, "can't read %s", partial->path);
        if (digest_update(partial->digest, bytes, (size_t)got, e) < 0)
            return -1;
        partial->hashed_bytes += (uint64_t)got;
        slice_bytes -= (size_t)got < slice_bytes ? (size_t)got : slice_bytes;
    }
    return 0;
}

int partial_cut(struct partial *partial, uint64_t size_bytes, struct err *e)
{
    if (ftruncate(partial->file, (off_t)size_bytes) < 0)
        return err_set_errno(e, "can't cut %s", partial->path);
    partial->size_bytes = size_bytes;
    return 0;
}

int partial_restart(struct partial *partial, struct err *e)
{
    partial->size_bytes = partial->hashed_bytes = partial->started_writeback_bytes = 0;
    partial->gathered_bytes = 0;
    partial->about_is_pending = false;
    partial->is_resumed = false;
    free_description(partial);
    if (!partial->has_left_traces)
        return 0;
    unlink(partial->about);
    if (ftruncate(partial->file, 0) < 0)
        return err_set_errno(e, "can't empty %s", partial->path);
    partial->has_left_traces = false;
    return digest_restart(partial->digest, e);
}

static int describe_on_disk(struct partial *partial, struct err *e)
{
    if (!partial->about_is_pending)
        return 0;
    partial->has_left_traces = true;
    errno = 0;
    if (about_write(partial, e) < 0) {
        partial->disk_is_full = errno == ENOSPC || errno == EDQUOT;
        return -1;
    }
    partial->about_is_pending = false;
    return 0;
}

int partial_describe(struct partial *partial, const char *source_url, const char *validator,
                     int64_t expected_bytes, const char *file_name, struct err *e)
{
    char *kept_validator = validator == NULL ? NULL : strdup(validator);
    char *kept_name = file_name == NULL ? NULL : strdup(file_name);
    if ((validator != NULL && kept_validator == NULL) || (file_name != NULL && kept_name == NULL)) {
        free(kept_validator);
        free(kept_name);
        return err_set(e, ERR_MEMORY, "out of memory");
    }
    free_description(partial);
    partial->validator = kept_validator;
    partial->file_name = kept_name;
    partial->expected_bytes = expected_bytes;
    if (digest_bytes(source_url, strlen(source_url), partial->source, e) < 0)
        return -1;
    partial->about_is_pending = true;
    return partial->hashed_bytes > 0 ? describe_on_disk(partial, e) : 0;
}

bool partial_is_from(const struct partial *partial, const char *source_url)
{
    char hex[DIGEST_HEX_BYTES];
    struct err ignored;
    err_init(&ignored);
    return partial->source[0] != '\0' && digest_bytes(source_url, strlen(source_url), hex, &ignored) == 0 &&
           strcmp(hex, partial->source) == 0;
}

static void start_writeback(struct partial *partial, uint64_t least)
{
    uint64_t waiting = partial->hashed_bytes - partial->started_writeback_bytes;
    if (waiting < least)
        return;
    /* Only a hint: whatever it does not do, fdatasync does at the end. */
    (void)sync_file_range(partial->file, (off_t)partial->started_writeback_bytes, (off_t)waiting,
                          SYNC_FILE_RANGE_WRITE);
    partial->started_writeback_bytes = partial->hashed_bytes;
}

/* Behind what is written and hashed. */
static int write_out(struct partial *partial, const char *bytes, size_t length, struct err *e)
{
    const char *rest = bytes;
    size_t left = length;
    partial->has_left_traces = true;
    while (left > 0) {
        ssize_t written = pwrite(partial->file, rest, left, (off_t)(partial->hashed_bytes + (length - left)));
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0) {
            partial->disk_is_full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
            err_fill_errno(e, "can't write %s", partial->path);
            return -1;
        }
        rest += written;
        left -= (size_t)written;
    }
    if (digest_update(partial->digest, bytes, length, e) < 0)
        return -1;
    partial->hashed_bytes += length;
    start_writeback(partial, WRITEBACK_BYTES);
    return 0;
}

/* What is kept ends where the digest ends. */
static int forget_unwritten(struct partial *partial)
{
    partial->gathered_bytes = 0;
    partial->size_bytes = partial->hashed_bytes;
    (void)!ftruncate(partial->file, (off_t)partial->size_bytes);
    return -1;
}

static int write_gathered(struct partial *partial, struct err *e)
{
    bool is_worth_it = partial->size_bytes > UNDESCRIBED_BYTES;
    if ((is_worth_it && describe_on_disk(partial, e) < 0) ||
        write_out(partial, partial->gathered, partial->gathered_bytes, e) < 0)
        return forget_unwritten(partial);
    partial->gathered_bytes = 0;
    return 0;
}

int partial_flush(struct partial *partial, struct err *e)
{
    if (partial->size_bytes > 0 && describe_on_disk(partial, e) < 0)
        return forget_unwritten(partial);
    return partial->gathered_bytes == 0 ? 0 : write_gathered(partial, e);
}

int partial_settle(struct partial *partial, bool is_whole, struct err *e)
{
    int result = !is_whole                      ? partial_flush(partial, e)
                 : partial->gathered_bytes == 0 ? 0
                                                : write_gathered(partial, e);
    free(partial->gathered);
    partial->gathered = NULL;
    return result;
}

/* Of what is written; fewer bytes than asked for only where it ends or can't be read. */
static size_t read_written(const struct partial *partial, uint64_t offset, char *out, size_t size)
{
    size_t used = 0;
    while (used < size) {
        ssize_t got = pread(partial->file, out + used, size - used, (off_t)(offset + used));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        used += (size_t)got;
    }
    return used;
}

size_t partial_read(const struct partial *partial, uint64_t offset, char *out, size_t size)
{
    uint64_t written = partial->size_bytes - partial->gathered_bytes; /* gathered is what comes behind it */
    size_t used = 0;
    if (offset < written) {
        size_t wanted = written - offset < size ? (size_t)(written - offset) : size;
        used = read_written(partial, offset, out, wanted);
        if (used < wanted)
            return used;
    }
    uint64_t start = offset + used - written;
    if (start >= partial->gathered_bytes)
        return used;
    size_t left = partial->gathered_bytes - (size_t)start;
    size_t piece = left < size - used ? left : size - used;
    memcpy(out + used, partial->gathered + start, piece);
    return used + piece;
}

int partial_append(struct partial *partial, const void *bytes, size_t length, struct err *e)
{
    const char *rest = bytes;
    if (partial->gathered == NULL && (partial->gathered = malloc(GATHER_BYTES)) == NULL)
        return err_set(e, ERR_MEMORY, "out of memory");
    while (length > 0) {
        size_t room = GATHER_BYTES - partial->gathered_bytes;
        size_t piece = length < room ? length : room;
        memcpy(partial->gathered + partial->gathered_bytes, rest, piece);
        partial->gathered_bytes += piece;
        partial->size_bytes += piece;
        rest += piece;
        length -= piece;
        if (partial->gathered_bytes == GATHER_BYTES && write_gathered(partial, e) < 0)
            return -1;
    }
    return 0;
}

int partial_finish(struct partial *partial, char hex[DIGEST_HEX_BYTES], struct err *e)
{
    if (partial_settle(partial, true, e) < 0 || digest_finish(partial->digest, hex, e) < 0)
        return -1;
    start_writeback(partial, 1);
    return 0;
}

int partial_sync(struct partial *partial, struct err *e)
{
    if (fdatasync(partial->file) == 0)
        return 0;
    partial->sync_has_failed = true;
    partial->disk_is_full = errno == ENOSPC || errno == EDQUOT;
    return err_set_errno(e, "can't sync %s", partial->path);
}

void partial_close(struct partial *partial)
{
    struct err ignored;
    err_init(&ignored);
    if (partial->file >= 0 && !partial->disk_is_full)
        (void)!partial_flush(partial, &ignored);
    if (partial->disk_is_full || partial->size_bytes == 0)
        partial_discard(partial);
    else
        free_all(partial);
}

void partial_discard(struct partial *partial)
{
    if (partial->file >= 0) {
        unlink(partial->about);
        unlink(partial->path);
    }
    free_all(partial);
}

void partial_forget(struct partial *partial)
{
    if (partial->about != NULL)
        unlink(partial->about);
    free_all(partial);
}
