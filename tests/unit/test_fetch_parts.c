/* The pure parts of lib/fetch: ranges, validators, names, types, origins, rotation. */
#include "base/attributes.h"
#include "fetch/credentials.h"
#include "fetch/disposition.h"
#include "fetch/origin.h"
#include "fetch/range.h"
#include "fetch/source.h"
#include "fetch/transfer.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_content_range(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        bool is_good;
        struct content_range expected;
    } cases[] = {
        {"bytes 40-99/100", true, {false, 40, 99, true, 100}},
        {"BYTES 0-0/1", true, {false, 0, 0, true, 1}},
        {"bytes 40-99/*", true, {false, 40, 99, false, 0}},
        {"bytes */100", true, {true, 0, 0, true, 100}},
        {"bytes */*", false, {0}},
        {"bytes 40-99", false, {0}},
        {"bytes 40-99/", false, {0}},
        {"bytes 40-99/99", false, {0}},
        {"bytes 99-40/100", false, {0}},
        {"bytes -40/100", false, {0}},
        {"bytes 40-/100", false, {0}},
        {"bytes 40-99/100x", false, {0}},
        {"items 40-99/100", false, {0}},
        {"bytes 40-99999999999999999999999/100", false, {0}},
        {"", false, {0}},
        {NULL, false, {0}},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct content_range range = {0};
        assert_int_equal(range_parse(cases[i].value, &range), cases[i].is_good);
        assert_int_equal(range.is_unsatisfied, cases[i].expected.is_unsatisfied);
        assert_int_equal(range.first, cases[i].expected.first);
        assert_int_equal(range.last, cases[i].expected.last);
        assert_int_equal(range.total_is_known, cases[i].expected.total_is_known);
        assert_int_equal(range.total, cases[i].expected.total);
    }
}

struct header_case {
    const char *etag, *modified, *date, *length;
    const char *validator;
    int64_t length_bytes;
};

static void test_validators(void **state)
{
    (void)state;
    static const char ten[] = "Mon, 30 Nov 2015 10:00:00 GMT";
    static const char soon[] = "Mon, 30 Nov 2015 10:00:30 GMT";
    static const char later[] = "Mon, 30 Nov 2015 10:01:00 GMT";
    static const struct header_case cases[] = {
        {"\"a b\"", NULL, NULL, "100", "\"a b\"", 100},
        {"W/\"a\"", ten, later, "0", NULL, 0},
        {"unquoted", NULL, NULL, "-1", NULL, -1},
        {"\"", NULL, NULL, "1x", NULL, -1},
        {NULL, ten, later, NULL, ten, -1},
        {NULL, ten, soon, "99999999999999999999", NULL, -1},
        {NULL, ten, NULL, "9223372036854775808", NULL, -1},
        {NULL, "yesterday", later, "", NULL, -1},
        {NULL, NULL, NULL, NULL, NULL, -1},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const char *const values[] = {cases[i].etag, cases[i].modified, cases[i].date, cases[i].length};
        static const char *const names[] = {"etag", "last-modified", "date", "content-length"};
        struct http_header headers[4];
        size_t count = 0;
        for (size_t j = 0; j < 4; j++)
            if (values[j] != NULL)
                headers[count++] = (struct http_header){names[j], values[j]};
        struct http_answer answer = {.headers = headers, .header_count = count};
        const char *found = range_strong_validator(&answer);
        if (cases[i].validator == NULL)
            assert_null(found);
        else
            assert_string_equal(found, cases[i].validator);
        assert_int_equal(range_content_length(&answer), cases[i].length_bytes);
    }
    assert_true(range_etags_match("\"a\"", "W/\"a\""));
    assert_true(range_etags_match("\"a\"", "\"a\""));
    assert_false(range_etags_match("\"a\"", "\"A\""));
    assert_false(range_etags_match("", ""));
    assert_false(range_etags_match(NULL, "\"a\""));
}

static void test_body_end(void **state)
{
    (void)state;
    static const struct {
        const char *first, *second, *coding;
        enum body_end expected;
        int64_t length;
    } cases[] = {
        {"100", NULL, NULL, BODY_END_LENGTH, 100},
        {"0", NULL, NULL, BODY_END_LENGTH, 0},
        {"100", "100", NULL, BODY_END_LENGTH, 100},
        {"100, 100\t,100", NULL, NULL, BODY_END_LENGTH, 100},
        {"9223372036854775807", NULL, NULL, BODY_END_LENGTH, INT64_MAX},
        {"100", "10", NULL, BODY_END_ODD, -1},
        {"10", "100", NULL, BODY_END_ODD, -1},
        {"100, 10", NULL, NULL, BODY_END_ODD, -1},
        {"-5", NULL, NULL, BODY_END_ODD, -1},
        {"+5", NULL, NULL, BODY_END_ODD, -1},
        {"5x", NULL, NULL, BODY_END_ODD, -1},
        {"0x10", NULL, NULL, BODY_END_ODD, -1},
        {"5 5", NULL, NULL, BODY_END_ODD, -1},
        {"", NULL, NULL, BODY_END_ODD, -1},
        {"5,", NULL, NULL, BODY_END_ODD, -1},
        {"-5", "5", "chunked", BODY_END_ODD, -1},
        {"9223372036854775808", NULL, NULL, BODY_END_TOO_LARGE, -1},
        {"99999999999999999999999", NULL, NULL, BODY_END_TOO_LARGE, -1},
        {"99999999999999999999999", "100", NULL, BODY_END_TOO_LARGE, -1},
        {"100", "99999999999999999999999", NULL, BODY_END_TOO_LARGE, -1},
        {"99999999999999999999999", "x", NULL, BODY_END_ODD, -1},
        {NULL, NULL, NULL, BODY_END_CLOSE, -1},
        {NULL, NULL, "identity", BODY_END_CLOSE, -1},
        {NULL, NULL, "gzip", BODY_END_CLOSE, -1},
        {"100", NULL, "gzip", BODY_END_CLOSE, -1},
        {"100", NULL, "identity", BODY_END_LENGTH, 100},
        {NULL, NULL, "chunked", BODY_END_CHUNKS, -1},
        {NULL, NULL, "gzip, Chunked", BODY_END_CHUNKS, -1},
        {NULL, NULL, "xchunked", BODY_END_CLOSE, -1},
        {"100", NULL, "chunked", BODY_END_CHUNKS, 100},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct http_header headers[3];
        size_t count = 0;
        if (cases[i].first != NULL)
            headers[count++] = (struct http_header){"Content-Length", cases[i].first};
        if (cases[i].coding != NULL)
            headers[count++] = (struct http_header){"transfer-encoding", cases[i].coding};
        if (cases[i].second != NULL)
            headers[count++] = (struct http_header){"content-length", cases[i].second};
        struct http_answer answer = {.headers = headers, .header_count = count};
        int64_t length = 7;
        print_message("    %zu\n", i);
        assert_int_equal(range_body_end(&answer, &length), cases[i].expected);
        assert_int_equal(length, cases[i].length);
    }
}

static void test_disposition(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        const char *expected; /* NULL: none */
    } cases[] = {
        {"attachment; filename=a.pkg", "a.pkg"},
        {"attachment; filename=\"a b.pkg\"", "a b.pkg"},
        {"attachment;filename=\"a\\\"b.pkg\"; size=3", "a\"b.pkg"},
        {"attachment; filename=\"x;y.pkg\"; foo", "x;y.pkg"},
        {"attachment; FileName = a.pkg ; x=y", "a.pkg"},
        {"attachment; filename=plain.pkg; filename*=UTF-8''na%C3%AFve%20x.pkg", "na\xC3\xAFve x.pkg"},
        {"attachment; filename*=UTF-8'en'%e2%82%ac.pkg; filename=plain.pkg", "\xE2\x82\xAC.pkg"},
        {"attachment; filename*=iso-8859-1''%A3.pkg", "\xC2\xA3.pkg"},
        {"attachment; filename*=utf-16''x.pkg; filename=plain.pkg", "plain.pkg"},
        {"attachment; filename*=UTF-8''%ff.pkg; filename=plain.pkg", "plain.pkg"}, /* no UTF-8 */
        {"attachment; filename*=UTF-8''%zz.pkg", NULL},
        {"attachment; filename*=UTF-8''a%00b.pkg", NULL},
        {"attachment; filename=\"../../etc/passwd\"", "passwd"},
        {"attachment; filename=\"C:\\\\Temp\\\\a.msi\"", "a.msi"},
        {"attachment; filename=\"..\"", NULL},
        {"attachment; filename=\"a/\"", NULL},
        {"attachment; filename=\"\"", NULL},
        {"attachment; filename=\"a\tb\x01.pkg\"", "a_b_.pkg"},
        {"attachment; filename=\"unterminated.pkg", "unterminated.pkg"},
        {"attachment; filename=first.pkg; filename=second.pkg", "first.pkg"},
        {"attachment; xfilename=a.pkg", NULL},
        {"attachment", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char name[FILE_NAME_BYTES] = "";
        bool found = disposition_file_name(cases[i].value, name);
        assert_int_equal(found, cases[i].expected != NULL);
        if (found)
            assert_string_equal(name, cases[i].expected);
    }
}

static void test_choosing_a_name(void **state)
{
    (void)state;
    static const struct {
        const char *disposition, *final_url, *original_url, *expected;
    } cases[] = {
        {"attachment; filename=h.pkg", "http://x/f.pkg", "http://x/o.pkg", "h.pkg"},
        {"inline", "http://x/f%20g.pkg?sig=1", "http://x/o.pkg", "f g.pkg"},
        {NULL, "http://x/", "http://x/o.pkg", "o.pkg"},
        {NULL, NULL, "http://x/o.pkg", "o.pkg"},
        {NULL, "http://x", "http://x/", "package"},
        {NULL, "http://x/%2e%2e", "http://x/", "package"},
    };
    char name[FILE_NAME_BYTES], longest[2000];
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_string_equal(
            disposition_choose(cases[i].disposition, cases[i].final_url, cases[i].original_url, name),
            cases[i].expected);
    int used = snprintf(longest, sizeof longest, "attachment; filename=\"");
    for (int i = 0; i < 300; i++)
        used += snprintf(longest + used, sizeof longest - (size_t)used, "\xC3\xA9");
    snprintf(longest + used, sizeof longest - (size_t)used, ".pkg\"");
    assert_true(disposition_file_name(longest, name));
    assert_true(strlen(name) <= 255 && strlen(name) > 250);
    assert_string_equal(name + strlen(name) - 4, ".pkg");
    assert_int_equal((unsigned char)name[strlen(name) - 5], 0xA9); /* not cut within a character */
}

static void test_origins(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool is_same;
        const char *carried; /* b with a's userinfo, where it may go along */
    } cases[] = {
        {"http://u:p@x/a", "http://x/b", true, "http://u:p@x/b"},
        {"http://u:p@x/a", "HTTP://X:80/b@c", true, "HTTP://u:p@X:80/b@c"},
        {"http://u:p@x/a", "http://v@x/b", true, "http://v@x/b"},
        {"http://u:p@x/a", "https://x/b", false, "https://x/b"},
        {"http://u:p@x/a", "http://y/b", false, "http://y/b"},
        {"http://u:p@x/a", "http://x:81/b", false, "http://x:81/b"},
        {"http://u:p@x/a", "http://x.evil/b", false, "http://x.evil/b"},
        {"http://u:p@x/a", "http://evil\\@x/b", false, "http://evil\\@x/b"},
        {"http://x/a", "http://x/b", true, "http://x/b"},
        {"ftp://x/a", "ftp://x/b", false, "ftp://x/b"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        assert_int_equal(origin_is_same(cases[i].a, cases[i].b), cases[i].is_same);
        char *carried = origin_carry_userinfo(cases[i].a, cases[i].b);
        assert_non_null(carried);
        assert_string_equal(carried, cases[i].carried);
        free(carried);
    }
    assert_true(origin_has_userinfo("http://u@x/"));
    assert_false(origin_has_userinfo("http://x/u@y"));
}

/* Each with its host, of the table that is returned. */
static struct host_table *open_sources(const char *const *urls, size_t count, struct source *items)
{
    struct err e;
    err_init(&e);
    const struct host_limits limits = {.parallel = 4};
    struct host_table *table = host_table_new(&limits, &e);
    assert_non_null(table);
    for (size_t i = 0; i < count; i++)
        items[i] = (struct source){.url = urls[i], .host = host_of_url(table, urls[i], &e)};
    return table;
}

/* Three sources, the first two on one host. */
static void test_rotation(void **state)
{
    (void)state;
    static const char *const urls[] = {"http://a/1", "http://a/2", "http://b/3"};
    struct source items[ARRAY_LENGTH(urls)];
    struct host_table *table = open_sources(urls, ARRAY_LENGTH(urls), items);
    struct source_list list = {.count = 3, .items = items};
    assert_ptr_equal(source_next(&list, 0), &items[0]);
    source_failed_for_good(&items[0]); /* says nothing about another path there */
    assert_ptr_equal(source_next(&list, 0), &items[1]);
    source_failed_for_now(&list, &items[1]);
    assert_ptr_equal(source_next(&list, 0), &items[2]);
    assert_false(source_round_is_over(&list));
    source_failed_for_now(&list, &items[2]);
    assert_true(source_round_is_over(&list));
    assert_null(source_next(&list, 0));
    source_next_round(&list);
    assert_int_equal(list.round, 1);
    assert_ptr_equal(source_next(&list, 0), &items[1]);
    /* a parked host gives way to an open one; when all are parked, the first to open is next */
    host_park(items[1].host, 1000);
    assert_ptr_equal(source_next(&list, 0), &items[2]);
    host_park(items[2].host, 500);
    assert_ptr_equal(source_next(&list, 0), &items[2]);
    assert_ptr_equal(source_next(&list, 2000), &items[1]);
    source_failed_for_now(&list, &items[2]);
    /* progress: the one that brought it had the fewest turns in vain */
    source_reset_rounds(&list);
    assert_int_equal(list.round, 0);
    assert_ptr_equal(source_next(&list, 2000), &items[1]);
    source_failed_for_good(&items[1]);
    assert_true(source_any_left(&list));
    source_failed_for_good(&items[2]);
    assert_false(source_any_left(&list));
    host_table_free(table);
}

/* Three sources of one host and one of another: each round asks each host once, and each source in its turn.
 */
static void test_turns(void **state)
{
    (void)state;
    static const char *const urls[] = {"http://a/1", "http://b/2", "http://a/3", "http://a/4"};
    struct source items[ARRAY_LENGTH(urls)];
    struct host_table *table = open_sources(urls, ARRAY_LENGTH(urls), items);
    struct source_list list = {.count = ARRAY_LENGTH(urls), .items = items};
    static const size_t expected[][2] = {{0, 1}, {2, 1}, {3, 1}};
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < 2; i++) {
            struct source *source = source_next(&list, 0);
            assert_non_null(source);
            bool is_expected = source == &items[expected[round][0]] || source == &items[expected[round][1]];
            assert_true(is_expected);
            source_failed_for_now(&list, source);
        }
        assert_true(source_round_is_over(&list));
        source_next_round(&list);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(urls); i++)
        assert_int_equal(items[i].turns, i == 1 ? 3 : 1);
    host_table_free(table);
}

/* Where a redirect may lead: judged by the headers alone. */
static void test_redirect_targets(void **state)
{
    (void)state;
    static char too_long[17 * 1024] = "http://b/";
    memset(too_long + 9, 'y', sizeof too_long - 10);
    static const struct {
        const char *from, *to;
        const char *refusal; /* NULL: followed */
    } cases[] = {
        {"https://a/x", "https://b/y", NULL},
        {"http://a/x", "https://b/y", NULL},
        {"http://a/x", "http://b/y", NULL},
        {"https://a/x", "http://a/y?secret=1", "redirect from https to http://a/y?\u2026 is not followed"},
        {"HTTPS://a/x", "HTTP://a/y", "redirect from https to"},
        {"http://a/x", "file:///etc/passwd", "redirect to file:///etc/passwd: only http and https"},
        {"http://a/x", "http://", ": its host or port can't be read"},
        {"http://a/x", "http://b:99999/y", "redirect to http://b:99999/y: its host or port can't be read"},
        {"http://a/x", "/y\x1b[31m", "redirect to /y?[31m: its Location holds control characters"},
        {"http://a/x", "http://b/y\x7f", "redirect to http://b/y?: its Location holds control characters"},
        {"http://a/x", too_long, ": this URL is longer than 16 KiB (limit)"},
        {"http://a/x", NULL, "HTTP 302 without a target"},
    };
    struct err e;
    err_init(&e);
    struct settings settings = {.limits.max_redirects = 10};
    struct fetch_options options = {.settings = &settings, .clock = clock_system()};
    struct fetcher fetcher = {.options = &options, .arena = arena_new(1024 * 1024)};
    assert_non_null(fetcher.arena);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct package result;
        struct package_request request = {.name = "a", .url = cases[i].from};
        struct transfer transfer;
        struct http_answer answer = {.status = 302, .redirect_url = cases[i].to};
        print_message("    %s\n", cases[i].from);
        transfer_init(&transfer, &fetcher, &request, &result);
        transfer.hop_url = strdup(cases[i].from);
        enum verdict verdict = transfer_judge(&transfer, &answer);
        assert_int_equal(verdict, cases[i].refusal == NULL ? VERDICT_REDIRECT : VERDICT_REFUSED);
        if (cases[i].refusal == NULL)
            assert_string_equal(transfer.redirect_url, cases[i].to);
        else
            assert_non_null(strstr(transfer.cause_text, cases[i].refusal));
        transfer_done(&transfer);
    }
    arena_free(fetcher.arena);
}

static void test_netrc(void **state)
{
    (void)state;
    static const char file[] = "# ours\nmachine a.example.com login ann password \"two words\"\n"
                               "machine b.example.com password only account x\nmachine c.example.com\n"
                               "default login guest password any\n";
    static const struct {
        const char *host, *username, *password;
    } cases[] = {
        {"a.example.com", "ann", "two words"},
        {"b.example.com", "", "only"},
        {"d.example.com", "guest", "any"},
        {"example.com", "guest", "any"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char text[sizeof file];
        const char *username = NULL, *password = NULL;
        memcpy(text, file, sizeof file);
        assert_true(netrc_find(text, cases[i].host, &username, &password));
        assert_string_equal(username, cases[i].username);
        assert_string_equal(password, cases[i].password);
    }
    static const char *const useless[] = {
        "", "machine", "machine a login", "login x password y", "machine b login x", "# machine a login x"};
    for (size_t i = 0; i < ARRAY_LENGTH(useless); i++) {
        char text[64];
        const char *username = NULL, *password = NULL;
        snprintf(text, sizeof text, "%s", useless[i]);
        assert_false(netrc_find(text, "a", &username, &password));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_content_range),   cmocka_unit_test(test_validators),
        cmocka_unit_test(test_body_end),        cmocka_unit_test(test_disposition),
        cmocka_unit_test(test_choosing_a_name), cmocka_unit_test(test_netrc),
        cmocka_unit_test(test_origins),         cmocka_unit_test(test_rotation),
        cmocka_unit_test(test_turns),           cmocka_unit_test(test_redirect_targets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
