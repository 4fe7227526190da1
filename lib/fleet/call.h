/* One call of Fleet's API: the request, its retries, what came of it. Between the files of fleet/ only.
 *
 * A read is repeated by settings.retry as long as the trouble may pass. A write goes out on a connection of
 * its own and is repeated only where it is sure that the server did not act on it; where the answer was lost
 * the call ends as CALL_UNKNOWN, and call_write() looks before it repeats. */
#ifndef TENDER_FLEET_CALL_H
#define TENDER_FLEET_CALL_H

#include "fleet/codec.h"
#include "fleet/fleet.h"

enum call_end {
    CALL_PENDING,
    CALL_DONE,    /* 2xx; `answer` is the body */
    CALL_REFUSED, /* the server (or what stands before it) said no; `err` says why */
    CALL_UNKNOWN, /* a write whose answer was lost: it may have been carried out */
    CALL_FAILED,  /* given up: trouble on the line, a stop */
};

struct call {
    const char *name;   /* "GET /software/titles": for statistics and messages */
    const char *method; /* "GET", … */
    const char *path;   /* behind /api/v1/fleet, with the query */
    const char *right;  /* what a 403 forbids: "read the software of this team" */
    bool is_write;
    const void *body; /* JSON; NULL: none */
    size_t body_length;
    const struct http_part *parts;
    size_t part_count;
    int (*on_body)(void *context, const void *bytes,
                   size_t length);                 /* raw body of a 200 instead of `answer` */
    int (*on_start)(void *context, struct err *e); /* before each attempt; may be NULL */
    void *context;

    /* how it ended */
    enum call_end end;
    int status; /* 0: no answer */
    bool was_looked_up;
    struct buf answer; /* call_done() frees it */
    struct refusal refusal;
    struct err err;
    uint64_t sent_bytes;

    /* the machine's own */
    struct fleet *fleet;
    struct http_exchange *exchange;
    struct loop_timer timer;
    int64_t attempts;
    int64_t server_errors; /* 5xx with Fleet's own JSON: tried once more at most */
    bool is_waiting;
};

void call_done(struct call *call);

/* Runs all, limits.parallel_api at once; each has its `end` afterwards. -1 only for what is fatal: out of
 * memory, a stop (ERR_INTERRUPTED), 401 (ERR_UNAUTHORISED). */
int call_run_all(struct fleet *fleet, struct call *calls, size_t count, struct err *e) MUST_CHECK;
/* One read. -1 with its error if it is not CALL_DONE. */
int call_read(struct fleet *fleet, struct call *call, struct err *e) MUST_CHECK;

/* Whether the write's effect is there. -1: can't be told. */
typedef int call_lookup(void *context, bool *is_there, struct err *e);
/* One write. Where its answer was lost, `lookup` is asked; if the effect is there the call counts as done
 * (was_looked_up, no answer), else it goes out again, within settings.retry. */
int call_write(struct fleet *fleet, struct call *call, call_lookup *lookup, void *context,
               struct err *e) MUST_CHECK;

/* Waits on the loop. ERR_INTERRUPTED where a stop was requested and no commit's grace is left. */
int call_wait(struct fleet *fleet, int64_t duration_ms, struct err *e) MUST_CHECK;

/* call_verdict.c: what an answer means; no side effects but `call`'s error, status and refusal. */
enum call_verdict { VERDICT_DONE, VERDICT_REFUSED, VERDICT_AGAIN, VERDICT_AGAIN_ONCE, VERDICT_UNKNOWN };
enum call_verdict call_judge(struct call *call, struct http_answer *answer);

#endif
