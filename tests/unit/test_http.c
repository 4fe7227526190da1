/* net/http.h against a scripted server: answers, ends, timers, uploads, and that a write goes out once. */
#include "base/files.h"
#include "failing_alloc.h"
#include "net/http.h"
#include "net/retry.h"
#include "scripted_server.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static const char hello[] = "hello";

static const struct script_step ok_steps[] = {
    {.body = hello, .body_length = 5, .headers = "X-Two: a\r\nx-two: b\r\n"}};
static const struct script_step early_steps[] = {
    {.raw = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
            "HTTP/1.1 429 Slow Down\r\nRetry-After:  5 \r\nContent-Length: 2\r\n\r\nno"}};
static const struct script_step reset_steps[] = {
    {.body = hello, .body_length = 5, .send_at_most = 3, .end = SCRIPT_RESET}};
static const struct script_step short_steps[] = {
    {.body = hello, .body_length = 5, .send_at_most = 3, .end = SCRIPT_CLOSE}};
static const struct script_step nothing_steps[] = {{.send_at_most = SCRIPT_NOTHING, .end = SCRIPT_CLOSE}};
static const struct script_step silent_steps[] = {{.send_at_most = SCRIPT_NOTHING, .end = SCRIPT_STALL}};
static const struct script_step stall_steps[] = {
    {.body = hello, .body_length = 5, .send_at_most = 3, .end = SCRIPT_STALL}};
static const struct script_step relative_steps[] = {
    {.status = 302, .headers = "Location: ../x y?z=%2520#f\r\n"}};
static const struct script_step absolute_steps[] = {
    {.status = 302, .headers = "Location: HTTPS://Example.com/a/../b%2f%2520?s=a b#f\r\n"}};
static const struct script_step protocol_steps[] = {
    {.status = 301, .headers = "Location: //other.example/q\r\n"}};

#define CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n"
static const struct script_step no_chunk_steps[] = {{.raw = CHUNKED "zz\r\nlo\r\n0\r\n\r\n"}};
static const struct script_step long_chunk_steps[] = {{.raw = CHUNKED "11111111111111111\r\nlo"}};
static const struct script_step open_chunk_steps[] = {{.raw = CHUNKED "2\r\nlo!!0\r\n\r\n"}};
static const struct script_step cut_chunk_steps[] = {{.raw = CHUNKED "9\r\nlo", .end = SCRIPT_CLOSE}};

static const char paced_body[40000];
static const struct script_step paced_steps[] = {
    {.body = paced_body, .body_length = sizeof paced_body, .pace_ms = 20}};
static const struct script_step login_steps[] = {{.status = 407}};

#define ROW(path_, steps_)                                                                                   \
    {                                                                                                        \
        .path = (path_), .steps = (steps_), .step_count = ARRAY_LENGTH(steps_)                               \
    }
static const struct script_path paths[] = {
    ROW("/ok", ok_steps),
    ROW("/early", early_steps),
    ROW("/reset", reset_steps),
    ROW("/short", short_steps),
    ROW("/nothing", nothing_steps),
    ROW("/silent", silent_steps),
    ROW("/stall", stall_steps),
    ROW("/no-chunk", no_chunk_steps),
    ROW("/long-chunk", long_chunk_steps),
    ROW("/open-chunk", open_chunk_steps),
    ROW("/cut-chunk", cut_chunk_steps),
    ROW("/d/e/rel", relative_steps),
    ROW("/absolute", absolute_steps),
    ROW("/schemeless", protocol_steps),
    ROW("locked.invalid:443", login_steps),
    ROW("http://locked.invalid/ok", login_steps),
    ROW("/login", login_steps),
    ROW("/paced", paced_steps),
};

struct scene {
    struct scripted_server *server;
    struct loop *loop;
    struct http *http;
    struct err e;
    char url[256];
    struct http_request request;
};

static const char *set_path(struct scene *scene, const char *path)
{
    snprintf(scene->url, sizeof scene->url, "http://127.0.0.1:%d%s", scripted_server_port(scene->server),
             path);
    return scene->url;
}

static void scene_init(struct scene *scene)
{
    *scene = (struct scene){.server = scripted_server_new(paths, ARRAY_LENGTH(paths))};
    err_init(&scene->e);
    scene->loop = loop_new(clock_system(), &scene->e);
    assert_non_null(scene->loop);
    struct http_options options = {
        .loop = scene->loop, .user_agent = "tender-test/1", .clock = clock_system()};
    scene->http = http_new(&options, &scene->e);
    assert_non_null(scene->http);
    scene->request = (struct http_request){
        .method = "GET",
        .url = scene->url,
        .range_end = -1,
        .max_answer_bytes = 4096,
        .connect_timeout_ms = 300,
        .first_byte_timeout_ms = 1000,
        .stall_bytes_per_s = 1024,
        .stall_ms = 1000,
    };
}

static void scene_done(struct scene *scene)
{
    http_free(scene->http);
    loop_free(scene->loop);
    scripted_server_free(scene->server);
}

struct answer_case {
    const char *path;
    enum http_end end;
    int status;
    const char *body;
    const char *cause; /* its beginning */
    const char *words;
    const char *redirect; /* "%d" stands for the port */
    enum retry_class class;
};

#define BAD_CHUNK "the answer's chunks can't be read"

static const struct answer_case answer_cases[] = {
    {"/ok", HTTP_ANSWERED, 200, "hello", NULL, NULL, NULL, RETRY_SUCCESS},
    {"/login", HTTP_ANSWERED, 407, "", NULL, NULL, NULL, RETRY_PERMANENT},
    {"/none", HTTP_ANSWERED, 404, "", NULL, NULL, NULL, RETRY_PERMANENT},
    {"/early", HTTP_ANSWERED, 429, "no", NULL, NULL, NULL, RETRY_TRANSIENT},
    {"/reset", HTTP_FAILED, 200, "hel", "connection reset by peer after 3 bytes", "connection reset by peer",
     NULL, RETRY_TRANSIENT},
    {"/short", HTTP_FAILED, 200, "hel", "connection closed before the end of the body after 3 bytes",
     "connection closed before the end of the body", NULL, RETRY_TRANSIENT},
    {"/nothing", HTTP_FAILED, 0, "", "connection closed without an answer",
     "connection closed without an answer", NULL, RETRY_TRANSIENT},
    {"/silent", HTTP_FAILED, 0, "", "no answer within 1 s (first-byte timeout)",
     "no answer within 1 s (first-byte timeout)", NULL, RETRY_TRANSIENT},
    {"/stall", HTTP_FAILED, 200, "hel", "stalled: under 1.0 KiB/s for 1 s (stall limit) after 3 bytes",
     "stalled: under 1.0 KiB/s for 1 s (stall limit)", NULL, RETRY_TRANSIENT},
    {"/no-chunk", HTTP_FAILED, 200, "hel", BAD_CHUNK " after 3 bytes", BAD_CHUNK, NULL, RETRY_TRANSIENT},
    {"/long-chunk", HTTP_FAILED, 200, "hel", BAD_CHUNK " after 3 bytes", BAD_CHUNK, NULL, RETRY_TRANSIENT},
    {"/open-chunk", HTTP_FAILED, 200, "hello", BAD_CHUNK " after 5 bytes", BAD_CHUNK, NULL, RETRY_TRANSIENT},
    {"/cut-chunk", HTTP_FAILED, 200, "hello", "connection closed before the end of the body after 5 bytes",
     "connection closed before the end of the body", NULL, RETRY_TRANSIENT},
    {"/d/e/rel", HTTP_ANSWERED, 302, "", NULL, NULL, "http://127.0.0.1:%d/d/x%%20y?z=%%2520",
     RETRY_PERMANENT},
    {"/absolute", HTTP_ANSWERED, 302, "", NULL, NULL, "HTTPS://Example.com/a/../b%%2f%%2520?s=a%%20b",
     RETRY_PERMANENT},
    {"/schemeless", HTTP_ANSWERED, 301, "", NULL, NULL, "http://other.example/q", RETRY_PERMANENT},
};

static void test_answers(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    for (size_t i = 0; i < ARRAY_LENGTH(answer_cases); i++) {
        const struct answer_case *test = &answer_cases[i];
        struct http_answer answer;
        char redirect[256];
        print_message("    %s\n", test->path);
        set_path(&scene, test->path);
        assert_int_equal(http_perform(scene.http, &scene.request, &answer, &scene.e), 0);
        assert_int_equal(answer.end, test->end);
        assert_int_equal(answer.status, test->status);
        assert_string_equal(buf_text(&answer.body), test->body);
        assert_int_equal(retry_classify(&answer), test->class);
        assert_true(answer.may_have_arrived);
        assert_true(strncmp(answer.remote_address, "127.0.0.1:", 10) == 0);
        assert_true(answer.total_ms >= 0 && answer.times.connect_ms >= 0);
        if (test->cause != NULL) {
            assert_string_equal(answer.cause, test->cause);
            assert_string_equal(answer.cause_words, test->words);
        }
        if (test->redirect != NULL) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            snprintf(redirect, sizeof redirect, test->redirect, scripted_server_port(scene.server));
#pragma GCC diagnostic pop
            assert_string_equal(answer.redirect_url, redirect);
        } else {
            assert_null(answer.redirect_url);
        }
        http_answer_done(&answer);
    }
    scene_done(&scene);
}

static void test_headers(void **state)
{
    (void)state;
    struct scene scene;
    struct http_answer answer;
    char head[4096];
    static const char *const headers[] = {"X-Mine: 1"};
    scene_init(&scene);
    set_path(&scene, "/ok");
    scene.request.headers = headers;
    scene.request.header_count = 1;
    scene.request.has_range = true;
    scene.request.range_start = 0;
    scene.request.range_end = 0;
    scene.request.username = "bob";
    scene.request.password = "pass";
    assert_int_equal(http_perform(scene.http, &scene.request, &answer, &scene.e), 0);
    assert_string_equal(http_header(&answer, "X-TWO"), "a");
    assert_null(http_header(&answer, "X-Three"));
    http_answer_done(&answer);
    scripted_server_head(scene.server, NULL, 0, head, sizeof head);
    static const char *const sent[] = {
        "GET /ok HTTP/1.1\r\n", "User-Agent: tender-test/1\r\n", "Accept-Encoding: identity\r\n",
        "X-Mine: 1\r\n",        "Range: bytes=0-0\r\n",          "Authorization: Basic Ym9iOnBhc3M=\r\n"};
    for (size_t i = 0; i < ARRAY_LENGTH(sent); i++)
        assert_non_null(strstr(head, sent[i]));
    set_path(&scene, "/early");
    scene.request.header_count = 0;
    assert_int_equal(http_perform(scene.http, &scene.request, &answer, &scene.e), 0);
    assert_string_equal(http_header(&answer, "Retry-After"), "5");
    assert_null(http_header(&answer, "Link")); /* the 103's, not the answer's */
    http_answer_done(&answer);
    static const char *const bad[] = {"X-A: b\r\nX-Smuggled: c"};
    scene.request.headers = bad;
    scene.request.header_count = 1;
    assert_int_equal(http_perform(scene.http, &scene.request, &answer, &scene.e), -1);
    scene_done(&scene);
}

static void test_answer_too_large(void **state)
{
    (void)state;
    struct scene scene;
    struct http_answer answer;
    scene_init(&scene);
    set_path(&scene, "/ok");
    scene.request.max_answer_bytes = 4;
    assert_int_equal(http_perform(scene.http, &scene.request, &answer, &scene.e), 0);
    assert_int_equal(answer.end, HTTP_FAILED);
    assert_int_equal(retry_classify(&answer), RETRY_PERMANENT);
    assert_string_equal(answer.cause_words, "the answer is larger than 4 bytes");
    http_answer_done(&answer);
    scene_done(&scene);
}

/* `before`, `line` again and again, `after`; malloc'ed. */
static char *repeated(const char *before, const char *line, size_t times, const char *after)
{
    char *text = malloc(strlen(before) + strlen(line) * times + strlen(after) + 1);
    assert_non_null(text);
    char *end = stpcpy(text, before);
    for (size_t i = 0; i < times; i++)
        end = stpcpy(end, line);
    stpcpy(end, after);
    return text;
}

/* No host's head or trailer costs more than the limit, and none of them looks like our own trouble. */
static void test_floods_of_headers(void **state)
{
    (void)state;
    static const char ok[] = "HTTP/1.1 200 OK\r\n", chunked[] =
                                                        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked"
                                                        "\r\n\r\n5\r\nhello\r\n0\r\n";
    static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\n";
    static const char end[] = "X-Last: z\r\nContent-Length: 0\r\n\r\n";
    static const struct {
        const char *before, *line;
        size_t times;
        const char *after;
        enum http_end end;
        const char *words;
    } cases[] = {
        {ok, "X-A: 0123456789\r\n", 900, end, HTTP_ANSWERED, NULL},
        {ok, "X-A: 0123456789\r\n", 1100, end, HTTP_FAILED,
         "the answer has more than 1024 header lines (limit)"},
        {ok, "X-A: 0123456789012345678901234567890123456789012345678901234567890123456789\r\n", 5000, "",
         HTTP_FAILED, "the answer's headers are larger than 256 KiB (limit)"},
        {"HTTP/1.1 200 OK\r\nX-A: ", "a", 150000, "", HTTP_FAILED,
         "the answer has a header line that is too long (limit)"},
        {interim, interim, 3000, "HTTP/1.1 200 OK\r\nX-Last: z\r\nContent-Length: 0\r\n\r\n", HTTP_ANSWERED,
         NULL},
        {interim, interim, 20000, "", HTTP_FAILED, "the answer's headers are larger than 256 KiB (limit)"},
        {chunked, "X-T: 01234567890123456789\r\n", 20000, "", HTTP_FAILED,
         "the answer's headers and trailers are larger than 256 KiB (limit)"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char *text = repeated(cases[i].before, cases[i].line, cases[i].times, cases[i].after);
        const struct script_step step = {.raw = text, .end = SCRIPT_STALL};
        const struct script_path flood[] = {{.path = "/flood", .steps = &step, .step_count = 1}};
        struct scene scene;
        struct http_answer answer;
        print_message("    %zu\n", i);
        scene_init(&scene);
        scripted_server_free(scene.server);
        scene.server = scripted_server_new(flood, 1);
        set_path(&scene, "/flood");
        assert_int_equal(http_perform(scene.http, &scene.request, &answer, &scene.e), 0);
        assert_int_equal(answer.end, cases[i].end);
        if (cases[i].end == HTTP_FAILED) {
            assert_string_equal(answer.cause_words, cases[i].words);
            assert_int_equal(retry_classify(&answer), RETRY_PERMANENT);
        } else {
            assert_string_equal(http_header(&answer, "X-Last"), "z");
        }
        http_answer_done(&answer);
        scene_done(&scene);
        free(text);
    }
}

static void *answer_in_the_clear(void *context)
{
    static const char text[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
    char bytes[1024];
    int connection = accept(*(int *)context, NULL, NULL);
    ssize_t got = read(connection, bytes, sizeof bytes);
    if (got > 0)
        got = write(connection, text, sizeof text - 1);
    close(connection);
    return NULL;
}

/* A host that speaks in the clear where TLS was expected: known after one more try. */
static void test_no_tls(void **state)
{
    (void)state;
    struct scene scene;
    struct http_answer answer;
    scene_init(&scene);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    assert_int_equal(bind(listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, answer_in_the_clear, &listener), 0);
    snprintf(scene.url, sizeof scene.url, "https://127.0.0.1:%d/", ntohs(address.sin_port));
    scene.request.connect_timeout_ms = 5000;
    assert_int_equal(http_perform(scene.http, &scene.request, &answer, &scene.e), 0);
    pthread_join(thread, NULL);
    close(listener);
    assert_int_equal(answer.end, HTTP_FAILED);
    assert_string_equal(answer.cause, "this port does not speak TLS (https)");
    assert_int_equal(retry_classify(&answer), RETRY_TRANSIENT_ONCE);
    assert_false(answer.may_have_arrived);
    http_answer_done(&answer);
    scene_done(&scene);
}

static void test_not_connected(void **state)
{
    (void)state;
    struct scene scene;
    struct http_answer answer;
    scene_init(&scene);
    strcpy(scene.url, "http://127.0.0.1:1/");
    assert_int_equal(http_perform(scene.http, &scene.request, &answer, &scene.e), 0);
    assert_string_equal(answer.cause, "connection refused");
    assert_false(answer.may_have_arrived);
    http_answer_done(&answer);
    /* a server that says nothing to our TLS hello */
    snprintf(scene.url, sizeof scene.url, "https://127.0.0.1:%d/", scripted_server_port(scene.server));
    assert_int_equal(http_perform(scene.http, &scene.request, &answer, &scene.e), 0);
    assert_string_equal(answer.cause, "TLS not agreed on within 300 ms (connect timeout)");
    assert_false(answer.may_have_arrived);
    http_answer_done(&answer);
    strcpy(scene.url, "ftp://127.0.0.1/");
    assert_int_equal(http_perform(scene.http, &scene.request, &answer, &scene.e), 0);
    assert_int_equal(answer.end, HTTP_FAILED);
    http_answer_done(&answer);
    scene_done(&scene);
}

/* C16: the proxy of the environment, and one that wants a login. */
static void test_proxy(void **state)
{
    (void)state;
    struct scene scene;
    struct http_answer answer;
    char proxy[64], head[4096], cause[128];
    scene_init(&scene);
    snprintf(proxy, sizeof proxy, "http://bob:pw@127.0.0.1:%d", scripted_server_port(scene.server));
    snprintf(cause, sizeof cause, "the proxy http://***@127.0.0.1:%d asks for a login (407)",
             scripted_server_port(scene.server));
    setenv("http_proxy", proxy, 1);
    setenv("https_proxy", proxy, 1);
    strcpy(scene.url, "http://example.invalid/ok");
    assert_int_equal(http_perform(scene.http, &scene.request, &answer, &scene.e), 0);
    assert_int_equal(answer.status, 404);
    http_answer_done(&answer);
    assert_non_null(strstr(scripted_server_head(scene.server, NULL, 0, head, sizeof head),
                           "GET http://example.invalid/ok HTTP/1.1"));
    strcpy(scene.url, "https://locked.invalid/ok");
    assert_int_equal(http_perform(scene.http, &scene.request, &answer, &scene.e), 0);
    assert_int_equal(answer.end, HTTP_FAILED);
    assert_string_equal(answer.cause, cause);
    assert_int_equal(retry_classify(&answer), RETRY_FATAL);
    assert_int_equal(retry_fatal_class(&answer), ERR_NETWORK);
    http_answer_done(&answer);
    strcpy(scene.url, "http://locked.invalid/ok");
    assert_int_equal(http_perform(scene.http, &scene.request, &answer, &scene.e), 0);
    assert_int_equal(answer.end, HTTP_ANSWERED);
    assert_int_equal(answer.status, 407);
    assert_int_equal(retry_classify(&answer), RETRY_FATAL);
    http_answer_done(&answer);
    setenv("no_proxy", "127.0.0.1", 1);
    set_path(&scene, "/login");
    assert_int_equal(http_perform(scene.http, &scene.request, &answer, &scene.e), 0);
    assert_int_equal(retry_classify(&answer), RETRY_PERMANENT); /* the host's own */
    http_answer_done(&answer);
    set_path(&scene, "/ok");
    assert_int_equal(http_perform(scene.http, &scene.request, &answer, &scene.e), 0);
    assert_int_equal(answer.status, 200);
    http_answer_done(&answer);
    unsetenv("http_proxy");
    unsetenv("https_proxy");
    unsetenv("no_proxy");
    scene_done(&scene);
}

/* curl re-sends a request when a kept-alive connection dies. A write on a fresh connection goes out once. */
static void test_write_goes_out_once(void **state)
{
    (void)state;
    struct scene scene;
    struct http_answer answer;
    scene_init(&scene);
    for (int fresh = 1; fresh >= 0; fresh--) {
        size_t before = scripted_server_count(scene.server, "/nothing");
        set_path(&scene, "/ok");
        scene.request.method = "GET";
        scene.request.body = NULL;
        scene.request.body_length = 0;
        scene.request.fresh_connection = false;
        assert_int_equal(http_perform(scene.http, &scene.request, &answer, &scene.e), 0);
        http_answer_done(&answer);
        set_path(&scene, "/nothing");
        scene.request.method = "POST";
        scene.request.body = "{}";
        scene.request.body_length = 2;
        scene.request.fresh_connection = fresh;
        assert_int_equal(http_perform(scene.http, &scene.request, &answer, &scene.e), 0);
        assert_int_equal(answer.end, HTTP_FAILED);
        assert_true(answer.may_have_arrived);
        assert_int_equal(scripted_server_count(scene.server, "/nothing") - before, fresh ? 1 : 2);
        http_answer_done(&answer);
    }
    scene_done(&scene);
}

static void write_upload(char path[64], size_t size)
{
    strcpy(path, "/tmp/tender-http-XXXXXX");
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, (off_t)size), 0);
    assert_int_equal(pwrite(file, "begin", 5, 0), 5);
    close(file);
}

static void test_upload(void **state)
{
    (void)state;
    enum { SIZE = 3 * 1024 * 1024 };
    struct scene scene;
    struct http_answer answer;
    char path[64], head[4096], sent[DIGEST_HEX_BYTES], expected[DIGEST_HEX_BYTES];
    scene_init(&scene);
    write_upload(path, SIZE);
    struct digest *digest = digest_new(&scene.e);
    assert_non_null(digest);
    struct http_part parts[] = {
        {.name = "team_id", .text = "1", .text_length = 1},
        {.name = "software", .file_path = path, .file_name = "a.pkg", .file_bytes = SIZE, .digest = digest},
    };
    set_path(&scene, "/ok");
    scene.request.method = "POST";
    scene.request.parts = parts;
    scene.request.part_count = ARRAY_LENGTH(parts);
    scene.request.fresh_connection = true;
    scene.request.stall_ms = 5000;
    scene.request.first_byte_timeout_ms = 5000;
    assert_int_equal(http_perform(scene.http, &scene.request, &answer, &scene.e), 0);
    assert_int_equal(answer.status, 200);
    assert_true(answer.sent_bytes > SIZE);
    http_answer_done(&answer);
    assert_int_equal(digest_finish(digest, sent, &scene.e), 0);
    assert_int_equal(digest_file(path, expected, NULL, &scene.e), 0);
    assert_string_equal(sent, expected);
    scripted_server_head(scene.server, "/ok", 0, head, sizeof head);
    assert_non_null(strstr(head, "Content-Type: multipart/form-data; boundary="));
    /* a file that is shorter than was said ends the exchange */
    parts[1].file_bytes = SIZE + 1;
    assert_int_equal(http_perform(scene.http, &scene.request, &answer, &scene.e), 0);
    assert_int_equal(answer.end, HTTP_FAILED);
    assert_non_null(strstr(answer.cause, "became shorter while it was sent"));
    assert_int_equal(retry_classify(&answer), RETRY_PERMANENT);
    http_answer_done(&answer);
    parts[1].file_path = "/nonexistent/a.pkg";
    assert_int_equal(http_perform(scene.http, &scene.request, &answer, &scene.e), -1);
    digest_free(digest);
    unlink(path);
    scene_done(&scene);
}

/* D10: a server that stops reading. */
static void test_upload_stalls(void **state)
{
    (void)state;
    enum { SIZE = 64 * 1024 * 1024 };
    struct scene scene;
    struct http_answer answer;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    char path[64];
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 4), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    scene_init(&scene);
    write_upload(path, SIZE);
    struct http_part part = {.name = "software", .file_path = path, .file_name = "a.pkg", .file_bytes = SIZE};
    snprintf(scene.url, sizeof scene.url, "http://127.0.0.1:%d/", ntohs(address.sin_port));
    scene.request.method = "POST";
    scene.request.parts = &part;
    scene.request.part_count = 1;
    scene.request.stall_ms = 1500; /* longer than curl waits for 100 Continue */
    scene.request.first_byte_timeout_ms = 60 * 1000;
    assert_int_equal(http_perform(scene.http, &scene.request, &answer, &scene.e), 0);
    assert_int_equal(answer.end, HTTP_FAILED);
    assert_non_null(strstr(answer.cause, "stall limit"));
    assert_true(answer.may_have_arrived);
    http_answer_done(&answer);
    close(listener);
    unlink(path);
    scene_done(&scene);
}

/* What a callback may do: stop its exchange, cancel it, cancel another one. */
struct actor {
    struct http_exchange *own, *victim;
    bool stops, cancels, pauses;
    int done, headers, bodies;
    enum http_end end;
};

static int act_on_headers(void *context, const struct http_answer *answer)
{
    struct actor *actor = context;
    assert_int_equal(answer->status, 200);
    actor->headers++;
    if (actor->cancels)
        http_cancel(actor->own);
    if (actor->victim != NULL)
        http_cancel(actor->victim);
    actor->victim = NULL;
    return actor->stops;
}

static int act_on_body(void *context, const void *bytes, size_t length)
{
    struct actor *actor = context;
    (void)bytes;
    actor->bodies += (int)length;
    if (actor->pauses && actor->bodies == (int)length)
        http_pause(actor->own, true);
    return 0;
}

static void act_on_done(void *context, struct http_answer *answer)
{
    struct actor *actor = context;
    actor->done++;
    actor->end = answer->end;
}

static struct http_exchange *start(struct scene *scene, struct actor *actor)
{
    scene->request.on_headers = act_on_headers;
    scene->request.on_body = act_on_body;
    scene->request.on_done = act_on_done;
    scene->request.context = actor;
    actor->own = http_start(scene->http, &scene->request, &scene->e);
    assert_non_null(actor->own);
    return actor->own;
}

static void run_for(struct scene *scene, int64_t duration_ms)
{
    int64_t end = clock_system()->monotonic_ms(NULL) + duration_ms;
    assert_int_equal(loop_wait_until(scene->loop, end, &scene->e), 0);
}

static void test_callbacks(void **state)
{
    (void)state;
    struct scene scene;
    struct actor plain = {0}, stopper = {.stops = true}, quitter = {.cancels = true}, victim = {0},
                 killer = {0}, early = {0};
    scene_init(&scene);
    set_path(&scene, "/ok");
    start(&scene, &plain);
    start(&scene, &stopper);
    start(&scene, &quitter);
    http_cancel(start(&scene, &early)); /* before it began */
    set_path(&scene, "/silent");
    scene.request.first_byte_timeout_ms = 10000;
    killer.victim = start(&scene, &victim);
    set_path(&scene, "/ok");
    start(&scene, &killer);
    run_for(&scene, 700);
    assert_int_equal(plain.done, 1);
    assert_int_equal(plain.end, HTTP_ANSWERED);
    assert_int_equal(plain.bodies, 5);
    assert_int_equal(stopper.done, 1);
    assert_int_equal(stopper.end, HTTP_STOPPED_BY_US);
    assert_int_equal(stopper.bodies, 0);
    assert_int_equal(quitter.headers, 1);
    assert_int_equal(quitter.done, 0);
    assert_int_equal(victim.done, 0);
    assert_int_equal(early.headers, 0);
    assert_int_equal(killer.done, 1);
    scene_done(&scene);
}

/* A paused exchange does not stall; it goes on where it was. */
static void test_pause(void **state)
{
    (void)state;
    struct scene scene;
    struct actor sleeper = {.pauses = true};
    scene_init(&scene);
    set_path(&scene, "/paced");
    scene.request.stall_ms = 300;
    start(&scene, &sleeper);
    run_for(&scene, 700);
    assert_int_equal(sleeper.done, 0);
    assert_in_range(http_pause(sleeper.own, false), 600, 5000);
    run_for(&scene, 700);
    assert_int_equal(sleeper.done, 1);
    assert_int_equal(sleeper.end, HTTP_ANSWERED);
    assert_int_equal(sleeper.bodies, sizeof paced_body);
    scene_done(&scene);
}

/* A pause is no excuse for a peer that was silent, or slower than the limit, meanwhile. */
static void test_pause_of_a_silent_peer(void **state)
{
    (void)state;
    struct scene scene;
    struct actor silent = {.done = 0};
    scene_init(&scene);
    set_path(&scene, "/stall");
    scene.request.stall_ms = 600;
    start(&scene, &silent);
    run_for(&scene, 100);
    assert_int_equal(silent.bodies, 3);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(http_pause(silent.own, true), 0);
        run_for(&scene, 100);
        assert_int_equal(silent.done, 0);
        assert_int_equal(http_pause(silent.own, false), 0);
        assert_int_equal(http_pause(silent.own, false), 0);
        run_for(&scene, 5);
    }
    run_for(&scene, 200);
    assert_int_equal(silent.done, 1);
    assert_int_equal(silent.end, HTTP_FAILED);
    scene_done(&scene);
}

static void test_stop_now(void **state)
{
    (void)state;
    struct scene scene;
    struct http_answer answer;
    scene_init(&scene);
    set_path(&scene, "/silent");
    loop_request_stop(scene.loop, LOOP_STOP_NOW);
    assert_int_equal(http_perform(scene.http, &scene.request, &answer, &scene.e), -1);
    assert_int_equal(scene.e.class, ERR_INTERRUPTED);
    scene_done(&scene);
}

static void test_total_timeout(void **state)
{
    (void)state;
    struct scene scene;
    struct http_answer answer;
    scene_init(&scene);
    set_path(&scene, "/silent");
    scene.request.first_byte_timeout_ms = 10000;
    scene.request.total_timeout_ms = 150;
    assert_int_equal(http_perform(scene.http, &scene.request, &answer, &scene.e), 0);
    assert_string_equal(answer.cause, "not done within 150 ms (total timeout)");
    http_answer_done(&answer);
    scene_done(&scene);
}

/* Every allocation of ours fails once: no crash, no leak, and an error or a whole answer. */
static void test_allocations(void **state)
{
    (void)state;
    struct scene scene;
    char path[64];
    write_upload(path, 100000);
    scene_init(&scene);
    set_path(&scene, "/ok");
    struct http_part parts[] = {
        {.name = "software", .file_path = path, .file_name = "a", .file_bytes = 100000}};
    static const char *const headers[] = {"X-Mine: 1"};
    scene.request.method = "POST";
    scene.request.headers = headers;
    scene.request.header_count = 1;
    scene.request.parts = parts;
    scene.request.part_count = 1;
    scene.request.stall_ms = scene.request.first_byte_timeout_ms = 5000;
    bool has_failed = true;
    for (long nth = 1; has_failed; nth++) {
        struct http_answer answer = {0};
        struct err e;
        err_init(&e);
        assert_in_range(nth, 1, 200);
        failing_alloc_start(nth, false);
        int result = http_perform(scene.http, &scene.request, &answer, &e);
        has_failed = failing_alloc_stop() >= nth;
        if (result < 0)
            assert_int_equal(e.class, ERR_MEMORY);
        else if (answer.end == HTTP_FAILED)
            assert_int_equal(retry_classify(&answer), RETRY_FATAL);
        else
            assert_int_equal(answer.status, 200);
        http_answer_done(&answer);
        /* The loop has taken no harm. */
        assert_int_equal(http_perform(scene.http, &scene.request, &answer, &scene.e), 0);
        assert_int_equal(answer.status, 200);
        http_answer_done(&answer);
    }
    unlink(path);
    scene_done(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_floods_of_headers),
        cmocka_unit_test(test_no_tls),
        cmocka_unit_test(test_answer_too_large),
        cmocka_unit_test(test_not_connected),
        cmocka_unit_test(test_proxy),
        cmocka_unit_test(test_write_goes_out_once),
        cmocka_unit_test(test_upload),
        cmocka_unit_test(test_upload_stalls),
        cmocka_unit_test(test_callbacks),
        cmocka_unit_test(test_pause),
        cmocka_unit_test(test_pause_of_a_silent_peer),
        cmocka_unit_test(test_stop_now),
        cmocka_unit_test(test_total_timeout),
        cmocka_unit_test(test_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
