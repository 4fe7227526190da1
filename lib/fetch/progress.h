/* What the caller sees of a running fetch. Inside of lib/fetch only. */
#ifndef TENDER_FETCH_PROGRESS_H
#define TENDER_FETCH_PROGRESS_H

#include "fetch/transfer.h"

struct progress;

struct progress *progress_new(struct fetcher *fetcher, struct err *e) MUST_CHECK;
void progress_free(struct progress *progress);
void progress_cleanup(struct progress **progress);
/* Calls the caller's function: at once if something changed, otherwise once a second. */
void progress_tell(struct progress *progress, bool has_changed);

#endif
