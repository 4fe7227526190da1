/* The wrapped calls themselves: each asks the shim's before_call(name, counts), which may end the process or
 * say that the call is to fail (errno is set). Included once by each shim, behind before_call() and folder().
 */
#ifndef TENDER_TESTS_PRELOAD_WRAPPERS_H
#define TENDER_TESTS_PRELOAD_WRAPPERS_H

#include "preload_calls.h"

/* true: the call is to fail. */
static bool before_call(void);
/* NULL: the shim is not in use. */
static const char *folder(void);

static bool fails_for_file(int file)
{
    int number = errno;
    bool fails = folder() != NULL && file_counts(file, folder());
    errno = number;
    return fails && before_call();
}

static bool fails_for_path(const char *path)
{
    int number = errno;
    bool fails = folder() != NULL && path_counts(path, folder());
    errno = number;
    return fails && before_call();
}

ssize_t write(int file, const void *bytes, size_t length)
{
    return fails_for_file(file) ? -1 : REAL(write)(file, bytes, length);
}

ssize_t pwrite(int file, const void *bytes, size_t length, off_t offset)
{
    return fails_for_file(file) ? -1 : REAL(pwrite)(file, bytes, length, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t offset)
{
    return fails_for_file(file) ? -1 : REAL(pwrite64)(file, bytes, length, offset);
}

ssize_t writev(int file, const struct iovec *parts, int count)
{
    return fails_for_file(file) ? -1 : REAL(writev)(file, parts, count);
}

int fsync(int file)
{
    return fails_for_file(file) ? -1 : REAL(fsync)(file);
}

int fdatasync(int file)
{
    return fails_for_file(file) ? -1 : REAL(fdatasync)(file);
}

int ftruncate(int file, off_t length)
{
    return fails_for_file(file) ? -1 : REAL(ftruncate)(file, length);
}

int ftruncate64(int file, off64_t length)
{
    return fails_for_file(file) ? -1 : REAL(ftruncate64)(file, length);
}

int rename(const char *from, const char *to)
{
    return fails_for_path(to) ? -1 : REAL(rename)(from, to);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    return fails_for_path(to) ? -1 : REAL(renameat)(from_folder, from, to_folder, to);
}

#endif
