/* What a transfer waits for: the next round of its sources, a host that asked for a pause, the moment that a
 * redirect names. Never less than was asked for, and not all at once behind it (design, "Retry-After"). */
#include "fetch/transfer.h"
#include "net/retry.h"
#include <stdio.h>

bool transfer_host_is_away(const struct transfer *transfer, const struct host *host)
{
    int64_t deadline = transfer->fetcher->options->deadline_monotonic_ms;
    int64_t until = host_parked_until(host);
    return until - transfer_now(transfer) > transfer->policy->retry_after_max_ms ||
           (deadline > 0 && until > deadline);
}

const char *transfer_describe_away(struct transfer *transfer, const struct host *host)
{
    char duration[CLOCK_TEXT_BYTES];
    return transfer_text(
        transfer, "%s asked everybody to stay away (Retry-After); %s are left, which is too long",
        host_name(host), clock_duration_text(host_parked_until(host) - transfer_now(transfer), duration));
}

bool transfer_drop_away(struct transfer *transfer)
{
    for (size_t i = 0; i < transfer->sources.count; i++) {
        struct source *source = &transfer->sources.items[i];
        if (source->is_out || !transfer_host_is_away(transfer, source->host))
            continue;
        source->last_cause = transfer_describe_away(transfer, source->host);
        source_failed_for_good(source);
    }
    if (source_any_left(&transfer->sources))
        return true;
    transfer_give_up(transfer, "");
    return false;
}

/* When this transfer comes back to a host that is parked: a moment of its own for each pause. A time in the
 * past: the host is not parked. */
static int64_t release_ms(struct transfer *transfer, const struct host *host, int64_t now_ms)
{
    struct pause *pause = &transfer->pause;
    int64_t until = host_parked_until(host);
    if (pause->host == host && pause->until_ms == until)
        return pause->release_ms;
    if (until > now_ms)
        *pause = (struct pause){
            .host = host,
            .until_ms = until,
            .release_ms = until + retry_spread_ms(transfer->policy, transfer->fetcher->options->jitter)};
    return until > now_ms ? pause->release_ms : until;
}

static const char *describe_pause(struct transfer *transfer, const struct host *host)
{
    return transfer_text(transfer, "%s asked for a pause (Retry-After)", host_name(host));
}

bool transfer_waits_for_host(struct transfer *transfer, const struct host *host, int64_t now_ms)
{
    int64_t release = release_ms(transfer, host, now_ms);
    if (release <= now_ms)
        return false;
    transfer->due_ms = release;
    if (!transfer->pause.is_told)
        transfer_announce_wait(transfer, describe_pause(transfer, host), release - now_ms);
    transfer->pause.is_told = true;
    return true;
}

static void wait_until(struct transfer *transfer, int64_t now_ms, int64_t due_ms)
{
    transfer->due_ms = due_ms;
    transfer->wait_began_ms = now_ms;
    transfer_set_state(transfer, TRANSFER_WAITING);
}

void transfer_wait_for_next_round(struct transfer *transfer, const char *cause)
{
    const struct fetch_options *options = transfer->fetcher->options;
    int64_t now = transfer_now(transfer);
    int64_t due = now + retry_delay_ms(transfer->policy, transfer->sources.round - 1, options->jitter);
    int64_t release = release_ms(transfer, source_next(&transfer->sources, due)->host, now);
    wait_until(transfer, now, release > due ? release : due);
    transfer_announce_wait(transfer, cause, transfer->due_ms - now);
    transfer->pause.is_told = true;
    /* An item that kept nothing needs no open file while it waits: dead hosts don't use up descriptors. */
    if (transfer->partial.size_bytes == 0)
        partial_close(&transfer->partial);
}

/* A server that asks for more patience than we have is out. */
static bool asks_too_much(struct transfer *transfer, const char **cause)
{
    char duration[CLOCK_TEXT_BYTES], limit[CLOCK_TEXT_BYTES];
    int64_t deadline = transfer->fetcher->options->deadline_monotonic_ms, after = transfer->retry_after_ms;
    bool is_past_deadline = deadline > 0 && transfer_now(transfer) + after > deadline;
    if (after <= transfer->policy->retry_after_max_ms && !is_past_deadline)
        return false;
    *cause = is_past_deadline
                 ? transfer_text(transfer, "%s; it asks for %s, longer than the run may still take", *cause,
                                 clock_duration_text(after, duration))
                 : transfer_text(transfer, "%s; it asks for %s, more than --retry-after-max (%s)", *cause,
                                 clock_duration_text(after, duration),
                                 clock_duration_text(transfer->policy->retry_after_max_ms, limit));
    return true;
}

bool transfer_park_host(struct transfer *transfer, const char **cause)
{
    if (transfer->retry_after_ms < 0)
        return true;
    /* For everybody, even if it is too long for this item. */
    host_park(transfer->hop_host, transfer_now(transfer) + transfer->retry_after_ms);
    return !asks_too_much(transfer, cause);
}

static bool turns_elsewhere(struct transfer *transfer, const char *cause, int64_t now_ms)
{
    if (!source_other_is_open(&transfer->sources, transfer->source, now_ms))
        return false;
    transfer_turn_elsewhere(transfer, cause);
    return true;
}

bool transfer_leaves_redirect(struct transfer *transfer)
{
    if (transfer->retry_after_ms <= 0)
        return false;
    const char *cause = transfer_text(transfer, "HTTP %d with Retry-After", transfer->attempt.status);
    if (!asks_too_much(transfer, &cause))
        return turns_elsewhere(transfer, cause, transfer_now(transfer));
    transfer_failed_by_cause(transfer, CAUSE_RETRY_AFTER_TOO_LONG, cause);
    return true;
}

bool transfer_leaves_parked_hop(struct transfer *transfer, int64_t now_ms)
{
    const struct host *host = transfer->hop_host;
    return host_parked_until(host) > now_ms &&
           turns_elsewhere(transfer, describe_pause(transfer, host), now_ms);
}

void transfer_wait_for_hop(struct transfer *transfer)
{
    int64_t now = transfer_now(transfer);
    if (transfer->retry_after_ms <= 0) {
        transfer_set_state(transfer, TRANSFER_READY);
        return;
    }
    wait_until(transfer, now,
               now + transfer->retry_after_ms +
                   retry_spread_ms(transfer->policy, transfer->fetcher->options->jitter));
    transfer_announce_wait(transfer,
                           transfer_text(transfer, "the redirect to %s asks for a pause (Retry-After)",
                                         host_name(transfer->hop_host)),
                           transfer->due_ms - now);
}
