/* G7, call by call: a download dies at every write, sync, rename and unlink in turn, and the disk forgets
 * what it was not made to keep. Behind each the cache holds nothing but whole files, and the next run ends
 * with the right bytes. */
#include "base/attributes.h"
#include "base/files.h"
#include "behaviours.h"
#include "fetch/cache.h"
#include "power.h"
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { BODY_BYTES = 700000, CUT_BYTES = 300000, ITEMS = 2, MOST_CALLS = 400 };

static unsigned char *bodies[ITEMS];

#define BODY(n) .body = bodies[n], .body_length = BODY_BYTES, .ranges = true

struct scene {
    const char *name;
    bool is_pinned;
    bool has_etag;
    size_t items;
    bool all_losses; /* else those that have shown to be the worst */
    void (*leave)(struct fetch_fixture *fixture,
                  const char *sha256); /* what a former run left; may be NULL */
};

static void put(const struct fetch_fixture *fixture, const char *folder, const char *name, const void *bytes,
                size_t length)
{
    char path[PATH_MAX];
    struct err e;
    err_init(&e);
    (void)!snprintf(path, sizeof path, "%s/%s", fixture->folder, folder);
    assert_int_equal(folder_make(path, &e), 0);
    (void)!snprintf(path, sizeof path, "%s/%s/%s", fixture->folder, folder, name);
    assert_int_equal(file_write_atomically(path, bytes, length, 0600, &e), 0);
}

/* Bytes of another file under a sidecar that knows the right length. */
static void leave_wrong_partial(struct fetch_fixture *fixture, const char *sha256)
{
    char name[128], about[512];
    (void)!snprintf(name, sizeof name, "%s.part", sha256);
    put(fixture, "partial", name, bodies[1], 5000);
    (void)!snprintf(name, sizeof name, "%s.about", sha256);
    (void)!snprintf(about, sizeof about, "tender partial 1\nboot x\nsource %s\nsize %d\nend\n", sha256,
                    BODY_BYTES);
    put(fixture, "partial", name, about, strlen(about));
}

static void leave_damaged_entry(struct fetch_fixture *fixture, const char *sha256)
{
    char folder[32];
    (void)!snprintf(folder, sizeof folder, "sha256/%.2s", sha256);
    put(fixture, folder, sha256, bodies[1], BODY_BYTES);
}

static const struct scene scenes[] = {
    {"pinned, cut and resumed", .is_pinned = true, .items = 1, .all_losses = true},
    {"unpinned, cut and resumed by its ETag", .has_etag = true, .items = 1, .all_losses = true},
    {"two at once", .has_etag = true, .items = 2},
    {"behind a wrong partial", .is_pinned = true, .items = 1, .leave = leave_wrong_partial},
    {"behind a damaged entry", .is_pinned = true, .items = 1, .leave = leave_damaged_entry},
};

/* What the processes of one trial share. */
static struct shared {
    int port;
    char words[8192];
} * shared;

/* The host in a process of its own: the program that forks has no threads. */
static pid_t start_host(const struct scene *scene)
{
    shared->port = 0;
    pid_t host = fork();
    assert_true(host >= 0);
    if (host == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves none behind */
        const char *etag = scene->has_etag ? "\"v1\"" : NULL;
        const char *name = "Content-Disposition: attachment; filename=\"Real Name.pkg\"\r\n";
        const struct script_step first[] = {
            {BODY(0), .etag = etag, .headers = name, .send_at_most = CUT_BYTES, .end = SCRIPT_CLOSE},
            {BODY(0), .etag = etag, .headers = name}};
        const struct script_step second[] = {{BODY(1), .etag = etag}};
        const struct script_path paths[] = {{.path = "/0.pkg", .steps = first, .step_count = 2},
                                            {.path = "/1.pkg", .steps = second, .step_count = 1}};
        struct scripted_server *server = scripted_server_new(paths, 2);
        __atomic_store_n(&shared->port, scripted_server_port(server), __ATOMIC_SEQ_CST);
        for (;;)
            pause();
    }
    while (__atomic_load_n(&shared->port, __ATOMIC_SEQ_CST) == 0)
        usleep(200);
    return host;
}

static int end_of(pid_t process)
{
    int status = 0;
    assert_int_equal(waitpid(process, &status, 0), process);
    return status;
}

static void say(const char *words, const char *more)
{
    (void)!snprintf(shared->words, sizeof shared->words, "%s: %s", words, more);
}

/* The whole run in a child; true: everything arrived as it should. */
static bool fetch_all(struct fetch_fixture *fixture, const struct scene *scene)
{
    struct package_request requests[ITEMS];
    struct package results[ITEMS];
    struct err e;
    err_init(&e);
    fetch_fixture_next_run(fixture);
    fixture->settings.limits.stall_ms = fixture->settings.limits.connect_timeout_ms = 60 * 1000;
    for (size_t i = 0; i < scene->items; i++)
        requests[i] = (struct package_request){
            .name = "p",
            .url = fixture_url(fixture, shared->port, i == 0 ? "/0.pkg" : "/1.pkg"),
            .sha256 = scene->is_pinned ? fixture_digest(fixture, bodies[i], BODY_BYTES) : NULL,
            .bytes_needed = true};
    if (fetch_run(&fixture->options, requests, scene->items, fixture->arena, results, &e) < 0) {
        say("the run failed", e.text);
        return false;
    }
    for (size_t i = 0; i < scene->items; i++) {
        if (results[i].state != PACKAGE_FETCHED && results[i].state != PACKAGE_CACHED) {
            say(package_state_name(results[i].state), results[i].err.text);
            return false;
        }
        if (!fixture_file_is(results[i].path, bodies[i], BODY_BYTES)) {
            say("wrong bytes", results[i].path);
            return false;
        }
    }
    return true;
}

static int make_old(const char *path, const struct stat *status, int flag, struct FTW *position)
{
    const struct timespec long_ago[2] = {{.tv_sec = time(NULL) - 7200}, {.tv_sec = time(NULL) - 7200}};
    (void)status;
    (void)position;
    return flag == FTW_F && strstr(path, ".tmp") != NULL ? utimensat(AT_FDCWD, path, long_ago, 0) : 0;
}

/* Two hours later, after a whole run and its pruning: the package, and perhaps its name. */
static bool is_tidy(const struct fetch_fixture *fixture, const struct scene *scene)
{
    struct err e;
    err_init(&e);
    if (nftw(fixture->folder, make_old, 8, FTW_PHYS) != 0 ||
        fetch_prune_cache(fixture->folder, 0, NULL, 0, NULL, &e) < 0) {
        say("pruning failed", e.text);
        return false;
    }
    size_t files = fixture_count_files(fixture, "sha256");
    if (fixture_count_files(fixture, "partial") == 0 && files >= scene->items && files <= scene->items * 2)
        return true;
    say("left behind", "a partial or a temporary file");
    return false;
}

static const char *damaged;
static char damaged_path[PATH_MAX];

static int look_at_entry(const char *path, const struct stat *status, int flag, struct FTW *position)
{
    char hex[DIGEST_HEX_BYTES];
    struct err e;
    (void)status;
    err_init(&e);
    const char *name = path + position->base;
    if (flag != FTW_F || !digest_is_hex(name) || digest_file(path, hex, NULL, &e) < 0 ||
        strcmp(hex, name) == 0)
        return 0;
    (void)!snprintf(damaged_path, sizeof damaged_path, "%s", path);
    damaged = damaged_path;
    return 0;
}

/* An entry of the cache that is not what its name says; NULL: there is none. The one that a scene begins with
 * does not count. */
static const char *find_damaged(const struct fetch_fixture *fixture, const struct scene *scene)
{
    char folder[PATH_MAX];
    damaged = NULL;
    if (scene->leave == leave_damaged_entry)
        return NULL;
    (void)!snprintf(folder, sizeof folder, "%s/sha256", fixture->folder);
    nftw(folder, look_at_entry, 8, FTW_PHYS);
    return damaged;
}

/* One death and what comes after it. False: the run came to its end before the n-th call. */
static bool die_once(const struct scene *scene, long nth, enum power_loss loss, bool *has_damage)
{
    struct fetch_fixture fixture;
    fetch_fixture_init(&fixture);
    power_forget();
    shared->words[0] = '\0';
    if (scene->leave != NULL)
        scene->leave(&fixture, fixture_digest(&fixture, bodies[0], BODY_BYTES));
    pid_t host = start_host(scene);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        power_start(nth, loss);
        _exit(fetch_all(&fixture, scene) ? 0 : 1);
    }
    int status = end_of(child);
    bool has_died = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (!has_died && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
        fail_msg("%s, without a death (status %x): %s", scene->name, (unsigned)status, shared->words);
    power_cut(fixture.folder, loss);
    *has_damage = find_damaged(&fixture, scene) != NULL;
    pid_t next = fork();
    assert_true(next >= 0);
    if (next == 0)
        _exit(fetch_all(&fixture, scene) && is_tidy(&fixture, scene) ? 0 : 1);
    status = end_of(next);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("%s, call %ld, loss %d: the next run: %s", scene->name, nth, loss, shared->words);
    kill(host, SIGKILL);
    end_of(host);
    fetch_fixture_done(&fixture);
    return has_died;
}

static bool is_played(const struct scene *scene, int loss)
{
    return scene->all_losses || loss == POWER_KILLED_TORN || loss == POWER_CUT || loss == POWER_ZEROED_UNDONE;
}

static void test_every_call(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(scenes); i++) {
        long calls = 0;
        for (int loss = 0; loss < POWER_LOSSES; loss++) {
            bool has_died = is_played(&scenes[i], loss), has_damage = false;
            for (long nth = 1; has_died; nth++) {
                assert_in_range(nth, 1, MOST_CALLS);
                has_died = die_once(&scenes[i], nth, (enum power_loss)loss, &has_damage);
                if (has_damage)
                    fail_msg("%s, call %ld, loss %d: %s is not what its name says", scenes[i].name, nth, loss,
                             damaged_path);
                calls += has_died;
            }
        }
        print_message("    %s: %ld deaths\n", scenes[i].name, calls);
        assert_true(calls >= 5 * (scenes[i].all_losses ? POWER_LOSSES : 3));
    }
}

/* The test of the test: a disk that only says that it synced must be seen in the cache. */
static void test_planted_lie(void **state)
{
    (void)state;
    bool is_seen = false, has_died = true;
    power_lie_about_syncs(true);
    for (long nth = 1; has_died && !is_seen; nth++)
        has_died = die_once(&scenes[0], nth, POWER_ZEROED, &is_seen);
    power_lie_about_syncs(false);
    assert_true(is_seen);
}

static char undo_folder[128];

static int init(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ITEMS; i++)
        bodies[i] = fixture_bytes(".pkg", BODY_BYTES, 50 + i);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    (void)!snprintf(undo_folder, sizeof undo_folder, "%s/tender-undo-XXXXXX",
                    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (shared == MAP_FAILED || mkdtemp(undo_folder) == NULL)
        return -1;
    power_init(undo_folder);
    return 0;
}

static int done(void **state)
{
    struct err e;
    (void)state;
    err_init(&e);
    power_forget();
    for (size_t i = 0; i < ITEMS; i++)
        free(bodies[i]);
    return folder_remove(undo_folder, &e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_call),
        cmocka_unit_test(test_planted_lie),
    };
    return cmocka_run_group_tests(tests, init, done);
}
