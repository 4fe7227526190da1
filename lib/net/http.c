/* The life of an exchange: started by fleet/ or fetch/, driven by the loop, ended exactly once. */
#include "net/http.h"
#include "base/url.h"
#include "net/http_exchange.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Room for all that http_answer.c lets through: a limit of the arena counts as ours, and as fatal. */
enum { HEAD_BUFFER_BYTES = 512 * 1024, ANSWER_ARENA_BYTES = 4 * 1024 * 1024, STEP_MS = 1000 };

static char *copy_text(const char *text, bool *failed)
{
    char *copy = text == NULL ? NULL : strdup(text);
    *failed = *failed || (text != NULL && copy == NULL);
    return copy;
}

struct http *http_new(const struct http_options *options, struct err *e)
{
    CLEANUP(http_cleanup) struct http *http = calloc(1, sizeof *http);
    if (http == NULL) {
        err_fill(e, ERR_MEMORY, "out of memory");
        return NULL;
    }
    bool failed = false;
    *http = (struct http){
        .loop = options->loop,
        .clock = options->clock,
        .log = options->log,
        .user_agent = copy_text(options->user_agent, &failed),
        .ca_file = copy_text(options->ca_file, &failed),
        .share = curl_share_init(),
    };
    if (failed || http->share == NULL ||
        curl_share_setopt(http->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION) != CURLSHE_OK) {
        err_fill(e, ERR_MEMORY, "out of memory");
        return NULL;
    }
    return TAKE(http);
}

void http_free(struct http *http)
{
    if (http == NULL)
        return;
    if (http->share != NULL)
        curl_share_cleanup(http->share);
    free(http->user_agent);
    free(http->ca_file);
    free(http);
}

void http_cleanup(struct http **http)
{
    http_free(*http);
    *http = NULL;
}

const char *http_user_agent(const struct http *http)
{
    return http->user_agent == NULL ? "" : http->user_agent;
}

static int64_t now_ms(const struct http *http)
{
    return http->clock->monotonic_ms(http->clock->context);
}

static void exchange_free(struct http_exchange *exchange)
{
    if (exchange == NULL)
        return;
    loop_timer_cancel(exchange->http->loop, &exchange->tick);
    /* The handle reads headers and body parts until it is gone. */
    if (exchange->transfer.easy != NULL)
        curl_easy_cleanup(exchange->transfer.easy);
    exchange_drop_parts(exchange);
    curl_slist_free_all(exchange->headers);
    buf_done(&exchange->header_bytes);
    http_answer_done(&exchange->answer);
    free(exchange->url);
    free(exchange->proxy);
    free(exchange);
}

/* In curl's clock; a step that was not reached, or not needed, has the time 0. */
static int64_t step_ms(CURL *easy, CURLINFO step)
{
    curl_off_t us = 0;
    return curl_easy_getinfo(easy, step, &us) == CURLE_OK && us > 0 ? us / 1000 : -1;
}

static void measure_steps(struct http_exchange *exchange)
{
    CURL *easy = exchange->transfer.easy;
    struct request_times *times = &exchange->answer.times;
    long connections = 0;
    bool is_reused = exchange->phase > EXCHANGE_CONNECTING &&
                     curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &connections) == CURLE_OK &&
                     connections == 0;
    times->resolve_ms = is_reused ? 0 : step_ms(easy, CURLINFO_NAMELOOKUP_TIME_T);
    times->connect_ms = is_reused ? 0 : step_ms(easy, CURLINFO_CONNECT_TIME_T);
    times->tls_ms = !is_reused                                     ? step_ms(easy, CURLINFO_APPCONNECT_TIME_T)
                    : strncasecmp(exchange->url, "https:", 6) == 0 ? 0
                                                                   : -1;
}

static void name_proxy(struct http_exchange *exchange)
{
    char shown[URL_TEXT_BYTES];
    struct err ignored;
    err_init(&ignored);
    if (exchange->proxy == NULL)
        return;
    const char *kept =
        arena_strdup(exchange->answer.arena, url_redact(exchange->proxy, shown, sizeof shown), &ignored);
    exchange->answer.proxy = kept != NULL ? kept : "(out of memory)";
}

static void measure(struct http_exchange *exchange)
{
    struct http_answer *answer = &exchange->answer;
    CURL *easy = exchange->transfer.easy;
    curl_off_t sent = 0;
    char *address = NULL;
    long port = 0;
    answer->total_ms = now_ms(exchange->http) - exchange->started_ms;
    measure_steps(exchange);
    if (curl_easy_getinfo(easy, CURLINFO_SIZE_UPLOAD_T, &sent) == CURLE_OK && sent > 0)
        answer->sent_bytes = (uint64_t)sent;
    if (answer->remote_address[0] == '\0' &&
        curl_easy_getinfo(easy, CURLINFO_PRIMARY_IP, &address) == CURLE_OK && address != NULL &&
        address[0] != '\0' && curl_easy_getinfo(easy, CURLINFO_PRIMARY_PORT, &port) == CURLE_OK)
        snprintf(answer->remote_address, sizeof answer->remote_address,
                 strchr(address, ':') != NULL ? "[%s]:%ld" : "%s:%ld", address, port);
}

static void log_exchange(const struct http_exchange *exchange)
{
    const struct http_answer *answer = &exchange->answer;
    char url[URL_TEXT_BYTES];
    log_debug(exchange->http->log, "exchange", "%s %s: %d%s%s, %lld ms", exchange->method,
              url_redact(exchange->url, url, sizeof url), answer->status, answer->cause == NULL ? "" : ", ",
              answer->cause == NULL ? "" : answer->cause, (long long)answer->total_ms);
}

void exchange_finish(struct http_exchange *exchange, enum http_end end, CURLcode code)
{
    struct http_answer *answer = &exchange->answer;
    measure(exchange);
    answer->end = end;
    answer->curl_code = (int)code;
    answer->proxy_wants_login = answer->status == 407 && exchange->is_proxied;
    if (end == HTTP_FAILED)
        exchange_explain(exchange, code);
    loop_timer_cancel(exchange->http->loop, &exchange->tick);
    log_exchange(exchange);
    if (exchange->result != NULL) {
        *exchange->result = *answer;
        *answer = (struct http_answer){0};
        *exchange->is_done = true;
    } else if (exchange->request.on_done != NULL) {
        exchange->request.on_done(exchange->request.context, answer);
    }
    exchange_free(exchange);
}

/* To curl a header line beyond its limit (100 KiB, of a proxy's CONNECT 16 KiB) is out of memory. Where we
 * wait for a head it is taken for that: memory that is really out is noticed elsewhere. */
static void blame_peer_for_memory(struct http_exchange *exchange)
{
    bool waits_for_head = exchange->phase == EXCHANGE_WAITING || exchange->phase == EXCHANGE_RECEIVING;
    if (exchange->phase == EXCHANGE_CONNECTING && exchange->is_tunnelled)
        err_fill(&exchange->failure, ERR_SERVER, "the proxy's answer has a header line that is too long");
    else if (waits_for_head && !exchange->headers_are_done)
        err_fill(&exchange->failure, ERR_SERVER, "the answer has a header line that is too long (limit)");
}

/* A failure of ours in a callback looks like curl's CURLE_WRITE_ERROR: name what it was. */
static CURLcode own_code(struct http_exchange *exchange, CURLcode code)
{
    if (code == CURLE_OUT_OF_MEMORY && !err_is_set(&exchange->failure))
        blame_peer_for_memory(exchange);
    if (!err_is_set(&exchange->failure))
        return code;
    if (exchange->failure.class == ERR_MEMORY)
        return CURLE_OUT_OF_MEMORY;
    return exchange->failure.class == ERR_SERVER ? CURLE_FILESIZE_EXCEEDED : CURLE_READ_ERROR;
}

static void on_transfer_done(struct loop_transfer *transfer, CURLcode code)
{
    struct http_exchange *exchange = (struct http_exchange *)(void *)transfer; /* its first member */
    if (exchange->is_cancelled) {
        exchange_free(exchange);
        return;
    }
    if (exchange->is_stopped_by_us)
        exchange_finish(exchange, HTTP_STOPPED_BY_US, code);
    else if (code == CURLE_OK && exchange->headers_are_done)
        exchange_finish(exchange, HTTP_ANSWERED, code);
    else
        exchange_finish(exchange, HTTP_FAILED,
                        code == CURLE_OK ? CURLE_GOT_NOTHING : own_code(exchange, code));
}

static struct http_exchange *exchange_new(struct http *http, const struct http_request *request,
                                          struct err *e)
{
    struct http_exchange *exchange = calloc(1, sizeof *exchange);
    if (exchange == NULL) {
        err_fill(e, ERR_MEMORY, "out of memory");
        return NULL;
    }
    *exchange = (struct http_exchange){
        .http = http,
        .request = *request,
        .transfer = {.easy = curl_easy_init(), .done = on_transfer_done},
        .url = strdup(request->url),
        .tick = {.fire = exchange_tick, .context = exchange},
        .started_ms = now_ms(http),
        .header_bytes = BUF_INIT(HEAD_BUFFER_BYTES),
        .answer = {.times = REQUEST_TIMES_NONE,
                   .total_ms = -1,
                   .body = BUF_INIT(request->max_answer_bytes),
                   .arena = arena_new(ANSWER_ARENA_BYTES)},
    };
    err_init(&exchange->failure);
    snprintf(exchange->method, sizeof exchange->method, "%s", request->method);
    if (exchange->transfer.easy == NULL || exchange->url == NULL || exchange->answer.arena == NULL) {
        err_fill(e, ERR_MEMORY, "out of memory");
        exchange_free(exchange);
        return NULL;
    }
    return exchange;
}

struct http_exchange *http_start(struct http *http, const struct http_request *request, struct err *e)
{
    struct http_exchange *exchange = exchange_new(http, request, e);
    if (exchange == NULL)
        return NULL;
    if (exchange_setup(exchange, e) < 0) {
        exchange_free(exchange);
        return NULL;
    }
    name_proxy(exchange);
    exchange_enter(exchange, EXCHANGE_CONNECTING);
    exchange_set_tick(exchange);
    loop_transfer_add(http->loop, &exchange->transfer);
    return exchange;
}

void exchange_end_cancelled(struct http_exchange *exchange)
{
    loop_transfer_remove(exchange->http->loop, &exchange->transfer);
    exchange_free(exchange);
}

void http_cancel(struct http_exchange *exchange)
{
    if (exchange == NULL)
        return;
    if (loop_is_performing(exchange->http->loop)) {
        /* Its own or another one's callback is running: it ends with the next thing that curl tells it. */
        exchange->is_cancelled = true;
        exchange->request.on_done = NULL;
        loop_timer_set(exchange->http->loop, &exchange->tick, 0);
        return;
    }
    exchange_end_cancelled(exchange);
}

int64_t http_pause(struct http_exchange *exchange, bool paused)
{
    /* What is resumed calls back at once, and may be paused again there. */
    const struct stall_mark began = exchange->paused;
    bool was_paused = exchange->is_paused;
    exchange->is_paused = paused;
    if (paused && !was_paused)
        exchange->paused = exchange_mark(exchange);
    loop_transfer_pause(exchange->http->loop, &exchange->transfer, paused);
    return paused || !was_paused ? 0 : exchange_forgive_pause(exchange, &began);
}

int http_perform(struct http *http, const struct http_request *request, struct http_answer *answer,
                 struct err *e)
{
    bool is_done = false;
    struct http_exchange *exchange = http_start(http, request, e);
    if (exchange == NULL)
        return -1;
    exchange->result = answer;
    exchange->is_done = &is_done;
    while (!is_done) {
        bool must_stop = loop_stop_requested(http->loop) == LOOP_STOP_NOW;
        if (must_stop || loop_step(http->loop, now_ms(http) + STEP_MS, e) < 0) {
            if (must_stop)
                err_fill(e, ERR_INTERRUPTED, "interrupted");
            /* cppcheck-suppress identicalInnerCondition ; the loop may have ended it */
            if (!is_done)
                http_cancel(exchange);
            else
                http_answer_done(answer);
            return -1;
        }
    }
    return 0;
}
