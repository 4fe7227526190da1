/* The memory of former runs: what goes in comes out, per server; and every way in which the file can be bad
 * costs a warning, never a run. */
#include "base/files.h"
#include "base/text.h"
#include "failing_alloc.h"
#include "state/state.h"
#include <fcntl.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { ARENA_BYTES = 16 * 1024 * 1024, PATH_BYTES = 256 };

#define SERVER "https://fleet.example"

static struct err e;
static char folder[PATH_BYTES];
static int warnings;
static char last_warning[1024];

static void count_warning(void *context, enum log_level level, const char *event, const char *message,
                          const struct log_field *fields, size_t field_count)
{
    (void)context;
    (void)event;
    (void)fields;
    (void)field_count;
    if (level == LOG_WARNING) {
        warnings++;
        snprintf(last_warning, sizeof last_warning, "%s", message);
    }
}

static const struct log test_log = {.write = count_warning};

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s/tender-state-XXXXXX",
             getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
    warnings = 0;
    last_warning[0] = '\0';
    err_init(&e);
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int drop_folder(void **state)
{
    (void)state;
    return folder_remove(folder, &e);
}

static const char *path_of(const char *name)
{
    static char path[PATH_BYTES * 2];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static struct state *open_state(const char *server, bool read_only)
{
    struct state *state = state_open(folder, server, read_only, &test_log, &e);
    if (state == NULL)
        fail_msg("%s", e.text);
    return state;
}

static struct memory load(struct state *state, struct arena *arena)
{
    struct memory memory;
    if (state_load(state, arena, &memory, &e) < 0)
        fail_msg("%s", e.text);
    return memory;
}

static struct remembered_item item(int64_t team_id, const char *key)
{
    return (struct remembered_item){.team_id = team_id,
                                    .key = key,
                                    .title_id = 7,
                                    .sha256 = "ab",
                                    .wish_fingerprint = "w",
                                    .row_fingerprint = "r",
                                    .ignored_fields = FIELD_CATEGORIES,
                                    .assumed_fields = FIELD_ICON,
                                    .details_read_wall_ms = INT64_C(1790000000000)};
}

static void learn_all(struct state *state)
{
    struct memory_sink sink = state_sink(state);
    const struct remembered_item items[] = {item(2, "package:b"), item(1, "package:é"), item(1, "package:a")};
    const struct remembered_default script = {"ab", FIELD_INSTALL_SCRIPT, "cd"};
    const struct remembered_validator validator = {
        "93825501eaa4cc6225d925c93b8280a1158208c8d77edea8b66e3946004cae97",
        "W/\"1\"",
        "",
        "ab",
        "a.deb",
        UINT64_C(5000000000)};
    for (size_t i = 0; i < ARRAY_LENGTH(items); i++)
        sink.item(sink.context, &items[i]);
    sink.script_default(sink.context, &script);
    sink.script_default(sink.context, &script); /* twice is once */
    sink.validator(sink.context, &validator);
}

static void test_round_trip(void **unused)
{
    (void)unused;
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(ARENA_BYTES);
    struct state *state = open_state(SERVER, false);
    learn_all(state);
    assert_int_equal(state_commit(state, &e), 0);
    state_close(state);
    state = open_state(SERVER "/", true); /* a slash at the end is the same server */
    struct memory memory = load(state, arena);
    assert_int_equal(memory.item_count, 3);
    assert_int_equal(memory.default_count, 1);
    assert_int_equal(memory.validator_count, 1);
    const struct remembered_item *found = memory_find_item(&memory, 1, "package:a");
    assert_non_null(found);
    assert_int_equal(found->title_id, 7);
    assert_string_equal(found->wish_fingerprint, "w");
    assert_string_equal(found->row_fingerprint, "r");
    assert_int_equal(found->ignored_fields, FIELD_CATEGORIES);
    assert_int_equal(found->assumed_fields, FIELD_ICON);
    assert_int_equal(found->details_read_wall_ms, INT64_C(1790000000000));
    assert_non_null(memory_find_item(&memory, 1, "package:é"));
    assert_null(memory_find_item(&memory, 2, "package:a"));
    assert_true(memory_is_default(&memory, "ab", FIELD_INSTALL_SCRIPT, "cd"));
    assert_false(memory_is_default(&memory, "ab", FIELD_UNINSTALL_SCRIPT, "cd"));
    const struct remembered_validator *validator = memory_find_validator(&memory, "https://v.example/a");
    assert_non_null(validator);
    assert_string_equal(validator->etag, "W/\"1\"");
    assert_true(validator->size_bytes == UINT64_C(5000000000));
    state_close(state);
    assert_int_equal(warnings, 0);
}

static void test_replace_and_forget(void **unused)
{
    (void)unused;
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(ARENA_BYTES);
    struct state *state = open_state(SERVER, false);
    struct memory_sink sink = state_sink(state);
    struct remembered_item changed = item(1, "package:a");
    learn_all(state);
    changed.title_id = 9;
    sink.item(sink.context, &changed);
    sink.forget_item(sink.context, 2, "package:b");
    sink.forget_item(sink.context, 5, "package:never there");
    state_close(state); /* commits */
    state = open_state(SERVER, false);
    struct memory memory = load(state, arena);
    assert_int_equal(memory.item_count, 2);
    assert_int_equal(memory_find_item(&memory, 1, "package:a")->title_id, 9);
    state_close(state);
}

static void test_servers_are_apart(void **unused)
{
    (void)unused;
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(ARENA_BYTES);
    struct state *state = open_state(SERVER, false);
    learn_all(state);
    state_close(state);
    state = open_state("https://other.example", false);
    struct memory memory = load(state, arena);
    assert_int_equal(memory.item_count, 0);
    assert_int_equal(memory.default_count, 0);
    assert_int_equal(memory.validator_count, 1); /* what a URL answered has nothing to do with Fleet */
    state_close(state);
}

static void test_no_secrets(void **unused)
{
    (void)unused;
    struct buf bytes = BUF_INIT(1024 * 1024);
    struct state *state = open_state("https://user:secret@fleet.example", false);
    learn_all(state);
    state_close(state);
    assert_int_equal(file_read(path_of("state.db"), &bytes, &e), 0);
    assert_null(memmem(bytes.bytes, bytes.length, "secret", 6));
    buf_done(&bytes);
    struct stat status;
    assert_int_equal(stat(path_of("state.db"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

/* What a killed run wrote without a commit is gone, and nothing else. */
static void test_uncommitted(void **unused)
{
    (void)unused;
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(ARENA_BYTES);
    struct state *state = open_state(SERVER, false);
    learn_all(state);
    assert_int_equal(state_commit(state, &e), 0);
    struct memory_sink sink = state_sink(state);
    const struct remembered_item late = item(3, "package:late");
    sink.item(sink.context, &late);
    struct state *reader = open_state(SERVER, true); /* as `plan` beside it */
    struct memory memory = load(reader, arena);
    assert_int_equal(memory.item_count, 3);
    state_close(reader);
    state_close(state);
}

static void test_read_only(void **unused)
{
    (void)unused;
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(ARENA_BYTES);
    struct state *state = open_state(SERVER, true); /* a missing file is an empty memory */
    struct memory memory = load(state, arena);
    assert_int_equal(memory.item_count, 0);
    learn_all(state); /* nobody listens */
    const struct run_report report = {.command = "plan", .tender_version = "", .revision = ""};
    assert_int_equal(state_record_run(state, &report, &e), 0);
    assert_int_equal(state_commit(state, &e), 0);
    state_close(state);
    assert_int_equal(access(path_of("state.db"), F_OK), -1);
    assert_int_equal(warnings, 0);
}

static void write_bytes(const char *name, const char *bytes, size_t length)
{
    assert_int_equal(file_write_atomically(path_of(name), bytes, length, 0600, &e), 0);
}

/* The file was bad in some way: it was set aside with a warning, and a new one works. */
static void check_rebuilt(const char *aside)
{
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(ARENA_BYTES);
    struct state *state = open_state(SERVER, false);
    struct memory memory = load(state, arena);
    assert_int_equal(memory.item_count, 0);
    assert_int_equal(warnings, 1);
    if (strstr(last_warning, aside) == NULL)
        fail_msg("no %s in: %s", aside, last_warning);
    assert_int_equal(access(path_of(aside), F_OK), 0);
    learn_all(state);
    assert_int_equal(state_commit(state, &e), 0);
    state_close(state);
    state = open_state(SERVER, false);
    memory = load(state, arena);
    assert_int_equal(memory.item_count, 3);
    assert_int_equal(warnings, 1);
    state_close(state);
}

static void test_garbage(void **unused)
{
    (void)unused;
    char garbage[8192];
    memset(garbage, 'x', sizeof garbage);
    write_bytes("state.db", garbage, sizeof garbage);
    check_rebuilt("state.db.corrupt-1");
    write_bytes("state.db", garbage, sizeof garbage);
    warnings = 0;
    check_rebuilt("state.db.corrupt-2"); /* the first one is not overwritten */
}

/* The newest three stay, with their journals; what else lies there is not ours to remove. */
static void test_few_are_kept(void **unused)
{
    (void)unused;
    char garbage[8192];
    char name[64];
    memset(garbage, 'x', sizeof garbage);
    write_bytes("state.db.corrupt-x", "x", 1);
    write_bytes("state.db.corrupt-10.txt", "x", 1);
    for (int i = 1; i <= 12; i++) {
        write_bytes("state.db", garbage, sizeof garbage);
        write_bytes("state.db-journal", "x", 1);
        warnings = 0;
        snprintf(name, sizeof name, "state.db.corrupt-%d", i);
        check_rebuilt(name);
    }
    for (int i = 1; i <= 12; i++) {
        snprintf(name, sizeof name, "state.db.corrupt-%d", i);
        assert_int_equal(access(path_of(name), F_OK), i > 9 ? 0 : -1);
        snprintf(name, sizeof name, "state.db.corrupt-%d-journal", i);
        if (i <= 9)
            assert_int_equal(access(path_of(name), F_OK), -1);
    }
    assert_int_equal(access(path_of("state.db.corrupt-x"), F_OK), 0);
    assert_int_equal(access(path_of("state.db.corrupt-10.txt"), F_OK), 0);
}

static void test_garbage_read_only(void **unused)
{
    (void)unused;
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(ARENA_BYTES);
    char garbage[8192];
    memset(garbage, 'x', sizeof garbage);
    write_bytes("state.db", garbage, sizeof garbage);
    struct state *state = open_state(SERVER, true);
    assert_int_equal(load(state, arena).item_count, 0);
    assert_int_equal(warnings, 1);
    state_close(state);
    assert_int_equal(access(path_of("state.db"), F_OK), 0); /* it is not the reader's to move */
    assert_int_equal(access(path_of("state.db.corrupt-1"), F_OK), -1);
}

static void test_truncated_and_flipped(void **unused)
{
    (void)unused;
    struct buf bytes = BUF_INIT(1024 * 1024);
    struct state *state = open_state(SERVER, false);
    learn_all(state);
    state_close(state);
    assert_int_equal(file_read(path_of("state.db"), &bytes, &e), 0);
    write_bytes("state.db", bytes.bytes, bytes.length / 2);
    check_rebuilt("state.db.corrupt-1");
    memset(bytes.bytes + bytes.length / 2, 0xA5, 2048); /* inside some page */
    write_bytes("state.db", bytes.bytes, bytes.length);
    warnings = 0;
    check_rebuilt("state.db.corrupt-2");
    buf_done(&bytes);
}

static void run_sql(const char *sql)
{
    sqlite3 *database = NULL;
    assert_int_equal(sqlite3_open(path_of("state.db"), &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(database);
}

static void test_foreign(void **unused)
{
    (void)unused;
    run_sql("CREATE TABLE something (else_ TEXT)");
    check_rebuilt("state.db.corrupt-1");
}

static void test_newer(void **unused)
{
    (void)unused;
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(ARENA_BYTES);
    struct state *state = open_state(SERVER, false);
    learn_all(state);
    state_close(state);
    run_sql("PRAGMA user_version = 99");
    state = open_state(SERVER, false);
    assert_int_equal(load(state, arena).item_count, 0);
    learn_all(state);
    assert_int_equal(state_commit(state, &e), 0);
    state_close(state);
    assert_int_equal(warnings, 1);
    run_sql("PRAGMA user_version = 2"); /* as it was: nothing was destroyed or added */
    state = open_state(SERVER, true);
    assert_int_equal(load(state, arena).item_count, 3);
    state_close(state);
}

/* A file of version 1 held whole URLs: what they were is not to be found in it any more. */
static void test_older(void **unused)
{
    (void)unused;
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(ARENA_BYTES);
    struct buf bytes = BUF_INIT(1024 * 1024);
    struct state *state = open_state(SERVER, false);
    learn_all(state);
    state_close(state);
    run_sql("ALTER TABLE validators RENAME COLUMN url_sha256 TO url;"
            "UPDATE validators SET url = 'https://u:pass-word@v.example/a';"
            "UPDATE items SET key = 'package:https://v.example/a?sig=tell-nobody' || key;"
            "PRAGMA user_version = 1");
    state = open_state(SERVER, true); /* can't be changed: this run does without */
    assert_int_equal(load(state, arena).item_count, 0);
    state_close(state);
    state = open_state(SERVER, false);
    struct memory memory = load(state, arena);
    assert_int_equal(memory.item_count + memory.validator_count, 0);
    assert_int_equal(memory.default_count, 1);
    learn_all(state);
    state_close(state);
    state = open_state(SERVER, false);
    assert_int_equal(load(state, arena).item_count, 3);
    state_close(state);
    assert_int_equal(warnings, 0);
    assert_int_equal(file_read(path_of("state.db"), &bytes, &e), 0);
    assert_null(memmem(bytes.bytes, bytes.length, "pass-word", 9));
    assert_null(memmem(bytes.bytes, bytes.length, "tell-nobody", 11));
    buf_done(&bytes);
}

/* An empty file, as a full disk leaves it, is filled. */
static void test_empty_file(void **unused)
{
    (void)unused;
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(ARENA_BYTES);
    write_bytes("state.db", "", 0);
    struct state *reader = open_state(SERVER, true);
    assert_int_equal(load(reader, arena).item_count, 0);
    state_close(reader);
    struct state *state = open_state(SERVER, false);
    learn_all(state);
    assert_int_equal(state_commit(state, &e), 0);
    state_close(state);
    assert_int_equal(warnings, 0);
}

static void test_symbolic_link(void **unused)
{
    (void)unused;
    assert_int_equal(symlink("/etc/hostname", path_of("state.db")), 0);
    assert_null(state_open(folder, SERVER, false, &test_log, &e));
    assert_int_equal(e.class, ERR_SYSTEM);
}

/* A write that fails is told once, and the commit says it. */
static void test_failing_write(void **unused)
{
    (void)unused;
    struct state *state = open_state(SERVER, false);
    struct memory_sink sink = state_sink(state);
    const struct remembered_item first = item(1, "package:a");
    sink.item(sink.context, &first);
    assert_int_equal(state_commit(state, &e), 0);
    run_sql("CREATE TRIGGER no_items BEFORE INSERT ON items BEGIN SELECT raise(FAIL, 'no room'); END");
    sink.item(sink.context, &first);
    sink.item(sink.context, &first);
    assert_int_equal(warnings, 1);
    assert_int_equal(state_commit(state, &e), -1);
    assert_non_null(strstr(e.text, "no room"));
    err_init(&e);
    run_sql("DROP TRIGGER no_items");
    sink.item(sink.context, &first);
    assert_int_equal(state_commit(state, &e), 0);
    state_close(state);
}

static int count_rows(void *out, int columns, char **values, char **names)
{
    (void)columns;
    (void)names;
    *(int *)out = atoi(values[0]);
    return 0;
}

static int number_of(const char *sql)
{
    sqlite3 *database = NULL;
    int number = -1;
    assert_int_equal(sqlite3_open(path_of("state.db"), &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, sql, count_rows, &number, NULL), SQLITE_OK);
    sqlite3_close(database);
    return number;
}

static void test_run_history(void **unused)
{
    (void)unused;
    struct state *state = open_state(SERVER, false);
    struct run_report report = {
        .command = "apply", .tender_version = "0.1.0", .revision = "0123", .exit_status = 3};
    report.counts[OUTCOME_CREATED] = 2;
    report.counts[OUTCOME_FAILED] = 1;
    for (int i = 0; i < 1010; i++) {
        report.started_wall_ms = i;
        assert_int_equal(state_record_run(state, &report, &e), 0);
    }
    assert_int_equal(state_commit(state, &e), 0);
    state_close(state);
    assert_int_equal(number_of("SELECT count(*) FROM runs"), 1000);
    assert_int_equal(number_of("SELECT min(started_ms) FROM runs"), 10);
    assert_int_equal(
        number_of("SELECT count(*) FROM runs WHERE counts = 'created=2 failed=1' AND exit_status = 3"), 1000);
}

static int use_all(void)
{
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(ARENA_BYTES);
    const struct run_report report = {.command = "apply", .tender_version = "", .revision = ""};
    struct memory memory;
    err_init(&e);
    CLEANUP(state_cleanup) struct state *state = state_open(folder, SERVER, false, &test_log, &e);
    if (state == NULL || arena == NULL)
        return -1;
    learn_all(state);
    if (state_load(state, arena, &memory, &e) < 0 || state_record_run(state, &report, &e) < 0)
        return -1;
    return state_commit(state, &e);
}

static void test_no_memory(void **unused)
{
    (void)unused;
    failing_alloc_start(0, false);
    assert_int_equal(use_all(), 0);
    long needed = failing_alloc_stop();
    for (long nth = 1; nth <= needed; nth++) {
        failing_alloc_start(nth, false);
        int result = use_all();
        (void)failing_alloc_stop();
        assert_int_equal(result, -1);
        assert_true(e.class == ERR_MEMORY || e.class == ERR_NONE);
    }
    assert_int_equal(use_all(), 0); /* none of it spoilt the file */
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make_folder, drop_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_round_trip),
        TEST(test_replace_and_forget),
        TEST(test_servers_are_apart),
        TEST(test_no_secrets),
        TEST(test_uncommitted),
        TEST(test_read_only),
        TEST(test_garbage),
        TEST(test_few_are_kept),
        TEST(test_garbage_read_only),
        TEST(test_truncated_and_flipped),
        TEST(test_foreign),
        TEST(test_newer),
        TEST(test_older),
        TEST(test_empty_file),
        TEST(test_symbolic_link),
        TEST(test_failing_write),
        TEST(test_run_history),
        TEST(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
