/* fetch/fetch.h beyond one misbehaving host (test_fetch_behaviours.c has those): rotation, rounds, limits,
 * conditions, the cache, several items. Waits are skipped by the fixture's clock. */
#include "base/files.h"
#include "fetch/fetch.h"
#include "fetch_scene.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void test_request_cap(void **state)
{
    (void)state;
    const struct script_path paths[] = {PATH("/a.pkg", {.status = 503})};
    struct scene scene;
    scene_init(&scene, paths, 1);
    scene.fixture.settings.limits.max_requests_per_item = 3;
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FAILED);
    assert_int_equal(scripted_server_count(scene.server, NULL), 3);
    assert_non_null(strstr(scene.result.err.text, "given up after 3 requests"));
    scene_done(&scene);
}

static void test_item_timeout(void **state)
{
    (void)state;
    const struct script_path paths[] = {PATH("/a.pkg", {.status = 503})};
    struct scene scene;
    scene_init(&scene, paths, 1);
    scene.fixture.settings.retry.rounds = 1000;
    scene.fixture.settings.limits.item_timeout_ms = 30 * 60 * 1000;
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FAILED);
    assert_non_null(strstr(scene.result.err.text, "less than 1 MiB of progress in 30 min"));
    scene_done(&scene);
}

static void test_too_large(void **state)
{
    (void)state;
    const struct script_path paths[] = {PATH("/a.pkg", {WHOLE}), PATH("/c.pkg", {WHOLE, .chunked = true})};
    struct scene scene;
    scene_init(&scene, paths, 2);
    scene.fixture.settings.limits.max_package_bytes = 30000;
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FAILED);
    assert_non_null(strstr(scene.result.err.text, "too large"));
    scene.request.url = fixture_url(&scene.fixture, scripted_server_port(scene.server), "/c.pkg");
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FAILED);
    assert_non_null(strstr(scene.result.err.text, "too large: more than"));
    assert_int_equal(fixture_count_files(&scene.fixture, "partial"), 0);
    scene_done(&scene);
}

static void test_redirects(void **state)
{
    (void)state;
    const struct script_path paths[] = {
        PATH("/a.pkg", {.status = 302, .headers = "Location: /b%2520x.pkg?sig=1\r\n"}),
        PATH("/b%2520x.pkg?sig=1", {.status = 301, .headers = "Location: c/d.pkg\r\n"}),
        PATH("/c/d.pkg", {WHOLE, .headers = "Content-Disposition: attachment; filename=\"../x/n.pkg\"\r\n"}),
    };
    struct scene scene;
    scene_init(&scene, paths, 3);
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FETCHED);
    assert_int_equal(scripted_server_count(scene.server, NULL), 3);
    assert_int_equal(scene.result.attempt_count, 1);
    assert_string_equal(scene.result.file_name, "n.pkg");
    scene.fixture.settings.limits.max_redirects = 1;
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FAILED);
    assert_non_null(strstr(scene.result.err.text, "more than 1 redirects"));
    scene_done(&scene);
}

/* A signed URL that expired: once more from the original. */
static void test_expired_redirect(void **state)
{
    (void)state;
    const struct script_path paths[] = {
        PATH("/a.pkg", {.status = 302, .headers = "Location: /old\r\n"},
             {.status = 302, .headers = "Location: /new\r\n"}),
        PATH("/old", {.status = 403}),
        PATH("/new", {WHOLE}),
    };
    struct scene scene;
    scene_init(&scene, paths, 3);
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FETCHED);
    assert_int_equal(scene.fixture.skipped_ms, 0);
    scene_done(&scene);
}

static void test_credentials_stay_home(void **state)
{
    (void)state;
    const struct script_path there[] = {PATH("/x.pkg", {WHOLE})};
    struct scripted_server *elsewhere = scripted_server_new(there, 1);
    char location[128], head[4096];
    snprintf(location, sizeof location, "Location: http://127.0.0.1:%d/x.pkg\r\n",
             scripted_server_port(elsewhere));
    const struct script_path paths[] = {PATH("/a.pkg", {.status = 302, .headers = "Location: /b.pkg\r\n"}),
                                        PATH("/b.pkg", {.status = 302, .headers = location})};
    struct scene scene;
    scene_init(&scene, paths, 2);
    struct source_rule rule = {.prefix = fixture_url(&scene.fixture, scripted_server_port(scene.server), "/"),
                               .retry = scene.fixture.settings.retry,
                               .header = "X-Api-Key: hunter2"};
    scene.fixture.settings.sources = &rule;
    scene.fixture.settings.source_count = 1;
    char url[256];
    snprintf(url, sizeof url, "http://bob:s3cret@127.0.0.1:%d/a.pkg", scripted_server_port(scene.server));
    scene.request.url = url;
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FETCHED);
    for (size_t i = 0; i < 2; i++) {
        scripted_server_head(scene.server, NULL, i, head, sizeof head);
        assert_non_null(strstr(head, "X-Api-Key: hunter2"));
        assert_non_null(strstr(head, "Authorization: Basic Ym9iOnMzY3JldA=="));
    }
    scripted_server_head(elsewhere, NULL, 0, head, sizeof head);
    assert_non_null(strstr(head, "GET /x.pkg"));
    assert_null(strstr(head, "hunter2"));
    assert_null(strstr(head, "Authorization"));
    assert_null(strstr(buf_text(&scene.fixture.log_text), "s3cret"));
    assert_null(strstr(buf_text(&scene.fixture.log_text), "hunter2"));
    assert_null(strstr(scene.result.attempts[0].url, "s3cret"));
    scripted_server_free(elsewhere);
    scene_done(&scene);
}

static void test_conditional(void **state)
{
    (void)state;
    const struct script_path paths[] = {PATH(
        "/a.pkg", {WHOLE, .etag = "\"v1\"", .headers = "Last-Modified: Mon, 30 Nov 2015 10:00:00 GMT\r\n"})};
    struct scene scene;
    char head[4096];
    scene_init(&scene, paths, 1);
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FETCHED);
    assert_int_equal(scene.fixture.told_count, 1);
    assert_string_equal(scene.fixture.told.etag, "\"v1\"");
    assert_string_equal(scene.fixture.told.last_modified, "Mon, 30 Nov 2015 10:00:00 GMT");
    assert_string_equal(scene.fixture.told.sha256, scene.result.sha256);
    assert_string_equal(scene.fixture.told.url_sha256,
                        fixture_digest(&scene.fixture, scene.request.url, strlen(scene.request.url)));
    struct remembered_validator known = scene.fixture.told;

    /* bytes needed and in the cache: a 304 is enough, and the cached file is verified */
    scene.request.known = &known;
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_CACHED);
    assert_non_null(scene.result.path);
    assert_non_null(
        strstr(scripted_server_head(scene.server, NULL, 1, head, sizeof head), "If-None-Match: \"v1\""));

    /* held by Fleet: no bytes here */
    scene.request.bytes_needed = false;
    scene.request.known_bytes_are_held = true;
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_NOT_MODIFIED);
    assert_string_equal(scene.result.sha256, known.sha256);
    assert_null(scene.result.path);

    /* a damaged cache entry does not survive the 304 */
    scene.request.bytes_needed = true;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/sha256/%.2s/%s", scene.fixture.folder, known.sha256, known.sha256);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    fputc('!', file);
    fclose(file);
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FETCHED);
    assert_true(fixture_file_is(scene.result.path, package, sizeof package));

    /* not in the cache, but needed: no condition is sent */
    unlink(path);
    size_t before = scripted_server_count(scene.server, NULL);
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FETCHED);
    assert_null(strstr(scripted_server_head(scene.server, NULL, before, head, sizeof head), "If-None-Match"));
    scene_done(&scene);
}

static void test_probe(void **state)
{
    (void)state;
    const struct script_path paths[] = {
        PATH("/a.pkg", {WHOLE, .etag = "\"v1\"", .ranges = true}, {WHOLE, .etag = "\"v2\"", .ranges = true},
             {WHOLE, .etag = "\"v2\""}, {.status = 404}),
        PATH("/b.pkg", {WHOLE}),
    };
    static const struct remembered_validator known = {
        .url_sha256 = "", .etag = "\"v1\"", .last_modified = "", .sha256 = "ab", .file_name = "a.pkg"};
    struct scene scene;
    char head[4096];
    scene_init(&scene, paths, 2);
    scene.request.bytes_needed = false;
    scene.request.probe_only = true;
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_UNKNOWN); /* nothing is remembered: not even asked */
    assert_int_equal(scripted_server_count(scene.server, NULL), 0);
    scene.request.known = &known;
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_UNKNOWN); /* a 304 would not count: the bytes are nowhere */
    assert_int_equal(scripted_server_count(scene.server, NULL), 0);
    scene.request.known_bytes_are_held = true;
    static const enum package_state expected[] = {PACKAGE_NOT_MODIFIED, PACKAGE_CHANGED, PACKAGE_CHANGED,
                                                  PACKAGE_FAILED};
    for (size_t i = 0; i < 4; i++) {
        scene_run(&scene);
        assert_int_equal(scene.result.state, expected[i]);
        scripted_server_head(scene.server, NULL, i, head, sizeof head);
        assert_non_null(strstr(head, "GET /a.pkg"));
        assert_non_null(strstr(head, "If-None-Match: \"v1\""));
        assert_non_null(strstr(head, "Range: bytes=0-0"));
        assert_int_equal(scene.result.received_bytes, 0);
    }
    scene_add_backup(&scene, "/b.pkg");
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_UNKNOWN);
    assert_int_equal(scripted_server_count(scene.server, "/b.pkg"), 0);
    scene_done(&scene);
}

static void test_pinned_and_cached(void **state)
{
    (void)state;
    const struct script_path paths[] = {PATH("/a.pkg", {WHOLE})};
    struct scene scene;
    scene_init(&scene, paths, 1);
    scene.request.sha256 = fixture_digest(&scene.fixture, package, sizeof package);
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FETCHED);
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_CACHED);
    assert_int_equal(scripted_server_count(scene.server, NULL), 1);
    /* A24: a flipped byte */
    FILE *file = fopen(scene.result.path, "r+");
    assert_non_null(file);
    fputc('!', file);
    fclose(file);
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FETCHED);
    assert_int_equal(scripted_server_count(scene.server, NULL), 2);
    assert_true(fixture_file_is(scene.result.path, package, sizeof package));
    scene_done(&scene);
}

static void test_one_download_per_url(void **state)
{
    (void)state;
    const struct script_path paths[] = {PATH("/a.pkg", {WHOLE}), PATH("/b.pkg", {WHOLE})};
    struct scene scene;
    struct package_request requests[5];
    struct package results[5];
    scene_init(&scene, paths, 2);
    for (size_t i = 0; i < 5; i++)
        requests[i] = scene.request;
    /* another URL of the same pinned bytes is one more source of the same download */
    requests[3].sha256 = requests[4].sha256 = fixture_digest(&scene.fixture, package, sizeof package);
    requests[4].url = fixture_url(&scene.fixture, scripted_server_port(scene.server), "/b.pkg");
    assert_int_equal(fetch_run(&scene.fixture.options, requests, 5, scene.fixture.arena, results, &scene.e),
                     0);
    for (size_t i = 0; i < 5; i++) {
        assert_true(results[i].state == PACKAGE_FETCHED || results[i].state == PACKAGE_CACHED);
        assert_non_null(results[i].path);
    }
    assert_int_equal(scripted_server_count(scene.server, NULL), 2);
    scene_done(&scene);
}

/* Two items want the same pinned bytes from two places: what the one can't bring the other does, for both. */
static void test_one_download_per_digest(void **state)
{
    (void)state;
    static const struct script_step downs[] = {
        {.status = 404},
        {.status = 503},
        {WHOLE, .ranges = true, .send_at_most = 20000, .end = SCRIPT_RESET}};
    for (size_t i = 0; i < sizeof downs / sizeof downs[0]; i++) {
        const struct script_path paths[] = {{.path = "/a.pkg", .steps = &downs[i], .step_count = 1},
                                            PATH("/b.pkg", {WHOLE, .ranges = true})};
        struct scene scene;
        struct package_request requests[2];
        struct package results[2];
        scene_init(&scene, paths, 2);
        scene.request.sha256 = fixture_digest(&scene.fixture, package, sizeof package);
        requests[0] = requests[1] = scene.request;
        requests[1].url = fixture_url(&scene.fixture, scripted_server_port(scene.server), "/b.pkg");
        assert_int_equal(
            fetch_run(&scene.fixture.options, requests, 2, scene.fixture.arena, results, &scene.e), 0);
        for (size_t k = 0; k < 2; k++) {
            assert_int_equal(results[k].state, PACKAGE_FETCHED);
            assert_true(fixture_file_is(results[k].path, package, sizeof package));
        }
        assert_int_equal(scripted_server_count(scene.server, NULL), 2);
        scene_done(&scene);
    }
}

/* G1: what fails does not hold up what works. */
static void test_isolation_and_gates(void **state)
{
    (void)state;
    enum { COUNT = 24 };
    struct script_step good = {WHOLE, .delay_ms = 20}, bad = {.status = 404}, slow = {WHOLE, .delay_ms = 20};
    struct script_path paths[COUNT];
    char names[COUNT][16];
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof names[i], "/%zu.pkg", i);
        paths[i] = (struct script_path){.path = names[i],
                                        .steps = i == 5   ? &bad
                                                 : i == 7 ? &slow
                                                          : &good,
                                        .step_count = 1};
    }
    struct scene scene;
    struct package_request requests[COUNT];
    struct package results[COUNT];
    scene_init(&scene, paths, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        requests[i] = scene.request;
        requests[i].url = fixture_url(&scene.fixture, scripted_server_port(scene.server), names[i]);
    }
    assert_int_equal(
        fetch_run(&scene.fixture.options, requests, COUNT, scene.fixture.arena, results, &scene.e), 0);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(results[i].state, i == 5 ? PACKAGE_FAILED : PACKAGE_FETCHED);
    assert_in_range(scripted_server_most_at_once(scene.server), 2, 4);
    scene_done(&scene);
}

static void test_proxy_login_is_fatal(void **state)
{
    (void)state;
    const struct script_path paths[] = {PATH("http://a.invalid/a.pkg", {.status = 407}),
                                        PATH("http://a.invalid/b.pkg", {.status = 503})};
    struct scene scene;
    struct package_request requests[2];
    struct package results[2];
    char proxy[64];
    scene_init(&scene, paths, 2);
    snprintf(proxy, sizeof proxy, "http://127.0.0.1:%d", scripted_server_port(scene.server));
    setenv("http_proxy", proxy, 1);
    requests[0] = requests[1] = scene.request;
    requests[0].url = "http://a.invalid/a.pkg";
    requests[1].url = "http://a.invalid/b.pkg";
    assert_int_equal(fetch_run(&scene.fixture.options, requests, 2, scene.fixture.arena, results, &scene.e),
                     -1);
    unsetenv("http_proxy");
    assert_non_null(strstr(scene.e.text, "407"));
    scene_done(&scene);
}

/* What one package host can do to the run: fail its own item. */
static void test_no_host_is_fatal(void **state)
{
    (void)state;
    enum { LONG_BYTES = 150000, TAG_BYTES = 90000 };
    static const char ok[] = "HTTP/1.1 200 OK\r\n";
    static char line[LONG_BYTES + 64], flood[20000 * 25 + 1], tag[TAG_BYTES + 128];
    strcpy(line, ok);
    strcat(line, "X-A: ");
    memset(line + strlen(line), 'a', LONG_BYTES);
    for (size_t i = 0; i < 20000; i++)
        memcpy(flood + i * 25, "HTTP/1.1 100 Continue\r\n\r\n", 25);
    int head = snprintf(tag, sizeof tag, "%sContent-Length: %d\r\nETag: \"", ok, (int)sizeof package);
    memset(tag + head, 'e', TAG_BYTES);
    strcpy(tag + head + TAG_BYTES, "\"\r\n\r\n");
    const struct {
        struct script_step first, then;
        enum package_state state;
        const char *words;
    } hosts[] = {
        {{.raw = line, .end = SCRIPT_CLOSE}, {WHOLE}, PACKAGE_FAILED, "a header line that is too long"},
        {{.raw = flood, .end = SCRIPT_CLOSE}, {WHOLE}, PACKAGE_FAILED, "larger than 256 KiB (limit)"},
        {{.status = 407}, {WHOLE}, PACKAGE_FAILED, "no proxy is in use"},
        /* Its validator is too long to be sent back. */
        {{.raw = tag, WHOLE, .send_at_most = 20000, .end = SCRIPT_RESET}, {WHOLE}, PACKAGE_FETCHED, NULL},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(hosts); i++) {
        const struct script_step steps[] = {hosts[i].first, hosts[i].then}, good[] = {{WHOLE}};
        const struct script_path paths[] = {{.path = "/a.pkg", .steps = steps, .step_count = 2},
                                            {.path = "/b.pkg", .steps = good, .step_count = 1}};
        struct scene scene;
        struct package_request requests[2];
        struct package results[2];
        print_message("    %zu\n", i);
        scene_init(&scene, paths, 2);
        requests[0] = requests[1] = scene.request;
        requests[1].url = fixture_url(&scene.fixture, scripted_server_port(scene.server), "/b.pkg");
        assert_int_equal(
            fetch_run(&scene.fixture.options, requests, 2, scene.fixture.arena, results, &scene.e), 0);
        assert_int_equal(results[0].state, hosts[i].state);
        if (hosts[i].words != NULL)
            assert_non_null(strstr(results[0].err.text, hosts[i].words));
        assert_int_equal(results[1].state, PACKAGE_FETCHED);
        scene_done(&scene);
    }
}

static void stop_when_half(void *context, const struct fetch_progress *progress)
{
    struct scene *scene = context;
    if (progress->items[0].bytes > 4 * 16384)
        loop_request_stop(scene->fixture.loop, LOOP_STOP_SOON);
}

/* A33, A28: interrupted, the partial stays; the next run continues it. */
static void interrupted_then_resumed(bool is_pinned, const char *etag)
{
    struct script_step slow = {
        .body = big, .body_length = sizeof big, .etag = etag, .ranges = true, .pace_ms = 10};
    struct script_step fast = {.body = big, .body_length = sizeof big, .etag = etag, .ranges = true};
    struct script_step steps[] = {slow, fast};
    const struct script_path paths[] = {{.path = "/big.pkg", .steps = steps, .step_count = 2}};
    struct scene scene;
    char head[4096];
    scene_init(&scene, paths, 1);
    if (is_pinned)
        scene.request.sha256 = fixture_digest(&scene.fixture, big, sizeof big);
    scene.fixture.options.progress = stop_when_half;
    scene.fixture.options.progress_context = &scene;
    scene.fixture.settings.limits.stall_ms = 5000;
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_INTERRUPTED);
    assert_int_equal(fixture_count_files(&scene.fixture, "partial"), 2);
    fetch_fixture_next_run(&scene.fixture);
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FETCHED);
    assert_true(fixture_file_is(scene.result.path, big, sizeof big));
    scripted_server_head(scene.server, NULL, 1, head, sizeof head);
    if (is_pinned || etag != NULL)
        assert_non_null(strstr(head, "Range: bytes="));
    else
        assert_null(strstr(head, "Range: bytes="));
    assert_int_equal(etag != NULL, strstr(head, "If-Range: \"v1\"") != NULL);
    assert_int_equal(fixture_count_files(&scene.fixture, "partial"), 0);
    scene_done(&scene);
}

static void test_interrupted(void **state)
{
    (void)state;
    interrupted_then_resumed(true, "\"v1\"");
    interrupted_then_resumed(true, NULL);
    interrupted_then_resumed(false, "\"v1\"");
    interrupted_then_resumed(false, NULL);
}

static void write_file(const struct scene *scene, const char *name, const void *bytes, size_t length)
{
    char path[PATH_MAX];
    struct err e;
    err_init(&e);
    snprintf(path, sizeof path, "%s/partial", scene->fixture.folder);
    assert_int_equal(folder_make(path, &e), 0);
    snprintf(path, sizeof path, "%s/partial/%s", scene->fixture.folder, name);
    assert_int_equal(file_write_atomically(path, bytes, length, 0600, &e), 0);
}

/* What a former run may have left, and how many requests it costs. */
static void test_leftovers(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const unsigned char *bytes;
        size_t length;
        bool knows_size;
        size_t requests;
    } leftovers[] = {
        {"A17: complete", package, PACKAGE_BYTES, true, 0},
        {"complete, length unknown: the 416 says so", package, PACKAGE_BYTES, false, 1},
        {"A23: corrupt and complete", other, PACKAGE_BYTES, true, 1},
        {"corrupt and partial: resumed, wrong, once more", other, 1000, true, 2},
        {"partial", package, 1000, true, 1},
        {"longer than the file", big, PACKAGE_BYTES + 1, true, 1},
        {"longer than the file, length unknown", big, PACKAGE_BYTES + 1, false, 2},
    };
    const struct script_path paths[] = {PATH("/a.pkg", {WHOLE, .ranges = true})};
    for (size_t i = 0; i < sizeof leftovers / sizeof leftovers[0]; i++) {
        struct scene scene;
        char name[128], about[512];
        print_message("    %s\n", leftovers[i].name);
        scene_init(&scene, paths, 1);
        scene.request.sha256 = fixture_digest(&scene.fixture, package, sizeof package);
        snprintf(name, sizeof name, "%s.part", scene.request.sha256);
        write_file(&scene, name, leftovers[i].bytes, leftovers[i].length);
        snprintf(name, sizeof name, "%s.about", scene.request.sha256);
        snprintf(about, sizeof about, "tender partial 1\nboot x\nsource %s\n%send\n", scene.request.sha256,
                 leftovers[i].knows_size ? "size 41152\n" : "");
        write_file(&scene, name, about, strlen(about));
        scene_run(&scene);
        assert_int_equal(scene.result.state, PACKAGE_FETCHED);
        assert_true(fixture_file_is(scene.result.path, package, sizeof package));
        assert_int_equal(scripted_server_count(scene.server, NULL), leftovers[i].requests);
        assert_int_equal(fixture_count_files(&scene.fixture, "partial"), 0);
        scene_done(&scene);
    }
}

static void test_partial_of_another_process(void **state)
{
    (void)state;
    const struct script_path paths[] = {PATH("/a.pkg", {WHOLE})};
    struct scene scene;
    char path[PATH_MAX];
    struct err e;
    int lock = -1;
    scene_init(&scene, paths, 1);
    err_init(&e);
    scene.request.sha256 = fixture_digest(&scene.fixture, package, sizeof package);
    snprintf(path, sizeof path, "%s.part", scene.request.sha256);
    write_file(&scene, path, "", 0);
    snprintf(path, sizeof path, "%s/partial/%s.part", scene.fixture.folder, scene.request.sha256);
    assert_int_equal(file_lock(path, &lock, &e), 0);
    scene.fixture.settings.limits.item_timeout_ms = 60 * 1000;
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FAILED);
    assert_int_equal(scripted_server_count(scene.server, NULL), 0);
    close(lock);
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FETCHED);
    scene_done(&scene);
}

static void test_other_schemes(void **state)
{
    (void)state;
    const struct script_path paths[] = {PATH("/a.pkg", {WHOLE})};
    struct scene scene;
    scene_init(&scene, paths, 1);
    scene.request.url = "s3://bucket/key?token=abc";
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FAILED);
    assert_non_null(strstr(scene.result.err.text, "only http:// and https://"));
    assert_null(strstr(scene.result.err.text, "abc"));
    scene_done(&scene);
}

static void test_deadline(void **state)
{
    (void)state;
    const struct script_path paths[] = {PATH("/a.pkg", {.status = 503})};
    struct scene scene;
    scene_init(&scene, paths, 1);
    scene.fixture.options.deadline_monotonic_ms = scene.fixture.clock.monotonic_ms(&scene.fixture) + 5000;
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FAILED);
    assert_non_null(strstr(scene.result.err.text, "deadline"));
    scene_done(&scene);
}

static void test_store_and_prune(void **state)
{
    (void)state;
    static const char script[] = "#!/bin/sh\necho hello\n";
    const struct script_path paths[] = {PATH("/a.pkg", {WHOLE})};
    struct scene scene;
    scene_init(&scene, paths, 1);
    struct package stored;
    assert_int_equal(fetch_store(&scene.fixture.options, script, sizeof script - 1, "hello.sh",
                                 scene.fixture.arena, &stored, &scene.e),
                     0);
    assert_int_equal(stored.state, PACKAGE_CACHED);
    assert_true(fixture_file_is(stored.path, script, sizeof script - 1));
    assert_string_equal(stored.file_name, "hello.sh");
    scene_run(&scene);
    assert_int_equal(fixture_count_files(&scene.fixture, "sha256"), 2);
    const char *in_use[] = {stored.sha256};
    assert_int_equal(fetch_prune_cache(scene.fixture.folder, 0, in_use, 1, NULL, &scene.e), 0);
    assert_int_equal(fixture_count_files(&scene.fixture, "sha256"), 2);
    assert_int_equal(fetch_prune_cache(scene.fixture.folder, 1000, in_use, 1, NULL, &scene.e), 0);
    assert_int_equal(fixture_count_files(&scene.fixture, "sha256"), 1);
    assert_true(fixture_file_is(stored.path, script, sizeof script - 1));
    assert_int_equal(
        fetch_store(&scene.fixture.options, "", 0, "empty.sh", scene.fixture.arena, &stored, &scene.e), -1);
    scene_done(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_request_cap),
        cmocka_unit_test(test_item_timeout),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_redirects),
        cmocka_unit_test(test_expired_redirect),
        cmocka_unit_test(test_credentials_stay_home),
        cmocka_unit_test(test_conditional),
        cmocka_unit_test(test_probe),
        cmocka_unit_test(test_pinned_and_cached),
        cmocka_unit_test(test_one_download_per_url),
        cmocka_unit_test(test_one_download_per_digest),
        cmocka_unit_test(test_isolation_and_gates),
        cmocka_unit_test(test_proxy_login_is_fatal),
        cmocka_unit_test(test_no_host_is_fatal),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_leftovers),
        cmocka_unit_test(test_partial_of_another_process),
        cmocka_unit_test(test_other_schemes),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_store_and_prune),
    };
    return cmocka_run_group_tests(tests, scene_make_bodies, NULL);
}
