/* base/text.h: questions about text that messages and look-ups are made of. */
#include "base/attributes.h"
#include "base/text.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_first_line(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        const char *expected;
    } cases[] = {
        {"", 16, ""},
        {"one", 16, "one"},
        {"one\ntwo", 16, "one"},
        {"one\r\ntwo", 16, "one"},
        {"\n\n  \t one\n", 16, "one"},
        {"a\033[31mb", 16, "a?[31mb"},
        {"a\x7f\tb", 16, "a??b"},
        {"a\xc2\x9b"
         "31m",
         16, "a?31m"},
        {"caf\xe9 au lait", 32, "caf? au lait"},
        {"caf\xc3\xa9", 16, "café"},
        {"1234567", 8, "1234567"},
        {"12345678", 8, "1234…"},
        {"123é5678", 8, "123…"}, /* é lies across the cut */
        {"äöüäöü", 8, "äö…"},
        {"12345678", 4, "…"},
        {"12345678", 3, ""},
        {"12345678", 1, ""},
        {"123\xf0\x9f\x98\x80 long tail", 8, "123…"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char out[64];
        memset(out, 'x', sizeof out);
        assert_string_equal(text_first_line(cases[i].text, strlen(cases[i].text), out, cases[i].size),
                            cases[i].expected);
        for (size_t k = cases[i].size; k < sizeof out; k++)
            assert_int_equal(out[k], 'x');
    }
    char untouched = 'x';
    text_first_line("one", 3, &untouched, 0);
    assert_int_equal(untouched, 'x');
    char out[8];
    assert_string_equal(text_first_line("a\0b", 3, out, sizeof out), "a?b");
}

static void test_printable(void **state)
{
    (void)state;
    char out[16];
    assert_string_equal(text_printable("a\nb", 3, '_', out, sizeof out), "a_b");
    assert_string_equal(text_printable("\xff\xfe", 2, '?', out, sizeof out), "??");
    static const char *const deceiving[] = {"\x1b",         "\x7f",         "\xc2\x80",     "\xc2\x9b",
                                            "\xc2\x9f",     "\xd8\x9c",     "\xe2\x80\x8e", "\xe2\x80\x8f",
                                            "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaa", "\xe2\x80\xae",
                                            "\xe2\x81\xa6", "\xe2\x81\xa9"};
    for (size_t i = 0; i < ARRAY_LENGTH(deceiving); i++)
        assert_string_equal(text_printable(deceiving[i], strlen(deceiving[i]), '?', out, sizeof out), "?");
    static const char *const harmless[] = {"\xc2\xa0",     "\xd8\x9b",     "\xe2\x80\x8d", "\xe2\x80\x90",
                                           "\xe2\x80\xaf", "\xe2\x81\xa5", "\xe2\x81\xaa"};
    for (size_t i = 0; i < ARRAY_LENGTH(harmless); i++)
        assert_string_equal(text_printable(harmless[i], strlen(harmless[i]), '?', out, sizeof out),
                            harmless[i]);
    assert_string_equal(text_printable("a\xe2\x80", 3, '?', out, sizeof out), "a??");
    assert_true(text_is_utf8(out, strlen(out), NULL));
}

/* Whatever the bytes and the size: terminated within the size and valid UTF-8. */
static void test_printable_never_breaks(void **state)
{
    (void)state;
    static const unsigned char alphabet[] = {'a',  '\n', 0x1b, 0xc3, 0xa9, 0xe2, 0x82,
                                             0xac, 0xf0, 0x9f, 0x98, 0x80, 0xff};
    unsigned seed = 12345;
    for (int round = 0; round < 20000; round++) {
        char text[24], out[24];
        size_t length = round % sizeof text;
        for (size_t i = 0; i < length; i++) {
            seed = seed * 1103515245 + 12345;
            text[i] = (char)alphabet[(seed >> 16) % sizeof alphabet];
        }
        size_t size = 1 + (size_t)(round / 24) % sizeof out;
        memset(out, 'x', sizeof out);
        text_printable(text, length, '?', out, size);
        size_t used = strnlen(out, size);
        assert_true(used < size);
        assert_true(text_is_utf8(out, used, NULL));
    }
}

static void test_mark_cut(void **state)
{
    (void)state;
    char text[] = "1234567";
    text_mark_cut(text, sizeof text);
    assert_string_equal(text, "1234…");
    char umlauts[] = "123\xc3\xa9zz";
    text_mark_cut(umlauts, sizeof umlauts);
    assert_string_equal(umlauts, "123…");
    char small[] = "ab";
    text_mark_cut(small, sizeof small);
    assert_string_equal(small, "");
}

static void test_comparisons(void **state)
{
    (void)state;
    assert_true(text_equal(NULL, NULL));
    assert_false(text_equal(NULL, ""));
    assert_false(text_equal("a", NULL));
    assert_true(text_equal("a", "a"));
    assert_true(text_is_empty(NULL));
    assert_true(text_is_empty(""));
    assert_false(text_is_empty(" "));
    assert_true(text_starts_with("abc", "ab"));
    assert_false(text_starts_with("a", "ab"));
    assert_true(text_ends_with("a.yml", ".yml"));
    assert_false(text_ends_with("yml", ".yml"));
    assert_false(text_ends_with("a.YML", ".yml"));
    assert_true(text_ends_with_ignoring_case("a.YML", ".yml"));
}

static void test_edit_distance(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        unsigned expected;
    } cases[] = {
        {"", "", 0},         {"", "abc", 3},     {"abc", "", 3},           {"plan", "plan", 0},
        {"plan", "plna", 1}, {"plan", "pan", 1}, {"plan", "plane", 1},     {"plan", "play", 1},
        {"PLAN", "plan", 0}, {"a-b", "a_b", 0},  {"kitten", "sitting", 3}, {"ca", "abc", 3},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        assert_int_equal(text_edit_distance(cases[i].a, cases[i].b), cases[i].expected);
        assert_int_equal(text_edit_distance(cases[i].b, cases[i].a), cases[i].expected);
    }
    char long_word[80];
    memset(long_word, 'a', sizeof long_word);
    long_word[63] = '\0';
    assert_int_equal(text_edit_distance(long_word, "a"), 62);
    long_word[63] = 'a';
    long_word[64] = '\0';
    assert_true(text_edit_distance(long_word, long_word) >= 1000);
}

static void test_nearest(void **state)
{
    (void)state;
    static const char *const words[] = {"install_script", "self_service", "url", "plan", "show"};
    static const struct {
        const char *word, *expected;
    } cases[] = {
        {"self-service", "self_service"},
        {"instal_script", "install_script"},
        {"ulr", "url"},
        {"paln", "plan"},
        {"sho", "show"},
        {"Url", "url"},
        {"zebra", NULL},
        {"x", NULL},
        {"", NULL},
        {"snow", "show"},
        {"flow", NULL},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const char *nearest = text_nearest(cases[i].word, words, ARRAY_LENGTH(words));
        if (cases[i].expected == NULL)
            assert_null(nearest);
        else
            assert_string_equal(nearest, cases[i].expected);
    }
    assert_null(text_nearest("a", words, 0));
}

static void test_size(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *expected;
    } cases[] = {
        {0, "0 bytes"},
        {1, "1 byte"},
        {1023, "1023 bytes"},
        {1024, "1.0 KiB"},
        {1536, "1.5 KiB"},
        {1024 * 1024 - 1, "1.0 MiB"}, /* not "1024.0 KiB" */
        {UINT64_C(5) << 30, "5.0 GiB"},
        {UINT64_C(3) << 40, "3.0 TiB"},
        {UINT64_MAX, "16777216.0 TiB"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char out[TEXT_SIZE_BYTES];
        assert_string_equal(text_size(cases[i].bytes, out), cases[i].expected);
    }
}

static void test_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_good;
        size_t bad_offset;
    } cases[] = {
        {"", true, 0},
        {"abc é € 😀", true, 0},
        {"a\x80", false, 1},
        {"\xc0\x80", false, 0},         /* overlong NUL */
        {"\xc1\xbf", false, 0},         /* overlong */
        {"\xe0\x9f\xbf", false, 0},     /* overlong */
        {"\xed\xa0\x80", false, 0},     /* surrogate */
        {"\xed\x9f\xbf", true, 0},      /* the last before them */
        {"\xf0\x8f\xbf\xbf", false, 0}, /* overlong */
        {"\xf4\x8f\xbf\xbf", true, 0},  /* U+10FFFF */
        {"\xf4\x90\x80\x80", false, 0}, /* beyond it */
        {"\xf5\x80\x80\x80", false, 0},
        {"ab\xe2\x82", false, 2}, /* cut short */
        {"ab\xe2\x28\xa1", false, 2},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        size_t bad_offset = 0;
        assert_int_equal(text_is_utf8(cases[i].text, strlen(cases[i].text), &bad_offset), cases[i].is_good);
        assert_int_equal(bad_offset, cases[i].bad_offset);
    }
}

static void test_count_characters(void **state)
{
    (void)state;
    assert_int_equal(text_count_characters("", 0), 0);
    assert_int_equal(text_count_characters("abc", 2), 2);
    assert_int_equal(text_count_characters("aé…😀", strlen("aé…😀")), 4);
    assert_int_equal(text_count_characters("é", 1), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_line),
        cmocka_unit_test(test_printable),
        cmocka_unit_test(test_printable_never_breaks),
        cmocka_unit_test(test_mark_cut),
        cmocka_unit_test(test_count_characters),
        cmocka_unit_test(test_comparisons),
        cmocka_unit_test(test_edit_distance),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_utf8),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
