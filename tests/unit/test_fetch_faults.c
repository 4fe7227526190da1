/* lib/fetch when the machine fails: each allocation, a full disk, a cache that can't be written. */
#include "base/files.h"
#include "failing_alloc.h"
#include "fetch/cache.h"
#include "fetch/fetch.h"
#include "fetch/partial.h"
#include "fetch_fixture.h"
#include "scripted_server.h"
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { PACKAGE_BYTES = 200000 };

static unsigned char *package;

static int make_body(void **state)
{
    (void)state;
    package = fixture_bytes(".pkg", PACKAGE_BYTES, 7);
    return 0;
}

static int free_body(void **state)
{
    (void)state;
    free(package);
    return 0;
}

/* A redirect, a cut body, a resume, a name of its own: most of the code, once per failing allocation. */
static void test_allocations(void **state)
{
    (void)state;
    const struct script_step steps[] = {
        {.body = package,
         .body_length = PACKAGE_BYTES,
         .etag = "\"v\"",
         .ranges = true,
         .send_at_most = 90000,
         .end = SCRIPT_CLOSE},
        {.body = package,
         .body_length = PACKAGE_BYTES,
         .etag = "\"v\"",
         .ranges = true,
         .headers = "Content-Disposition: attachment; filename=\"n.pkg\"\r\n"},
    };
    const struct script_step redirect = {.status = 302, .headers = "Location: /b\r\n"};
    const struct script_path paths[] = {{.path = "/a", .steps = &redirect, .step_count = 1},
                                        {.path = "/b", .steps = steps, .step_count = 2}};
    bool has_failed = true;
    size_t fetched = 0, refused = 0;
    for (long nth = 1; has_failed; nth++) {
        struct fetch_fixture fixture;
        struct package result = {.state = PACKAGE_INTERRUPTED};
        struct err e;
        err_init(&e);
        assert_in_range(nth, 1, 1000);
        fetch_fixture_init(&fixture);
        fixture.options.log = NULL;
        fixture.options.memory = NULL;
        struct scripted_server *server = scripted_server_new(paths, 2);
        struct package_request request = {.name = "a",
                                          .url = fixture_url(&fixture, scripted_server_port(server), "/a"),
                                          .bytes_needed = true};
        failing_alloc_start(nth, false);
        int status = fetch_run(&fixture.options, &request, 1, fixture.arena, &result, &e);
        has_failed = failing_alloc_stop() >= nth;
        if (status < 0) {
            assert_int_equal(e.class, ERR_MEMORY);
            refused++;
        } else {
            assert_int_equal(result.state, PACKAGE_FETCHED);
            assert_true(fixture_file_is(result.path, package, PACKAGE_BYTES));
            fetched++;
        }
        scripted_server_free(server);
        fetch_fixture_done(&fixture);
    }
    assert_true(refused > 20);
    assert_true(fetched >= 1);
}

/* RLIMIT_FSIZE stands for a disk that fills up in mid-write. */
static void test_full_disk(void **state)
{
    (void)state;
    const struct script_step good = {.body = package, .body_length = PACKAGE_BYTES, .chunked = true};
    const struct script_step small = {.body = package, .body_length = 1000};
    const struct script_path paths[] = {{.path = "/big.pkg", .steps = &good, .step_count = 1},
                                        {.path = "/small.pkg", .steps = &small, .step_count = 1}};
    struct fetch_fixture fixture;
    struct package results[2];
    struct rlimit before, limit;
    struct err e;
    err_init(&e);
    fetch_fixture_init(&fixture);
    struct scripted_server *server = scripted_server_new(paths, 2);
    struct package_request requests[] = {
        {.name = "big",
         .url = fixture_url(&fixture, scripted_server_port(server), "/big.pkg"),
         .bytes_needed = true},
        {.name = "small",
         .url = fixture_url(&fixture, scripted_server_port(server), "/small.pkg"),
         .bytes_needed = true},
    };
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 100000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    int status = fetch_run(&fixture.options, requests, 2, fixture.arena, results, &e);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, 0);
    assert_int_equal(results[0].state, PACKAGE_FAILED);
    assert_non_null(strstr(results[0].err.text, "no disk space left"));
    assert_int_equal(results[0].err.class, ERR_SYSTEM);
    assert_int_equal(results[1].state, PACKAGE_FETCHED);           /* what fits goes on */
    assert_int_equal(fixture_count_files(&fixture, "partial"), 0); /* what does not is in nobody's way */
    scripted_server_free(server);
    fetch_fixture_done(&fixture);
}

static void test_cache_is_a_file(void **state)
{
    (void)state;
    struct fetch_fixture fixture;
    struct package result;
    struct err e;
    char path[PATH_MAX];
    err_init(&e);
    fetch_fixture_init(&fixture);
    snprintf(path, sizeof path, "%s/file", fixture.folder);
    assert_int_equal(file_write_atomically(path, "x", 1, 0600, &e), 0);
    fixture.options.cache_dir = path;
    struct package_request request = {.name = "a", .url = "http://127.0.0.1:1/a", .bytes_needed = true};
    assert_int_equal(fetch_run(&fixture.options, &request, 1, fixture.arena, &result, &e), -1);
    assert_int_equal(e.class, ERR_SYSTEM);
    fetch_fixture_done(&fixture);
}

static void write_partial(const char *folder, const char *name, const char *text, size_t length)
{
    char path[PATH_MAX];
    struct err e;
    err_init(&e);
    snprintf(path, sizeof path, "%s/partial/%s", folder, name);
    assert_int_equal(file_write_atomically(path, text, length, 0600, &e), 0);
}

/* Which leftovers are believed. */
static void test_sidecars(void **state)
{
    (void)state;
    static const char source[] = "0000000000000000000000000000000000000000000000000000000000000001";
    char boot[64] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (file != NULL) {
        assert_int_equal(fscanf(file, "%63s", boot), 1);
        fclose(file);
    }
    struct {
        const char *format; /* of the sidecar, "%s" being this boot's id; NULL: none */
        const char *boot;
        bool is_pinned;
        uint64_t kept;
    } cases[] = {
        {"tender partial 1\nboot %s\nsource %s\nvalidator \"v\"\nsize 100\nname a.pkg\nend\n", boot, false,
         10},
        {"tender partial 1\nboot %s\nsource %s\nvalidator \"v\"\nsize 100\nend\n", "other", false, 0},
        {"tender partial 1\nboot %s\nsource %s\nvalidator \"v\"\nsize 100\nend\n", "other", true, 10},
        {"tender partial 1\nboot %s\nsource %s\nvalidator \"v\"\nsi", boot, false, 0}, /* cut */
        {"tender partial 1\nboot %s\nsource %s\nsize 5\nend\n", boot, true, 0},        /* too long */
        {"nonsense %s %s\n", boot, false, 0},
        {NULL, boot, false, 0},
        {NULL, boot, true, 10},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct fetch_fixture fixture;
        struct partial partial;
        struct err e;
        char about[512];
        err_init(&e);
        fetch_fixture_init(&fixture);
        assert_int_equal(cache_prepare(fixture.folder, &e), 0);
        write_partial(fixture.folder, "k.part", "0123456789", 10);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        if (cases[i].format != NULL)
            snprintf(about, sizeof about, cases[i].format, cases[i].boot, source);
#pragma GCC diagnostic pop
        if (cases[i].format != NULL)
            write_partial(fixture.folder, "k.about", about, strlen(about));
        partial_init(&partial);
        assert_int_equal(partial_open(&partial, fixture.folder, "k", cases[i].is_pinned, &e), 0);
        assert_int_equal(partial.size_bytes, cases[i].kept);
        if (i == 0) {
            assert_string_equal(partial.validator, "\"v\"");
            assert_string_equal(partial.file_name, "a.pkg");
            assert_string_equal(partial.source, source);
            assert_int_equal(partial.expected_bytes, 100);
        }
        /* a second one is kept out as long as this one lives */
        struct partial second;
        partial_init(&second);
        assert_int_equal(partial_open(&second, fixture.folder, "k", true, &e), -1);
        assert_int_equal(e.class, ERR_LOCKED);
        partial_done(&partial);
        assert_int_equal(fixture_count_files(&fixture, "partial") > 0, cases[i].kept > 0);
        fetch_fixture_done(&fixture);
    }
}

static void test_prune(void **state)
{
    (void)state;
    struct fetch_fixture fixture;
    struct package stored[4];
    struct err e;
    err_init(&e);
    fetch_fixture_init(&fixture);
    for (size_t i = 0; i < 4; i++) {
        char text[101];
        memset(text, 'a' + (int)i, 100);
        assert_int_equal(fetch_store(&fixture.options, text, 100, "x.sh", fixture.arena, &stored[i], &e), 0);
        struct timespec times[2] = {{.tv_sec = 1000000 - (long)i}, {.tv_sec = 1000000 - (long)i}};
        assert_int_equal(utimensat(AT_FDCWD, stored[i].path, times, 0), 0);
    }
    write_partial(fixture.folder, "old.part", "x", 1);
    write_partial(fixture.folder, "new.part", "x", 1);
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/partial/old.part", fixture.folder);
    struct timespec long_ago[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
    assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
    /* the longest unused is number 3, which is in use: 2 and 1 go */
    const char *in_use[] = {stored[3].sha256};
    assert_int_equal(fetch_prune_cache(fixture.folder, 201, in_use, 1, NULL, &e), 0);
    static const bool stays[] = {true, false, false, true};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(access(stored[i].path, F_OK) == 0, stays[i]);
    assert_int_equal(fixture_count_files(&fixture, "partial"), 1);
    /* a damaged entry is written again */
    assert_int_equal(truncate(stored[0].path, 5), 0);
    assert_int_equal(fetch_store(&fixture.options, "b", 1, "x.sh", fixture.arena, &stored[1], &e), 0);
    assert_int_equal(fetch_prune_cache("/nonexistent", 200, NULL, 0, NULL, &e), 0);
    fetch_fixture_done(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocations),     cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_cache_is_a_file), cmocka_unit_test(test_sidecars),
        cmocka_unit_test(test_prune),
    };
    return cmocka_run_group_tests(tests, make_body, free_body);
}
