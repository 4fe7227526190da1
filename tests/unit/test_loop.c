/* net/loop.h: timers, signals, waits. */
#include "net/loop.h"
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct fake_time {
    int64_t now_ms;
};

static int64_t fake_now(void *context)
{
    return ((const struct fake_time *)context)->now_ms;
}

static void fake_skip(void *context, int64_t duration_ms)
{
    ((struct fake_time *)context)->now_ms += duration_ms;
}

static struct fake_time fake_time;
static const struct clock fake_clock = {
    .monotonic_ms = fake_now, .wall_ms = fake_now, .context = &fake_time, .skip = fake_skip};

static struct loop *open_loop(const struct clock *clock)
{
    struct err e;
    err_init(&e);
    fake_time.now_ms = 1000;
    struct loop *loop = loop_new(clock, &e);
    assert_non_null(loop);
    return loop;
}

struct noted {
    char order[16];
    size_t count;
    struct loop *loop;
    struct loop_timer timers[4];
};

struct note {
    struct noted *noted;
    char letter;
};

static void note(void *context)
{
    const struct note *note = context;
    note->noted->order[note->noted->count++] = note->letter;
}

static void cancel_last(void *context)
{
    const struct note *self = context;
    note(context);
    loop_timer_cancel(self->noted->loop, &self->noted->timers[3]);
}

static void again(void *context)
{
    const struct note *self = context;
    note(context);
    loop_timer_set(self->noted->loop, &self->noted->timers[0], 0);
}

static void test_timers(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    struct noted noted = {.loop = open_loop(&fake_clock)};
    struct note notes[4] = {{&noted, 'a'}, {&noted, 'b'}, {&noted, 'c'}, {&noted, 'd'}};
    for (size_t i = 0; i < 4; i++)
        noted.timers[i] = (struct loop_timer){.fire = i == 1 ? cancel_last : note, .context = &notes[i]};
    loop_timer_set(noted.loop, &noted.timers[0], 5000);
    loop_timer_set(noted.loop, &noted.timers[1], 2000);
    loop_timer_set(noted.loop, &noted.timers[2], 9000);
    loop_timer_set(noted.loop, &noted.timers[3], 2500);
    loop_timer_set(noted.loop, &noted.timers[2], 1500); /* moved */
    assert_int_equal(loop_wait_until(noted.loop, 100000, &e), 0);
    assert_string_equal(noted.order, "cba"); /* d was cancelled by b */
    assert_int_equal(fake_time.now_ms, 100000);
    loop_free(noted.loop);
}

/* A timer that sets itself for now fires once per step. */
static void test_timer_that_repeats(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    struct noted noted = {.loop = open_loop(&fake_clock)};
    struct note self = {&noted, 'a'};
    noted.timers[0] = (struct loop_timer){.fire = again, .context = &self};
    loop_timer_set(noted.loop, &noted.timers[0], 0);
    for (size_t i = 1; i < 4; i++) {
        assert_int_equal(loop_step(noted.loop, 0, &e), 0);
        assert_int_equal(noted.count, i);
    }
    loop_timer_cancel(noted.loop, &noted.timers[0]);
    loop_timer_cancel(noted.loop, &noted.timers[0]);
    loop_free(noted.loop);
}

static void test_signals(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    struct loop *loop = open_loop(clock_system());
    const bool *flag = loop_stop_flag(loop);
    int64_t far = clock_system()->monotonic_ms(NULL) + 3600 * 1000;
    assert_int_equal(loop_catch_signals(loop, &e), 0);
    assert_false(loop_take_wake(loop));
    raise(SIGPIPE);
    raise(SIGHUP);
    assert_int_equal(loop_wait_until(loop, far, &e), 0); /* wakes at once */
    assert_int_equal(loop_stop_requested(loop), LOOP_GO_ON);
    assert_true(loop_take_wake(loop));
    assert_false(loop_take_wake(loop));
    assert_false(*flag);
    raise(SIGTERM);
    assert_int_equal(loop_wait_until(loop, far, &e), 0);
    assert_int_equal(loop_stop_requested(loop), LOOP_STOP_SOON);
    assert_true(*flag);
    raise(SIGINT);
    assert_int_equal(loop_stop_requested(loop), LOOP_STOP_NOW);
    raise(SIGINT);
    assert_int_equal(loop_stop_requested(loop), LOOP_STOP_NOW);
    loop_free(loop);
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
}

static void test_stop_by_call(void **state)
{
    (void)state;
    struct loop *loop = open_loop(&fake_clock);
    loop_request_stop(loop, LOOP_STOP_NOW);
    loop_request_stop(loop, LOOP_STOP_SOON); /* never goes back */
    assert_int_equal(loop_stop_requested(loop), LOOP_STOP_NOW);
    loop_free(loop);
    loop_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timers),
        cmocka_unit_test(test_timer_that_repeats),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_stop_by_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
