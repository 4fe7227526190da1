/* report_log_line(): one event is one line, whatever a server put into its text. */
#include "base/log.h"
#include "base/text.h"
#include "failing_alloc.h"
#include "report/report.h"
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static const int64_t some_time_ms = INT64_C(1796061008678); /* 2026-11-30T17:50:08.678Z */

static int use_utc(void **state)
{
    (void)state;
    setenv("TZ", "UTC", 1);
    tzset();
    return 0;
}

static void test_text(void **state)
{
    (void)state;
    static const struct {
        enum log_level level;
        const char *message, *expected;
    } cases[] = {
        {LOG_INFO, "all is well", "17:50:08 all is well\n"},
        {LOG_WARNING, "careful", "17:50:08 warning: careful\n"},
        {LOG_ERROR, "no", "17:50:08 error: no\n"},
        {LOG_DEBUG, "see", "17:50:08 debug: see\n"},
        {LOG_INFO, "a\nb\033[2Jc\r", "17:50:08 a?b?[2Jc?\n"},
        {LOG_INFO, "caf\xe9", "17:50:08 caf?\n"},
        {LOG_INFO, "größe…", "17:50:08 größe…\n"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct err e;
        err_init(&e);
        CLEANUP(buf_done) struct buf out = BUF_INIT(1000);
        assert_int_equal(report_log_line(false, some_time_ms, cases[i].level, "event", cases[i].message, NULL,
                                         0, &out, &e),
                         0);
        assert_string_equal(buf_text(&out), cases[i].expected);
    }
}

static void test_json(void **state)
{
    (void)state;
    const struct log_field fields[] = {LOG_TEXT("url", "https://example.com/caf\xe9"),
                                       LOG_NUMBER("attempt", 3), LOG_TEXT("cause", "a \"quoted\"\nline")};
    struct err e;
    err_init(&e);
    CLEANUP(buf_done) struct buf out = BUF_INIT(4000);
    assert_int_equal(report_log_line(true, some_time_ms, LOG_WARNING, "attempt", "bad\nbytes \xff here",
                                     fields, ARRAY_LENGTH(fields), &out, &e),
                     0);
    assert_ptr_equal(strchr(buf_text(&out), '\n'), buf_text(&out) + out.length - 1); /* one line */
    json_t *object = json_loads(buf_text(&out), 0, NULL);
    assert_non_null(object);
    assert_string_equal(json_string_value(json_object_get(object, "time")), "2026-11-30T17:50:08.678Z");
    assert_string_equal(json_string_value(json_object_get(object, "level")), "warning");
    assert_string_equal(json_string_value(json_object_get(object, "event")), "attempt");
    assert_string_equal(json_string_value(json_object_get(object, "message")), "bad?bytes ? here");
    assert_string_equal(json_string_value(json_object_get(object, "url")), "https://example.com/caf?");
    assert_int_equal(json_integer_value(json_object_get(object, "attempt")), 3);
    assert_string_equal(json_string_value(json_object_get(object, "cause")), "a \"quoted\"?line");
    assert_int_equal(json_object_size(object), 7);
    json_decref(object);
}

static void test_no_room(void **state)
{
    (void)state;
    for (int as_json = 0; as_json <= 1; as_json++) {
        struct err e;
        err_init(&e);
        CLEANUP(buf_done) struct buf out = BUF_INIT(10);
        assert_int_equal(report_log_line(as_json == 1, some_time_ms, LOG_INFO, "event", "a long message",
                                         NULL, 0, &out, &e),
                         -1);
        assert_int_equal(e.class, ERR_MEMORY);
        CLEANUP(buf_done) struct buf other = BUF_INIT(1000);
        err_init(&e);
        failing_alloc_start(1, true);
        int result =
            report_log_line(as_json == 1, some_time_ms, LOG_INFO, "event", "message", NULL, 0, &other, &e);
        failing_alloc_stop();
        assert_int_equal(result, -1);
        assert_int_equal(e.class, ERR_MEMORY);
    }
}

struct sink {
    int count;
    char message[8192];
    enum log_level level;
    size_t field_count;
};

static void keep(void *context, enum log_level level, const char *event, const char *message,
                 const struct log_field *fields, size_t field_count)
{
    struct sink *sink = context;
    (void)event;
    (void)fields;
    sink->count++;
    sink->level = level;
    sink->field_count = field_count;
    strncpy(sink->message, message, sizeof sink->message - 1);
}

static void test_events(void **state)
{
    (void)state;
    struct sink sink = {0};
    const struct log log = {.write = keep, .context = &sink, .threshold = LOG_INFO};
    log_info(NULL, "event", "nobody listens");
    const struct log deaf = {.threshold = LOG_DEBUG};
    log_error(&deaf, "event", "nor here");
    log_debug(&log, "event", "below the threshold");
    assert_int_equal(sink.count, 0);
    const struct log_field fields[] = {LOG_NUMBER("n", 1)};
    log_event(&log, LOG_ERROR, "event", fields, 1, "%s %d", "a", 7);
    assert_int_equal(sink.count, 1);
    assert_string_equal(sink.message, "a 7");
    assert_int_equal(sink.level, LOG_ERROR);
    assert_int_equal(sink.field_count, 1);
    char text[9000] = "";
    for (size_t used = 0; used + 4 < sizeof text; used += 3)
        memcpy(text + used, "€", 4);
    log_info(&log, "event", "%s", text);
    assert_true(strlen(sink.message) < 4096);
    assert_true(text_is_utf8(sink.message, strlen(sink.message), NULL));
    assert_true(text_ends_with(sink.message, "…"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_events),
    };
    return cmocka_run_group_tests_name("log_line", tests, use_utc, NULL);
}
