/* Reads other people's real repositories, where they lie beside the project: no false error, and exactly the
 * items that Fleet's own parser finds. Scripts that the YAML names but that are not there are stubbed on the
 * way. */
#include "base/files.h"
#include "base/text.h"
#include "manifest/manifest.h"
#include "repository/repository.h"
#include <dirent.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define REAL TEST_SOURCE_DIR "/../../shared/manifests-real"

struct real {
    struct repository *repository;
    struct buf paths; /* _FILES.txt */
    struct arena *arena;
    struct desired desired;
};

/* A script, or the header of a valid picture of 120 × 120. */
static const char stub_script[] = "#!/bin/sh\n";
static const char stub_picture[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x78\0\0\0\x78\x08\6\0\0\0";
static const char stub_query[] = "- query: SELECT 1;\n";

static bool was_in_the_original(const struct real *real, const char *path)
{
    size_t length = strlen(path);
    for (const char *at = strstr(buf_text(&real->paths), path); at != NULL; at = strstr(at + 1, path))
        if ((at == real->paths.bytes || at[-1] == '\n') && (at[length] == '\n' || at[length] == '\0'))
            return true;
    return false;
}

static int read_file(void *context, const char *path, struct buf *out, struct err *e)
{
    struct real *real = context;
    struct err trouble;
    err_init(&trouble);
    if (repository_read(real->repository, path, out, &trouble) == 0)
        return 0;
    if (trouble.class != ERR_NOT_FOUND || !was_in_the_original(real, path))
        return err_set(e, trouble.class, "%s", trouble.text);
    if (text_ends_with(path, ".png"))
        return buf_add(out, stub_picture, sizeof stub_picture - 1, e);
    if (text_ends_with(path, ".yml"))
        return buf_add_text(out, stub_query, e);
    return buf_add_text(out, stub_script, e);
}

static int list_folder(void *context, const char *folder,
                       void (*each)(void *user, const char *name, bool is_folder), void *user, struct err *e)
{
    struct real *real = context;
    const struct repository_entry *entries;
    size_t count;
    if (repository_list(real->repository, folder, &entries, &count, e) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        each(user, entries[i].name, entries[i].type == ENTRY_FOLDER);
    return 0;
}

static const char *dummy(void *context, const char *name)
{
    (void)context;
    (void)name;
    return "DUMMY";
}

static void load_real(struct real *real, const char *name)
{
    char folder[512];
    char list[600];
    struct err e;
    err_init(&e);
    snprintf(folder, sizeof folder, "%s/%s", REAL, name);
    snprintf(list, sizeof list, "%s/_FILES.txt", folder);
    *real = (struct real){.paths = BUF_INIT(1024 * 1024), .arena = arena_new(64 * 1024 * 1024)};
    assert_non_null(real->arena);
    FILE *file = fopen(list, "r");
    if (file != NULL) {
        char line[1024];
        while (fgets(line, sizeof line, file) != NULL)
            assert_int_equal(buf_add_text(&real->paths, line, &e), 0);
        fclose(file);
    }
    const struct repository_options options = {
        .directory = folder, .max_file_bytes = 1024 * 1024, .clock = clock_system()};
    real->repository = repository_open(&options, &e);
    assert_non_null(real->repository);
    const struct manifest_source source = {.list = list_folder, .read = read_file, .context = real};
    const struct manifest_options load = {.subdir = "", .max_document_bytes = 1024 * 1024, .variable = dummy};
    if (manifest_load(&source, &load, real->arena, &real->desired, &e) < 0)
        fail_msg("%s: %s", name, e.text);
}

static void unload(struct real *real)
{
    repository_close(real->repository);
    buf_done(&real->paths);
    arena_free(real->arena);
}

static void print_diagnostics(const struct real *real)
{
    for (size_t i = 0; i < real->desired.diagnostic_count; i++) {
        const struct diagnostic *found = &real->desired.diagnostics[i];
        print_message("%s:%d:%d: %s: %s (%s)\n    %s\n", found->place.file, found->place.line,
                      found->place.column, found->severity == DIAGNOSTIC_ERROR ? "error" : "warning",
                      found->text, found->advice == NULL ? "" : found->advice,
                      found->excerpt == NULL ? "" : found->excerpt);
    }
}

static void test_no_false_errors(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t teams;
        size_t items;
    } cases[] = {{"it-and-security", 8, 4 + 2 + 2 + 2 * (16 + 2 + 7)},
                 {"template", 2, 0},
                 {"platforms-layout", 6, 49},
                 {"linux-labels", 3, 10},
                 {"list-package", 3, 5},
                 {"shared-package", 3, 3},
                 {"null-lists", 3, 6}};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct real real;
        load_real(&real, cases[i].name);
        if (real.desired.error_count > 0)
            print_diagnostics(&real);
        size_t items = 0;
        for (size_t k = 0; k < real.desired.team_count; k++) {
            const struct desired_team *team = &real.desired.teams[k];
            assert_false(team->is_invalid);
            items += team->packages.count + team->maintained_apps.count + team->app_store_apps.count;
        }
        print_message("%s: %zu teams, %zu items, %zu diagnostics\n", cases[i].name, real.desired.team_count,
                      items, real.desired.diagnostic_count);
        assert_int_equal(real.desired.error_count, 0);
        assert_int_equal(real.desired.team_count, cases[i].teams);
        assert_int_equal(items, cases[i].items);
        unload(&real);
    }
}

static void expect_text(const char *where, const json_t *object, const char *key, const char *found)
{
    const char *expected = json_string_value(json_object_get(object, key));
    if (!text_equal(expected == NULL ? "" : expected, found == NULL ? "" : found))
        fail_msg("%s: %s is \"%s\", not \"%s\"", where, key, found == NULL ? "" : found,
                 expected == NULL ? "" : expected);
}

static void compare_list(const char *where, const json_t *expected, const struct software_list *found)
{
    if (expected == NULL) /* a form that the older parser does not know */
        return;
    assert_int_equal(json_array_size(expected), found->count);
    for (size_t i = 0; i < found->count; i++) {
        const struct software_item *item = &found->items[i];
        const json_t *entry = json_array_get(expected, i);
        if (item->kind == SOFTWARE_MAINTAINED_APP) {
            expect_text(where, entry, "slug", item->slug);
        } else if (item->kind == SOFTWARE_APP_STORE_APP) {
            expect_text(where, entry, "app_store_id", item->app_store_id);
        } else {
            expect_text(where, entry, "url", item->url);
            expect_text(where, entry, "sha256", item->sha256);
            expect_text(where, entry, "package_file", item->package_file);
            expect_text(where, entry, "install_script", item->install_script.path);
            expect_text(where, entry, "uninstall_script", item->uninstall_script.path);
            expect_text(where, entry, "post_install_script", item->post_install_script.path);
            expect_text(where, entry, "pre_install_query", item->pre_install_query.path);
        }
    }
}

static void test_expected_items(void **state)
{
    (void)state;
    static const char *const names[] = {"it-and-security", "linux-labels", "null-lists", "platforms-layout"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        char path[512];
        struct real real;
        snprintf(path, sizeof path, "%s/EXPECTED/%s.json", REAL, names[i]);
        json_t *expected = json_load_file(path, 0, NULL);
        assert_non_null(expected);
        const json_t *teams = json_object_get(expected, "teams");
        load_real(&real, names[i]);
        assert_int_equal(json_array_size(teams), real.desired.team_count);
        for (size_t k = 0; k < real.desired.team_count; k++) {
            const struct desired_team *team = &real.desired.teams[k];
            const json_t *wanted = json_array_get(teams, k);
            expect_text(names[i], wanted, "name", team->name);
            expect_text(names[i], wanted, "file", team->place.file);
            compare_list(team->name, json_object_get(wanted, "packages"), &team->packages);
            compare_list(team->name, json_object_get(wanted, "fleet_maintained_apps"),
                         &team->maintained_apps);
            compare_list(team->name, json_object_get(wanted, "app_store_apps"), &team->app_store_apps);
        }
        unload(&real);
        json_decref(expected);
    }
}

/* Each broken file as the only team file of a repository. */
struct alone {
    const char *name;
    struct buf text;
};

static int read_alone(void *context, const char *path, struct buf *out, struct err *e)
{
    const struct alone *alone = context;
    if (strncmp(path, "teams/", 6) != 0)
        return text_ends_with(path, ".yml") && strstr(path, "/software/") != NULL
                   ? buf_add_text(out, "url: https://example.com/a.pkg\n", e)
                   : err_set(e, ERR_NOT_FOUND, "%s does not exist", path);
    return buf_add(out, alone->text.bytes, alone->text.length, e);
}

static int list_alone(void *context, const char *folder,
                      void (*each)(void *user, const char *name, bool is_folder), void *user, struct err *e)
{
    const struct alone *alone = context;
    (void)e;
    if (folder[0] == '\0')
        each(user, "teams", true);
    else if (strcmp(folder, "teams") == 0)
        each(user, alone->name, false);
    return 0;
}

static void test_malformed(void **state)
{
    (void)state;
    DIR *folder = opendir(REAL "/malformed");
    assert_non_null(folder);
    size_t count = 0;
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        char path[600];
        struct err e;
        err_init(&e);
        if (!text_ends_with(entry->d_name, ".yml") && !text_ends_with(entry->d_name, ".yaml"))
            continue;
        snprintf(path, sizeof path, "%s/malformed/%s", REAL, entry->d_name);
        struct alone alone = {.name = entry->d_name, .text = BUF_INIT(1024 * 1024)};
        assert_int_equal(file_read(path, &alone.text, &e), 0);
        struct real real = {.arena = arena_new(64 * 1024 * 1024)};
        const struct manifest_source source = {.list = list_alone, .read = read_alone, .context = &alone};
        const struct manifest_options options = {
            .subdir = "", .max_document_bytes = 1024 * 1024, .variable = dummy};
        assert_int_equal(manifest_load(&source, &options, real.arena, &real.desired, &e), 0);
        print_diagnostics(&real);
        /* 04 is a sound team file but for its CRLF, and what is twice in 00 and 01 is not Tender's. */
        bool is_sound = text_starts_with(entry->d_name, "00-") || text_starts_with(entry->d_name, "01-") ||
                        text_starts_with(entry->d_name, "04-");
        assert_int_equal(real.desired.error_count == 0, is_sound);
        for (size_t i = 0; i < real.desired.diagnostic_count; i++)
            assert_true(real.desired.diagnostics[i].text[0] != '\0');
        arena_free(real.arena);
        buf_done(&alone.text);
        count++;
    }
    closedir(folder);
    assert_true(count > 20);
}

int main(void)
{
    if (access(REAL, R_OK) != 0) {
        printf("skipped: test_manifests_real (the real manifests are not beside the project)\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_false_errors),
        cmocka_unit_test(test_expected_items),
        cmocka_unit_test(test_malformed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
