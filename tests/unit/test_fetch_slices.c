/* A large file that a former run left, or that is in the cache, is hashed in slices: what others download
 * goes on meanwhile. */
#include "base/files.h"
#include "fetch/fetch.h"
#include "fetch_fixture.h"
#include "scripted_server.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { LARGE_BYTES = 192 * 1024 * 1024, SMALL_BYTES = 300000 };

struct seen {
    bool is_small_done_first;
    size_t reports_meanwhile; /* of the large one while it is verified */
};

static void on_progress(void *context, const struct fetch_progress *progress)
{
    struct seen *seen = context;
    const struct fetch_progress_item *large = &progress->items[0], *small = &progress->items[1];
    if (large->state == FETCH_ENDED)
        return;
    seen->reports_meanwhile += large->state == FETCH_VERIFYING;
    if (small->state == FETCH_ENDED)
        seen->is_small_done_first = true;
}

static void put(const struct fetch_fixture *fixture, const char *folder, const char *name, const void *bytes,
                size_t length)
{
    char path[PATH_MAX];
    struct err e;
    err_init(&e);
    snprintf(path, sizeof path, "%s/%s", fixture->folder, folder);
    assert_int_equal(folder_make(path, &e), 0);
    snprintf(path, sizeof path, "%s/%s/%s", fixture->folder, folder, name);
    assert_int_equal(file_write_atomically(path, bytes, length, 0600, &e), 0);
}

/* As a former run left it: whole, but not verified. */
static void leave_partial(const struct fetch_fixture *fixture, const char *digest, const void *bytes)
{
    char name[128], about[512];
    snprintf(name, sizeof name, "%s.part", digest);
    put(fixture, "partial", name, bytes, LARGE_BYTES);
    snprintf(name, sizeof name, "%s.about", digest);
    snprintf(about, sizeof about, "tender partial 1\nboot x\nsource %s\nsize %d\nend\n", digest, LARGE_BYTES);
    put(fixture, "partial", name, about, strlen(about));
}

static void leave_cached(const struct fetch_fixture *fixture, const char *digest, const void *bytes)
{
    char folder[64];
    snprintf(folder, sizeof folder, "sha256/%.2s", digest);
    put(fixture, folder, digest, bytes, LARGE_BYTES);
}

static void play(void (*leave)(const struct fetch_fixture *fixture, const char *digest, const void *bytes),
                 enum package_state state)
{
    struct fetch_fixture fixture;
    struct package results[2];
    struct seen seen = {.is_small_done_first = false};
    struct err e;
    err_init(&e);
    fetch_fixture_init(&fixture);
    unsigned char *large = calloc(1, LARGE_BYTES), *small = fixture_bytes(".pkg", SMALL_BYTES, 3);
    assert_non_null(large);
    const struct script_step step = {.body = small, .body_length = SMALL_BYTES};
    const struct script_path path = {.path = "/small.pkg", .steps = &step, .step_count = 1};
    struct scripted_server *server = scripted_server_new(&path, 1);
    const char *digest = fixture_digest(&fixture, large, LARGE_BYTES);
    leave(&fixture, digest, large);
    free(large);
    const struct package_request requests[] = {
        {.name = "large",
         .url = fixture_url(&fixture, scripted_server_port(server), "/large.pkg"),
         .sha256 = digest,
         .bytes_needed = true},
        {.name = "small",
         .url = fixture_url(&fixture, scripted_server_port(server), "/small.pkg"),
         .bytes_needed = true},
    };
    fixture.options.progress = on_progress;
    fixture.options.progress_context = &seen;
    assert_int_equal(fetch_run(&fixture.options, requests, 2, fixture.arena, results, &e), 0);
    assert_int_equal(results[0].state, state);
    assert_int_equal(results[1].state, PACKAGE_FETCHED);
    assert_int_equal(scripted_server_count(server, NULL), 1);
    assert_true(seen.is_small_done_first);
    assert_true(seen.reports_meanwhile > 0);
    scripted_server_free(server);
    fetch_fixture_done(&fixture);
    free(small);
}

static void test_partial(void **state)
{
    (void)state;
    play(leave_partial, PACKAGE_FETCHED);
}

static void test_cached(void **state)
{
    (void)state;
    play(leave_cached, PACKAGE_CACHED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_partial), cmocka_unit_test(test_cached)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
