/* base/buf.h: growing, bounded, NUL-terminated. */
#include "base/buf.h"
#include "failing_alloc.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include <cmocka.h>

static void test_adding(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    CLEANUP(buf_done) struct buf buf = BUF_INIT(1 << 20);
    assert_string_equal(buf_text(&buf), "");
    assert_int_equal(buf_add(&buf, NULL, 0, &e), 0);
    assert_string_equal(buf_text(&buf), "");
    assert_int_equal(buf_add_text(&buf, "abc", &e), 0);
    assert_int_equal(buf_printf(&buf, &e, "-%d", 7), 0);
    assert_int_equal(buf_printf(&buf, &e, "%s", ""), 0);
    assert_int_equal(buf_add(&buf, "\0x", 2, &e), 0);
    assert_int_equal(buf.length, 7);
    assert_memory_equal(buf.bytes, "abc-7\0x", 8);
    buf_clear(&buf);
    assert_int_equal(buf.length, 0);
    assert_string_equal(buf_text(&buf), "");
    for (int i = 0; i < 1000; i++)
        assert_int_equal(buf_printf(&buf, &e, "%04d", i), 0);
    assert_int_equal(buf.length, 4000);
    assert_memory_equal(buf.bytes + 3996, "0999", 5);
}

static void test_maximum(void **state)
{
    (void)state;
    static const struct {
        size_t max_bytes, length;
        int expected;
    } cases[] = {{0, 0, 0}, {0, 1, -1}, {10, 10, 0}, {10, 11, -1}, {200, 200, 0}, {200, 201, -1}};
    char bytes[256] = {0};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct err e;
        err_init(&e);
        CLEANUP(buf_done) struct buf buf = BUF_INIT(cases[i].max_bytes);
        assert_int_equal(buf_add(&buf, bytes, cases[i].length, &e), cases[i].expected);
        assert_int_equal(e.class, cases[i].expected < 0 ? ERR_MEMORY : ERR_NONE);
    }
    struct err e;
    err_init(&e);
    CLEANUP(buf_done) struct buf buf = BUF_INIT(5);
    assert_int_equal(buf_add_text(&buf, "abc", &e), 0);
    assert_int_equal(buf_printf(&buf, &e, "%s", "def"), -1);
    assert_string_equal(buf_text(&buf), "abc"); /* a failing addition adds nothing */
    err_init(&e);
    assert_int_equal(buf_add_text(&buf, "de", &e), 0);
    assert_string_equal(buf_text(&buf), "abcde");
}

static void test_overflows(void **state)
{
    (void)state;
    static const wchar_t not_a_character[] = {0x7fffffff, 0};
    struct err e;
    err_init(&e);
    CLEANUP(buf_done) struct buf buf = BUF_INIT(SIZE_MAX);
    assert_int_equal(buf_add_text(&buf, "abc", &e), 0);
    assert_int_equal(buf_add(&buf, "", SIZE_MAX - 3, &e), -1);
    assert_int_equal(e.class, ERR_MEMORY);
    err_init(&e);
    assert_int_equal(buf_printf(&buf, &e, "%ls", not_a_character), -1);
    assert_true(err_is_set(&e));
    assert_string_equal(buf_text(&buf), "abc");
}

static int fill(struct buf *buf, struct err *e)
{
    for (int i = 0; i < 1000; i++)
        if (buf_printf(buf, e, "line %d\n", i) < 0)
            return -1;
    return buf_add_text(buf, "end", e);
}

static void test_each_allocation_fails(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    CLEANUP(buf_done) struct buf whole = BUF_INIT(1 << 20);
    failing_alloc_start(0, false);
    assert_int_equal(fill(&whole, &e), 0);
    long count = failing_alloc_stop();
    assert_true(count > 3);
    for (long nth = 1; nth <= count; nth++) {
        CLEANUP(buf_done) struct buf buf = BUF_INIT(1 << 20);
        err_init(&e);
        failing_alloc_start(nth, false);
        int result = fill(&buf, &e);
        failing_alloc_stop();
        assert_int_equal(result, -1);
        assert_int_equal(e.class, ERR_MEMORY);
        assert_memory_equal(buf_text(&buf), buf_text(&whole), buf.length); /* what was added stays whole */
        assert_int_equal(buf_text(&buf)[buf.length], 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adding),
        cmocka_unit_test(test_maximum),
        cmocka_unit_test(test_overflows),
        cmocka_unit_test(test_each_allocation_fails),
    };
    return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
