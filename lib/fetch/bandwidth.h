/* The cap on what all transfers of a run receive together: one bucket of bytes that fills with time. Inside
 * of lib/fetch only. */
#ifndef TENDER_FETCH_BANDWIDTH_H
#define TENDER_FETCH_BANDWIDTH_H

#include "fetch/transfer.h"

/* Bytes were taken. What goes beyond the bucket is owed, and paid with a pause of all. */
void bandwidth_spend(struct transfer *transfer, size_t bytes);
/* Pauses or resumes the transfers that receive; between two steps of the loop. */
void bandwidth_apply(struct fetcher *fetcher, int64_t now_ms);
/* When they may go on; INT64_MAX: none is paused. */
int64_t bandwidth_due_ms(const struct fetcher *fetcher);

#endif
