/* Properties of every plan, over random worlds from a fixed seed; and each allocation of the planner failing
 * once. The single decisions are in tests/plan. */
#include "base/text.h"
#include "failing_alloc.h"
#include "plan/plan.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ARENA_BYTES = 64 * 1024 * 1024, WORLDS = 3000, MOST_TEAMS = 3, MOST_ITEMS = 5, DIGESTS = 6, URLS = 5 };

struct world {
    struct arena *arena;
    uint64_t state;
    struct desired desired;
    struct observed observed;
    struct memory memory;
    struct plan_options options;
    struct known_package known[MOST_TEAMS * MOST_ITEMS];
    size_t known_count;
};

static struct err e;

static unsigned dice(struct world *world, unsigned sides)
{
    world->state = world->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(world->state >> 33) % sides;
}

static void *zeroed(struct world *world, size_t count, size_t size)
{
    void *bytes = arena_alloc_array(world->arena, count, size, &e);
    assert_non_null(bytes);
    return bytes;
}

static const char *random_digest(struct world *world)
{
    char *digest = zeroed(world, DIGEST_HEX_BYTES, 1);
    memset(digest, "012345"[dice(world, DIGESTS)], DIGEST_HEX_BYTES - 1);
    return digest;
}

static const char *random_url(struct world *world)
{
    static const char *const urls[URLS] = {"https://v.example/a", "https://v.example/b",
                                           "https://v.example/c", "https://v.example/d",
                                           "https://v.example/e"};
    return urls[dice(world, URLS)];
}

static const char *digest_of_text(struct world *world, const char *text)
{
    char *hex = zeroed(world, DIGEST_HEX_BYTES, 1);
    assert_int_equal(digest_bytes(text, strlen(text), hex, &e), 0);
    return hex;
}

static struct string_list random_labels(struct world *world, unsigned kinds)
{
    static const char *const names[] = {"Debian", "macOS", "Missing"};
    const char **items = zeroed(world, 1, sizeof *items);
    items[0] = names[dice(world, kinds)];
    return (struct string_list){.is_set = true, .count = dice(world, 4) == 0, .items = items};
}

static struct software_item random_item(struct world *world, int line)
{
    struct software_item item = {.kind = SOFTWARE_PACKAGE,
                                 .package_file = "",
                                 .place = {.file = "teams/t.yml", .line = line},
                                 .origin = {.file = "teams/t.yml", .line = line},
                                 .url = dice(world, 8) == 0 ? NULL : random_url(world),
                                 .self_service = dice(world, 2),
                                 .always_download = dice(world, 8) == 0,
                                 .setup_experience = (enum tristate)dice(world, 3)};
    item.sha256 = item.url == NULL || dice(world, 2) ? random_digest(world) : NULL;
    item.labels = random_labels(world, 3);
    item.label_mode = item.labels.count > 0 ? LABELS_INCLUDE_ANY : LABELS_NONE;
    if (dice(world, 3) == 0)
        item.install_script = (struct text_file){.path = "i.sh", .text = "install", .length = 7};
    return item;
}

static struct software_item random_app(struct world *world)
{
    static const char *const slugs[] = {"x/darwin", "y/darwin"};
    return (struct software_item){
        .kind = SOFTWARE_MAINTAINED_APP, .slug = slugs[dice(world, 2)], .package_file = ""};
}

static void random_desired(struct world *world)
{
    static const char *const names[] = {"Alpha", "Beta", "Gamma", "Delta"};
    struct desired *desired = &world->desired;
    desired->team_count = 1 + dice(world, MOST_TEAMS);
    desired->teams = zeroed(world, desired->team_count, sizeof *desired->teams);
    for (size_t i = 0; i < desired->team_count; i++) {
        struct desired_team *team = &desired->teams[i];
        *team = (struct desired_team){
            .name = names[i], .is_invalid = dice(world, 10) == 0, .place = {.file = "t"}};
        team->packages.state = (enum list_state)dice(world, 3);
        team->packages.count = team->packages.state == LIST_GIVEN ? dice(world, MOST_ITEMS) : 0;
        team->packages.items = zeroed(world, MOST_ITEMS, sizeof *team->packages.items);
        for (size_t j = 0; j < team->packages.count; j++)
            team->packages.items[j] = random_item(world, (int)j + 1);
        team->maintained_apps.count = dice(world, 6) == 0;
        team->maintained_apps.items = zeroed(world, 1, sizeof *team->maintained_apps.items);
        team->maintained_apps.items[0] = random_app(world);
    }
}

static struct observed_title random_title(struct world *world, int64_t id)
{
    struct observed_title title = {.title_id = id,
                                   .kind = SOFTWARE_PACKAGE,
                                   .name = "title",
                                   .version = "1",
                                   .sha256 = dice(world, 12) == 0 ? NULL : random_digest(world),
                                   .url = dice(world, 3) == 0 ? random_url(world) : "",
                                   .self_service = dice(world, 2),
                                   .install_during_setup = (enum tristate)dice(world, 3)};
    static const char *const policies[] = {"policy"};
    if (dice(world, 8) == 0)
        title.policies = (struct string_list){.is_set = true, .count = 1, .items = policies};
    if (dice(world, 8) == 0) {
        title.kind = SOFTWARE_MAINTAINED_APP;
        title.maintained_app_id = 1;
        title.slug = "x/darwin";
    }
    title.has_details = dice(world, 3) != 0;
    title.install_script.text = dice(world, 2) ? "install" : "default";
    title.labels = random_labels(world, 2);
    title.label_mode = title.labels.count > 0 ? LABELS_INCLUDE_ANY : LABELS_NONE;
    return title;
}

static void random_observed(struct world *world)
{
    static const char *const names[] = {"Alpha", "beta", "Gamma"};
    static const char *const labels[] = {"debian", "macOS"};
    struct observed *observed = &world->observed;
    observed->is_read = true;
    observed->labels = (struct string_list){.is_set = true, .count = 2, .items = labels};
    observed->team_count = dice(world, 4);
    observed->teams = zeroed(world, observed->team_count, sizeof *observed->teams);
    for (size_t i = 0; i < observed->team_count; i++) {
        struct observed_team *team = &observed->teams[i];
        *team = (struct observed_team){.id = (int64_t)i + 1, .name = names[i]};
        team->error = dice(world, 10) == 0 ? "403" : NULL;
        team->title_count = dice(world, MOST_ITEMS);
        team->titles = zeroed(world, MOST_ITEMS, sizeof *team->titles);
        for (size_t j = 0; j < team->title_count; j++)
            team->titles[j] = random_title(world, (int64_t)j + 1 + dice(world, 2) * 10);
    }
}

static void random_memory(struct world *world)
{
    struct memory *memory = &world->memory;
    memory->items = zeroed(world, MOST_TEAMS * URLS, sizeof *memory->items);
    memory->validators = zeroed(world, URLS, sizeof *memory->validators);
    for (size_t i = 0; i < world->desired.team_count; i++)
        for (size_t j = 0; j < world->desired.teams[i].packages.count; j++) {
            const struct software_item *item = &world->desired.teams[i].packages.items[j];
            char *key = zeroed(world, 128, 1);
            char *hex = zeroed(world, DIGEST_HEX_BYTES, 1);
            if (dice(world, 2) || software_key(item, key, 128, &e) < 0 ||
                software_fingerprint(item, hex, &e) < 0)
                continue;
            memory->items[memory->item_count++] =
                (struct remembered_item){.team_id = (int64_t)i + 1,
                                         .key = key,
                                         .title_id = 1 + dice(world, 4),
                                         .sha256 = random_digest(world),
                                         .wish_fingerprint = hex,
                                         .row_fingerprint = "",
                                         .ignored_fields = dice(world, 1 << 9)};
        }
    if (dice(world, 2)) {
        const char *digest = random_digest(world);
        memory->validators[memory->validator_count++] =
            (struct remembered_validator){.url_sha256 = digest_of_text(world, random_url(world)),
                                          .etag = "e",
                                          .last_modified = "",
                                          .sha256 = digest,
                                          .file_name = "f"};
    }
    memory_sort(memory);
}

static void random_options(struct world *world)
{
    world->options = (struct plan_options){.prune = dice(world, 2),
                                           .allow_empty = dice(world, 2),
                                           .create_teams = dice(world, 3) == 0,
                                           .relearn = dice(world, 6) == 0,
                                           .full = dice(world, 6) == 0,
                                           .max_removals = dice(world, 4),
                                           .max_removals_run = dice(world, 6),
                                           .now_wall_ms = 1000};
}

static void make_world(struct world *world, uint64_t seed)
{
    err_init(&e);
    *world = (struct world){.state = seed, .arena = arena_new(ARENA_BYTES)};
    assert_non_null(world->arena);
    random_desired(world);
    random_observed(world);
    random_memory(world);
    random_options(world);
}

static struct plan_input input_of(const struct world *world)
{
    return (struct plan_input){.desired = &world->desired,
                               .observed = &world->observed,
                               .memory = &world->memory,
                               .known = world->known,
                               .known_count = world->known_count,
                               .options = &world->options};
}

static struct plan plan_world(const struct world *world)
{
    const struct plan_input input = input_of(world);
    struct plan plan;
    if (plan_build(&input, world->arena, &plan, &e) < 0)
        fail_msg("%s", e.text);
    return plan;
}

static bool is_package(const struct observed_title *title)
{
    return title->maintained_app_id == 0;
}

static void check_item(const struct plan_team *team, const struct plan_item *item)
{
    assert_non_null(item->name);
    assert_non_null(item->explanation);
    switch (item->action) {
    case PLAN_UNCHANGED:
        assert_int_equal(item->changed_fields, 0);
        break;
    case PLAN_CREATE:
        assert_true(item->wish != NULL && item->title == NULL && item->sha256 != NULL);
        break;
    case PLAN_UPDATE:
        assert_true(item->wish != NULL && item->title != NULL && item->changed_fields != 0);
        break;
    case PLAN_REMOVE:
        assert_true(item->wish == NULL && is_package(item->title));
        assert_int_equal(item->title->policies.count, 0);
        assert_int_not_equal(item->title->install_during_setup, TRISTATE_TRUE);
        assert_int_not_equal(team->desired->packages.state, LIST_ABSENT);
        for (size_t i = 0; i < team->desired->packages.count; i++)
            assert_ptr_not_equal(team->items[i].title, item->title);
        break;
    case PLAN_CHECK:
        assert_true(item->needs_fetch && item->wish->sha256 == NULL);
        break;
    case PLAN_KEEP:
    case PLAN_WAITING:
    case PLAN_BLOCKED:
        assert_int_not_equal(item->reason, REASON_NONE);
        assert_false(text_is_empty(item->explanation));
        assert_false(item->needs_fetch || item->needs_bytes);
        break;
    }
}

/* Every declared item once and in order; every title of a team that was planned is spoken for. */
static void check_coverage(const struct plan_team *team)
{
    for (size_t i = 0; i < team->desired->packages.count; i++)
        assert_ptr_equal(team->items[i].wish, &team->desired->packages.items[i]);
    if (team->desired->is_invalid || team->observed == NULL || team->observed->error != NULL)
        return;
    for (size_t i = 0; i < team->observed->title_count; i++) {
        bool found = !is_package(&team->observed->titles[i]); /* one app may be several titles */
        for (size_t j = 0; j < team->item_count && !found; j++)
            found = team->items[j].title == &team->observed->titles[i];
        assert_true(found);
    }
}

static void check_team(const struct world *world, const struct plan_team *team, size_t *removals)
{
    size_t own_removals = 0;
    bool whole = team->delivery == DELIVERY_WHOLE;
    bool untouchable = team->desired->is_invalid || (team->observed != NULL && team->observed->error != NULL);
    for (size_t i = 0; i < team->item_count; i++) {
        const struct plan_item *item = &team->items[i];
        check_item(team, item);
        own_removals += item->action == PLAN_REMOVE;
        if (untouchable)
            assert_int_equal(item->action, PLAN_BLOCKED);
        if (whole && item->title != NULL && (item->action == PLAN_KEEP || item->action == PLAN_BLOCKED))
            assert_true(item->title->has_details && item->title->sha256 != NULL);
    }
    if (untouchable)
        assert_int_equal(team->delivery, DELIVERY_NONE);
    assert_true((int64_t)own_removals <= world->options.max_removals);
    assert_true(own_removals == 0 || text_is_empty(team->removals_withheld));
    assert_int_equal(team->delivery == DELIVERY_ITEM_BY_ITEM, !text_is_empty(team->delivery_reason));
    *removals += own_removals;
    check_coverage(team);
}

static void check_plan(const struct world *world, const struct plan *plan)
{
    size_t removals = 0, items = 0, counted = 0;
    assert_int_equal(plan->team_count, world->desired.team_count);
    for (size_t i = 0; i < plan->team_count; i++) {
        check_team(world, &plan->teams[i], &removals);
        items += plan->teams[i].item_count;
    }
    for (size_t i = 0; i < PLAN_ACTION_COUNT; i++)
        counted += plan->counts[i];
    assert_int_equal(counted, items);
    assert_true((int64_t)removals <= world->options.max_removals_run);
    assert_true(world->options.prune || removals == 0);
}

static void check_same(const struct plan *a, const struct plan *b)
{
    for (size_t i = 0; i < a->team_count; i++)
        for (size_t j = 0; j < a->teams[i].item_count; j++) {
            const struct plan_item *left = &a->teams[i].items[j];
            const struct plan_item *right = &b->teams[i].items[j];
            assert_int_equal(left->action, right->action);
            assert_int_equal(left->reason, right->reason);
            assert_int_equal(left->changed_fields, right->changed_fields);
            assert_int_equal(left->assumed_fields, right->assumed_fields);
            assert_ptr_equal(left->title, right->title);
            assert_string_equal(left->explanation, right->explanation);
        }
    assert_int_equal(a->change_count, b->change_count);
}

/* The fetch answers every request: with bytes, or not at all. */
static void answer_fetches(struct world *world, const struct plan *plan)
{
    struct plan_fetches fetches;
    if (plan_fetches(plan, &world->memory, false, world->arena, &fetches, &e) < 0)
        fail_msg("%s", e.text);
    for (size_t i = 0; i < fetches.count; i++) {
        struct package *package = zeroed(world, 1, sizeof *package);
        bool fails = dice(world, 4) == 0;
        package->state = fails ? PACKAGE_FAILED : PACKAGE_FETCHED;
        const char *digest =
            fetches.requests[i].sha256 != NULL ? fetches.requests[i].sha256 : random_digest(world);
        package->sha256 = fails ? NULL : digest;
        package->path = fails ? NULL : "cache/file";
        for (size_t j = 0; j < i; j++)
            assert_false(text_equal(fetches.requests[i].url, fetches.requests[j].url) &&
                         text_equal(fetches.requests[i].sha256, fetches.requests[j].sha256));
        world->known[world->known_count++] =
            (struct known_package){.item = fetches.items[i], .package = package};
    }
}

/* After the fetch nothing is left open, but for what stopped being ambiguous through what the fetch found. */
static void check_settled(const struct plan *first, const struct plan *second)
{
    for (size_t i = 0; i < second->team_count; i++)
        for (size_t j = 0; j < second->teams[i].item_count; j++)
            if (second->teams[i].items[j].action == PLAN_CHECK)
                assert_int_equal(first->teams[i].items[j].reason, REASON_AMBIGUOUS);
}

static void test_properties(void **state)
{
    (void)state;
    size_t seen[PLAN_ACTION_COUNT] = {0};
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct world world;
        make_world(&world, seed);
        struct plan first = plan_world(&world);
        struct plan again = plan_world(&world);
        check_plan(&world, &first);
        check_same(&first, &again);
        answer_fetches(&world, &first);
        struct plan second = plan_world(&world);
        check_plan(&world, &second);
        check_settled(&first, &second);
        for (size_t i = 0; i < PLAN_ACTION_COUNT; i++)
            seen[i] += first.counts[i];
        arena_free(world.arena);
    }
    for (size_t i = 0; i < PLAN_ACTION_COUNT; i++) /* the worlds are wide enough to mean something */
        if (seen[i] == 0)
            fail_msg("no world led to %s", plan_action_name((enum plan_action)i));
}

static void test_wanted_details(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct world world;
        struct wanted_details *wanted = NULL;
        size_t count = 0;
        make_world(&world, seed);
        for (int round = 0; round < 2; round++) {
            assert_int_equal(plan_wanted_details(&world.desired, &world.observed, &world.memory,
                                                 &world.options, world.arena, &wanted, &count, &e),
                             0);
            assert_true(round == 0 || count == 0); /* once read, nothing is wanted again */
            for (size_t i = 0; i < count; i++) {
                assert_true(is_package(wanted[i].title) && !wanted[i].title->has_details);
                wanted[i].title->has_details = true;
            }
        }
        arena_free(world.arena);
    }
}

static int plan_all(struct world *world)
{
    const struct plan_input input = input_of(world);
    struct plan plan;
    struct plan_fetches fetches;
    struct wanted_details *wanted = NULL;
    size_t count = 0;
    err_init(&e);
    if (plan_wanted_details(&world->desired, &world->observed, &world->memory, &world->options, world->arena,
                            &wanted, &count, &e) < 0)
        return -1;
    if (plan_build(&input, world->arena, &plan, &e) < 0)
        return -1;
    return plan_fetches(&plan, &world->memory, false, world->arena, &fetches, &e);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    struct world world;
    long needed = 1;
    for (long nth = 1; nth <= needed; nth++) {
        make_world(&world, 77);
        failing_alloc_start(nth == 1 ? 0 : nth - 1, false);
        int result = plan_all(&world);
        long asked = failing_alloc_stop();
        if (nth == 1) {
            assert_int_equal(result, 0);
            needed = asked + 1;
        } else if (result < 0) {
            assert_int_equal(e.class, ERR_MEMORY);
        }
        arena_free(world.arena);
    }
    /* An arena that is too small fails at every point as well. */
    for (size_t most = 64; most < 20000; most += 64) {
        make_world(&world, 77);
        struct arena *large = world.arena;
        world.arena = arena_new(most);
        if (plan_all(&world) < 0)
            assert_int_equal(e.class, ERR_MEMORY);
        arena_free(world.arena);
        arena_free(large);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_properties),
        cmocka_unit_test(test_wanted_details),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
