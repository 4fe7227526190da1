/* The reports: one run with every kind of outcome, as text and as JSON; the exit statuses and which of them
 * wins; what a hostile name does to a terminal. */
#include "base/text.h"
#include "failing_alloc.h"
#include "report/report.h"
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TEXT_BYTES = 1024 * 1024 };

static struct err e;

/* jansson's allocations are made from here, so that failing_alloc.h counts them. */
static void *counted_malloc(size_t size)
{
    return malloc(size);
}

static struct attempt attempts[] = {
    {.number = 1,
     .started_wall_ms = 1000,
     .duration_ms = 900,
     .url = "https://v.example/a.deb?…",
     .remote_address = "192.0.2.1",
     .bytes = 4096,
     .cause = "the connection was reset"},
    {.number = 2,
     .started_wall_ms = 4000,
     .duration_ms = 20,
     .url = "https://v.example/a.deb?…",
     .remote_address = "192.0.2.1",
     .status = 404,
     .resumed_from = 4096,
     .cause = "404 Not Found",
     .waited_ms = 2100},
};

static struct package failed_package = {.state = PACKAGE_FAILED,
                                        .file_name = "a.deb",
                                        .received_bytes = 4096,
                                        .waited_ms = 2100,
                                        .attempt_count = 2,
                                        .attempts = attempts};

#define OUTCOME(kind_, name_)                                                                                \
    .kind = (kind_), .name = (name_), .team = "Alpha", .package_file = "", .url = "", .sha256 = "",          \
    .version = "", .what = "", .kept = "", .advice = ""

static struct outcome alpha_outcomes[] = {
    {OUTCOME(OUTCOME_UNCHANGED, "same.deb")},
    {OUTCOME(OUTCOME_CREATED, "new.deb"), .uploaded_bytes = 7},
    {OUTCOME(OUTCOME_UPDATED, "changed.deb"), .changed_fields = FIELD_LABELS | FIELD_SELF_SERVICE,
     .ignored_fields = FIELD_CATEGORIES},
    {OUTCOME(OUTCOME_REMOVED, "gone")},
    {OUTCOME(OUTCOME_CHECKED, "asked.deb")},
    {OUTCOME(OUTCOME_KEPT, "by hand")},
    {.kind = OUTCOME_FAILED,
     .name = "a.deb",
     .team = "Alpha",
     .package_file = "lib/a.yml",
     .url = "https://v.example/a.deb?…",
     .place = {.file = "teams/alpha.yml", .line = 12, .column = 5},
     .sha256 = "",
     .version = "1.0",
     .what = "404 Not Found",
     .kept = "1.0 (sha256 9634fb7b…)",
     .advice = "see whether the URL is right",
     .package = &failed_package,
     .title_id = 7},
    {.kind = OUTCOME_WAITING,
     .name = "w1.deb",
     .team = "Alpha",
     .package_file = "",
     .url = "",
     .sha256 = "",
     .version = "",
     .what = "Fleet has no label “X”",
     .kept = "",
     .advice = ""},
    {.kind = OUTCOME_WAITING,
     .name = "w2.deb",
     .team = "Alpha",
     .package_file = "",
     .url = "",
     .sha256 = "",
     .version = "",
     .what = "Fleet has no label “X”",
     .kept = "",
     .advice = ""},
    {OUTCOME(OUTCOME_BLOCKED, "blocked")},
    {OUTCOME(OUTCOME_WITHHELD, "withheld")},
};
static struct outcome beta_outcomes[] = {
    {OUTCOME(OUTCOME_UNCHANGED, "same.deb"), .assumed_fields = FIELD_ICON}};

static const struct diagnostic diagnostics[] = {
    {.rule = RULE_UNKNOWN_KEY,
     .severity = DIAGNOSTIC_ERROR,
     .place = {.file = "teams/c.yml", .line = 3, .column = 8},
     .text = "unknown key \"self-service\"",
     .trail = "used by the entry of line 9",
     .related = &(const struct place){.file = "teams/d.yml", .line = 7},
     .related_count = 1,
     .advice = "did you mean \"self_service\"?",
     .excerpt = "    é: self-service: true",
     .caret = 8},
    {.rule = RULE_EMPTY_PATTERN,
     .severity = DIAGNOSTIC_WARNING,
     .place = {.file = "teams/c.yml"},
     .text = "nothing in it"},
};

static struct run_report full_report(void)
{
    static struct team_outcome teams[] = {
        {.name = "💻 Workstations",
         .file = "teams/alpha.yml",
         .team_id = 1,
         .delivery = DELIVERY_ITEM_BY_ITEM,
         .error = "",
         .removals_withheld = "1 removal is withheld: a policy installs it",
         .outcome_count = ARRAY_LENGTH(alpha_outcomes),
         .outcomes = alpha_outcomes},
        {.name = "Beta",
         .file = "teams/beta.yml",
         .team_id = -1,
         .delivery = DELIVERY_NONE,
         .error = "",
         .removals_withheld = "",
         .outcome_count = 1,
         .outcomes = beta_outcomes},
    };
    static const struct call_statistics calls[] = {{"GET /software/titles", 2, 30, 20}};
    return (struct run_report){.command = "apply",
                               .tender_version = "0.1.0",
                               .repository = "https://git.example/r",
                               .revision = "0123abcd",
                               .fleet_url = "https://fleet.example",
                               .server_version = "4.69.0",
                               .started_wall_ms = 1000,
                               .duration_ms = 61000,
                               .warning = "",
                               .diagnostic_count = 2,
                               .diagnostics = diagnostics,
                               .team_count = 2,
                               .teams = teams,
                               .call_count = 1,
                               .calls = calls,
                               .received_bytes = 4096,
                               .uploaded_bytes = 7};
}

static void write_run(const char *format, const struct run_report *report, const struct report_style *style,
                      struct buf *out)
{
    err_init(&e);
    *out = BUF_INIT(TEXT_BYTES);
    if (report_writer_find(format)->run(report, style, out, &e) < 0)
        fail_msg("%s", e.text);
}

static void check_contains(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("no “%s” in:\n%s", part, text);
}

static void test_text(void **state)
{
    (void)state;
    static const char *const parts[] = {
        "tender apply\n",
        "https://git.example/r, 0123abcd",
        "https://fleet.example, version 4.69.0",
        "💻 Workstations",
        "+ new.deb: created",
        "~ changed.deb: updated (self_service, labels)",
        "sent, but not kept by the server: categories",
        "- gone: removed",
        "by hand",
        "teams/alpha.yml:12:5 → lib/a.yml",
        "cause:    404 Not Found",
        "2, waited 2.1 s in all, 4.0 KiB received",
        "attempt 1, 900 ms, 4.0 KiB: https://v.example/a.deb?…",
        "the connection was reset",
        "kept:     1.0 (sha256 9634fb7b…)",
        "to do:    see whether the URL is right",
        "2 items",
        "w1.deb, w2.deb",
        "a policy installs it",
        "teams/c.yml:3:8: error: unknown key",
        "teams/c.yml: warning: nothing in it",
        "1 item leaves fields out",
        "1 min 1 s, 4.0 KiB downloaded, 7 bytes uploaded, 2 requests to Fleet that took 30 ms",
        "Partial: 5 of 12 items need attention (1 withheld, 2 waiting, 1 blocked, 1 failed); "
        "2 unchanged, 1 created, 1 updated, 1 removed, 1 checked, 1 undeclared. "
        "Exit status 3: partial; the rest is applied.\n"};
    struct run_report report = full_report();
    struct buf out;
    report_finish(&report, false);
    write_run("text", &report, &(struct report_style){0}, &out);
    for (size_t i = 0; i < ARRAY_LENGTH(parts); i++)
        check_contains(buf_text(&out), parts[i]);
    assert_null(strstr(buf_text(&out), "\033"));
    buf_done(&out);
    report.is_plan = true;
    write_run("text", &report, &(struct report_style){.color = true, .width = 80}, &out);
    check_contains(buf_text(&out), "would create");
    check_contains(buf_text(&out), "1 to create");
    check_contains(buf_text(&out),
                   "\n  1 unchanged, 1 create, 1 update, 1 remove, 1 check, 1 undeclared, 1 withheld,"
                   "\n  2 waiting, 1 blocked, 1 failed\n");
    check_contains(buf_text(&out), "nothing was written");
    check_contains(buf_text(&out), "\033[32m");
    buf_done(&out);
}

/* The number columns end in the same column in every row of the table, also behind an emoji. */
static void test_table_alignment(void **state)
{
    (void)state;
    struct run_report report = full_report();
    struct buf out;
    report_finish(&report, false);
    write_run("text", &report, &(struct report_style){0}, &out);
    const char *head = strstr(buf_text(&out), "Team ");
    const char *emoji = strstr(buf_text(&out), "💻");
    const char *beta = strstr(buf_text(&out), "\nBeta ") + 1;
    assert_true(head != NULL && emoji != NULL && beta != NULL);
    size_t columns = strcspn(head, "\n");
    assert_int_equal(strcspn(beta, "\n"), columns);
    assert_int_equal(strcspn(emoji, "\n"), columns + 2); /* four bytes, two columns */
    buf_done(&out);
}

static void test_hostile_names(void **state)
{
    (void)state;
    struct outcome outcome = {OUTCOME(OUTCOME_CREATED, "evil\033[2J\nname\xff\xc2\x9b")};
    struct team_outcome team = {.name = "t\ra\tm",
                                .file = "",
                                .error = "",
                                .removals_withheld = "",
                                .outcome_count = 1,
                                .outcomes = &outcome};
    struct run_report report = {.command = "apply",
                                .tender_version = "",
                                .repository = "",
                                .revision = "",
                                .fleet_url = "",
                                .server_version = "",
                                .warning = "",
                                .team_count = 1,
                                .teams = &team};
    struct buf out;
    report_finish(&report, false);
    write_run("text", &report, &(struct report_style){0}, &out);
    assert_null(strpbrk(buf_text(&out), "\033\r\t"));
    assert_null(strstr(buf_text(&out), "\xc2\x9b"));
    check_contains(buf_text(&out), "evil?[2J?name\xEF\xBF\xBD");
    buf_done(&out);
    write_run("json", &report, &(struct report_style){0}, &out);
    json_t *document = json_loads(buf_text(&out), 0, NULL);
    assert_non_null(document); /* valid UTF-8, valid JSON */
    json_decref(document);
    buf_done(&out);
}

static const json_t *at(const json_t *value, const char *path)
{
    char copy[256];
    char *rest = copy;
    snprintf(copy, sizeof copy, "%s", path);
    for (char *step = strsep(&rest, "/"); step != NULL; step = strsep(&rest, "/")) {
        value =
            json_is_array(value) ? json_array_get(value, (size_t)atoi(step)) : json_object_get(value, step);
        if (value == NULL)
            fail_msg("no “%s” of %s", step, path);
    }
    return value;
}

static void test_json(void **state)
{
    (void)state;
    static const struct {
        const char *path, *text;
        json_int_t number;
    } expected[] = {
        {"format_version", NULL, 1},
        {"command", "apply", 0},
        {"tender_version", "0.1.0", 0},
        {"repository", "https://git.example/r", 0},
        {"revision", "0123abcd", 0},
        {"fleet_url", "https://fleet.example", 0},
        {"fleet_version", "4.69.0", 0},
        {"started_at", "1970-01-01T00:00:01.000Z", 0},
        {"duration_ms", NULL, 61000},
        {"exit_status", NULL, 3},
        {"counts/failed", NULL, 1},
        {"counts/fetched", NULL, 0},
        {"counts/waiting", NULL, 2},
        {"received_bytes", NULL, 4096},
        {"uploaded_bytes", NULL, 7},
        {"diagnostics/0/rule", "unknown-key", 0},
        {"diagnostics/0/severity", "error", 0},
        {"diagnostics/0/line", NULL, 3},
        {"diagnostics/0/trail", "used by the entry of line 9", 0},
        {"diagnostics/0/related/0/file", "teams/d.yml", 0},
        {"diagnostics/0/related/0/line", NULL, 7},
        {"diagnostics/1/advice", "", 0},
        {"teams/0/delivery", "item-by-item", 0},
        {"teams/0/team_id", NULL, 1},
        {"teams/0/removals_withheld", "1 removal is withheld: a policy installs it", 0},
        {"teams/0/items/2/changed_fields/0", "self_service", 0},
        {"teams/0/items/2/changed_fields/1", "labels", 0},
        {"teams/0/items/2/ignored_fields/0", "categories", 0},
        {"teams/0/items/6/outcome", "failed", 0},
        {"teams/0/items/6/kind", "package", 0},
        {"teams/0/items/6/place/line", NULL, 12},
        {"teams/0/items/6/title_id", NULL, 7},
        {"teams/0/items/6/kept", "1.0 (sha256 9634fb7b…)", 0},
        {"teams/0/items/6/fetch/state", "failed", 0},
        {"teams/0/items/6/fetch/attempts/1/status", NULL, 404},
        {"teams/0/items/6/fetch/attempts/1/resumed_from", NULL, 4096},
        {"teams/0/items/6/fetch/attempts/0/cause", "the connection was reset", 0},
        {"teams/0/items/6/fetch/attempts/1/waited_ms", NULL, 2100},
        {"api_calls/0/call", "GET /software/titles", 0},
        {"api_calls/0/longest_ms", NULL, 20},
    };
    struct run_report report = full_report();
    struct buf out;
    report_finish(&report, false);
    write_run("json", &report, &(struct report_style){0}, &out);
    json_t *document = json_loads(buf_text(&out), JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(document);
    for (size_t i = 0; i < ARRAY_LENGTH(expected); i++) {
        const json_t *value = at(document, expected[i].path);
        if (expected[i].text != NULL)
            assert_string_equal(json_string_value(value), expected[i].text);
        else
            assert_int_equal(json_integer_value(value), expected[i].number);
    }
    assert_true(json_is_null(at(document, "failure")) && json_is_null(at(document, "teams/1/team_id")));
    assert_true(json_is_null(at(document, "teams/0/items/0/place")));
    assert_true(json_is_null(at(document, "teams/0/items/0/fetch")));
    json_decref(document);
    buf_done(&out);
}

static int status_of(struct run_report report, bool detailed)
{
    report_finish(&report, detailed);
    return report.exit_status;
}

/* One team with one outcome of the kind. */
static struct run_report small_report(enum outcome_kind kind)
{
    static struct outcome outcome;
    static struct team_outcome team;
    outcome = (struct outcome){.kind = kind};
    team = (struct team_outcome){.file = "teams/a.yml",
                                 .error = "",
                                 .removals_withheld = "",
                                 .outcome_count = 1,
                                 .outcomes = &outcome};
    return (struct run_report){.team_count = 1, .teams = &team};
}

static void test_exit_status_by_kind(void **state)
{
    (void)state;
    static const struct {
        enum outcome_kind kind;
        int status, detailed_plan_status;
    } cases[OUTCOME_KIND_COUNT] = {
        {OUTCOME_UNCHANGED, 0, 0}, {OUTCOME_CREATED, 0, 2}, {OUTCOME_UPDATED, 0, 2}, {OUTCOME_REMOVED, 0, 2},
        {OUTCOME_KEPT, 0, 0},      {OUTCOME_CHECKED, 0, 2}, {OUTCOME_WAITING, 3, 3}, {OUTCOME_BLOCKED, 3, 3},
        {OUTCOME_WITHHELD, 3, 3},  {OUTCOME_FAILED, 3, 3},  {OUTCOME_FETCHED, 0, 0}};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct run_report report = small_report(cases[i].kind);
        assert_int_equal(status_of(report, false), cases[i].status);
        assert_int_equal(status_of(report, true), cases[i].status);
        report.is_plan = true;
        assert_int_equal(status_of(report, true), cases[i].detailed_plan_status);
        assert_int_equal(status_of(report, false), cases[i].status);
    }
}

static void test_exit_status_of_errors(void **state)
{
    (void)state;
    static const struct {
        enum err_class class;
        int status;
    } cases[] = {{ERR_NONE, 0},   {ERR_MEMORY, 1},        {ERR_SYSTEM, 1},     {ERR_USAGE, 64},
                 {ERR_CONFIG, 1}, {ERR_MANIFEST, 65},     {ERR_REPOSITORY, 1}, {ERR_NETWORK, 1},
                 {ERR_SERVER, 1}, {ERR_UNAUTHORISED, 77}, {ERR_NOT_FOUND, 1},  {ERR_CONFLICT, 1},
                 {ERR_LOCKED, 5}, {ERR_INTERRUPTED, 1}};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct run_report report = small_report(OUTCOME_FAILED); /* the failure wins over partial */
        const struct err error = {.class = cases[i].class};
        assert_int_equal(report_exit_status_of(&error), cases[i].status);
        if (cases[i].class == ERR_NONE)
            continue;
        report.failure = error;
        report.diagnostics = diagnostics; /* and over invalid manifests */
        report.diagnostic_count = 2;
        assert_int_equal(status_of(report, true), cases[i].status);
    }
}

static void test_exit_status_of_manifests(void **state)
{
    (void)state;
    struct run_report report = {.diagnostic_count = 1, .diagnostics = diagnostics};
    assert_int_equal(status_of(report, false), 65); /* nothing but errors */
    report.diagnostics = diagnostics + 1;
    assert_int_equal(status_of(report, false), 0); /* a warning is none */
    report = small_report(OUTCOME_BLOCKED);
    report.diagnostic_count = 1;
    report.diagnostics = diagnostics;
    assert_int_equal(status_of(report, false), 65); /* the only team is blocked */
    report = small_report(OUTCOME_UNCHANGED);
    report.diagnostic_count = 1;
    report.diagnostics = diagnostics;
    assert_int_equal(status_of(report, false), 3); /* another team ran */
    report.teams[0].outcome_count = 0;
    assert_int_equal(status_of(report, false), 3); /* one without software ran as well */
    report.teams[0].file = "teams/c.yml";
    assert_int_equal(status_of(report, false), 65); /* but not if the errors are its own */
    report = small_report(OUTCOME_UNCHANGED);
    report.was_interrupted = true;
    assert_int_equal(status_of(report, false), 3);
    report = small_report(OUTCOME_UNCHANGED);
    report.teams[0].error = "its list can't be read";
    assert_int_equal(status_of(report, false), 3);
    report = small_report(OUTCOME_KEPT);
    report.teams[0].removals_withheld = "1 removal is withheld";
    assert_int_equal(status_of(report, false), 3);
    report = small_report(OUTCOME_UNCHANGED);
    report.warning = "the commit of 3 h ago is used";
    assert_int_equal(status_of(report, false), 3);
    report = small_report(OUTCOME_UNCHANGED); /* a team to be created is a change */
    report.teams[0].delivery = DELIVERY_WHOLE;
    report.is_plan = true;
    assert_int_equal(status_of(report, true), 2);
}

static void test_failure(void **state)
{
    (void)state;
    struct run_report report = {.command = "apply",
                                .tender_version = "",
                                .repository = "r",
                                .revision = "",
                                .fleet_url = "",
                                .server_version = "",
                                .warning = "the mirror of 3 h ago is used"};
    struct buf out;
    err_init(&report.failure);
    err_fill(&report.failure, ERR_UNAUTHORISED, "Fleet refused the token");
    report_finish(&report, false);
    write_run("text", &report, &(struct report_style){.width = 40}, &out);
    check_contains(buf_text(&out), "  Fleet refused the token\n");
    check_contains(buf_text(&out), "the mirror of 3 h");
    check_contains(buf_text(&out), "Failed: nothing was changed. Exit status 77: not authorised.\n");
    buf_done(&out);
    write_run("json", &report, &(struct report_style){0}, &out);
    json_t *document = json_loads(buf_text(&out), 0, NULL);
    assert_string_equal(json_string_value(at(document, "failure/class")), "unauthorised");
    json_decref(document);
    buf_done(&out);
}

static struct desired shown_desired(void)
{
    static const char *const labels[] = {"Debian"};
    static struct software_item packages[] = {
        {.kind = SOFTWARE_PACKAGE,
         .url = "https://user:secret@v.example/a.deb?arch=x64",
         .package_file = "lib/a.yml",
         .install_script = {.path = "lib/i.sh", .text = "", .length = 0},
         .place = {.file = "teams/a.yml", .line = 5, .column = 7},
         .label_mode = LABELS_INCLUDE_ANY,
         .labels = {.is_set = true, .count = 1, .items = labels}},
        {.kind = SOFTWARE_PACKAGE,
         .sha256 = "abcd",
         .package_file = "",
         .place = {.file = "teams/a.yml", .line = 9}},
    };
    static struct software_item app = {
        .kind = SOFTWARE_MAINTAINED_APP, .slug = "x/darwin", .package_file = ""};
    static struct software_item store = {
        .kind = SOFTWARE_APP_STORE_APP, .app_store_id = "123", .package_file = ""};
    static struct desired_team team = {.name = "Alpha",
                                       .place = {.file = "teams/a.yml"},
                                       .packages = {LIST_GIVEN, 2, packages, NULL},
                                       .maintained_apps = {LIST_GIVEN, 1, &app, NULL},
                                       .app_store_apps = {LIST_GIVEN, 1, &store, NULL}};
    static struct diagnostic copies[2];
    copies[0] = diagnostics[0];
    copies[1] = diagnostics[1];
    return (struct desired){.revision = "0123",
                            .team_count = 1,
                            .teams = &team,
                            .diagnostic_count = 2,
                            .diagnostics = copies,
                            .error_count = 1,
                            .file_count = 4};
}

static void test_show(void **state)
{
    (void)state;
    const struct desired desired = shown_desired();
    struct buf out = BUF_INIT(TEXT_BYTES);
    err_init(&e);
    assert_int_equal(report_writer_find("json")->show(&desired, &(struct report_style){0}, &out, &e), 0);
    json_t *document = json_loads(buf_text(&out), 0, NULL);
    assert_string_equal(json_string_value(at(document, "teams/0/packages/0/url")),
                        "https://***@v.example/a.deb?arch=x64");
    assert_string_equal(json_string_value(at(document, "teams/0/packages/0/sha256")), "");
    assert_string_equal(json_string_value(at(document, "teams/0/packages/0/package_file")), "lib/a.yml");
    assert_string_equal(json_string_value(at(document, "teams/0/packages/0/install_script")), "lib/i.sh");
    assert_true(json_is_null(at(document, "teams/0/packages/0/uninstall_script")));
    assert_string_equal(json_string_value(at(document, "teams/0/packages/1/url")), "");
    assert_string_equal(json_string_value(at(document, "teams/0/packages/1/sha256")), "abcd");
    assert_string_equal(json_string_value(at(document, "teams/0/packages/1/package_file")), "");
    assert_string_equal(json_string_value(at(document, "teams/0/fleet_maintained_apps/0/slug")), "x/darwin");
    assert_string_equal(json_string_value(at(document, "teams/0/app_store_apps/0/app_store_id")), "123");
    assert_int_equal(json_array_size(at(document, "errors")), 1);
    json_decref(document);
    buf_clear(&out);
    assert_int_equal(report_writer_find("text")->show(&desired, &(struct report_style){0}, &out, &e), 0);
    check_contains(buf_text(&out), "url: https://***@v.example/a.deb?…\n");
    check_contains(buf_text(&out), "labels_include_any: Debian\n");
    assert_null(strstr(buf_text(&out), "secret"));
    buf_done(&out);
}

static void test_diagnostics(void **state)
{
    (void)state;
    const struct desired desired = shown_desired();
    struct buf out = BUF_INIT(TEXT_BYTES);
    err_init(&e);
    assert_int_equal(report_writer_find("text")->diagnostics(&desired, &(struct report_style){0}, &out, &e),
                     0);
    assert_string_equal(buf_text(&out), "teams/c.yml:3:8: error: unknown key \"self-service\"\n"
                                        "    | é: self-service: true\n"
                                        "    |    ^\n"
                                        "    used by the entry of line 9\n"
                                        "    did you mean \"self_service\"?\n"
                                        "teams/c.yml: warning: nothing in it\n"
                                        "\n"
                                        "4 files with 1 team: 1 error, 1 warning\n");
    buf_clear(&out);
    assert_int_equal(report_writer_find("json")->diagnostics(&desired, &(struct report_style){0}, &out, &e),
                     0);
    json_t *document = json_loads(buf_text(&out), 0, NULL);
    assert_int_equal(json_integer_value(at(document, "error_count")), 1);
    assert_string_equal(json_string_value(at(document, "diagnostics/1/severity")), "warning");
    json_decref(document);
    buf_done(&out);
}

/* Every addition to a buffer that is too small, and every allocation, fails once: an error, never half a
 * report taken for a whole one. */
static void test_no_memory(void **state)
{
    (void)state;
    struct run_report report = full_report();
    report_finish(&report, false);
    for (size_t w = 0; report_writers[w] != NULL; w++) {
        if (report_writers[w]->run == NULL)
            continue;
        for (size_t most = 0; most < 2000; most += 13) {
            struct buf out = BUF_INIT(most);
            err_init(&e);
            assert_int_equal(report_writers[w]->run(&report, &(struct report_style){0}, &out, &e), -1);
            assert_int_equal(e.class, ERR_MEMORY);
            buf_done(&out);
        }
        long needed = 0;
        for (long nth = 0; nth <= needed; nth++) { /* 0: none fails, they are counted */
            struct buf out = BUF_INIT(TEXT_BYTES);
            err_init(&e);
            failing_alloc_start(nth, false);
            int result = report_writers[w]->run(&report, &(struct report_style){0}, &out, &e);
            long asked = failing_alloc_stop();
            needed = nth == 0 ? asked : needed;
            if (result != (nth == 0 ? 0 : -1))
                fail_msg("%s %ld of %ld", report_writers[w]->name, nth, needed);
            assert_true(nth == 0 || e.class == ERR_MEMORY);
            buf_done(&out);
        }
        assert_true(needed > 5);
    }
}

static void test_find(void **state)
{
    (void)state;
    assert_null(report_writer_find("xml"));
    assert_null(report_writer_find(NULL));
    for (size_t i = 0; report_writers[i] != NULL; i++) {
        assert_ptr_equal(report_writer_find(report_writers[i]->name), report_writers[i]);
        assert_non_null(report_writers[i]->diagnostics);
        /* What is written for people and programs is written whole. */
        assert_true(i >= 2 || (report_writers[i]->run != NULL && report_writers[i]->show != NULL &&
                               report_writers[i]->settings != NULL));
    }
}

int main(void)
{
    json_set_alloc_funcs(counted_malloc, free);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_table_alignment),
        cmocka_unit_test(test_hostile_names),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_exit_status_by_kind),
        cmocka_unit_test(test_exit_status_of_errors),
        cmocka_unit_test(test_exit_status_of_manifests),
        cmocka_unit_test(test_failure),
        cmocka_unit_test(test_show),
        cmocka_unit_test(test_diagnostics),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_find),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
