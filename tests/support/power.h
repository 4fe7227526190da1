/* A machine that can lose its power: calls that change the disk are counted, the n-th can kill the process,
 * and what was not synced by then can be taken away again. For one test program, which links with -Wl,--wrap
 * for write, pwrite64, fsync, fdatasync, ftruncate64, rename and unlink (tests/unit/CMakeLists.txt). */
#ifndef TENDER_TESTS_POWER_H
#define TENDER_TESTS_POWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Everything that a power cut may do besides ending the process. */
enum power_loss {
    POWER_KILLED,      /* nothing: the process alone died */
    POWER_KILLED_TORN, /* the same, in the middle of a write */
    POWER_CUT,         /* files end where they were last synced */
    POWER_ZEROED,      /* … or have zeros behind that */
    POWER_CUT_UNDONE,  /* … and renames and unlinks without a sync of their folder never were */
    POWER_ZEROED_UNDONE,
    POWER_LOST_SIDECARS, /* files that were made without a sync of their folder are gone: the sidecars … */
    POWER_LOST_PARTIALS, /* … or the partials */
};
enum { POWER_LOSSES = POWER_LOST_PARTIALS + 1 };

/* The record lives in memory that children share. Once per program; `undo_folder` on the same file system. */
void power_init(const char *undo_folder);
/* Forgets the record, and empties the undo folder. */
void power_forget(void);
/* In the child: counts from now on, kills it at the n-th call (0: never). */
void power_start(long nth, enum power_loss loss);
/* Planted bug: syncs of files are not done, though the program believes it. */
void power_lie_about_syncs(bool lies);
/* Calls so far. */
long power_calls(void);
/* In the parent, once the child is dead: makes the folder what the disk would hold. */
void power_cut(const char *folder, enum power_loss loss);

#endif
