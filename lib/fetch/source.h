/* The places that one item can come from, and whose turn it is (design: rotate first, wait second). Pure but
 * for the host table's counters. */
#ifndef TENDER_FETCH_SOURCE_H
#define TENDER_FETCH_SOURCE_H

#include "net/host.h"
#include "net/retry.h"
#include <stdbool.h>
#include <stddef.h>

struct source {
    const char *url; /* as written; borrowed from the request */
    struct host *host;
    bool is_out;            /* failed for good */
    bool was_tried;         /* in this round; by itself or by another source of its host */
    int64_t turns;          /* that it had and that brought nothing */
    bool was_refetched;     /* 401, 403, 410 behind a redirect: had its second chance */
    bool had_unknown_error; /* a curl code that we don't know: the next one is permanent */
    bool starts_clean;      /* a resume from here failed: no ranges any more */
    const char *last_cause; /* in the run's arena; NULL: never tried */
};

struct source_list {
    size_t count;
    struct source *items;
    int64_t round; /* 0-based: rounds of failures so far */
};

/* The next one to ask: not out, not tried in this round; an open host before one that is parked, then the one
 * that had the fewest turns, so that each of a host's sources has its turn. NULL: this round is over. */
struct source *source_next(const struct source_list *list, int64_t now_ms);
/* Transient: its host's sources had their turn in this round. */
void source_failed_for_now(struct source_list *list, struct source *source);
void source_failed_for_good(struct source *source);
/* Whether another one, of another host, could be asked now. */
bool source_other_is_open(const struct source_list *list, const struct source *source, int64_t now_ms);
/* Whether any is not out. */
bool source_any_left(const struct source_list *list);
/* Begins the next round. */
void source_next_round(struct source_list *list);
/* Progress was made: the rounds start afresh, and with the one that made it (it had the fewest turns). */
void source_reset_rounds(struct source_list *list);
/* Whether the last untried ones in this round are used up. */
bool source_round_is_over(const struct source_list *list);

#endif
