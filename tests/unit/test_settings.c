/* model/settings.h: the table is consistent, values are taken strictly, secrets are never shown. */
#include "../../cmd/tender/options.h"
#include "base/files.h"
#include "base/text.h"
#include "failing_alloc.h"
#include "model/settings.h"
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { HELP_COLUMN = 34, HELP_WIDTH = 130 };

static void test_table_names(void **state)
{
    (void)state;
    assert_true(settings_count > 40);
    assert_true(settings_count <= OPTIONS_MOST_SETTINGS);
    for (size_t i = 0; i < settings_count; i++) {
        const struct setting *setting = &settings_table[i];
        for (const char *at = setting->name; *at != '\0'; at++)
            assert_true(islower((unsigned char)*at) || (*at == '-' && at > setting->name));
        for (const char *at = setting->environment; *at != '\0'; at++)
            assert_true(isupper((unsigned char)*at) || *at == '_');
        assert_true(text_starts_with(setting->environment, "TENDER_") ||
                    text_equal(setting->environment, "FLEET_URL") ||
                    text_equal(setting->environment, "FLEET_API_TOKEN"));
        assert_ptr_equal(settings_find(setting->name), setting);
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(setting->name, settings_table[k].name);
            assert_string_not_equal(setting->environment, settings_table[k].environment);
            assert_int_not_equal(setting->offset, settings_table[k].offset);
            assert_true(setting->letter == 0 || setting->letter != settings_table[k].letter);
        }
    }
}

static void test_table_texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < settings_count; i++) {
        const struct setting *setting = &settings_table[i];
        assert_false(text_is_empty(setting->help));
        assert_true(text_is_utf8(setting->help, strlen(setting->help), NULL));
        assert_int_not_equal(setting->help[strlen(setting->help) - 1], '.');
        assert_true(strlen(setting->help) + HELP_COLUMN <= HELP_WIDTH);
        assert_int_equal(setting->value_name == NULL, setting->type == SETTING_SWITCH);
        assert_int_not_equal(setting->commands, 0);
        if (setting->type == SETTING_SECRET)
            assert_false(setting->in_file); /* a secret does not belong into the repository */
        bool has_range = setting->type == SETTING_NUMBER || setting->type == SETTING_FACTOR ||
                         setting->type == SETTING_DURATION || setting->type == SETTING_SIZE;
        if (has_range)
            assert_true(setting->least >= 0 && setting->least < setting->most);
        if (has_range || setting->type == SETTING_STRATEGY || setting->type == SETTING_JITTER ||
            setting->type == SETTING_SWITCH)
            assert_non_null(setting->default_text);
    }
}

static void test_defaults(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    struct settings settings;
    assert_int_equal(settings_init(&settings, &e), 0);
    /* The design's defaults. */
    assert_int_equal(settings.retry.rounds, 8);
    assert_int_equal(settings.retry.initial_ms, 2000);
    assert_true(settings.retry.factor == 2);
    assert_int_equal(settings.retry.max_delay_ms, 60000);
    assert_int_equal(settings.retry.strategy, RETRY_EXPONENTIAL);
    assert_int_equal(settings.retry.jitter, RETRY_JITTER_FULL);
    assert_int_equal(settings.retry.retry_after_max_ms, 600000);
    assert_int_equal(settings.limits.parallel, 8);
    assert_int_equal(settings.limits.parallel_per_host, 4);
    assert_int_equal(settings.limits.connect_timeout_ms, 15000);
    assert_int_equal(settings.limits.stall_bytes_per_s, 1024);
    assert_int_equal(settings.limits.stall_ms, 60000);
    assert_int_equal(settings.limits.item_timeout_ms, 30 * 60000);
    assert_int_equal(settings.limits.max_requests_per_item, 1000);
    assert_int_equal(settings.limits.shutdown_grace_ms, 20000);
    assert_int_equal(settings.max_removals, 10);
    assert_int_equal(settings.max_removals_run, 25);
    assert_false(settings.prune);
    assert_false(settings.create_teams);
    assert_false(settings.allow_empty);
    assert_string_equal(settings.subdir, "");
    assert_null(settings.fleet_token);
}

/* What settings_text() says is taken by settings_set() again, and means the same. */
static void test_text_comes_back(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(1 << 20);
    struct settings settings;
    assert_int_equal(settings_init(&settings, &e), 0);
    for (size_t i = 0; i < settings_count; i++) {
        const struct setting *setting = &settings_table[i];
        char text[256], again[256];
        settings_text(&settings, setting, text, sizeof text);
        if (text[0] == '\0' || setting->type == SETTING_LIST)
            continue;
        assert_int_equal(settings_set(&settings, setting, text, "test", arena, &e), 0);
        assert_string_equal(settings_text(&settings, setting, again, sizeof again), text);
    }
    const struct setting *factor = settings_find("retry-factor");
    char text[64];
    assert_int_equal(settings_set(&settings, factor, "1.2345678", "test", arena, &e), 0);
    assert_string_equal(settings_text(&settings, factor, text, sizeof text), "1.2345678");
}

static void test_long_list(void **state)
{
    (void)state;
    struct err e;
    struct settings settings;
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(64 * 1024 * 1024);
    err_init(&e);
    assert_int_equal(settings_init(&settings, &e), 0);
    for (int i = 0; i < SETTINGS_LIST_MOST; i++)
        assert_int_equal(settings_set(&settings, settings_find("team"), "A", "--team", arena, &e), 0);
    assert_int_equal(settings_set(&settings, settings_find("team"), "A", "--team", arena, &e), -1);
    assert_string_equal(e.text, "--team: a list has at most 2000 items");
    assert_int_equal(settings.teams.count, SETTINGS_LIST_MOST);
}

static void test_values(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
        int64_t expected; /* -1: refused */
    } cases[] = {
        {"parallel", "1", 1},
        {"parallel", "64", 64},
        {"parallel", "0", -1},
        {"parallel", "65", -1},
        {"parallel", "-1", -1},
        {"parallel", "+8", -1},
        {"parallel", "8.0", -1},
        {"parallel", "8x", -1},
        {"parallel", " 8", -1},
        {"parallel", "", -1},
        {"parallel", "nan", -1},
        {"parallel", "inf", -1},
        {"parallel", "1e1", -1},
        {"parallel", "0x10", -1},
        {"parallel", "8,5", -1},
        {"parallel", "99999999999999999999", -1},
        {"max-removals", "0", 0},
        {"max-removals", "-0", -1},
        {"retry-initial", "2", 2000},
        {"retry-initial", "2s", 2000},
        {"retry-initial", "2 s", 2000},
        {"retry-initial", "0.5s", 500},
        {"retry-initial", "1.5min", 90000},
        {"retry-initial", "500ms", 500},
        {"retry-initial", "1h", 3600000},
        {"retry-initial", "1d", 86400000},
        {"retry-initial", "25h", -1},
        {"retry-initial", "0", 0},
        {"retry-initial", "2 weeks", -1},
        {"retry-initial", ".5s", -1},
        {"retry-initial", "5.s", -1},
        {"retry-initial", "1e3", -1},
        {"retry-initial", "nan", -1},
        {"retry-initial", "infinity", -1},
        {"retry-initial", "-2s", -1},
        {"retry-initial", "2ss", -1},
        {"retry-initial", "99999999999999999999999999999999999999999999999999999999999999999999s", -1},
        {"max-package-size", "10GiB", INT64_C(10) << 30},
        {"max-package-size", "500kB", 500000},
        {"max-package-size", "64MiB", 64 << 20},
        {"max-package-size", "64mib", 64 << 20},
        {"max-package-size", "1.5K", 1536},
        {"max-package-size", "1048577", 1048577},
        {"max-package-size", "9007199254740993", INT64_C(9007199254740993)}, /* no double holds it */
        {"max-package-size", "9223372036854775807", INT64_MAX},
        {"max-package-size", "9223372036854775808", -1},
        {"max-package-size", "99999999999G", -1},
        {"max-package-size", "0", -1},
        {"max-package-size", "1TiB", -1},
        {"max-package-size", "-1", -1},
        {"max-cache-size", "0", 0},
        {"interval", "1s", 1000},
        {"interval", "999ms", -1},
    };
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(1 << 20);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct err e;
        err_init(&e);
        struct settings settings;
        assert_int_equal(settings_init(&settings, &e), 0);
        const struct setting *setting = settings_find(cases[i].name);
        assert_non_null(setting);
        int64_t before, after;
        memcpy(&before, (unsigned char *)&settings + setting->offset, sizeof before);
        int result = settings_set(&settings, setting, cases[i].text, "--test", arena, &e);
        memcpy(&after, (unsigned char *)&settings + setting->offset, sizeof after);
        if (cases[i].expected < 0) {
            assert_int_equal(result, -1);
            assert_int_equal(e.class, ERR_CONFIG);
            assert_true(text_starts_with(e.text, "--test: \""));
            assert_int_equal(after, before); /* a refused value changes nothing */
        } else {
            assert_int_equal(result, 0);
            assert_int_equal(after, cases[i].expected);
        }
    }
}

static void test_words(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *expected; /* as settings_text() has it; NULL: refused */
    } cases[] = {
        {"prune", "true", "true"},
        {"prune", "YES", "true"},
        {"prune", "1", "true"},
        {"prune", "off", "false"},
        {"prune", "", NULL},
        {"prune", "2", NULL},
        {"retry-strategy", "Linear", "linear"},
        {"retry-strategy", "quadratic", NULL},
        {"retry-jitter", "none", "none"},
        {"retry-initial", "2000ms", "2s"},
        {"retry-initial", "1500ms", "1500ms"},
        {"retry-max", "60", "1min"},
        {"item-timeout", "90 min", "90min"},
        {"deadline", "0", "0"},
        {"max-document-size", "4194304", "4MiB"},
        {"max-document-size", "1500kB", "1500kB"},
        {"max-document-size", "1023", "1023B"},
        {"retry-jitter", "some", NULL},
        {"retry-factor", "1.5", "1.5"},
        {"retry-factor", "0.9", NULL},
        {"retry-factor", "101", NULL},
        {"retry-factor", "nan", NULL},
        {"retry-factor", "1e1", NULL},
        {"retry-factor", "-2", NULL},
        {"format", "json", "json"},
        {"format", "JSON", "json"}, /* compared with strcmp() elsewhere */
        {"format", "Sarif", "sarif"},
        {"format", "xml", NULL},
        {"allowed-source", "https://example.com/a", "https://example.com/a"},
        {"allowed-source", "https://u:s3cret@example.com/a/", "https://***@example.com/a/"},
        {"allowed-source", "https://example.com/a?b", NULL},
        {"allowed-source", "example.com/a", NULL},
        {"allowed-source", "ftp://example.com/", NULL},
        {"log-format", "Json", "json"},
        {"log-level", "WARNING", "warning"},
        {"log-level", "loud", NULL},
        {"color", "Never", "never"},
        {"color", "", NULL},
        {"fleet-token", "s3cret", "***"},
        {"user-agent", "a b", "a b"},
        {"repository", "https://u:s3cret@example.com/a.git?t=s3cret", "https://***@example.com/a.git?…"},
        {"repository", "u:s3cret@example.com:a.git", "***@example.com:a.git"},
        {"repository", "git@example.com:a.git", "git@example.com:a.git"},
        {"fleet-url", "https://u:s3cret@example.com", "https://***@example.com"},
    };
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(1 << 20);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct err e;
        err_init(&e);
        struct settings settings;
        assert_int_equal(settings_init(&settings, &e), 0);
        const struct setting *setting = settings_find(cases[i].name);
        int result = settings_set(&settings, setting, cases[i].text, "--test", arena, &e);
        char text[256];
        settings_text(&settings, setting, text, sizeof text);
        if (cases[i].expected == NULL) {
            assert_int_equal(result, -1);
            assert_int_equal(e.class, ERR_CONFIG);
        } else {
            assert_int_equal(result, 0);
            assert_string_equal(text, cases[i].expected);
        }
    }
}

static void test_lists(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(1 << 20);
    struct settings settings;
    assert_int_equal(settings_init(&settings, &e), 0);
    const struct setting *setting = settings_find("team");
    assert_false(settings.teams.is_set);
    char name[] = "Servers";
    assert_int_equal(settings_set(&settings, setting, name, "--team", arena, &e), 0);
    memset(name, 'x', strlen(name)); /* it was copied */
    assert_int_equal(settings_set(&settings, setting, "Work*", "--team", arena, &e), 0);
    char text[64];
    assert_string_equal(settings_text(&settings, setting, text, sizeof text), "Servers,Work*");
    assert_int_equal(settings.teams.count, 2);
    char small[6];
    assert_string_equal(settings_text(&settings, setting, small, sizeof small), "Serve");
}

static void test_find(void **state)
{
    (void)state;
    assert_string_equal(settings_find("retry_initial")->name, "retry-initial");
    assert_string_equal(settings_find("max-removals_run")->name, "max-removals-run");
    assert_null(settings_find("retry"));
    assert_null(settings_find("retry-initial-"));
    assert_null(settings_find("Retry-initial"));
    assert_null(settings_find(""));
}

static void test_source_for(void **state)
{
    (void)state;
    static const struct {
        const char *prefix, *url;
        bool matches;
    } cases[] = {
        {"https://example.com", "https://example.com/a", true},
        {"https://example.com", "https://example.com", true},
        {"https://example.com/", "https://example.com", true},
        {"https://example.com/", "https://example.com?a", true},
        {"https://example.com", "https://example.com?a", true},
        {"https://example.com", "https://example.com:443/a", true},
        {"https://example.com:443", "https://example.com/a", true},
        {"https://example.com", "https://example.com:/a", true},
        {"HTTPS://Example.com/a", "https://example.com/a/b", true},
        {"https://example.com/a", "HTTPS://EXAMPLE.COM/a/b", true},
        {"https://example.com/a", "https://example.com/a", true},
        {"https://example.com/a", "https://example.com/a?b", true},
        {"https://example.com/a", "https://example.com/a#b", true},
        {"https://example.com/a/", "https://example.com/a/b", true},
        {"https://example.com/a", "https://user:pw@example.com/a", true},
        {"https://example.com", "http://example.com/a", false},
        {"http://example.com", "https://example.com/a", false},
        {"https://example.com", "https://example.com:8443/a", false},
        {"https://example.com", "https://example.com.evil.example/a", false},
        {"https://example.com", "https://example.com@evil.example/a", false},
        {"https://example.com", "https://example.com:443@evil.example/a", false},
        {"https://example.com", "https://evil.example/https://example.com", false},
        {"https://example.com", "https://evil.example\\@example.com/a", false},
        {"https://evil.example", "https://evil.example\\@example.com/a", false},
        {"https://example.com", "https://evil.example#@example.com/a", false},
        {"https://example.com", "https://evil.example?@example.com/a", false},
        {"https://example.com", "https://example.com%2eevil.example/a", false},
        {"https://example.com", "https://sub.example.com/a", false},
        {"https://example.com/a", "https://example.com/ab", false},
        {"https://example.com/a", "https://example.com/A", false},
        {"https://example.com/a/", "https://example.com/a", false},
        {"https://example.com/a", "https://example.com/a/../b", false},
        {"https://example.com/a", "https://example.com/a/%2e%2E/b", false},
        {"https://example.com/a", "https://example.com/a/.%2e", false},
        {"https://example.com/a", "https://example.com/a/./../b", false},
        {"https://example.com/a", "https://example.com/a/..b/c", true},
        {"https://example.com/a", "https://example.com/a/...", true},
        {"https://example.com/a", "https://example.com/a/b?c=/../d", true},
        {"https", "https://example.com/a", false},
        {"", "https://example.com/a", false},
        {"example.com", "https://example.com/a", false},
        {"https://example.com", "", false},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct source_rule rule = {.prefix = cases[i].prefix};
        const struct settings settings = {.source_count = 1, .sources = &rule};
        bool matches = settings_source_for(&settings, cases[i].url) != NULL;
        if (matches != cases[i].matches)
            fail_msg("%s for %s", cases[i].prefix, cases[i].url);
    }
    struct source_rule rules[] = {
        {.prefix = "https://example.com/a"},
        {.prefix = "https://example.com/a/b"},
        {.prefix = "https://example.com"},
    };
    const struct settings settings = {.source_count = ARRAY_LENGTH(rules), .sources = rules};
    assert_ptr_equal(settings_source_for(&settings, "https://example.com/a/b/c"), &rules[1]);
    assert_ptr_equal(settings_source_for(&settings, "https://example.com/a/c"), &rules[0]);
    assert_ptr_equal(settings_source_for(&settings, "https://example.com/c"), &rules[2]);
    assert_null(settings_source_for(&settings, "https://example.org/a"));
}

static void test_mirrors(void **state)
{
    (void)state;
    static const struct {
        const char *prefix, *replacement, *url;
        const char *expected; /* NULL: none */
    } cases[] = {
        {"https://v.example/a/", "https://m.example/v/", "https://v.example/a/b.deb",
         "https://m.example/v/b.deb"},
        {"https://v.example/a", "https://m.example/v", "https://v.example/a/b.deb",
         "https://m.example/v/b.deb"},
        {"https://v.example/a", "https://m.example/v/", "https://v.example/a/b.deb",
         "https://m.example/v/b.deb"},
        {"https://v.example/a/", "https://m.example/v", "https://v.example/a/b.deb",
         "https://m.example/v/b.deb"},
        {"https://v.example", "https://m.example", "https://v.example/a/b.deb", "https://m.example/a/b.deb"},
        {"https://v.example/", "https://m.example/v/", "https://v.example/a%20b/c%2Bd?e=f%2520",
         "https://m.example/v/a%20b/c%2Bd?e=f%2520"},
        {"https://v.example", "https://m.example/v", "https://v.example?e", "https://m.example/v?e"},
        {"https://v.example/a", "https://m.example/v", "https://v.example/a", "https://m.example/v"},
        {"https://v.example/a", "https://m.example/v/", "https://v.example/a?e", "https://m.example/v/?e"},
        {"https://v.example/", "http://m.example:8080/", "HTTPS://user:pw@V.example:443/b",
         "http://m.example:8080/b"},
        {"https://v.example/a", "https://m.example/", "https://v.example/ab", NULL},
        {"https://v.example/a/", "https://m.example/", "https://v.example/a/../b", NULL},
        {"https://v.example/", "https://m.example/", "http://v.example/b", NULL},
        {"https://v.example/", "https://m.example/", "https://v.example.evil.example/b", NULL},
    };
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(1 << 20);
    struct err e;
    err_init(&e);
    struct string_list urls;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct mirror_rule rule = {cases[i].prefix, {true, 1, &cases[i].replacement}};
        const struct settings settings = {.mirror_count = 1, .mirrors = &rule};
        assert_int_equal(settings_mirrors_for(&settings, cases[i].url, arena, &urls, &e), 0);
        assert_int_equal(urls.count, cases[i].expected == NULL ? 0 : 1);
        if (cases[i].expected != NULL)
            assert_string_equal(urls.items[0], cases[i].expected);
    }
    static const char *const two[] = {"https://m.example/1/", "https://m.example/2/"};
    static const char *const other[] = {"https://m.example/3/"};
    const struct mirror_rule rules[] = {
        {"https://v.example/", {true, 1, other}},
        {"https://v.example/a/", {true, 2, two}},
    };
    const struct settings settings = {.mirror_count = 2, .mirrors = rules};
    assert_int_equal(settings_mirrors_for(&settings, "https://v.example/a/b", arena, &urls, &e), 0);
    assert_int_equal(urls.count, 2); /* the longest prefix alone, in its order */
    assert_string_equal(urls.items[0], "https://m.example/1/b");
    assert_string_equal(urls.items[1], "https://m.example/2/b");
    assert_int_equal(settings_mirrors_for(&settings, "https://v.example/b", arena, &urls, &e), 0);
    assert_int_equal(urls.count, 1);
    assert_string_equal(urls.items[0], "https://m.example/3/b");
    CLEANUP(arena_cleanup) struct arena *small = arena_new(8);
    assert_int_equal(settings_mirrors_for(&settings, "https://v.example/b", small, &urls, &e), -1);
    assert_int_equal(e.class, ERR_MEMORY);
}

static void test_allowed_sources(void **state)
{
    (void)state;
    static const char *const prefixes[] = {"https://v.example/a/", "http://w.example"};
    struct settings settings = {.allowed_sources = {.is_set = false}};
    assert_true(settings_allows_source(&settings, "https://anything.example/"));
    settings.allowed_sources = (struct string_list){true, ARRAY_LENGTH(prefixes), prefixes};
    assert_true(settings_allows_source(&settings, "https://v.example/a/b"));
    assert_true(settings_allows_source(&settings, "http://w.example/b"));
    assert_false(settings_allows_source(&settings, "https://v.example/b"));
    assert_false(settings_allows_source(&settings, "https://v.example/a/../b"));
    assert_false(settings_allows_source(&settings, "https://w.example/b"));
    settings.allowed_sources.count = 0; /* set, and empty: nothing is */
    assert_false(settings_allows_source(&settings, "https://v.example/a/b"));
}

static void test_without_memory(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    struct settings settings;
    assert_int_equal(settings_init(&settings, &e), 0);
    static const char *const names[] = {"team", "repository", "fleet-token"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        CLEANUP(arena_cleanup) struct arena *arena = arena_new(1 << 20);
        err_init(&e);
        failing_alloc_start(1, true);
        int result = settings_set(&settings, settings_find(names[i]), "text", "test", arena, &e);
        failing_alloc_stop();
        assert_int_equal(result, -1);
        assert_int_equal(e.class, ERR_MEMORY);
    }
    assert_false(settings.teams.is_set);
    assert_null(settings.repository);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_names),    cmocka_unit_test(test_table_texts),
        cmocka_unit_test(test_defaults),       cmocka_unit_test(test_text_comes_back),
        cmocka_unit_test(test_long_list),      cmocka_unit_test(test_values),
        cmocka_unit_test(test_words),          cmocka_unit_test(test_lists),
        cmocka_unit_test(test_find),           cmocka_unit_test(test_source_for),
        cmocka_unit_test(test_mirrors),        cmocka_unit_test(test_allowed_sources),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
