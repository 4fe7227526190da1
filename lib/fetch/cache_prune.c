/* Keeps the cache within its limit: what is in use stays, what was unused longest goes first. */
#include "base/files.h"
#include "base/text.h"
#include "fetch/cache.h"
#include "fetch/fetch.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    OLD_PARTIAL_SECONDS = 7 * 24 * 3600,
    OLD_TEMPORARY_SECONDS = 3600,
    LONGEST_USE_SECONDS = 24 * 3600 /* what another process may still have in hand */
};

struct entry {
    struct timespec used;
    uint64_t bytes;
    bool is_partial;
    char name[DIGEST_HEX_BYTES + 8]; /* a package's digest, or a partial's name without ".part" */
};

struct entry_list {
    size_t count, capacity;
    struct entry *items;
    uint64_t bytes;
};

/* Calls `visit` for each name in a folder that is there. */
static int each_name(const char *folder,
                     int (*visit)(void *context, const char *folder, const char *name, struct err *e),
                     void *context, struct err *e)
{
    DIR *names = opendir(folder);
    if (names == NULL)
        return errno == ENOENT || errno == ENOTDIR ? 0 : err_set_errno(e, "can't open folder %s", folder);
    int result = 0;
    for (const struct dirent *entry; result == 0 && (entry = readdir(names)) != NULL;)
        if (entry->d_name[0] != '.')
            result = visit(context, folder, entry->d_name, e);
    closedir(names);
    return result;
}

/* A name on its way when its process was killed; one that is still alive needs no hour for it. */
static bool drop_old_temporary(const char *path, const char *name)
{
    struct stat status;
    return strstr(name, ".tmp") != NULL && lstat(path, &status) == 0 &&
           time(NULL) - status.st_mtime >= OLD_TEMPORARY_SECONDS && unlink(path) == 0;
}

static int push_entry(struct entry_list *list, const struct entry *entry, struct err *e)
{
    if (list->count == list->capacity) {
        size_t grown = list->capacity == 0 ? 64 : list->capacity * 2;
        struct entry *items = realloc(list->items, grown * sizeof *items);
        if (items == NULL)
            return err_set(e, ERR_MEMORY, "out of memory");
        list->items = items;
        list->capacity = grown;
    }
    list->items[list->count++] = *entry;
    list->bytes += entry->bytes;
    return 0;
}

static int add_entry(void *context, const char *folder, const char *name, struct err *e)
{
    char path[PATH_MAX];
    struct stat status;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path ||
        drop_old_temporary(path, name) || !digest_is_hex(name) || lstat(path, &status) < 0 ||
        !S_ISREG(status.st_mode))
        return 0;
    struct entry entry = {.used = status.st_mtim, .bytes = (uint64_t)status.st_size};
    memcpy(entry.name, name, DIGEST_HEX_BYTES);
    return push_entry(context, &entry, e);
}

/* What is not whole yet takes room as well. */
static int add_partial(void *context, const char *folder, const char *name, struct err *e)
{
    char path[PATH_MAX];
    struct stat status;
    struct entry entry = {.is_partial = true};
    size_t length = strlen(name);
    if (!text_ends_with(name, ".part") || length - 5 >= sizeof entry.name ||
        snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path || lstat(path, &status) < 0 ||
        !S_ISREG(status.st_mode))
        return 0;
    memcpy(entry.name, name, length - 5);
    entry.used = status.st_mtim;
    entry.bytes = (uint64_t)status.st_size;
    return push_entry(context, &entry, e);
}

static int add_folder(void *context, const char *folder, const char *name, struct err *e)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return 0;
    return each_name(path, add_entry, context, e);
}

/* A sidecar whose partial is in the cache already: the process was killed in between. Whoever works on a
 * partial has its file first. */
static bool is_widowed(const char *folder, const char *name)
{
    char partial[PATH_MAX];
    const char *about = strstr(name, ".about");
    struct stat status;
    return about != NULL &&
           snprintf(partial, sizeof partial, "%s/%.*s.part", folder, (int)(about - name), name) <
               (int)sizeof partial &&
           lstat(partial, &status) < 0 && errno == ENOENT;
}

/* One that another process works on is locked, and stays. */
static int drop_old_partial(void *context, const char *folder, const char *name, struct err *e)
{
    const struct log *log = context;
    char path[PATH_MAX];
    struct stat status;
    (void)e;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path || lstat(path, &status) < 0)
        return 0;
    if (!is_widowed(folder, name) && !drop_old_temporary(path, name) &&
        time(NULL) - status.st_mtime < OLD_PARTIAL_SECONDS)
        return 0;
    CLEANUP(file_close_cleanup) int lock = -1;
    struct err ignored;
    err_init(&ignored);
    if (text_ends_with(name, ".part") && file_lock(path, &lock, &ignored) < 0)
        return 0;
    if (unlink(path) == 0 && !text_ends_with(name, ".about"))
        log_info(log, "prune", "removed the old partial download %s", name);
    return 0;
}

static int compare_use(const void *a, const void *b)
{
    const struct timespec *first = &((const struct entry *)a)->used;
    const struct timespec *second = &((const struct entry *)b)->used;
    if (first->tv_sec != second->tv_sec)
        return first->tv_sec < second->tv_sec ? -1 : 1;
    return (first->tv_nsec > second->tv_nsec) - (first->tv_nsec < second->tv_nsec);
}

/* What is to be reached, and what must stay. */
struct pruning {
    const char *cache_dir;
    uint64_t max_bytes;  /* 0: no limit */
    uint64_t free_bytes; /* on the volume; 0: any */
    const char *const *in_use;
    size_t in_use_count;
    time_t used_before;
    const struct log *log;
};

/* A partial is named by the digest of its bytes, or of its URL. */
static bool is_in_use(const struct pruning *pruning, const struct entry *entry)
{
    bool is_of_url = entry->is_partial && text_starts_with(entry->name, "url-");
    for (size_t i = 0; i < pruning->in_use_count; i++)
        if (text_equal(entry->name + (is_of_url ? 4 : 0), pruning->in_use[i]))
            return true;
    return false;
}

/* Locked in the given way; -1: it can't be. */
static int lock_cache(const char *cache_dir, int how)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/lock", cache_dir) >= (int)sizeof path)
        return -1;
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file >= 0 && flock(file, how) == 0)
        return file;
    if (file >= 0)
        close(file);
    return -1;
}

int fetch_hold_cache(const char *cache_dir)
{
    struct err ignored;
    err_init(&ignored);
    if (folder_make(cache_dir, &ignored) < 0)
        return -1;
    return lock_cache(cache_dir, LOCK_SH);
}

static bool is_reached(const struct pruning *pruning, const struct entry_list *list)
{
    uint64_t free_bytes = UINT64_MAX;
    struct err ignored;
    err_init(&ignored);
    if (pruning->free_bytes > 0 && folder_free_bytes(pruning->cache_dir, &free_bytes, &ignored) < 0)
        return true;
    return (pruning->max_bytes == 0 || list->bytes <= pruning->max_bytes) &&
           free_bytes >= pruning->free_bytes;
}

/* False: somebody works on it. */
static bool remove_entry(const struct pruning *pruning, const struct entry *entry)
{
    char path[PATH_MAX];
    struct err ignored;
    err_init(&ignored);
    CLEANUP(file_close_cleanup) int lock = -1;
    if (!entry->is_partial) {
        cache_remove(pruning->cache_dir, entry->name);
        return true;
    }
    snprintf(path, sizeof path, "%s/partial/%s.part", pruning->cache_dir, entry->name);
    if (file_lock(path, &lock, &ignored) < 0)
        return false;
    unlink(path);
    snprintf(path, sizeof path, "%s/partial/%s.about", pruning->cache_dir, entry->name);
    unlink(path);
    return true;
}

static void remove_unused(const struct pruning *pruning, struct entry_list *list)
{
    char size[TEXT_SIZE_BYTES];
    if (list->count > 0)
        qsort(list->items, list->count, sizeof *list->items, compare_use);
    for (size_t i = 0; i < list->count && !is_reached(pruning, list); i++) {
        const struct entry *entry = &list->items[i];
        if (is_in_use(pruning, entry))
            continue;
        if (entry->used.tv_sec > pruning->used_before) {
            log_info(pruning->log, "prune",
                     "another process works with the cache; it stays above its limit for now");
            return;
        }
        if (!remove_entry(pruning, entry))
            continue;
        list->bytes -= entry->bytes;
        log_info(pruning->log, "prune", "removed %s%.16s… (%s) from the cache",
                 entry->is_partial ? "the partial download " : "", entry->name,
                 text_size(entry->bytes, size));
    }
}

/* Nobody else at work: whatever is not in use may go. */
static time_t used_before(bool is_alone)
{
    return is_alone ? (time_t)INT64_MAX : time(NULL) - LONGEST_USE_SECONDS;
}

static int prune_entries(const struct pruning *pruning, struct err *e)
{
    char folder[PATH_MAX];
    struct entry_list list = {0};
    if (snprintf(folder, sizeof folder, "%s/sha256", pruning->cache_dir) >= (int)sizeof folder)
        return err_set(e, ERR_SYSTEM, "path too long: %s", pruning->cache_dir);
    int result = each_name(folder, add_folder, &list, e);
    snprintf(folder, sizeof folder, "%s/partial", pruning->cache_dir);
    if (result == 0)
        result = each_name(folder, add_partial, &list, e);
    if (result == 0)
        remove_unused(pruning, &list);
    free(list.items);
    return result;
}

int fetch_prune_cache(const char *cache_dir, uint64_t max_bytes, const char *const *in_use,
                      size_t in_use_count, const struct log *log, struct err *e)
{
    char folder[PATH_MAX];
    CLEANUP(file_close_cleanup) int lock = lock_cache(cache_dir, LOCK_EX | LOCK_NB);
    const struct pruning pruning = {.cache_dir = cache_dir,
                                    .max_bytes = max_bytes,
                                    .in_use = in_use,
                                    .in_use_count = in_use_count,
                                    .used_before = used_before(lock >= 0),
                                    .log = log};
    if (snprintf(folder, sizeof folder, "%s/partial", cache_dir) >= (int)sizeof folder)
        return err_set(e, ERR_SYSTEM, "path too long: %s", cache_dir);
    if (each_name(folder, drop_old_partial, (void *)(uintptr_t)log, e) < 0)
        return -1;
    return prune_entries(&pruning, e);
}

int fetch_make_room(const char *cache_dir, int hold, uint64_t free_bytes, const char *const *in_use,
                    size_t in_use_count, const struct log *log, struct err *e)
{
    bool is_alone = hold >= 0 && flock(hold, LOCK_EX | LOCK_NB) == 0;
    const struct pruning pruning = {.cache_dir = cache_dir,
                                    .free_bytes = free_bytes,
                                    .in_use = in_use,
                                    .in_use_count = in_use_count,
                                    .used_before = used_before(is_alone),
                                    .log = log};
    int result = prune_entries(&pruning, e);
    if (hold >= 0)
        (void)flock(hold, LOCK_SH); /* a change that fails may have lost it */
    return result;
}
