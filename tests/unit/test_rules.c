/* The rules that findings name: what programs and docs/rules.md rely on. */
#include "base/buf.h"
#include "base/files.h"
#include "model/rule.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { PAGE_BYTES = 256 * 1024 };

/* Names are of small letters and hyphens, each once; each rule is explained in one sentence. */
static void test_names(void **state)
{
    (void)state;
    for (int i = 0; i < RULE_COUNT; i++) {
        const char *name = rule_name((enum rule)i);
        const char *description = rule_description((enum rule)i);
        assert_non_null(name);
        assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz-"), strlen(name));
        assert_true(strlen(name) > 2);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(name, rule_name((enum rule)k));
        assert_true(strlen(description) > 10);
        assert_int_equal(description[strlen(description) - 1], '.');
    }
}

/* docs/rules.md has a row for each, in this order, and no other rows. */
static void test_page(void **state)
{
    (void)state;
    struct err e;
    struct buf page = BUF_INIT(PAGE_BYTES);
    err_init(&e);
    assert_int_equal(file_read(TEST_SOURCE_DIR "/../docs/rules.md", &page, &e), 0);
    const char *at = strstr(buf_text(&page), "\n| `");
    for (int i = 0; i < RULE_COUNT; i++) {
        char row[512];
        bool is_error = rule_severity((enum rule)i) == DIAGNOSTIC_ERROR;
        snprintf(row, sizeof row, "\n| `%s` | %s | %s |", rule_name((enum rule)i),
                 is_error ? "error" : "warning", rule_description((enum rule)i));
        if (at == NULL || strncmp(at, row, strlen(row)) != 0)
            fail_msg("docs/rules.md should have%s", row);
        at = strstr(at + 1, "\n| `");
    }
    assert_null(at);
    buf_done(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_page)};
    return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
