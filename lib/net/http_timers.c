/* The timers of an exchange are ours, not curl's: they run on the loop's clock, they know what is being
 * waited for, and the message says which one it was. */
#include "net/http_exchange.h"

/* More than that in a socket: the peer would send more if it could. */
enum { HELD_BACK_BYTES = 16 * 1024 };
enum { TICKS_PER_LIMIT = 40, SHORTEST_TICK_MS = 20, LONGEST_TICK_MS = 1000 };

static int64_t now_ms(const struct http_exchange *exchange)
{
    return exchange->http->clock->monotonic_ms(exchange->http->clock->context);
}

static uint64_t sent_bytes(const struct http_exchange *exchange)
{
    curl_off_t sent = 0;
    if (curl_easy_getinfo(exchange->transfer.easy, CURLINFO_SIZE_UPLOAD_T, &sent) != CURLE_OK || sent < 0)
        return 0;
    return (uint64_t)sent;
}

static bool request_is_sent(const struct http_exchange *exchange)
{
    curl_off_t total = -1;
    if (curl_easy_getinfo(exchange->transfer.easy, CURLINFO_CONTENT_LENGTH_UPLOAD_T, &total) != CURLE_OK)
        return false;
    return total >= 0 && sent_bytes(exchange) >= (uint64_t)total;
}

static uint64_t moved_bytes(const struct http_exchange *exchange)
{
    return exchange->answer.received_bytes + exchange->received_head_bytes + sent_bytes(exchange);
}

struct stall_mark exchange_mark(const struct http_exchange *exchange)
{
    return (struct stall_mark){.at_ms = now_ms(exchange), .bytes = moved_bytes(exchange)};
}

void exchange_enter(struct http_exchange *exchange, enum exchange_phase phase)
{
    exchange->phase = phase;
    exchange->phase_started_ms = now_ms(exchange);
    exchange->mark = exchange_mark(exchange);
}

/* What waits to be read is no silence: it may be others' turn, or we were away. */
static uint64_t bytes_since(const struct http_exchange *exchange, const struct stall_mark *mark)
{
    return moved_bytes(exchange) - mark->bytes + loop_transfer_waiting_bytes(&exchange->transfer);
}

/* HTTP/2: its other streams' reading may have emptied the socket. */
static bool shares_its_socket(const struct http_exchange *exchange)
{
    long version = 0;
    return curl_easy_getinfo(exchange->transfer.easy, CURLINFO_HTTP_VERSION, &version) == CURLE_OK &&
           version >= CURL_HTTP_VERSION_2_0;
}

/* Whoever sends slower than the limit while we don't look is as stalled as before: only where enough came
 * meanwhile, or the socket is full of it, the time was ours. */
int64_t exchange_forgive_pause(struct http_exchange *exchange, const struct stall_mark *paused)
{
    int64_t elapsed = now_ms(exchange) - paused->at_ms;
    double enough = (double)exchange->request.stall_bytes_per_s * (double)elapsed / 1000.0;
    uint64_t arrived = bytes_since(exchange, paused);
    bool was_held_back = arrived > 0 && (arrived >= HELD_BACK_BYTES || (double)arrived >= enough);
    if (!was_held_back && !shares_its_socket(exchange))
        return 0;
    exchange->mark.at_ms += elapsed;
    return elapsed;
}

/* Slower than the limit ever since the mark, for the whole of stall_ms: a stall. Any stretch that was fast
 * enough moves the mark. */
static bool is_stalled(struct http_exchange *exchange, int64_t now)
{
    const struct http_request *request = &exchange->request;
    if (request->stall_ms <= 0 || exchange->is_paused)
        return false;
    int64_t elapsed = now - exchange->mark.at_ms;
    double needed = (double)request->stall_bytes_per_s * (double)elapsed / 1000.0;
    double moved = (double)bytes_since(exchange, &exchange->mark);
    if (moved > 0 && moved >= needed) {
        exchange->mark = exchange_mark(exchange);
        return false;
    }
    return elapsed >= request->stall_ms;
}

static enum exchange_timer expired_timer(struct http_exchange *exchange)
{
    const struct http_request *request = &exchange->request;
    int64_t now = now_ms(exchange);
    if (request->total_timeout_ms > 0 && now - exchange->started_ms >= request->total_timeout_ms)
        return TIMER_TOTAL;
    if (exchange->phase == EXCHANGE_SENDING && request_is_sent(exchange))
        exchange_enter(exchange, EXCHANGE_WAITING);
    int64_t in_phase = now - exchange->phase_started_ms;
    switch (exchange->phase) {
    case EXCHANGE_CONNECTING:
        return request->connect_timeout_ms > 0 && in_phase >= request->connect_timeout_ms ? TIMER_CONNECT
                                                                                          : TIMER_NONE;
    case EXCHANGE_WAITING:
        if (request->first_byte_timeout_ms > 0)
            return in_phase >= request->first_byte_timeout_ms ? TIMER_FIRST_BYTE : TIMER_NONE;
        return is_stalled(exchange, now) ? TIMER_STALL : TIMER_NONE;
    case EXCHANGE_SENDING:
    case EXCHANGE_RECEIVING:
        return is_stalled(exchange, now) ? TIMER_STALL : TIMER_NONE;
    }
    return TIMER_NONE;
}

static int64_t tick_ms(const struct http_request *request)
{
    const int64_t limits[] = {request->connect_timeout_ms, request->first_byte_timeout_ms, request->stall_ms,
                              request->total_timeout_ms};
    int64_t tick = LONGEST_TICK_MS;
    for (size_t i = 0; i < ARRAY_LENGTH(limits); i++)
        if (limits[i] > 0 && limits[i] / TICKS_PER_LIMIT < tick)
            tick = limits[i] / TICKS_PER_LIMIT;
    return tick < SHORTEST_TICK_MS ? SHORTEST_TICK_MS : tick;
}

void exchange_set_tick(struct http_exchange *exchange)
{
    loop_timer_set(exchange->http->loop, &exchange->tick, now_ms(exchange) + tick_ms(&exchange->request));
}

void exchange_tick(void *context)
{
    struct http_exchange *exchange = context;
    if (exchange->is_cancelled) {
        exchange_end_cancelled(exchange);
        return;
    }
    enum exchange_timer timer = expired_timer(exchange);
    if (timer == TIMER_NONE) {
        exchange_set_tick(exchange);
        return;
    }
    exchange_explain_timer(exchange, timer);
    loop_transfer_remove(exchange->http->loop, &exchange->transfer);
    exchange_finish(exchange, HTTP_FAILED, CURLE_OPERATION_TIMEDOUT);
}
