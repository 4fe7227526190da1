/* Long downloads must not look like a hang: the state of all transfers, on changes and once a second. */
#include "fetch/progress.h"
#include <stdlib.h>

enum { INTERVAL_MS = 1000, OLD_PARTS = 3, PARTS = 4 };

struct progress {
    struct fetcher *fetcher;
    struct fetch_progress_item *items;
    int64_t told_ms;
};

struct progress *progress_new(struct fetcher *fetcher, struct err *e)
{
    CLEANUP(progress_cleanup) struct progress *progress = calloc(1, sizeof *progress);
    if (progress != NULL)
        progress->items = calloc(fetcher->transfer_count, sizeof *progress->items);
    if (progress == NULL || progress->items == NULL) {
        err_fill(e, ERR_MEMORY, "out of memory");
        return NULL;
    }
    progress->fetcher = fetcher;
    return TAKE(progress);
}

void progress_free(struct progress *progress)
{
    if (progress == NULL)
        return;
    free(progress->items);
    free(progress);
}

void progress_cleanup(struct progress **progress)
{
    progress_free(*progress);
    *progress = NULL;
}

static enum fetch_progress_state state_of(const struct transfer *transfer)
{
    switch (transfer->state) {
    case TRANSFER_QUEUED:
    case TRANSFER_READY:
        return FETCH_QUEUED;
    case TRANSFER_CHECKING:
    case TRANSFER_READING:
    case TRANSFER_PUBLISHING:
        return FETCH_VERIFYING;
    case TRANSFER_REQUESTING:
        return transfer->verdict == VERDICT_BODY ? FETCH_RECEIVING : FETCH_CONNECTING;
    case TRANSFER_LOCKED:
    case TRANSFER_WAITING:
        return FETCH_WAITING;
    case TRANSFER_FINISHED:
        return FETCH_ENDED;
    }
    return FETCH_ENDED;
}

static void fill(struct fetch_progress_item *item, const struct transfer *transfer, int64_t now)
{
    bool waits = transfer->state == TRANSFER_WAITING || transfer->state == TRANSFER_LOCKED;
    bool has_ended = transfer->state == TRANSFER_FINISHED;
    *item = (struct fetch_progress_item){
        .name = transfer->name,
        .state = state_of(transfer),
        .bytes = has_ended ? transfer->result->size_bytes : transfer->partial.size_bytes,
        .total_bytes = has_ended                               ? transfer->result->size_bytes
                       : transfer->partial.expected_bytes >= 0 ? (uint64_t)transfer->partial.expected_bytes
                                                               : 0,
        .bytes_per_second = transfer->rate.per_second,
        .attempt = (int)transfer->sources.round + 1,
        .resumes_in_ms = waits && transfer->due_ms > now ? transfer->due_ms - now : 0,
    };
}

void rate_measure(struct rate *rate, bool is_receiving, uint64_t received, int64_t now_ms)
{
    if (!is_receiving) {
        *rate = (struct rate){.since_ms = 0};
        return;
    }
    if (rate->since_ms == 0) {
        *rate = (struct rate){.since_ms = now_ms, .bytes = received};
        return;
    }
    int64_t elapsed = now_ms - rate->since_ms;
    if (elapsed < INTERVAL_MS)
        return;
    uint64_t gained = received > rate->bytes ? received - rate->bytes : 0;
    uint64_t latest = gained * 1000 / (uint64_t)elapsed;
    bool is_first = rate->per_second == 0;
    rate->per_second = is_first ? latest : (rate->per_second * OLD_PARTS + latest) / PARTS;
    rate->since_ms = now_ms;
    rate->bytes = received;
}

static void measure_rates(struct fetcher *fetcher, int64_t now)
{
    for (size_t i = 0; i < fetcher->transfer_count; i++) {
        struct transfer *transfer = &fetcher->transfers[i];
        uint64_t received =
            transfer->result->received_bytes + (transfer->attempt_is_open ? transfer->attempt.bytes : 0);
        rate_measure(&transfer->rate, state_of(transfer) == FETCH_RECEIVING, received, now);
    }
}

void progress_tell(struct progress *progress, bool has_changed)
{
    struct fetcher *fetcher = progress->fetcher;
    const struct fetch_options *options = fetcher->options;
    int64_t now = options->clock->monotonic_ms(options->clock->context);
    if (options->progress == NULL || (!has_changed && now - progress->told_ms < INTERVAL_MS))
        return;
    progress->told_ms = now;
    measure_rates(fetcher, now);
    for (size_t i = 0; i < fetcher->transfer_count; i++)
        fill(&progress->items[i], &fetcher->transfers[i], now);
    struct fetch_progress told = {
        .count = fetcher->transfer_count,
        .ended = fetcher->ended,
        .failed = fetcher->failed,
        .received_bytes = fetcher->received_bytes,
        .items = progress->items,
    };
    options->progress(options->progress_context, &told);
}
