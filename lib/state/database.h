/* The state's SQLite file, for this folder only. */
#ifndef TENDER_STATE_DATABASE_H
#define TENDER_STATE_DATABASE_H

#include "state/state.h"
#include <sqlite3.h>

struct state {
    sqlite3 *database; /* NULL: nothing is remembered and nothing is written */
    char *path;
    char *server;      /* the Fleet server that everything belongs to */
    int64_t server_id; /* 0: the server is not in the file yet */
    bool read_only;
    bool in_transaction;
    const struct log *log;
    struct err pending; /* the first write that failed since the last commit */
};

enum {
    STATE_MAX_RUNS = 1000,
    STATE_MAX_VALIDATORS = 20000,
    STATE_MAX_DEFAULTS = 100000,
    STATE_MAX_ITEMS = 500000
};

/* Opens or makes the file; sets aside what is no state of ours. */
int database_open(struct state *state, struct err *e) MUST_CHECK;
/* The file turned out to be corrupt: renamed, and made anew. */
int database_start_over(struct state *state, const char *why, struct err *e) MUST_CHECK;
bool database_is_corrupt(int code);
int database_run(sqlite3 *database, const char *sql, struct err *e) MUST_CHECK;
int database_prepare(struct state *state, const char *sql, sqlite3_stmt **out, struct err *e) MUST_CHECK;
void statement_cleanup(sqlite3_stmt **statement);
/* Runs a statement that gives no rows. */
int statement_finish(struct state *state, sqlite3_stmt *statement, struct err *e) MUST_CHECK;
/* The first write since the last commit begins a transaction. */
int database_begin(struct state *state, struct err *e) MUST_CHECK;

#endif
