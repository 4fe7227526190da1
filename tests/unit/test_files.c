/* base/files.h on a real folder: what appears by rename, what stays when a write fails. */
#include "base/files.h"
#include "base/text.h"
#include "failing_alloc.h"
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/tender-test-files-XXXXXX";
static char path_text[256];

static const char *in_folder(const char *name)
{
    snprintf(path_text, sizeof path_text, "%s/%s", folder, name);
    return path_text;
}

static int make_folder(void **state)
{
    (void)state;
    memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_folder(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    return folder_remove(folder, &e);
}

static int count_entries(void)
{
    DIR *stream = opendir(folder);
    assert_non_null(stream);
    int count = 0;
    for (struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream))
        count += entry->d_name[0] != '.';
    closedir(stream);
    return count;
}

static void assert_holds(const char *path, const char *expected)
{
    struct err e;
    err_init(&e);
    CLEANUP(buf_done) struct buf text = BUF_INIT(1 << 20);
    assert_int_equal(file_read(path, &text, &e), 0);
    assert_string_equal(buf_text(&text), expected);
}

static void test_read(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    const char *path = in_folder("a");
    assert_int_equal(file_write_atomically(path, "a\0bc", 4, 0600, &e), 0);
    CLEANUP(buf_done) struct buf out = BUF_INIT(6);
    assert_int_equal(file_read(path, &out, &e), 0);
    assert_int_equal(out.length, 4);
    assert_memory_equal(out.bytes, "a\0bc", 4);
    assert_int_equal(file_read(path, &out, &e), -1); /* 8 bytes do not fit into 6 */
    assert_int_equal(e.class, ERR_MEMORY);
    assert_non_null(strstr(e.text, "is too large"));
    assert_int_equal(out.length, 4); /* half a file is no result */
    err_init(&e);
    assert_int_equal(file_read(in_folder("missing"), &out, &e), -1);
    assert_int_equal(e.class, ERR_NOT_FOUND);
    err_init(&e);
    assert_int_equal(file_read(folder, &out, &e), -1);
    assert_int_equal(e.class, ERR_SYSTEM);
    err_init(&e);
    assert_int_equal(file_write_atomically(path, "", 0, 0600, &e), 0);
    CLEANUP(buf_done) struct buf empty = BUF_INIT(0);
    assert_int_equal(file_read(path, &empty, &e), 0);
    assert_string_equal(buf_text(&empty), "");
}

static void test_write(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    assert_int_equal(file_write_atomically(in_folder("a"), "one", 3, 0600, &e), 0);
    assert_holds(in_folder("a"), "one");
    struct stat status;
    assert_int_equal(stat(path_text, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(file_write_atomically(in_folder("a"), "two", 3, 0600, &e), 0);
    assert_holds(in_folder("a"), "two");
    assert_int_equal(count_entries(), 1);
    /* relative names, in this folder */
    char before[256];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(folder), 0);
    int result = file_write_atomically("b", "three", 5, 0600, &e);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(result, 0);
    assert_holds(in_folder("b"), "three");
}

static void test_write_where_it_cannot(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    assert_int_equal(file_write_atomically(in_folder("missing/a"), "x", 1, 0600, &e), -1);
    assert_int_equal(e.class, ERR_SYSTEM);
    /* The target is a folder: the rename fails. */
    err_init(&e);
    assert_int_equal(mkdir(in_folder("sub"), 0700), 0);
    assert_int_equal(mkdir(in_folder("sub/full"), 0700), 0);
    assert_int_equal(file_write_atomically(in_folder("sub"), "x", 1, 0600, &e), -1);
    assert_non_null(strstr(e.text, "can't rename"));
    assert_int_equal(count_entries(), 1);
    char long_path[5000] = "/";
    memset(long_path + 1, 'a', sizeof long_path - 2);
    err_init(&e);
    assert_int_equal(file_write_atomically(long_path, "x", 1, 0600, &e), -1);
    err_init(&e);
    assert_int_equal(folder_make(long_path, &e), -1);
}

/* A killed run's rest or somebody's link in the temporary file's place. */
static void test_write_over_a_trap(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    assert_int_equal(file_write_atomically(in_folder("victim"), "precious", 8, 0600, &e), 0);
    char victim[256], trap[300];
    snprintf(victim, sizeof victim, "%s", path_text);
    snprintf(trap, sizeof trap, "%s.tmp.%ld", in_folder("a"), (long)getpid());
    assert_int_equal(symlink(victim, trap), 0);
    assert_int_equal(file_write_atomically(in_folder("a"), "one", 3, 0600, &e), 0);
    assert_holds(in_folder("a"), "one");
    assert_holds(victim, "precious");
    assert_int_equal(link(victim, trap), 0);
    assert_int_equal(file_write_atomically(in_folder("a"), "two", 3, 0600, &e), 0);
    assert_holds(in_folder("a"), "two");
    assert_holds(victim, "precious");
}

/* `--report /dev/null` run by root must not replace the device by a file. Through links, so that the
 * machine's own devices are safe from a mistake. */
static void test_write_to_a_device(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    struct stat status;
    assert_int_equal(symlink("/dev/null", in_folder("null")), 0);
    assert_int_equal(file_write_atomically(in_folder("null"), "x", 1, 0600, &e), 0);
    assert_int_equal(lstat(in_folder("null"), &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(symlink("/dev/full", in_folder("full")), 0);
    assert_int_equal(file_write_atomically(in_folder("full"), "x", 1, 0600, &e), -1);
    assert_non_null(strstr(e.text, "No space left on device"));
    assert_int_equal(lstat(in_folder("full"), &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(count_entries(), 2);
}

/* RLIMIT_FSIZE makes the write fail in the middle: the old file stays, nothing else is left. */
static void test_write_fails_midway(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    char old[] = "old";
    assert_int_equal(file_write_atomically(in_folder("a"), old, 3, 0600, &e), 0);
    static char large[100000];
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    struct rlimit small = {.rlim_cur = 5000, .rlim_max = limit.rlim_max};
    void (*former)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int result = file_write_atomically(in_folder("a"), large, sizeof large, 0600, &e);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, former);
    assert_int_equal(result, -1);
    assert_int_equal(e.class, ERR_SYSTEM);
    assert_holds(in_folder("a"), "old");
    assert_int_equal(count_entries(), 1);
}

static void test_write_all(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    assert_int_equal(file_write_all(-1, "x", 1, &e), -1);
    assert_int_equal(e.class, ERR_SYSTEM);
    err_init(&e);
    assert_int_equal(file_write_all(-1, "", 0, &e), 0);
    /* A pipe takes it in pieces. */
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    static char bytes[300000];
    if (child == 0) {
        close(ends[0]);
        memset(bytes, 'z', sizeof bytes);
        _exit(file_write_all(ends[1], bytes, sizeof bytes, &e) == 0 ? 0 : 1);
    }
    close(ends[1]);
    size_t total = 0;
    for (ssize_t got = 1; got > 0; total += (size_t)got)
        got = read(ends[0], bytes, 7777);
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(total, sizeof bytes);
}

static void test_folders(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    assert_int_equal(folder_make(in_folder("a/b//c"), &e), 0);
    assert_int_equal(folder_make(in_folder("a/b/c/"), &e), 0);
    assert_int_equal(folder_make("/", &e), 0);
    struct stat status;
    assert_int_equal(stat(in_folder("a/b/c"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    assert_int_equal(file_write_atomically(in_folder("a/file"), "x", 1, 0600, &e), 0);
    assert_int_equal(folder_make(in_folder("a/file"), &e), -1);
    err_init(&e);
    assert_int_equal(folder_make(in_folder("a/file/b"), &e), -1);
    err_init(&e);
    assert_int_equal(folder_make("", &e), -1);
    assert_int_equal(folder_make("/proc/self/fd", &e), 0); /* mkdir there says something else than EEXIST */
    err_init(&e);
    assert_int_equal(folder_make("/proc/self/nothing", &e), -1);
}

static void test_remove(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    assert_int_equal(folder_remove(in_folder("missing"), &e), 0);
    assert_int_equal(folder_make(in_folder("kept"), &e), 0);
    assert_int_equal(file_write_atomically(in_folder("kept/file"), "x", 1, 0600, &e), 0);
    assert_int_equal(folder_make(in_folder("gone/deep/er"), &e), 0);
    char target[256];
    snprintf(target, sizeof target, "%s", in_folder("kept"));
    assert_int_equal(symlink(target, in_folder("gone/link")), 0);
    assert_int_equal(folder_remove(in_folder("gone"), &e), 0);
    assert_int_equal(access(in_folder("gone"), F_OK), -1);
    assert_holds(in_folder("kept/file"), "x"); /* links are removed, not followed */
    assert_int_equal(symlink(target, in_folder("link")), 0);
    assert_int_equal(folder_remove(in_folder("link"), &e), 0);
    assert_holds(in_folder("kept/file"), "x");
}

static void test_lock(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    const char *path = in_folder("lock");
    CLEANUP(file_close_cleanup) int first = -1;
    int second = -1;
    assert_int_equal(file_lock(path, &first, &e), 0);
    assert_true(first >= 0);
    assert_int_equal(file_lock(path, &second, &e), -1);
    assert_int_equal(e.class, ERR_LOCKED);
    assert_int_equal(second, -1);
    file_close_cleanup(&first);
    err_init(&e);
    assert_int_equal(file_lock(path, &first, &e), 0);
    assert_int_equal(file_lock(in_folder("missing/lock"), &second, &e), -1);
    assert_int_equal(e.class, ERR_SYSTEM);
}

static void test_space_and_names(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    uint64_t bytes = 0;
    assert_int_equal(folder_free_bytes(folder, &bytes, &e), 0);
    assert_true(bytes > 0);
    assert_int_equal(folder_free_bytes(in_folder("missing"), &bytes, &e), -1);
    CLEANUP(file_free_cleanup) char *joined = path_join("a/b", "c");
    assert_string_equal(joined, "a/b/c");
    err_init(&e);
    assert_int_equal(file_sync_folder_of("/tmp", &e), 0);
    assert_int_equal(file_sync_folder_of("name", &e), 0);
    assert_int_equal(file_sync_folder_of("/proc/self/x", &e), 0); /* this one can't be synced: EINVAL */
    assert_int_equal(file_sync_folder_of(in_folder("missing/a"), &e), -1);
}

static void test_read_without_memory(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    static char large[200000];
    memset(large, 'a', sizeof large);
    const char *path = in_folder("large");
    assert_int_equal(file_write_atomically(path, large, sizeof large, 0600, &e), 0);
    CLEANUP(buf_done) struct buf whole = BUF_INIT(1 << 20);
    failing_alloc_start(0, false);
    assert_int_equal(file_read(path, &whole, &e), 0);
    long count = failing_alloc_stop();
    assert_true(count >= 2);
    for (long nth = 1; nth <= count; nth++) {
        CLEANUP(buf_done) struct buf out = BUF_INIT(1 << 20);
        err_init(&e);
        failing_alloc_start(nth, false);
        int result = file_read(path, &out, &e);
        failing_alloc_stop();
        assert_int_equal(result, -1);
        assert_int_equal(e.class, ERR_MEMORY);
        assert_null(strstr(e.text, "too large"));
        assert_int_equal(out.length, 0);
    }
}

#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(test_read),
        IN_A_FOLDER(test_write),
        IN_A_FOLDER(test_write_where_it_cannot),
        IN_A_FOLDER(test_write_over_a_trap),
        IN_A_FOLDER(test_write_to_a_device),
        IN_A_FOLDER(test_write_fails_midway),
        IN_A_FOLDER(test_write_all),
        IN_A_FOLDER(test_folders),
        IN_A_FOLDER(test_remove),
        IN_A_FOLDER(test_lock),
        IN_A_FOLDER(test_space_and_names),
        IN_A_FOLDER(test_read_without_memory),
    };
    return cmocka_run_group_tests_name("files", tests, NULL, NULL);
}
