/* model/memory.h: look-ups in what former runs remembered, and the words of the enumerations. */
#include "base/attributes.h"
#include "model/memory.h"
#include "model/outcome.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct remembered_item items[] = {
    {.team_id = 2, .key = "package:https://example.com/a", .title_id = 1},
    {.team_id = 0, .key = "package:https://example.com/b", .title_id = 2},
    {.team_id = 1, .key = "script:z.sh", .title_id = 3},
    {.team_id = 1, .key = "package:https://example.com/a", .title_id = 4},
    {.team_id = -1, .key = "x", .title_id = 5},
};
static struct remembered_validator validators[] = {
    {.url_sha256 = "d7fe568b31ae0fb9ee8a1311409b521aeb6a1b50f459bdf15c6f4a3f29dde53b" /* …/b */,
     .etag = "\"2\""},
    {.url_sha256 = "2dce0a4c50441bfccfa9caf4b58c3cba6e06c420505dd829f0436de1aa44baac" /* …/a */,
     .etag = "\"1\""},
};
static struct remembered_default defaults[] = {
    {.package_sha256 = "bb", .field = FIELD_INSTALL_SCRIPT, .text_sha256 = "11"},
    {.package_sha256 = "aa", .field = FIELD_UNINSTALL_SCRIPT, .text_sha256 = "22"},
    {.package_sha256 = "aa", .field = FIELD_INSTALL_SCRIPT, .text_sha256 = "33"},
    {.package_sha256 = "aa", .field = FIELD_INSTALL_SCRIPT, .text_sha256 = "11"},
};

static void test_lookups(void **state)
{
    (void)state;
    struct memory memory = {
        .item_count = ARRAY_LENGTH(items),
        .items = items,
        .default_count = ARRAY_LENGTH(defaults),
        .defaults = defaults,
        .validator_count = ARRAY_LENGTH(validators),
        .validators = validators,
    };
    memory_sort(&memory);
    static const struct {
        int64_t team_id;
        const char *key;
        int64_t title_id; /* 0: not to be found */
    } cases[] = {
        {2, "package:https://example.com/a", 1},
        {1, "package:https://example.com/a", 4},
        {0, "package:https://example.com/b", 2},
        {1, "script:z.sh", 3},
        {-1, "x", 5},
        {0, "package:https://example.com/a", 0},
        {1, "", 0},
        {3, "x", 0},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct remembered_item *item = memory_find_item(&memory, cases[i].team_id, cases[i].key);
        assert_int_equal(item == NULL ? 0 : item->title_id, cases[i].title_id);
    }
    assert_string_equal(memory_find_validator(&memory, "https://example.com/a")->etag, "\"1\"");
    assert_string_equal(memory_find_validator(&memory, "https://example.com/b")->etag, "\"2\"");
    assert_null(memory_find_validator(&memory, "https://example.com/"));
    assert_true(memory_is_default(&memory, "aa", FIELD_INSTALL_SCRIPT, "11"));
    assert_true(memory_is_default(&memory, "aa", FIELD_INSTALL_SCRIPT, "33"));
    assert_true(memory_is_default(&memory, "bb", FIELD_INSTALL_SCRIPT, "11"));
    assert_false(memory_is_default(&memory, "bb", FIELD_INSTALL_SCRIPT, "33"));
    assert_false(memory_is_default(&memory, "aa", FIELD_UNINSTALL_SCRIPT, "11"));
    assert_false(memory_is_default(&memory, "cc", FIELD_INSTALL_SCRIPT, "11"));
}

static void test_empty(void **state)
{
    (void)state;
    struct memory memory = {0};
    memory_sort(&memory);
    assert_null(memory_find_item(&memory, 0, "x"));
    assert_null(memory_find_item(NULL, 0, "x"));
    assert_null(memory_find_validator(&memory, "x"));
    assert_null(memory_find_validator(NULL, "x"));
    assert_false(memory_is_default(&memory, "a", FIELD_BYTES, "b"));
    assert_false(memory_is_default(NULL, "a", FIELD_BYTES, "b"));
}

typedef const char *(*name_function)(int value);

static const char *state_word(int value)
{
    return package_state_name((enum package_state)value);
}

static const char *action_word(int value)
{
    return plan_action_name((enum plan_action)value);
}

static const char *reason_word(int value)
{
    return plan_reason_name((enum plan_reason)value);
}

static const char *outcome_word(int value)
{
    return outcome_kind_name((enum outcome_kind)value);
}

/* Each value has a word of its own, and what lies outside has none. */
static void test_names(void **state)
{
    (void)state;
    static const struct {
        name_function name;
        int count;
    } cases[] = {
        {state_word, PACKAGE_INTERRUPTED + 1},
        {action_word, PLAN_ACTION_COUNT},
        {reason_word, REASON_SECRET_MISSING + 1},
        {outcome_word, OUTCOME_KIND_COUNT},
    };
    assert_int_equal(PLAN_BLOCKED + 1, PLAN_ACTION_COUNT);
    assert_int_equal(OUTCOME_FETCHED + 1, OUTCOME_KIND_COUNT);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        for (int value = 0; value < cases[i].count; value++) {
            assert_non_null(cases[i].name(value));
            for (int other = 0; other < value; other++)
                assert_string_not_equal(cases[i].name(value), cases[i].name(other));
        }
        assert_string_equal(cases[i].name(cases[i].count), "unknown");
        assert_string_equal(cases[i].name(-1), "unknown");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lookups),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
