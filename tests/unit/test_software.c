/* model/software.h and model/observed.h: names, keys and fingerprints. */
#include "base/text.h"
#include "failing_alloc.h"
#include "model/observed.h"
#include "model/software.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *const some_labels[] = {"a", "b"};
static const char *const other_labels[] = {"b", "a"};
static const char *const joined_labels[] = {"ab"};

static void test_name(void **state)
{
    (void)state;
    static const struct {
        struct software_item item;
        const char *expected;
    } cases[] = {
        {{.display_name = "Firefox", .url = "https://example.com/a.pkg"}, "Firefox"},
        {{.display_name = "", .url = "https://example.com/a%20b.pkg?x"}, "a b.pkg"},
        {{.url = "https://example.com/", .package_file = "lib/firefox.yml"}, "firefox.yml"},
        {{.url = "https://u:s3cret@example.com/?t=s3cret"}, "https://***@example.com/?…"},
        {{.package_file = "lib/firefox.yml", .sha256 = "abc"}, "firefox.yml"},
        {{.sha256 = "0123456789abcdef"}, "sha256 0123456789ab"},
        {{.package_file = ""}, "sha256 (none)"},
        {{.kind = SOFTWARE_SCRIPT_PACKAGE, .script = {.path = "lib/a/setup.sh"}}, "setup.sh"},
        {{.kind = SOFTWARE_MAINTAINED_APP, .slug = "slack/darwin"}, "slack/darwin"},
        {{.kind = SOFTWARE_MAINTAINED_APP}, "(no slug)"},
        {{.kind = SOFTWARE_APP_STORE_APP, .app_store_id = "1234"}, "App Store 1234"},
        {{.kind = SOFTWARE_APP_STORE_APP, .app_store_id = "1234", .platform = "ios"}, "App Store 1234/ios"},
        {{.kind = SOFTWARE_APP_STORE_APP}, "App Store (no id)"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char out[128];
        assert_string_equal(software_name(&cases[i].item, out, sizeof out), cases[i].expected);
    }
    const struct software_item long_name = {.display_name = "äöüäöüäöüäöü"};
    for (size_t size = 1; size < 30; size++) {
        char out[32];
        memset(out, 'x', sizeof out);
        software_name(&long_name, out, size);
        assert_true(strnlen(out, size) < size);
        assert_true(text_is_utf8(out, strlen(out), NULL));
        assert_int_equal(out[size], 'x');
    }
}

static void test_key(void **state)
{
    (void)state;
    static const struct {
        struct software_item item;
        const char *expected;
    } cases[] = {
        {{.url = "https://example.com/a", .sha256 = "abc"}, "package: https://example.com/a"},
        {{.url = "https://u:pass@example.com/a?sig=x"},
         "package:56fb34051aa2f1c523ee9f07d00bd6046de5ff1425c264f1541724bda0995413 "
         "https://***@example.com/a?…"},
        {{.sha256 = "abc"}, "digest:abc"},
        {{.kind = SOFTWARE_SCRIPT_PACKAGE, .script = {.path = "lib/a.sh"}}, "script:lib/a.sh"},
        {{.kind = SOFTWARE_MAINTAINED_APP, .slug = "slack/darwin"}, "maintained:slack/darwin"},
        {{.kind = SOFTWARE_APP_STORE_APP, .app_store_id = "12", .platform = "ios"}, "store:12/ios"},
        {{.kind = SOFTWARE_APP_STORE_APP, .app_store_id = "12"}, "store:12/"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct err e;
        err_init(&e);
        char out[256];
        assert_int_equal(software_key(&cases[i].item, out, sizeof out, &e), 0);
        assert_string_equal(out, cases[i].expected);
        assert_int_equal(software_key(&cases[i].item, out, strlen(cases[i].expected) + 1, &e), 0);
        assert_int_equal(software_key(&cases[i].item, out, strlen(cases[i].expected), &e), -1);
        assert_int_equal(e.class, ERR_MEMORY);
    }
}

#define SCRIPT(text_)                                                                                        \
    {                                                                                                        \
        .path = "x.sh", .text = (text_), .length = sizeof(text_) - 1                                         \
    }
#define LIST(items_)                                                                                         \
    {                                                                                                        \
        .is_set = true, .count = ARRAY_LENGTH(items_), .items = (items_)                                     \
    }

/* Each of these wishes differs from each other. */
static const struct software_item wishes[] = {
    {.url = "https://example.com/a"},
    {.url = "https://example.com/b"},
    {.url = NULL},
    {.url = ""},
    {.kind = SOFTWARE_MAINTAINED_APP},
    {.sha256 = "https://example.com/a"}, /* the same text in another field */
    {.slug = "https://example.com/a"},
    {.version = "1"},
    {.app_store_id = "1"},
    {.platform = "1"},
    {.auto_update_enabled = TRISTATE_FALSE},
    {.auto_update_enabled = TRISTATE_TRUE},
    {.auto_update_window_start = "1"},
    {.auto_update_window_end = "1"},
    {.install_script = SCRIPT("a")},
    {.install_script = SCRIPT("")},
    {.uninstall_script = SCRIPT("a")},
    {.post_install_script = SCRIPT("a")},
    {.pre_install_query = SCRIPT("a")},
    {.icon = SCRIPT("a")},
    {.configuration = SCRIPT("a")},
    {.self_service = true},
    {.label_mode = LABELS_INCLUDE_ANY, .labels = LIST(some_labels)},
    {.label_mode = LABELS_EXCLUDE_ANY, .labels = LIST(some_labels)},
    {.label_mode = LABELS_INCLUDE_ANY, .labels = LIST(joined_labels)},
    {.label_mode = LABELS_INCLUDE_ANY, .labels = LIST(other_labels)},
    {.labels = {.is_set = true}},
    {.categories = LIST(some_labels)},
    {.categories = {.is_set = true}},
    {.setup_experience = TRISTATE_FALSE},
    {.setup_experience = TRISTATE_TRUE},
    {.setup_experience_platforms = LIST(some_labels)},
    {.display_name = "1"},
    {.display_name = ""},
    {.install_script = SCRIPT("a"), .uninstall_script = SCRIPT("b")},
    {.install_script = SCRIPT("ab")},
};

static void test_fingerprint_tells_wishes_apart(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    char prints[ARRAY_LENGTH(wishes)][DIGEST_HEX_BYTES];
    for (size_t i = 0; i < ARRAY_LENGTH(wishes); i++) {
        assert_int_equal(software_fingerprint(&wishes[i], prints[i], &e), 0);
        assert_true(digest_is_hex(prints[i]));
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(prints[i], prints[k]);
    }
}

static void test_fingerprint_ignores_places(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    const struct software_item here = {
        .place = {.file = "teams/a.yml", .line = 3, .column = 5},
        .package_file = "lib/a.yml",
        .url = "https://example.com/a",
        .install_script = {.path = "lib/a.sh", .text = "echo", .length = 4},
    };
    struct software_item there = here;
    there.place = (struct place){.file = "teams/b.yml", .line = 7};
    there.package_file = "lib/b.yml";
    there.install_script.path = "lib/b.sh";
    there.backup_urls = (struct string_list)LIST(some_labels);
    there.always_download = true;
    char left[DIGEST_HEX_BYTES], right[DIGEST_HEX_BYTES];
    assert_int_equal(software_fingerprint(&here, left, &e), 0);
    assert_int_equal(software_fingerprint(&there, right, &e), 0);
    assert_string_equal(left, right);
}

static void test_row_fingerprint(void **state)
{
    (void)state;
    static const struct observed_title rows[] = {
        {.title_id = 1, .name = "a"},
        {.title_id = 2, .name = "a"},
        {.title_id = 1, .name = "b"},
        {.title_id = 1, .source = "a"},
        {.title_id = 1, .name = "a", .kind = SOFTWARE_APP_STORE_APP},
        {.title_id = 1, .name = "a", .version = "1"},
        {.title_id = 1, .name = "a", .platform = "1"},
        {.title_id = 1, .name = "a", .file_name = "1"},
        {.title_id = 1, .name = "a", .sha256 = "1"},
        {.title_id = 1, .name = "a", .url = "1"},
        {.title_id = 1, .name = "a", .url = ""},
        {.title_id = 1, .name = "a", .self_service = true},
        {.title_id = 1, .name = "a", .maintained_app_id = 1},
        {.title_id = 1, .name = "a", .app_store_id = "1"},
        {.title_id = 1, .name = "a", .policies = LIST(some_labels)},
        {.title_id = 1, .name = "a", .policies = LIST(joined_labels)},
    };
    struct err e;
    err_init(&e);
    char prints[ARRAY_LENGTH(rows)][DIGEST_HEX_BYTES];
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        assert_int_equal(observed_row_fingerprint(&rows[i], prints[i], &e), 0);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(prints[i], prints[k]);
    }
    struct observed_title with_details = rows[0];
    with_details.has_details = true;
    with_details.display_name = "not in the list";
    char print[DIGEST_HEX_BYTES];
    assert_int_equal(observed_row_fingerprint(&with_details, print, &e), 0);
    assert_string_equal(print, prints[0]);
}

static void test_field_names(void **state)
{
    (void)state;
    for (int i = 0; i < SOFTWARE_FIELD_COUNT; i++)
        assert_string_not_equal(software_field_name((enum software_field)(1 << i)), "unknown field");
    assert_int_equal(FIELD_VERSION, 1 << (SOFTWARE_FIELD_COUNT - 1));
    assert_string_equal(software_field_name((enum software_field)(1 << SOFTWARE_FIELD_COUNT)),
                        "unknown field");
    assert_string_equal(software_field_name(FIELD_BYTES), "package");
    assert_string_equal(software_field_name(FIELD_SETUP_EXPERIENCE), "setup_experience");
    char out[256];
    assert_string_equal(software_fields_text(0, out, sizeof out), "");
    assert_string_equal(software_fields_text(FIELD_LABELS | FIELD_INSTALL_SCRIPT, out, sizeof out),
                        "install_script, labels");
    char small[8];
    software_fields_text(~0U, small, sizeof small);
    assert_true(strnlen(small, sizeof small) < sizeof small);
    assert_string_equal(label_mode_name(LABELS_NONE), "");
    assert_string_equal(label_mode_name(LABELS_EXCLUDE_ANY), "labels_exclude_any");
    assert_string_equal(software_kind_name(SOFTWARE_APP_STORE_APP), "App Store app");
}

static void test_without_memory(void **state)
{
    (void)state;
    struct err e;
    char hex[DIGEST_HEX_BYTES];
    err_init(&e);
    failing_alloc_start(1, true);
    int wish = software_fingerprint(&wishes[0], hex, &e);
    failing_alloc_stop();
    assert_int_equal(wish, -1);
    assert_int_equal(e.class, ERR_MEMORY);
    const struct observed_title title = {.title_id = 1};
    err_init(&e);
    failing_alloc_start(1, true);
    int row = observed_row_fingerprint(&title, hex, &e);
    failing_alloc_stop();
    assert_int_equal(row, -1);
    assert_int_equal(e.class, ERR_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_name),
        cmocka_unit_test(test_key),
        cmocka_unit_test(test_fingerprint_tells_wishes_apart),
        cmocka_unit_test(test_fingerprint_ignores_places),
        cmocka_unit_test(test_row_fingerprint),
        cmocka_unit_test(test_field_names),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests_name("software", tests, NULL, NULL);
}
