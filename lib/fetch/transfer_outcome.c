/* After an exchange: what its end means for the item. Retry, in one place (design): rotate first, wait
 * second, progress costs nothing. */
#include "base/text.h"
#include "base/url.h"
#include "fetch/cache.h"
#include "fetch/disposition.h"
#include "fetch/transfer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_other_sources(const struct transfer *transfer)
{
    struct string_list mirrors = {.count = 0};
    struct err ignored;
    err_init(&ignored);
    const struct fetcher *fetcher = transfer->fetcher;
    return transfer->request.backup_urls.count > 0 ||
           (settings_mirrors_for(fetcher->options->settings, transfer->request.url, fetcher->arena, &mirrors,
                                 &ignored) == 0 &&
            mirrors.count > 0);
}

void transfer_give_up(struct transfer *transfer, const char *why)
{
    if (transfer->request.probe_only && has_other_sources(transfer)) {
        transfer_finish(transfer, PACKAGE_UNKNOWN); /* one of them may still have it */
        return;
    }
    struct buf text = BUF_INIT(ERR_TEXT_BYTES);
    struct err ignored;
    err_init(&ignored);
    size_t failed = 0;
    for (size_t i = 0; i < transfer->sources.count; i++)
        failed += transfer->sources.items[i].last_cause != NULL;
    int result = buf_printf(&text, &ignored, "%s", why);
    for (size_t i = 0; result == 0 && i < transfer->sources.count; i++) {
        const struct source *source = &transfer->sources.items[i];
        char shown[URL_TEXT_BYTES];
        if (source->last_cause == NULL)
            continue;
        const char *separator = text.length == 0 ? "" : text.bytes[text.length - 1] == ':' ? " " : "; ";
        result = failed > 1 ? buf_printf(&text, &ignored, "%s%s: %s", separator,
                                         url_redact(source->url, shown, sizeof shown), source->last_cause)
                            : buf_printf(&text, &ignored, "%s%s", separator, source->last_cause);
    }
    transfer_fail(transfer, transfer->sources.round > 0 ? ERR_NETWORK : ERR_SERVER, "%s",
                  text.length > 0 ? buf_text(&text) : "no source is left");
    buf_done(&text);
}

/* The source had its turn; who is next? */
static void go_on(struct transfer *transfer, const char *cause)
{
    char why[96];
    transfer_end_chain(transfer);
    if (transfer->state == TRANSFER_FINISHED)
        return;
    if (!transfer_drop_away(transfer))
        return;
    if (!source_round_is_over(&transfer->sources)) {
        transfer_announce_source(transfer, cause);
        transfer_set_state(transfer, TRANSFER_READY);
        return;
    }
    source_next_round(&transfer->sources);
    if (transfer->sources.round >= transfer->policy->rounds) {
        long long rounds = transfer->policy->rounds, requests = transfer->requests;
        if (requests == rounds)
            snprintf(why, sizeof why, "given up after %lld attempts:", rounds);
        else
            snprintf(why, sizeof why, "given up after %lld rounds of attempts (%lld requests):", rounds,
                     requests);
        transfer_give_up(transfer, why);
        return;
    }
    transfer_wait_for_next_round(transfer, cause);
}

static bool made_progress(const struct transfer *transfer)
{
    return transfer->highest_bytes >= transfer->attempt_base + PROGRESS_BYTES;
}

void transfer_failed_for_now(struct transfer *transfer, const char *cause)
{
    struct source *source = transfer->source;
    transfer->cause_text = cause;
    if (!transfer_park_host(transfer, &cause)) {
        transfer_failed_by_cause(transfer, CAUSE_RETRY_AFTER_TOO_LONG, cause);
        return;
    }
    source->last_cause = cause;
    transfer_close_attempt(transfer, cause);
    if (made_progress(transfer)) {
        source_reset_rounds(&transfer->sources);
        transfer_end_chain(transfer);
        log_info(transfer->fetcher->options->log, "resume", "%s: %s; going on at once", transfer->name,
                 cause);
        transfer_set_state(transfer, TRANSFER_READY);
        return;
    }
    if (!host_take_retry(source->host)) {
        source->last_cause = transfer_text(transfer, "%s; too many failures of %s in this run (retry budget)",
                                           cause, host_name(source->host));
        source_failed_for_good(source);
    } else {
        source_failed_for_now(&transfer->sources, source);
    }
    go_on(transfer, cause);
}

void transfer_failed_for_good(struct transfer *transfer, const char *cause)
{
    transfer_close_attempt(transfer, cause);
    transfer->cause_text = cause;
    if (transfer->source == NULL) { /* a former run's file: no source is to blame */
        transfer_set_state(transfer, TRANSFER_READY);
        return;
    }
    transfer->source->last_cause = cause;
    source_failed_for_good(transfer->source);
    go_on(transfer, cause);
}

void transfer_turn_elsewhere(struct transfer *transfer, const char *cause)
{
    transfer_close_attempt(transfer, cause);
    transfer->cause_text = transfer->source->last_cause = cause;
    source_failed_for_now(&transfer->sources, transfer->source);
    go_on(transfer, cause);
}

/* Our own doubt, not the source's trouble: asked again without a wait. The cap on requests bounds it. */
void transfer_again_at_once(struct transfer *transfer, const char *cause)
{
    transfer_close_attempt(transfer, cause);
    transfer->cause_text = cause;
    if (transfer->source != NULL)
        transfer->source->last_cause = cause;
    log_info(transfer->fetcher->options->log, "restart", "%s: %s; fetched again from the start",
             transfer->name, cause);
    transfer_end_chain(transfer);
    transfer_set_state(transfer, TRANSFER_READY);
}

void transfer_failed_by_cause(struct transfer *transfer, enum retry_cause cause, const char *text)
{
    switch (retry_of_cause(cause)) {
    case RETRY_TRANSIENT:
    case RETRY_TRANSIENT_ONCE:
        if (cause == CAUSE_RESUMED_MISMATCH) {
            transfer_again_at_once(transfer, text); /* nobody's trouble but of the splice */
            return;
        }
        if (cause == CAUSE_BAD_RANGE)
            transfer->source->starts_clean = true;
        transfer_failed_for_now(transfer, text);
        return;
    case RETRY_SUCCESS:
    case RETRY_PERMANENT:
    case RETRY_FATAL:
        transfer_failed_for_good(transfer, text);
        return;
    }
}

/* A range that can't be continued by costs one clean restart per source: no range is sent there any more. */
static void start_clean(struct transfer *transfer)
{
    struct err e;
    err_init(&e);
    if (!transfer->has_sent_range) {
        transfer_failed_by_cause(
            transfer, CAUSE_BAD_RANGE,
            transfer_text(transfer, "HTTP %d, though no range was asked for", transfer->attempt.status));
        return;
    }
    transfer->source->starts_clean = true;
    if (partial_restart(&transfer->partial, &e) < 0)
        transfer_fail(transfer, e.class, "%s", e.text);
    else
        transfer_again_at_once(transfer,
                               transfer_text(transfer, "HTTP %d: the kept part can't be continued from here",
                                             transfer->attempt.status));
}

static void follow(struct transfer *transfer)
{
    struct err e;
    err_init(&e);
    struct buf needle = BUF_INIT(transfer->visited.max_bytes);
    int result = buf_printf(&needle, &e, "\n%s\n", transfer->redirect_url);
    bool is_loop = result == 0 && strstr(buf_text(&transfer->visited), buf_text(&needle)) != NULL;
    buf_done(&needle);
    if (is_loop) {
        char shown[URL_TEXT_BYTES];
        transfer_failed_by_cause(transfer, CAUSE_REDIRECT_LOOP,
                                 transfer_text(transfer, "redirect loop: back to %s after %lld redirects",
                                               url_redact(transfer->redirect_url, shown, sizeof shown),
                                               (long long)transfer->hop_count + 1));
        return;
    }
    struct host *host = result < 0 ? NULL : host_of_url(transfer->fetcher->hosts, transfer->redirect_url, &e);
    if (host == NULL || buf_printf(&transfer->visited, &e, "\n%s\n", transfer->redirect_url) < 0) {
        transfer_fatal(transfer, &e);
        return;
    }
    if (transfer_leaves_redirect(transfer))
        return;
    free(transfer->hop_url);
    transfer->hop_url = transfer->redirect_url;
    transfer->redirect_url = NULL;
    transfer->hop_host = host;
    transfer->hop_count++;
    transfer_wait_for_hop(transfer);
}

static void refused_by_status(struct transfer *transfer, const struct http_answer *answer)
{
    struct source *source = transfer->source;
    const char *cause = transfer_describe_status(transfer, answer->status);
    bool may_be_expired = answer->status == 401 || answer->status == 403 || answer->status == 410;
    enum retry_class class = answer->proxy_wants_login
                                 ? RETRY_FATAL
                                 : retry_of_status(answer->status, retry_is_rate_limited(answer));
    if (answer->proxy_wants_login)
        cause = transfer_text(transfer, "the proxy %s asks for a login (407)", answer->proxy);
    else if (answer->status == 407)
        cause = transfer_text(transfer, "%s, but no proxy is in use", cause);
    switch (class) {
    case RETRY_TRANSIENT:
    case RETRY_TRANSIENT_ONCE:
        transfer_failed_for_now(transfer, cause);
        return;
    case RETRY_SUCCESS:
    case RETRY_PERMANENT:
        if (may_be_expired && transfer->hop_count > 0 && !source->was_refetched) {
            source->was_refetched = true;
            transfer_again_at_once(
                transfer, transfer_text(transfer, "%s behind a redirect, which may have expired", cause));
        } else {
            transfer_failed_for_good(transfer, cause);
        }
        return;
    case RETRY_FATAL: {
        struct err e;
        err_init(&e);
        err_fill(&e, ERR_NETWORK, "%s", cause);
        transfer_close_attempt(transfer, cause);
        transfer_fatal(transfer, &e);
        return;
    }
    }
}

static void broken_off(struct transfer *transfer, const struct http_answer *answer)
{
    struct source *source = transfer->source;
    const struct clock *clock = transfer->fetcher->options->clock;
    const char *cause = transfer_describe_failure(transfer, answer);
    if (transfer->verdict == VERDICT_NONE) /* a proxy's headers, if any */
        transfer->retry_after_ms = retry_after_ms(answer, clock->wall_ms(clock->context));
    switch (retry_classify(answer)) {
    case RETRY_TRANSIENT_ONCE:
        if (source->had_unknown_error) {
            transfer_failed_for_good(transfer, cause);
            return;
        }
        source->had_unknown_error = true;
        transfer_failed_for_now(transfer, cause);
        return;
    case RETRY_SUCCESS:
    case RETRY_TRANSIENT:
        transfer_failed_for_now(transfer, cause);
        return;
    case RETRY_PERMANENT:
        transfer_failed_for_good(transfer, cause);
        return;
    case RETRY_FATAL: {
        struct err e;
        err_init(&e);
        err_fill(&e, retry_fatal_class(answer), "%s", cause);
        transfer_close_attempt(transfer, cause);
        transfer_fatal(transfer, &e);
        return;
    }
    }
}

static void body_ended(struct transfer *transfer, const struct http_answer *answer)
{
    const struct partial *partial = &transfer->partial;
    bool is_short = partial->expected_bytes >= 0 && (int64_t)partial->size_bytes < partial->expected_bytes;
    if (answer->end != HTTP_ANSWERED)
        broken_off(transfer, answer);
    else if (is_short)
        transfer_failed_by_cause(transfer, CAUSE_SHORT_BODY, transfer_describe_failure(transfer, answer));
    else
        transfer_complete(transfer);
}

static void not_modified(struct transfer *transfer)
{
    const struct package_request *request = &transfer->request;
    const struct remembered_validator *known = request->known;
    char name[FILE_NAME_BYTES];
    transfer_close_attempt(transfer, "");
    if (!request->probe_only && (request->bytes_needed || !request->known_bytes_are_held)) {
        /* It was there when we asked; whether the bytes still are what they were is seen now. */
        transfer_end_chain(transfer);
        transfer_check_cached(transfer, known->sha256);
        return;
    }
    transfer->result->sha256 = transfer_text(transfer, "%s", known->sha256);
    transfer->result->size_bytes = known->size_bytes;
    transfer->result->file_name =
        transfer_text(transfer, "%s",
                      text_is_empty(known->file_name) ? disposition_choose(NULL, NULL, request->url, name)
                                                      : known->file_name);
    transfer_finish(transfer, PACKAGE_NOT_MODIFIED);
}

static void refused_by_us(struct transfer *transfer)
{
    const char *text = transfer->cause_text;
    if (transfer->cause == CAUSE_NO_SPACE) {
        transfer->partial.disk_is_full = true; /* what came of it goes */
        transfer_close_attempt(transfer, text);
        transfer_fail(transfer, ERR_SYSTEM, "%s", text);
        return;
    }
    if (transfer->cause == CAUSE_WRONG_TYPE || transfer->cause == CAUSE_TOO_LARGE ||
        transfer->cause == CAUSE_BAD_RANGE) {
        struct err ignored;
        err_init(&ignored);
        if (partial_is_open(&transfer->partial) && partial_restart(&transfer->partial, &ignored) < 0)
            partial_discard(&transfer->partial);
    }
    transfer_failed_by_cause(transfer, transfer->cause, text);
}

static enum host_result judge_host(const struct transfer *transfer, const struct http_answer *answer)
{
    if (answer->end == HTTP_FAILED && transfer->verdict <= VERDICT_BODY)
        return HOST_TROUBLE;
    if (answer->status == 429 || answer->status >= 500)
        return HOST_TROUBLE;
    return answer->end == HTTP_ANSWERED && answer->status < 400 ? HOST_SUCCESS : HOST_NEUTRAL;
}

void transfer_answered(struct transfer *transfer, const struct http_answer *answer)
{
    host_end(transfer->hop_host, judge_host(transfer, answer));
    snprintf(transfer->remote_address, sizeof transfer->remote_address, "%s", answer->remote_address);
    transfer->attempt.times = answer->times;
    if (answer->status != 0)
        transfer->attempt.status = answer->status;
    const struct partial *partial = &transfer->partial;
    bool is_whole = answer->end == HTTP_ANSWERED &&
                    (partial->expected_bytes < 0 || (int64_t)partial->size_bytes == partial->expected_bytes);
    (void)transfer_settle(transfer, is_whole); /* the verdict says it */
    if (err_is_set(&transfer->fetcher->fatal)) {
        transfer_fatal(transfer, &transfer->fetcher->fatal);
        return;
    }
    switch (transfer->verdict) {
    case VERDICT_NONE:
        broken_off(transfer, answer);
        return;
    case VERDICT_BODY:
        body_ended(transfer, answer);
        return;
    case VERDICT_REDIRECT:
        follow(transfer);
        return;
    case VERDICT_NOT_MODIFIED:
        not_modified(transfer);
        return;
    case VERDICT_CHANGED:
        transfer_close_attempt(transfer, "");
        transfer_finish(transfer, PACKAGE_CHANGED);
        return;
    case VERDICT_COMPLETE:
        transfer_complete(transfer);
        return;
    case VERDICT_NO_SPLICE:
        start_clean(transfer);
        return;
    case VERDICT_STATUS:
        refused_by_status(transfer, answer);
        return;
    case VERDICT_REFUSED:
        refused_by_us(transfer);
        return;
    case VERDICT_LOCAL:
        transfer_close_attempt(transfer, transfer->cause_text);
        transfer_fail(transfer, ERR_SYSTEM, "%s", transfer->cause_text);
        return;
    }
}
