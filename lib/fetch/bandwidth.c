/* A token bucket over all bodies. Whoever is held back by it is not stalled; who has sent nothing since the
 * last pause is not paused again, so that its silence is seen, and so that each gets its turn. */
#include "fetch/bandwidth.h"

/* So much of a second may come at once, after a quiet time. */
enum { BURSTS_PER_SECOND = 4 };

static int64_t rate(const struct fetcher *fetcher)
{
    return fetcher->options->settings->limits.bandwidth_bytes_per_s;
}

static void refill(struct fetcher *fetcher, int64_t now_ms)
{
    struct bandwidth *bandwidth = &fetcher->bandwidth;
    double most = (double)rate(fetcher) / BURSTS_PER_SECOND;
    bandwidth->bytes += (double)rate(fetcher) * (double)(now_ms - bandwidth->filled_ms) / 1000.0;
    if (bandwidth->bytes > most)
        bandwidth->bytes = most;
    bandwidth->filled_ms = now_ms;
}

static void pause(struct transfer *transfer, bool paused)
{
    transfer->is_paused = paused;
    transfer->may_be_paused = false;
    transfer->progress_ms += http_pause(transfer->exchange, paused); /* our doing, not the source's */
}

/* At once, or one step of the loop would bring what a socket holds. */
void bandwidth_spend(struct transfer *transfer, size_t bytes)
{
    struct fetcher *fetcher = transfer->fetcher;
    if (rate(fetcher) <= 0)
        return;
    fetcher->bandwidth.bytes -= (double)bytes;
    transfer->may_be_paused = true;
    if (fetcher->bandwidth.bytes >= 0 || transfer->is_paused)
        return;
    fetcher->bandwidth.is_paused = true;
    pause(transfer, true);
}

void bandwidth_apply(struct fetcher *fetcher, int64_t now_ms)
{
    if (rate(fetcher) <= 0)
        return;
    refill(fetcher, now_ms);
    bool must_pause = fetcher->bandwidth.bytes < 0;
    fetcher->bandwidth.is_paused = must_pause;
    for (size_t i = 0; i < fetcher->transfer_count; i++) {
        struct transfer *transfer = &fetcher->transfers[i];
        bool receives = transfer->exchange != NULL && transfer->verdict == VERDICT_BODY;
        if (receives && transfer->is_paused != must_pause && (!must_pause || transfer->may_be_paused))
            pause(transfer, must_pause);
    }
}

int64_t bandwidth_due_ms(const struct fetcher *fetcher)
{
    const struct bandwidth *bandwidth = &fetcher->bandwidth;
    if (!bandwidth->is_paused)
        return INT64_MAX;
    return bandwidth->filled_ms + (int64_t)(-bandwidth->bytes * 1000.0 / (double)rate(fetcher)) + 1;
}
