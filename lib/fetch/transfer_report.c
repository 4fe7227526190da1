/* What people and the report learn of each attempt and each wait. */
#include "base/text.h"
#include "base/url.h"
#include "fetch/credentials.h"
#include "fetch/transfer.h"
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 4096 };

const char *transfer_text(struct transfer *transfer, const char *format, ...)
{
    char text[TEXT_BYTES];
    struct fetcher *fetcher = transfer->fetcher;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *kept = arena_strdup(fetcher->arena, text, &fetcher->fatal);
    return kept != NULL ? kept : "out of memory";
}

void transfer_open_attempt(struct transfer *transfer)
{
    const struct clock *clock = transfer->fetcher->options->clock;
    if (transfer->attempt_is_open)
        return;
    transfer->attempt_is_open = true;
    transfer->attempt_started_ms = transfer_now(transfer);
    transfer->attempt_base = transfer->highest_bytes;
    transfer->remote_address[0] = '\0';
    transfer->attempt = (struct attempt){
        .number = (int)transfer->result->attempt_count + 1,
        .started_wall_ms = clock->wall_ms(clock->context),
        .waited_ms = transfer->waited_ms,
        .times = REQUEST_TIMES_NONE,
    };
    transfer->result->waited_ms += transfer->waited_ms;
    transfer->waited_ms = 0;
}

static void log_attempt(const struct transfer *transfer, const struct attempt *attempt)
{
    char duration[CLOCK_TEXT_BYTES], size[TEXT_SIZE_BYTES];
    bool is_good = attempt->cause[0] == '\0';
    bool is_routine = is_good && attempt->bytes == 0; /* nothing new there */
    struct log_field fields[] = {
        LOG_TEXT("package", transfer->name),
        LOG_TEXT("url", attempt->url),
        LOG_NUMBER("attempt", attempt->number),
        LOG_NUMBER("status", attempt->status),
        LOG_NUMBER("bytes", (int64_t)attempt->bytes),
        LOG_NUMBER("resumed_from", (int64_t)attempt->resumed_from),
        LOG_NUMBER("duration_ms", attempt->duration_ms),
        LOG_NUMBER("resolve_ms", attempt->times.resolve_ms),
        LOG_NUMBER("connect_ms", attempt->times.connect_ms),
        LOG_NUMBER("tls_ms", attempt->times.tls_ms),
        LOG_NUMBER("first_byte_ms", attempt->times.first_byte_ms),
        LOG_TEXT("address", attempt->remote_address),
        LOG_TEXT("cause", attempt->cause),
    };
    char status[32];
    snprintf(status, sizeof status, "HTTP %d", attempt->status);
    log_event(transfer->fetcher->options->log, is_routine ? LOG_DEBUG : LOG_INFO, "attempt", fields,
              ARRAY_LENGTH(fields), "%s: attempt %d, %s: %s, %s in %s", transfer->name, attempt->number,
              attempt->url, is_good ? status : attempt->cause, text_size(attempt->bytes, size),
              clock_duration_text(attempt->duration_ms, duration));
}

void transfer_close_attempt(struct transfer *transfer, const char *cause)
{
    struct package *result = transfer->result;
    struct fetcher *fetcher = transfer->fetcher;
    char shown[URL_TEXT_BYTES];
    if (!transfer->attempt_is_open)
        return;
    transfer->attempt_is_open = false;
    const char *url = transfer->hop_url != NULL ? transfer->hop_url : transfer->source->url;
    struct attempt *attempt = &transfer->attempt;
    attempt->duration_ms = transfer_now(transfer) - transfer->attempt_started_ms;
    attempt->url = transfer_text(transfer, "%s", url_redact(url, shown, sizeof shown));
    attempt->remote_address = transfer_text(transfer, "%s", transfer->remote_address);
    attempt->cause = cause[0] == '\0' ? "" : transfer_text(transfer, "%s", cause);
    result->received_bytes += attempt->bytes;
    struct attempt *kept = ARENA_PUSH(fetcher->arena, &result->attempts, &result->attempt_count,
                                      &transfer->attempt_capacity, &fetcher->fatal);
    if (kept != NULL)
        *kept = *attempt;
    log_attempt(transfer, attempt);
}

/* What is kept counts only where that source can go on from it. */
static uint64_t kept_for(const struct transfer *transfer, const struct source *source)
{
    return source != NULL && transfer_can_resume(transfer, source) ? transfer->partial.size_bytes : 0;
}

void transfer_announce_wait(struct transfer *transfer, const char *cause, int64_t wait_ms)
{
    char duration[CLOCK_TEXT_BYTES], size[TEXT_SIZE_BYTES], kept[TEXT_SIZE_BYTES + 16] = "";
    char next[URL_TEXT_BYTES] = "";
    bool is_hop = transfer->hop_url != NULL;
    const struct source *source =
        is_hop ? transfer->source : source_next(&transfer->sources, transfer->due_ms);
    uint64_t kept_bytes = kept_for(transfer, source);
    bool tells_next = is_hop || transfer->sources.count > 1;
    if (source != NULL)
        url_redact(is_hop ? transfer->hop_url : source->url, next, sizeof next);
    if (kept_bytes > 0)
        snprintf(kept, sizeof kept, ", %s kept", text_size(kept_bytes, size));
    struct log_field fields[] = {
        LOG_TEXT("package", transfer->name),
        LOG_TEXT("cause", cause),
        LOG_NUMBER("wait_ms", wait_ms),
        LOG_NUMBER("attempt", transfer->sources.round + 1),
        LOG_NUMBER("attempts", transfer->policy->rounds),
        LOG_NUMBER("kept_bytes", (int64_t)kept_bytes),
        LOG_TEXT("url", next),
    };
    log_event(transfer->fetcher->options->log, LOG_INFO, "wait", fields, ARRAY_LENGTH(fields),
              "%s: %s; trying again in %s (attempt %lld of %lld)%s%s%s", transfer->name, cause,
              clock_duration_text(wait_ms, duration), (long long)transfer->sources.round + 1,
              (long long)transfer->policy->rounds, kept, tells_next ? ", next " : "", tells_next ? next : "");
}

void transfer_announce_source(struct transfer *transfer, const char *cause)
{
    char next[URL_TEXT_BYTES], size[TEXT_SIZE_BYTES], kept[TEXT_SIZE_BYTES + 16] = "";
    const struct source *source = source_next(&transfer->sources, transfer_now(transfer));
    if (source == NULL)
        return;
    uint64_t kept_bytes = kept_for(transfer, source);
    url_redact(source->url, next, sizeof next);
    if (kept_bytes > 0)
        snprintf(kept, sizeof kept, ", %s kept", text_size(kept_bytes, size));
    struct log_field fields[] = {
        LOG_TEXT("package", transfer->name),
        LOG_TEXT("cause", cause),
        LOG_TEXT("url", next),
        LOG_NUMBER("kept_bytes", (int64_t)kept_bytes),
    };
    log_event(transfer->fetcher->options->log, LOG_INFO, "source", fields, ARRAY_LENGTH(fields),
              "%s: %s; trying %s%s", transfer->name, cause, next, kept);
}

struct status_words {
    int status;
    const char *words;
};

static const char *words_of_status(int status)
{
    static const struct status_words table[] = {
        {400, "bad request"},
        {401, "not authorised"},
        {403, "forbidden"},
        {404, "not found"},
        {405, "method not allowed"},
        {407, "a proxy's login is asked for"},
        {408, "request timeout"},
        {410, "gone"},
        {416, "range not satisfiable"},
        {425, "too early"},
        {429, "too many requests"},
        {451, "withheld for legal reasons"},
        {500, "server error"},
        {501, "not implemented"},
        {502, "bad gateway"},
        {503, "service unavailable"},
        {504, "gateway timeout"},
        {505, "HTTP version not supported"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++)
        if (table[i].status == status)
            return table[i].words;
    return status >= 500 ? "server error" : "refused";
}

const char *transfer_describe_status(struct transfer *transfer, int status)
{
    char host[URL_HOST_BYTES], duration[CLOCK_TEXT_BYTES], after[64] = "";
    const char *agent = http_user_agent(transfer->fetcher->options->http);
    url_host(transfer->hop_url, host, sizeof host);
    if (transfer->retry_after_ms >= 0)
        snprintf(after, sizeof after, ", Retry-After %s",
                 clock_duration_text(transfer->retry_after_ms, duration));
    if (status == 401 || status == 403)
        return transfer_text(
            transfer, "HTTP %d (%s%s) from %s for User-Agent \"%s\" with %s", status, words_of_status(status),
            after, host, agent,
            credentials_exist(transfer->fetcher->options->settings, transfer->hop_url, transfer->source->url)
                ? "the given credentials"
                : "no credentials");
    return transfer_text(transfer, "HTTP %d (%s%s) from %s", status, words_of_status(status), after, host);
}

const char *transfer_describe_failure(struct transfer *transfer, const struct http_answer *answer)
{
    const struct partial *partial = &transfer->partial;
    char host[URL_HOST_BYTES];
    const char *words = answer->end == HTTP_ANSWERED  ? "the body ended early"
                        : answer->cause_words != NULL ? answer->cause_words
                                                      : "broken off";
    const char *from = answer->remote_address[0] != '\0' ? answer->remote_address
                                                         : url_host(transfer->hop_url, host, sizeof host);
    if (transfer->verdict != VERDICT_BODY)
        return transfer_text(transfer, "%s (%s)", words, from);
    if (partial->expected_bytes >= 0)
        return transfer_text(transfer, "%s after %llu of %lld bytes from %s", words,
                             (unsigned long long)partial->size_bytes, (long long)partial->expected_bytes,
                             from);
    return transfer_text(transfer, "%s after %llu bytes from %s", words,
                         (unsigned long long)partial->size_bytes, from);
}
