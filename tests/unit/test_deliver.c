/* Plans carried out against fleetsim: each way of delivery, and after each a second run that must find
 * nothing to do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "deliver_world.h"
#include <string.h>

static void test_two_teams_share_one_upload(void **state)
{
    (void)state;
    static const char *const labels[] = {"pilot RING"};
    static const char *const categories[] = {"Browsers", "Productivity"};
    struct world *world = world_new(NULL);
    size_t first = add_team(world, "workstations"), second = add_team(world, "Servers");
    struct software_item *alpha = add_package(world, first, "alpha_1.0_amd64.deb");
    alpha->install_script = script_text("echo \"in\"\n");
    alpha->label_mode = LABELS_EXCLUDE_ANY;
    alpha->labels = (struct string_list){true, 1, labels};
    alpha->categories = (struct string_list){true, 2, categories};
    alpha->self_service = true;
    add_package(world, first, "beta_1.0_amd64.deb");
    add_package(world, second, "alpha_1.0_amd64.deb");
    struct run run = run_once(world, NULL);
    assert_int_equal(run.result, 0);
    expect_kinds(world, &run, first, "created created");
    expect_kinds(world, &run, second, "created");
    assert_int_equal(sim_server_count(&world->sim, "POST", "/software/package"), 2);
    assert_int_equal(sim_server_count(&world->sim, "POST", "/software/batch"), 1);
    assert_true(run.results[first].outcomes[0].uploaded_bytes >= 41152);
    assert_int_equal(run.results[second].outcomes[0].uploaded_bytes, 0);
    assert_string_equal(run.results[first].outcomes[0].version, "1.0");
    assert_int_equal(run.results[first].outcomes[0].ignored_fields, 0);
    assert_null(strstr(world->log, "secret"));
    assert_null(strstr(world->log, world_token));
    arena_free(run.arena);
    expect_converged(world);
    world_free(world);
}

static void test_fields_and_bytes_change(void **state)
{
    (void)state;
    struct world *world = world_new(NULL);
    size_t team = add_team(world, "Workstations");
    struct software_item *alpha = add_package(world, team, "alpha_1.0_amd64.deb");
    alpha->install_script = script_text("echo one\n");
    add_package(world, team, "beta_1.0_amd64.deb");
    struct run run = run_once(world, NULL);
    expect_kinds(world, &run, team, "created created");
    arena_free(run.arena);

    alpha->install_script = script_text("echo two\n");
    alpha->post_install_script = script_text("echo post\n");
    sim_server_forget(&world->sim);
    run = run_once(world, NULL);
    expect_kinds(world, &run, team, "updated unchanged");
    assert_int_equal(sim_server_count(&world->sim, "POST", "/software/package"), 0);
    assert_int_equal(sim_server_count(&world->sim, "PATCH", "/"), 0);
    assert_int_equal(sim_server_count(&world->sim, "POST", "/software/batch"), 1);
    arena_free(run.arena);
    expect_converged(world);

    /* Back to the server's default: it fills in its own, which is no difference ever after. */
    alpha->install_script = (struct text_file){.path = NULL};
    run = run_once(world, NULL);
    expect_kinds(world, &run, team, "updated unchanged");
    arena_free(run.arena);
    expect_converged(world);

    /* Another version of the same title. */
    world->teams[team].packages.count = 0;
    add_package(world, team, "alpha_1.1_amd64.deb");
    add_package(world, team, "beta_1.0_amd64.deb");
    sim_server_forget(&world->sim);
    run = run_once(world, NULL);
    expect_kinds(world, &run, team, "updated unchanged");
    assert_string_equal(run.results[team].outcomes[0].version, "1.1");
    arena_free(run.arena);
    expect_converged(world);
    world_free(world);
}

static void test_undeclared_software_stays_as_it_is(void **state)
{
    (void)state;
    static const char *const labels[] = {"Debian boxes"};
    struct world *world = world_new(NULL);
    size_t team = add_team(world, "Workstations");
    struct software_item *gamma = add_package(world, team, "gamma_1.0_amd64.deb");
    gamma->install_script = script_text("echo by hand\n");
    gamma->pre_install_query = script_text("select 1");
    gamma->label_mode = LABELS_INCLUDE_ANY;
    gamma->labels = (struct string_list){true, 1, labels};
    gamma->self_service = true;
    add_package(world, team, "alpha_1.0_amd64.deb");
    add_package(world, team, "beta_1.0_amd64.deb");
    struct run run = run_once(world, NULL);
    expect_kinds(world, &run, team, "created created created");
    arena_free(run.arena);

    /* Now nobody declares gamma, and alpha changes: the batch must carry gamma over with all it has. */
    world->teams[team].packages.count = 0;
    struct software_item *alpha = add_package(world, team, "alpha_1.0_amd64.deb");
    alpha->self_service = true;
    add_package(world, team, "beta_1.0_amd64.deb");
    sim_server_forget(&world->sim);
    run = run_once(world, NULL);
    expect_kinds(world, &run, team, "updated unchanged kept");
    assert_int_equal(sim_server_count(&world->sim, "POST", "/software/batch"), 1);
    arena_free(run.arena);

    /* Declared again as it was: nothing is to be done. */
    world->teams[team].packages.count = 0;
    gamma = add_package(world, team, "gamma_1.0_amd64.deb");
    gamma->install_script = script_text("echo by hand\n");
    gamma->pre_install_query = script_text("select 1");
    gamma->label_mode = LABELS_INCLUDE_ANY;
    gamma->labels = (struct string_list){true, 1, labels};
    gamma->self_service = true;
    alpha = add_package(world, team, "alpha_1.0_amd64.deb");
    alpha->self_service = true;
    add_package(world, team, "beta_1.0_amd64.deb");
    run = run_once(world, NULL);
    expect_kinds(world, &run, team, "unchanged unchanged unchanged");
    arena_free(run.arena);
    expect_converged(world);
    world_free(world);
}

static void test_pruning(void **state)
{
    (void)state;
    struct world *world = world_new(NULL);
    size_t team = add_team(world, "Workstations");
    add_package(world, team, "alpha_1.0_amd64.deb");
    add_package(world, team, "beta_1.0_amd64.deb");
    struct run run = run_once(world, NULL);
    arena_free(run.arena);
    world->teams[team].packages.count = 1;
    world->options.prune = true;
    run = run_once(world, NULL);
    expect_kinds(world, &run, team, "unchanged removed");
    arena_free(run.arena);
    expect_converged(world);
    for (size_t i = 0; i < world->memory_count; i++)
        assert_null(strstr(world->memory[i].key, "beta"));
    world_free(world);
}

/* Somebody adds a package by hand between our reading and our writing. */
static void add_by_hand(struct world *world, struct session *s)
{
    char path[TEXT_BYTES], hex[DIGEST_HEX_BYTES];
    uint64_t size;
    struct err e;
    err_init(&e);
    package_digest("gamma_1.0_amd64.deb", path, hex, &size);
    const struct upload_file file = {path, "gamma_1.0_amd64.deb", hex, size};
    const struct package_fields fields = {.install_script = "echo hand\n"};
    const struct upload_titles titles = {.likely = 0};
    struct upload_result result;
    (void)world;
    assert_int_equal(fleet_upload_package(s->fleet, 1, &file, &fields, &titles, &result, &e), 0);
}

static void test_planned_again_when_the_list_changed(void **state)
{
    (void)state;
    struct world *world = world_new(NULL);
    size_t team = add_team(world, "Workstations");
    add_package(world, team, "alpha_1.0_amd64.deb");
    add_package(world, team, "beta_1.0_amd64.deb");
    struct run run = run_once(world, NULL);
    arena_free(run.arena);
    world->items[team][0].self_service = true;
    run = run_once(world, add_by_hand);
    expect_kinds(world, &run, team, "updated unchanged kept");
    arena_free(run.arena);
    expect_converged(world);
    world_free(world);
}

static void test_a_token_that_is_refused_in_mid_run(void **state)
{
    (void)state;
    struct world *world = world_new(
        "{\"api\":[{\"method\":\"POST\",\"path\":\"/software/"
        "package\",\"nth\":2,\"do\":\"status\",\"status\":401,\"body\":{"
        "\"message\":\"Authentication required\",\"errors\":[{\"name\":\"base\",\"reason\":\"Authentication "
        "required\"}]}}]}");
    size_t first = add_team(world, "Workstations"), second = add_team(world, "Servers");
    add_package(world, first, "alpha_1.0_amd64.deb");
    add_package(world, first, "beta_1.0_amd64.deb");
    add_package(world, second, "gamma_1.0_amd64.deb");
    struct run run = run_once(world, NULL);
    assert_int_equal(run.result, -1);
    assert_int_equal(run.e.class, ERR_UNAUTHORISED);
    expect_kinds(world, &run, second, "failed");
    assert_int_equal(run.results[first].outcomes[1].kind, OUTCOME_FAILED);
    assert_null(strstr(run.e.text, world_token));
    arena_free(run.arena);
    world_free(world);
}

static void stop_now(struct world *world, struct session *s)
{
    (void)world;
    loop_request_stop(s->loop, LOOP_STOP_SOON);
}

static void test_a_stop_leaves_the_rest_failed(void **state)
{
    (void)state;
    struct world *world = world_new(NULL);
    size_t team = add_team(world, "Workstations");
    add_package(world, team, "alpha_1.0_amd64.deb");
    sim_server_forget(&world->sim);
    struct run run = run_once(world, stop_now);
    assert_int_equal(run.result, 0);
    expect_kinds(world, &run, team, "failed");
    assert_non_null(strstr(run.results[team].outcomes[0].what, "stopped by a signal"));
    assert_int_equal(sim_server_count(&world->sim, "write", "/"), 0);
    arena_free(run.arena);
    world_free(world);
}

static void test_a_team_is_created(void **state)
{
    (void)state;
    struct world *world = world_new(NULL);
    world->settings.fleet_token = "the-admin";
    world->options.create_teams = true;
    size_t team = add_team(world, "Kiosks & \xc3\xa9"
                                  "coles");
    add_package(world, team, "alpha_1.0_amd64.deb");
    struct run run = run_once(world, NULL);
    expect_kinds(world, &run, team, "created");
    assert_int_equal(sim_server_count(&world->sim, "POST", "/teams"), 1);
    assert_true(run.results[team].team_id > 0);
    arena_free(run.arena);
    expect_converged(world);
    /* The batch finds a team whose name needs encoding. */
    world->items[team][0].self_service = true;
    run = run_once(world, NULL);
    expect_kinds(world, &run, team, "updated");
    arena_free(run.arena);
    expect_converged(world);
    world_free(world);
}

static void test_two_teams_swap_their_packages(void **state)
{
    (void)state;
    struct world *world = world_new(NULL);
    size_t first = add_team(world, "Workstations"), second = add_team(world, "Servers");
    add_package(world, first, "alpha_1.0_amd64.deb");
    add_package(world, second, "beta_1.0_amd64.deb");
    struct run run = run_once(world, NULL);
    arena_free(run.arena);
    /* Each takes what the other drops, and neither package is in the cache any more. */
    world->options.prune = true;
    world->teams[first].packages.count = world->teams[second].packages.count = 0;
    add_package(world, first, "beta_1.0_amd64.deb");
    add_package(world, second, "alpha_1.0_amd64.deb");
    world->packages[first][0].path = world->packages[second][0].path = NULL;
    world->packages[first][0].state = world->packages[second][0].state = PACKAGE_NOT_MODIFIED;
    run = run_once(world, NULL);
    expect_kinds(world, &run, first, "created removed");
    expect_kinds(world, &run, second, "created removed");
    arena_free(run.arena);
    expect_converged(world);
    world_free(world);
}

static void test_secrets_go_first_and_only_when_needed(void **state)
{
    (void)state;
    static struct secret_variable secrets[] = {{.name = "ALPHA", .value = "very-secret-value"}};
    struct world *world = world_new(NULL);
    size_t team = add_team(world, "Workstations");
    struct software_item *alpha = add_package(world, team, "alpha_1.0_amd64.deb");
    alpha->install_script = script_text("echo $FLEET_SECRET_ALPHA\n");
    world->desired.secrets = secrets;
    world->desired.secret_count = 1;
    struct run run = run_once(world, NULL);
    expect_kinds(world, &run, team, "created");
    assert_int_equal(sim_server_count(&world->sim, "PUT", "/spec/secret_variables"), 1);
    assert_null(strstr(world->log, "very-secret-value"));
    arena_free(run.arena);
    expect_converged(world);
    world_free(world);
}

static void test_describe_a_plan(void **state)
{
    (void)state;
    static const struct {
        enum plan_action action;
        enum plan_reason reason;
        enum outcome_kind kind;
        bool advises;
    } cases[] = {
        {PLAN_UNCHANGED, REASON_NONE, OUTCOME_UNCHANGED, false},
        {PLAN_CREATE, REASON_NONE, OUTCOME_CREATED, false},
        {PLAN_UPDATE, REASON_NONE, OUTCOME_UPDATED, false},
        {PLAN_REMOVE, REASON_NONE, OUTCOME_REMOVED, false},
        {PLAN_CHECK, REASON_NONE, OUTCOME_CHECKED, false},
        {PLAN_KEEP, REASON_UNDECLARED, OUTCOME_KEPT, false},
        {PLAN_KEEP, REASON_REMOVAL_WITHHELD, OUTCOME_WITHHELD, false},
        {PLAN_KEEP, REASON_FETCH_FAILED, OUTCOME_FAILED, true},
        {PLAN_WAITING, REASON_TEAM_MISSING, OUTCOME_WAITING, true},
        {PLAN_WAITING, REASON_LABEL_MISSING, OUTCOME_WAITING, true},
        {PLAN_BLOCKED, REASON_TEAM_INVALID, OUTCOME_BLOCKED, true},
        {PLAN_BLOCKED, REASON_FETCH_FAILED, OUTCOME_FAILED, true},
        {PLAN_BLOCKED, REASON_BYTES_MISSING, OUTCOME_BLOCKED, true},
        {PLAN_BLOCKED, REASON_SECRET_MISSING, OUTCOME_BLOCKED, true},
    };
    const struct software_item wish = {.kind = SOFTWARE_PACKAGE,
                                       .place = {.file = "t.yml", .line = 4},
                                       .package_file = "",
                                       .url = "https://u:p@h/x.deb?sig=s"};
    const struct observed_title title = {
        .title_id = 3, .name = "x", .version = "1.0", .sha256 = "0123456789"};
    const struct desired_team desired = {.name = "T", .place = {.file = "t.yml"}};
    struct plan_item items[ARRAY_LENGTH(cases)];
    struct err e;
    err_init(&e);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        items[i] = (struct plan_item){.action = cases[i].action,
                                      .reason = cases[i].reason,
                                      .explanation = "because",
                                      .name = "x",
                                      .wish = &wish,
                                      .title = &title};
    struct plan_team team = {.desired = &desired,
                             .delivery_reason = "",
                             .removals_withheld = "",
                             .item_count = ARRAY_LENGTH(cases),
                             .items = items};
    const struct plan plan = {.team_count = 1, .teams = &team};
    struct arena *arena = arena_new(ARENA_BYTES);
    struct team_outcome result;
    assert_int_equal(deliver_describe(&plan, NULL, 0, arena, &result, &e), 0);
    assert_int_equal(result.team_id, -1);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct outcome *outcome = &result.outcomes[i];
        assert_int_equal(outcome->kind, cases[i].kind);
        assert_int_equal(outcome->advice[0] != '\0', cases[i].advises);
        assert_string_equal(outcome->url, "https://***@h/x.deb?\xe2\x80\xa6");
        assert_int_equal(outcome->place.line, 4);
        bool keeps = cases[i].action >= PLAN_KEEP;
        assert_string_equal(outcome->kept, keeps ? "1.0 (sha256 01234567\xe2\x80\xa6)" : "");
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_describe_a_plan),
        cmocka_unit_test(test_two_teams_share_one_upload),
        cmocka_unit_test(test_fields_and_bytes_change),
        cmocka_unit_test(test_undeclared_software_stays_as_it_is),
        cmocka_unit_test(test_pruning),
        cmocka_unit_test(test_planned_again_when_the_list_changed),
        cmocka_unit_test(test_a_token_that_is_refused_in_mid_run),
        cmocka_unit_test(test_a_stop_leaves_the_rest_failed),
        cmocka_unit_test(test_a_team_is_created),
        cmocka_unit_test(test_two_teams_swap_their_packages),
        cmocka_unit_test(test_secrets_go_first_and_only_when_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
