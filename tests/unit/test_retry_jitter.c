/* Waits are spread, not only bounded: a thousand clients that failed at once must not come back at once. The
 * distribution of the planned waits is held against the uniform one on [0, cap] (Kolmogorov-Smirnov), by the
 * planner itself and through whole downloads with a fake clock, and the test is shown what it must refuse. */
#include "base/attributes.h"
#include "fetch_fixture.h"
#include "net/retry.h"
#include "scripted_server.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SAMPLES = 20000, ROUNDS = 8, CAPPED_ROUNDS = 7, PAUSE_S = 600, SPREAD_S = 300 };

/* The waits' caps: min(60 s, 2 s · 2^n). */
static const int64_t caps_ms[ROUNDS] = {2000, 4000, 8000, 16000, 32000, 60000, 60000, 60000};

/* xorshift64*, from a fixed seed: the same waits each time. */
static double next_uniform(void *context)
{
    uint64_t *state = context;
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (double)(*state * UINT64_C(0x2545F4914F6CDD1D) >> 11) / (double)(UINT64_C(1) << 53);
}

static int compare(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

/* The largest distance between the samples' distribution and the uniform one on [0, 1]. */
static double distance(double *samples, size_t count)
{
    double largest = 0;
    qsort(samples, count, sizeof *samples, compare);
    for (size_t i = 0; i < count; i++) {
        double below = samples[i] - (double)i / (double)count;
        double above = (double)(i + 1) / (double)count - samples[i];
        largest = fmax(largest, fmax(below, above));
    }
    return largest;
}

/* What true uniformity exceeds once in a thousand times. */
static double critical(size_t count)
{
    return 1.95 / sqrt((double)count);
}

static struct retry_policy policy(void)
{
    return (struct retry_policy){.initial_ms = 2000,
                                 .factor = 2,
                                 .max_delay_ms = 60000,
                                 .strategy = RETRY_EXPONENTIAL,
                                 .jitter = RETRY_JITTER_FULL};
}

static void test_planner(void **state)
{
    (void)state;
    static double samples[SAMPLES];
    struct retry_policy usual = policy();
    uint64_t seed = 20261130;
    struct jitter jitter = {.next = next_uniform, .context = &seed};
    for (int64_t round = 0; round < ROUNDS; round++) {
        double sum = 0;
        for (size_t i = 0; i < SAMPLES; i++) {
            int64_t delay = retry_delay_ms(&usual, round, &jitter);
            assert_in_range(delay, 0, caps_ms[round]);
            samples[i] = (double)delay / (double)caps_ms[round];
            sum += samples[i];
        }
        assert_true(fabs(sum / SAMPLES - 0.5) < 0.01);
        assert_true(distance(samples, SAMPLES) < critical(SAMPLES));
    }
}

/* No wait tells of the one before it: neighbours are as far apart as chance has them. */
static void test_independence(void **state)
{
    (void)state;
    struct retry_policy usual = policy();
    uint64_t seed = 7;
    struct jitter jitter = {.next = next_uniform, .context = &seed};
    double last = 0.5, covariance = 0;
    for (size_t i = 0; i < SAMPLES; i++) {
        double sample = (double)retry_delay_ms(&usual, 3, &jitter) / (double)caps_ms[3];
        covariance += (sample - 0.5) * (last - 0.5);
        last = sample;
    }
    assert_true(fabs(covariance / SAMPLES) < 1.0 / 12 * 0.03);
}

/* The system's source of jitter. Chance has a say here: the limit is one that it exceeds once in 10^12 runs.
 */
static void test_system_source(void **state)
{
    (void)state;
    static double samples[SAMPLES];
    const struct jitter *jitter = jitter_system();
    for (size_t i = 0; i < SAMPLES; i++) {
        samples[i] = jitter->next(jitter->context);
        assert_true(samples[i] >= 0 && samples[i] < 1);
    }
    assert_true(distance(samples, SAMPLES) < 3.8 / sqrt(SAMPLES));
}

struct waits {
    size_t count;
    double samples[4096];
};

/* Each "wait" event: the planned wait over its cap. */
static void keep_wait(void *context, enum log_level level, const char *event, const char *message,
                      const struct log_field *fields, size_t field_count)
{
    struct waits *waits = context;
    int64_t wait_ms = -1, attempt = -1;
    (void)level;
    (void)message;
    for (size_t i = 0; strcmp(event, "wait") == 0 && i < field_count; i++) {
        if (strcmp(fields[i].name, "wait_ms") == 0)
            wait_ms = fields[i].number;
        if (strcmp(fields[i].name, "attempt") == 0)
            attempt = fields[i].number;
    }
    if (wait_ms < 0 || attempt < 2 || attempt > CAPPED_ROUNDS + 1)
        return;
    assert_true(waits->count < ARRAY_LENGTH(waits->samples));
    waits->samples[waits->count++] = (double)wait_ms / (double)caps_ms[attempt - 2];
}

/* Hundreds of downloads from a host that stays down: seven waits each, on a clock that skips them. */
static void test_downloads(void **state)
{
    (void)state;
    enum { ITEMS = 200 };
    static struct waits waits;
    const struct script_step down = {.status = 503};
    const struct script_path path = {.path = "/a.pkg", .steps = &down, .step_count = 1};
    uint64_t seed = 20261130;
    for (size_t i = 0; i < ITEMS; i++) {
        struct fetch_fixture fixture;
        struct package result;
        struct err e;
        err_init(&e);
        fetch_fixture_init(&fixture);
        fixture.jitter = (struct jitter){.next = next_uniform, .context = &seed};
        fixture.log = (struct log){.write = keep_wait, .context = &waits};
        fixture.settings.limits.stall_ms = 60 * 1000;
        struct scripted_server *server = scripted_server_new(&path, 1);
        struct package_request request = {.name = "a.pkg",
                                          .url =
                                              fixture_url(&fixture, scripted_server_port(server), "/a.pkg"),
                                          .bytes_needed = true};
        assert_int_equal(fetch_run(&fixture.options, &request, 1, fixture.arena, &result, &e), 0);
        assert_int_equal(result.state, PACKAGE_FAILED);
        assert_int_equal(scripted_server_count(server, NULL), ROUNDS);
        scripted_server_free(server);
        fetch_fixture_done(&fixture);
    }
    assert_int_equal(waits.count, ITEMS * CAPPED_ROUNDS);
    assert_true(distance(waits.samples, waits.count) < critical(waits.count));
}

/* How far behind the end of the pause each wait ends, over the largest spread. */
static void keep_release(void *context, enum log_level level, const char *event, const char *message,
                         const struct log_field *fields, size_t field_count)
{
    struct waits *waits = context;
    (void)level;
    (void)message;
    for (size_t i = 0; strcmp(event, "wait") == 0 && i < field_count; i++)
        if (strcmp(fields[i].name, "wait_ms") == 0 && waits->count < ARRAY_LENGTH(waits->samples))
            waits->samples[waits->count++] =
                (double)(fields[i].number - PAUSE_S * 1000) / (SPREAD_S * 1000.0);
}

/* One host that asks for a pause with its first answer, and hundreds of items that want something from it:
 * they come back one by one, none early. */
static void test_release_from_a_pause(void **state)
{
    (void)state;
    enum { ITEMS = 300 };
    static struct waits waits;
    static struct package results[ITEMS];
    static struct package_request requests[ITEMS];
    static struct script_record records[2 * ITEMS];
    static const char body[] = "xar! a package";
    const struct script_step steps[] = {{.status = 429, .headers = "Retry-After: 600\r\n"},
                                        {.body = body, .body_length = sizeof body}};
    const struct script_path path = {.path = "/a.pkg", .steps = steps, .step_count = 2};
    uint64_t seed = 20261130;
    struct fetch_fixture fixture;
    struct err e;
    err_init(&e);
    fetch_fixture_init(&fixture);
    fixture.jitter = (struct jitter){.next = next_uniform, .context = &seed};
    fixture.log = (struct log){.write = keep_release, .context = &waits};
    fixture.settings.limits.parallel_per_host = 1;
    fixture.settings.retry.initial_ms = SPREAD_S * 1000;
    fixture.settings.retry.max_delay_ms = SPREAD_S * 1000;
    struct scripted_server *server = scripted_server_new(&path, 1);
    scripted_server_use_clock(server, &fixture.clock);
    for (size_t i = 0; i < ITEMS; i++) {
        char digest[DIGEST_HEX_BYTES];
        snprintf(digest, sizeof digest, "%064zx",
                 i); /* each its own download; that it is wrong is no matter */
        requests[i] =
            (struct package_request){.name = "a.pkg",
                                     .url = fixture_url(&fixture, scripted_server_port(server), "/a.pkg"),
                                     .sha256 = arena_strdup(fixture.arena, digest, &e),
                                     .bytes_needed = true};
    }
    assert_int_equal(fetch_run(&fixture.options, requests, ITEMS, fixture.arena, results, &e), 0);
    assert_int_equal(scripted_server_records(server, records, ARRAY_LENGTH(records)), ITEMS + 1);
    for (size_t i = 1; i <= ITEMS; i++)
        assert_true(records[i].asked_ms >= records[0].answered_ms + PAUSE_S * 1000);
    assert_int_equal(waits.count, ITEMS);
    for (size_t i = 0; i < ITEMS; i++)
        assert_true(waits.samples[i] > -0.01 && waits.samples[i] <= 1);
    assert_true(distance(waits.samples, waits.count) < critical(waits.count));
    scripted_server_free(server);
    fetch_fixture_done(&fixture);
}

/* What a wrong planner would give: half a jitter, a squared one, none, one that knows few values. */
static void test_what_is_refused(void **state)
{
    (void)state;
    static double samples[SAMPLES];
    for (int kind = 0; kind < 4; kind++) {
        uint64_t seed = 20261130;
        for (size_t i = 0; i < SAMPLES; i++) {
            double uniform = next_uniform(&seed);
            samples[i] = kind == 0   ? 0.5 + uniform / 2
                         : kind == 1 ? uniform * uniform
                         : kind == 2 ? 1
                                     : floor(uniform * 32) / 32;
        }
        assert_true(distance(samples, SAMPLES) > critical(SAMPLES));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_planner),
        cmocka_unit_test(test_independence),
        cmocka_unit_test(test_system_source),
        cmocka_unit_test(test_downloads),
        cmocka_unit_test(test_release_from_a_pause),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
