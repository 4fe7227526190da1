/* The gate in front of each host: how many requests at once, not before when, and how many extra ones in
 * all. No I/O, no clock of its own: times are arguments. */
#ifndef TENDER_NET_HOST_H
#define TENDER_NET_HOST_H

#include "base/err.h"
#include <stdint.h>

struct host_limits {
    int64_t parallel;       /* requests at once to one host: where concurrency starts, and its most */
    int64_t retry_base;     /* extra requests that each host is granted … */
    int64_t retry_per_item; /* … and more for each item that begins there */
};

struct host;
struct host_table;

struct host_table *host_table_new(const struct host_limits *limits, struct err *e) MUST_CHECK;
void host_table_free(struct host_table *table);

/* The host of a URL ("host:port" with defaults), made at first sight; lives as long as the table. */
struct host *host_of_url(struct host_table *table, const char *url, struct err *e) MUST_CHECK;
const char *host_name(const struct host *host);

/* A first request of an item: raises the host's retry budget. */
void host_grant_item(struct host *host);
/* Takes one extra request from the budget; false: it is used up. */
bool host_take_retry(struct host *host);

/* Whether a request may begin now: a slot is free, and the host is not parked. */
bool host_is_open(const struct host *host, int64_t now_ms);
/* Monotonic ms before which nobody may ask; 0: not parked. */
int64_t host_parked_until(const struct host *host);
/* Retry-After: parks the host for everybody. An earlier end never shortens a later one. */
void host_park(struct host *host, int64_t until_ms);

enum host_result {
    HOST_SUCCESS, /* grows the concurrency by one, up to its cap */
    HOST_TROUBLE, /* halves it, once for all requests that were under way when it happened */
    HOST_NEUTRAL, /* says nothing about the host (a 404, a stop of ours) */
};
void host_begin(struct host *host);
void host_end(struct host *host, enum host_result result);

int64_t host_concurrency(const struct host *host);
int64_t host_running(const struct host *host);

#endif
