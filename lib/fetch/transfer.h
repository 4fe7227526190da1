/* One item's way from its sources into the cache: an explicit state machine, driven by fetch.c. Inside of
 * lib/fetch only. */
#ifndef TENDER_FETCH_TRANSFER_H
#define TENDER_FETCH_TRANSFER_H

#include "fetch/cache.h"
#include "fetch/fetch.h"
#include "fetch/partial.h"
#include "fetch/source.h"

/* So much is hashed between two looks at the network. */
enum { HASH_SLICE_BYTES = 4 * 1024 * 1024 };
enum { PROGRESS_BYTES = 1024 * 1024 }; /* an attempt that brought so much is progress */

struct bandwidth {
    double bytes; /* that may come now; below 0: owed */
    int64_t filled_ms;
    bool is_paused;
};

/* What all transfers of a run share. */
struct fetcher {
    const struct fetch_options *options;
    struct arena *arena;
    struct host_table *hosts;
    size_t transfer_count;
    struct transfer *transfers;
    int64_t busy; /* transfers that hold one of the run's slots */
    size_t ended, failed;
    uint64_t received_bytes;
    int64_t gathered_due_ms;  /* the first moment at which gathered bytes must be written; may be early */
    size_t publishing;        /* whole files that wait for their batch (publish.h) … */
    int64_t publish_since_ms; /* … since then */
    struct cache_commit commit;
    struct bandwidth bandwidth;
    int64_t folders_synced_ms;
    bool is_dirty;    /* some transfer's state changed: look at all of them again */
    struct err fatal; /* ends the run */
};

enum transfer_state {
    TRANSFER_QUEUED,     /* not begun; needs a slot of the run */
    TRANSFER_CHECKING,   /* the cache has it: its digest is computed, slice by slice */
    TRANSFER_LOCKED,     /* somebody else is at the same file: looked at again at due_ms */
    TRANSFER_READING,    /* what a former run left is hashed, slice by slice */
    TRANSFER_READY,      /* wants to ask a source (or the next hop): needs a slot and its host's gate */
    TRANSFER_REQUESTING, /* an exchange is under way */
    TRANSFER_WAITING,    /* back-off, until due_ms */
    TRANSFER_PUBLISHING, /* whole and verified: becomes durable with the next batch */
    TRANSFER_FINISHED,   /* the result is filled */
};

/* A host's pause (Retry-After), as one transfer waits for its end. */
struct pause {
    const struct host *host;
    int64_t until_ms, release_ms; /* for everybody, and for this one */
    bool is_told;
};

/* What the answer's headers made of the exchange. */
enum verdict {
    VERDICT_NONE,         /* no headers yet */
    VERDICT_BODY,         /* the body is taken into the partial */
    VERDICT_REDIRECT,     /* the next hop is in redirect_url */
    VERDICT_NOT_MODIFIED, /* a 304 that counts */
    VERDICT_CHANGED,      /* a probe's 200 or 206 */
    VERDICT_COMPLETE,     /* a 416 that says that the partial is all */
    VERDICT_NO_SPLICE,    /* an answer to a range that can't be continued by */
    VERDICT_STATUS,       /* the status says no */
    VERDICT_REFUSED,      /* we say no: cause and cause_text */
    VERDICT_LOCAL,        /* the disk says no: cause_text */
};

/* Bytes per second while a body comes: the mean of its first second, then smoothed over the last few. */
struct rate {
    int64_t since_ms; /* of the stretch that is being measured; 0: none is */
    uint64_t bytes;   /* received before it */
    uint64_t per_second;
};

struct transfer {
    struct fetcher *fetcher;
    struct package_request request; /* merged from all that ask for the same; borrowed strings */
    const char *name;
    struct package *result; /* the caller's */
    struct source_list sources;
    const struct retry_policy *policy;
    enum transfer_state state;
    int64_t due_ms;
    struct pause pause; /* the last one of a host that we had to wait for */
    bool has_begun;

    struct partial partial;
    char key[DIGEST_HEX_BYTES + 8]; /* the partial's name */
    const char *no_partial;         /* why it can't be opened, where a 304 would do without; arena */
    struct partial check;           /* the cached file that is verified */
    bool is_conditional;            /* validators may be sent */
    int64_t gathered_since_ms;      /* when the first of the bytes came that are not written yet */
    char publish_sha256[DIGEST_HEX_BYTES];
    uint64_t locked_size; /* of the file that somebody else fills */

    /* the chain of hops that is under way */
    struct source *source;
    char *hop_url; /* NULL: no chain; owned */
    struct host *hop_host;
    int64_t hop_count;
    struct buf visited; /* "\nurl\n…" */
    struct http_exchange *exchange;
    bool is_paused;     /* by the cap on bandwidth */
    bool may_be_paused; /* it received something since the last pause */
    enum verdict verdict;
    enum retry_cause cause;
    const char *cause_text; /* arena */
    char *redirect_url;     /* owned */
    bool has_sent_range, has_sent_condition, has_sniffed;
    bool ends_by_close;      /* nothing else will tell where the body ends */
    uint64_t body_end;       /* how far into the file the answer's body may go */
    uint64_t room_due_bytes; /* when so much came, a body of unknown length must look for room again */
    uint64_t discarded_bytes;
    int64_t retry_after_ms;
    const char *content_type, *etag, *last_modified; /* of the last body; arena */
    const char *content_encoding;                    /* the same; NULL: none */

    /* the attempt */
    struct attempt attempt;
    int64_t attempt_started_ms;
    bool attempt_is_open;
    char remote_address[64]; /* of the last exchange */
    int64_t waited_ms;       /* since the last attempt */
    int64_t wait_began_ms;
    size_t attempt_capacity;

    /* over all attempts */
    int64_t requests;
    uint64_t highest_bytes; /* the most that was ever kept: progress is what goes beyond */
    uint64_t attempt_base;  /* highest_bytes when the attempt began */
    uint64_t progress_base; /* highest_bytes at the last progress of 1 MiB */
    int64_t progress_ms;    /* when that was */
    int64_t ready_since_ms;
    bool had_clean_restart; /* after a mismatch of a resumed body */
    struct rate rate;       /* for progress reports */
};

/* transfer.c */
void transfer_init(struct transfer *transfer, struct fetcher *fetcher, const struct package_request *request,
                   struct package *result);
int transfer_prepare(struct transfer *transfer, struct err *e) MUST_CHECK; /* its sources */
void transfer_done(struct transfer *transfer);
/* Does what can be done now. */
void transfer_advance(struct transfer *transfer, int64_t now_ms);
/* The one way out: fills the result's state and frees everything. Idempotent. */
void transfer_finish(struct transfer *transfer, enum package_state state);
void transfer_fail(struct transfer *transfer, enum err_class class_, const char *format, ...)
    PRINTF_LIKE(3, 4);
void transfer_set_state(struct transfer *transfer, enum transfer_state state);
void transfer_fatal(struct transfer *transfer, const struct err *e);
/* What the item timeout measures. */
void transfer_note_progress(struct transfer *transfer, int64_t now_ms);
int64_t transfer_now(const struct transfer *transfer);
/* A local error in one transfer: memory is fatal for the run, everything else fails the item. */
void transfer_fail_locally(struct transfer *transfer, const struct err *e);
/* From the queue, from a lock, from a back-off that kept nothing: looks at what the disk has. */
void transfer_begin(struct transfer *transfer);

/* transfer_cached.c */
/* The cached entry `sha256` counts once its bytes were verified. */
void transfer_check_cached(struct transfer *transfer, const char *sha256);
void transfer_continue_checking(struct transfer *transfer);

/* transfer_request.c */
/* Whether the kept bytes can be continued from this source. */
bool transfer_can_resume(const struct transfer *transfer, const struct source *source);
void transfer_ask(struct transfer *transfer); /* hop_url, from source */
int transfer_begin_chain(struct transfer *transfer, struct source *source, struct err *e) MUST_CHECK;
void transfer_end_chain(struct transfer *transfer);

/* transfer_answer.c */
enum verdict transfer_judge(struct transfer *transfer, const struct http_answer *answer);
/* VERDICT_BODY if so many bytes are free, or can be made free, beside what other transfers were promised. */
enum verdict transfer_check_room(struct transfer *transfer, uint64_t own_bytes);

/* transfer_body.c */
/* The name whose extension counts: the URL's if it is a known one, else the one that the server gave (NULL:
 * none). May use `out`. */
const char *transfer_declared_name(const struct transfer *transfer, const char *given, char *out,
                                   size_t size);
int transfer_take(struct transfer *transfer, const void *bytes, size_t length);
/* Writes what is gathered, now or where it has waited for long enough. -1: verdict says why. */
int transfer_flush(struct transfer *transfer);
int transfer_settle(struct transfer *transfer, bool is_whole);  /* the same, behind an answer */
int64_t transfer_flush_due_ms(const struct transfer *transfer); /* INT64_MAX: nothing is gathered */
void transfer_complete(struct transfer *transfer);              /* all bytes are here */

/* transfer_outcome.c: after an exchange */
void transfer_answered(struct transfer *transfer, const struct http_answer *answer);
/* What only we see (net/retry.h's causes): its class decides. */
void transfer_failed_by_cause(struct transfer *transfer, enum retry_cause cause, const char *text);
void transfer_failed_for_now(struct transfer *transfer, const char *cause);
void transfer_failed_for_good(struct transfer *transfer, const char *cause);
void transfer_again_at_once(struct transfer *transfer, const char *cause);
/* Its way leads to a pause: another source goes first. */
void transfer_turn_elsewhere(struct transfer *transfer, const char *cause);
/* All sources are out, or all rounds are over; `why` may be "". */
void transfer_give_up(struct transfer *transfer, const char *why);

/* transfer_wait.c */
/* Whether the host asked for a longer pause than the item or the run has. */
bool transfer_host_is_away(const struct transfer *transfer, const struct host *host);
const char *transfer_describe_away(struct transfer *transfer, const struct host *host);
/* Puts the sources of such hosts out. False: none is left, and the transfer has failed. */
bool transfer_drop_away(struct transfer *transfer);
/* The last answer's Retry-After parks its host. False: for longer than the item or the run has; *cause says
 * so. */
bool transfer_park_host(struct transfer *transfer, const char **cause);
/* Whether the host is parked, for everybody or still for this transfer; due_ms says until when. */
bool transfer_waits_for_host(struct transfer *transfer, const struct host *host, int64_t now_ms);
void transfer_wait_for_next_round(struct transfer *transfer, const char *cause);
/* A redirect's Retry-After says when its target may be asked (RFC 9110, 10.2.3). True: that is too long, or
 * another source goes first; the transfer is on its way there. */
bool transfer_leaves_redirect(struct transfer *transfer);
/* The same where the target's host is parked. */
bool transfer_leaves_parked_hop(struct transfer *transfer, int64_t now_ms);
/* Waits for as long as the redirect says. */
void transfer_wait_for_hop(struct transfer *transfer);

/* transfer_report.c */
void transfer_open_attempt(struct transfer *transfer);
void transfer_close_attempt(struct transfer *transfer, const char *cause);
void transfer_announce_wait(struct transfer *transfer, const char *cause, int64_t wait_ms);
/* Another source is tried at once. */
void transfer_announce_source(struct transfer *transfer, const char *cause);
/* Text in the run's arena; a constant when memory is out. */
const char *transfer_text(struct transfer *transfer, const char *format, ...) PRINTF_LIKE(2, 3);
const char *transfer_describe_status(struct transfer *transfer, int status);
const char *transfer_describe_failure(struct transfer *transfer, const struct http_answer *answer);

#endif
