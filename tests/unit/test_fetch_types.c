/* What a download's bytes are against what its name promised, from the wire to the cache: heads and tails of
 * files small and large, and labels of encodings that were not asked for. test_sniff.c has the kinds. */
#include "base/text.h"
#include "fetch/fetch.h"
#include "fetch_fixture.h"
#include "scripted_server.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BYTES(text) .head = (text), .head_length = sizeof(text) - 1
#define TRAILER .tail = "koly\0\0\0\4\0\0\2\0", .tail_length = 12

struct row {
    const char *what, *path, *headers;
    const char *head, *tail; /* around bytes of no meaning; the tail begins 512 bytes before the end */
    size_t head_length, tail_length;
    size_t size;       /* 0: the head is all */
    const char *words; /* in the error; NULL: it is fetched */
};

static const struct row rows[] = {
    {"a tarball that is labelled as its own encoding", "/a.tar.gz", "Content-Encoding: x-gzip\r\n",
     BYTES("\x1F\x8B\x08\0\0\0\0\0\0\3"), .size = 5000},
    {"the same with a tgz", "/a.tgz?token=1",
     "Content-Encoding: gzip\r\nContent-Type: application/x-gzip\r\n", BYTES("\x1F\x8B\x08\0\0\0\0\0\0\3"),
     .size = 5000},
    {"a tarball's tar, labelled so", "/a.tar.gz", "Content-Encoding: gzip\r\n", BYTES("x"), .size = 5000,
     .words = "what came is not a tar.gz (from "},
    {"a script, labelled so", "/a.sh", "Content-Encoding: gzip\r\n", BYTES("#!/bin/sh\nexit 0\n")},
    {"a script, encoded", "/a.sh", "Content-Encoding: gzip\r\n", BYTES("\x1F\x8B\x08\0\0\0\0\0\0\3\1\2"),
     .words = "a gzip stream came instead of a script"},
    {"a small image", "/a.dmg", NULL, BYTES("\x78\xDA"), TRAILER, .size = 700},
    {"an image of one write", "/a.dmg", NULL, BYTES("BZh91AY&SY"), TRAILER, .size = 100001},
    {"a large image", "/a.dmg", NULL, BYTES("MZ\x90\0"), TRAILER, .size = 3 * 1024 * 1024 + 77},
    {"a large image behind a name without extension", "/a.dmg?x=1",
     "Content-Disposition: attachment; filename=download\r\n", BYTES("\x78\xDA"), TRAILER,
     .size = 3 * 1024 * 1024 + 300},
    {"a large image that was cut", "/a.dmg", NULL, BYTES("\x78\xDA"), .size = 3 * 1024 * 1024 + 77,
     .words = "what came is not a dmg (from "},
    {"a large program", "/a.dmg", NULL, BYTES("MZ\x90\0"), .size = 3 * 1024 * 1024,
     .words = "a Windows program came instead of a dmg"},
    {"a script without a first line", "/a.sh", NULL, BYTES("echo hello\n")},
    {"a script without anything but a word", "/a.sh", NULL, BYTES("id\n")},
    {"a name from the header", "/latest", "Content-Disposition: attachment; filename=a.deb\r\n",
     BYTES("xar!\0\x1C"), .size = 5000, .words = "a xar archive (pkg) came instead of a deb"},
};

static unsigned char *make_body(const struct row *row, size_t *length)
{
    *length = row->size == 0 ? row->head_length : row->size;
    unsigned char *bytes = fixture_bytes("", *length, 5);
    memcpy(bytes, row->head, row->head_length);
    if (row->tail != NULL)
        memcpy(bytes + *length - 512, row->tail, row->tail_length);
    return bytes;
}

static void play(const struct row *row)
{
    struct fetch_fixture fixture;
    struct package result;
    struct err e;
    size_t length;
    unsigned char *body = make_body(row, &length);
    const struct script_step step = {.body = body, .body_length = length, .headers = row->headers};
    const struct script_path path = {.path = row->path, .steps = &step, .step_count = 1};
    struct scripted_server *server = scripted_server_new(&path, 1);
    err_init(&e);
    fetch_fixture_init(&fixture);
    const struct package_request request = {
        .name = "a",
        .url = fixture_url(&fixture, scripted_server_port(server), row->path),
        .bytes_needed = true};
    assert_int_equal(fetch_run(&fixture.options, &request, 1, fixture.arena, &result, &e), 0);
    if (row->words != NULL && (result.state != PACKAGE_FAILED || strstr(result.err.text, row->words) == NULL))
        fail_msg("%s: %s", row->what, result.err.text);
    if (row->words == NULL &&
        (result.state != PACKAGE_FETCHED || !fixture_file_is(result.path, body, length)))
        fail_msg("%s: %s", row->what, result.err.text);
    assert_int_equal(scripted_server_count(server, NULL), 1);
    assert_int_equal(fixture_count_files(&fixture, "partial"), 0);
    scripted_server_free(server);
    fetch_fixture_done(&fixture);
    free(body);
}

static void test_types(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
        play(&rows[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_types)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
