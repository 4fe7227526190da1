/* The memory of former runs in one SQLite file (journal_mode=TRUNCATE). A corrupt or foreign file is set
 * aside (state.db.corrupt-N) and made anew, which log tells as a warning. Writes are batched: state_commit()
 * at stage ends. Everything is keyed by the Fleet server's URL. */
#ifndef TENDER_STATE_STATE_H
#define TENDER_STATE_STATE_H

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "model/memory.h"
#include "model/outcome.h"

struct state;

/* `read_only`: for plan, fetch, show beside a running apply; a missing file is an empty memory. Mode 0600. */
struct state *state_open(const char *state_dir, const char *fleet_url, bool read_only, const struct log *log,
                         struct err *e) MUST_CHECK;
void state_close(struct state *state); /* commits what is pending */
void state_cleanup(struct state **state);

int state_load(struct state *state, struct arena *arena, struct memory *out, struct err *e) MUST_CHECK;
/* The sink that the stages tell what they learn. A failing write is logged once and kept for state_commit. */
struct memory_sink state_sink(struct state *state);
int state_commit(struct state *state, struct err *e) MUST_CHECK;
/* Adds the run to the history (the newest 1,000 are kept). */
int state_record_run(struct state *state, const struct run_report *report, struct err *e) MUST_CHECK;

#endif
