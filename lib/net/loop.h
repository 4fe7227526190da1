/* The one event loop, on curl multi: transfers, timers, signals. Nothing else sleeps. */
#ifndef TENDER_NET_LOOP_H
#define TENDER_NET_LOOP_H

#include "base/clock.h"
#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>

struct loop;

/* How urgently a signal asks: SIGTERM or SIGINT once, then twice. */
enum loop_stop { LOOP_GO_ON, LOOP_STOP_SOON, LOOP_STOP_NOW };

struct loop *loop_new(const struct clock *clock, struct err *e) MUST_CHECK;
void loop_free(struct loop *loop);
void loop_cleanup(struct loop **loop);

/* Handlers for SIGTERM, SIGINT (stop), SIGHUP (wake) that write into the loop's self-pipe; SIGPIPE is
 * ignored. For the program, not for tests. */
int loop_catch_signals(struct loop *loop, struct err *e) MUST_CHECK;
enum loop_stop loop_stop_requested(const struct loop *loop);
void loop_request_stop(struct loop *loop, enum loop_stop stop); /* as a signal would */
const bool *loop_stop_flag(
    const struct loop *loop); /* true once a stop was requested; for code that blocks elsewhere (libgit2) */
bool loop_take_wake(struct loop *loop); /* whether SIGHUP came since the last call */

/* Runs transfers and timers once, waiting at most until `until_monotonic_ms` (or the next timer) for
 * something to happen. */
int loop_step(struct loop *loop, int64_t until_monotonic_ms, struct err *e) MUST_CHECK;
/* Waits on the loop until then, a wake or a stop. */
int loop_wait_until(struct loop *loop, int64_t until_monotonic_ms, struct err *e) MUST_CHECK;

struct loop_timer {
    int64_t due_monotonic_ms;
    void (*fire)(void *context);
    void *context;
    struct loop_timer *next; /* the loop's */
    bool is_set;
};
/* The timer is the caller's memory and must be cancelled before it goes. Setting it again moves it. */
void loop_timer_set(struct loop *loop, struct loop_timer *timer, int64_t due_monotonic_ms);
void loop_timer_cancel(struct loop *loop, struct loop_timer *timer);

#endif
