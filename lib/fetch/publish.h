/* The last step of a download: a file that is whole and verified becomes durable and gets its name. Several
 * at a time, so that their syncs share the file system's commits. Inside of lib/fetch only. */
#ifndef TENDER_FETCH_PUBLISH_H
#define TENDER_FETCH_PUBLISH_H

#include "fetch/transfer.h"

/* The transfer's file has this digest, which is the wanted one: it waits for its batch, without a slot. */
void publish_add(struct transfer *transfer, const char *hex);
/* When the batch is due, if none is added before; INT64_MAX: nothing waits. */
int64_t publish_due_ms(const struct fetcher *fetcher);
/* Data, then names, and now and then the folders; each file that fails, fails its own transfer only. */
void publish_all(struct fetcher *fetcher);
/* Before the run ends, however it does. */
void publish_end(struct fetcher *fetcher);

#endif
