/* Team names: one form for what looks the same, and Fleet's idea of which two are one. */
#include "manifest/names.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_normalise(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *expected; /* NULL: no UTF-8 */
    } cases[] = {
        {"Workstations", "Workstations"},
        {"  Two words\t\n", "Two words"},
        {"\xC2\xA0"
         "A B\xE2\x80\x83",
         "A B"}, /* no-break space, em space */
        {"Cafe\xCC\x81", "Caf\xC3\xA9"},
        {"Caf\xC3\xA9", "Caf\xC3\xA9"},
        {"\xF0\x9F\x92\xBB\xF0\x9F\x90\xA3", "\xF0\x9F\x92\xBB\xF0\x9F\x90\xA3"},
        {"", ""},
        {" \t ", ""},
        {"Caf\xE9", NULL},
        {"\xED\xA0\x80", NULL},
    };
    struct arena *arena = arena_new(1 << 20);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err e;
        const char *out = "?";
        err_init(&e);
        assert_int_equal(name_normalise(arena, cases[i].text, &out, &e), 0);
        if (cases[i].expected == NULL)
            assert_null(out);
        else
            assert_string_equal(out, cases[i].expected);
    }
    arena_free(arena);
}

static void test_fold(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool are_one;
    } cases[] = {
        {"ABC", "abc", true},
        {"\xC3\x89quipe", "equipe", true}, /* É, e */
        {"Stra\xC3\x9F"
         "e",
         "STRASSE", true},                                              /* ß, SS */
        {"\xEF\xBC\xA1", "a", true},                                    /* full-width A */
        {"\xF0\x9F\x92\xBB", "\xF0\x9F\x90\xA3", true},                 /* two emoji */
        {"\xF0\x9F\x92\xBB A", "\xF0\x9F\x90\xA3\xEF\xB8\x8F A", true}, /* a variation selector is not seen */
        {"\xF0\x9F\x92\xBB", "\xF0\x9F\x92\xBB\xF0\x9F\x92\xBB", false},
        {"A", "B", false},
        {"A B", "AB", false},
        {"Servers", "Servers (canary)", false},
    };
    struct arena *arena = arena_new(1 << 20);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err e;
        err_init(&e);
        const char *a = name_fold(arena, cases[i].a, &e);
        const char *b = name_fold(arena, cases[i].b, &e);
        assert_non_null(a);
        assert_non_null(b);
        if ((strcmp(a, b) == 0) != cases[i].are_one)
            fail_msg("case %zu: %s, %s", i, a, b);
    }
    arena_free(arena);
}

static void test_control(void **state)
{
    (void)state;
    assert_int_equal(name_find_control("plain \xC3\xA4 text"), -1);
    assert_int_equal(name_find_control("a\nb"), 1);
    assert_int_equal(name_find_control("ab\x7F"), 2);
    assert_int_equal(name_find_control("\xC2\x85"), 0);
    assert_int_equal(name_find_control(""), -1);
}

/* Out of memory at each allocation of the arena. */
static void test_no_memory(void **state)
{
    (void)state;
    size_t failed = 0;
    for (size_t size = 1; size < 400; size++) {
        struct err e;
        const char *out = NULL;
        err_init(&e);
        struct arena *arena = arena_new(size);
        bool is_done =
            name_normalise(arena, "Caf\xC3\xA9", &out, &e) == 0 && name_fold(arena, out, &e) != NULL;
        failed += !is_done;
        assert_int_equal(e.class, is_done ? ERR_NONE : ERR_MEMORY);
        arena_free(arena);
    }
    assert_true(failed > 20);
    assert_true(failed < 399);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normalise),
        cmocka_unit_test(test_fold),
        cmocka_unit_test(test_control),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
