/* lib/fetch and the place where its files lie: who gets the room that there is, what is removed for it, what
 * stands in a file's place, what can only be read. */
#include "base/attributes.h"
#include "base/files.h"
#include "fetch/cache.h"
#include "fetch/partial.h"
#include "fetch_scene.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static uint64_t disk_bytes; /* of a disk that holds nothing but the cache; 0: as large as can be */
static const char *disk_folder;

static uint64_t used_bytes(const char *folder)
{
    char command[256], line[64] = "";
    snprintf(command, sizeof command, "find %s -type f -printf '%%s\\n' | awk '{n+=$1} END {print n+0}'",
             folder);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(line, sizeof line, pipe));
    pclose(pipe);
    return strtoull(line, NULL, 10);
}

/* In the C library's place. */
int statvfs(const char *restrict path, struct statvfs *restrict out)
{
    (void)path;
    uint64_t used = disk_bytes == 0 ? 0 : used_bytes(disk_folder);
    *out = (struct statvfs){.f_frsize = 1, .f_bsize = 1, .f_bavail = UINT64_C(1) << 50};
    if (disk_bytes > 0)
        out->f_bavail = used > disk_bytes ? 0 : disk_bytes - used;
    return 0;
}

static void have_disk(const struct scene *scene, uint64_t bytes)
{
    disk_bytes = bytes;
    disk_folder = scene->fixture.folder;
}

static void run_two(struct scene *scene, struct package results[2])
{
    const struct package_request requests[] = {
        scene->request,
        {.name = "b.pkg",
         .url = fixture_url(&scene->fixture, scripted_server_port(scene->server), "/b.pkg"),
         .bytes_needed = true},
    };
    assert_int_equal(
        fetch_run(&scene->fixture.options, requests, 2, scene->fixture.arena, results, &scene->e), 0);
}

/* A body whose length nobody knows takes only what is not promised to others. */
static void test_promised_room(void **state)
{
    (void)state;
    const struct script_path paths[] = {
        PATH("/a.pkg", {.body = big, .body_length = BIG_BYTES, .pace_ms = 4}),
        PATH("/b.pkg", {.body = big, .body_length = BIG_BYTES, .chunked = true, .delay_ms = 200}),
    };
    struct scene scene;
    struct package results[2];
    scene_init(&scene, paths, 2);
    have_disk(&scene, 4 * MEBIBYTE);
    run_two(&scene, results);
    assert_int_equal(results[0].state, PACKAGE_FETCHED);
    assert_int_equal(results[1].state, PACKAGE_FAILED);
    assert_non_null(strstr(results[1].err.text, "no disk space"));
    assert_int_equal(fixture_count_files(&scene.fixture, "partial"), 0); /* nor is it in the way later */
    have_disk(&scene, 10 * MEBIBYTE);                                    /* what came first, and both again */
    run_two(&scene, results);
    assert_int_equal(results[1].state, PACKAGE_FETCHED);
    have_disk(&scene, 0);
    scene_done(&scene);
}

static void make_room(void *context, uint64_t free_bytes)
{
    struct err e;
    err_init(&e);
    const struct scene *scene = context;
    assert_int_equal(fetch_make_room(scene->fixture.folder, -1, free_bytes, NULL, 0, NULL, &e), 0);
}

static void write_old(const struct scene *scene, const char *name, size_t length)
{
    char path[PATH_MAX];
    struct err e;
    err_init(&e);
    snprintf(path, sizeof path, "%s/partial/%s", scene->fixture.folder, name);
    assert_int_equal(cache_prepare(scene->fixture.folder, &e), 0);
    assert_int_equal(file_write_atomically(path, big, length, 0600, &e), 0);
    struct timespec two_days_ago[2] = {{.tv_sec = time(NULL) - 172800}, {.tv_sec = time(NULL) - 172800}};
    assert_int_equal(utimensat(AT_FDCWD, path, two_days_ago, 0), 0);
}

/* Room is made in the middle of a body, too, and what nobody wants any more is not all whole. */
static void test_room_of_partials(void **state)
{
    (void)state;
    const struct script_path paths[] = {
        PATH("/a.pkg", {.body = big, .body_length = BIG_BYTES, .chunked = true}),
    };
    struct scene scene;
    scene_init(&scene, paths, 1);
    write_old(&scene, "url-0000.part", 2 * MEBIBYTE);
    write_old(&scene, "url-0000.about", 10);
    have_disk(&scene, 4 * MEBIBYTE);
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FAILED);
    scene.fixture.options.make_room = make_room;
    scene.fixture.options.make_room_context = &scene;
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FETCHED);
    assert_int_equal(fixture_count_files(&scene.fixture, "partial"), 0);
    have_disk(&scene, 0);
    scene_done(&scene);
}

static void test_partials_are_pruned(void **state)
{
    (void)state;
    static const char wanted[] = "1111111111111111111111111111111111111111111111111111111111111111";
    static const char name[] = "url-1111111111111111111111111111111111111111111111111111111111111111.part";
    static const char gone[] = "url-2222222222222222222222222222222222222222222222222222222222222222.part";
    const struct script_path paths[] = {PATH("/a.pkg", {WHOLE})};
    const char *in_use[] = {wanted};
    struct scene scene;
    struct partial locked;
    scene_init(&scene, paths, 1);
    write_old(&scene, name, 1000);
    write_old(&scene, gone, 1000);
    write_old(&scene, "k.part", 1000);
    partial_init(&locked);
    assert_int_equal(partial_open(&locked, scene.fixture.folder, "k", true, &scene.e), 0);
    assert_int_equal(fetch_prune_cache(scene.fixture.folder, 3000, in_use, 1, NULL, &scene.e), 0);
    assert_int_equal(fixture_count_files(&scene.fixture, "partial"), 3);
    assert_int_equal(fetch_prune_cache(scene.fixture.folder, 100, in_use, 1, NULL, &scene.e), 0);
    assert_int_equal(fixture_count_files(&scene.fixture, "partial"), 2); /* one wanted, one worked on */
    partial_done(&locked);
    assert_int_equal(fetch_prune_cache(scene.fixture.folder, 100, in_use, 1, NULL, &scene.e), 0);
    assert_int_equal(fixture_count_files(&scene.fixture, "partial"), 1);
    scene_done(&scene);
}

enum oddity { FOLDER, PIPE, LINK, ODDITIES };

/* What stands in the place of a download's files does not stop it. */
static void test_odd_entries(void **state)
{
    (void)state;
    static const char *const names[] = {"part", "about", "about.tmp"};
    const struct script_path paths[] = {PATH("/a.pkg", {.body = big, .body_length = BIG_BYTES})};
    for (size_t i = 0; i < ARRAY_LENGTH(names) * ODDITIES * 2; i++) {
        struct scene scene;
        char path[PATH_MAX];
        scene_init(&scene, paths, 1);
        assert_int_equal(cache_prepare(scene.fixture.folder, &scene.e), 0);
        const char *digest = fixture_digest(&scene.fixture, big, BIG_BYTES), *url = scene.request.url;
        bool is_pinned = i >= ARRAY_LENGTH(names) * ODDITIES;
        scene.request.sha256 = is_pinned ? digest : NULL;
        snprintf(path, sizeof path, "%s/partial/%s%s.%s", scene.fixture.folder, is_pinned ? "" : "url-",
                 is_pinned ? digest : fixture_digest(&scene.fixture, url, strlen(url)),
                 names[i % ARRAY_LENGTH(names)]);
        switch ((enum oddity)(i / ARRAY_LENGTH(names) % ODDITIES)) {
        case FOLDER:
            assert_int_equal(mkdir(path, 0700), 0);
            break;
        case PIPE:
            assert_int_equal(mkfifo(path, 0600), 0);
            break;
        case LINK:
            assert_int_equal(symlink("../../nowhere/file", path), 0);
            break;
        case ODDITIES:
            break;
        }
        scene_run(&scene);
        if (scene.result.state != PACKAGE_FETCHED)
            fail_msg("%s: %s", path, scene.result.err.text);
        assert_true(fixture_file_is(scene.result.path, big, BIG_BYTES));
        strcat(path, ".set-aside-1");
        struct stat status;
        assert_int_equal(lstat(path, &status), 0);
        scene_done(&scene);
    }
}

/* Where no partial can be made, what is cached still serves as long as the server says that it holds. */
static void test_read_only_cache(void **state)
{
    (void)state;
    const struct script_path paths[] = {
        PATH("/a.pkg", {WHOLE, .etag = "\"v1\""}, {WHOLE, .etag = "\"v1\""},
             {.body = other, .body_length = PACKAGE_BYTES, .etag = "\"v2\""})};
    struct scene scene;
    char path[PATH_MAX];
    scene_init(&scene, paths, 1);
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FETCHED);
    const struct remembered_validator known = scene.fixture.told;
    scene.request.known = &known;
    snprintf(path, sizeof path, "%s/partial", scene.fixture.folder);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(symlink("/proc", path), 0); /* no file can be made there, by nobody */
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_CACHED);
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FAILED);
    assert_non_null(strstr(scene.result.err.text, "can't open"));
    assert_int_equal(scripted_server_count(scene.server, NULL), 3);
    scene.request.known = NULL;
    scene_run(&scene);
    assert_int_equal(scene.result.state, PACKAGE_FAILED);
    assert_int_equal(scripted_server_count(scene.server, NULL), 3);
    unlink(path);
    scene_done(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_promised_room),       cmocka_unit_test(test_room_of_partials),
        cmocka_unit_test(test_partials_are_pruned), cmocka_unit_test(test_odd_entries),
        cmocka_unit_test(test_read_only_cache),
    };
    return cmocka_run_group_tests_name("fetch_room", tests, scene_make_bodies, NULL);
}
