/* Rotate first, wait second (design, "Retry, in one place"): whose turn it is, how long the waits are, what a
 * Retry-After does to a host, a redirect and the run. Waits are skipped by the fixture's clock. */
#include "fetch_scene.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* What may really go by while waits are skipped: so much less is left to skip. */
enum { REAL_MS = 2000 };

/* Cut a little behind what counts as progress. */
static const struct script_step cut = {.body = big,
                                       .body_length = sizeof big,
                                       .etag = "\"v1\"",
                                       .ranges = true,
                                       .send_at_most = MEBIBYTE + 4096,
                                       .end = SCRIPT_RESET};
static const struct script_path cut_after_progress = {.path = "/big.pkg", .steps = &cut, .step_count = 1};

static void test_backup_after_404(void **state)
{
    (void)state;
    const struct script_path paths[] = {PATH("/a.pkg", {.status = 404}), PATH("/b.pkg", {WHOLE})};
    struct scene scene;
    scene_init(&scene, paths, 2);
    scene_add_backup(&scene, "/b.pkg");
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FETCHED);
    assert_int_equal(scene.fixture.skipped_ms, 0);
    assert_string_equal(scene.result.file_name, "b.pkg");
    scene_done(&scene);
}

/* A dead primary on another host: the backup is asked at once, without a wait. */
static void test_rotation_before_waiting(void **state)
{
    (void)state;
    const struct script_path paths[] = {PATH("/a.pkg", {WHOLE})};
    struct scene scene;
    scene_init(&scene, paths, 1);
    scene_add_backup(&scene, "/a.pkg");
    scene.request.url = "http://127.0.0.1:1/dead.pkg";
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FETCHED);
    assert_int_equal(scene.fixture.skipped_ms, 0);
    assert_int_equal(scene.result.attempt_count, 2);
    assert_non_null(strstr(scene.result.attempts[0].cause, "connection refused"));
    scene_done(&scene);
}

/* Two sources of one host count as one for transient trouble: the second one is not asked before the wait,
 * and is the one that is asked behind it. */
static void test_sources_of_one_host(void **state)
{
    (void)state;
    const struct script_path paths[] = {PATH("/a.pkg", {.status = 503}), PATH("/b.pkg", {.status = 503})};
    struct scene scene;
    scene_init(&scene, paths, 2);
    scene.fixture.settings.retry.rounds = 5;
    scene_add_backup(&scene, "/b.pkg");
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FAILED);
    assert_in_range(scene.fixture.skipped_ms, 30000 - REAL_MS, 30000);
    assert_int_equal(scripted_server_count(scene.server, "/a.pkg"), 3);
    assert_int_equal(scripted_server_count(scene.server, "/b.pkg"), 2);
    scene_done(&scene);
}

/* The mirror path of a host whose main path is down for long. */
static void test_backup_on_the_same_host(void **state)
{
    (void)state;
    static const struct script_step downs[] = {{.status = 503},
                                               {.status = 503, .headers = "Retry-After: 7\r\n"},
                                               {.end = SCRIPT_RESET, .send_at_most = SCRIPT_NOTHING},
                                               {WHOLE, .send_at_most = 20000, .end = SCRIPT_RESET}};
    for (size_t i = 0; i < sizeof downs / sizeof downs[0]; i++) {
        const struct script_path paths[] = {{.path = "/a.pkg", .steps = &downs[i], .step_count = 1},
                                            PATH("/b.pkg", {WHOLE})};
        for (int is_pinned = 0; is_pinned < 2; is_pinned++) {
            struct scene scene;
            scene_init(&scene, paths, 2);
            if (is_pinned)
                scene.request.sha256 = fixture_digest(&scene.fixture, package, sizeof package);
            scene_add_backup(&scene, "/b.pkg");
            scene_run(&scene);
            assert_int_equal(scene.result.state, PACKAGE_FETCHED);
            assert_int_equal(scripted_server_count(scene.server, NULL), 2);
            assert_true(fixture_file_is(scene.result.path, package, sizeof package));
            scene_done(&scene);
        }
    }
}

/* The source that brings the bytes keeps its turn: a dead primary is not asked again at each cut. */
static void test_progress_keeps_the_source(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, &cut_after_progress, 1);
    scene_add_backup(&scene, "/big.pkg");
    scene.request.url = "http://127.0.0.1:1/dead.pkg";
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FETCHED);
    assert_int_equal(scene.fixture.skipped_ms, 0);
    assert_int_equal(scene.result.attempt_count, 4);
    assert_int_equal(scene.result.received_bytes, sizeof big);
    scene_done(&scene);
}

static void test_all_causes_are_told(void **state)
{
    (void)state;
    const struct script_path paths[] = {PATH("/a.pkg", {.status = 404}), PATH("/b.pkg", {.status = 410})};
    struct scene scene;
    scene_init(&scene, paths, 2);
    scene_add_backup(&scene, "/b.pkg");
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FAILED);
    assert_non_null(strstr(scene.result.err.text, "/a.pkg: HTTP 404"));
    assert_non_null(strstr(scene.result.err.text, "/b.pkg: HTTP 410"));
    scene_done(&scene);
}

/* Delays of a host that stays down: 2, 4, 8, 16, 32, 60, 60 s with the whole jitter. */
static void test_delays(void **state)
{
    (void)state;
    const struct script_path paths[] = {PATH("/a.pkg", {.status = 503})};
    struct scene scene;
    scene_init(&scene, paths, 1);
    scene_run(&scene);
    int64_t waited = scene.fixture.skipped_ms;
    assert_in_range(waited, 182000 - REAL_MS, 182000);
    assert_in_range(scene.result.waited_ms, 182000 - REAL_MS, 182000 + REAL_MS);
    scene_done(&scene);
}

/* More than 1 MiB per attempt: goes on at once, as often as it takes. */
static void test_progress_costs_nothing(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, &cut_after_progress, 1);
    scene.fixture.settings.retry.rounds = 1;
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FETCHED);
    assert_true(fixture_file_is(scene.result.path, big, sizeof big));
    assert_int_equal(scene.fixture.skipped_ms, 0);
    assert_int_equal(scene.result.attempt_count, 3);
    assert_int_equal(scene.result.received_bytes, sizeof big);
    scene_done(&scene);
}

/* A server that never resumes and always cuts at the same place makes no progress: the attempts end. */
static void test_no_progress_ends(void **state)
{
    (void)state;
    const struct script_step half = {
        .body = big, .body_length = sizeof big, .send_at_most = 2 * MEBIBYTE, .end = SCRIPT_CLOSE};
    const struct script_path paths[] = {{.path = "/big.pkg", .steps = &half, .step_count = 1}};
    struct scene scene;
    scene_init(&scene, paths, 1);
    scene.fixture.settings.retry.rounds = 3;
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FAILED);
    assert_int_equal(scripted_server_count(scene.server, NULL), 4); /* one brought progress */
    scene_done(&scene);
}

/* Retry-After parks the host for everybody, and nobody comes back early; the jitter is the whole one here. */
static void test_retry_after_parks_the_host(void **state)
{
    (void)state;
    const struct script_path paths[] = {
        PATH("/a.pkg", {.status = 429, .headers = "Retry-After: 300\r\n"}, {WHOLE}),
        PATH("/b.pkg", {WHOLE}),
    };
    struct scene scene;
    struct package_request requests[2];
    struct package results[2];
    scene_init(&scene, paths, 2);
    scene.fixture.settings.limits.parallel_per_host = 1;
    requests[0] = requests[1] = scene.request;
    requests[1].url = fixture_url(&scene.fixture, scripted_server_port(scene.server), "/b.pkg");
    assert_int_equal(fetch_run(&scene.fixture.options, requests, 2, scene.fixture.arena, results, &scene.e),
                     0);
    assert_int_equal(results[0].state, PACKAGE_FETCHED);
    assert_int_equal(results[1].state, PACKAGE_FETCHED);
    assert_in_range(scene.fixture.skipped_ms, 302000 - REAL_MS, 302000);
    assert_non_null(strstr(buf_text(&scene.fixture.log_text), "asked for a pause (Retry-After)"));
    scene_done(&scene);
}

struct redirect_case {
    int status;
    const char *after;
    int64_t waited_s; /* the pause and the whole jitter of 2 s */
    bool is_followed;
};

/* RFC 9110, 10.2.3: behind a 3xx, Retry-After is the least time before the redirected request. */
static void test_retry_after_on_a_redirect(void **state)
{
    (void)state;
    static const struct redirect_case cases[] = {
        {302, "Retry-After: 30\r\n", 32, true},
        {301, "Retry-After: 0\r\n", 0, true},
        {307, "Retry-After: soon\r\n", 0, true},
        {303, "Date: Mon, 30 Nov 2026 10:00:00 GMT\r\nRetry-After: Mon, 30 Nov 2026 10:01:00 GMT\r\n", 62,
         true},
        {302, "Retry-After: 86400\r\n", 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char headers[256];
        snprintf(headers, sizeof headers, "Location: /b.pkg\r\n%s", cases[i].after);
        const struct script_path paths[] = {PATH("/a.pkg", {.status = cases[i].status, .headers = headers}),
                                            PATH("/b.pkg", {WHOLE})};
        struct scene scene;
        scene_init(&scene, paths, 2);
        scene_run(&scene);
        int64_t waited = cases[i].waited_s * 1000;
        assert_in_range(scene.fixture.skipped_ms, waited > 0 ? waited - REAL_MS : 0, waited);
        assert_int_equal(scene.result.state, cases[i].is_followed ? PACKAGE_FETCHED : PACKAGE_FAILED);
        assert_int_equal(scripted_server_count(scene.server, "/a.pkg"), 1);
        assert_int_equal(scripted_server_count(scene.server, "/b.pkg"), cases[i].is_followed ? 1 : 0);
        if (cases[i].waited_s > 0)
            assert_non_null(strstr(buf_text(&scene.fixture.log_text), "the redirect to"));
        if (!cases[i].is_followed) {
            assert_non_null(strstr(scene.result.err.text, "more than --retry-after-max"));
            assert_non_null(strstr(scene.result.attempts[0].url, "/a.pkg")); /* it is who asked for it */
        }
        scene_done(&scene);
    }
}

/* Rotate first, wait second: a pause that a redirect leads to is no reason to wait while a backup is untried.
 * The primary redirects to a host that is parked, or asks for a pause with the redirect itself. */
static void test_backup_before_a_hop_that_waits(void **state)
{
    (void)state;
    for (int is_parked = 0; is_parked < 2; is_parked++) {
        const struct script_path busy_paths[] = {
            PATH("/x.pkg", {.status = 503, .headers = "Retry-After: 60\r\n"}, {WHOLE}),
            PATH("/y.pkg", {WHOLE})};
        struct scripted_server *busy = scripted_server_new(busy_paths, 2);
        const struct script_path living_path = PATH("/b.pkg", {WHOLE});
        struct scripted_server *living = scripted_server_new(&living_path, 1);
        char redirect[256];
        snprintf(redirect, sizeof redirect, "Location: http://127.0.0.1:%d/y.pkg\r\n%s",
                 scripted_server_port(busy), is_parked ? "" : "Retry-After: 60\r\n");
        const struct script_path path = PATH("/a.pkg", {.status = 302, .headers = redirect, .delay_ms = 200});
        struct scene scene;
        scene_init(&scene, &path, 1);
        scene_add_backup(&scene, fixture_url(&scene.fixture, scripted_server_port(living), "/b.pkg"));
        struct package_request requests[2] = {scene.request, scene.request};
        struct package results[2];
        requests[1] =
            (struct package_request){.name = "x.pkg",
                                     .url = fixture_url(&scene.fixture, scripted_server_port(busy), "/x.pkg"),
                                     .bytes_needed = true};
        assert_int_equal(fetch_run(&scene.fixture.options, requests, is_parked ? 2 : 1, scene.fixture.arena,
                                   results, &scene.e),
                         0);
        assert_int_equal(results[0].state, PACKAGE_FETCHED);
        assert_int_equal(results[0].waited_ms, 0);
        assert_int_equal(scripted_server_count(living, NULL), 1);
        assert_int_equal(scripted_server_count(busy, "/y.pkg"), 0);
        scene_done(&scene);
        scripted_server_free(busy);
        scripted_server_free(living);
    }
}

/* A redirect's pause is that redirect's matter: it parks nobody, and the deadline bounds it. */
static void test_redirect_pause_is_bounded(void **state)
{
    (void)state;
    const struct script_path paths[] = {
        PATH("/a.pkg", {.status = 302, .headers = "Location: /b.pkg\r\nRetry-After: 60\r\n"}),
        PATH("/b.pkg", {WHOLE})};
    struct scene scene;
    scene_init(&scene, paths, 2);
    scene.fixture.options.deadline_monotonic_ms =
        scene.fixture.clock.monotonic_ms(scene.fixture.clock.context) + 30 * 1000;
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FAILED);
    assert_int_equal(scene.fixture.skipped_ms, 0);
    assert_non_null(strstr(scene.result.err.text, "longer than the run may still take"));
    scene_done(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backup_after_404),
        cmocka_unit_test(test_rotation_before_waiting),
        cmocka_unit_test(test_sources_of_one_host),
        cmocka_unit_test(test_backup_on_the_same_host),
        cmocka_unit_test(test_all_causes_are_told),
        cmocka_unit_test(test_delays),
        cmocka_unit_test(test_progress_costs_nothing),
        cmocka_unit_test(test_progress_keeps_the_source),
        cmocka_unit_test(test_no_progress_ends),
        cmocka_unit_test(test_retry_after_parks_the_host),
        cmocka_unit_test(test_retry_after_on_a_redirect),
        cmocka_unit_test(test_backup_before_a_hop_that_waits),
        cmocka_unit_test(test_redirect_pause_is_bounded),
    };
    return cmocka_run_group_tests(tests, scene_make_bodies, NULL);
}
