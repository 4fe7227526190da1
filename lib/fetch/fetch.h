/* Downloads: from what the plan asks for to verified files in the cache, or one explained failure each. */
#ifndef TENDER_FETCH_FETCH_H
#define TENDER_FETCH_FETCH_H

#include "base/arena.h"
#include "model/package.h"
#include "model/settings.h"
#include "net/http.h"

struct fetch_progress;

struct fetch_options {
    struct loop *loop;
    struct http *http;
    const char *cache_dir;
    const struct settings *settings; /* retry, limits, sources */
    const struct clock *clock;
    const struct jitter *jitter;
    const struct log *log;
    const struct memory_sink *memory; /* validators are told to it */
    int64_t deadline_monotonic_ms;    /* 0: none */
    /* Progress, for the terminal or the log: called on changes and at least once a second while something
     * runs. May be NULL. */
    void (*progress)(void *context, const struct fetch_progress *progress);
    void *progress_context;
    /* Asked where a package of known size does not fit: removes what may go, so that so many bytes are free
     * on the cache's volume. May be NULL. */
    void (*make_room)(void *context, uint64_t free_bytes);
    void *make_room_context;
};

enum fetch_progress_state {
    FETCH_QUEUED,
    FETCH_CONNECTING,
    FETCH_RECEIVING,
    FETCH_WAITING,
    FETCH_VERIFYING,
    FETCH_ENDED
};

/* One transfer as it stands. */
struct fetch_progress_item {
    const char *name;
    enum fetch_progress_state state;
    uint64_t bytes, total_bytes; /* total 0: unknown */
    uint64_t bytes_per_second;   /* 0: not measured yet, or none came */
    int attempt;
    int64_t resumes_in_ms; /* while waiting */
};

struct fetch_progress {
    size_t count, ended, failed;
    uint64_t received_bytes;
    const struct fetch_progress_item *items; /* `count` of them */
};

/* Runs all requests; results[i] belongs to requests[i], all strings in the arena. Returns -1 only for what is
 * fatal for the run. A stop requested on the loop ends the rest as PACKAGE_INTERRUPTED; partials stay in the
 * cache. */
int fetch_run(const struct fetch_options *options, const struct package_request *requests, size_t count,
              struct arena *arena, struct package *results, struct err *e) MUST_CHECK;

/* A script package or other bytes that we hold already: put into the cache like a download. */
int fetch_store(const struct fetch_options *options, const void *bytes, size_t length, const char *file_name,
                struct arena *arena, struct package *out, struct err *e) MUST_CHECK;

/* Tells other processes, until the file is closed, that somebody works with this cache's packages. -1: it
 * can't be told. Waits for a pruning that is under way. */
int fetch_hold_cache(const char *cache_dir);
/* Removes what no manifest names any more, oldest use first, until the cache fits `max_bytes`, with what is
 * not whole yet; `in_use` stays (digests of packages, and of URLs for downloads without a pinned one), and
 * while another process holds the cache, what was used within a day. Old partials go too. The caller's own
 * hold is given up before. */
int fetch_prune_cache(const char *cache_dir, uint64_t max_bytes, const char *const *in_use,
                      size_t in_use_count, const struct log *log, struct err *e) MUST_CHECK;
/* The same in the middle of a run, until so many bytes are free on the cache's volume. `hold` is the caller's
 * own one. */
int fetch_make_room(const char *cache_dir, int hold, uint64_t free_bytes, const char *const *in_use,
                    size_t in_use_count, const struct log *log, struct err *e) MUST_CHECK;

#endif
