/* Plans carried out against fleetsim: each way of delivery, each fault of the API that has a rule, and after
 * each a second run that must find nothing to do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/files.h"
#include "base/text.h"
#include "deliver/deliver.h"
#include "fleet/client.h"
#include "sim.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_BYTES = 64 * 1024 * 1024, MOST_TEAMS = 3, MOST_ITEMS = 4, MOST_MEMORY = 64, TEXT_BYTES = 600 };

static const char token[] = "token-for-tests-only";
static const char *const sim_arguments[] = {"--token", "maintainer=token-for-tests-only",
                                            "--token", "admin=the-admin",
                                            "--team",  "Workstations",
                                            "--team",  "Servers",
                                            "--label", "Pilot ring",
                                            "--label", "Debian boxes",
                                            NULL};

struct kept_item {
    struct remembered_item item;
    char key[TEXT_BYTES], sha256[DIGEST_HEX_BYTES], wish[DIGEST_HEX_BYTES], row[DIGEST_HEX_BYTES];
};
struct kept_default {
    struct remembered_default entry;
    char package[DIGEST_HEX_BYTES], text[DIGEST_HEX_BYTES];
};

/* All that outlives a run: the manifests, the server, the memory. */
struct world {
    struct sim_server sim;
    struct settings settings;
    struct plan_options options;
    struct arena *lasting;
    struct desired desired;
    struct desired_team teams[MOST_TEAMS];
    struct software_item items[MOST_TEAMS][MOST_ITEMS];
    struct package packages[MOST_TEAMS][MOST_ITEMS];
    struct kept_item memory[MOST_MEMORY];
    size_t memory_count;
    struct kept_default defaults[MOST_MEMORY];
    size_t default_count;
    char log[64 * 1024]; /* what was said in the run */
};

/* What one run made. */
struct run {
    struct arena *arena;
    struct plan plan;
    struct team_outcome results[MOST_TEAMS];
    int result;
    struct err e;
};

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

static struct world *world_new(const char *script)
{
    struct world *world = calloc(1, sizeof *world);
    struct err e;
    err_init(&e);
    assert_non_null(world);
    if (!sim_server_start(&world->sim, script, sim_arguments)) {
        print_message("skipped: fleetsim was not built\n");
        free(world);
        exit(77);
    }
    world->lasting = arena_new(ARENA_BYTES);
    assert_int_equal(settings_init(&world->settings, &e), 0);
    world->settings.fleet_url = world->sim.fleet_url;
    world->settings.fleet_token = token;
    world->settings.state_dir = world->sim.folder;
    world->settings.retry.initial_ms = 10;
    world->settings.retry.max_delay_ms = 50;
    world->settings.retry.rounds = 4;
    world->settings.limits.batch_timeout_ms = 1500;
    world->options = (struct plan_options){.max_removals = 10, .max_removals_run = 25};
    world->desired = (struct desired){.revision = "test", .teams = world->teams};
    return world;
}

static void world_free(struct world *world)
{
    sim_server_stop(&world->sim);
    arena_free(world->lasting);
    free(world);
}

static size_t add_team(struct world *world, const char *name)
{
    size_t at = world->desired.team_count++;
    world->teams[at] = (struct desired_team){.name = name,
                                             .place = {.file = "teams/x.yml", .line = 1},
                                             .packages = {.state = LIST_GIVEN, .items = world->items[at]}};
    return at;
}

/* A package of tests/recordings/packages, pinned and in the cache. */
static struct software_item *add_package(struct world *world, size_t team, const char *file)
{
    struct software_list *list = &world->teams[team].packages;
    size_t at = list->count++;
    struct software_item *item = &world->items[team][at];
    struct package *package = &world->packages[team][at];
    char path[TEXT_BYTES], hex[DIGEST_HEX_BYTES];
    struct err e;
    err_init(&e);
    snprintf(path, sizeof path, "%s/recordings/packages/%s", TEST_SOURCE_DIR, file);
    *package = (struct package){.state = PACKAGE_CACHED};
    assert_int_equal(digest_file(path, hex, &package->size_bytes, &e), 0);
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

static struct text_file script_text(const char *text)
{
    return (struct text_file){.path = "scripts/x.sh", .text = text, .length = strlen(text)};
}

struct session {
    struct loop *loop;
    struct http *http;
    struct fleet *fleet;
    struct log log;
};

static struct session session_new(struct world *world, struct err *e)
{
    struct session s = {.log = {.write = keep_log, .context = world, .threshold = LOG_DEBUG}};
    s.loop = loop_new(clock_system(), e);
    assert_non_null(s.loop);
    const struct http_options http = {.loop = s.loop, .user_agent = "test", .clock = clock_system()};
    s.http = http_new(&http, e);
    assert_non_null(s.http);
    return s;
}

static void session_start(struct world *world, struct session *s, struct err *e)
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

static void session_end(struct session *s)
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
static struct run run_once(struct world *world, void (*between)(struct world *world, struct session *s))
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
                                            .memory = &sink};
    const struct deliver_input deliver = {&input, &run.plan, known, count};
    if (run.result == 0)
        run.result = deliver_run(&options, &deliver, run.arena, run.results, &run.e);
    session_end(&s);
    return run;
}

static void show(const struct world *world, const struct run *run)
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

static void expect_kinds(const struct world *world, const struct run *run, size_t team, const char *kinds)
{
    char has[TEXT_BYTES] = "";
    const struct team_outcome *result = &run->results[team];
    for (size_t i = 0; i < result->outcome_count; i++) {
        size_t used = strlen(has);
        snprintf(has + used, sizeof has - used, "%s%s", i > 0 ? " " : "",
                 outcome_kind_name(result->outcomes[i].kind));
    }
    if (strcmp(has, kinds) != 0) {
        show(world, run);
        fail_msg("team %zu: \"%s\", not \"%s\"", team, has, kinds);
    }
}

/* G5: nothing is left to do, nothing is sent. */
static void expect_converged(struct world *world)
{
    sim_server_forget(&world->sim);
    struct run run = run_once(world, NULL);
    if (run.result != 0 || run.plan.change_count != 0 || sim_server_count(&world->sim, "write", "/") != 0) {
        show(world, &run);
        fail_msg("the second run planned %zu changes and sent %zu writes", run.plan.change_count,
                 sim_server_count(&world->sim, "write", "/"));
    }
    if (sim_server_count(&world->sim, "GET", "/software/titles/") != 0) {
        show(world, &run);
        fail_msg("the second run read details again");
    }
    arena_free(run.arena);
}

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
    assert_null(strstr(world->log, token));
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
        show(world, &run);
        fail_msg("%s: another number of calls", fault->name);
    }
    const char *what = run.results[team].outcomes[0].what;
    if (fault->said != NULL && strstr(what, fault->said) == NULL)
        fail_msg("%s: \"%s\" lacks \"%s\"", fault->name, what, fault->said);
    arena_free(run.arena);
    sim_server_restart(&world->sim, NULL, sim_arguments);
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
    sim_server_restart(&world->sim, fault->script, sim_arguments);
    size_t second = add_team(world, "Servers");
    add_package(world, second, "alpha_1.0_amd64.deb");
    add_package(world, second, "beta_1.0_amd64.deb");
    run = run_once(world, NULL);
    print_message("    %s\n", fault->name);
    expect_kinds(world, &run, second, fault->kinds);
    size_t batches = sim_server_count(&world->sim, "POST", "/software/batch");
    if (sim_server_count(&world->sim, "POST", "/software/package") != fault->uploads ||
        (fault->batches != 0 && batches != fault->batches)) {
        show(world, &run);
        fail_msg("%s: another number of calls", fault->name);
    }
    const char *what = run.results[second].outcomes[0].what;
    if (fault->said != NULL && strstr(what, fault->said) == NULL)
        fail_msg("%s: \"%s\" lacks \"%s\"", fault->name, what, fault->said);
    arena_free(run.arena);
    sim_server_restart(&world->sim, NULL, sim_arguments);
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
    snprintf(path, sizeof path, "%s/recordings/packages/gamma_1.0_amd64.deb", TEST_SOURCE_DIR);
    assert_int_equal(digest_file(path, hex, &size, &e), 0);
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
    assert_null(strstr(run.e.text, token));
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
        cmocka_unit_test(test_faults_of_uploads),
        cmocka_unit_test(test_faults_of_batches),
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
