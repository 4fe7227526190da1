/* The guarantees of the fetch stage under misbehaviour at random: 500 runs in CI, every run from a seed that
 * is printed when it fails. TENDER_MIX_SEED and TENDER_MIX_COUNT choose others. And, because a checker that
 * finds nothing proves nothing: planted bugs, each of which it must find. */
#include "base/attributes.h"
#include "behaviours.h"
#include "fetch_mix.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { RUNS = 500, SECOND_RUN_EVERY = 5, PLANTED_RUNS = 1000 };

static struct mix mix; /* large */

static uint64_t number_from(const char *variable, uint64_t usual)
{
    const char *text = getenv(variable);
    return text == NULL || text[0] == '\0' ? usual : strtoull(text, NULL, 0);
}

static uint64_t first_seed(void)
{
    return number_from("TENDER_MIX_SEED", 20261130);
}

static int init(void **state)
{
    (void)state;
    behaviours_init();
    return 0;
}

static void show(void)
{
    print_error("%s", buf_text(&mix.fixture.log_text));
    for (size_t i = 0; i < mix.record_count; i++) {
        const struct mix_record *record = &mix.records[i];
        print_error(
            "%llu: host %zu item %zu source %zu%s: %d, from %llu, %llu bytes%s, asked %lld answered %lld\n",
            (unsigned long long)record->is.number, record->host, record->item, record->source,
            record->is_target ? " (target)" : "", record->is.status, (unsigned long long)record->is.first,
            (unsigned long long)record->is.sent_bytes, record->is.was_sent_whole ? "" : " (cut)",
            (long long)record->is.asked_ms, (long long)record->is.answered_ms);
    }
}

static void check(void)
{
    const char *wrong = mix_check(&mix);
    if (wrong == NULL)
        return;
    char text[8192];
    snprintf(text, sizeof text, "%s", wrong);
    show();
    fail_msg("TENDER_MIX_SEED=%llu TENDER_MIX_COUNT=1%s: %s", (unsigned long long)mix.seed,
             mix.is_second_run ? " (second run)" : "", text);
}

static void test_mix(void **state)
{
    (void)state;
    uint64_t seed = first_seed(), runs = number_from("TENDER_MIX_COUNT", RUNS);
    size_t requests = 0, fetched = 0, failed = 0;
    print_message("    seeds from %llu, %llu runs\n", (unsigned long long)seed, (unsigned long long)runs);
    for (uint64_t i = 0; i < runs; i++) {
        mix_init(&mix, seed + i);
        mix_run(&mix);
        check();
        for (size_t j = 0; j < mix.item_count; j++) {
            fetched += mix.results[j].state == PACKAGE_FETCHED;
            failed += mix.results[j].state == PACKAGE_FAILED;
        }
        if ((seed + i) % SECOND_RUN_EVERY == 0) {
            mix_run_again(&mix);
            check();
        }
        requests += mix.record_count;
        mix_done(&mix);
    }
    print_message("    %zu fetched, %zu failed, %zu requests\n", fetched, failed, requests);
    /* a mix in which everything works, or nothing, would prove little */
    if (runs >= RUNS) {
        assert_true(fetched > runs / 2);
        assert_true(failed > runs / 20);
    }
}

/* Runs seeds with a bug planted between us and the hosts until the checker tells of it in these words. */
static void must_be_found(void (*plant)(void), const char *words)
{
    for (uint64_t seed = 1; seed <= PLANTED_RUNS; seed++) {
        mix_init(&mix, seed);
        plant();
        mix_run(&mix);
        const char *wrong = mix_check(&mix);
        bool is_found = wrong != NULL && strstr(wrong, words) != NULL;
        if (wrong != NULL && !is_found)
            print_message("    also: %s\n", wrong);
        mix_done(&mix);
        if (is_found)
            return;
    }
    fail_msg("%d runs with the bug, and nobody saw it: %s", PLANTED_RUNS, words);
}

/* A proxy that exchanges the validator for another one: what a client with the wrong If-Range would send. */
static void change_if_range(char *head, size_t size)
{
    (void)size;
    char *validator = strcasestr(head, "\r\nIf-Range: \"");
    if (validator != NULL)
        validator[14] = 'x';
}

static void plant_wrong_if_range(void)
{
    for (size_t i = 0; i < MIX_HOSTS; i++)
        scripted_server_tamper(mix.hosts[i], change_if_range);
}

/* One that takes it away: a client that continues whatever it gets. */
static void hide_if_range(char *head, size_t size)
{
    (void)size;
    char *name = strcasestr(head, "\r\nIf-Range:");
    if (name != NULL)
        memcpy(name + 2, "X-Other:", 8);
}

static void plant_missing_if_range(void)
{
    for (size_t i = 0; i < MIX_HOSTS; i++)
        scripted_server_tamper(mix.hosts[i], hide_if_range);
}

/* To the hosts the client's waits are a quarter shorter than it thinks: it comes early. */
static int64_t slower_clock_ms(void *context)
{
    const struct mix *its = context;
    int64_t skipped = __atomic_load_n(&its->fixture.skipped_ms, __ATOMIC_SEQ_CST);
    return its->fixture.clock.monotonic_ms(its->fixture.clock.context) - skipped / 4;
}

static void plant_early_retry(void)
{
    mix.host_clock.monotonic_ms = slower_clock_ms;
    mix.host_clock.context = &mix;
}

static void test_planted_bugs(void **state)
{
    (void)state;
    must_be_found(plant_wrong_if_range, "continues nothing that came before");
    must_be_found(plant_missing_if_range, "If-Range (none) continues nothing that came before");
    must_be_found(plant_early_retry, "requests came before its Retry-After");
}

/* Makes something of a run untrue; false: the run has nothing of that kind. */
static bool doctor_cache(void)
{
    for (size_t i = 0; i < mix.item_count; i++) {
        FILE *file = mix.results[i].path == NULL ? NULL : fopen(mix.results[i].path, "r+");
        if (file == NULL)
            continue;
        assert_int_equal(fseek(file, 1000, SEEK_SET), 0);
        int byte = fgetc(file);
        assert_int_equal(fseek(file, 1000, SEEK_SET), 0);
        assert_int_equal(fputc(byte ^ 1, file), byte ^ 1);
        fclose(file);
        return true;
    }
    return false;
}

static bool doctor_leftover(void)
{
    char path[PATH_MAX];
    (void)!snprintf(path, sizeof path, "%s/partial/x.about.tmp", mix.fixture.folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    return true;
}

static bool doctor_partial(void)
{
    char path[PATH_MAX];
    (void)!snprintf(path, sizeof path, "%s/partial/x.part", mix.fixture.folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    return true;
}

static bool doctor_state(void)
{
    mix.results[0].state = PACKAGE_INTERRUPTED;
    return true;
}

static struct package *result_in(enum package_state state)
{
    for (size_t i = 0; i < mix.item_count; i++)
        if (mix.results[i].state == state)
            return &mix.results[i];
    return NULL;
}

static bool doctor_silence(void)
{
    struct package *result = result_in(PACKAGE_FAILED);
    if (result != NULL)
        result->err.text[0] = '\0';
    return result != NULL;
}

static bool doctor_cause(void)
{
    struct package *result = result_in(PACKAGE_FAILED);
    if (result == NULL || result->attempt_count == 0)
        return false;
    result->attempts[0].cause = "";
    return true;
}

static bool doctor_old_version(void)
{
    struct package *result = result_in(PACKAGE_FETCHED);
    if (result == NULL || !mix.items[result - mix.results].is_pinned)
        return false;
    const struct mix_item *item = &mix.items[result - mix.results];
    FILE *file = fopen(result->path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(item->versions[1], 1, item->length, file), item->length);
    fclose(file);
    result->sha256 = fixture_digest(&mix.fixture, item->versions[1], item->length);
    return true;
}

static bool doctor_too_many(void)
{
    while (mix.record_count < 500) {
        mix.records[mix.record_count] = mix.records[0];
        mix.record_count++;
    }
    return true;
}

/* The first request of all continues what nobody has. */
static bool doctor_range(void)
{
    mix.records[0].is.head = "GET /x HTTP/1.1\r\nRange: bytes=20000-\r\nIf-Range: \"i0s0v0\"\r\n\r\n";
    return true;
}

/* The one behind a pause comes a millisecond early. */
static bool doctor_pause(void)
{
    if (mix.fixture.settings.limits.parallel_per_host != 1 || mix.has_stalls)
        return false;
    for (size_t i = 0; i < mix.record_count; i++) {
        const struct script_step *step = mix.records[i].is.step;
        bool asks = step != NULL && step->status == 429 && step->headers != NULL &&
                    strstr(step->headers, "After: 7") != NULL;
        for (size_t j = i + 1; asks && j < mix.record_count; j++) {
            if (mix.records[j].host != mix.records[i].host)
                continue;
            mix.records[j].is.asked_ms = mix.records[i].is.answered_ms + 6999;
            return true;
        }
    }
    return false;
}

static void test_doctored_runs(void **state)
{
    (void)state;
    static bool (*const doctors[])(void) = {
        doctor_cache, doctor_leftover, doctor_partial,     doctor_state,    doctor_silence,
        doctor_cause, doctor_range,    doctor_old_version, doctor_too_many, doctor_pause};
    for (size_t i = 0; i < ARRAY_LENGTH(doctors); i++) {
        bool is_done = false;
        for (uint64_t seed = 1; !is_done && seed <= PLANTED_RUNS; seed++) {
            mix_init(&mix, seed);
            mix_run(&mix);
            check();
            is_done = doctors[i]();
            const char *wrong = mix_check(&mix);
            if (is_done && wrong == NULL)
                fail_msg("untruth %zu in the run of seed %llu was not seen", i, (unsigned long long)seed);
            mix_done(&mix);
        }
        if (!is_done)
            fail_msg("no run for untruth %zu", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mix),
        cmocka_unit_test(test_planted_bugs),
        cmocka_unit_test(test_doctored_runs),
    };
    return cmocka_run_group_tests(tests, init, NULL);
}
