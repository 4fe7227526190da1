/* net/http.h behind a proxy: what it answers to CONNECT, or does not, and what is made of it. */
#include "net/http.h"
#include "net/retry.h"
#include "scripted_server.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROW(path_, ...)                                                                                      \
    {                                                                                                        \
        .path = (path_), .steps = (const struct script_step[]){{__VA_ARGS__}}, .step_count = 1               \
    }
static const struct script_path paths[] = {
    ROW("busy.invalid:443", .status = 503, .headers = "Retry-After: 7\r\n"),
    ROW("twice.invalid:443", .status = 429, .headers = "Retry-After: 1\r\nretry-after: 4\r\n", .body = "wait",
        .body_length = 4),
    ROW("date.invalid:443", .status = 503,
        .headers = "Date: Mon, 30 Nov 2015 10:00:00 GMT\r\nRetry-After: Mon, 30 Nov 2015 10:00:40 GMT\r\n"),
    ROW("never.invalid:443", .status = 403, .headers = "Retry-After: 7\r\n"),
    ROW("down.invalid:443", .status = 502),
    ROW("login.invalid:443", .status = 407, .headers = "Retry-After: 7\r\n"),
    ROW("silent.invalid:443", .send_at_most = SCRIPT_NOTHING, .end = SCRIPT_STALL),
    ROW("half.invalid:443", .raw = "HTTP/1.1 200 OK\r\nX-A: b\r\n", .end = SCRIPT_STALL),
    ROW("open.invalid:443", .raw = "HTTP/1.1 200 OK\r\nRetry-After: 9\r\n\r\n", .end = SCRIPT_STALL),
    ROW("cut.invalid:443", .raw = "HTTP/1.1 200 OK\r\nRetry-After: 9\r\n\r\n", .end = SCRIPT_CLOSE),
};

struct tunnel_case {
    const char *host;
    const char *cause; /* "%s": the proxy as it is shown */
    int64_t after_ms;
    enum retry_class class;
};

static const struct tunnel_case cases[] = {
    {"busy.invalid", "the proxy %s opens no tunnel (HTTP 503, Retry-After 7 s)", 7000, RETRY_TRANSIENT},
    {"twice.invalid", "the proxy %s opens no tunnel (HTTP 429, Retry-After 4 s)", 4000, RETRY_TRANSIENT},
    {"date.invalid", "the proxy %s opens no tunnel (HTTP 503, Retry-After 40 s)", 40000, RETRY_TRANSIENT},
    {"never.invalid", "the proxy %s opens no tunnel (HTTP 403, Retry-After 7 s)", 7000, RETRY_TRANSIENT_ONCE},
    {"down.invalid", "the proxy %s opens no tunnel (HTTP 502)", -1, RETRY_TRANSIENT},
    {"login.invalid", "the proxy %s asks for a login (407)", 7000, RETRY_FATAL},
    {"silent.invalid", "CONNECT not answered within 300 ms (connect timeout), through the proxy %s", -1,
     RETRY_TRANSIENT},
    {"half.invalid", "CONNECT not answered within 300 ms (connect timeout), through the proxy %s", -1,
     RETRY_TRANSIENT},
    {"open.invalid", "TLS not agreed on within 300 ms (connect timeout), through the proxy %s", -1,
     RETRY_TRANSIENT},
    {"cut.invalid", "TLS handshake broken off", -1, RETRY_TRANSIENT},
};

static int headers_seen;

static int on_headers(void *context, const struct http_answer *answer)
{
    (void)context;
    (void)answer;
    headers_seen++;
    return 0;
}

static void check(struct http *http, const struct tunnel_case *test, const char *shown_proxy)
{
    struct http_answer answer;
    struct err e;
    char url[128], expected[256];
    err_init(&e);
    print_message("    %s\n", test->host);
    snprintf(url, sizeof url, "https://%s/ok", test->host);
    const struct http_request request = {.method = "GET",
                                         .url = url,
                                         .range_end = -1,
                                         .max_answer_bytes = 4096,
                                         .connect_timeout_ms = 300,
                                         .stall_bytes_per_s = 1024,
                                         .stall_ms = 1000,
                                         .on_headers = on_headers};
    assert_int_equal(http_perform(http, &request, &answer, &e), 0);
    assert_int_equal(answer.end, HTTP_FAILED);
    assert_int_equal(answer.times.first_byte_ms, -1);
    const char *mark = strstr(test->cause, "%s");
    snprintf(expected, sizeof expected, "%.*s%s%s",
             (int)(mark == NULL ? strlen(test->cause) : (size_t)(mark - test->cause)), test->cause,
             mark == NULL ? "" : shown_proxy, mark == NULL ? "" : mark + 2);
    if (mark != NULL)
        assert_string_equal(answer.cause, expected);
    else {
        /* What we sent may have met an end that was closed already: a reset is the answer to that. */
        bool is_cut = strstr(answer.cause, expected) != NULL || strstr(answer.cause, "reset") != NULL;
        if (!is_cut)
            fail_msg("%s", answer.cause);
    }
    assert_int_equal(retry_after_ms(&answer, 0), test->after_ms);
    assert_int_equal(retry_classify(&answer), test->class);
    assert_int_equal(answer.status, test->class == RETRY_FATAL ? 407 : 0);
    http_answer_done(&answer);
}

static void test_tunnels(void **state)
{
    (void)state;
    struct err e;
    char proxy[64], shown[64];
    err_init(&e);
    struct scripted_server *server = scripted_server_new(paths, sizeof paths / sizeof paths[0]);
    struct loop *loop = loop_new(clock_system(), &e);
    assert_non_null(loop);
    const struct http_options options = {.loop = loop, .clock = clock_system()};
    struct http *http = http_new(&options, &e);
    assert_non_null(http);
    snprintf(proxy, sizeof proxy, "http://bob:pw@127.0.0.1:%d", scripted_server_port(server));
    snprintf(shown, sizeof shown, "http://***@127.0.0.1:%d", scripted_server_port(server));
    setenv("https_proxy", proxy, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check(http, &cases[i], shown);
    assert_int_equal(headers_seen, 0); /* a proxy's head is not the host's */
    unsetenv("https_proxy");
    http_free(http);
    loop_free(loop);
    scripted_server_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tunnels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
