/* Out of memory anywhere in the manifest stage: an error of its class, nothing lost, no crash. The example
 * repository is loaded with each allocation failing in turn. */
#include "failing_alloc.h"
#include "manifest/manifest.h"
#include "manifest_archive.h"
#include "repository/repository.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FAULTS = 38, SETTINGS_FAULTS = 23 };

static int read_file(void *context, const char *path, struct buf *out, struct err *e)
{
    return repository_read(context, path, out, e);
}

static int list_folder(void *context, const char *folder,
                       void (*each)(void *user, const char *name, bool is_folder), void *user, struct err *e)
{
    const struct repository_entry *entries;
    size_t count;
    if (repository_list(context, folder, &entries, &count, e) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        each(user, entries[i].name, entries[i].type == ENTRY_FOLDER);
    return 0;
}

static int resolve_path(void *context, const char *path, struct arena *arena, const char **out,
                        struct string_list *links, struct err *e)
{
    return repository_resolve(context, path, arena, out, links, e);
}

static const char *variable(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "PACKAGE_HOST") == 0 ? "https://packages.example.com" : NULL;
}

static bool none_is_set(void *context, const char *name)
{
    (void)context;
    (void)name;
    return false;
}

/* Everything from opening the folder on. */
static int load(struct err *e, size_t *teams, size_t *errors)
{
    const struct repository_options options = {.directory = TEST_SOURCE_DIR "/../manifests-example",
                                               .max_file_bytes = 1024 * 1024,
                                               .clock = clock_system()};
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(64 * 1024 * 1024);
    if (arena == NULL)
        return err_set(e, ERR_MEMORY, "out of memory");
    CLEANUP(repository_cleanup) struct repository *repository = repository_open(&options, e);
    if (repository == NULL)
        return -1;
    const struct manifest_source source = {
        .list = list_folder, .read = read_file, .resolve = resolve_path, .context = repository};
    static const char *const changed[] = {"lib/", "tender.yml"};
    struct settings settings;
    const struct manifest_options manifest = {.subdir = "",
                                              .max_document_bytes = 1024 * 1024,
                                              .variable = variable,
                                              .changed = {true, ARRAY_LENGTH(changed), changed},
                                              .settings = &settings};
    struct desired desired = {.team_count = 0};
    if (settings_init(&settings, e) < 0 ||
        manifest_load_settings(&source, &manifest, none_is_set, NULL, &settings, arena, &desired, e) < 0 ||
        manifest_load(&source, &manifest, arena, &desired, e) < 0)
        return -1;
    *teams = desired.team_count;
    *errors = desired.error_count;
    return 0;
}

static void test_example_is_sound(void **state)
{
    (void)state;
    struct err e;
    size_t teams = 0;
    size_t errors = 0;
    err_init(&e);
    if (load(&e, &teams, &errors) < 0)
        fail_msg("%s", e.text);
    assert_int_equal(teams, 4);
    assert_int_equal(errors, 0);
}

static void test_each_allocation_fails(void **state)
{
    (void)state;
    struct err e;
    size_t teams = 0;
    size_t errors = 0;
    err_init(&e);
    failing_alloc_start(0, false);
    int result = load(&e, &teams, &errors);
    long total = failing_alloc_stop();
    assert_int_equal(result, 0);
    assert_true(total > 20);
    for (int all_behind = 0; all_behind < 2; all_behind++)
        for (long nth = 1; nth <= total; nth++) {
            err_init(&e);
            failing_alloc_start(nth, all_behind != 0);
            result = load(&e, &teams, &errors);
            failing_alloc_stop();
            if (result != -1 || e.class != ERR_MEMORY)
                fail_msg("allocation %ld: %d, %s: %s", nth, result, err_class_name(e.class), e.text);
        }
    print_message("%ld allocations failed in turn\n", total);
}

/* Loads the example with an arena of `size` bytes. */
static int load_in(size_t size, struct desired *desired, struct err *e)
{
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(size);
    assert_non_null(arena);
    const struct repository_options options = {.directory = TEST_SOURCE_DIR "/../manifests-example",
                                               .max_file_bytes = 1024 * 1024,
                                               .clock = clock_system()};
    CLEANUP(repository_cleanup) struct repository *repository = repository_open(&options, e);
    assert_non_null(repository);
    const struct manifest_source source = {.list = list_folder, .read = read_file, .context = repository};
    const struct manifest_options manifest = {
        .subdir = "", .max_document_bytes = 1024 * 1024, .variable = variable};
    return manifest_load(&source, &manifest, arena, desired, e);
}

/* Most memory comes out of the arena: its maximum, a little larger each time, makes each of its allocations
 * fail. */
static void test_arena_is_too_small(void **state)
{
    (void)state;
    size_t failures = 0;
    for (size_t size = 16;; size += 16, failures++) {
        struct err e;
        struct desired desired = {.team_count = 0};
        err_init(&e);
        if (load_in(size, &desired, &e) == 0)
            break;
        assert_int_equal(e.class, ERR_MEMORY);
        assert_int_equal(desired.team_count, 0); /* outputs are touched only on success */
    }
    assert_true(failures > 1000);
    print_message("%zu sizes were too small\n", failures);
}

/* Every way of complaining: over several files, with advice, with the places of others, out of the YAML. */
static const char faulty[] =
    "== teams/a.yml\nname: Ä\ncontrols:\n  path: ../lib/controls.yml\nsoftware:\n  packages:\n"
    "    - path: ../lib/p.yml\n    - path: ../lib/none.yml\n    - path: lib/p.yml\n    - url: $NOT_SET/x\n"
    "      colour: red\n      labels_include_any: []\n      self_service: 'true'\n    - url: |\n        x\n"
    "    - path: ../Lib/s.sh\n  fleet_maintained_apps:\n    - slug: x/macos\n    - version: 1\n"
    "== teams/b.yml\nname: a\nsoftware:\n  packages:\n    - path: ../lib/p.yml\n    - path: ../lib/none.yml\n"
    "== teams/c.yml\nname: C\nsoftware:\n\tpackages:\n"
    "== teams/d.yml\nname: D\nsofware:\n"
    "== teams/e.yml\nname: E\ncontrols: {path: ../lib/bad.yml}\nbase: &b {colour: red, icon: {path: "
    "../lib/s.sh}}\n"
    "software:\n  packages:\n    - &x\n      <<: *b\n      url: https://P.example.com:443/c.deb\n    - *x\n"
    "    - {<<: *b, url: 'https://p.example.com/c.deb'}\n    - path: ../lib/nested.yml\n    - path: "
    "../lib/x.txt\n"
    "    - path: f.yml\n    - paths: ../*/*.sh\n  app_store_apps: [{app_store_id: 1}, {app_store_id: x}, "
    "{app_store_id: 1, platform: ios}]\n"
    "== teams/f.yml\nname: F\ncontrols: {path: ../lib/bad.yml}\nsoftware: {packages: [{path: "
    "../lib/nested.yml}]}\n"
    "== teams/f.yaml\nname: F2\n"
    "== teams/g.yml\nname: G\ncontrols:\n  macos_setup:\n    software: [{package_pth: x}, {package_path: "
    "P.yml}, y]\n"
    "  setup_experience: {software: []}\n"
    "== Teams/h.yml\nname: H\n"
    "== lib/nested.yml\n- path: p.yml\n- name: x\n- {url: https, hash_sha256: abc, pre_install_query: {path: "
    "bad.yml}}\n"
    "== lib/bad.yml\na: \"x\n"
    "== lib/p.yml\n- url: https://p.example.com/a.deb\n  install_script: {path: missing.sh}\n"
    "- url: https://p.example.com/b.exe\n"
    "== lib/controls.yml\nsetup_experience:\n  software:\n    - package_path: p.yml\n    - app_store_id: 1\n"
    "== lib/s.sh\n#!/bin/sh\necho $FLEET_SECRET_X\n";

/* Loads it, out of an arena of `size` bytes. */
static int load_faulty(size_t size, size_t *diagnostics, struct err *e)
{
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(size);
    struct archive archive;
    struct desired desired = {.team_count = 0};
    if (arena == NULL)
        return err_set(e, ERR_MEMORY, "out of memory");
    archive_read(&archive, faulty, sizeof faulty - 1);
    const struct manifest_source source = archive_source(&archive);
    const struct manifest_options manifest = {
        .subdir = "", .max_document_bytes = 1024 * 1024, .variable = variable};
    int result = manifest_load(&source, &manifest, arena, &desired, e);
    *diagnostics = desired.diagnostic_count;
    return result;
}

/* The same for tender.yml and what hangs on it. */
static const char faulty_settings[] =
    "== tender.yml\nfiles: [teams/*.yml, other/*.yml, teams, /x.yml]\nteams: [A, Bb*, Aa]\nexclude_teams: "
    "['C*']\n"
    "allowed_sources: [https://p.example.com/, ftp://x]\nretry: {attempts: 3}\nretry_max: 1 "
    "parsec\nprune_teams: [~]\n"
    "sources:\n  - {prefix: https://p.example.com/, header: x}\n  - {prefix: https://p.example.com/, colour: "
    "red}\n"
    "  - {prefix: \"\"}\n  - prefix: $NOT_SET\nmirrors:\n  https://p.example.com/: [https://m.example.com/, "
    "1]\n"
    "backup_urls:\n  lib/p.yml: https://b.example.com/p\n  lib/two.yml: https://b.example.com/p\n"
    "  lib/q.yml: https://b.example.com/p\n  https://p.example.com/x: https://b.example.com/x\n  ../x: y\n  "
    "a: [b]\n"
    "guards:\n  - team: Aaa\n    prune: true\n  - {team: Aaa}\n  - x\n"
    "== tender.yaml\nprune: true\n== part/tender.yml\nprune: true\n== part/teams/x.yml\nname: X\n"
    "== teams/a.yml\nname: A\nsoftware:\n  packages:\n    - path: ../lib/two.yml\n"
    "== teams/c.yml\nname: C\n== lib/two.yml\n- url: https://p.example.com/1\n- url: "
    "https://p.example.com/2\n"
    "== lib/p.yml\nurl: https://p.example.com/3\n";

static int load_faulty_settings(size_t size, size_t *diagnostics, struct err *e)
{
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(size);
    struct archive archive;
    struct settings settings;
    struct desired desired = {.team_count = 0};
    if (arena == NULL || settings_init(&settings, e) < 0)
        return err_set(e, ERR_MEMORY, "out of memory");
    archive_read(&archive, faulty_settings, sizeof faulty_settings - 1);
    const struct manifest_source source = archive_source(&archive);
    struct manifest_options manifest = {
        .subdir = "", .max_document_bytes = 1024 * 1024, .variable = variable, .settings = &settings};
    if (manifest_load_settings(&source, &manifest, none_is_set, NULL, &settings, arena, &desired, e) < 0)
        return -1;
    manifest.files = settings.files;
    manifest.teams = settings.teams;
    manifest.exclude_teams = settings.exclude_teams;
    settings.selection_in_doubt = false; /* the other half of the complaints */
    if (manifest_load(&source, &manifest, arena, &desired, e) < 0)
        return -1;
    *diagnostics = desired.diagnostic_count;
    return 0;
}

/* Each arena that is too small, then each other allocation; the number of findings where all is well. */
static size_t fail_each(int (*load_in_arena)(size_t size, size_t *diagnostics, struct err *e))
{
    struct err e;
    size_t diagnostics = 0;
    size_t failures = 0;
    for (size_t size = 16;; size += 16, failures++) {
        err_init(&e);
        if (load_in_arena(size, &diagnostics, &e) == 0)
            break;
        assert_int_equal(e.class, ERR_MEMORY);
        assert_int_equal(diagnostics, 0); /* outputs are touched only on success */
    }
    assert_true(failures > 500);
    failing_alloc_start(0, false);
    assert_int_equal(load_in_arena(1 << 24, &diagnostics, &e), 0);
    long total = failing_alloc_stop();
    size_t found = diagnostics;
    for (long nth = 1; nth <= total; nth++) {
        err_init(&e);
        failing_alloc_start(nth, false);
        int result = load_in_arena(1 << 24, &diagnostics, &e);
        failing_alloc_stop();
        if (result != -1 || e.class != ERR_MEMORY)
            fail_msg("allocation %ld: %d, %s: %s", nth, result, err_class_name(e.class), e.text);
    }
    print_message("%zu sizes were too small; %ld allocations failed in turn\n", failures, total);
    return found;
}

static void test_complaining_without_memory(void **state)
{
    (void)state;
    assert_int_equal(fail_each(load_faulty), FAULTS);
}

static void test_settings_without_memory(void **state)
{
    (void)state;
    assert_int_equal(fail_each(load_faulty_settings), SETTINGS_FAULTS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example_is_sound),        cmocka_unit_test(test_each_allocation_fails),
        cmocka_unit_test(test_arena_is_too_small),      cmocka_unit_test(test_complaining_without_memory),
        cmocka_unit_test(test_settings_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
