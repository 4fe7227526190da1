/* net/retry.h: the table of classes, delays, and what servers say about when to come back. */
#include "net/retry.h"
#include <curl/curl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void test_curl_codes(void **state)
{
    (void)state;
    static const struct {
        int code;
        enum retry_class expected;
    } cases[] = {
        {CURLE_OK, RETRY_SUCCESS},
        {CURLE_COULDNT_RESOLVE_HOST, RETRY_TRANSIENT},
        {CURLE_COULDNT_CONNECT, RETRY_TRANSIENT},
        {CURLE_SSL_CONNECT_ERROR, RETRY_TRANSIENT},
        {CURLE_RECV_ERROR, RETRY_TRANSIENT},
        {CURLE_SEND_ERROR, RETRY_TRANSIENT},
        {CURLE_GOT_NOTHING, RETRY_TRANSIENT},
        {CURLE_PARTIAL_FILE, RETRY_TRANSIENT},
        {CURLE_HTTP2, RETRY_TRANSIENT},
        {CURLE_HTTP2_STREAM, RETRY_TRANSIENT},
        {CURLE_OPERATION_TIMEDOUT, RETRY_TRANSIENT},
        {CURLE_PEER_FAILED_VERIFICATION, RETRY_PERMANENT},
        {CURLE_URL_MALFORMAT, RETRY_PERMANENT},
        {CURLE_FILESIZE_EXCEEDED, RETRY_PERMANENT},
        {CURLE_OUT_OF_MEMORY, RETRY_FATAL},
        {CURLE_SSL_CACERT_BADFILE, RETRY_FATAL},
        {CURLE_LDAP_SEARCH_FAILED, RETRY_TRANSIENT_ONCE}, /* not in the table */
        {9999, RETRY_TRANSIENT_ONCE},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        assert_int_equal(retry_of_curl(cases[i].code), cases[i].expected);
        assert_true(strlen(retry_curl_words(cases[i].code)) > 3);
    }
}

static void test_statuses(void **state)
{
    (void)state;
    static const struct {
        int status;
        bool is_limited;
        enum retry_class expected;
    } cases[] = {
        {200, false, RETRY_SUCCESS},   {206, false, RETRY_SUCCESS},   {304, false, RETRY_SUCCESS},
        {301, false, RETRY_PERMANENT}, {400, false, RETRY_PERMANENT}, {401, false, RETRY_PERMANENT},
        {403, false, RETRY_PERMANENT}, {403, true, RETRY_TRANSIENT},  {404, false, RETRY_PERMANENT},
        {404, true, RETRY_PERMANENT},  {407, false, RETRY_PERMANENT}, {408, false, RETRY_TRANSIENT},
        {410, false, RETRY_PERMANENT}, {425, false, RETRY_TRANSIENT}, {429, false, RETRY_TRANSIENT},
        {500, false, RETRY_TRANSIENT}, {501, false, RETRY_PERMANENT}, {502, false, RETRY_TRANSIENT},
        {503, false, RETRY_TRANSIENT}, {504, false, RETRY_TRANSIENT}, {505, false, RETRY_PERMANENT},
        {520, false, RETRY_TRANSIENT}, {599, false, RETRY_TRANSIENT}, {0, false, RETRY_TRANSIENT_ONCE},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_int_equal(retry_of_status(cases[i].status, cases[i].is_limited), cases[i].expected);
}

static void test_causes(void **state)
{
    (void)state;
    static const struct {
        enum retry_cause cause;
        enum retry_class expected;
    } cases[] = {
        {CAUSE_SHORT_BODY, RETRY_TRANSIENT},
        {CAUSE_BAD_RANGE, RETRY_TRANSIENT},
        {CAUSE_RESUMED_MISMATCH, RETRY_TRANSIENT},
        {CAUSE_DIGEST_MISMATCH, RETRY_PERMANENT},
        {CAUSE_EMPTY, RETRY_PERMANENT},
        {CAUSE_WRONG_TYPE, RETRY_PERMANENT},
        {CAUSE_TOO_LARGE, RETRY_PERMANENT},
        {CAUSE_REDIRECT_LOOP, RETRY_PERMANENT},
        {CAUSE_BAD_REDIRECT, RETRY_PERMANENT},
        {CAUSE_ENCODED, RETRY_PERMANENT},
        {CAUSE_RETRY_AFTER_TOO_LONG, RETRY_PERMANENT},
        {CAUSE_BAD_LENGTH, RETRY_TRANSIENT},
        {CAUSE_NO_LENGTH, RETRY_PERMANENT},
        {CAUSE_NO_SPACE, RETRY_PERMANENT},
    };
    assert_int_equal(ARRAY_LENGTH(cases), RETRY_CAUSE_COUNT);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        assert_int_equal(retry_of_cause(cases[i].cause), cases[i].expected);
    }
}

static void test_classify(void **state)
{
    (void)state;
    struct http_answer answer = {.end = HTTP_FAILED, .curl_code = CURLE_RECV_ERROR, .status = 200};
    assert_int_equal(retry_classify(&answer), RETRY_TRANSIENT);
    answer.status = 407;
    answer.proxy_wants_login = true;
    assert_int_equal(retry_classify(&answer), RETRY_FATAL);
    answer = (struct http_answer){.end = HTTP_ANSWERED, .status = 407};
    assert_int_equal(retry_classify(&answer), RETRY_PERMANENT);
    answer = (struct http_answer){.end = HTTP_ANSWERED, .status = 404};
    assert_int_equal(retry_classify(&answer), RETRY_PERMANENT);
}

struct after_case {
    int status;
    const char *retry_after, *date, *remaining, *reset;
    int64_t expected_ms;
    bool is_limited;
};

static void test_retry_after(void **state)
{
    (void)state;
    static const char ten[] = "Mon, 30 Nov 2015 10:00:00 GMT";
    static const char later[] = "Mon, 30 Nov 2015 10:00:40 GMT";
    enum { TEN_O_CLOCK = 1448877600 };
    static const struct after_case cases[] = {
        {503, NULL, NULL, NULL, NULL, -1, false},
        {503, "12", NULL, NULL, NULL, 12000, true},
        {503, "0", NULL, NULL, NULL, 0, true},
        {503, "99999999999999999999", NULL, NULL, NULL, 0, true}, /* looked at below */
        {503, later, ten, NULL, NULL, 40000, true},
        {503, ten, later, NULL, NULL, 0, true},
        {503, later, NULL, NULL, NULL, 10000, true}, /* against our own clock */
        {503, "soon", NULL, NULL, NULL, -1, true},
        {503, "-5", NULL, NULL, NULL, -1, true},
        {503, "2.0", NULL, NULL, NULL, 2000, true}, /* RFC 9110, 10.2.3 knows no fraction: never early */
        {503, "2.", NULL, NULL, NULL, 2000, true},
        {503, "2.001", NULL, NULL, NULL, 3000, true},
        {503, "0.5 ", NULL, NULL, NULL, 1000, true},
        {503, ".5", NULL, NULL, NULL, -1, true},
        {503, "2.0.1", NULL, NULL, NULL, -1, true},
        {503, "2 s", NULL, NULL, NULL, -1, true},
        {503, "1, 3", NULL, NULL, NULL, 3000, true}, /* two fields that a proxy has joined */
        {503, "3,1.5", NULL, NULL, NULL, 3000, true},
        {503, "3,", NULL, NULL, NULL, -1, true},
        {403, NULL, NULL, "0", "30", 30000, true},
        {403, NULL, ten, "0", "1448877620", 20000, true},
        {403, NULL, NULL, "7", "30", -1, false},
        {404, NULL, NULL, "0", "30", -1, true},
        {429, "3", NULL, "0", "30", 3000, true},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct after_case *test = &cases[i];
        struct http_header headers[4];
        size_t count = 0;
        if (test->retry_after != NULL)
            headers[count++] = (struct http_header){"retry-after", test->retry_after};
        if (test->date != NULL)
            headers[count++] = (struct http_header){"DATE", test->date};
        if (test->remaining != NULL)
            headers[count++] = (struct http_header){"X-RateLimit-Remaining", test->remaining};
        if (test->reset != NULL)
            headers[count++] = (struct http_header){"X-RateLimit-Reset", test->reset};
        struct http_answer answer = {.status = test->status, .headers = headers, .header_count = count};
        int64_t found = retry_after_ms(&answer, (TEN_O_CLOCK + 30) * INT64_C(1000));
        if (test->retry_after != NULL && strlen(test->retry_after) == 20)
            assert_true(found >= INT64_C(1000000000000));
        else
            assert_int_equal(found, test->expected_ms);
        assert_int_equal(retry_is_rate_limited(&answer), test->is_limited);
    }
}

/* The longest holds: whoever takes another one comes too early for somebody. */
static void test_several_retry_after(void **state)
{
    (void)state;
    static const struct {
        const char *values[3];
        int64_t expected_ms;
    } cases[] = {
        {{"1", "3"}, 3000},
        {{"3", "1"}, 3000},
        {{"soon", "2"}, 2000},
        {{"2", "soon", "1"}, 2000},
        {{"1", "Mon, 30 Nov 2015 10:00:40 GMT", "5"}, 40000},
        {{"60", "Mon, 30 Nov 2015 10:00:40 GMT"}, 60000},
        {{"soon", "later"}, -1},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct http_header headers[4] = {{"Date", "Mon, 30 Nov 2015 10:00:00 GMT"}};
        size_t count = 1;
        for (size_t j = 0; j < 3 && cases[i].values[j] != NULL; j++)
            headers[count++] =
                (struct http_header){j == 1 ? "retry-after" : "Retry-After", cases[i].values[j]};
        struct http_answer answer = {.status = 503, .headers = headers, .header_count = count};
        assert_int_equal(retry_after_ms(&answer, 0), cases[i].expected_ms);
    }
}

static double given_jitter(void *context)
{
    return *(const double *)context;
}

static void test_delays(void **state)
{
    (void)state;
    static const struct {
        enum retry_strategy strategy;
        enum retry_jitter jitter_kind;
        double jitter;
        int64_t expected[8];
    } cases[] = {
        {RETRY_EXPONENTIAL, RETRY_JITTER_NONE, 0, {2000, 4000, 8000, 16000, 32000, 60000, 60000, 60000}},
        {RETRY_EXPONENTIAL, RETRY_JITTER_FULL, 0.5, {1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000}},
        {RETRY_EXPONENTIAL, RETRY_JITTER_FULL, 0, {0, 0, 0, 0, 0, 0, 0, 0}},
        {RETRY_LINEAR, RETRY_JITTER_NONE, 0, {2000, 4000, 6000, 8000, 10000, 12000, 14000, 16000}},
        {RETRY_CONSTANT, RETRY_JITTER_NONE, 0, {2000, 2000, 2000, 2000, 2000, 2000, 2000, 2000}},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        double value = cases[i].jitter;
        struct jitter jitter = {.next = given_jitter, .context = &value};
        struct retry_policy policy = {.initial_ms = 2000,
                                      .factor = 2,
                                      .max_delay_ms = 60000,
                                      .strategy = cases[i].strategy,
                                      .jitter = cases[i].jitter_kind};
        for (int64_t round = 0; round < 8; round++)
            assert_int_equal(retry_delay_ms(&policy, round, &jitter), cases[i].expected[round]);
        assert_true(retry_delay_ms(&policy, INT64_C(1000000000), &jitter) <= 60000);
        bool is_spread = cases[i].jitter_kind == RETRY_JITTER_FULL;
        assert_int_equal(retry_spread_ms(&policy, &jitter), is_spread ? (int64_t)(value * 2000) : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_curl_codes),  cmocka_unit_test(test_statuses),
        cmocka_unit_test(test_causes),      cmocka_unit_test(test_classify),
        cmocka_unit_test(test_retry_after), cmocka_unit_test(test_several_retry_after),
        cmocka_unit_test(test_delays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
