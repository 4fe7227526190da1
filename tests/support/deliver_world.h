/* A small world for tests of delivery: manifests by hand, fleetsim as the server, a memory that outlives
 * runs. One run goes the whole way from observing to the outcomes. A failed expectation fails the cmocka
 * test. */
#ifndef TENDER_TESTS_DELIVER_WORLD_H
#define TENDER_TESTS_DELIVER_WORLD_H

#include "deliver/deliver.h"
#include "fleet/client.h"
#include "sim.h"

enum { ARENA_BYTES = 64 * 1024 * 1024, MOST_TEAMS = 3, MOST_ITEMS = 4, MOST_MEMORY = 64, TEXT_BYTES = 600 };

extern const char world_token[];            /* the maintainer's; "the-admin" is the admin's */
extern const char *const world_arguments[]; /* of fleetsim */

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
    int64_t deadline_monotonic_ms;
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

struct session {
    struct loop *loop;
    struct http *http;
    struct fleet *fleet;
    struct log log;
};

/* Ends the program with 77 where fleetsim was not built. `script`: its faults, NULL for none. */
struct world *world_new(const char *script);
void world_free(struct world *world);
size_t add_team(struct world *world, const char *name);
/* A package of tests/recordings/packages, pinned and in the cache. */
struct software_item *add_package(struct world *world, size_t team, const char *file);
struct text_file script_text(const char *text);
/* The digest of a file of tests/recordings/packages; *size may be NULL. */
void package_digest(const char *file, char path[TEXT_BYTES], char hex[DIGEST_HEX_BYTES], uint64_t *size);

/* A connection to the world's server. */
struct session session_new(struct world *world, struct err *e);
void session_start(struct world *world, struct session *s, struct err *e);
void session_end(struct session *s);

/* One whole run. `between` (may be NULL) is called after the plan was made, before it is carried out. The
 * run's arena is the caller's. */
struct run run_once(struct world *world, void (*between)(struct world *world, struct session *s));
void show_run(const struct world *world, const struct run *run);
/* "created unchanged": the outcomes' kinds in order. */
void expect_kinds(const struct world *world, const struct run *run, size_t team, const char *kinds);
/* G5: nothing is left to do, nothing is sent, no details are read. */
void expect_converged(struct world *world);

#endif
