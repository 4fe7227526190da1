/* Each allocation of a delivery failing once: it ends with an error or with the truth, never with a crash or
 * a leak, and the run behind it brings everything to its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "deliver_world.h"
#include "failing_alloc.h"

static long failing;

static void fail_from_here(struct world *world, struct session *s)
{
    (void)world;
    (void)s;
    failing_alloc_start(failing, false);
}

/* One run whose `nth` allocation fails, from the delivery on. Returns how many it asked for. */
static long run_failing(struct world *world, long nth)
{
    failing = nth;
    struct run run = run_once(world, fail_from_here);
    long asked = failing_alloc_stop();
    if (run.result < 0)
        assert_int_equal(run.e.class, ERR_MEMORY);
    arena_free(run.arena);
    return asked;
}

/* Another wish each time; with_bytes: another version of the package too. */
static void wish(struct world *world, size_t team, bool with_bytes, long number)
{
    struct err e;
    err_init(&e);
    world->teams[team].packages.count = 0;
    struct software_item *alpha = add_package(
        world, team, with_bytes && number % 2 == 1 ? "alpha_1.1_amd64.deb" : "alpha_1.0_amd64.deb");
    add_package(world, team, "beta_1.0_amd64.deb");
    char *text = arena_printf(world->lasting, &e, "echo %ld\n", number);
    assert_non_null(text);
    alpha->post_install_script = script_text(text);
}

static void run_well(struct world *world)
{
    struct run run = run_once(world, NULL);
    assert_int_equal(run.result, 0);
    arena_free(run.arena);
}

/* `step`: every so many allocations; the whole count of a run with an upload would take minutes. */
static void check(bool with_bytes, long step)
{
    struct world *world = world_new(NULL);
    size_t team = add_team(world, "Workstations");
    wish(world, team, with_bytes, 0);
    run_well(world);
    long nth = 1 - step, asked, number = 1;
    do {
        nth += step;
        wish(world, team, with_bytes, number++);
        asked = run_failing(world, nth);
        if (with_bytes) {
            wish(world, team, with_bytes, number++);
            run_well(world);
        }
    } while (asked >= nth); /* fewer than nth: none failed */
    print_message("    %ld allocations\n", asked);
    assert_true(asked > 10);
    run_well(world);
    expect_converged(world);
    world_free(world);
}

static void test_by_the_batch(void **state)
{
    (void)state;
    check(false, 1);
}

static void test_by_an_upload(void **state)
{
    (void)state;
    check(true, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_the_batch),
        cmocka_unit_test(test_by_an_upload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
