/* What is asked for: the URL of the hop, credentials for its origin only, a range where it can be spliced, a
 * condition where a 304 would count. */
#include "base/text.h"
#include "base/url.h"
#include "fetch/credentials.h"
#include "fetch/range.h"
#include "fetch/transfer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HEADERS = 4, HEADER_BYTES = 8 * 1024, KEPT_ANSWER_BYTES = 64 * 1024 };

struct header_lines {
    size_t count;
    const char *lines[MAX_HEADERS];
    struct buf condition, if_range; /* their texts */
};

void transfer_end_chain(struct transfer *transfer)
{
    free(transfer->hop_url);
    free(transfer->redirect_url);
    transfer->hop_url = transfer->redirect_url = NULL;
    transfer->hop_count = 0;
    buf_clear(&transfer->visited);
}

int transfer_begin_chain(struct transfer *transfer, struct source *source, struct err *e)
{
    transfer_end_chain(transfer);
    transfer->hop_url = strdup(source->url);
    if (transfer->hop_url == NULL)
        return err_set(e, ERR_MEMORY, "out of memory");
    transfer->source = source;
    transfer->hop_host = source->host;
    if (source->last_cause == NULL)
        host_grant_item(source->host);
    return buf_printf(&transfer->visited, e, "\n%s\n", transfer->hop_url);
}

bool transfer_can_resume(const struct transfer *transfer, const struct source *source)
{
    const struct partial *partial = &transfer->partial;
    if (transfer->request.probe_only || partial->size_bytes == 0 || source->starts_clean)
        return false;
    /* Once a mixed file was wrong, all bytes come from one source, so that its name can be told. */
    if (transfer->request.sha256 != NULL)
        return !transfer->had_clean_restart || partial_is_from(partial, source->url);
    return partial->validator != NULL && partial_is_from(partial, source->url);
}

static int add_range(struct transfer *transfer, struct http_request *request, struct header_lines *headers,
                     struct err *e)
{
    const struct partial *partial = &transfer->partial;
    transfer->has_sent_range = transfer_can_resume(transfer, transfer->source);
    if (transfer->request.probe_only) {
        request->has_range = true;
        request->range_start = 0;
        request->range_end = 0;
    }
    if (!transfer->has_sent_range)
        return 0;
    request->has_range = true;
    request->range_start = partial->size_bytes;
    transfer->attempt.resumed_from = partial->size_bytes;
    if (partial->validator == NULL || !partial_is_from(partial, transfer->source->url))
        return 0;
    if (buf_printf(&headers->if_range, e, "If-Range: %s", partial->validator) < 0)
        return -1;
    headers->lines[headers->count++] = buf_text(&headers->if_range);
    return 0;
}

/* Only the primary URL's validators are remembered. */
static int add_condition(struct transfer *transfer, struct header_lines *headers, struct err *e)
{
    const struct remembered_validator *known = transfer->request.known;
    transfer->has_sent_condition = transfer->is_conditional && !transfer->has_sent_range &&
                                   transfer->source == &transfer->sources.items[0];
    if (!transfer->has_sent_condition)
        return 0;
    int result = !text_is_empty(known->etag)
                     ? buf_printf(&headers->condition, e, "If-None-Match: %s", known->etag)
                     : buf_printf(&headers->condition, e, "If-Modified-Since: %s", known->last_modified);
    headers->lines[headers->count++] = buf_text(&headers->condition);
    return result;
}

static int on_headers(void *context, const struct http_answer *answer)
{
    struct transfer *transfer = context;
    transfer->verdict = transfer_judge(transfer, answer);
    if (transfer->verdict == VERDICT_BODY)
        return 0;
    if (transfer->request.probe_only && transfer->verdict != VERDICT_REDIRECT)
        return answer->status == 304 ? 0 : 1;
    /* A short body is read and dropped: that keeps the connection. */
    int64_t length = range_content_length(answer);
    return answer->status != 304 && (length < 0 || length > KEPT_ANSWER_BYTES);
}

static int on_body(void *context, const void *bytes, size_t length)
{
    struct transfer *transfer = context;
    if (transfer->verdict == VERDICT_BODY)
        return transfer_take(transfer, bytes, length);
    transfer->discarded_bytes += length;
    return transfer->discarded_bytes > KEPT_ANSWER_BYTES;
}

static void on_done(void *context, struct http_answer *answer)
{
    struct transfer *transfer = context;
    transfer->exchange = NULL;
    transfer_answered(transfer, answer);
}

static void fill_request(struct transfer *transfer, struct http_request *request)
{
    const struct settings *settings = transfer->fetcher->options->settings;
    const struct limits *limits = &settings->limits;
    *request = (struct http_request){
        .method = "GET",
        .url = transfer->hop_url,
        .version = HTTP_1_1_ONLY,
        .range_end = -1,
        .connect_timeout_ms = limits->connect_timeout_ms,
        .first_byte_timeout_ms = limits->stall_ms, /* silence is a stall that has a name of its own */
        .stall_bytes_per_s = limits->stall_bytes_per_s,
        .stall_ms = limits->stall_ms,
        .on_headers = on_headers,
        .on_body = on_body,
        .on_done = on_done,
        .context = transfer,
    };
}

static int start(struct transfer *transfer, struct header_lines *headers,
                 const struct credentials *credentials, struct err *e)
{
    struct http_request request;
    fill_request(transfer, &request);
    if (add_range(transfer, &request, headers, e) < 0 || add_condition(transfer, headers, e) < 0)
        return -1;
    if (credentials->header != NULL)
        headers->lines[headers->count++] = credentials->header;
    request.username = credentials->username;
    request.password = credentials->password;
    request.client_cert = credentials->client_cert;
    request.client_key = credentials->client_key;
    request.headers = headers->lines;
    request.header_count = headers->count;
    transfer->exchange = http_start(transfer->fetcher->options->http, &request, e);
    return transfer->exchange == NULL ? -1 : 0;
}

static void reset_answer(struct transfer *transfer)
{
    free(transfer->redirect_url);
    transfer->redirect_url = NULL;
    transfer->verdict = VERDICT_NONE;
    transfer->has_sniffed = false;
    transfer->ends_by_close = false;
    transfer->is_paused = transfer->may_be_paused = false;
    transfer->discarded_bytes = 0;
    transfer->retry_after_ms = -1;
}

void transfer_ask(struct transfer *transfer)
{
    struct err e;
    err_init(&e);
    int64_t most = transfer->fetcher->options->settings->limits.max_requests_per_item;
    if (most > 0 && transfer->requests >= most) {
        transfer_fail(transfer, ERR_NETWORK, "given up after %lld requests (limit); last: %s",
                      (long long)transfer->requests,
                      transfer->cause_text != NULL ? transfer->cause_text : "still under way");
        return;
    }
    struct header_lines headers = {.condition = BUF_INIT(HEADER_BYTES), .if_range = BUF_INIT(HEADER_BYTES)};
    struct credentials credentials = {.header = NULL};
    int result = credentials_find(&credentials, transfer->fetcher->options->settings, transfer->hop_url,
                                  transfer->source->url, &e);
    if (result == 0) {
        transfer->requests++;
        reset_answer(transfer);
        transfer_open_attempt(transfer);
        result = start(transfer, &headers, &credentials, &e);
    }
    credentials_done(&credentials);
    buf_done(&headers.condition);
    buf_done(&headers.if_range);
    if (result < 0) {
        if (e.class == ERR_MEMORY)
            transfer_fatal(transfer, &e);
        else
            transfer_fail(transfer, e.class, "%s", e.text);
        return;
    }
    host_begin(transfer->hop_host);
    transfer_set_state(transfer, TRANSFER_REQUESTING);
}
