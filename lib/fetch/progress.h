/* What the caller sees of a running fetch. Inside of lib/fetch only. */
#ifndef TENDER_FETCH_PROGRESS_H
#define TENDER_FETCH_PROGRESS_H

#include "fetch/transfer.h"

struct progress;

struct progress *progress_new(struct fetcher *fetcher, struct err *e) MUST_CHECK;
void progress_free(struct progress *progress);
void progress_cleanup(struct progress **progress);
/* To be told again and again what was `received` in all by `now_ms`, and whether a body is coming. */
void rate_measure(struct rate *rate, bool is_receiving, uint64_t received, int64_t now_ms);
/* Calls the caller's function: at once if something changed, otherwise once a second. */
void progress_tell(struct progress *progress, bool has_changed);

#endif
