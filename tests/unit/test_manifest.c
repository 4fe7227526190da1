/* What the manifest stage makes of sound files: the three states of a list, overlays, variables, secrets, who
 * is a team, settings. What it says of unsound ones: tests/manifest. */
#include "base/text.h"
#include "manifest_archive.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DIGEST "9634fb7b7e7603013962779532af747db2046fb20b175f927a5c45d1f5f6e82e"

struct loaded {
    struct arena *arena;
    struct archive *archive;
    struct desired desired;
    struct settings settings;
};

static const char *variable(void *context, const char *name)
{
    static const char *const set[][2] = {{"HOST", "https://p.example.com"},
                                         {"TEAM", "  From: a - variable # 1 "},
                                         {"TOKEN", "t0ken"},
                                         {"FLEET_SECRET_KEY", "value"}};
    (void)context;
    for (size_t i = 0; i < ARRAY_LENGTH(set); i++)
        if (strcmp(set[i][0], name) == 0)
            return set[i][1];
    return NULL;
}

static bool parallel_is_set(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "parallel") == 0;
}

static struct loaded load_with(const char *text, struct manifest_options options)
{
    struct err e;
    err_init(&e);
    struct loaded loaded = {.arena = arena_new(512 * 1024 * 1024), .archive = malloc(sizeof *loaded.archive)};
    assert_non_null(loaded.arena);
    assert_non_null(loaded.archive);
    archive_read(loaded.archive, text, strlen(text));
    const struct manifest_source source = archive_source(loaded.archive);
    options.max_document_bytes = 4 * 1024 * 1024;
    options.variable = variable;
    if (settings_init(&loaded.settings, &e) < 0 ||
        manifest_load_settings(&source, &options, parallel_is_set, NULL, &loaded.settings, loaded.arena,
                               &loaded.desired, &e) < 0)
        fail_msg("%s", e.text);
    options.settings = &loaded.settings;
    if (loaded.settings.exclude_teams.is_set)
        options.exclude_teams = loaded.settings.exclude_teams;
    if (manifest_load(&source, &options, loaded.arena, &loaded.desired, &e) < 0)
        fail_msg("%s", e.text);
    return loaded;
}

/* Without a single diagnostic. */
static struct loaded load(const char *text)
{
    struct loaded loaded = load_with(text, (struct manifest_options){.subdir = ""});
    if (loaded.desired.diagnostic_count > 0) {
        char line[1024];
        fail_msg("%s", archive_diagnostic(&loaded.desired.diagnostics[0], line, sizeof line));
    }
    return loaded;
}

static void done(struct loaded *loaded)
{
    arena_free(loaded->arena);
    free(loaded->archive);
}

static void test_three_states(void **state)
{
    (void)state;
    struct loaded loaded = load("== teams/a.yml\nname: A\n"
                                "== teams/b.yml\nname: B\nsoftware:\n"
                                "== teams/c.yml\nname: C\nsoftware:\n  packages:\n  app_store_apps: []\n"
                                "== teams/d.yml\nname: D\nsoftware:\n  packages:\n    # - url: x\n  "
                                "fleet_maintained_apps: ~\n"
                                "== teams/e.yml\nname: E\nsoftware: {}\n");
    static const enum list_state expected[][3] = {{LIST_ABSENT, LIST_ABSENT, LIST_ABSENT},
                                                  {LIST_NULL, LIST_NULL, LIST_NULL},
                                                  {LIST_NULL, LIST_ABSENT, LIST_GIVEN},
                                                  {LIST_NULL, LIST_NULL, LIST_ABSENT},
                                                  {LIST_ABSENT, LIST_ABSENT, LIST_ABSENT}};
    assert_int_equal(loaded.desired.team_count, ARRAY_LENGTH(expected));
    for (size_t i = 0; i < ARRAY_LENGTH(expected); i++) {
        const struct desired_team *team = &loaded.desired.teams[i];
        assert_int_equal(team->packages.state, expected[i][0]);
        assert_int_equal(team->maintained_apps.state, expected[i][1]);
        assert_int_equal(team->app_store_apps.state, expected[i][2]);
        assert_int_equal(team->packages.count, 0);
    }
    done(&loaded);
}

static void test_every_field(void **state)
{
    (void)state;
    struct loaded loaded = load(
        "== teams/a.yml\nname: A\nsoftware:\n  packages:\n"
        "    - url: https://p.example.com/a%20b%2B.deb?x=$1\n"
        "      hash_sha256: 9634FB7B7E7603013962779532AF747DB2046FB20B175F927A5C45D1F5F6E82E\n"
        "      backup_urls: [https://q.example.com/a.deb]\n"
        "      install_script:\n        path: ../lib/i.sh\n"
        "      uninstall_script:\n        path: ../lib/u.sh\n"
        "      post_install_script:\n        path: ../lib/p.sh\n"
        "      pre_install_query:\n        path: ../lib/q.yml\n"
        "      self_service: yes\n      labels_include_all: [X, \"Y z\"]\n      categories: []\n"
        "      setup_experience: false\n      setup_experience_platform: macos\n      display_name: 0123\n"
        "  fleet_maintained_apps:\n"
        "    - {slug: a/darwin, version: 1.10, setup_experience: true, categories: [Browsers]}\n"
        "  app_store_apps:\n"
        "    - {app_store_id: 0803453959, platform: ios, auto_update_enabled: on, auto_update_window_start: "
        "01:00,\n"
        "       auto_update_window_end: \"02:00\", labels_exclude_any: [L], self_service: yes}\n"
        "== lib/i.sh\n#!/bin/sh\r\necho $HOME ${x}\r\n"
        "== lib/u.sh\nu\n== lib/p.sh\np\n"
        "== lib/q.yml\napiVersion: v1\nkind: query\nspec:\n  name: q\n  query: SELECT '$x';\n");
    const struct software_item *item = &loaded.desired.teams[0].packages.items[0];
    assert_int_equal(item->kind, SOFTWARE_PACKAGE);
    assert_string_equal(item->url, "https://p.example.com/a%20b%2B.deb?x=$1");
    assert_string_equal(item->sha256, DIGEST);
    assert_int_equal(item->backup_urls.count, 1);
    assert_string_equal(item->install_script.path, "lib/i.sh");
    assert_string_equal(item->install_script.text, "#!/bin/sh\necho $HOME ${x}\n");
    assert_int_equal(item->install_script.length, strlen(item->install_script.text));
    assert_string_equal(item->uninstall_script.text, "u\n");
    assert_string_equal(item->post_install_script.text, "p\n");
    assert_string_equal(item->pre_install_query.text, "SELECT '$x';");
    assert_true(item->self_service);
    assert_int_equal(item->label_mode, LABELS_INCLUDE_ALL);
    assert_string_equal(item->labels.items[1], "Y z");
    assert_true(item->categories.is_set);
    assert_int_equal(item->categories.count, 0);
    assert_int_equal(item->setup_experience, TRISTATE_FALSE);
    assert_string_equal(item->setup_experience_platforms.items[0], "macos");
    assert_string_equal(item->display_name, "0123");
    assert_string_equal(item->package_file, "");
    assert_int_equal(item->place.line, 4);
    assert_int_equal(item->place.column, 7);
    const struct software_item *app = &loaded.desired.teams[0].maintained_apps.items[0];
    assert_int_equal(app->kind, SOFTWARE_MAINTAINED_APP);
    assert_string_equal(app->slug, "a/darwin");
    assert_string_equal(app->version, "1.10");
    assert_int_equal(app->setup_experience, TRISTATE_TRUE);
    const struct software_item *store = &loaded.desired.teams[0].app_store_apps.items[0];
    assert_int_equal(store->kind, SOFTWARE_APP_STORE_APP);
    assert_string_equal(store->app_store_id, "0803453959");
    assert_int_equal(store->auto_update_enabled, TRISTATE_TRUE);
    assert_string_equal(store->auto_update_window_start, "01:00");
    assert_int_equal(store->label_mode, LABELS_EXCLUDE_ANY);
    assert_true(store->self_service);
    done(&loaded);
}

static void test_absent_fields(void **state)
{
    (void)state;
    struct loaded loaded =
        load("== teams/a.yml\nname: A\nsoftware:\n  packages:\n"
             "    - hash_sha256: " DIGEST "\n      url:\n      categories:\n      "
             "labels_include_any:\n      self_service:\n      install_script:\n      icon:\n");
    const struct software_item *item = &loaded.desired.teams[0].packages.items[0];
    assert_null(item->url);
    assert_false(item->categories.is_set);
    assert_false(item->labels.is_set);
    assert_int_equal(item->label_mode, LABELS_NONE);
    assert_int_equal(item->setup_experience, TRISTATE_ABSENT);
    assert_null(item->install_script.path);
    assert_null(item->display_name);
    done(&loaded);
}

static void test_overlay(void **state)
{
    (void)state;
    struct loaded loaded =
        load("== teams/a.yml\nname: A\nsoftware:\n  packages:\n    - path: ../lib/x/one.yml\n      "
             "self_service: true\n"
             "      labels_include_any: [A]\n      display_name: Mine\n      setup_experience: true\n      "
             "categories: [C]\n"
             "    - path: ../lib/x/two.yaml\n"
             "== teams/b.yml\nname: B\nsoftware:\n  packages:\n    - path: ./../lib/x/../x/one.yml\n      "
             "labels_exclude_any: [B]\n"
             "== lib/x/one.yml\nurl: https://p.example.com/one.deb\ndisplay_name: Theirs\ninstall_script: "
             "{path: ./i.sh}\n"
             "== lib/x/i.sh\ni\n"
             "== lib/x/two.yaml\n- url: https://p.example.com/two.deb\n  labels_include_any: [T]\n- "
             "hash_sha256: " DIGEST "\n");
    const struct software_list *a = &loaded.desired.teams[0].packages;
    const struct software_item *b = &loaded.desired.teams[1].packages.items[0];
    assert_int_equal(a->count, 3);
    assert_string_equal(a->items[0].url, "https://p.example.com/one.deb");
    assert_string_equal(a->items[0].package_file, "lib/x/one.yml");
    assert_string_equal(a->items[0].display_name, "Mine");
    assert_string_equal(a->items[0].install_script.path, "lib/x/i.sh");
    assert_string_equal(a->items[0].labels.items[0], "A");
    assert_int_equal(a->items[0].setup_experience, TRISTATE_TRUE);
    assert_true(a->items[0].self_service);
    assert_string_equal(a->items[0].place.file, "teams/a.yml");
    assert_string_equal(a->items[0].origin.file, "lib/x/one.yml");
    assert_int_equal(a->items[1].origin.line, 1);
    assert_int_equal(a->items[2].origin.line, 3);
    assert_string_equal(a->items[1].labels.items[0], "T");
    assert_string_equal(a->items[2].sha256, DIGEST);
    /* One file for two teams, each with its own labels. */
    assert_string_equal(b->package_file, "lib/x/one.yml");
    assert_string_equal(b->display_name, "Theirs");
    assert_int_equal(b->label_mode, LABELS_EXCLUDE_ANY);
    assert_false(b->self_service);
    assert_int_equal(loaded.desired.file_count, 5);
    done(&loaded);
}

static void test_scripts_as_packages(void **state)
{
    (void)state;
    struct loaded loaded =
        load("== teams/a.yml\nname: A\nsoftware:\n  packages:\n"
             "    - path: ../lib/in stall (1) & \xF0\x9F\x94\x90.sh\n      self_service: true\n"
             "    - paths: ../lib/more/**/*.ps1\n"
             "== lib/in stall (1) & \xF0\x9F\x94\x90.sh\necho\r\n"
             "== lib/more/b.ps1\nb\n== lib/more/deep/a.ps1\na\n== lib/more/a.txt\nx\n");
    const struct software_list *list = &loaded.desired.teams[0].packages;
    assert_int_equal(list->count, 3);
    assert_int_equal(list->items[0].kind, SOFTWARE_SCRIPT_PACKAGE);
    assert_string_equal(list->items[0].script.text, "echo\r\n");
    /* printf 'echo\r\n' | sha256sum */
    assert_string_equal(list->items[0].sha256,
                        "201cf3a0544992497de66344612d368153de5f047718952f5e8c80b17d9ba4a4");
    assert_string_equal(list->items[1].script.path, "lib/more/b.ps1");
    assert_string_equal(list->items[2].script.path, "lib/more/deep/a.ps1");
    assert_null(list->items[0].url);
    done(&loaded);
}

static void test_missing_reference_still_appears(void **state)
{
    (void)state;
    struct loaded loaded = load_with(
        "== teams/a.yml\nname: A\nsoftware:\n  packages:\n    - path: ../lib/none.yml\n    - path: "
        "../lib/none.sh\n    - url: https://p.example.com/a.deb\n      install_script: {path: ../lib/n.sh}\n"
        "== teams/b.yml\nname: B\nsoftware:\n",
        (struct manifest_options){.subdir = ""});
    const struct software_list *list = &loaded.desired.teams[0].packages;
    assert_int_equal(loaded.desired.error_count, 3);
    assert_int_equal(list->count, 3);
    assert_string_equal(list->items[0].package_file, "lib/none.yml");
    assert_string_equal(list->items[1].script.path, "lib/none.sh");
    assert_null(list->items[1].script.text);
    assert_string_equal(list->items[2].install_script.path, "lib/n.sh");
    assert_null(list->items[2].install_script.text);
    assert_true(loaded.desired.teams[0].is_invalid);
    assert_false(loaded.desired.teams[1].is_invalid);
    done(&loaded);
}

static void test_variables(void **state)
{
    (void)state;
    struct loaded loaded = load("== teams/a.yml\nname: $TEAM\npolicies: $NOT_SET\nsoftware:\n  packages:\n"
                                "    - url: '${HOST}/$HOST\\$HOST-$-$1${-$FLEET_VAR_X'\n"
                                "      display_name: a $$ \\$ \\\\ \\n\n");
    const struct desired_team *team = &loaded.desired.teams[0];
    assert_string_equal(team->name, "From: a - variable # 1");
    assert_string_equal(team->packages.items[0].url,
                        "https://p.example.com/https://p.example.com$HOST-$-$1${-$FLEET_VAR_X");
    assert_string_equal(team->packages.items[0].display_name, "a $$ $ \\\\ \\n");
    done(&loaded);
}

static void test_secrets(void **state)
{
    (void)state;
    struct loaded loaded =
        load("== teams/a.yml\nname: A\nsoftware:\n  packages:\n    - path: ../lib/a.sh\n"
             "    - url: https://p.example.com/a.deb\n      install_script: {path: ../lib/b.sh}\n"
             "== lib/a.sh\n#!/bin/sh\nx=$FLEET_SECRET_KEY $FLEET_SECRET_ $FLEET_SECRET_KEY\n"
             "== lib/b.sh\n${FLEET_SECRET_OTHER} $FLEET_SECRET_KEY $$FLEET_SECRET_X$");
    assert_int_equal(loaded.desired.secret_count, 3);
    assert_string_equal(loaded.desired.secrets[0].name, "KEY");
    assert_string_equal(loaded.desired.secrets[0].value, "value");
    assert_string_equal(loaded.desired.secrets[0].used_at.file, "teams/a.yml");
    assert_int_equal(loaded.desired.secrets[0].used_at.line, 4);
    assert_string_equal(loaded.desired.secrets[1].name, "OTHER");
    assert_null(loaded.desired.secrets[1].value);
    assert_string_equal(loaded.desired.secrets[2].name, "X");
    done(&loaded);
}

static void test_who_is_a_team(void **state)
{
    (void)state;
    static const char text[] =
        "== teams/a.yml\nname: A\n== teams/b.yaml\nname: B\n== fleets/c.yml\nname: C\n"
        "== sub/teams/d.yml\nname: D\n== sub/deep/teams/e.yml\nname: E\n"
        "== teams/no-team.yml\nname: no team\n== other/f.yml\nname: F\n== teams/x.txt\nname: X\n"
        "== teams/org.yml\norg_settings:\n== .hidden/teams/h.yml\nname: H\n";
    static const struct {
        const char *subdir;
        const char *file, *team;
        const char *names; /* in order */
    } cases[] = {
        {"", NULL, NULL, "C D A B no team "},
        {"sub", NULL, NULL, "E D "},
        {"sub/", NULL, NULL, "E D "},
        {"", "other/*.yml", NULL, "F "},
        {"", "**/*.yml", "[CDF]", "C F D "},
        {"", "teams/b.yaml", NULL, "B "},
        {"", NULL, "[AB]", "A B "},
        {"", NULL, "no*", "no team "},
        {"", NULL, "none", ""},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct manifest_options options = {.subdir = cases[i].subdir};
        if (cases[i].file != NULL)
            options.files = (struct string_list){true, 1, &cases[i].file};
        if (cases[i].team != NULL)
            options.teams = (struct string_list){true, 1, &cases[i].team};
        struct loaded loaded = load_with(text, options);
        char names[256] = "";
        for (size_t k = 0; k < loaded.desired.team_count; k++) {
            strcat(names, loaded.desired.teams[k].name);
            strcat(names, " ");
            assert_int_equal(loaded.desired.teams[k].is_no_team,
                             strcmp(loaded.desired.teams[k].name, "no team") == 0);
        }
        assert_string_equal(names, cases[i].names);
        done(&loaded);
    }
}

static void test_nothing_matches(void **state)
{
    (void)state;
    const char *file = "teams/x*.yml";
    struct loaded loaded = load_with("== teams/a.yml\nname: A\n",
                                     (struct manifest_options){.subdir = "", .files = {true, 1, &file}});
    assert_int_equal(loaded.desired.team_count, 0);
    assert_int_equal(loaded.desired.error_count, 1);
    assert_string_equal(loaded.desired.diagnostics[0].place.file, file);
    done(&loaded);
}

static void test_no_such_team(void **state)
{
    (void)state;
    static const char *const teams[] = {"A", "b*"};
    struct loaded loaded = load_with("== teams/a.yml\nname: A\n",
                                     (struct manifest_options){.subdir = "", .teams = {true, 2, teams}});
    assert_int_equal(loaded.desired.team_count, 1);
    assert_int_equal(loaded.desired.error_count, 1);
    assert_string_equal(loaded.desired.diagnostics[0].text, "no team's name matches \"b*\"");
    done(&loaded);
}

/* An error in a team that was not asked for is not told. */
static void test_left_out_team_is_silent(void **state)
{
    (void)state;
    const char *team = "A";
    struct loaded loaded = load_with(
        "== teams/a.yml\nname: A\n== teams/b.yml\nname: B\nsofware:\n== teams/c.yml\nname: C\nx: \"\n",
        (struct manifest_options){.subdir = "", .teams = {true, 1, &team}});
    assert_int_equal(loaded.desired.team_count, 1);
    assert_int_equal(loaded.desired.diagnostic_count, 0);
    done(&loaded);
}

static void test_setup_experience(void **state)
{
    (void)state;
    struct loaded loaded =
        load("== teams/a.yml\nname: A\ncontrols:\n  setup_experience:\n    software:\n      - package_path: "
             "../lib/a.yml\n      - app_store_id: '7'\nsoftware:\n  packages:\n    - path: ../lib/a.yml\n    "
             "- url: "
             "https://p.example.com/b.pkg\n  app_store_apps:\n    - app_store_id: 7\n    - app_store_id: 8\n"
             "== lib/a.yml\nurl: https://p.example.com/a.pkg\n");
    const struct desired_team *team = &loaded.desired.teams[0];
    assert_int_equal(team->packages.items[0].setup_experience, TRISTATE_TRUE);
    assert_int_equal(team->packages.items[1].setup_experience, TRISTATE_ABSENT);
    assert_int_equal(team->app_store_apps.items[0].setup_experience, TRISTATE_TRUE);
    assert_int_equal(team->app_store_apps.items[1].setup_experience, TRISTATE_ABSENT);
    done(&loaded);
}

static void test_settings(void **state)
{
    (void)state;
    struct loaded loaded =
        load("== tender.yml\nprune: true\nparallel: 3\nretry_attempts: 5\nfiles: [teams/a.yml]\n"
             "prune_teams:\n  - A\n  - B\nsources:\n  - prefix: https://p.example.com/\n"
             "    header: \"X-Token: $TOKEN\"\n    retry_initial: 100ms\n"
             "  - prefix: https://q.example.com/\n    username: u\n    password: ${TOKEN}\n"
             "== teams/a.yml\nname: A\n");
    assert_true(loaded.settings.prune);
    assert_int_equal(loaded.settings.limits.parallel, 8); /* a flag gave it */
    assert_int_equal(loaded.settings.retry.rounds, 5);
    assert_int_equal(loaded.settings.files.count, 1);
    assert_int_equal(loaded.settings.prune_teams.count, 2);
    assert_string_equal(loaded.settings.prune_teams.items[1], "B");
    assert_int_equal(loaded.settings.source_count, 2);
    assert_string_equal(loaded.settings.sources[0].header, "X-Token: t0ken");
    assert_int_equal(loaded.settings.sources[0].retry.initial_ms, 100);
    assert_int_equal(loaded.settings.sources[0].retry.rounds, 5);
    assert_int_equal(loaded.settings.sources[1].retry.initial_ms, 2000);
    assert_string_equal(loaded.settings.sources[1].password, "t0ken");
    done(&loaded);
}

static void test_backups(void **state)
{
    (void)state;
    struct loaded loaded =
        load("== tender.yml\nbackup_urls:\n  lib/a.yml: [https://b.example.com/a1, $HOST/a]\n"
             "  ./lib/b.yml: https://b.example.com/b\n"
             "  https://p.example.com/a:\n    - https://b.example.com/a1\n"
             "    - https://b.example.com/a2\n"
             "== teams/a.yml\nname: A\nsoftware:\n  packages:\n    - path: ../lib/a.yml\n"
             "    - path: ../lib/b.yml\n    - url: https://p.example.com/c\n"
             "== teams/b.yml\nname: B\nsoftware:\n  packages:\n"
             "    - url: https://p.example.com/a\n"
             "== lib/a.yml\nurl: https://p.example.com/a\n"
             "== lib/b.yml\nurl: https://p.example.com/b\nbackup_urls: [https://b.example.com/own]\n");
    const struct software_item *items = loaded.desired.teams[0].packages.items;
    assert_int_equal(items[0].backup_urls.count, 2); /* neither its own URL nor the same one twice */
    assert_string_equal(items[0].backup_urls.items[0], "https://b.example.com/a1");
    assert_string_equal(items[0].backup_urls.items[1], "https://b.example.com/a2");
    assert_int_equal(items[1].backup_urls.count, 2);
    assert_string_equal(items[1].backup_urls.items[0],
                        "https://b.example.com/own"); /* the package's come first */
    assert_string_equal(items[1].backup_urls.items[1], "https://b.example.com/b");
    assert_int_equal(items[2].backup_urls.count, 0);
    assert_int_equal(loaded.desired.teams[1].packages.items[0].backup_urls.count, 2);
    done(&loaded);
}

static void test_guards(void **state)
{
    (void)state;
    struct loaded loaded = load("== tender.yml\nmax_removals: 7\nallow_empty: true\nguards:\n"
                                "  - team: '[!B]*'\n    prune: true\n    max_removals: 2\n"
                                "  - {team: A, allow_empty: false}\n  - {team: B, prune: 'no'}\n"
                                "exclude_teams: [B]\n== teams/a.yml\nname: A\n== teams/b.yml\nname: B\n");
    const struct guard_rule *guards = loaded.settings.guards;
    assert_int_equal(loaded.settings.guard_count, 3);
    assert_string_equal(guards[0].team, "[!B]*");
    assert_int_equal(guards[0].prune, TRISTATE_TRUE);
    assert_int_equal(guards[0].max_removals, 2);
    assert_true(guards[0].allow_empty);
    assert_int_equal(guards[1].prune, TRISTATE_ABSENT);
    assert_false(guards[1].allow_empty);
    assert_int_equal(guards[1].max_removals, 7);
    assert_int_equal(guards[2].prune, TRISTATE_FALSE);
    assert_int_equal(loaded.desired.team_count, 1); /* B is left out */
    char origin[64];
    const struct settings *settings = &loaded.settings;
    assert_string_equal(settings_origin_text(settings, settings_find("max-removals"), origin, sizeof origin),
                        "tender.yml:1");
    assert_string_equal(settings_origin_text(settings, settings_find("prune"), origin, sizeof origin),
                        "default");
    done(&loaded);
}

/* --changed-since: the reference graph decides. */
static void test_changed(void **state)
{
    (void)state;
    static const char text[] =
        "== teams/a.yml\nname: A\nsoftware:\n  packages:\n    - path: ../lib/one.yml\n"
        "== teams/b.yml\nname: B\nsoftware:\n  packages:\n    - path: ../lib/one.yml\n    - path: ../x/s.sh\n"
        "== teams/c.yml\nname: C\nsoftware:\n  packages:\n    - paths: ../g/**/*.yml\n"
        "    - url: https://p.example.com/c\n      icon:\n        path: ../x/gone.png\n"
        "== lib/one.yml\nurl: https://p.example.com/a\npost_install_script:\n  path: deep/run.sh\n"
        "== lib/deep/run.sh\necho\n== x/s.sh\necho\n== g/1.yml\nurl: https://p.example.com/1\n";
    static const struct {
        const char *changed;
        const char *teams; /* their first letters */
    } cases[] = {{"lib/deep/run.sh", "AB"},
                 {"lib/one.yml", "AB"},
                 {"lib/deep/", "AB"},
                 {"lib", "AB"},
                 {"teams/b.yml", "B"},
                 {"x/s.sh", "B"},
                 {"x/", "BC"},
                 {"x/gone.png", "C"},
                 {"g/1.yml", "C"},
                 {"g/a/b/2.yml", "C"},
                 {"g/a/.b/2.yml", ""},
                 {"g/2.yaml", ""},
                 {"teams/", "ABC"},
                 {"tender.yml", "ABC"},
                 {"", "ABC"},
                 {"lib/one", ""},
                 {"lib/one.yml.bak", ""},
                 {"other.yml", ""},
                 {"teams/gone.yml", ""},
                 {"deep/run.sh", ""}};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct manifest_options options = {.subdir = "", .changed = {true, 1, &cases[i].changed}};
        struct loaded loaded = load_with(text, options);
        char teams[8] = "";
        for (size_t k = 0; k < loaded.desired.team_count; k++)
            teams[k] = loaded.desired.teams[k].name[0];
        if (strcmp(teams, cases[i].teams) != 0)
            fail_msg("%s: %s", cases[i].changed, teams);
        /* The missing icon is a mistake of C alone. */
        assert_int_equal(loaded.desired.error_count, strchr(teams, 'C') != NULL ? 1 : 0);
        done(&loaded);
    }
}

static void test_mirrors(void **state)
{
    (void)state;
    struct loaded loaded =
        load("== tender.yml\nmirrors:\n  $HOST/a/:\n    - https://m.example.com/p/\n"
             "    - http://n.example.com\n  https://q.example.com: https://m.example.com/q\n"
             "== teams/a.yml\nname: A\n");
    assert_int_equal(loaded.settings.mirror_count, 2);
    const struct mirror_rule *mirrors = loaded.settings.mirrors;
    assert_string_equal(mirrors[0].prefix, "https://p.example.com/a/");
    assert_int_equal(mirrors[0].replacements.count, 2);
    assert_string_equal(mirrors[0].replacements.items[1], "http://n.example.com");
    assert_int_equal(mirrors[1].replacements.count, 1);
    assert_string_equal(mirrors[1].replacements.items[0], "https://m.example.com/q");
    done(&loaded);
}

/* The text counts those that it does not list; `related` has all. Every finding in the file has the same. */
static void test_everybody_is_related(void **state)
{
    (void)state;
    enum { TEAMS = 30 };
    char text[TEAMS * 128];
    size_t used = (size_t)snprintf(text, sizeof text, "== lib/a.yml\ncolour: red\nsize: 1\n");
    for (int i = 0; i < TEAMS; i++)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "== teams/%02d.yml\nname: T%d\nsoftware:\n  packages:\n    - path: "
                                 "../lib/a.yml\n",
                                 i, i);
    struct loaded loaded = load_with(text, (struct manifest_options){.subdir = ""});
    assert_int_equal(loaded.desired.diagnostic_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct diagnostic *found = &loaded.desired.diagnostics[i];
        assert_true(text_starts_with(found->trail, "used by teams/00.yml:4, teams/01.yml:4, "));
        assert_true(text_ends_with(found->trail, ", teams/19.yml:4 and 10 more"));
        assert_int_equal(found->related_count, TEAMS);
        for (int k = 0; k < TEAMS; k++)
            assert_int_equal(atoi(found->related[k].file + strlen("teams/")), k);
    }
    done(&loaded);
}

/* A hundred thousand aliases of one faulty entry: one finding (`./dev bench long-files` says how quickly). */
static void test_many_aliases(void **state)
{
    (void)state;
    enum { ALIASES = 100000 };
    static const char head[] =
        "== teams/a.yml\nname: A\nsoftware:\n  fleet_maintained_apps:\n    - &a {colour: red}\n";
    static const char line[] = "    - *a\n";
    char *text = malloc(sizeof head + ALIASES * strlen(line));
    assert_non_null(text);
    char *end = stpcpy(text, head);
    for (int i = 0; i < ALIASES; i++)
        end = stpcpy(end, line);
    struct loaded loaded = load_with(text, (struct manifest_options){.subdir = ""});
    assert_int_equal(loaded.desired.diagnostic_count, 1);
    assert_true(text_ends_with(loaded.desired.diagnostics[0].trail, "and 99980 more"));
    done(&loaded);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_three_states),
        cmocka_unit_test(test_every_field),
        cmocka_unit_test(test_absent_fields),
        cmocka_unit_test(test_overlay),
        cmocka_unit_test(test_scripts_as_packages),
        cmocka_unit_test(test_missing_reference_still_appears),
        cmocka_unit_test(test_variables),
        cmocka_unit_test(test_secrets),
        cmocka_unit_test(test_who_is_a_team),
        cmocka_unit_test(test_nothing_matches),
        cmocka_unit_test(test_no_such_team),
        cmocka_unit_test(test_left_out_team_is_silent),
        cmocka_unit_test(test_setup_experience),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_changed),
        cmocka_unit_test(test_mirrors),
        cmocka_unit_test(test_backups),
        cmocka_unit_test(test_guards),
        cmocka_unit_test(test_everybody_is_related),
        cmocka_unit_test(test_many_aliases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
