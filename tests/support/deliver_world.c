/* Runs whole deliveries against fleetsim for the tests of lib/deliver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "deliver_world.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char world_token[] = "token-for-tests-only";
const char *const world_arguments[] = {"--token", "maintainer=token-for-tests-only",
                                       "--token", "admin=the-admin",
                                       "--team",  "Workstations",
                                       "--team",  "Servers",
                                       "--label", "Pilot ring",
                                       "--label", "Debian boxes",
                                       NULL};

static void keep_log(void *context, enum log_level level, const char *event, const char *message,
                     const struct log_field *fields, size_t count)
{
    struct world *world = context;
    (void)level;
    (void)fields;
    (void)count;
    size_t used = strlen(world->log);
    snprintf(world->log + used, sizeof world->log - used, "%s: %s\n", event, message);
}

static void keep_item(void *context, const struct remembered_item *item)
{
    struct world *world = context;
    size_t at = 0;
    while (at < world->memory_count && !(world->memory[at].item.team_id == item->team_id &&
                                         strcmp(world->memory[at].key, item->key) == 0))
        at++;
    assert_true(at < MOST_MEMORY);
    struct kept_item *kept = &world->memory[at];
    kept->item = *item;
    snprintf(kept->key, sizeof kept->key, "%s", item->key);
    snprintf(kept->sha256, sizeof kept->sha256, "%s", item->sha256);
    snprintf(kept->wish, sizeof kept->wish, "%s", item->wish_fingerprint);
    snprintf(kept->row, sizeof kept->row, "%s", item->row_fingerprint);
    world->memory_count = at == world->memory_count ? at + 1 : world->memory_count;
}

static void forget_item(void *context, int64_t team_id, const char *key)
{
    struct world *world = context;
    for (size_t i = 0; i < world->memory_count; i++)
        if (world->memory[i].item.team_id == team_id && strcmp(world->memory[i].key, key) == 0)
            world->memory[i] = world->memory[--world->memory_count];
}

static void keep_default(void *context, const struct remembered_default *entry)
{
    struct world *world = context;
    assert_true(world->default_count < MOST_MEMORY);
    struct kept_default *kept = &world->defaults[world->default_count++];
    kept->entry = *entry;
    snprintf(kept->package, sizeof kept->package, "%s", entry->package_sha256);
    snprintf(kept->text, sizeof kept->text, "%s", entry->text_sha256);
}

/* Sorted, as lib/state hands it out. */
static struct memory load_memory(struct world *world, struct arena *arena, struct err *e)
{
    struct memory memory = {.item_count = world->memory_count, .default_count = world->default_count};
    memory.items = arena_alloc_array(arena, MOST_MEMORY, sizeof *memory.items, e);
    memory.defaults = arena_alloc_array(arena, MOST_MEMORY, sizeof *memory.defaults, e);
    assert_true(memory.items != NULL && memory.defaults != NULL);
    for (size_t i = 0; i < memory.item_count; i++) {
        struct kept_item *kept = &world->memory[i];
        memory.items[i] = kept->item;
        memory.items[i].key = kept->key;
        memory.items[i].sha256 = kept->sha256;
        memory.items[i].wish_fingerprint = kept->wish;
        memory.items[i].row_fingerprint = kept->row;
    }
    for (size_t i = 0; i < memory.default_count; i++) {
        struct kept_default *kept = &world->defaults[i];
        memory.defaults[i] = (struct remembered_default){kept->package, kept->entry.field, kept->text};
    }
    memory_sort(&memory);
    return memory;
}

struct world *world_new(const char *script)
{
    struct world *world = calloc(1, sizeof *world);
    struct err e;
    err_init(&e);
    assert_non_null(world);
    if (!sim_server_start(&world->sim, script, world_arguments)) {
        print_message("skipped: fleetsim was not built\n");
        free(world);
        exit(77);
    }
    world->lasting = arena_new(ARENA_BYTES);
    assert_int_equal(settings_init(&world->settings, &e), 0);
    world->settings.fleet_url = world->sim.fleet_url;
    world->settings.fleet_token = world_token;
    world->settings.state_dir = world->sim.folder;
    world->settings.retry.initial_ms = 10;
    world->settings.retry.max_delay_ms = 50;
    world->settings.retry.rounds = 4;
    world->settings.limits.batch_timeout_ms = 1500;
    world->options = (struct plan_options){.max_removals = 10, .max_removals_run = 25};
    world->desired = (struct desired){.revision = "test", .teams = world->teams};
    return world;
}

void world_free(struct world *world)
{
    sim_server_stop(&world->sim);
    arena_free(world->lasting);
    free(world);
}

size_t add_team(struct world *world, const char *name)
{
    size_t at = world->desired.team_count++;
    world->teams[at] = (struct desired_team){.name = name,
                                             .place = {.file = "teams/x.yml", .line = 1},
                                             .packages = {.state = LIST_GIVEN, .items = world->items[at]}};
    return at;
}

void package_digest(const char *file, char path[TEXT_BYTES], char hex[DIGEST_HEX_BYTES], uint64_t *size)
{
    struct err e;
    err_init(&e);
    snprintf(path, TEXT_BYTES, "%s/recordings/packages/%s", TEST_SOURCE_DIR, file);
    if (digest_file(path, hex, size, &e) < 0)
        fail_msg("%s", e.text);
}

/* A package of tests/recordings/packages, pinned and in the cache. */
struct software_item *add_package(struct world *world, size_t team, const char *file)
{
    struct software_list *list = &world->teams[team].packages;
    size_t at = list->count++;
    struct software_item *item = &world->items[team][at];
    struct package *package = &world->packages[team][at];
    char path[TEXT_BYTES], hex[DIGEST_HEX_BYTES];
    struct err e;
    err_init(&e);
    *package = (struct package){.state = PACKAGE_CACHED};
    package_digest(file, path, hex, &package->size_bytes);
    package->sha256 = arena_strdup(world->lasting, hex, &e);
    package->path = arena_strdup(world->lasting, path, &e);
    package->file_name = file;
    *item = (struct software_item){
        .kind = SOFTWARE_PACKAGE,
        .place = {.file = "teams/x.yml", .line = 3 + (int)at},
        .origin = {.file = "teams/x.yml", .line = 3 + (int)at},
        .package_file = "",
        .url = arena_printf(world->lasting, &e, "https://vendor.invalid/%s?sig=secret", file),
        .sha256 = package->sha256,
    };
    return item;
}

struct text_file script_text(const char *text)
{
    return (struct text_file){.path = "scripts/x.sh", .text = text, .length = strlen(text)};
}

struct session session_new(struct world *world, struct err *e)
{
    struct session s = {.log = {.write = keep_log, .context = world, .threshold = LOG_DEBUG}};
    s.loop = loop_new(clock_system(), e);
    assert_non_null(s.loop);
    const struct http_options http = {.loop = s.loop, .user_agent = "test", .clock = clock_system()};
    s.http = http_new(&http, e);
    assert_non_null(s.http);
    return s;
}

void session_start(struct world *world, struct session *s, struct err *e)
{
    const struct fleet_options options = {.loop = s->loop,
                                          .http = s->http,
                                          .settings = &world->settings,
                                          .clock = clock_system(),
                                          .jitter = jitter_system(),
                                          .log = &s->log};
    s->fleet = fleet_new(&options, e);
    assert_non_null(s->fleet);
}

void session_end(struct session *s)
{
    fleet_free(s->fleet);
    http_free(s->http);
    loop_free(s->loop);
}

static int observe(struct world *world, struct session *s, struct run *run, struct observed *observed,
                   const struct memory *memory)
{
    const char *names[MOST_TEAMS];
    for (size_t i = 0; i < world->desired.team_count; i++)
        names[i] = world->desired.teams[i].name;
    struct wanted_details *wanted = NULL;
    size_t count = 0;
    if (fleet_observe(s->fleet, names, world->desired.team_count, run->arena, observed, &run->e) < 0)
        return -1;
    for (size_t i = 0; i < observed->team_count; i++)
        if (fleet_read_setup_experience(s->fleet, &observed->teams[i], run->arena, &run->e) < 0)
            return -1;
    if (plan_wanted_details(&world->desired, observed, memory, &world->options, run->arena, &wanted, &count,
                            &run->e) < 0)
        return -1;
    struct fleet_title_request *requests = arena_alloc_array(run->arena, count, sizeof *requests, &run->e);
    for (size_t i = 0; i < count; i++)
        requests[i] = (struct fleet_title_request){wanted[i].team, wanted[i].title};
    return fleet_read_details(s->fleet, requests, count, run->arena, &run->e);
}

static struct observed *observed_of(struct run *run)
{
    struct observed *observed = arena_alloc(run->arena, sizeof *observed, &run->e);
    assert_non_null(observed);
    return observed;
}

/* One whole run. `between` (may be NULL) is called after the plan was made, before it is carried out. */
struct run run_once(struct world *world, void (*between)(struct world *world, struct session *s))
{
    struct run run = {.arena = arena_new(ARENA_BYTES)};
    err_init(&run.e);
    world->log[0] = '\0';
    struct memory memory = load_memory(world, run.arena, &run.e);
    struct observed *observed = observed_of(&run);
    struct session s = session_new(world, &run.e);
    session_start(world, &s, &run.e);
    struct known_package known[MOST_TEAMS * MOST_ITEMS];
    size_t count = 0;
    for (size_t i = 0; i < world->desired.team_count; i++)
        for (size_t k = 0; k < world->teams[i].packages.count; k++)
            known[count++] = (struct known_package){&world->items[i][k], &world->packages[i][k]};
    world->options.now_wall_ms = clock_system()->wall_ms(clock_system()->context);
    const struct plan_input input = {&world->desired, observed, &memory, known, count, &world->options};
    run.result = observe(world, &s, &run, observed, &memory);
    if (run.result == 0)
        run.result = plan_build(&input, run.arena, &run.plan, &run.e);
    if (run.result == 0 && between != NULL)
        between(world, &s);
    const struct memory_sink sink = {keep_item, forget_item, keep_default, NULL, world};
    const struct deliver_options options = {.fleet = s.fleet,
                                            .loop = s.loop,
                                            .settings = &world->settings,
                                            .clock = clock_system(),
                                            .log = &s.log,
                                            .memory = &sink,
                                            .deadline_monotonic_ms = world->deadline_monotonic_ms};
    const struct deliver_input deliver = {&input, &run.plan, known, count};
    if (run.result == 0)
        run.result = deliver_run(&options, &deliver, run.arena, run.results, &run.e);
    session_end(&s);
    return run;
}

void show_run(const struct world *world, const struct run *run)
{
    print_message("result %d %s\n", run->result, run->e.text);
    for (size_t i = 0; i < run->plan.team_count; i++)
        for (size_t k = 0; k < run->results[i].outcome_count; k++) {
            const struct outcome *o = &run->results[i].outcomes[k];
            print_message("%s: %s: %s | %s | kept %s | %s\n", o->team, o->name, outcome_kind_name(o->kind),
                          o->what, o->kept, o->advice);
        }
    print_message("%s", world->log);
}

void expect_kinds(const struct world *world, const struct run *run, size_t team, const char *kinds)
{
    char has[TEXT_BYTES] = "";
    const struct team_outcome *result = &run->results[team];
    for (size_t i = 0; i < result->outcome_count; i++) {
        size_t used = strlen(has);
        snprintf(has + used, sizeof has - used, "%s%s", i > 0 ? " " : "",
                 outcome_kind_name(result->outcomes[i].kind));
    }
    if (strcmp(has, kinds) != 0) {
        show_run(world, run);
        fail_msg("team %zu: \"%s\", not \"%s\"", team, has, kinds);
    }
}

/* G5: nothing is left to do, nothing is sent. */
void expect_converged(struct world *world)
{
    sim_server_forget(&world->sim);
    struct run run = run_once(world, NULL);
    if (run.result != 0 || run.plan.change_count != 0 || sim_server_count(&world->sim, "write", "/") != 0) {
        show_run(world, &run);
        fail_msg("the second run planned %zu changes and sent %zu writes", run.plan.change_count,
                 sim_server_count(&world->sim, "write", "/"));
    }
    if (sim_server_count(&world->sim, "GET", "/software/titles/") != 0) {
        show_run(world, &run);
        fail_msg("the second run read details again");
    }
    arena_free(run.arena);
}
