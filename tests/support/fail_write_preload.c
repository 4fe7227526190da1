/* LD_PRELOAD shim for the end-to-end tests: makes the n-th call that writes to the disk fail, as a full or
 * broken disk does. Counted are write, pwrite, writev, fsync, fdatasync, ftruncate and rename of files under
 * one folder.
 *
 *   TENDER_FAIL_PATH        absolute folder whose files count; unset: the shim does nothing
 *   TENDER_FAIL_WRITE       which call fails, from 1; 0 or unset: none, they are only counted
 *   TENDER_FAIL_ALWAYS      set: all calls behind it fail too (a disk that stays full)
 *   TENDER_FAIL_ERRNO       ENOSPC (the default), EIO, EDQUOT or EROFS
 *   TENDER_FAIL_COUNT_FILE  at the process's end, how many calls there were is written here */
#undef _FILE_OFFSET_BITS /* else pwrite() and pwrite64() would be one name */
#include "preload_wrappers.h"

static atomic_long calls;

static const char *folder(void)
{
    return getenv("TENDER_FAIL_PATH");
}

static int chosen_errno(void)
{
    static const struct {
        const char *name;
        int number;
    } names[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO}, {"EDQUOT", EDQUOT}, {"EROFS", EROFS}};
    const char *name = getenv("TENDER_FAIL_ERRNO");
    for (size_t i = 0; name != NULL && i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i].name) == 0)
            return names[i].number;
    return ENOSPC;
}

static bool before_call(void)
{
    const char *wanted = getenv("TENDER_FAIL_WRITE");
    long nth = wanted == NULL ? 0 : strtol(wanted, NULL, 10);
    long number = atomic_fetch_add(&calls, 1) + 1;
    if (nth <= 0 || number < nth || (number > nth && getenv("TENDER_FAIL_ALWAYS") == NULL))
        return false;
    errno = chosen_errno();
    return true;
}

__attribute__((destructor)) static void at_end(void)
{
    if (folder() != NULL)
        tell_count("TENDER_FAIL_COUNT_FILE", atomic_load(&calls));
}
