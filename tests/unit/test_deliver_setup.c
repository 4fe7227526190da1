/* Software that is installed while a computer is set up: flags by the batch and by their own call, which
 * replaces a platform's list; and a stop in the middle of a commit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/files.h"
#include "deliver_world.h"
#include <stdio.h>
#include <string.h>

#define NO_BATCH                                                                                             \
    "{\"api\":[{\"method\":\"POST\",\"path\":\"/software/batch*\",\"do\":\"status\",\"status\":422,"         \
    "\"body\":{\"message\":\"no\",\"errors\":[{\"name\":\"x\",\"reason\":\"no\"}]}}]}"

/* A package for macOS; what is inside does not matter to fleetsim beyond its first bytes. */
static struct software_item *add_mac_package(struct world *world, size_t team, const char *file)
{
    char path[TEXT_BYTES], hex[DIGEST_HEX_BYTES], bytes[TEXT_BYTES] = "xar!";
    struct err e;
    err_init(&e);
    struct software_item *item = add_package(world, team, "alpha_1.0_amd64.deb");
    struct package *package = &world->packages[team][world->teams[team].packages.count - 1];
    snprintf(path, sizeof path, "%s/%s", world->sim.folder, file);
    snprintf(bytes + 4, sizeof bytes - 4, " this is %s", file);
    assert_int_equal(file_write_atomically(path, bytes, strlen(bytes), 0600, &e), 0);
    assert_int_equal(digest_file(path, hex, &package->size_bytes, &e), 0);
    package->path = arena_strdup(world->lasting, path, &e);
    package->sha256 = arena_strdup(world->lasting, hex, &e);
    package->file_name = file;
    item->url = arena_printf(world->lasting, &e, "https://vendor.invalid/%s", file);
    item->sha256 = package->sha256;
    return item;
}

static struct run run_and_expect(struct world *world, size_t team, const char *kinds)
{
    struct run run = run_once(world, NULL);
    assert_int_equal(run.result, 0);
    expect_kinds(world, &run, team, kinds);
    for (size_t i = 0; i < run.results[team].outcome_count; i++)
        assert_int_equal(run.results[team].outcomes[i].ignored_fields, 0);
    return run;
}

static void check_flags(const char *script, size_t puts)
{
    struct world *world = world_new(script);
    size_t team = add_team(world, "Workstations");
    struct software_item *one = add_mac_package(world, team, "one-1.0.pkg");
    struct software_item *two = add_mac_package(world, team, "two-1.0.pkg");
    one->setup_experience = TRISTATE_TRUE;
    arena_free(run_and_expect(world, team, "created created").arena);
    expect_converged(world);
    /* The second one too: the first stays in the list. */
    two->setup_experience = TRISTATE_TRUE;
    arena_free(run_and_expect(world, team, "unchanged updated").arena);
    expect_converged(world);
    /* Nothing said: what Fleet has stays, through a change of something else. */
    one->setup_experience = TRISTATE_ABSENT;
    one->self_service = true;
    arena_free(run_and_expect(world, team, "updated unchanged").arena);
    one->setup_experience = TRISTATE_TRUE;
    arena_free(run_and_expect(world, team, "unchanged unchanged").arena);
    one->setup_experience = TRISTATE_FALSE;
    sim_server_forget(&world->sim);
    arena_free(run_and_expect(world, team, "updated unchanged").arena);
    assert_int_equal(sim_server_count(&world->sim, "PUT", "/setup_experience/software"), puts);
    assert_int_equal(sim_server_count(&world->sim, "PATCH", "/"), 0);
    expect_converged(world);
    /* What is installed during the set-up is not removed. */
    world->options.prune = true;
    one->setup_experience = TRISTATE_ABSENT;
    world->teams[team].packages.count = 1;
    struct run run = run_once(world, NULL);
    assert_int_equal(run.results[team].outcomes[1].kind, OUTCOME_WITHHELD);
    arena_free(run.arena);
    world_free(world);
}

static void test_flags_by_the_batch(void **state)
{
    (void)state;
    check_flags(NULL, 0);
}

static void test_flags_by_their_own_call(void **state)
{
    (void)state;
    check_flags(NO_BATCH, 1);
}

/* A signal that comes while the upload waits for its answer. */
static struct loop_timer stop_timer;

static void stop_soon(void *context)
{
    loop_request_stop(context, LOOP_STOP_SOON);
}

static void stop_in_mid_commit(struct world *world, struct session *s)
{
    (void)world;
    stop_timer = (struct loop_timer){.fire = stop_soon, .context = s->loop};
    const struct clock *clock = clock_system();
    loop_timer_set(s->loop, &stop_timer, clock->monotonic_ms(clock->context) + 400);
}

static void check_stop(int64_t grace_ms, const char *kinds)
{
    struct world *world = world_new("{\"api\":[{\"method\":\"POST\",\"path\":\"/software/"
                                    "package\",\"nth\":1,\"do\":\"delay_ms\",\"delay_ms\":1500}]}");
    world->settings.limits.shutdown_grace_ms = grace_ms;
    size_t team = add_team(world, "Workstations");
    add_package(world, team, "alpha_1.0_amd64.deb");
    add_package(world, team, "beta_1.0_amd64.deb");
    struct run run = run_once(world, stop_in_mid_commit);
    assert_int_equal(run.result, 0);
    expect_kinds(world, &run, team, kinds);
    assert_non_null(strstr(run.results[team].outcomes[1].what, "signal"));
    assert_int_equal(sim_server_count(&world->sim, "POST", "/software/package") <= 1, true);
    arena_free(run.arena);
    /* The next run goes on where this one stopped. */
    sim_server_restart(&world->sim, NULL, world_arguments);
    run = run_once(world, NULL);
    assert_int_equal(run.result, 0);
    arena_free(run.arena);
    expect_converged(world);
    world_free(world);
}

static void test_a_stop_in_mid_commit(void **state)
{
    (void)state;
    check_stop(20000, "created failed");
    check_stop(300, "failed failed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flags_by_the_batch),
        cmocka_unit_test(test_flags_by_their_own_call),
        cmocka_unit_test(test_a_stop_in_mid_commit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
