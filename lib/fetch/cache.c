/* Where packages lie between the vendor and Fleet. An entry appears by rename only, whole and synced, under
 * the digest that was computed from its bytes. */
#include "fetch/cache.h"
#include "base/files.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int join(char out[PATH_MAX], struct err *e, const char *folder, const char *name)
{
    if (snprintf(out, PATH_MAX, "%s/%s", folder, name) >= PATH_MAX)
        return err_set(e, ERR_SYSTEM, "path too long: %s/%s", folder, name);
    return 0;
}

int cache_set_aside(const char *path, struct err *e)
{
    char aside[PATH_MAX];
    for (int number = 1; number < 1000; number++) {
        struct stat status;
        if (snprintf(aside, sizeof aside, "%s.set-aside-%d", path, number) >= (int)sizeof aside)
            return err_set(e, ERR_SYSTEM, "path too long: %s", path);
        if (lstat(aside, &status) == 0)
            continue;
        if (rename(path, aside) == 0 || errno == ENOENT) /* another process may have been faster */
            return 0;
        return err_set_errno(e, "can't set %s aside", path);
    }
    return err_set(e, ERR_SYSTEM, "too much was set aside beside %s; remove it", path);
}

static int prepare_folder(const char *cache_dir, const char *name, struct err *e)
{
    char path[PATH_MAX];
    struct stat status;
    if (join(path, e, cache_dir, name) < 0)
        return -1;
    if (stat(path, &status) == 0 && !S_ISDIR(status.st_mode) && cache_set_aside(path, e) < 0)
        return -1;
    return folder_make(path, e);
}

int cache_prepare(const char *cache_dir, struct err *e)
{
    if (prepare_folder(cache_dir, "sha256", e) < 0 || prepare_folder(cache_dir, "partial", e) < 0)
        return err_prefix(e, "cache");
    return 0;
}

int cache_path(const char *cache_dir, const char *sha256, char out[PATH_MAX], struct err *e)
{
    if (snprintf(out, PATH_MAX, "%s/sha256/%.2s/%s", cache_dir, sha256, sha256) >= PATH_MAX)
        return err_set(e, ERR_SYSTEM, "path too long: %s", cache_dir);
    return 0;
}

bool cache_has(const char *cache_dir, const char *sha256, uint64_t *size_bytes)
{
    char path[PATH_MAX];
    struct stat status;
    struct err ignored;
    err_init(&ignored);
    if (cache_path(cache_dir, sha256, path, &ignored) < 0 || lstat(path, &status) < 0 ||
        !S_ISREG(status.st_mode))
        return false;
    if (size_bytes != NULL)
        *size_bytes = (uint64_t)status.st_size;
    return true;
}

void cache_touch(const char *cache_dir, const char *sha256)
{
    char path[PATH_MAX];
    struct err ignored;
    err_init(&ignored);
    /* A cache that can't be written is as good for reading. */
    if (cache_path(cache_dir, sha256, path, &ignored) == 0)
        (void)utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
}

void cache_commit_begin(struct cache_commit *commit, const char *cache_dir)
{
    *commit = (struct cache_commit){.cache_dir = cache_dir};
}

static void note_unsynced(struct cache_commit *commit, const char *sha256)
{
    char digits[3] = {sha256[0], sha256[1], '\0'};
    commit->folder_is_unsynced[strtoul(digits, NULL, 16) & 0xFF] = true;
    commit->unsynced++;
}

int cache_commit_file(struct cache_commit *commit, const char *file_path, const char *sha256, struct err *e)
{
    char path[PATH_MAX], folder[PATH_MAX];
    if (cache_path(commit->cache_dir, sha256, path, e) < 0)
        return -1;
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    int result = rename(file_path, path);
    if (result < 0 && errno == ENOENT) { /* the first digest of its folder */
        if (mkdir(folder, 0700) == 0)
            commit->has_new_folder = true;
        else if (errno != EEXIST)
            return err_set_errno(e, "can't make folder %s", folder);
        result = rename(file_path, path);
    }
    if (result < 0 && errno == EISDIR) {
        if (cache_set_aside(path, e) < 0)
            return -1;
        result = rename(file_path, path);
    }
    if (result < 0)
        return err_set_errno(e, "can't rename %s to %s", file_path, path);
    note_unsynced(commit, sha256);
    return 0;
}

/* The folder `name` of the cache. */
static int sync_folder(const struct cache_commit *commit, const char *name, struct err *e)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s/x", commit->cache_dir, name) >= (int)sizeof path)
        return err_set(e, ERR_SYSTEM, "path too long: %s", commit->cache_dir);
    return file_sync_folder_of(path, e);
}

int cache_commit_sync(struct cache_commit *commit, struct err *e)
{
    int result = 0;
    char name[16];
    if (commit->unsynced == 0)
        return 0;
    if (commit->has_new_folder)
        result = sync_folder(commit, "sha256", e);
    for (unsigned i = 0; i < ARRAY_LENGTH(commit->folder_is_unsynced) && result == 0; i++) {
        snprintf(name, sizeof name, "sha256/%02x", i);
        if (commit->folder_is_unsynced[i])
            result = sync_folder(commit, name, e);
    }
    if (result == 0)
        result = sync_folder(commit, "partial", e);
    cache_commit_begin(commit, commit->cache_dir);
    return result;
}

static bool name_path(const char *cache_dir, const char *sha256, char out[PATH_MAX])
{
    return snprintf(out, PATH_MAX, "%s/sha256/%.2s/%s.name", cache_dir, sha256, sha256) < PATH_MAX;
}

void cache_remove(const char *cache_dir, const char *sha256)
{
    char path[PATH_MAX];
    struct err ignored;
    err_init(&ignored);
    if (cache_path(cache_dir, sha256, path, &ignored) == 0)
        unlink(path);
    if (name_path(cache_dir, sha256, path))
        unlink(path);
}

void cache_set_name(const char *cache_dir, const char *sha256, const char *file_name)
{
    char path[PATH_MAX];
    struct err ignored;
    err_init(&ignored);
    if (name_path(cache_dir, sha256, path))
        (void)!file_write_unsynced(path, file_name, strlen(file_name), 0600, &ignored);
}

bool cache_name(const char *cache_dir, const char *sha256, char *out, size_t size)
{
    char path[PATH_MAX];
    struct buf text = BUF_INIT(size - 1);
    struct err ignored;
    err_init(&ignored);
    bool is_known =
        name_path(cache_dir, sha256, path) && file_read(path, &text, &ignored) == 0 && text.length > 0;
    if (is_known)
        memcpy(out, text.bytes, text.length + 1);
    buf_done(&text);
    return is_known;
}
