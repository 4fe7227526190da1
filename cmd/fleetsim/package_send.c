/* The package host's answer on the wire: at the script's pace, as far as the script lets it come. */
#include "base/text.h"
#include "package_reply.h"
#include "validators.h"
#include <inttypes.h>
#include <stdio.h>

enum { SLOW_SLICES_PER_SECOND = 20 };

const char *reply_reason(unsigned status)
{
    static const struct {
        unsigned status;
        const char *reason;
    } rows[] = {{200, "OK"},
                {206, "Partial Content"},
                {301, "Moved Permanently"},
                {302, "Found"},
                {303, "See Other"},
                {304, "Not Modified"},
                {307, "Temporary Redirect"},
                {308, "Permanent Redirect"},
                {400, "Bad Request"},
                {401, "Unauthorized"},
                {403, "Forbidden"},
                {404, "Not Found"},
                {405, "Method Not Allowed"},
                {408, "Request Timeout"},
                {410, "Gone"},
                {416, "Range Not Satisfiable"},
                {429, "Too Many Requests"},
                {500, "Internal Server Error"},
                {502, "Bad Gateway"},
                {503, "Service Unavailable"},
                {504, "Gateway Timeout"}};
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
        if (rows[i].status == status)
            return rows[i].reason;
    return "Status";
}

static int send_piece(struct reply *reply, const char *bytes, size_t length)
{
    char head[32];
    bool chunked = reply->announced < 0;
    if (chunked) {
        int size = snprintf(head, sizeof head, "%zx\r\n", length);
        if (host_send(reply->connection, head, (size_t)size) < 0)
            return -1;
    }
    if (host_send(reply->connection, bytes, length) < 0 ||
        (chunked && host_send(reply->connection, "\r\n", 2) < 0))
        return -1;
    reply->sent += length;
    return 0;
}

/* Waits as the behaviour says, and cuts `*length` to what goes out at once then; -1 as host_sleep. */
static int pace(const struct reply *reply, size_t *length)
{
    const struct behaviour *behaviour = &reply->behaviour;
    if (behaviour->kind == DO_STALL) {
        uint64_t before = (uint64_t)behaviour->after_bytes;
        if (reply->sent == before)
            return host_sleep(reply->connection, behaviour->silence_ms);
        if (reply->sent + *length > before && reply->sent < before)
            *length = (size_t)(before - reply->sent);
    }
    if (behaviour->kind == DO_SLOW) {
        size_t slice = (size_t)behaviour->bytes_per_second / SLOW_SLICES_PER_SECOND + 1;
        *length = *length < slice ? *length : slice;
        return host_sleep(reply->connection, 1000 / SLOW_SLICES_PER_SECOND);
    }
    return 0;
}

static int send_body(struct reply *reply)
{
    uint64_t end = reply->length;
    if (reply->ending != ENDING_WHOLE && reply->cut_after < end)
        end = reply->cut_after;
    while (reply->sent < end) {
        const char *bytes;
        ssize_t got = body_view(&reply->body, reply->from + reply->sent, &bytes);
        if (got <= 0)
            return -1;
        size_t length = (uint64_t)got < end - reply->sent ? (size_t)got : (size_t)(end - reply->sent);
        if (pace(reply, &length) < 0 || send_piece(reply, bytes, length) < 0)
            return -1;
    }
    return 0;
}

static int send_head(struct reply *reply, bool chunked)
{
    CLEANUP(buf_done) struct buf head = BUF_INIT(HEADERS_MAX_BYTES);
    struct err e;
    err_init(&e);
    char date[HTTP_DATE_BYTES];
    if (buf_printf(&head, &e, "HTTP/1.1 %u %s\r\nDate: %s\r\n%s", reply->status, reply_reason(reply->status),
                   http_date(time(NULL), date), buf_text(&reply->headers)) < 0 ||
        (reply->announced >= 0 &&
         buf_printf(&head, &e, "Content-Length: %" PRId64 "\r\n", reply->announced) < 0) ||
        (chunked && buf_add_text(&head, "Transfer-Encoding: chunked\r\n", &e) < 0) ||
        buf_printf(&head, &e, "Connection: %s\r\n\r\n", reply->keep_alive ? "keep-alive" : "close") < 0)
        return -1;
    return host_send(reply->connection, head.bytes, head.length);
}

bool reply_send(struct reply *reply)
{
    bool bodyless =
        text_equal(reply->request->method, "HEAD") || reply->status == 304 || reply->status == 204;
    bool chunked = reply->announced < 0 && reply->status != 304;
    if (send_head(reply, chunked) < 0)
        return false;
    if (bodyless)
        return true;
    if (send_body(reply) < 0 || reply->ending != ENDING_WHOLE)
        return false;
    return !chunked || host_send(reply->connection, "0\r\n\r\n", 5) == 0;
}
