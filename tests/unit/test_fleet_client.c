/* The client against fleetsim: what is read with which role, pages, what is tried again and what is not, and
 * the sentence of each refusal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text.h"
#include "deliver_world.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const role_arguments[] = {"--token", "maintainer=token-for-tests-only",
                                             "--token", "admin=the-admin",
                                             "--token", "gitops=the-gitops",
                                             "--token", "observer=the-observer",
                                             "--token", "teammaint:Workstations=the-teammaint",
                                             "--team",  "Workstations",
                                             "--team",  "Servers",
                                             "--label", "Pilot ring",
                                             NULL};

struct client {
    struct world *world;
    struct session session;
    struct arena *arena;
    struct observed observed;
    struct err e;
    int result;
};

static struct client observe_as(const char *script, const char *token, const char *const *teams, size_t count)
{
    struct client client = {.world = world_new(NULL), .arena = arena_new(ARENA_BYTES)};
    err_init(&client.e);
    sim_server_restart(&client.world->sim, script, role_arguments);
    sim_server_forget(&client.world->sim);
    client.world->settings.fleet_token = token;
    client.session = session_new(client.world, &client.e);
    session_start(client.world, &client.session, &client.e);
    client.result =
        fleet_observe(client.session.fleet, teams, count, client.arena, &client.observed, &client.e);
    return client;
}

static void client_end(struct client *client)
{
    session_end(&client->session);
    arena_free(client->arena);
    world_free(client->world);
}

static const char *const both_teams[] = {"workSTATIONS", "Servers"};

static const struct observed_team *team_of(const struct client *client, const char *name)
{
    for (size_t i = 0; i < client->observed.team_count; i++)
        if (strcmp(client->observed.teams[i].name, name) == 0)
            return &client->observed.teams[i];
    return NULL;
}

static void test_observe(void **state)
{
    (void)state;
    struct client client = observe_as(NULL, world_token, both_teams, 2);
    assert_int_equal(client.result, 0);
    assert_string_equal(client.observed.role, "maintainer");
    assert_string_equal(client.observed.server_version, "4.69.0");
    assert_int_equal(client.observed.team_count, 3);
    assert_non_null(team_of(&client, "Workstations"));
    assert_int_equal(team_of(&client, "No team")->id, 0);
    assert_true(client.observed.labels.count > 0);
    /* Two lists, and not the one of "No team", which nobody asked for. No catalogue without maintained apps.
     */
    assert_int_equal(sim_server_count(&client.world->sim, "GET", "/software/titles"), 2);
    assert_int_equal(sim_server_count(&client.world->sim, "GET", "/software/fleet_maintained_apps"), 0);
    assert_int_equal(sim_server_count(&client.world->sim, "write", "/"), 0);
    struct call_statistics *statistics = NULL;
    size_t count = 0;
    assert_int_equal(fleet_statistics(client.session.fleet, client.arena, &statistics, &count, &client.e), 0);
    size_t lists = 0;
    for (size_t i = 0; i < count; i++)
        lists += strcmp(statistics[i].call, "GET /software/titles") == 0 ? statistics[i].count : 0;
    assert_int_equal(lists, 2);
    client_end(&client);
}

static void test_no_team_by_both_names(void **state)
{
    (void)state;
    static const char *const names[] = {"No team", "unassigned"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        struct client client = observe_as(NULL, world_token, &names[i], 1);
        assert_int_equal(client.result, 0);
        assert_int_equal(sim_server_count(&client.world->sim, "GET", "/software/titles"), 1);
        client_end(&client);
    }
}

/* Who may not read, and what happens on the line: the class and the sentence, and that nothing is asked for
 * more often than the rules allow. */
static const struct {
    const char *name, *token, *script;
    enum err_class class; /* ERR_NONE: it works */
    const char *said;
    const char *counted; /* calls of this path … */
    size_t calls;        /* … that there were */
} read_cases[] = {
    {"the gitops role of 4.69 may not read", "the-gitops", NULL, ERR_UNAUTHORISED, "maintainer", "/me", 1},
    {"an observer may read", "the-observer", NULL, ERR_NONE, "", "/me", 1},
    {"a bad token", "nobody-knows-it", NULL, ERR_UNAUTHORISED, "FLEET_API_TOKEN", "/me", 1},
    {"a licence that does not cover it", "token-for-tests-only",
     "{\"api\":[{\"path\":\"/teams\",\"do\":\"status\",\"status\":402,\"body\":{\"message\":\"Requires Fleet "
     "Premium "
     "license\"}}]}",
     ERR_SERVER, "licence", "/teams", 1},
    {"502 twice", "token-for-tests-only",
     "{\"api\":[{\"path\":\"/teams\",\"nth\":[1,2],\"do\":\"status\",\"status\":502,\"content_type\":\"text/"
     "html\","
     "\"body\":\"<html>\"}]}",
     ERR_NONE, "", "/teams", 3},
    {"503 for good", "token-for-tests-only",
     "{\"api\":[{\"path\":\"/me\",\"do\":\"status\",\"status\":503,\"content_type\":\"text/html\","
     "\"body\":\"<h1>Service Unavailable</h1>\\nmore\"}]}",
     ERR_SERVER, "<h1>Service Unavailable</h1>\"", "/me", 4},
    {"the connection is reset twice", "token-for-tests-only",
     "{\"api\":[{\"path\":\"/me\",\"nth\":[1,2],\"do\":\"reset\"}]}", ERR_NONE, "", "/me", 3},
    {"the connection is reset for good", "token-for-tests-only",
     "{\"api\":[{\"path\":\"/me\",\"do\":\"reset\"}]}", ERR_NETWORK, "given up after 4 attempts", "/me", 4},
    {"an answer cut short", "token-for-tests-only",
     "{\"api\":[{\"path\":\"/teams\",\"nth\":1,\"do\":\"apply-then-cut\"}]}", ERR_NONE, "", "/teams", 2},
    {"500 of Fleet's own: once more at most", "token-for-tests-only",
     "{\"api\":[{\"path\":\"/me\",\"do\":\"status\",\"status\":500,\"body\":{\"message\":\"boom\"}}]}",
     ERR_SERVER, "boom", "/me", 2},
    {"501 is for good", "token-for-tests-only",
     "{\"api\":[{\"path\":\"/me\",\"do\":\"status\",\"status\":501,\"body\":\"what?\"}]}", ERR_SERVER, "501",
     "/me", 1},
    {"429 that asks for more than we wait", "token-for-tests-only",
     "{\"api\":[{\"path\":\"/"
     "me\",\"do\":\"status\",\"status\":429,\"headers\":{\"Retry-After\":\"86400\"},\"body\":{"
     "\"message\":\"slow\"}}]}",
     ERR_SERVER, "longer than the limit", "/me", 1},
    {"a login page with 200", "token-for-tests-only",
     "{\"api\":[{\"path\":\"/me\",\"do\":\"status\",\"status\":200,\"content_type\":\"text/"
     "html\",\"body\":\"<html>Sign "
     "in</html>\"}]}",
     ERR_SERVER, "Sign in", "/me", 1},
    {"another server", "token-for-tests-only",
     "{\"api\":[{\"path\":\"/me\",\"do\":\"status\",\"status\":301,\"headers\":{\"Location\":"
     "\"https://other.invalid/api/v1/fleet/me?k=s3cr3t\"},\"body\":\"\"}]}",
     ERR_CONFIG, "https://other.invalid/api/v1/fleet/me?\xe2\x80\xa6", "/me", 1},
    {"no version", "token-for-tests-only",
     "{\"api\":[{\"path\":\"/version\",\"do\":\"status\",\"status\":404,\"body\":\"404 page not found\"}]}",
     ERR_NONE, "", "/version", 1},
};

static void test_reads_that_go_wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(read_cases); i++) {
        struct client client = observe_as(read_cases[i].script, read_cases[i].token, both_teams, 2);
        print_message("    %s\n", read_cases[i].name);
        assert_int_equal(client.result, read_cases[i].class == ERR_NONE ? 0 : -1);
        assert_int_equal(client.e.class, read_cases[i].class);
        if (strstr(client.e.text, read_cases[i].said) == NULL)
            fail_msg("\"%s\" lacks \"%s\"", client.e.text, read_cases[i].said);
        assert_int_equal(sim_server_count(&client.world->sim, "GET", read_cases[i].counted),
                         read_cases[i].calls);
        assert_null(strstr(client.e.text, read_cases[i].token));
        assert_null(strstr(client.world->log, read_cases[i].token));
        assert_null(strstr(client.e.text, "s3cr3t"));
        client_end(&client);
    }
}

static void test_a_user_of_one_team(void **state)
{
    (void)state;
    static const char *const names[] = {"Workstations", "No team"};
    struct client client = observe_as(NULL, "the-teammaint", names, 2);
    assert_int_equal(client.result, 0);
    assert_string_equal(client.observed.role, "");
    assert_null(team_of(&client, "Workstations")->error);
    assert_non_null(strstr(team_of(&client, "No team")->error, "403"));
    assert_null(team_of(&client, "Servers"));
    client_end(&client);
}

static void test_one_list_that_can_not_be_read(void **state)
{
    (void)state;
    struct client client =
        observe_as("{\"api\":[{\"path\":\"/software/titles\",\"nth\":1,\"do\":\"status\",\"status\":422,"
                   "\"body\":{\"message\":\"no luck\"}}]}",
                   world_token, both_teams, 2);
    assert_int_equal(client.result, 0);
    size_t errors = 0;
    for (size_t i = 0; i < client.observed.team_count; i++)
        errors += client.observed.teams[i].error != NULL;
    assert_int_equal(errors, 1);
    client_end(&client);
}

#define PAGE(nth, id, more, count)                                                                           \
    "{\"method\":\"GET\",\"path\":\"/software/titles\",\"nth\":" nth                                         \
    ",\"do\":\"status\",\"status\":200,\"body\":"                                                            \
    "{\"software_titles\":[{\"id\":" id ",\"name\":\"t" id                                                   \
    "\",\"source\":\"deb_packages\",\"hash_sha256\":\"00\","                                                 \
    "\"software_package\":{\"name\":\"t" id ".deb\"},\"app_store_app\":null}],\"count\":" count              \
    ",\"meta\":{\"has_next_results\":" more "}}}"

static void test_pages(void **state)
{
    (void)state;
    /* The first look sees that there is more; then the pages are read from the first on. */
    struct client client = observe_as("{\"api\":[" PAGE("1", "1", "true", "2") "," PAGE(
                                          "2", "1", "true", "2") "," PAGE("3", "2", "false", "2") "]}",
                                      world_token, both_teams, 1);
    assert_int_equal(client.result, 0);
    const struct observed_team *team = team_of(&client, "Workstations");
    assert_null(team->error);
    assert_int_equal(team->title_count, 2);
    assert_string_equal(team->titles[1].file_name, "t2.deb");
    assert_int_equal(sim_server_count(&client.world->sim, "GET", "/software/titles"), 3);
    client_end(&client);
}

/* A row that is missing would be removed by a batch: such a list is never taken for the truth. */
static void test_a_list_that_does_not_add_up(void **state)
{
    (void)state;
    struct client client =
        observe_as("{\"api\":[" PAGE("[1,2,3,4]", "1", "false", "2") "]}", world_token, both_teams, 1);
    assert_int_equal(client.result, 0);
    assert_non_null(strstr(team_of(&client, "Workstations")->error, "changes each time"));
    assert_int_equal(team_of(&client, "Workstations")->title_count, 0);
    client_end(&client);
}

static void test_teams_that_differ_in_case_only(void **state)
{
    (void)state;
    struct world *world = world_new(NULL);
    struct err e;
    err_init(&e);
    const char *arguments[] = {"--token", "admin=the-admin", "--team", "Servers", "--team", "servers", NULL};
    sim_server_restart(&world->sim, NULL, arguments);
    world->settings.fleet_token = "the-admin";
    struct session s = session_new(world, &e);
    session_start(world, &s, &e);
    struct arena *arena = arena_new(ARENA_BYTES);
    struct observed observed;
    static const char *const names[] = {"Servers", "Workstations"};
    assert_int_equal(fleet_observe(s.fleet, names, 2, arena, &observed, &e), 0);
    size_t refused = 0;
    for (size_t i = 0; i < observed.team_count; i++)
        if (observed.teams[i].error != NULL) {
            assert_non_null(strstr(observed.teams[i].error, "differ only in case"));
            refused++;
        }
    assert_int_equal(refused, 2);
    arena_free(arena);
    session_end(&s);
    world_free(world);
}

static void test_a_stop_ends_reads_at_once(void **state)
{
    (void)state;
    struct world *world = world_new(NULL);
    struct err e;
    err_init(&e);
    struct session s = session_new(world, &e);
    session_start(world, &s, &e);
    struct arena *arena = arena_new(ARENA_BYTES);
    struct observed observed;
    loop_request_stop(s.loop, LOOP_STOP_SOON);
    assert_int_equal(fleet_observe(s.fleet, both_teams, 2, arena, &observed, &e), -1);
    assert_int_equal(e.class, ERR_INTERRUPTED);
    arena_free(arena);
    session_end(&s);
    world_free(world);
}

static void test_a_download_of_the_bytes(void **state)
{
    (void)state;
    struct world *world = world_new(NULL);
    size_t team = add_team(world, "Workstations");
    add_package(world, team, "alpha_1.0_amd64.deb");
    struct run run = run_once(world, NULL);
    expect_kinds(world, &run, team, "created");
    int64_t title_id = run.results[team].outcomes[0].title_id;
    arena_free(run.arena);
    struct err e;
    err_init(&e);
    struct session s = session_new(world, &e);
    session_start(world, &s, &e);
    char path[TEXT_BYTES + SIM_PATH_BYTES], hex[DIGEST_HEX_BYTES];
    uint64_t size = 0;
    snprintf(path, sizeof path, "%s/bytes", world->sim.folder);
    assert_int_equal(fleet_download_package(s.fleet, 1, title_id, path, hex, &size, &e), 0);
    assert_string_equal(hex, world->items[team][0].sha256);
    assert_int_equal(size, 41152);
    /* A refusal's sentence is read although bodies of this call are bytes; nothing of it ends in the file. */
    assert_int_equal(fleet_download_package(s.fleet, 1, 999, path, hex, &size, &e), -1);
    assert_int_equal(e.class, ERR_NOT_FOUND);
    assert_non_null(strstr(e.text, "404"));
    session_end(&s);
    world_free(world);
}

static void test_addresses_and_tokens(void **state)
{
    (void)state;
    static const struct {
        const char *url, *token, *said;
    } cases[] = {
        {NULL, "t", "FLEET_URL"},
        {"", "t", "FLEET_URL"},
        {"fleet.example.com", "t", "no address"},
        {"https://fleet.example.com/?x=1", "t", "no address"},
        {"ftp://fleet.example.com", "t", "no address"},
        {"https://fleet.example.com", NULL, "FLEET_API_TOKEN"},
        {"https://fleet.example.com", "", "FLEET_API_TOKEN"},
        {"https://fleet.example.com", "two words", "a character"},
        {"https://fleet.example.com", "line\n", "a character"},
        {"https://fleet.example.com/base/", "fine", NULL},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct settings settings;
        struct err e;
        err_init(&e);
        assert_int_equal(settings_init(&settings, &e), 0);
        settings.fleet_url = cases[i].url;
        settings.fleet_token = cases[i].token;
        const struct fleet_options options = {.settings = &settings, .clock = clock_system()};
        struct fleet *fleet = fleet_new(&options, &e);
        assert_int_equal(fleet == NULL, cases[i].said != NULL);
        if (cases[i].said != NULL && strstr(e.text, cases[i].said) == NULL)
            fail_msg("case %zu: \"%s\"", i, e.text);
        if (cases[i].token != NULL && cases[i].token[0] != '\0' && strlen(cases[i].token) > 1)
            assert_null(strstr(e.text, cases[i].token));
        fleet_free(fleet);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses_and_tokens),
        cmocka_unit_test(test_observe),
        cmocka_unit_test(test_no_team_by_both_names),
        cmocka_unit_test(test_reads_that_go_wrong),
        cmocka_unit_test(test_a_user_of_one_team),
        cmocka_unit_test(test_one_list_that_can_not_be_read),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_a_list_that_does_not_add_up),
        cmocka_unit_test(test_teams_that_differ_in_case_only),
        cmocka_unit_test(test_a_stop_ends_reads_at_once),
        cmocka_unit_test(test_a_download_of_the_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
