/* What a test of the fetch stage needs: a cache in a temporary folder, settings with short limits, a clock
 * that skips over waits, and a log that is kept as text. */
#ifndef TENDER_TESTS_FETCH_FIXTURE_H
#define TENDER_TESTS_FETCH_FIXTURE_H

#include "fetch/fetch.h"
#include <limits.h>

struct fetch_fixture {
    char folder[64];
    struct arena *arena;
    struct settings settings;
    int64_t skipped_ms;  /* by the clock, over all waits */
    double jitter_value; /* what the jitter source gives; 1: the whole delay */
    struct clock clock;
    struct jitter jitter;
    struct log log;
    struct buf log_text;
    struct memory_sink memory;
    struct remembered_validator told; /* the last validator; strings in the arena */
    size_t told_count;
    struct loop *loop;
    struct http *http;
    struct fetch_options options;
};

void fetch_fixture_init(struct fetch_fixture *fixture);
void fetch_fixture_done(struct fetch_fixture *fixture);
/* A new loop and http, the cache and the log stay: as another run would find them. */
void fetch_fixture_next_run(struct fetch_fixture *fixture);

/* `size` bytes that begin as the extension wants (".pkg": "xar!"), malloc'ed, always the same for one seed.
 */
unsigned char *fixture_bytes(const char *extension, size_t size, unsigned seed);
/* "http://127.0.0.1:port/path" in the fixture's arena. */
const char *fixture_url(struct fetch_fixture *fixture, int port, const char *path);
const char *fixture_digest(struct fetch_fixture *fixture, const void *bytes, size_t length);
/* Whether the file holds exactly these bytes. */
bool fixture_file_is(const char *path, const void *bytes, size_t length);
/* How many files lie in "<cache>/<folder>", folders below included. */
size_t fixture_count_files(const struct fetch_fixture *fixture, const char *folder);

#endif
