/* The only module that knows all stages. Read reconcile.c from top to bottom for the way of the data:
 *
 *     repository ─► manifest ─► desired ─┐
 *     Fleet ─────────────────► observed ─┴► plan ─► fetch ─► plan ─► deliver ─► report */
#ifndef TENDER_RECONCILE_RECONCILE_H
#define TENDER_RECONCILE_RECONCILE_H

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "fetch/fetch.h"
#include "model/outcome.h"
#include "model/settings.h"
#include "net/loop.h"

enum reconcile_until {
    RECONCILE_SETTINGS,  /* complete the settings from tender.yml (config) */
    RECONCILE_MANIFESTS, /* read the manifests (validate, show) */
    RECONCILE_PLAN,      /* … and plan: the dry run */
    RECONCILE_FETCH,     /* read the manifests and fetch every package */
    RECONCILE_APPLY,     /* everything */
};

/* The world, as arguments. */
struct reconcile_world {
    struct loop *loop;
    const struct clock *clock;
    const struct jitter *jitter;
    const struct log *log;
    const char *tender_version;
    const char *(*variable)(void *context, const char *name); /* the environment for manifests */
    void *variable_context;
    bool (*setting_is_given)(
        void *context, const char *name); /* by a flag or the environment: tender.yml does not change it */
    void *setting_context;
    void (*progress)(void *context, const struct fetch_progress *progress); /* may be NULL */
    void *progress_context;
};

/* Takes the lock that `apply` and `run` hold on the state folder (made if missing): ERR_LOCKED if another
 * process has it. It is held as long as *file is open. */
int reconcile_lock(const struct settings *settings, int *file, struct err *e) MUST_CHECK;

/* One run. `settings` is completed from tender.yml. `report` and `desired` are filled as far as the run came,
 * in the arena, also on failure (report->failure), so the caller always has something to write. Returns
 * report->exit_status. */
int reconcile_run(const struct reconcile_world *world, enum reconcile_until until, const char *command,
                  struct settings *settings, struct arena *arena, struct desired *desired,
                  struct run_report *report);

#endif
