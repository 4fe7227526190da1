/* Mirrors, the cap on bandwidth and files mixed from several sources: what the fetch stage does beyond one
 * source and its faults. */
#include "fetch/fetch.h"
#include "fetch_fixture.h"
#include "scripted_server.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PACKAGE_BYTES = 3 * 1024 * 1024, CUT_BYTES = 500000 };

static unsigned char *package, *other;

static int make_bodies(void **state)
{
    (void)state;
    package = fixture_bytes(".pkg", PACKAGE_BYTES, 11);
    other = fixture_bytes(".pkg", PACKAGE_BYTES, 12);
    return 0;
}

static int free_bodies(void **state)
{
    (void)state;
    free(package);
    free(other);
    return 0;
}

struct world {
    struct fetch_fixture fixture;
    struct scripted_server *servers[2];
    const char *urls[2];
};

/* Two hosts: the second one's is only a mirror of the first one's folder. */
static void open_world(struct world *world, const struct script_step *first, size_t first_count,
                       const struct script_step *second, size_t second_count, struct script_path paths[2])
{
    paths[0] = (struct script_path){.path = "/files/a.pkg", .steps = first, .step_count = first_count};
    paths[1] = (struct script_path){.path = "/mirror/a.pkg", .steps = second, .step_count = second_count};
    fetch_fixture_init(&world->fixture);
    for (int i = 0; i < 2; i++)
        world->servers[i] = scripted_server_new(&paths[i], 1);
    world->urls[0] = fixture_url(&world->fixture, scripted_server_port(world->servers[0]), "/files/a.pkg");
    world->urls[1] = fixture_url(&world->fixture, scripted_server_port(world->servers[1]), "/mirror");
}

static void close_world(struct world *world)
{
    for (int i = 0; i < 2; i++)
        scripted_server_free(world->servers[i]);
    fetch_fixture_done(&world->fixture);
}

static struct package run(struct world *world, const char *sha256)
{
    struct package result;
    struct err e;
    err_init(&e);
    struct mirror_rule rule = {
        .prefix = fixture_url(&world->fixture, scripted_server_port(world->servers[0]), "/files"),
        .replacements = {.is_set = true, .count = 1, .items = &world->urls[1]},
    };
    world->fixture.settings.mirrors = &rule;
    world->fixture.settings.mirror_count = 1;
    struct package_request request = {
        .name = "a.pkg", .url = world->urls[0], .sha256 = sha256, .bytes_needed = true};
    assert_int_equal(fetch_run(&world->fixture.options, &request, 1, world->fixture.arena, &result, &e), 0);
    world->fixture.settings.mirror_count = 0;
    return result;
}

static void assert_logged(const struct world *world, const char *text)
{
    if (strstr(buf_text(&world->fixture.log_text), text) == NULL)
        fail_msg("\"%s\" is not in the log:\n%s", text, buf_text(&world->fixture.log_text));
}

static void test_mirror(void **state)
{
    (void)state;
    struct world world;
    struct script_path paths[2];
    const struct script_step gone = {.status = 404}, good = {.body = package, .body_length = PACKAGE_BYTES};
    open_world(&world, &gone, 1, &good, 1, paths);
    struct package result = run(&world, NULL);
    assert_int_equal(result.state, PACKAGE_FETCHED);
    assert_int_equal(result.attempt_count, 2);
    assert_true(fixture_file_is(result.path, package, PACKAGE_BYTES));
    assert_logged(&world, "; trying http://127.0.0.1:");
    assert_logged(&world, "/mirror/a.pkg");
    close_world(&world);
}

/* A pinned digest lets the mirror go on where the first source broke off: a range, but no If-Range. */
static void test_partial_goes_on_from_a_mirror(void **state)
{
    (void)state;
    struct world world;
    struct script_path paths[2];
    char head[4096];
    const struct script_step cut = {.body = package,
                                    .body_length = PACKAGE_BYTES,
                                    .etag = "\"a\"",
                                    .send_at_most = CUT_BYTES,
                                    .end = SCRIPT_RESET};
    const struct script_step good = {
        .body = package, .body_length = PACKAGE_BYTES, .etag = "\"b\"", .ranges = true};
    open_world(&world, &cut, 1, &good, 1, paths);
    struct package result = run(&world, fixture_digest(&world.fixture, package, PACKAGE_BYTES));
    assert_int_equal(result.state, PACKAGE_FETCHED);
    assert_int_equal(result.attempts[1].resumed_from, CUT_BYTES);
    scripted_server_head(world.servers[1], NULL, 0, head, sizeof head);
    assert_non_null(strstr(head, "Range: bytes=500000-"));
    assert_null(strstr(head, "If-Range"));
    close_world(&world);
}

/* A mixed file that is wrong blames nobody; whoever then gives the whole of a wrong file is named. */
static void test_blame(void **state)
{
    (void)state;
    struct world world;
    struct script_path paths[2];
    const struct script_step wrong[] = {
        {.body = other, .body_length = PACKAGE_BYTES, .send_at_most = CUT_BYTES, .end = SCRIPT_RESET},
        {.body = other, .body_length = PACKAGE_BYTES}};
    const struct script_step good = {.body = package, .body_length = PACKAGE_BYTES, .ranges = true};
    open_world(&world, wrong, 2, &good, 1, paths);
    struct package result = run(&world, fixture_digest(&world.fixture, package, PACKAGE_BYTES));
    assert_int_equal(result.state, PACKAGE_FETCHED);
    assert_true(fixture_file_is(result.path, package, PACKAGE_BYTES));
    assert_logged(&world, "the resumed file's digest is wrong");
    for (size_t i = 0; i < result.attempt_count; i++)
        if (strstr(result.attempts[i].cause, "upstream changed") != NULL)
            assert_non_null(strstr(result.attempts[i].url, "/files/a.pkg"));
    close_world(&world);
}

static void test_bandwidth(void **state)
{
    (void)state;
    struct world world;
    struct script_path paths[2];
    const struct script_step good = {.body = package, .body_length = PACKAGE_BYTES};
    open_world(&world, &good, 1, &good, 1, paths);
    world.fixture.settings.limits.bandwidth_bytes_per_s = 4 * 1024 * 1024;
    world.fixture.settings.limits.stall_bytes_per_s = 1024 * 1024 * 1024; /* the pauses are no stall */
    const struct clock *clock = clock_system();
    int64_t started = clock->monotonic_ms(clock->context);
    struct package result = run(&world, NULL);
    int64_t took = clock->monotonic_ms(clock->context) - started;
    assert_int_equal(result.state, PACKAGE_FETCHED);
    assert_int_equal(result.attempt_count, 1);
    assert_true(took >= 400); /* 3 MiB less the burst of 1 MiB, at 4 MiB per second: 500 */
    close_world(&world);
}

/* While the cap holds others back, a source that is silent, or drips, is seen as soon as without a cap. */
static void test_stall_under_the_cap(void **state)
{
    (void)state;
    const struct script_step ills[] = {
        {.body = package, .body_length = PACKAGE_BYTES, .send_at_most = 1000, .end = SCRIPT_STALL},
        {.body = package, .body_length = PACKAGE_BYTES, .send_at_most = 40000, .end = SCRIPT_STALL}};
    for (size_t i = 0; i < ARRAY_LENGTH(ills); i++) {
        struct world world;
        struct script_path paths[2];
        struct package results[2];
        struct err e;
        err_init(&e);
        const struct script_step good = {.body = package, .body_length = PACKAGE_BYTES};
        open_world(&world, &ills[i], 1, &good, 1, paths);
        world.fixture.settings.limits.bandwidth_bytes_per_s = 512 * 1024;
        world.fixture.settings.limits.stall_ms = 500;
        world.fixture.settings.retry.rounds = 1;
        const struct package_request requests[] = {
            {.name = "ill", .url = world.urls[0], .bytes_needed = true},
            {.name = "good",
             .url = fixture_url(&world.fixture, scripted_server_port(world.servers[1]), "/mirror/a.pkg"),
             .bytes_needed = true}};
        assert_int_equal(fetch_run(&world.fixture.options, requests, 2, world.fixture.arena, results, &e), 0);
        assert_int_equal(results[0].state, PACKAGE_FAILED);
        assert_int_equal(results[1].state, PACKAGE_FETCHED);
        assert_non_null(strstr(results[0].attempts[0].cause, "stall limit"));
        assert_true(results[0].attempts[0].duration_ms >= 500);
        assert_true(results[1].attempts[0].duration_ms > 4000); /* 3 MiB, at 512 KiB per second */
        assert_true(results[0].attempts[0].duration_ms < results[1].attempts[0].duration_ms);
        close_world(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mirror),
        cmocka_unit_test(test_partial_goes_on_from_a_mirror),
        cmocka_unit_test(test_blame),
        cmocka_unit_test(test_bandwidth),
        cmocka_unit_test(test_stall_under_the_cap),
    };
    return cmocka_run_group_tests(tests, make_bodies, free_bodies);
}
