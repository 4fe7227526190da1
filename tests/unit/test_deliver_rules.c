/* The rules that protect what Fleet has: removals under guards, apps that are not ours, fields that the
 * server ignores, one bad item among good ones, writes whose answer is lost where each item goes by itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/files.h"
#include "base/text.h"
#include "deliver_world.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A call that Tender itself never makes, as an administrator. */
static void administer(struct world *world, const char *method, const char *path, const char *body)
{
    struct err e;
    err_init(&e);
    struct session s = session_new(world, &e);
    char url[TEXT_BYTES];
    snprintf(url, sizeof url, "%s%s", world->sim.fleet_url, path);
    const char *const headers[] = {"Authorization: Bearer the-admin", "Content-Type: application/json"};
    const struct http_request request = {.method = method,
                                         .url = url,
                                         .headers = headers,
                                         .header_count = 2,
                                         .body = body,
                                         .body_length = strlen(body),
                                         .range_end = -1,
                                         .max_answer_bytes = 1 << 20,
                                         .connect_timeout_ms = 5000,
                                         .first_byte_timeout_ms = 20000,
                                         .stall_bytes_per_s = 1,
                                         .stall_ms = 20000};
    struct http_answer answer;
    assert_int_equal(http_perform(s.http, &request, &answer, &e), 0);
    if (answer.status < 200 || answer.status > 299)
        fail_msg("%s %s: %d: %s", method, path, answer.status, buf_text(&answer.body));
    http_answer_done(&answer);
    session_end(&s);
}

static void run_and_expect(struct world *world, size_t team, const char *kinds)
{
    struct run run = run_once(world, NULL);
    assert_int_equal(run.result, 0);
    expect_kinds(world, &run, team, kinds);
    arena_free(run.arena);
}

static void test_what_a_policy_installs_is_not_removed(void **state)
{
    (void)state;
    struct world *world = world_new(NULL);
    size_t team = add_team(world, "Workstations");
    add_package(world, team, "alpha_1.0_amd64.deb");
    add_package(world, team, "beta_1.0_amd64.deb");
    run_and_expect(world, team, "created created");
    administer(world, "POST", "/fleetsim/policies",
               "{\"team\":\"Workstations\",\"title\":\"beta\",\"name\":\"beta is there\"}");
    world->teams[team].packages.count = 1;
    world->options.prune = true;
    struct run run = run_once(world, NULL);
    expect_kinds(world, &run, team, "unchanged withheld");
    assert_non_null(strstr(run.results[team].removals_withheld, "beta is there"));
    arena_free(run.arena);
    /* Also not by a batch that is about something else. */
    world->items[team][0].self_service = true;
    run_and_expect(world, team, "updated withheld");
    world_free(world);
}

/* The policy appears between the plan and its delivery. */
static void add_policy(struct world *world, struct session *s)
{
    (void)s;
    administer(world, "POST", "/fleetsim/policies",
               "{\"team\":\"Workstations\",\"title\":\"beta\",\"name\":\"just now\"}");
}

static void test_a_removal_is_looked_at_afresh(void **state)
{
    (void)state;
    struct world *world = world_new(NULL);
    size_t team = add_team(world, "Workstations");
    add_package(world, team, "alpha_1.0_amd64.deb");
    add_package(world, team, "beta_1.0_amd64.deb");
    run_and_expect(world, team, "created created");
    world->teams[team].packages.count = 1;
    world->options.prune = true;
    struct run run = run_once(world, add_policy);
    expect_kinds(world, &run, team, "unchanged withheld");
    assert_int_equal(sim_server_count(&world->sim, "DELETE", "/"), 0);
    assert_int_equal(sim_server_count(&world->sim, "POST", "/software/batch"), 0);
    arena_free(run.arena);
    world_free(world);
}

/* Where an item could not be added, which title it would have been is not known. */
static void test_a_failed_item_withholds_removals(void **state)
{
    (void)state;
    struct world *world = world_new(NULL);
    size_t team = add_team(world, "Workstations");
    add_package(world, team, "alpha_1.0_amd64.deb");
    add_package(world, team, "beta_1.0_amd64.deb");
    run_and_expect(world, team, "created created");
    world->teams[team].packages.count = 0;
    add_package(world, team, "alpha_1.0_amd64.deb");
    add_package(world, team, "corrupt.deb");
    world->options.prune = true;
    struct run run = run_once(world, NULL);
    assert_int_equal(run.results[team].outcomes[1].kind, OUTCOME_FAILED);
    assert_int_equal(run.results[team].outcomes[2].kind, OUTCOME_WITHHELD);
    assert_non_null(strstr(run.results[team].outcomes[1].what, "File type not supported"));
    arena_free(run.arena);
    world_free(world);
}

static void test_one_bad_item_stops_no_other(void **state)
{
    (void)state;
    static const char *const categories[] = {"No such category"};
    struct world *world = world_new(NULL);
    size_t first = add_team(world, "Workstations"), second = add_team(world, "Servers");
    add_package(world, first, "alpha_1.0_amd64.deb");
    add_package(world, first, "corrupt.deb");
    add_package(world, first, "beta_1.0_amd64.deb");
    struct software_item *gamma = add_package(world, second, "gamma_1.0_amd64.deb");
    add_package(world, second, "alpha_1.0_amd64.deb");
    struct run run = run_once(world, NULL);
    assert_int_equal(run.result, 0);
    expect_kinds(world, &run, first, "created failed created");
    expect_kinds(world, &run, second, "created created");
    arena_free(run.arena);
    /* A category that the server does not know fails a batch as a whole; by itself it is ignored, and said
     * so. */
    gamma->categories = (struct string_list){true, 1, categories};
    world->items[second][1].self_service = true;
    run = run_once(world, NULL);
    expect_kinds(world, &run, second, "updated updated");
    assert_int_equal(run.results[second].delivery, DELIVERY_ITEM_BY_ITEM);
    assert_int_equal(run.results[second].outcomes[0].ignored_fields, FIELD_CATEGORIES);
    assert_int_equal(run.results[second].outcomes[1].ignored_fields, 0);
    arena_free(run.arena);
    world_free(world);
}

static void test_fields_that_the_server_ignores_are_not_sent_again(void **state)
{
    (void)state;
    struct world *world = world_new(NULL);
    size_t team = add_team(world, "Workstations");
    struct software_item *alpha = add_package(world, team, "alpha_1.0_amd64.deb");
    alpha->display_name = "The Alpha";
    alpha->setup_experience = TRISTATE_TRUE; /* this version takes macOS only, and is silent about it */
    struct run run = run_once(world, NULL);
    expect_kinds(world, &run, team, "created");
    const struct outcome *outcome = &run.results[team].outcomes[0];
    assert_int_equal(outcome->ignored_fields, FIELD_DISPLAY_NAME | FIELD_SETUP_EXPERIENCE);
    assert_non_null(strstr(outcome->what, "display_name"));
    arena_free(run.arena);
    expect_converged(world);
    world_free(world);
}

static unsigned free_port(void)
{
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    assert_int_equal(bind(server, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(getsockname(server, (struct sockaddr *)&address, &length), 0);
    close(server);
    return ntohs(address.sin_port);
}

static void test_a_maintained_app_is_left_alone(void **state)
{
    (void)state;
    struct world *world = world_new(NULL);
    char catalogue[TEXT_BYTES], listen[64], packages[TEXT_BYTES], text[2 * TEXT_BYTES];
    unsigned port = free_port();
    struct err e;
    err_init(&e);
    snprintf(listen, sizeof listen, "127.0.0.1:%u", port);
    snprintf(catalogue, sizeof catalogue, "%s/catalogue.json", world->sim.folder);
    snprintf(packages, sizeof packages, "%s/recordings/packages", TEST_SOURCE_DIR);
    snprintf(
        text, sizeof text,
        "{\"maintained_apps\":[{\"slug\":\"demo-one/darwin\",\"name\":\"Demo One\",\"platform\":\"darwin\","
        "\"version\":\"1.0\",\"url\":\"http://%s/demo-one-1.0.dmg\",\"sha256\":\"no_check\","
        "\"bundle_identifier\":\"com.example.one\",\"install_script\":\"in\",\"uninstall_script\":\"out\"}]}",
        listen);
    assert_int_equal(file_write_atomically(catalogue, text, strlen(text), 0600, &e), 0);
    const char *arguments[] = {"--token",
                               "maintainer=token-for-tests-only",
                               "--token",
                               "admin=the-admin",
                               "--team",
                               "Workstations",
                               "--catalogue",
                               catalogue,
                               "--packages",
                               packages,
                               "--package-listen",
                               listen,
                               NULL};
    sim_server_restart(&world->sim, NULL, arguments);
    administer(world, "POST", "/api/v1/fleet/software/fleet_maintained_apps",
               "{\"fleet_maintained_app_id\":1,\"team_id\":1}");
    size_t team = add_team(world, "Workstations");
    struct software_item *alpha = add_package(world, team, "alpha_1.0_amd64.deb");
    world->options.prune = true;
    run_and_expect(world, team, "created kept");
    alpha->self_service = true;
    alpha->post_install_script = script_text("echo post\n");
    sim_server_forget(&world->sim);
    run_and_expect(world, team, "updated kept");
    assert_int_equal(sim_server_count(&world->sim, "PATCH", "/"), 1);
    assert_int_equal(sim_server_count(&world->sim, "write", "/"), 1);
    expect_converged(world);
    world_free(world);
}

#define NO_BATCH                                                                                             \
    "{\"method\":\"POST\",\"path\":\"/software/batch*\",\"do\":\"status\",\"status\":422,"                   \
    "\"body\":{\"message\":\"no\",\"errors\":[{\"name\":\"x\",\"reason\":\"no\"}]}}"

/* Where each item goes by itself: calls whose answer is lost are looked up, not repeated. */
static const struct {
    const char *name, *fault, *method;
    size_t calls;
    const char *kinds;
} lost_cases[] = {
    {"a PATCH that was carried out",
     "{\"method\":\"PATCH\",\"path\":\"/software/titles/*\",\"nth\":1,\"do\":\"apply-then-close\"}", "PATCH",
     1, "updated removed"},
    {"a PATCH that was not",
     "{\"method\":\"PATCH\",\"path\":\"/software/titles/*\",\"nth\":1,\"do\":\"close\"}", "PATCH", 2,
     "updated removed"},
    {"a DELETE that was carried out",
     "{\"method\":\"DELETE\",\"path\":\"/software/titles/*\",\"nth\":1,\"do\":\"apply-then-reset\"}",
     "DELETE", 1, "updated removed"},
    {"a DELETE that was not",
     "{\"method\":\"DELETE\",\"path\":\"/software/titles/*\",\"nth\":1,\"do\":\"reset\"}", "DELETE", 2,
     "updated removed"},
    {"a DELETE that is refused",
     "{\"method\":\"DELETE\",\"path\":\"/software/titles/"
     "*\",\"do\":\"status\",\"status\":409,\"body\":{\"message\":"
     "\"Couldn't delete. Policy automation uses this software.\"}}",
     "DELETE", 1, "updated withheld"},
};

static void test_lost_answers_item_by_item(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(lost_cases); i++) {
        char script[2 * TEXT_BYTES];
        snprintf(script, sizeof script, "{\"api\":[" NO_BATCH ",%s]}", lost_cases[i].fault);
        struct world *world = world_new(NULL);
        size_t team = add_team(world, "Workstations");
        add_package(world, team, "alpha_1.0_amd64.deb");
        add_package(world, team, "beta_1.0_amd64.deb");
        run_and_expect(world, team, "created created");
        sim_server_restart(&world->sim, script, world_arguments);
        sim_server_forget(&world->sim);
        world->teams[team].packages.count = 1;
        world->options.prune = true;
        world->items[team][0].self_service = true;
        print_message("    %s\n", lost_cases[i].name);
        run_and_expect(world, team, lost_cases[i].kinds);
        assert_int_equal(sim_server_count(&world->sim, lost_cases[i].method, "/"), lost_cases[i].calls);
        sim_server_restart(&world->sim, NULL, world_arguments);
        struct run run = run_once(world, NULL);
        arena_free(run.arena);
        expect_converged(world);
        world_free(world);
    }
}

/* From 4.80 a script of the repository can be the package itself. */
static void test_a_script_as_a_package(void **state)
{
    (void)state;
    struct world *world = world_new(NULL);
    const char *arguments[] = {"--token",
                               "maintainer=token-for-tests-only",
                               "--token",
                               "admin=the-admin",
                               "--fleet-version",
                               "4.85.0",
                               NULL};
    sim_server_restart(&world->sim, NULL, arguments);
    size_t team = add_team(world, "Workstations");
    struct software_item *script = add_package(world, team, "hello.sh");
    script->kind = SOFTWARE_SCRIPT_PACKAGE;
    script->url = NULL;
    script->script = script_text("echo hello\n");
    script->script.path = "lib/scripts/hello.sh";
    add_package(world, team, "alpha_1.0_amd64.deb");
    run_and_expect(world, team, "created created");
    expect_converged(world);
    /* It is carried over by a batch that is about the other item, and edited itself. */
    world->items[team][1].self_service = true;
    run_and_expect(world, team, "unchanged updated");
    expect_converged(world);
    script->self_service = true;
    run_and_expect(world, team, "updated unchanged");
    expect_converged(world);
    world_free(world);
}

static void test_a_deadline_that_has_passed(void **state)
{
    (void)state;
    struct world *world = world_new(NULL);
    size_t team = add_team(world, "Workstations");
    add_package(world, team, "alpha_1.0_amd64.deb");
    world->deadline_monotonic_ms = 1;
    struct run run = run_once(world, NULL);
    assert_int_equal(run.result, 0);
    expect_kinds(world, &run, team, "failed");
    assert_non_null(strstr(run.results[team].outcomes[0].what, "deadline"));
    assert_int_equal(sim_server_count(&world->sim, "write", "/"), 0);
    arena_free(run.arena);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_policy_installs_is_not_removed),
        cmocka_unit_test(test_a_removal_is_looked_at_afresh),
        cmocka_unit_test(test_a_failed_item_withholds_removals),
        cmocka_unit_test(test_one_bad_item_stops_no_other),
        cmocka_unit_test(test_fields_that_the_server_ignores_are_not_sent_again),
        cmocka_unit_test(test_a_maintained_app_is_left_alone),
        cmocka_unit_test(test_lost_answers_item_by_item),
        cmocka_unit_test(test_a_script_as_a_package),
        cmocka_unit_test(test_a_deadline_that_has_passed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
