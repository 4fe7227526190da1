/* Each fault of the API that has a rule, met in the middle of a delivery; then a run without it, which must
 * bring everything to its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "deliver_world.h"
#include <string.h>

/* What goes wrong with one call, and what must come of it: the outcomes of the run in which it happens, and
 * how many uploads and batches there were. Then a run without the fault must find the rest to do, or nothing.
 */
static const struct fault_case {
    const char *name, *script, *kinds;
    size_t uploads, batches; /* POST /software/package, POST /software/batch */
    const char *said;        /* in the first item's sentence; NULL: nothing particular */
} fault_cases[] = {
    {"an upload that dies before it is sent whole",
     "{\"api\":[{\"method\":\"POST\",\"path\":\"/software/package\",\"nth\":1,\"do\":\"reset\"}]}",
     "created created", 3, 0, NULL},
    {"an upload whose answer is lost is looked up, not repeated",
     "{\"api\":[{\"method\":\"POST\",\"path\":\"/software/package\",\"nth\":1,\"do\":\"apply-then-close\"}]}",
     "created created", 2, 0, NULL},
    {"an upload that a proxy answers with 504",
     "{\"api\":[{\"method\":\"POST\",\"path\":\"/software/"
     "package\",\"nth\":1,\"do\":\"apply-then-status\",\"status\":504,"
     "\"content_type\":\"text/html\",\"body\":\"<html>Gateway Timeout\"}]}",
     "created created", 2, 0, NULL},
    {"429 with Retry-After",
     "{\"api\":[{\"method\":\"POST\",\"path\":\"/software/"
     "package\",\"nth\":1,\"do\":\"status\",\"status\":429,"
     "\"headers\":{\"Retry-After\":\"0\"},\"body\":{\"message\":\"slow down\"}}]}",
     "created created", 3, 0, NULL},
    {"500 with Fleet's own error, once",
     "{\"api\":[{\"method\":\"POST\",\"path\":\"/software/"
     "package\",\"nth\":1,\"do\":\"status\",\"status\":500,"
     "\"body\":{\"message\":\"deadlock\",\"errors\":[{\"name\":\"base\",\"reason\":\"deadlock\"}]}}]}",
     "created created", 3, 0, NULL},
    {"500 with Fleet's own error, for good: no more than twice",
     "{\"api\":[{\"method\":\"POST\",\"path\":\"/software/"
     "package\",\"nth\":[1,2],\"do\":\"status\",\"status\":500,"
     "\"body\":{\"message\":\"no\",\"errors\":[{\"name\":\"base\",\"reason\":\"not today\"}]}}]}",
     "failed created", 3, 0, "not today"},
    {"413 in HTML is for good",
     "{\"api\":[{\"method\":\"POST\",\"path\":\"/software/"
     "package\",\"nth\":1,\"do\":\"status\",\"status\":413,"
     "\"content_type\":\"text/html\",\"body\":\"<html>Request Entity Too Large\"}]}",
     "failed created", 2, 0, "413"},
    {"403 names the right",
     "{\"api\":[{\"method\":\"POST\",\"path\":\"/software/"
     "package\",\"nth\":1,\"do\":\"status\",\"status\":403,"
     "\"body\":{\"message\":\"forbidden\",\"errors\":[{\"name\":\"base\",\"reason\":\"forbidden\"}]}}]}",
     "failed created", 2, 0, "add software to this team"},
    {"402 is about the licence",
     "{\"api\":[{\"method\":\"POST\",\"path\":\"/software/"
     "package\",\"nth\":1,\"do\":\"status\",\"status\":402,"
     "\"body\":{\"message\":\"Requires Fleet Premium license\"}}]}",
     "failed created", 2, 0, "licence"},
    {"other bytes are stored than were sent",
     "{\"api\":[{\"method\":\"POST\",\"path\":\"/software/"
     "package\",\"nth\":1,\"do\":\"corrupt-stored-bytes\"}]}",
     "failed created", 2, 0, "stored other bytes"},
    {"a list that can't be read once",
     "{\"api\":[{\"method\":\"GET\",\"path\":\"/software/"
     "titles\",\"nth\":[2,3],\"do\":\"status\",\"status\":502,"
     "\"content_type\":\"text/html\",\"body\":\"<html>Bad Gateway\"}]}",
     "created created", 2, 0, NULL},
};

static void check_fault(const struct fault_case *fault)
{
    struct world *world = world_new(fault->script);
    size_t team = add_team(world, "Workstations");
    add_package(world, team, "alpha_1.0_amd64.deb");
    add_package(world, team, "beta_1.0_amd64.deb");
    struct run run = run_once(world, NULL);
    print_message("    %s\n", fault->name);
    expect_kinds(world, &run, team, fault->kinds);
    if (sim_server_count(&world->sim, "POST", "/software/package") != fault->uploads ||
        sim_server_count(&world->sim, "POST", "/software/batch") != fault->batches) {
        show_run(world, &run);
        fail_msg("%s: another number of calls", fault->name);
    }
    const char *what = run.results[team].outcomes[0].what;
    if (fault->said != NULL && strstr(what, fault->said) == NULL)
        fail_msg("%s: \"%s\" lacks \"%s\"", fault->name, what, fault->said);
    arena_free(run.arena);
    sim_server_restart(&world->sim, NULL, world_arguments);
    run = run_once(world, NULL);
    assert_int_equal(run.result, 0);
    arena_free(run.arena);
    expect_converged(world);
    world_free(world);
}

static void test_faults_of_uploads(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(fault_cases); i++)
        check_fault(&fault_cases[i]);
}

/* The same for the batch: Workstations has the bytes, Servers takes them by digest. */
static const struct fault_case batch_cases[] = {
    {"no fault", NULL, "created created", 2, 1, NULL},
    {"the batch's answer is lost after it was applied",
     "{\"api\":[{\"method\":\"POST\",\"path\":\"/software/batch*\",\"nth\":1,\"do\":\"apply-then-close\"}]}",
     "created created", 2, 1, NULL},
    {"the batch's answer is lost before it was applied",
     "{\"api\":[{\"method\":\"POST\",\"path\":\"/software/batch*\",\"nth\":1,\"do\":\"close\"}]}",
     "created created", 2, 2, NULL},
    {"a proxy gives up on the batch",
     "{\"api\":[{\"method\":\"POST\",\"path\":\"/software/"
     "batch*\",\"nth\":1,\"do\":\"apply-then-status\",\"status\":502,"
     "\"content_type\":\"text/html\",\"body\":\"<html>\"}]}",
     "created created", 2, 1, NULL},
    {"a batch that stays at processing, applied",
     "{\"api\":[{\"method\":\"POST\",\"path\":\"/software/batch*\",\"nth\":1,\"do\":\"apply-then-stuck\"}]}",
     "created created", 2, 1, NULL},
    {"a batch that stays at processing, not applied, is sent again",
     "{\"api\":[{\"method\":\"POST\",\"path\":\"/software/batch*\",\"nth\":1,\"do\":\"stuck\"}]}",
     "created created", 2, 2, NULL},
    {"two batches that stay at processing: nothing else is written",
     "{\"api\":[{\"method\":\"POST\",\"path\":\"/software/batch*\",\"do\":\"stuck\"}]}", "failed failed", 2,
     2, "did not say in time"},
    {"a batch that is refused goes item by item",
     "{\"api\":[{\"method\":\"POST\",\"path\":\"/software/"
     "batch*\",\"do\":\"status\",\"status\":422,\"body\":{\"message\":"
     "\"Validation Failed\",\"errors\":[{\"name\":\"x\",\"reason\":\"no\"}]}}]}",
     "created created", 4, 1, NULL},
    {"the server forgot the batch's id",
     "{\"api\":[{\"method\":\"GET\",\"path\":\"/software/batch/"
     "*\",\"nth\":1,\"do\":\"status\",\"status\":404,\"body\":{"
     "\"message\":\"Resource Not Found\",\"errors\":[{\"name\":\"base\",\"reason\":\"gone\"}]}}]}",
     "created created", 2, 0, NULL},
};

static void check_batch_fault(const struct fault_case *fault)
{
    struct world *world = world_new(NULL);
    size_t first = add_team(world, "Workstations");
    add_package(world, first, "alpha_1.0_amd64.deb");
    add_package(world, first, "beta_1.0_amd64.deb");
    struct run run = run_once(world, NULL);
    expect_kinds(world, &run, first, "created created");
    arena_free(run.arena);
    sim_server_restart(&world->sim, fault->script, world_arguments);
    size_t second = add_team(world, "Servers");
    add_package(world, second, "alpha_1.0_amd64.deb");
    add_package(world, second, "beta_1.0_amd64.deb");
    run = run_once(world, NULL);
    print_message("    %s\n", fault->name);
    expect_kinds(world, &run, second, fault->kinds);
    size_t batches = sim_server_count(&world->sim, "POST", "/software/batch");
    if (sim_server_count(&world->sim, "POST", "/software/package") != fault->uploads ||
        (fault->batches != 0 && batches != fault->batches)) {
        show_run(world, &run);
        fail_msg("%s: another number of calls", fault->name);
    }
    const char *what = run.results[second].outcomes[0].what;
    if (fault->said != NULL && strstr(what, fault->said) == NULL)
        fail_msg("%s: \"%s\" lacks \"%s\"", fault->name, what, fault->said);
    arena_free(run.arena);
    sim_server_restart(&world->sim, NULL, world_arguments);
    run = run_once(world, NULL);
    assert_int_equal(run.result, 0);
    arena_free(run.arena);
    expect_converged(world);
    world_free(world);
}

static void test_faults_of_batches(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(batch_cases); i++)
        check_batch_fault(&batch_cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults_of_uploads),
        cmocka_unit_test(test_faults_of_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
