/* Keeps what a disk would know: per file how much of it was synced, per folder which of its changes were. The
 * wrapped calls are those of the code under test in a forked child; the record is in shared memory, so that
 * the parent can take away what was not synced once the child is dead. */
#include "power.h"
#include "base/text.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

ssize_t __real_write(int file, const void *bytes, size_t length);
ssize_t __real_pwrite64(int file, const void *bytes, size_t length, off_t offset);
int __real_fsync(int file);
int __real_fdatasync(int file);
int __real_ftruncate64(int file, off_t length);
int __real_rename(const char *from, const char *to);
int __real_unlink(const char *path);
ssize_t __wrap_write(int file, const void *bytes, size_t length);
ssize_t __wrap_pwrite64(int file, const void *bytes, size_t length, off_t offset);
int __wrap_fsync(int file);
int __wrap_fdatasync(int file);
int __wrap_ftruncate64(int file, off_t length);
int __wrap_rename(const char *from, const char *to);
int __wrap_unlink(const char *path);

enum { MOST_FILES = 256, MOST_CHANGES = 256, PATH_BYTES = 512 };

struct known_file {
    ino_t inode;
    off_t synced_bytes; /* from the start; behind it nothing is sure */
};

/* A rename (to and from), or an unlink (from only); undone by the hard links in the undo folder. */
struct change {
    ino_t folder;
    bool is_synced;
    bool is_rename, had_target;
    char from[PATH_BYTES], to[PATH_BYTES];
};

struct record {
    long calls, kill_at;
    enum power_loss loss;
    bool is_on, lies;
    size_t file_count, change_count;
    struct known_file files[MOST_FILES];
    struct change changes[MOST_CHANGES];
};

static struct record *record;
static char undo_folder[PATH_BYTES];

static void must(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "power: %s: %s\n", what, strerror(errno));
    exit(70);
}

void power_init(const char *folder)
{
    record = mmap(NULL, sizeof *record, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(record != MAP_FAILED, "memory");
    must(snprintf(undo_folder, sizeof undo_folder, "%s", folder) < (int)sizeof undo_folder, "path");
    must(mkdir(undo_folder, 0700) == 0 || errno == EEXIST, undo_folder);
}

static void undo_path(size_t number, char out[PATH_BYTES])
{
    must(snprintf(out, PATH_BYTES, "%s/%zu", undo_folder, number) < PATH_BYTES, "path");
}

void power_forget(void)
{
    char path[PATH_BYTES];
    bool lies = record->lies;
    for (size_t i = 0; i < record->change_count; i++) {
        undo_path(i, path);
        __real_unlink(path);
    }
    *record = (struct record){.lies = lies};
}

void power_start(long nth, enum power_loss loss)
{
    record->calls = 0;
    record->kill_at = nth;
    record->loss = loss;
    record->is_on = true;
}

void power_lie_about_syncs(bool lies)
{
    record->lies = lies;
}

long power_calls(void)
{
    return record->calls;
}

/* Whether the call counts, and is the last one. */
static bool is_last_call(void)
{
    record->calls++;
    return record->calls == record->kill_at;
}

static void die(void)
{
    kill(getpid(), SIGKILL);
    pause();
}

static bool is_on_disk(int file, struct stat *status)
{
    return record != NULL && record->is_on && fstat(file, status) == 0 &&
           (S_ISREG(status->st_mode) || S_ISDIR(status->st_mode));
}

static struct known_file *known(ino_t inode)
{
    for (size_t i = 0; i < record->file_count; i++)
        if (record->files[i].inode == inode)
            return &record->files[i];
    return NULL;
}

/* Bytes from `offset` on are new: what lies before them may have been synced by an earlier process. */
static void note_bytes(const struct stat *status, off_t offset)
{
    struct known_file *file = known(status->st_ino);
    if (file == NULL) {
        must(record->file_count < MOST_FILES, "files");
        file = &record->files[record->file_count++];
        *file = (struct known_file){.inode = status->st_ino, .synced_bytes = status->st_size};
    }
    if (offset < file->synced_bytes)
        file->synced_bytes = offset;
}

static void note_sync(const struct stat *status)
{
    struct known_file *file = known(status->st_ino);
    if (file != NULL && !record->lies)
        file->synced_bytes = status->st_size;
    for (size_t i = 0; i < record->change_count; i++)
        if (record->changes[i].folder == status->st_ino)
            record->changes[i].is_synced = true;
}

/* Which end of the call is the last instant: half of a write, or nothing of the call. */
static size_t torn_length(size_t length)
{
    return record->loss == POWER_KILLED_TORN ? length / 2 : 0;
}

ssize_t __wrap_pwrite64(int file, const void *bytes, size_t length, off_t offset)
{
    struct stat status;
    if (!is_on_disk(file, &status))
        return __real_pwrite64(file, bytes, length, offset);
    if (is_last_call()) {
        (void)!__real_pwrite64(file, bytes, torn_length(length), offset);
        die();
    }
    note_bytes(&status, offset);
    return __real_pwrite64(file, bytes, length, offset);
}

ssize_t __wrap_write(int file, const void *bytes, size_t length)
{
    struct stat status;
    if (!is_on_disk(file, &status))
        return __real_write(file, bytes, length);
    if (is_last_call()) {
        (void)!__real_write(file, bytes, torn_length(length));
        die();
    }
    note_bytes(&status, lseek(file, 0, SEEK_CUR));
    return __real_write(file, bytes, length);
}

static int sync_with(int (*real)(int file), int file)
{
    struct stat status;
    if (is_on_disk(file, &status)) {
        if (is_last_call())
            die();
        note_sync(&status);
    }
    return real(file);
}

int __wrap_fsync(int file)
{
    return sync_with(__real_fsync, file);
}

int __wrap_fdatasync(int file)
{
    return sync_with(__real_fdatasync, file);
}

int __wrap_ftruncate64(int file, off_t length)
{
    struct stat status;
    if (is_on_disk(file, &status)) {
        if (is_last_call())
            die();
        note_bytes(&status, length);
    }
    return __real_ftruncate64(file, length);
}

static ino_t folder_of(const char *path)
{
    char folder[PATH_BYTES];
    struct stat status;
    must(snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path) < PATH_BYTES,
         "path");
    return stat(folder, &status) == 0 ? status.st_ino : 0;
}

/* Keeps what the call takes away. */
static void note_change(const char *from, const char *to)
{
    char kept[PATH_BYTES];
    must(record->change_count < MOST_CHANGES, "changes");
    struct change *change = &record->changes[record->change_count];
    undo_path(record->change_count, kept);
    *change = (struct change){.folder = folder_of(to != NULL ? to : from), .is_rename = to != NULL};
    must(snprintf(change->from, PATH_BYTES, "%s", from) < PATH_BYTES, "path");
    must(snprintf(change->to, PATH_BYTES, "%s", to == NULL ? "" : to) < PATH_BYTES, "path");
    change->had_target = link(to != NULL ? to : from, kept) == 0;
    record->change_count++;
}

int __wrap_rename(const char *from, const char *to)
{
    if (record == NULL || !record->is_on)
        return __real_rename(from, to);
    if (is_last_call())
        die();
    if (access(from, F_OK) == 0 && folder_of(to) != 0)
        note_change(from, to);
    return __real_rename(from, to);
}

int __wrap_unlink(const char *path)
{
    if (record == NULL || !record->is_on)
        return __real_unlink(path);
    if (is_last_call())
        die();
    if (access(path, F_OK) == 0)
        note_change(path, NULL);
    return __real_unlink(path);
}

/* Newest first: each change that no sync of its folder made sure never was. */
static void undo_changes(void)
{
    char kept[PATH_BYTES];
    for (size_t i = record->change_count; i > 0; i--) {
        const struct change *change = &record->changes[i - 1];
        undo_path(i - 1, kept);
        if (change->is_synced)
            continue;
        if (change->is_rename)
            __real_rename(change->to, change->from);
        if (change->had_target)
            __real_rename(kept, change->is_rename ? change->to : change->from);
    }
}

static void lose_tail(const char *path, const struct stat *status, bool is_zeroed)
{
    const struct known_file *file = known(status->st_ino);
    if (file == NULL || file->synced_bytes >= status->st_size)
        return;
    must(truncate(path, file->synced_bytes) == 0, path);
    if (is_zeroed)
        must(truncate(path, status->st_size) == 0, path);
}

/* After a start of the machine the sidecars are of another one. */
static void age_sidecar(const char *path)
{
    char text[8192];
    FILE *file = fopen(path, "r+");
    must(file != NULL, path);
    size_t length = fread(text, 1, sizeof text - 1, file);
    text[length] = '\0';
    char *boot = strstr(text, "\nboot ");
    if (boot != NULL) {
        must(fseek(file, boot + 6 - text, SEEK_SET) == 0, path);
        must(fputc(boot[6] == '0' ? '1' : '0', file) != EOF, path);
    }
    fclose(file);
}

static enum power_loss loss_now;

static int visit(const char *path, const struct stat *status, int flag, struct FTW *position)
{
    (void)position;
    if (flag != FTW_F)
        return 0;
    bool is_about = text_ends_with(path, ".about"), is_part = text_ends_with(path, ".part");
    if ((loss_now == POWER_LOST_SIDECARS && is_about) || (loss_now == POWER_LOST_PARTIALS && is_part)) {
        __real_unlink(path);
        return 0;
    }
    lose_tail(path, status, loss_now == POWER_ZEROED || loss_now == POWER_ZEROED_UNDONE);
    if (is_about)
        age_sidecar(path);
    return 0;
}

void power_cut(const char *folder, enum power_loss loss)
{
    record->is_on = false;
    if (loss == POWER_KILLED || loss == POWER_KILLED_TORN)
        return;
    if (loss == POWER_CUT_UNDONE || loss == POWER_ZEROED_UNDONE)
        undo_changes();
    loss_now = loss;
    must(nftw(folder, visit, 8, FTW_PHYS) == 0, folder);
}
