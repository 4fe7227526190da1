/* What CI systems and editors read: GitHub's workflow commands, SARIF, GitLab's Code Quality; and the
 * settings as they hold. */
#include "base/text.h"
#include "failing_alloc.h"
#include "report/report.h"
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TEXT_BYTES = 1024 * 1024, MANY = 30 };

static struct err e;
static const struct report_style style = {.tender_version = "1.2.3"};

/* jansson's allocations are made from here, so that failing_alloc.h counts them. */
static void *counted_malloc(size_t size)
{
    return malloc(size);
}

static const struct place related[] = {{.file = "teams/b b.yml", .line = 4},
                                       {.file = "teams/c.yml", .line = 9}};
static struct diagnostic some[] = {
    {.rule = RULE_EMPTY_LABELS,
     .severity = DIAGNOSTIC_WARNING,
     .place = {.file = "teams/a.yml", .line = 3, .column = 5},
     .text = "100 % odd: a, b\r\nand more",
     .trail = "used by b, c",
     .related = related,
     .related_count = ARRAY_LENGTH(related),
     .advice = "mend it"},
    {.rule = RULE_URL,
     .severity = DIAGNOSTIC_ERROR,
     .place = {.file = "teams/a: b, 50%é.yml", .line = 7},
     .text = "bad\x1b[31m\xe2\x80\xae",
     .excerpt = "  url: x"},
    {.rule = RULE_UNKNOWN_SETTING,
     .severity = DIAGNOSTIC_ERROR,
     .place = {.file = "tender.yml"},
     .text = "unknown setting"},
    {.rule = RULE_TEAM_PATTERN, .severity = DIAGNOSTIC_ERROR, .text = "no team's name matches \"x\""},
};

static struct desired desired_of(struct diagnostic *diagnostics, size_t count)
{
    struct desired desired = {.revision = "0123", .diagnostics = diagnostics, .diagnostic_count = count};
    for (size_t i = 0; i < count; i++)
        desired.error_count += diagnostics[i].severity == DIAGNOSTIC_ERROR;
    return desired;
}

static void write_as(const char *format, const struct desired *desired, struct buf *out)
{
    err_init(&e);
    *out = BUF_INIT(TEXT_BYTES);
    if (report_writer_find(format)->diagnostics(desired, &style, out, &e) < 0)
        fail_msg("%s", e.text);
}

static const json_t *at(const json_t *value, const char *path)
{
    while (*path != '\0' && value != NULL) {
        char part[64];
        size_t length = strcspn(path, "/");
        snprintf(part, sizeof part, "%.*s", (int)length, path);
        value =
            json_is_array(value) ? json_array_get(value, (size_t)atoi(part)) : json_object_get(value, part);
        path += length + (path[length] == '/');
    }
    assert_non_null(value);
    return value;
}

static const char *text_at(const json_t *value, const char *path)
{
    return json_string_value(at(value, path));
}

static void test_github(void **state)
{
    (void)state;
    const struct desired desired = desired_of(some, ARRAY_LENGTH(some));
    struct buf out;
    write_as("github", &desired, &out);
    assert_string_equal(buf_text(&out),
                        "::error file=teams/a%3A b%2C 50%25é.yml,line=7,title=url::bad?[31m?\n"
                        "::error file=tender.yml,title=unknown-setting::unknown setting\n"
                        "::error title=team-pattern::no team's name matches \"x\"\n"
                        "::warning file=teams/a.yml,line=3,col=5,title=empty-labels::100 %25 odd: a, "
                        "b%0D%0Aand more%0Aused by b, c%0Amend it\n");
    buf_done(&out);
    const struct desired none = desired_of(some, 0);
    write_as("github", &none, &out);
    assert_string_equal(buf_text(&out), "");
    buf_done(&out);
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *found = strstr(text, part); found != NULL; found = strstr(found + 1, part))
        count++;
    return count;
}

/* GitHub shows ten of each kind in a step: errors first, and the others are counted. */
static void test_github_limit(void **state)
{
    (void)state;
    static struct diagnostic many[MANY];
    struct buf out;
    for (size_t i = 0; i < MANY; i++)
        many[i] =
            (struct diagnostic){.severity = i < 18 ? DIAGNOSTIC_WARNING : DIAGNOSTIC_ERROR, .text = "x"};
    const struct desired desired = desired_of(many, MANY); /* 18 warnings, then 12 errors */
    write_as("github", &desired, &out);
    assert_int_equal(count_of(buf_text(&out), "::error "), 10);
    assert_int_equal(count_of(buf_text(&out), "::warning "), 10);
    assert_true(strstr(buf_text(&out), "::error ") < strstr(buf_text(&out), "::warning "));
    assert_true(text_ends_with(buf_text(&out),
                               "\n::notice title=tender validate::Not shown, for GitHub shows ten "
                               "of a kind: 2 errors and 8 warnings\n"));
    assert_int_equal(count_of(buf_text(&out), "\n"), 21);
    buf_done(&out);
    const struct desired errors = desired_of(many + 18, 11);
    write_as("github", &errors, &out);
    assert_true(text_ends_with(buf_text(&out), "of a kind: 1 error\n"));
    buf_done(&out);
    const struct desired ten = desired_of(many + 18, 10);
    write_as("github", &ten, &out);
    assert_int_equal(count_of(buf_text(&out), "\n"), 10);
    buf_done(&out);
}

static void test_sarif(void **state)
{
    (void)state;
    const struct desired desired = desired_of(some, ARRAY_LENGTH(some));
    struct buf out;
    write_as("sarif", &desired, &out);
    json_t *document = json_loads(buf_text(&out), JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(document);
    assert_string_equal(text_at(document, "version"), "2.1.0");
    assert_string_equal(text_at(document, "runs/0/tool/driver/name"), "tender");
    assert_string_equal(text_at(document, "runs/0/tool/driver/version"), "1.2.3");
    const json_t *results = at(document, "runs/0/results");
    assert_int_equal(json_array_size(results), ARRAY_LENGTH(some));
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *result = json_array_get(results, i);
        size_t rule = (size_t)json_integer_value(at(result, "ruleIndex"));
        const json_t *rules = at(document, "runs/0/tool/driver/rules");
        assert_true(rule < json_array_size(rules));
        assert_string_equal(text_at(json_array_get(rules, rule), "id"), text_at(result, "ruleId"));
        assert_string_not_equal(text_at(result, "message/text"), "");
        const json_t *partial = at(result, "partialFingerprints");
        assert_int_equal(strlen(json_string_value(json_object_get(partial, "tender/v1"))), 64);
    }
    assert_string_equal(text_at(results, "0/level"), "warning");
    assert_string_equal(text_at(results, "0/relatedLocations/0/physicalLocation/artifactLocation/uri"),
                        "teams/b%20b.yml");
    assert_int_equal(
        json_integer_value(at(results, "0/relatedLocations/1/physicalLocation/region/startLine")), 9);
    assert_null(json_object_get(at(results, "1"), "relatedLocations"));
    assert_string_equal(text_at(results, "0/message/text"),
                        "100 % odd: a, b\r\nand more\nused by b, c\nmend it");
    assert_int_equal(json_integer_value(at(results, "0/locations/0/physicalLocation/region/startColumn")), 5);
    assert_string_equal(text_at(results, "1/locations/0/physicalLocation/artifactLocation/uri"),
                        "teams/a%3A%20b%2C%2050%25%C3%A9.yml");
    assert_string_equal(text_at(results, "1/locations/0/physicalLocation/region/snippet/text"), "  url: x");
    assert_string_equal(text_at(results, "2/ruleId"), "unknown-setting");
    assert_null(json_object_get(at(results, "2/locations/0/physicalLocation"), "region"));
    assert_string_equal(text_at(results, "3/locations/0/physicalLocation/artifactLocation/uri"), ".");
    json_decref(document);
    buf_done(&out);
}

static void test_gitlab(void **state)
{
    (void)state;
    const struct desired desired = desired_of(some, ARRAY_LENGTH(some));
    struct buf out;
    write_as("gitlab", &desired, &out);
    json_t *document = json_loads(buf_text(&out), JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(document);
    assert_int_equal(json_array_size(document), ARRAY_LENGTH(some));
    assert_string_equal(text_at(document, "0/severity"), "minor");
    assert_string_equal(text_at(document, "0/description"),
                        "100 % odd: a, b\r\nand more (used by b, c) (mend it)");
    assert_string_equal(text_at(document, "1/severity"), "major");
    assert_string_equal(text_at(document, "1/check_name"), "url");
    assert_string_equal(text_at(document, "1/location/path"), "teams/a: b, 50%é.yml");
    assert_int_equal(json_integer_value(at(document, "1/location/lines/begin")), 7);
    assert_int_equal(json_integer_value(at(document, "2/location/lines/begin")), 1);
    assert_string_equal(text_at(document, "3/location/path"), ".");
    json_decref(document);
    buf_done(&out);
    const struct desired none = desired_of(some, 0);
    write_as("gitlab", &none, &out);
    assert_string_equal(buf_text(&out), "[]\n");
    buf_done(&out);
}

static json_t *fingerprints_of(struct diagnostic *diagnostics, size_t count)
{
    const struct desired desired = desired_of(diagnostics, count);
    struct buf out;
    write_as("gitlab", &desired, &out);
    json_t *document = json_loads(buf_text(&out), 0, NULL);
    buf_done(&out);
    json_t *all = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append(all, json_object_get(json_array_get(document, i), "fingerprint"));
    json_decref(document);
    return all;
}

/* The same where lines were added above; another for each finding, also for those that say the same. */
static void test_fingerprints(void **state)
{
    (void)state;
    struct diagnostic twice[] = {some[1], some[1], some[1], some[0]};
    json_t *before = fingerprints_of(twice, ARRAY_LENGTH(twice));
    for (size_t i = 0; i < ARRAY_LENGTH(twice); i++) {
        assert_int_equal(strlen(json_string_value(json_array_get(before, i))), 64);
        for (size_t k = 0; k < i; k++)
            assert_false(json_equal(json_array_get(before, i), json_array_get(before, k)));
    }
    for (size_t i = 0; i < ARRAY_LENGTH(twice); i++)
        twice[i].place.line += 10;
    json_t *after = fingerprints_of(twice, ARRAY_LENGTH(twice));
    assert_true(json_equal(before, after));
    twice[3].text = "another";
    json_t *other = fingerprints_of(twice, ARRAY_LENGTH(twice));
    assert_false(json_equal(json_array_get(before, 3), json_array_get(other, 3)));
    assert_true(json_equal(json_array_get(before, 2), json_array_get(other, 2)));
    json_decref(before);
    json_decref(after);
    json_decref(other);
}

/* A message may name other lines: these move as well. All other numbers count. */
static void test_fingerprints_of_lines(void **state)
{
    (void)state;
    static const struct {
        const char *one, *other;
        bool is_same;
    } cases[] = {
        {"\"a\" stands there twice: in line 4 too", "\"a\" stands there twice: in line 14 too", true},
        {"the quote ends in line 5 only", "the quote ends in line 6 only", true},
        {"\"A\" is in teams/a.yml:1 too", "\"A\" is in teams/a.yml:21 too", true},
        {"the key (line 4), which has its value", "the key (line 99), which has its value", true},
        {"\"A\" is in teams/a.yml:1 too", "\"A\" is in teams/b.yml:1 too", false},
        {"at most 10 are allowed", "at most 20 are allowed", false},
        {"\"7zip\"", "\"8zip\"", false},
        {"in line 4", "in line", false},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct diagnostic one = some[1], other = some[1];
        one.text = cases[i].one;
        other.text = cases[i].other;
        json_t *first = fingerprints_of(&one, 1), *second = fingerprints_of(&other, 1);
        if (json_equal(first, second) != cases[i].is_same)
            fail_msg("case %zu: %s", i, cases[i].one);
        json_decref(first);
        json_decref(second);
    }
}

static struct settings full_settings(void)
{
    static struct source_rule source = {.prefix = "https://p.example/",
                                        .header = "Authorization: s3cret",
                                        .username = "s3cret",
                                        .password = "s3cret"};
    static const char *const urls[] = {"https://u:s3cret@m.example/a?s3cret"};
    static const struct mirror_rule mirror = {.prefix = "https://u:s3cret@p.example/", {true, 1, urls}};
    static const struct backup_rule backups[] = {
        {.package_file = "lib/a.yml", .urls = {true, 1, urls}},
        {.url = "https://p.example/a?s3cret", .urls = {true, 1, urls}}};
    static const struct guard_rule guard = {.team = "A*", .prune = TRISTATE_TRUE, .max_removals = 3};
    struct settings settings;
    assert_int_equal(settings_init(&settings, &e), 0);
    source.retry = settings.retry;
    source.retry.rounds = 99;
    settings.fleet_token = "s3cret";
    settings.fleet_url = "https://u:s3cret@f.example";
    settings.allowed_sources = (struct string_list){true, 1, urls};
    settings.sources = &source;
    settings.source_count = 1;
    settings.mirrors = &mirror;
    settings.mirror_count = 1;
    settings.backups = backups;
    settings.backup_count = 2;
    settings.guards = &guard;
    settings.guard_count = 1;
    settings.origins[settings_find("parallel") - settings_table] =
        (struct setting_origin){.kind = ORIGIN_FILE, .line = 4};
    settings.origins[settings_find("fleet-token") - settings_table].kind = ORIGIN_ENVIRONMENT;
    settings.origins[settings_find("prune") - settings_table].kind = ORIGIN_FLAG;
    return settings;
}

static const json_t *setting_named(const json_t *document, const char *name)
{
    const json_t *settings = at(document, "settings");
    for (size_t i = 0; i < json_array_size(settings); i++)
        if (text_equal(text_at(json_array_get(settings, i), "name"), name))
            return json_array_get(settings, i);
    fail_msg("no setting %s", name);
    return NULL;
}

static void test_json_settings(void **state)
{
    (void)state;
    err_init(&e);
    const struct settings settings = full_settings();
    struct buf out = BUF_INIT(TEXT_BYTES);
    assert_int_equal(report_writer_find("json")->settings(&settings, &style, &out, &e), 0);
    assert_null(strstr(buf_text(&out), "s3cret"));
    json_t *document = json_loads(buf_text(&out), JSON_REJECT_DUPLICATES, NULL);
    assert_int_equal(json_array_size(at(document, "settings")), settings_count);
    assert_string_equal(text_at(setting_named(document, "parallel"), "origin"), "tender.yml:4");
    assert_string_equal(text_at(setting_named(document, "parallel"), "source"), "tender.yml");
    assert_string_equal(text_at(setting_named(document, "fleet-token"), "value"), "***");
    assert_string_equal(text_at(setting_named(document, "fleet-token"), "origin"), "FLEET_API_TOKEN");
    assert_string_equal(text_at(setting_named(document, "prune"), "origin"), "--prune");
    assert_string_equal(text_at(setting_named(document, "retry-jitter"), "source"), "default");
    assert_true(json_is_null(at(setting_named(document, "team"), "value")));
    assert_string_equal(text_at(setting_named(document, "allowed-source"), "value/0"),
                        "https://***@m.example/a?…");
    assert_string_equal(text_at(document, "sources/0/retry-attempts"), "99");
    assert_string_equal(text_at(document, "mirrors/0/replacements/0"), "https://***@m.example/a?…");
    assert_string_equal(text_at(document, "backup_urls/0/package_file"), "lib/a.yml");
    assert_true(json_is_true(at(document, "guards/0/prune")));
    json_decref(document);
    buf_done(&out);
}

static void test_text_settings(void **state)
{
    (void)state;
    err_init(&e);
    const struct settings settings = full_settings();
    struct buf out = BUF_INIT(TEXT_BYTES);
    assert_int_equal(report_writer_find("text")->settings(&settings, &style, &out, &e), 0);
    assert_null(strstr(buf_text(&out), "s3cret"));
    static const char *const wanted[] = {
        "parallel            8                               tender.yml:4\n",
        "fleet-token         ***                             FLEET_API_TOKEN\n",
        "\nsource https://p.example/\n    header: ***\n    username: ***\n    password: ***\n",
        "    retry-attempts: 99\n",
        "\nmirrors of https://***@p.example/\n    https://***@m.example/a?…\n",
        "\nbackup URLs of lib/a.yml\n",
        "\nguard for A*\n    prune: true\n    allow-empty: false\n    max-removals: 3\n",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(wanted); i++)
        if (strstr(buf_text(&out), wanted[i]) == NULL)
            fail_msg("%s\nis not in\n%s", wanted[i], buf_text(&out));
    buf_done(&out);
}

static void test_formats(void **state)
{
    (void)state;
    static const struct {
        const char *format;
        enum report_document document;
        bool is_fine;
    } cases[] = {{"text", REPORT_RUN, true},           {"json", REPORT_SHOW, true},
                 {"json", REPORT_SETTINGS, true},      {"sarif", REPORT_DIAGNOSTICS, true},
                 {"gitlab", REPORT_DIAGNOSTICS, true}, {"github", REPORT_NOTHING, true},
                 {"github", REPORT_RUN, false},        {"sarif", REPORT_SHOW, false},
                 {"gitlab", REPORT_SETTINGS, false},   {"xml", REPORT_DIAGNOSTICS, false}};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        err_init(&e);
        int result = report_writer_check(cases[i].format, cases[i].document, &e);
        assert_int_equal(result, cases[i].is_fine ? 0 : -1);
        assert_true(cases[i].is_fine || e.class == ERR_USAGE);
    }
    assert_string_equal(e.text, "--format xml: this command writes text, json, github, sarif, gitlab");
}

/* Every allocation fails once, and every buffer is too small once. */
static void test_no_memory(void **state)
{
    (void)state;
    struct diagnostic twice[] = {some[1], some[1], some[0]};
    const struct desired desired = desired_of(twice, ARRAY_LENGTH(twice));
    const struct settings settings = full_settings();
    for (size_t w = 0; report_writers[w] != NULL; w++)
        for (int what = 0; what < 2; what++) {
            const struct report_writer *writer = report_writers[w];
            if (what == 1 && writer->settings == NULL)
                continue;
            long needed = 0;
            for (long nth = 0; nth <= needed; nth++) {
                struct buf out = BUF_INIT(TEXT_BYTES);
                err_init(&e);
                failing_alloc_start(nth, false);
                int result = what == 0 ? writer->diagnostics(&desired, &style, &out, &e)
                                       : writer->settings(&settings, &style, &out, &e);
                long asked = failing_alloc_stop();
                needed = nth == 0 ? asked : needed;
                if (result != (nth == 0 ? 0 : -1))
                    fail_msg("%s %d: %ld of %ld", writer->name, what, nth, needed);
                buf_done(&out);
            }
            struct buf small = BUF_INIT(20);
            err_init(&e);
            assert_int_equal(what == 0 ? writer->diagnostics(&desired, &style, &small, &e)
                                       : writer->settings(&settings, &style, &small, &e),
                             -1);
            assert_int_equal(e.class, ERR_MEMORY);
            buf_done(&small);
        }
}

int main(void)
{
    json_set_alloc_funcs(counted_malloc, free);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_github),        cmocka_unit_test(test_github_limit),
        cmocka_unit_test(test_sarif),         cmocka_unit_test(test_gitlab),
        cmocka_unit_test(test_fingerprints),  cmocka_unit_test(test_fingerprints_of_lines),
        cmocka_unit_test(test_json_settings), cmocka_unit_test(test_text_settings),
        cmocka_unit_test(test_formats),       cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("report_ci", tests, NULL, NULL);
}
