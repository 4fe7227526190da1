/* base/err.h: filled once, the first error wins, never cut within a character. */
#include "base/err.h"
#include "base/text.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_first_error_wins(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    assert_false(err_is_set(&e));
    assert_int_equal(err_set(&e, ERR_SYSTEM, "one %d", 1), -1);
    assert_true(err_is_set(&e));
    assert_int_equal(err_set(&e, ERR_MEMORY, "two"), -1);
    errno = ENOENT;
    assert_int_equal(err_set_errno(&e, "three"), -1);
    assert_int_equal(e.class, ERR_SYSTEM);
    assert_string_equal(e.text, "one 1");
}

static void test_errno(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    errno = ENOSPC;
    assert_int_equal(err_set_errno(&e, "can't write %s", "a"), -1);
    assert_string_equal(e.text, "can't write a: No space left on device");
    assert_int_equal(e.class, ERR_SYSTEM);
    err_init(&e);
    errno = ENOMEM;
    (void)err_set_errno(&e, "a");
    assert_int_equal(e.class, ERR_MEMORY);
}

static void test_prefix(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    (void)err_set(&e, ERR_SERVER, "no");
    assert_int_equal(err_prefix(&e, "team %s", "A"), -1);
    (void)err_prefix(&e, "run");
    assert_string_equal(e.text, "run: team A: no");
    assert_int_equal(e.class, ERR_SERVER);
}

/* Texts of any length with characters of any width: terminated, valid UTF-8, and cut visibly. */
static void test_cutting(void **state)
{
    (void)state;
    static const char *const characters[] = {"a", "é", "€", "😀"};
    for (size_t kind = 0; kind < ARRAY_LENGTH(characters); kind++) {
        for (size_t shift = 0; shift < 4; shift++) {
            char text[ERR_TEXT_BYTES * 2] = "";
            memset(text, '.', shift);
            size_t width = strlen(characters[kind]);
            for (size_t used = shift; used + width < sizeof text; used += width)
                memcpy(text + used, characters[kind], width + 1);
            struct err e;
            err_init(&e);
            (void)err_set(&e, ERR_SYSTEM, "%s", text);
            assert_true(strnlen(e.text, sizeof e.text) < sizeof e.text);
            assert_true(text_is_utf8(e.text, strlen(e.text), NULL));
            assert_true(text_ends_with(e.text, "…"));
            (void)err_prefix(&e, "%.*s", (int)shift + 1, "context");
            assert_true(text_is_utf8(e.text, strlen(e.text), NULL));
            assert_true(text_ends_with(e.text, "…"));
            err_init(&e);
            errno = EIO;
            (void)err_set_errno(&e, "%s", text);
            assert_true(text_is_utf8(e.text, strlen(e.text), NULL));
            err_init(&e);
            err_at(&e, text, 1, 1);
            assert_true(strnlen(e.file, sizeof e.file) < sizeof e.file);
            assert_true(text_is_utf8(e.file, strlen(e.file), NULL));
        }
    }
    /* The text fits, errno's words do not. */
    char text[ERR_TEXT_BYTES];
    memset(text, 'a', sizeof text);
    text[sizeof text - 5] = '\0';
    struct err e;
    err_init(&e);
    errno = ENOSPC;
    (void)err_set_errno(&e, "%s", text);
    assert_true(text_ends_with(e.text, "…"));
}

static void test_place_and_format(void **state)
{
    (void)state;
    struct err e;
    char out[128];
    err_init(&e);
    (void)err_set(&e, ERR_MANIFEST, "bad");
    assert_string_equal(err_format(&e, out, sizeof out), "bad");
    err_at(&e, NULL, 1, 2);
    assert_string_equal(err_format(&e, out, sizeof out), "bad");
    err_at(&e, "a.yml", 3, 4);
    assert_string_equal(err_format(&e, out, sizeof out), "a.yml:3:4: bad");
    err_at(&e, "b.yml", 5, 6);
    assert_string_equal(err_format(&e, out, sizeof out), "a.yml:3:4: bad");
    e.column = 0;
    assert_string_equal(err_format(&e, out, sizeof out), "a.yml:3: bad");
    e.line = 0;
    assert_string_equal(err_format(&e, out, sizeof out), "a.yml: bad");
}

static void test_format_cuts_between_characters(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    (void)err_set(&e, ERR_MANIFEST, "größer als erlaubt: äöüäöüäöü");
    err_at(&e, "grün.yml", 3, 4);
    for (size_t size = 1; size < 60; size++) {
        char out[64];
        memset(out, 'x', sizeof out);
        err_format(&e, out, size);
        assert_true(strnlen(out, size) < size);
        assert_true(text_is_utf8(out, strlen(out), NULL));
        assert_int_equal(out[size], 'x');
    }
}

static void test_class_names(void **state)
{
    (void)state;
    for (int i = ERR_NONE; i <= ERR_INTERRUPTED; i++) {
        assert_string_not_equal(err_class_name((enum err_class)i), "unknown");
        for (int k = ERR_NONE; k < i; k++)
            assert_string_not_equal(err_class_name((enum err_class)i), err_class_name((enum err_class)k));
    }
    assert_string_equal(err_class_name((enum err_class)99), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_error_wins), cmocka_unit_test(test_errno),
        cmocka_unit_test(test_prefix),           cmocka_unit_test(test_cutting),
        cmocka_unit_test(test_place_and_format), cmocka_unit_test(test_format_cuts_between_characters),
        cmocka_unit_test(test_class_names),
    };
    return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
