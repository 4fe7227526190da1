/* The JSON Schemas as documents: whole, with every key of the tables, and an error where they do not fit.
 * What they accept: tests/e2e/test_schema.py. */
#include "base/text.h"
#include "failing_alloc.h"
#include "manifest/json_schema.h"
#include "manifest/schema.h"
#include "manifest/settings_file.h"
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { SCHEMA_BYTES = 1024 * 1024 };

static struct err e;

static json_t *written(const char *name)
{
    for (size_t i = 0; json_schemas[i].name != NULL; i++) {
        if (strcmp(json_schemas[i].name, name) != 0)
            continue;
        struct buf out = BUF_INIT(SCHEMA_BYTES);
        err_init(&e);
        assert_int_equal(json_schemas[i].write(&out, &e), 0);
        json_t *document = json_loads(buf_text(&out), JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(document);
        buf_done(&out);
        return document;
    }
    fail_msg("no schema %s", name);
    return NULL;
}

/* Each key stands in the definition of each context that allows it, and nowhere else, and is explained. */
static void test_entry_keys(void **state)
{
    (void)state;
    static const struct {
        enum entry_context context;
        const char *name;
    } contexts[] = {{IN_TEAM, "ownPackage"},          {BESIDE_FILE, "besidePackageFile"},
                    {BESIDE_SCRIPT, "besideScript"},  {IN_PACKAGE_FILE, "packageFile"},
                    {IN_MAINTAINED, "maintainedApp"}, {IN_APP_STORE, "appStoreApp"}};
    json_t *document = written("team");
    const json_t *definitions = json_object_get(document, "$defs");
    for (size_t i = 0; i < ARRAY_LENGTH(contexts); i++) {
        const json_t *definition = json_object_get(definitions, contexts[i].name);
        assert_true(json_is_false(json_object_get(definition, "additionalProperties")));
        for (int key = 0; key < ENTRY_KEY_COUNT; key++) {
            const json_t *property = json_object_get(json_object_get(definition, "properties"),
                                                     schema_key_name((enum entry_key)key));
            assert_int_equal(property != NULL, schema_allows((enum entry_key)key, contexts[i].context));
            if (property != NULL)
                assert_true(json_string_length(json_object_get(property, "description")) > 10);
        }
    }
    json_decref(document);
}

static void test_settings_keys(void **state)
{
    (void)state;
    json_t *document = written("settings");
    const json_t *properties = json_object_get(document, "properties");
    size_t expected = settings_rules_count;
    for (size_t i = 0; i < settings_count; i++) {
        char key[SETTINGS_KEY_BYTES];
        settings_key_of(&settings_table[i], key);
        assert_int_equal(json_object_get(properties, key) != NULL, settings_table[i].in_file);
        expected += settings_table[i].in_file;
    }
    for (size_t i = 0; i < settings_rules_count; i++)
        assert_non_null(json_object_get(properties, settings_rules_table[i].key));
    assert_int_equal(json_object_size(properties), expected);
    json_decref(document);
}

static void test_no_memory(void **state)
{
    (void)state;
    for (size_t i = 0; json_schemas[i].name != NULL; i++) {
        for (size_t most = 0; most < 4000; most += 37) {
            struct buf out = BUF_INIT(most);
            err_init(&e);
            assert_int_equal(json_schemas[i].write(&out, &e), -1);
            assert_int_equal(e.class, ERR_MEMORY);
            buf_done(&out);
        }
        long needed = 0;
        for (long nth = 0; nth <= needed; nth++) { /* 0: none fails, they are counted */
            struct buf out = BUF_INIT(SCHEMA_BYTES);
            err_init(&e);
            failing_alloc_start(nth, false);
            int result = json_schemas[i].write(&out, &e);
            long asked = failing_alloc_stop();
            needed = nth == 0 ? asked : needed;
            assert_int_equal(result, nth == 0 ? 0 : -1);
            buf_done(&out);
        }
        assert_true(needed > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entry_keys),
        cmocka_unit_test(test_settings_keys),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("json_schema", tests, NULL, NULL);
}
