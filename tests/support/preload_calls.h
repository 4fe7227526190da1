/* For the two shims fail_write_preload.c and crash_preload.c: they are loaded with LD_PRELOAD into the real
 * binary and look at each call that writes to the disk. This file counts the calls about files under one
 * folder, in all threads of one process. Included once by each shim. */
#ifndef TENDER_TESTS_PRELOAD_CALLS_H
#define TENDER_TESTS_PRELOAD_CALLS_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* Yields the function that the program would have called without the shim. */
#define REAL(name) ((__typeof__(&name))real_function(#name))

static void *real_function(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (function == NULL)
        abort();
    return function;
}

static bool is_under(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* Whether the path, made absolute but not resolved, lies under the folder. */
static bool path_counts(const char *path, const char *folder)
{
    char absolute[PATH_MAX * 2];
    char current[PATH_MAX];
    if (path[0] == '/' || getcwd(current, sizeof current) == NULL)
        return is_under(path, folder);
    snprintf(absolute, sizeof absolute, "%s/%s", current, path);
    return is_under(absolute, folder);
}

/* Whether the open file has a name under the folder; pipes, sockets and terminals have none. */
static bool file_counts(int file, const char *folder)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0)
        return false;
    path[length] = '\0';
    return is_under(path, folder);
}

/* Writes the number into the file whose name the variable holds, past the shim's own counting. */
static void tell_count(const char *variable, long count)
{
    const char *path = getenv(variable);
    if (path == NULL)
        return;
    int file = REAL(open)(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        return;
    char text[32];
    int length = snprintf(text, sizeof text, "%ld\n", count);
    if (REAL(write)(file, text, (size_t)length) != length)
        abort();
    close(file);
}

#endif
