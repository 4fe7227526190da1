/* Every way in which a package host misbehaves, played to its end against the real loop: outcome, requests,
 * bytes, what is left on the disk, and what people are told. A row of the field reports that concerns the
 * fetcher and that nobody stands for fails the last test. */
#include "base/files.h"
#include "base/text.h"
#include "behaviours.h"
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST_RECORDS = 64, HEAD_BYTES = 16384 };

static int init(void **state)
{
    (void)state;
    behaviours_init();
    return 0;
}

/* "{here}" and "{elsewhere}" become the hosts' addresses. */
static const char *fill_in(struct behaviour_scene *scene, const char *text)
{
    char out[8192];
    size_t used = 0;
    if (text == NULL || strchr(text, '{') == NULL)
        return text;
    while (*text != '\0') {
        bool is_here = text_starts_with(text, "{here}"), is_elsewhere = text_starts_with(text, "{elsewhere}");
        if (is_here || is_elsewhere) {
            int port =
                is_elsewhere ? scripted_server_port(scene->elsewhere) : scripted_server_port(scene->server);
            used += (size_t)snprintf(out + used, sizeof out - used, "127.0.0.1:%d", port);
            text += is_here ? 6 : 11;
        } else {
            out[used++] = *text++;
        }
    }
    out[used] = '\0';
    struct err e;
    err_init(&e);
    const char *kept = arena_strdup(scene->fixture.arena, out, &e);
    assert_non_null(kept);
    return kept;
}

/* Paths whose steps may be changed once the ports are known. */
struct path_list {
    struct script_path paths[8];
    size_t count;
};

static void add_path(struct behaviour_scene *scene, struct path_list *list, const struct script_path *path)
{
    struct err e;
    err_init(&e);
    struct script_step *steps =
        arena_memdup(scene->fixture.arena, path->steps, path->step_count * sizeof *steps, &e);
    assert_non_null(steps);
    assert_true(list->count < 8);
    list->paths[list->count++] =
        (struct script_path){.path = path->path, .steps = steps, .step_count = path->step_count};
}

static void fill_in_headers(struct behaviour_scene *scene, struct path_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        for (size_t j = 0; j < list->paths[i].step_count; j++) {
            struct script_step *step = (struct script_step *)(uintptr_t)&list->paths[i].steps[j];
            step->headers = fill_in(scene, step->headers);
        }
}

static void ask_for(struct behaviour_scene *scene, const struct behaviour *row, const char *path)
{
    struct err e;
    err_init(&e);
    const char *url = row->url != NULL
                          ? fill_in(scene, row->url)
                          : fixture_url(&scene->fixture, scripted_server_port(scene->server), path);
    scene->request = (struct package_request){
        .name = "a.pkg",
        .url = url,
        .sha256 = row->is_pinned ? fixture_digest(&scene->fixture, behaviour_package, BEHAVIOUR_BYTES) : NULL,
        .bytes_needed = true,
    };
    if (row->backup == NULL)
        return;
    const char **backups = arena_alloc_array(scene->fixture.arena, 1, sizeof *backups, &e);
    assert_non_null(backups);
    backups[0] = fill_in(scene, row->backup);
    scene->request.backup_urls = (struct string_list){.is_set = true, .count = 1, .items = backups};
}

static void check_attempts(const struct behaviour *row, const struct package *result)
{
    uint64_t received = 0;
    for (size_t i = 0; i < result->attempt_count; i++) {
        const struct attempt *attempt = &result->attempts[i];
        bool is_last = i + 1 == result->attempt_count;
        received += attempt->bytes;
        assert_int_equal(attempt->number, i + 1);
        assert_int_equal(attempt->cause[0] == '\0', is_last && row->state == PACKAGE_FETCHED);
        assert_null(strstr(attempt->url, "s3cret"));
    }
    assert_int_equal(received, result->received_bytes);
    if (row->resumed_from > 0)
        assert_int_equal(result->attempts[result->attempt_count - 1].resumed_from, row->resumed_from);
}

/* What every request of ours must be, and what the server sent in all. */
static uint64_t check_requests(struct scripted_server *server, char last[HEAD_BYTES])
{
    struct script_record records[MOST_RECORDS];
    uint64_t sent = 0;
    size_t count = scripted_server_records(server, records, MOST_RECORDS);
    for (size_t i = 0; i < count; i++) {
        sent += records[i].sent_bytes;
        assert_true(text_starts_with(records[i].head, "GET /"));
        assert_non_null(strstr(records[i].head, " HTTP/1.1\r\n"));
        assert_non_null(strstr(records[i].head, "\r\nUser-Agent: tender-test/1\r\n"));
        snprintf(last, HEAD_BYTES, "%s", records[i].head);
    }
    return sent;
}

static void check_file(const struct behaviour_scene *scene, const struct behaviour *row)
{
    const struct package *result = &scene->result;
    const unsigned char *body = row->is_other ? behaviour_other : behaviour_package;
    if (row->state == PACKAGE_FAILED) {
        assert_int_equal(fixture_count_files(&scene->fixture, "sha256"), 0);
        assert_null(result->path);
        return;
    }
    char hex[DIGEST_HEX_BYTES];
    struct err e;
    err_init(&e);
    assert_int_equal(digest_bytes(body, BEHAVIOUR_BYTES, hex, &e), 0);
    assert_true(fixture_file_is(result->path, body, BEHAVIOUR_BYTES));
    assert_string_equal(result->sha256, hex);
    assert_int_equal(result->size_bytes, BEHAVIOUR_BYTES);
    if (row->file_name != NULL)
        assert_string_equal(result->file_name, row->file_name);
}

static void check_words(struct behaviour_scene *scene, const struct behaviour *row)
{
    const char *log = buf_text(&scene->fixture.log_text);
    const char *told = row->state == PACKAGE_FAILED ? scene->result.err.text : log;
    const char *words = fill_in(scene, row->words);
    if (words != NULL && strstr(told, words) == NULL)
        fail_msg("\"%s\" is not in: %s", words, told);
    assert_int_equal(scene->result.err.text[0] != '\0', row->state == PACKAGE_FAILED);
    assert_null(strstr(scene->result.err.text, "<html"));
    assert_null(strstr(scene->result.err.text, "s3cret"));
    assert_null(strstr(log, "s3cret"));
    assert_null(strstr(log, "<html"));
}

static void check_result(struct behaviour_scene *scene, const struct behaviour *row)
{
    const struct package *result = &scene->result;
    char last[HEAD_BYTES] = "";
    uint64_t usual = row->state == PACKAGE_FETCHED ? BEHAVIOUR_BYTES : 0;
    bool is_usual = row->most_bytes == 0;
    if (result->state != row->state)
        fail_msg("%s: %s\n%s", package_state_name(result->state), result->err.text,
                 buf_text(&scene->fixture.log_text));
    uint64_t sent = check_requests(scene->server, last);
    sent += check_requests(scene->elsewhere, last);
    assert_int_equal(scripted_server_count(scene->server, NULL), row->requests);
    assert_int_equal(scripted_server_count(scene->elsewhere, NULL), row->requests_elsewhere);
    assert_true(result->received_bytes <= sent);
    assert_in_range(result->received_bytes, is_usual ? usual : row->least_bytes,
                    is_usual ? usual : row->most_bytes);
    assert_int_equal(fixture_count_files(&scene->fixture, "partial"), row->partials);
    if (row->request_has != NULL && strstr(last, row->request_has) == NULL)
        fail_msg("%s is not in %s", row->request_has, last);
    if (row->request_lacks != NULL && strstr(last, row->request_lacks) != NULL)
        fail_msg("%s is in %s", row->request_lacks, last);
    check_attempts(row, result);
    check_file(scene, row);
    check_words(scene, row);
}

static void play(const struct behaviour *row)
{
    struct behaviour_scene scene;
    struct path_list here = {0}, elsewhere = {0};
    const char *path = row->path == NULL ? "/a.pkg" : row->path;
    const struct script_path first = {.path = path, .steps = row->steps, .step_count = row->step_count};
    print_message("    %s (%s)\n", row->name, row->stands_for);
    memset(&scene, 0, sizeof scene);
    err_init(&scene.e);
    fetch_fixture_init(&scene.fixture);
    scene.fixture.settings.limits.stall_ms = row->stall_ms > 0 ? row->stall_ms : 60 * 1000;
    scene.fixture.settings.limits.connect_timeout_ms = 60 * 1000;
    add_path(&scene, &here, &first);
    for (size_t i = 0; i < row->more_count; i++)
        add_path(&scene, &here, &row->more[i]);
    for (size_t i = 0; i < row->elsewhere_count; i++)
        add_path(&scene, &elsewhere, &row->elsewhere[i]);
    scene.server = scripted_server_new(here.paths, here.count);
    scene.elsewhere = scripted_server_new(elsewhere.paths, elsewhere.count);
    fill_in_headers(&scene, &here);
    fill_in_headers(&scene, &elsewhere);
    ask_for(&scene, row, path);
    if (row->arrange != NULL)
        row->arrange(&scene);
    assert_int_equal(
        fetch_run(&scene.fixture.options, &scene.request, 1, scene.fixture.arena, &scene.result, &scene.e),
        0);
    check_result(&scene, row);
    scripted_server_free(scene.server);
    scripted_server_free(scene.elsewhere);
    fetch_fixture_done(&scene.fixture);
}

static void test_rows(void **state)
{
    (void)state;
    assert_true(behaviour_count >= 50);
    for (size_t i = 0; i < behaviour_count; i++)
        play(&behaviours[i]);
}

/* For what one row can't say: several items, several runs, another set-up. Each names what it stands for in
 * the table below. */
static void scene_init(struct behaviour_scene *scene, const struct script_path *paths, size_t count)
{
    memset(scene, 0, sizeof *scene);
    err_init(&scene->e);
    fetch_fixture_init(&scene->fixture);
    scene->fixture.settings.limits.stall_ms = scene->fixture.settings.limits.connect_timeout_ms = 60 * 1000;
    scene->server = scripted_server_new(paths, count);
    scene->request = (struct package_request){
        .name = "a.pkg",
        .url = fixture_url(&scene->fixture, scripted_server_port(scene->server), paths[0].path),
        .bytes_needed = true,
    };
}

static void scene_done(struct behaviour_scene *scene)
{
    scripted_server_free(scene->server);
    fetch_fixture_done(&scene->fixture);
}

static void run(struct behaviour_scene *scene)
{
    assert_int_equal(fetch_run(&scene->fixture.options, &scene->request, 1, scene->fixture.arena,
                               &scene->result, &scene->e),
                     0);
}

static bool last_request_has(struct behaviour_scene *scene, const char *text)
{
    char head[HEAD_BYTES];
    size_t count = scripted_server_count(scene->server, NULL);
    assert_true(count > 0);
    return strstr(scripted_server_head(scene->server, NULL, count - 1, head, sizeof head), text) != NULL;
}

#define WHOLE .body = behaviour_package, .body_length = BEHAVIOUR_BYTES

/* Five packages, the third is gone: the other four arrive, once each. */
static void play_one_of_five_is_gone(void)
{
    enum { COUNT = 5 };
    static const char *const names[COUNT] = {"/0.pkg", "/1.pkg", "/2.pkg", "/3.pkg", "/4.pkg"};
    const struct script_step good = {WHOLE}, gone = {.status = 403};
    struct script_path paths[COUNT];
    struct behaviour_scene scene;
    struct package_request requests[COUNT];
    struct package results[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        paths[i] = (struct script_path){.path = names[i], .steps = i == 2 ? &gone : &good, .step_count = 1};
    scene_init(&scene, paths, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        requests[i] = scene.request;
        requests[i].url = fixture_url(&scene.fixture, scripted_server_port(scene.server), names[i]);
    }
    assert_int_equal(
        fetch_run(&scene.fixture.options, requests, COUNT, scene.fixture.arena, results, &scene.e), 0);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(results[i].state, i == 2 ? PACKAGE_FAILED : PACKAGE_FETCHED);
        assert_int_equal(scripted_server_count(scene.server, names[i]), 1);
    }
    scene_done(&scene);
}

struct told {
    size_t calls;
    uint64_t bytes;
    bool has_grown;
};

static void count_progress(void *context, const struct fetch_progress *progress)
{
    struct told *told = context;
    told->calls++;
    told->has_grown = told->has_grown || (told->bytes > 0 && progress->items[0].bytes > told->bytes);
    told->bytes = progress->items[0].bytes;
}

/* A body that takes its time is told of while it comes. */
static void play_progress(void)
{
    const struct script_step slow = {WHOLE, .pace_ms = 900};
    const struct script_path paths[] = {{.path = "/a.pkg", .steps = &slow, .step_count = 1}};
    struct behaviour_scene scene;
    struct told told = {0};
    scene_init(&scene, paths, 1);
    scene.fixture.options.progress = count_progress;
    scene.fixture.options.progress_context = &told;
    run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FETCHED);
    assert_true(told.calls >= 4);
    assert_true(told.has_grown);
    scene_done(&scene);
}

/* Eight slow bodies side by side: bytes come now and then for each, so none has stalled. */
static void play_parallel_bodies_do_not_stall(void)
{
    enum { COUNT = 8 };
    static const char *const names[COUNT] = {"/0.pkg", "/1.pkg", "/2.pkg", "/3.pkg",
                                             "/4.pkg", "/5.pkg", "/6.pkg", "/7.pkg"};
    const struct script_step slow = {WHOLE, .pace_ms = 400};
    struct script_path paths[COUNT];
    struct behaviour_scene scene;
    struct package_request requests[COUNT];
    struct package results[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        paths[i] = (struct script_path){.path = names[i], .steps = &slow, .step_count = 1};
    scene_init(&scene, paths, COUNT);
    scene.fixture.settings.limits.parallel_per_host = COUNT;
    scene.fixture.settings.limits.stall_ms = 5000;
    for (size_t i = 0; i < COUNT; i++) {
        requests[i] = scene.request;
        requests[i].url = fixture_url(&scene.fixture, scripted_server_port(scene.server), names[i]);
    }
    assert_int_equal(
        fetch_run(&scene.fixture.options, requests, COUNT, scene.fixture.arena, results, &scene.e), 0);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(results[i].state, PACKAGE_FETCHED);
        assert_int_equal(results[i].attempt_count, 1);
    }
    scene_done(&scene);
}

/* One host trickles and stalls: only what comes from there waits. */
static void play_one_slow_host(void)
{
    const struct script_step slow = {WHOLE, .send_at_most = 10, .end = SCRIPT_STALL}, good = {WHOLE};
    const struct script_path slow_path[] = {{.path = "/a.pkg", .steps = &slow, .step_count = 1}};
    const struct script_path good_path[] = {{.path = "/a.pkg", .steps = &good, .step_count = 1}};
    struct behaviour_scene scene;
    struct package results[2];
    scene_init(&scene, slow_path, 1);
    scene.elsewhere = scripted_server_new(good_path, 1);
    scene.fixture.settings.retry.rounds = 2;
    scene.fixture.settings.limits.stall_ms = 1500;
    struct package_request requests[2] = {scene.request, scene.request};
    requests[1].url = fixture_url(&scene.fixture, scripted_server_port(scene.elsewhere), "/a.pkg");
    assert_int_equal(fetch_run(&scene.fixture.options, requests, 2, scene.fixture.arena, results, &scene.e),
                     0);
    assert_int_equal(results[0].state, PACKAGE_FAILED);
    assert_int_equal(results[1].state, PACKAGE_FETCHED);
    scripted_server_free(scene.elsewhere);
    scene_done(&scene);
}

/* A host that is down for a minute is still there when the last round comes: 2 + 4 + … + 60 s. */
static void play_waits_are_long_enough(void)
{
    const struct script_step down = {.status = 503};
    const struct script_path paths[] = {{.path = "/a.pkg", .steps = &down, .step_count = 1}};
    struct behaviour_scene scene;
    scene_init(&scene, paths, 1);
    run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FAILED);
    assert_true(scene.fixture.skipped_ms >= 3 * 60 * 1000 - 10000);
    scene_done(&scene);
}

static void stop_after_some(void *context, const struct fetch_progress *progress)
{
    struct behaviour_scene *scene = context;
    if (progress->items[0].bytes > 0)
        loop_request_stop(scene->fixture.loop, LOOP_STOP_SOON);
}

/* SIGINT in mid-body: the partial stays, the next process asks for the rest only. */
static void play_interrupted(void)
{
    const struct script_step steps[] = {
        {WHOLE, .etag = "\"v1\"", .ranges = true, .send_at_most = 20000, .end = SCRIPT_STALL},
        {WHOLE, .etag = "\"v1\"", .ranges = true}};
    const struct script_path paths[] = {{.path = "/a.pkg", .steps = steps, .step_count = 2}};
    struct behaviour_scene scene;
    scene_init(&scene, paths, 1);
    scene.fixture.options.progress = stop_after_some;
    scene.fixture.options.progress_context = &scene;
    run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_INTERRUPTED);
    assert_int_equal(fixture_count_files(&scene.fixture, "partial"), 2);
    fetch_fixture_next_run(&scene.fixture);
    run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FETCHED);
    assert_true(fixture_file_is(scene.result.path, behaviour_package, BEHAVIOUR_BYTES));
    assert_true(last_request_has(&scene, "If-Range: \"v1\"\r\n"));
    assert_true(scene.result.received_bytes < BEHAVIOUR_BYTES);
    scene_done(&scene);
}

/* ETag before Last-Modified, Last-Modified before nothing; a size is never asked by, and proves nothing. */
static void play_trust(void)
{
    static const struct {
        const char *etag, *modified;
        const char *has, *lacks;
        enum package_state state;
    } cases[] = {
        {"\"v1\"", "Mon, 30 Nov 2015 10:00:00 GMT", "If-None-Match: \"v1\"\r\n", "If-Modified-Since",
         PACKAGE_NOT_MODIFIED},
        {"", "Mon, 30 Nov 2015 10:00:00 GMT", "If-Modified-Since: Mon, 30 Nov 2015 10:00:00 GMT\r\n",
         "If-None-Match", PACKAGE_NOT_MODIFIED},
        {"", "", "GET /a.pkg", "If-", PACKAGE_FETCHED},
    };
    const struct script_step step = {.body = behaviour_other,
                                     .body_length = BEHAVIOUR_BYTES,
                                     .etag = "\"v1\"",
                                     .modified = "Mon, 30 Nov 2015 10:00:00 GMT"};
    const struct script_path paths[] = {{.path = "/a.pkg", .steps = &step, .step_count = 1}};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct behaviour_scene scene;
        scene_init(&scene, paths, 1);
        const char *digest = fixture_digest(&scene.fixture, behaviour_package, BEHAVIOUR_BYTES);
        struct remembered_validator known = {.url_sha256 = "",
                                             .etag = cases[i].etag,
                                             .last_modified = cases[i].modified,
                                             .sha256 = digest,
                                             .file_name = "a.pkg",
                                             .size_bytes = BEHAVIOUR_BYTES};
        scene.request.known = &known;
        scene.request.known_bytes_are_held = true;
        scene.request.bytes_needed = false;
        run(&scene);
        assert_int_equal(scene.result.state, cases[i].state);
        assert_true(last_request_has(&scene, cases[i].has));
        assert_false(last_request_has(&scene, cases[i].lacks));
        /* the same size, but other bytes: told by the digest */
        assert_int_equal(strcmp(scene.result.sha256, digest) == 0, cases[i].state == PACKAGE_NOT_MODIFIED);
        scene_done(&scene);
    }
}

/* A 304 counts only while the bytes are somewhere: without them no condition is sent. */
static void play_condition_needs_bytes(void)
{
    const struct script_step step = {WHOLE, .etag = "\"v1\""};
    const struct script_path paths[] = {{.path = "/a.pkg", .steps = &step, .step_count = 1}};
    struct behaviour_scene scene;
    scene_init(&scene, paths, 1);
    run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FETCHED);
    /* what is remembered was computed from the bytes */
    assert_string_equal(scene.fixture.told.sha256,
                        fixture_digest(&scene.fixture, behaviour_package, BEHAVIOUR_BYTES));
    struct remembered_validator known = scene.fixture.told;
    scene.request.known = &known;
    run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_CACHED);
    assert_true(last_request_has(&scene, "If-None-Match: \"v1\"\r\n"));
    assert_int_equal(unlink(scene.result.path), 0);
    run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FETCHED);
    assert_false(last_request_has(&scene, "If-None-Match"));
    scene_done(&scene);
}

/* A new ETag with each hit: read again, and found to be the same by its digest; and nothing piles up. */
static void play_random_etags(void)
{
    const struct script_step steps[] = {
        {WHOLE, .etag = "\"1\""}, {WHOLE, .etag = "\"2\""}, {WHOLE, .etag = "\"3\""}, {WHOLE}};
    const struct script_path paths[] = {{.path = "/a.pkg", .steps = steps, .step_count = 4}};
    struct behaviour_scene scene;
    scene_init(&scene, paths, 1);
    struct remembered_validator known;
    for (size_t i = 0; i < 4; i++) {
        run(&scene);
        assert_int_equal(scene.result.state, PACKAGE_FETCHED);
        assert_string_equal(scene.result.sha256,
                            fixture_digest(&scene.fixture, behaviour_package, BEHAVIOUR_BYTES));
        known = scene.fixture.told;
        scene.request.known = &known;
        assert_int_equal(fixture_count_files(&scene.fixture, "partial"), 0);
        assert_int_equal(fixture_count_files(&scene.fixture, "sha256"), 1);
    }
    scene_done(&scene);
}

static void play_one_download_for_all(void)
{
    const struct script_step step = {WHOLE, .delay_ms = 20};
    const struct script_path paths[] = {{.path = "/a.pkg", .steps = &step, .step_count = 1}};
    struct behaviour_scene scene;
    struct package results[3];
    scene_init(&scene, paths, 1);
    const struct package_request requests[3] = {scene.request, scene.request, scene.request};
    assert_int_equal(fetch_run(&scene.fixture.options, requests, 3, scene.fixture.arena, results, &scene.e),
                     0);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(results[i].path, results[0].path);
    assert_int_equal(scripted_server_count(scene.server, NULL), 1);
    scene_done(&scene);
}

static void play_credentials_stay(void)
{
    const struct script_step good = {WHOLE};
    const struct script_path there[] = {{.path = "/x.pkg", .steps = &good, .step_count = 1}};
    struct scripted_server *elsewhere = scripted_server_new(there, 1);
    char location[128], head[HEAD_BYTES];
    snprintf(location, sizeof location, "Location: http://127.0.0.1:%d/x.pkg\r\n",
             scripted_server_port(elsewhere));
    const struct script_step leave = {.status = 302, .headers = location};
    const struct script_path paths[] = {{.path = "/a.pkg", .steps = &leave, .step_count = 1}};
    struct behaviour_scene scene;
    scene_init(&scene, paths, 1);
    struct source_rule rule = {.prefix = fixture_url(&scene.fixture, scripted_server_port(scene.server), "/"),
                               .retry = scene.fixture.settings.retry,
                               .header = "X-Api-Key: hunter2"};
    scene.fixture.settings.sources = &rule;
    scene.fixture.settings.source_count = 1;
    run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FETCHED);
    assert_true(last_request_has(&scene, "X-Api-Key: hunter2\r\n"));
    assert_null(strstr(scripted_server_head(elsewhere, NULL, 0, head, sizeof head), "hunter2"));
    assert_null(strstr(buf_text(&scene.fixture.log_text), "hunter2"));
    scripted_server_free(elsewhere);
    scene_done(&scene);
}

/* http_proxy and no_proxy hold for packages: libcurl reads them, as libgit2's transport over it does. */
static void play_proxy(void)
{
    const struct script_step good = {WHOLE};
    const struct script_path paths[] = {
        {.path = "http://vendor.example/a.pkg", .steps = &good, .step_count = 1},
        {.path = "/a.pkg", .steps = &good, .step_count = 1}};
    struct behaviour_scene scene;
    char proxy[64];
    scene_init(&scene, paths, 2);
    snprintf(proxy, sizeof proxy, "http://127.0.0.1:%d", scripted_server_port(scene.server));
    assert_int_equal(setenv("http_proxy", proxy, 1) | setenv("no_proxy", "127.0.0.1", 1), 0);
    scene.request.url = "http://vendor.example/a.pkg";
    run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FETCHED);
    assert_true(last_request_has(&scene, "GET http://vendor.example/a.pkg HTTP/1.1\r\n"));
    scene.request.url = fixture_url(&scene.fixture, scripted_server_port(scene.server), "/a.pkg");
    run(&scene);
    assert_true(last_request_has(&scene, "GET /a.pkg HTTP/1.1\r\n"));
    unsetenv("http_proxy");
    unsetenv("no_proxy");
    scene_done(&scene);
}

/* A pause that nobody can wait for is kept all the same: the host is asked by nobody any more. */
static void play_away_for_everybody(void)
{
    const struct script_step away = {.status = 503, .headers = "Retry-After: 86400\r\n"}, good = {WHOLE};
    const struct script_path paths[] = {{.path = "/a.pkg", .steps = &away, .step_count = 1},
                                        {.path = "/b.pkg", .steps = &good, .step_count = 1}};
    struct behaviour_scene scene;
    struct package results[2];
    scene_init(&scene, paths, 2);
    scene.fixture.settings.limits.parallel_per_host = 1;
    struct package_request requests[2] = {scene.request, scene.request};
    requests[1].url = fixture_url(&scene.fixture, scripted_server_port(scene.server), "/b.pkg");
    assert_int_equal(fetch_run(&scene.fixture.options, requests, 2, scene.fixture.arena, results, &scene.e),
                     0);
    assert_int_equal(results[0].state, PACKAGE_FAILED);
    assert_int_equal(results[1].state, PACKAGE_FAILED);
    assert_non_null(strstr(results[1].err.text, "asked everybody to stay away (Retry-After)"));
    assert_int_equal(scripted_server_count(scene.server, NULL), 1);
    assert_int_equal(scene.fixture.skipped_ms, 0);
    scene_done(&scene);
}

static const struct special {
    const char *name, *stands_for;
    void (*play)(void);
} specials[] = {
    {"one of five is gone", "A4, A5", play_one_of_five_is_gone},
    {"progress of a slow body", "A10", play_progress},
    {"eight slow bodies side by side", "A38", play_parallel_bodies_do_not_stall},
    {"one slow host", "A40", play_one_slow_host},
    {"waits that outlast a bad minute", "A42", play_waits_are_long_enough},
    {"interrupted", "A33", play_interrupted},
    {"what is trusted as unchanged", "B14, B19", play_trust},
    {"a 304 needs the bytes", "B2, B5", play_condition_needs_bytes},
    {"an ETag that is new each time", "B15, B17", play_random_etags},
    {"one download for all who want it", "B3", play_one_download_for_all},
    {"credentials stay with their origin", "C9", play_credentials_stay},
    {"a proxy and its exceptions", "C16", play_proxy},
    {"a pause of a day", "A8, RFC 9110 10.2.3", play_away_for_everybody},
};

static void test_specials(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(specials); i++) {
        print_message("    %s (%s)\n", specials[i].name, specials[i].stands_for);
        specials[i].play();
    }
}

/* Sections A, B and C of the field reports, for where the file itself is not at hand. */
static const char known_ids[] = "A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 A13 A14 A15 A16 A17 A18 A20 A23 A24 "
                                "A25 A26 A28 A29 A30 A31 A32 A33 A34 A35 A36 A37 "
                                "A38 A39 A40 A41 A42 A43 A44 A46 B1 B2 B3 B4 B5 B6 B7 B8 B9 B10 B11 B12 B14 "
                                "B15 B17 B19 B20 B21 B22 B23 C1 C3 C4 C5 C8 C9 "
                                "C10 C11 C13 C15 C16 ";

static const struct {
    const char *id, *why;
} not_ours[] = {
    {"A9", "a call of Fleet's API: lib/deliver, lib/fleet"},
    {"B4", "a placeholder for a digest: lib/manifest refuses it, lib/plan compares digests only"},
    {"B7", "a second run without writes: lib/plan, lib/deliver"},
    {"B8", "what Fleet's storage lost: lib/deliver"},
    {"B9", "references of policies: lib/manifest"},
    {"B10", "a digest without a URL: lib/plan"},
    {"B11", "scripts of a package that Fleet has: lib/plan"},
    {"B12", "two scripts with the same bytes: lib/manifest"},
    {"B23", "a digest, a URL, both or none: lib/manifest, lib/plan"},
    {"C4", "names of files in the repository: lib/manifest"},
    {"C5", "paths and globs in the repository: lib/manifest"},
    {"C11", "lists of packages: lib/manifest"},
    {"C15", "one CA file for git, packages and API: made into one http each in cmd/, spoken by lib/net"},
};

/* Whether the list ("A1, A13" or "A1 A13 ") names the id. */
static bool names(const char *list, const char *id)
{
    size_t length = strlen(id);
    for (const char *at = strstr(list, id); at != NULL; at = strstr(at + 1, id)) {
        bool starts = at == list || !isalnum((unsigned char)at[-1]);
        if (starts && !isdigit((unsigned char)at[length]))
            return true;
    }
    return false;
}

/* Each id is stood for or not the fetcher's, and not both. */
static void check_id(const char *id)
{
    size_t played = 0, excused = 0;
    for (size_t i = 0; i < behaviour_count; i++)
        played += names(behaviours[i].stands_for, id);
    for (size_t i = 0; i < ARRAY_LENGTH(specials); i++)
        played += names(specials[i].stands_for, id);
    for (size_t i = 0; i < ARRAY_LENGTH(not_ours); i++)
        excused += strcmp(not_ours[i].id, id) == 0;
    if ((played > 0) == (excused > 0))
        fail_msg("%s: %zu rows stand for it, %zu reasons say that it is not the fetcher's", id, played,
                 excused);
}

/* The ids of the file's rows in sections A to C: "| A1 | …". */
static bool read_ids(char *out, size_t size)
{
    FILE *file = fopen(TEST_SOURCE_DIR "/../../shared/field-reports.md", "r");
    if (file == NULL)
        return false;
    char line[8192], id[8];
    size_t used = 0;
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "| %7[ABC0123456789] |", id) == 1 && isdigit((unsigned char)id[1]))
            used += (size_t)snprintf(out + used, size - used, "%s ", id);
    fclose(file);
    return true;
}

static void test_every_report_is_stood_for(void **state)
{
    (void)state;
    char ids[2048], id[8];
    if (read_ids(ids, sizeof ids))
        assert_string_equal(ids, known_ids);
    size_t count = 0;
    for (const char *rest = known_ids; sscanf(rest, "%7s", id) == 1; rest += strlen(id) + 1, count++)
        check_id(id);
    assert_in_range(count, 60, 200);
    for (size_t i = 0; i < ARRAY_LENGTH(not_ours); i++) {
        assert_true(names(known_ids, not_ours[i].id));
        assert_true(strlen(not_ours[i].why) > 10);
    }
    for (size_t i = 0; i < behaviour_count; i++)
        assert_true(strlen(behaviours[i].stands_for) > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_specials),
        cmocka_unit_test(test_every_report_is_stood_for),
    };
    return cmocka_run_group_tests(tests, init, NULL);
}
