/* A run of the fetcher against hosts that misbehave at random, and the checker that holds what came of it
 * against the guarantees: by the servers' own records, the results, and what lies on the disk. */
#ifndef TENDER_TESTS_FETCH_MIX_H
#define TENDER_TESTS_FETCH_MIX_H

#include "fetch_fixture.h"
#include "scripted_server.h"

enum { MIX_HOSTS = 3, MIX_ITEMS = 4, MIX_SOURCES = 3, MIX_STEPS = 6 };
enum { MIX_PATHS = MIX_ITEMS * MIX_SOURCES * 2, MIX_RECORDS = 4096 };

/* One place that an item may come from; at `path`, or behind a redirect from there. */
struct mix_source {
    size_t host, target_host;
    const char *path, *target; /* target "": no redirect. All texts are in the fixture's arena */
    struct script_step redirect;
    struct script_step steps[MIX_STEPS];
    struct script_step good; /* for the second run */
    size_t step_count;
    const char *etags[2], *weak_etags[2]; /* of the two versions, as this source names them */
};

struct mix_item {
    unsigned char *versions[2]; /* the right one, and what the vendor may put in its place */
    size_t length;
    bool is_pinned;
    size_t source_count;
    struct mix_source sources[MIX_SOURCES];
    const char *name;
};

/* A request, by the record of the host that received it. */
struct mix_record {
    struct script_record is;
    size_t host, item, source;
    bool is_target;
};

struct mix {
    uint64_t seed, jitter_state;
    struct fetch_fixture fixture;
    struct clock host_clock; /* what the hosts' records go by: the fixture's, unless a test plants another */
    bool has_stalls;         /* with a limit so short that a busy machine may reach it too */
    struct script_path paths[MIX_HOSTS][MIX_PATHS];
    size_t path_counts[MIX_HOSTS];
    struct scripted_server *hosts[MIX_HOSTS];
    size_t item_count;
    struct mix_item items[MIX_ITEMS];
    struct package_request requests[MIX_ITEMS];
    struct package results[MIX_ITEMS];
    int status; /* of fetch_run */
    struct err e;
    bool is_second_run;
    size_t record_count;
    struct mix_record records[MIX_RECORDS]; /* in their order */
};

/* Everything about a run follows from its seed. */
void mix_init(struct mix *mix, uint64_t seed);
void mix_done(struct mix *mix);
void mix_run(struct mix *mix); /* fetches, and collects the records */
/* The hosts are well again: the next run, in the same cache, must bring everything. */
void mix_run_again(struct mix *mix);

/* NULL: all guarantees hold. Otherwise which one does not, and where; valid until the next call. */
const char *mix_check(const struct mix *mix);

#endif
