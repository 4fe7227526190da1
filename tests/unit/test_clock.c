/* base/clock.h: dates and durations as headers and people have them. */
#include "base/attributes.h"
#include "base/clock.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_iso8601(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        const char *expected;
    } cases[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {1796061008678, "2026-11-30T17:50:08.678Z"},
        {951782400007, "2000-02-29T00:00:00.007Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {-1000, "1969-12-31T23:59:59.000Z"},
        {INT64_C(253402300799999), "9999-12-31T23:59:59.999Z"},
        {INT64_MAX, "(no date)"},
        {INT64_MIN, "(no date)"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char out[CLOCK_TEXT_BYTES];
        const char *text = clock_iso8601(cases[i].ms, out);
        assert_true(strnlen(out, sizeof out) < sizeof out);
        if (cases[i].expected[0] != '(')
            assert_string_equal(text, cases[i].expected);
    }
}

static void test_http_date(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t expected;
    } cases[] = {
        {"Sun, 06 Nov 1994 08:49:37 GMT", 784111777000},
        {"Sunday, 06-Nov-94 08:49:37 GMT", 784111777000},
        {"Sun Nov  6 08:49:37 1994", 784111777000},
        {"Thu, 01 Jan 1970 00:00:00 GMT", 0},
        {"Tue, 29 Feb 2028 12:00:00 GMT", 1835438400000},
        {"Sun, 06 Nov 1994 08:49:37 GMT  ", 784111777000},
        {"Wed, 31 Dec 2036 23:59:60 GMT", 2114380800000}, /* a leap second */
        {"Mon, 31 Feb 2026 12:00:00 GMT", -1},
        {"Sun, 29 Feb 2026 12:00:00 GMT", -1},
        {"Sun, 06 Nov 1994 24:49:37 GMT", -1},
        {"Sun, 06 Nov 1994 08:49:37", -1},
        {"Sun, 06 Nov 1994 08:49:37 CET", -1},
        {"Sun, 06 Nov 1994 08:49:37 GMT and more", -1},
        {"Wed, 31 Dec 1969 23:59:59 GMT", -1},
        {"1994-11-06T08:49:37Z", -1},
        {"120", -1},
        {"", -1},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_int_equal(clock_parse_http_date(cases[i].text), cases[i].expected);
}

static void test_duration(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        const char *expected;
    } cases[] = {
        {-5, "0 ms"},
        {0, "0 ms"},
        {850, "850 ms"},
        {999, "999 ms"},
        {1000, "1 s"},
        {1500, "1.5 s"},
        {9900, "9.9 s"},
        {12000, "12 s"},
        {59400, "59 s"},
        {59600, "1 min"},
        {60000, "1 min"},
        {200000, "3 min 20 s"},
        {3599600, "1 h 0 min"},
        {3900000, "1 h 5 min"},
        {INT64_MAX, "2562047788015 h 12 min"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char out[CLOCK_TEXT_BYTES];
        assert_string_equal(clock_duration_text(cases[i].ms, out), cases[i].expected);
    }
}

static void test_system(void **state)
{
    (void)state;
    const struct clock *clock = clock_system();
    int64_t first = clock->monotonic_ms(clock->context);
    assert_true(first >= 0);
    assert_true(clock->monotonic_ms(clock->context) >= first);
    assert_true(clock->wall_ms(clock->context) > INT64_C(1700000000000));
    const struct jitter *jitter = jitter_system();
    double least = 1, most = 0;
    for (int i = 0; i < 1000; i++) {
        double value = jitter->next(jitter->context);
        assert_true(value >= 0 && value < 1);
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    assert_true(least < 0.1 && most > 0.9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_iso8601),
        cmocka_unit_test(test_http_date),
        cmocka_unit_test(test_duration),
        cmocka_unit_test(test_system),
    };
    return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
