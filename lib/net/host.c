/* Per-host gates of the fetch stage: they keep one host's trouble to that host. */
#include "net/host.h"
#include "base/url.h"
#include <stdlib.h>
#include <string.h>

struct host {
    struct host *next;
    const struct host_limits *limits;
    int64_t concurrency;
    int64_t running;
    int64_t
        ends_of_one_trouble; /* requests that were under way at the last trouble: theirs is the same one */
    int64_t parked_until_ms;
    int64_t retries_left;
    char name[URL_HOST_BYTES];
};

struct host_table {
    struct host_limits limits;
    struct host *hosts;
};

struct host_table *host_table_new(const struct host_limits *limits, struct err *e)
{
    struct host_table *table = calloc(1, sizeof *table);
    if (table == NULL) {
        err_fill(e, ERR_MEMORY, "out of memory");
        return NULL;
    }
    table->limits = *limits;
    if (table->limits.parallel < 1)
        table->limits.parallel = 1;
    return table;
}

void host_table_free(struct host_table *table)
{
    if (table == NULL)
        return;
    for (struct host *host = table->hosts; host != NULL;) {
        struct host *next = host->next;
        free(host);
        host = next;
    }
    free(table);
}

struct host *host_of_url(struct host_table *table, const char *url, struct err *e)
{
    char name[URL_HOST_BYTES];
    url_host(url, name, sizeof name);
    for (struct host *host = table->hosts; host != NULL; host = host->next)
        if (strcmp(host->name, name) == 0)
            return host;
    struct host *host = calloc(1, sizeof *host);
    if (host == NULL) {
        err_fill(e, ERR_MEMORY, "out of memory");
        return NULL;
    }
    *host = (struct host){.next = table->hosts,
                          .limits = &table->limits,
                          .concurrency = table->limits.parallel,
                          .retries_left = table->limits.retry_base};
    memcpy(host->name, name, sizeof name);
    table->hosts = host;
    return host;
}

const char *host_name(const struct host *host)
{
    return host->name;
}

void host_grant_item(struct host *host)
{
    host->retries_left += host->limits->retry_per_item;
}

bool host_take_retry(struct host *host)
{
    if (host->retries_left <= 0)
        return false;
    host->retries_left--;
    return true;
}

bool host_is_open(const struct host *host, int64_t now_ms)
{
    return host->running < host->concurrency && now_ms >= host->parked_until_ms;
}

int64_t host_parked_until(const struct host *host)
{
    return host->parked_until_ms;
}

void host_park(struct host *host, int64_t until_ms)
{
    if (until_ms > host->parked_until_ms)
        host->parked_until_ms = until_ms;
}

void host_begin(struct host *host)
{
    host->running++;
}

void host_end(struct host *host, enum host_result result)
{
    host->running--;
    bool is_of_known_trouble = host->ends_of_one_trouble > 0;
    if (is_of_known_trouble)
        host->ends_of_one_trouble--;
    switch (result) {
    case HOST_NEUTRAL:
        return;
    case HOST_SUCCESS:
        if (host->concurrency < host->limits->parallel)
            host->concurrency++;
        return;
    case HOST_TROUBLE:
        if (is_of_known_trouble)
            return;
        host->concurrency = host->concurrency > 1 ? host->concurrency / 2 : 1;
        host->ends_of_one_trouble = host->running;
        return;
    }
}

int64_t host_concurrency(const struct host *host)
{
    return host->concurrency;
}

int64_t host_running(const struct host *host)
{
    return host->running;
}
