/* LD_PRELOAD shim for the end-to-end tests: kills the process (SIGKILL) just before the n-th call that writes
 * to the disk, as a power cut does to a program. Counted are the same calls as in fail_write_preload.c, and
 * unlink.
 *
 *   TENDER_CRASH_PATH        absolute folder whose files count; unset: the shim does nothing
 *   TENDER_CRASH_WRITE       at which call, from 1; 0 or unset: never, they are only counted
 *   TENDER_CRASH_COUNT_FILE  at a regular end, how many calls there were is written here */
#undef _FILE_OFFSET_BITS /* else pwrite() and pwrite64() would be one name */
#include "preload_wrappers.h"
#include <signal.h>

static atomic_long calls;

static const char *folder(void)
{
    return getenv("TENDER_CRASH_PATH");
}

static bool before_call(void)
{
    const char *wanted = getenv("TENDER_CRASH_WRITE");
    long nth = wanted == NULL ? 0 : strtol(wanted, NULL, 10);
    if (atomic_fetch_add(&calls, 1) + 1 == nth)
        kill(getpid(), SIGKILL);
    return false;
}

int unlink(const char *path)
{
    return fails_for_path(path) ? -1 : REAL(unlink)(path);
}

int unlinkat(int from_folder, const char *path, int flags)
{
    return fails_for_path(path) ? -1 : REAL(unlinkat)(from_folder, path, flags);
}

__attribute__((destructor)) static void at_end(void)
{
    if (folder() != NULL)
        tell_count("TENDER_CRASH_COUNT_FILE", atomic_load(&calls));
}
