/* A folder's files as they lie: CI's own checkout. Nothing is ever written there. A path is opened part by
 * part without following links (links.c did that already), so a link that appears in between can't lead out.
 */
#include "base/files.h"
#include "repository/reader.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct directory {
    int root;
    char *path; /* owned */
    int64_t max_file_bytes;
    int folder;        /* of the file that was read last: most of the next ones lie beside it; -1: none */
    char *folder_path; /* owned */
};

static void directory_free(void *data)
{
    struct directory *directory = data;
    if (directory == NULL)
        return;
    if (directory->root >= 0)
        close(directory->root);
    if (directory->folder >= 0)
        close(directory->folder);
    free(directory->folder_path);
    free(directory->path);
    free(directory);
}

static void folder_close_cleanup(DIR **folder)
{
    if (*folder != NULL)
        closedir(*folder);
}

static enum entry_type type_of(mode_t mode)
{
    return S_ISREG(mode)   ? ENTRY_FILE
           : S_ISDIR(mode) ? ENTRY_FOLDER
           : S_ISLNK(mode) ? ENTRY_LINK
                           : ENTRY_OTHER;
}

/* Git's own files are no part of what a commit would hold. */
static bool is_git_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash == NULL ? path : slash + 1, ".git") == 0;
}

static int missing(const char *path, struct err *e)
{
    return err_set(e, ERR_NOT_FOUND, "%s does not exist", path);
}

static int system_error(const char *path, struct err *e)
{
    int number = errno;
    if (number == ENOENT || number == ENOTDIR || number == ENAMETOOLONG)
        return missing(path, e);
    return err_set(e, number == ENOMEM ? ERR_MEMORY : ERR_REPOSITORY, "can't read %s: %s", path,
                   strerror(number));
}

static int directory_look(void *data, const char *path, enum entry_type *type, char target[PATH_MAX],
                          struct err *e)
{
    const struct directory *directory = data;
    struct stat status;
    if (is_git_folder(path))
        return missing(path, e);
    size_t length = strlen(path);
    if (directory->folder >= 0 && strncmp(directory->folder_path, path, length) == 0 &&
        (directory->folder_path[length] == '/' || directory->folder_path[length] == '\0')) {
        *type = ENTRY_FOLDER; /* the open folder, or one on the way to it */
        return 0;
    }
    if (fstatat(directory->root, path, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return system_error(path, e);
    *type = type_of(status.st_mode);
    if (*type != ENTRY_LINK)
        return 0;
    ssize_t got = readlinkat(directory->root, path, target, PATH_MAX - 1);
    if (got < 0)
        return system_error(path, e);
    target[got] = '\0';
    return 0;
}

/* -1 with errno. */
static int open_part_by_part(int root, const char *path, int flags)
{
    int file = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (file >= 0 && path[0] != '\0') {
        char part[PATH_MAX];
        size_t length = strcspn(path, "/");
        memcpy(part, path, length);
        part[length] = '\0';
        path += length;
        bool is_last = path[0] == '\0';
        path += is_last ? 0 : 1;
        int next = openat(file, part, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | (is_last ? flags : O_DIRECTORY));
        int number = errno;
        close(file);
        errno = number;
        file = next;
    }
    return file;
}

/* -1 with errno. */
static int open_file(struct directory *directory, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    size_t length = slash == NULL ? 0 : (size_t)(slash - path);
    if (directory->folder < 0 || strncmp(directory->folder_path, path, length) != 0 ||
        directory->folder_path[length] != '\0') {
        char *folder_path = strndup(path, length);
        int folder = folder_path == NULL ? -1 : open_part_by_part(directory->root, folder_path, O_DIRECTORY);
        if (folder < 0) {
            int number = errno;
            free(folder_path);
            errno = number;
            return -1;
        }
        if (directory->folder >= 0)
            close(directory->folder);
        free(directory->folder_path);
        directory->folder = folder;
        directory->folder_path = folder_path;
    }
    /* Not to wait for a writer, should this be a pipe. */
    return openat(directory->folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

static int directory_read(void *data, const char *path, struct buf *out, struct err *e)
{
    struct directory *directory = data;
    CLEANUP(file_close_cleanup) int file = open_file(directory, path);
    struct stat status;
    if (file < 0 || fstat(file, &status) < 0)
        return system_error(path, e);
    if (!S_ISREG(status.st_mode))
        return err_set(e, ERR_REPOSITORY, "%s is not a file", path);
    if (reader_check_size(path, (uint64_t)status.st_size, directory->max_file_bytes, out, e) < 0)
        return -1;
    /* A file that grows while it is read is cut at the size that was checked. */
    uint64_t left = (uint64_t)status.st_size;
    char slice[32 * 1024];
    while (left > 0) {
        ssize_t got = read(file, slice, left < sizeof slice ? (size_t)left : sizeof slice);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return system_error(path, e);
        if (got == 0)
            break;
        if (buf_add(out, slice, (size_t)got, e) < 0)
            return -1;
        left -= (uint64_t)got;
    }
    return buf_add(out, "", 0, e);
}

static int add_entry(const struct directory *directory, const char *folder, const struct dirent *found,
                     struct arena *arena, struct repository_entry **entries, size_t *count, size_t *capacity,
                     struct err *e)
{
    if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0 || is_git_folder(found->d_name))
        return 0;
    char path[PATH_MAX];
    struct stat status;
    if (snprintf(path, sizeof path, "%s%s%s", folder, folder[0] == '\0' ? "" : "/", found->d_name) >=
            (int)sizeof path ||
        fstatat(directory->root, path, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return 0; /* went away in between, or can't be named: not there */
    struct repository_entry *entry = ARENA_PUSH(arena, entries, count, capacity, e);
    if (entry == NULL)
        return -1;
    entry->name = arena_strdup(arena, found->d_name, e);
    entry->type = type_of(status.st_mode);
    return entry->name == NULL ? -1 : 0;
}

static int directory_list(void *data, const char *folder, struct arena *arena,
                          struct repository_entry **entries, size_t *count, struct err *e)
{
    const struct directory *directory = data;
    int file = open_part_by_part(directory->root, folder, O_DIRECTORY);
    CLEANUP(folder_close_cleanup) DIR *stream = file < 0 ? NULL : fdopendir(file);
    if (stream == NULL) {
        system_error(folder[0] == '\0' ? "the folder" : folder, e);
        if (file >= 0)
            close(file);
        return -1;
    }
    size_t capacity = 0;
    *entries = NULL;
    *count = 0;
    for (;;) {
        errno = 0;
        const struct dirent *found = readdir(stream);
        if (found == NULL)
            return errno == 0 ? 0 : system_error(folder, e);
        if (add_entry(directory, folder, found, arena, entries, count, &capacity, e) < 0)
            return -1;
    }
}

static int changes_of(void *data, const char *since, struct arena *arena, struct string_list *out,
                      struct err *e)
{
    const struct directory *directory = data;
    return directory_changes(directory->path, since, arena, out, e);
}

int directory_reader_open(const struct repository_options *options, struct reader *out, struct err *e)
{
    static const struct reader_ops ops = {.list = directory_list,
                                          .read = directory_read,
                                          .look = directory_look,
                                          .changes = changes_of,
                                          .free = directory_free};
    int root = open(options->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return err_set(e, ERR_REPOSITORY, "can't open the folder %s: %s", options->directory,
                       strerror(errno));
    struct directory *directory = malloc(sizeof *directory);
    char *path = strdup(options->directory);
    if (directory == NULL || path == NULL) {
        close(root);
        free(directory);
        free(path);
        return err_set(e, ERR_MEMORY, "out of memory");
    }
    *directory = (struct directory){
        .root = root, .path = path, .max_file_bytes = options->max_file_bytes, .folder = -1};
    *out = (struct reader){.ops = &ops, .data = directory};
    return 0;
}
