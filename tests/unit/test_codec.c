/* Decodes every answer of the recordings of a real server, and compares what is understood of some of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/digest.h"
#include "fleet/codec.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_BYTES = 16 * 1024 * 1024, PATH_BYTES = 512 };

static const char *const recordings[] = {
    "01-basics",
    "02-upload",
    "03-edit-and-delete",
    "04-batch-download",
    "05-batch-by-digest",
    "06-roles-and-conflicts",
    "07-limits",
    "08-maintained-apps-and-types",
    "09-normalisation-and-secrets",
    "10-app-store-apps",
    "11-setup-experience",
    "12-server-restarts",
};

struct context {
    struct arena *arena;
    struct err e;
};

static int decode_version(struct context *c, const char *body, size_t length)
{
    const char *version;
    return codec_version(body, length, c->arena, &version, &c->e);
}

static int decode_user(struct context *c, const char *body, size_t length)
{
    struct fleet_user user;
    return codec_user(body, length, c->arena, &user, &c->e);
}

static int decode_teams(struct context *c, const char *body, size_t length)
{
    struct team_rows rows = {.items = NULL};
    struct page page;
    return codec_teams(body, length, c->arena, &rows, &page, &c->e);
}

static int decode_team(struct context *c, const char *body, size_t length)
{
    struct fleet_team team;
    return codec_team(body, length, c->arena, &team, &c->e);
}

static int decode_labels(struct context *c, const char *body, size_t length)
{
    struct name_rows rows = {.items = NULL};
    int result = codec_labels(body, length, c->arena, &rows, &c->e);
    assert_true(result < 0 || rows.count > 0);
    return result;
}

static int decode_titles(struct context *c, const char *body, size_t length)
{
    struct title_rows rows = {.items = NULL};
    struct page page;
    int result = codec_titles(body, length, c->arena, &rows, &page, &c->e);
    for (size_t i = 0; i < rows.count && result == 0; i++) {
        assert_true(rows.items[i].title_id > 0);
        assert_string_not_equal(rows.items[i].name, "");
        if (rows.items[i].kind != SOFTWARE_APP_STORE_APP)
            assert_true(digest_is_hex(rows.items[i].sha256));
    }
    return result;
}

static int decode_details(struct context *c, const char *body, size_t length)
{
    struct observed_title title = {.title_id = 1};
    int result = codec_title_details(body, length, c->arena, &title, &c->e);
    /* Asked without a team, a title has neither a package nor an app. */
    if (result < 0 && c->e.class == ERR_NOT_FOUND)
        return 0;
    assert_true(result < 0 || title.has_details);
    return result;
}

static int decode_catalogue(struct context *c, const char *body, size_t length)
{
    struct catalogue_rows rows = {.items = NULL};
    struct page page;
    return codec_catalogue(body, length, c->arena, &rows, &page, &c->e);
}

static int decode_catalogue_app(struct context *c, const char *body, size_t length)
{
    struct catalogue_app app = {.id = 0};
    return codec_catalogue_app(body, length, c->arena, &app, &c->e);
}

static int decode_setup(struct context *c, const char *body, size_t length)
{
    struct setup_rows rows = {.items = NULL};
    struct page page;
    return codec_setup_experience(body, length, c->arena, &rows, &page, &c->e);
}

static int decode_package(struct context *c, const char *body, size_t length)
{
    struct package_answer answer;
    int result = codec_package_answer(body, length, &answer, &c->e);
    assert_true(result < 0 || (answer.title_id > 0 && digest_is_hex(answer.sha256)));
    return result;
}

static int decode_started(struct context *c, const char *body, size_t length)
{
    char id[BATCH_ID_BYTES];
    return codec_batch_started(body, length, id, &c->e);
}

static int decode_batch(struct context *c, const char *body, size_t length)
{
    struct batch_answer answer;
    return codec_batch_answer(body, length, &answer, &c->e);
}

/* Which decoder reads which call's answer; the first that matches. Calls that Tender does not make, or whose
 * answer it does not read, have none. */
static const struct {
    const char *method, *path; /* behind /api/latest/fleet */
    bool is_whole;             /* the path is the whole one, up to its query */
    int (*decode)(struct context *c, const char *body, size_t length);
} decoders[] = {
    {"GET", "/version", true, decode_version},
    {"GET", "/me", true, decode_user},
    {"GET", "/teams", true, decode_teams},
    {"POST", "/teams", true, decode_team},
    {"GET", "/labels", true, decode_labels},
    {"GET", "/labels/summary", true, decode_labels},
    {"GET", "/software/titles", true, decode_titles},
    {"GET", "/software/titles/", false, decode_details},
    {"GET", "/software/fleet_maintained_apps", true, decode_catalogue},
    {"GET", "/software/fleet_maintained_apps/", false, decode_catalogue_app},
    {"GET", "/setup_experience/software", true, decode_setup},
    {"POST", "/software/package", true, decode_package},
    {"PATCH", "/software/titles/", false, decode_package},
    {"POST", "/software/batch", true, decode_started},
    {"GET", "/software/batch/", false, decode_batch},
};

static json_t *load_recording(const char *name)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/recordings/%s.json", TEST_SOURCE_DIR, name);
    json_error_t error;
    json_t *root = json_load_file(path, JSON_ALLOW_NUL, &error);
    if (root == NULL)
        fail_msg("%s: %s", path, error.text);
    return root;
}

static int decode_answer(struct context *c, const char *method, const char *path, const char *text,
                         bool *known)
{
    size_t length = strcspn(path, "?");
    for (size_t i = 0; i < ARRAY_LENGTH(decoders); i++) {
        size_t size = strlen(decoders[i].path);
        bool matches = strcmp(method, decoders[i].method) == 0 && length >= size &&
                       strncmp(path, decoders[i].path, size) == 0 &&
                       (decoders[i].is_whole ? length == size : length > size) &&
                       strstr(path, "alt=media") == NULL && strstr(path, "app_store_app?") == NULL &&
                       strncmp(path + length - 14, "/app_store_app", 14) != 0;
        if (!matches)
            continue;
        *known = true;
        return decoders[i].decode(c, text, strlen(text));
    }
    return 0;
}

static void check_step(const char *recording, size_t number, const json_t *step, size_t *decoded)
{
    const json_t *request = json_object_get(step, "request");
    const json_t *response = json_object_get(step, "response");
    const json_t *body = json_object_get(response, "body");
    if (request == NULL)
        return; /* what the server with the packages saw */
    int status = (int)json_integer_value(json_object_get(response, "status"));
    const char *method = json_string_value(json_object_get(request, "method"));
    const char *path = json_string_value(json_object_get(request, "path")) + strlen("/api/latest/fleet");
    const char *plain = json_string_value(json_object_get(body, "_not_json"));
    char *text = plain != NULL ? strdup(plain) : json_is_null(body) ? strdup("") : json_dumps(body, 0);
    if (status >= 400) {
        struct refusal refusal;
        codec_refusal(text, strlen(text), &refusal);
        assert_int_equal(refusal.is_fleet_json, json_is_object(body) && plain == NULL);
        if (json_object_get(body, "errors") != NULL)
            assert_string_not_equal(refusal.reason, "");
    } else {
        struct context c = {.arena = arena_new(ARENA_BYTES)};
        bool known = false;
        err_init(&c.e);
        if (decode_answer(&c, method, path, text, &known) < 0)
            fail_msg("%s, step %zu: %s %s: %s", recording, number, method, path, c.e.text);
        *decoded += known;
        arena_free(c.arena);
    }
    free(text);
}

static void test_every_recorded_answer(void **state)
{
    (void)state;
    size_t decoded = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(recordings); i++) {
        json_t *root = load_recording(recordings[i]);
        const json_t *steps = json_object_get(root, "steps");
        assert_true(json_array_size(steps) > 0);
        for (size_t k = 0; k < json_array_size(steps); k++)
            check_step(recordings[i], k, json_array_get(steps, k), &decoded);
        json_decref(root);
    }
    assert_true(decoded > 150);
}

static const char details[] =
    "{\"software_title\":{\"id\":7,\"name\":\"alpha\",\"software_package\":{\"installer_id\":413,"
    "\"install_script\":\"echo "
    "a\",\"uninstall_script\":\"\",\"hash_sha256\":\"E2FC5D4BB2EAF580B2C231D30547B952BB8B"
    "211B635A9CAF39A79886C98B121F\",\"labels_exclude_any\":[{\"name\":\"Pilot ring\",\"id\":7}],"
    "\"labels_include_any\":null,\"categories\":[\"Browsers\"],\"automatic_install_policies\":[{\"id\":4,"
    "\"name\":\"p\"}]"
    ",\"display_name\":\"Alpha!\"},\"app_store_app\":null}}";

static void test_details(void **state)
{
    (void)state;
    struct arena *arena = arena_new(ARENA_BYTES);
    struct observed_title title = {.title_id = 7, .name = "alpha", .version = "1.0"};
    struct err e;
    err_init(&e);
    assert_int_equal(codec_title_details(details, strlen(details), arena, &title, &e), 0);
    assert_true(title.has_details);
    assert_int_equal(title.installer_id, 413);
    assert_string_equal(title.install_script.text, "echo a");
    assert_string_equal(title.uninstall_script.text, "");
    assert_string_equal(title.post_install_script.text, "");
    assert_int_equal(title.label_mode, LABELS_EXCLUDE_ANY);
    assert_int_equal(title.labels.count, 1);
    assert_string_equal(title.labels.items[0], "Pilot ring");
    assert_string_equal(title.categories.items[0], "Browsers");
    assert_string_equal(title.policies.items[0], "p");
    assert_string_equal(title.display_name, "Alpha!");
    assert_string_equal(title.version, "1.0");
    /* Lower case, whatever the server says: a digest in capitals is not found. */
    assert_string_equal(title.sha256, "e2fc5d4bb2eaf580b2c231d30547b952bb8b211b635a9caf39a79886c98b121f");
    arena_free(arena);
}

static void test_rows_that_the_filter_let_through(void **state)
{
    (void)state;
    static const char list[] =
        "{\"software_titles\":[{\"id\":1,\"name\":\"seen "
        "only\",\"software_package\":null,\"app_store_app\":null},"
        "{\"id\":2,\"name\":\"app\",\"software_package\":null,\"app_store_app\":{\"app_store_id\":\"1001\","
        "\"platform\":"
        "\"ios\",\"version\":\"7\"}},"
        "{\"id\":3,\"name\":\"fma\",\"software_package\":{\"name\":\"x.dmg\",\"fleet_maintained_app_id\":3}},"
        "{\"id\":4,\"name\":\"script\",\"software_package\":{\"name\":\"Hello.SH\"}},"
        "{\"id\":5,\"name\":\"one of "
        "packages\",\"packages\":[{\"name\":\"y.deb\",\"version\":\"2\"}]}],\"count\":5}";
    static const enum software_kind kinds[] = {SOFTWARE_APP_STORE_APP, SOFTWARE_MAINTAINED_APP,
                                               SOFTWARE_SCRIPT_PACKAGE, SOFTWARE_PACKAGE};
    struct arena *arena = arena_new(ARENA_BYTES);
    struct title_rows rows = {.items = NULL};
    struct page page;
    struct err e;
    err_init(&e);
    assert_int_equal(codec_titles(list, strlen(list), arena, &rows, &page, &e), 0);
    assert_int_equal(rows.count, ARRAY_LENGTH(kinds));
    assert_int_equal(rows.row_count, 5);
    assert_int_equal(page.total, 5);
    assert_false(page.has_meta);
    for (size_t i = 0; i < rows.count; i++)
        assert_int_equal(rows.items[i].kind, kinds[i]);
    arena_free(arena);
}

static void test_answers_that_make_no_sense(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        int (*decode)(struct context *c, const char *body, size_t length);
        const char *message;
    } cases[] = {
        {"", decode_teams, "not its JSON"},
        {"<html><body>502 Bad Gateway", decode_titles, "502 Bad Gateway"},
        {"[]", decode_version, "not its JSON"},
        {"{\"teams\":[{\"name\":\"x\"}]}", decode_teams, "without an id"},
        {"{\"software_titles\":[{\"name\":\"x\",\"software_package\":{}}]}", decode_titles, "without an id"},
        {"{\"software_titles\":[{\"id\":1,\"name\":\"x\",\"packages\":[{},{}]}]}", decode_titles,
         "2 packages"},
        {"{\"request_uuid\":\"../../me\"}", decode_started, "makes no sense"},
        {"{\"request_uuid\":\"\"}", decode_started, "makes no sense"},
        {"{\"status\":\"dreaming\"}", decode_batch, "makes no sense"},
        {"{\"software_package\":7}", decode_package, "makes no sense"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct context c = {.arena = arena_new(ARENA_BYTES)};
        err_init(&c.e);
        assert_int_equal(cases[i].decode(&c, cases[i].body, strlen(cases[i].body)), -1);
        assert_int_equal(c.e.class, ERR_SERVER);
        if (strstr(c.e.text, cases[i].message) == NULL)
            fail_msg("case %zu: \"%s\" lacks \"%s\"", i, c.e.text, cases[i].message);
        arena_free(c.arena);
    }
}

static void test_redacted_messages(void **state)
{
    (void)state;
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"plain", "plain"},
        {"  first line \nsecond", "first line"},
        {"URL (\"http://h:9090/d.deb?fail=503&sig=abc\") received 503.",
         "URL (\"http://h:9090/d.deb?…\") received 503."},
        {"get https://u:secret@h/x: reset", "get https://***@h/x: reset"},
        {"a http://h/1?t=k b http://h/2?t=k c", "a http://h/1?… b http://h/2?… c"},
        {"://", "://"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char out[200];
        assert_string_equal(codec_redact_text(cases[i].text, strlen(cases[i].text), out, sizeof out),
                            cases[i].shown);
    }
    char small[12];
    const char *cut = codec_redact_text("http://host.example/long/path?token=abc", 38, small, sizeof small);
    assert_true(strlen(cut) < sizeof small);
}

static void test_batch_body(void **state)
{
    (void)state;
    static const char *const labels[] = {"Debian boxes"};
    const struct package_fields items[] = {
        {.sha256 = "aa",
         .install_script = "echo \"x\"\n",
         .self_service = TRISTATE_TRUE,
         .label_mode = LABELS_INCLUDE_ANY,
         .labels = {true, 1, labels},
         .install_during_setup = TRISTATE_FALSE},
        {.sha256 = "bb", .self_service = TRISTATE_FALSE, .categories = {true, 0, NULL}},
    };
    struct buf out = BUF_INIT(10000);
    struct err e;
    err_init(&e);
    assert_int_equal(codec_write_batch(items, 2, &out, &e), 0);
    assert_string_equal(
        buf_text(&out),
        "{\"software\":[{\"sha256\":\"aa\",\"install_script\":\"echo \\\"x\\\"\\n\","
        "\"self_service\":true,\"install_during_setup\":false,\"labels_include_any\":[\"Debian "
        "boxes\"]},{\"sha256\":\"bb\",\"self_service\":false}]}");
    buf_done(&out);
    /* An empty batch removes everything: it is written as such, never as null. */
    assert_int_equal(codec_write_batch(NULL, 0, &out, &e), 0);
    assert_string_equal(buf_text(&out), "{\"software\":[]}");
    buf_done(&out);
    const struct package_fields bad = {.sha256 = "cc", .install_script = "\xff"};
    assert_int_equal(codec_write_batch(&bad, 1, &out, &e), -1);
    assert_int_equal(e.class, ERR_MANIFEST);
    buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_recorded_answer),
        cmocka_unit_test(test_details),
        cmocka_unit_test(test_rows_that_the_filter_let_through),
        cmocka_unit_test(test_answers_that_make_no_sense),
        cmocka_unit_test(test_redacted_messages),
        cmocka_unit_test(test_batch_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
