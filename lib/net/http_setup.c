/* What curl is told for one exchange. Nothing of curl's own cleverness is used: no redirects, no resume, no
 * retry, no decoding, so that what happens on the line is what net/ and fetch/ decided. */
#include "base/text.h"
#include "net/http_exchange.h"
#include "net/proxy.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { RECEIVE_BUFFER_BYTES = 256 * 1024, SEND_BUFFER_BYTES = 256 * 1024, RANGE_TEXT_BYTES = 48 };
enum { LONGEST_CONNECT_MS = 24 * 3600 * 1000, CONNECT_MARGIN_MS = 250 };

static size_t on_body(char *bytes, size_t size, size_t count, void *context)
{
    struct http_exchange *exchange = context;
    size_t length = size * count;
    if (exchange->is_cancelled)
        return 0;
    exchange->answer.received_bytes += length;
    if (exchange->request.on_body != NULL) {
        if (exchange->request.on_body(exchange->request.context, bytes, length) != 0) {
            exchange->is_stopped_by_us = true;
            return 0;
        }
        return exchange->is_cancelled ? 0 : length;
    }
    struct buf *body = &exchange->answer.body;
    if (length > body->max_bytes - body->length) {
        err_fill(&exchange->failure, ERR_SERVER, "the answer is larger than %zu bytes", body->max_bytes);
        return 0;
    }
    if (buf_add(body, bytes, length, &exchange->failure) < 0)
        return 0;
    return length;
}

static int on_connected(void *context, char *remote_ip, char *local_ip, int remote_port, int local_port)
{
    (void)local_ip;
    (void)local_port;
    struct http_exchange *exchange = context;
    struct http_answer *answer = &exchange->answer;
    if (exchange->is_cancelled)
        return CURL_PREREQFUNC_ABORT;
    snprintf(answer->remote_address, sizeof answer->remote_address,
             strchr(remote_ip, ':') != NULL ? "[%s]:%d" : "%s:%d", remote_ip, remote_port);
    answer->may_have_arrived = true;
    bool has_body = exchange->request.body_length > 0 || exchange->request.part_count > 0;
    exchange_enter(exchange, has_body ? EXCHANGE_SENDING : EXCHANGE_WAITING);
    return CURL_PREREQFUNC_OK;
}

static int add_header(struct http_exchange *exchange, const char *line, struct err *e)
{
    struct curl_slist *longer = curl_slist_append(exchange->headers, line);
    if (longer == NULL)
        return err_set(e, ERR_MEMORY, "out of memory");
    exchange->headers = longer;
    return 0;
}

static bool names_header(const char *line, const char *name)
{
    size_t length = strlen(name);
    return strncasecmp(line, name, length) == 0 && line[length] == ':';
}

static int set_headers(struct http_exchange *exchange, struct err *e)
{
    const struct http_request *request = &exchange->request;
    bool has_encoding = false;
    for (size_t i = 0; i < request->header_count; i++) {
        if (strpbrk(request->headers[i], "\r\n") != NULL)
            return err_set(e, ERR_CONFIG, "a request header may not hold a line end");
        has_encoding = has_encoding || names_header(request->headers[i], "Accept-Encoding");
        if (add_header(exchange, request->headers[i], e) < 0)
            return -1;
    }
    /* The bytes that are hashed are the bytes that were published. */
    if (!has_encoding && add_header(exchange, "Accept-Encoding: identity", e) < 0)
        return -1;
    return 0;
}

/* Remembers the first option that failed: only memory or an unknown option can be the reason. */
#define SET(option, value)                                                                                   \
    do {                                                                                                     \
        CURLcode set_code_ = curl_easy_setopt(easy, (option), (value));                                      \
        if (code == CURLE_OK)                                                                                \
            code = set_code_;                                                                                \
    } while (0)

static CURLcode set_method(struct http_exchange *exchange)
{
    CURL *easy = exchange->transfer.easy;
    CURLcode code = CURLE_OK;
    const struct http_request *request = &exchange->request;
    bool is_get = strcmp(request->method, "GET") == 0;
    bool is_post = strcmp(request->method, "POST") == 0;
    if (exchange->mime != NULL) {
        SET(CURLOPT_MIMEPOST, exchange->mime);
    } else if (request->body != NULL || is_post) {
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)(request->body == NULL ? 0 : request->body_length));
        SET(CURLOPT_POSTFIELDS, request->body == NULL ? "" : (const char *)request->body);
    } else if (strcmp(request->method, "HEAD") == 0) {
        SET(CURLOPT_NOBODY, 1L);
    } else {
        SET(CURLOPT_HTTPGET, 1L);
    }
    if (!is_get && !is_post && strcmp(request->method, "HEAD") != 0)
        SET(CURLOPT_CUSTOMREQUEST, request->method);
    if (request->body_length > 0 || request->part_count > 0)
        SET(CURLOPT_UPLOAD_BUFFERSIZE, (long)SEND_BUFFER_BYTES);
    return code;
}

static CURLcode set_range(struct http_exchange *exchange)
{
    CURL *easy = exchange->transfer.easy;
    CURLcode code = CURLE_OK;
    const struct http_request *request = &exchange->request;
    char range[RANGE_TEXT_BYTES];
    if (!request->has_range && request->range_start == 0)
        return CURLE_OK;
    bool is_open = request->range_end < 0 || (uint64_t)request->range_end < request->range_start;
    if (is_open)
        snprintf(range, sizeof range, "%llu-", (unsigned long long)request->range_start);
    else
        snprintf(range, sizeof range, "%llu-%lld", (unsigned long long)request->range_start,
                 (long long)request->range_end);
    SET(CURLOPT_RANGE, range);
    return code;
}

/* Ours is the only rule (proxy.c): curl must not look into the environment by itself. */
static CURLcode set_proxy(struct http_exchange *exchange)
{
    CURL *easy = exchange->transfer.easy;
    CURLcode code = CURLE_OK;
    bool speaks_http = exchange->proxy != NULL && proxy_speaks_http(exchange->proxy);
    exchange->is_tunnelled = speaks_http && strncasecmp(exchange->url, "https:", 6) == 0;
    exchange->is_proxied = speaks_http && !exchange->is_tunnelled;
    SET(CURLOPT_PROXY, exchange->proxy == NULL ? "" : exchange->proxy);
    SET(CURLOPT_NOPROXY, "");
    return code;
}

static CURLcode set_connection(struct http_exchange *exchange)
{
    CURL *easy = exchange->transfer.easy;
    CURLcode code = CURLE_OK;
    const struct http_request *request = &exchange->request;
    const struct http *http = exchange->http;
#if LIBCURL_VERSION_NUM >= 0x075500
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
#else
    SET(CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
    SET(CURLOPT_QUICK_EXIT, 1L); /* a timer that ends a name look-up must not wait for it */
#endif
    SET(CURLOPT_HTTP_VERSION,
        (long)(request->version == HTTP_2_ALLOWED ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
    /* The timer that counts is ours (http_timers.c); curl shares this time out among a host's addresses. */
    SET(CURLOPT_CONNECTTIMEOUT_MS,
        (long)(request->connect_timeout_ms > 0 ? request->connect_timeout_ms : LONGEST_CONNECT_MS) +
            CONNECT_MARGIN_MS);
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_PATH_AS_IS, 1L);
    SET(CURLOPT_TCP_KEEPALIVE, 1L);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_SHARE, http->share);
    SET(CURLOPT_FRESH_CONNECT, (long)request->fresh_connection);
    SET(CURLOPT_FORBID_REUSE, (long)request->fresh_connection);
    if (http->ca_file != NULL)
        SET(CURLOPT_CAINFO, http->ca_file);
    if (http->user_agent != NULL)
        SET(CURLOPT_USERAGENT, http->user_agent);
    if (request->client_cert != NULL) {
        SET(CURLOPT_SSLCERT, request->client_cert);
        SET(CURLOPT_SSLKEY, request->client_key != NULL ? request->client_key : request->client_cert);
    }
    if (request->username != NULL || request->password != NULL) {
        SET(CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        SET(CURLOPT_USERNAME, request->username != NULL ? request->username : "");
        SET(CURLOPT_PASSWORD, request->password != NULL ? request->password : "");
    }
    return code;
}

static CURLcode set_callbacks(struct http_exchange *exchange)
{
    CURL *easy = exchange->transfer.easy;
    CURLcode code = CURLE_OK;
    SET(CURLOPT_PRIVATE, (char *)&exchange->transfer);
    SET(CURLOPT_ERRORBUFFER, exchange->curl_text);
    SET(CURLOPT_NOPROGRESS, 1L);
    SET(CURLOPT_HEADERFUNCTION, exchange_on_header);
    SET(CURLOPT_HEADERDATA, exchange);
    SET(CURLOPT_WRITEFUNCTION, on_body);
    SET(CURLOPT_WRITEDATA, exchange);
    SET(CURLOPT_PREREQFUNCTION, on_connected);
    SET(CURLOPT_PREREQDATA, exchange);
    if (exchange->request.on_body != NULL)
        SET(CURLOPT_BUFFERSIZE, (long)RECEIVE_BUFFER_BYTES);
    return code;
}

int exchange_setup(struct http_exchange *exchange, struct err *e)
{
    if (proxy_for(exchange->url, &exchange->proxy, e) < 0)
        return -1;
    if (exchange->request.part_count > 0 && exchange_add_parts(exchange, e) < 0)
        return -1;
    if (set_headers(exchange, e) < 0)
        return -1;
    CURL *easy = exchange->transfer.easy;
    CURLcode code = CURLE_OK;
    SET(CURLOPT_URL, exchange->url);
    SET(CURLOPT_HTTPHEADER, exchange->headers);
    code = code != CURLE_OK ? code : set_connection(exchange);
    code = code != CURLE_OK ? code : set_callbacks(exchange);
    code = code != CURLE_OK ? code : set_proxy(exchange);
    code = code != CURLE_OK ? code : set_range(exchange);
    code = code != CURLE_OK ? code : set_method(exchange);
    if (code == CURLE_OUT_OF_MEMORY)
        return err_set(e, ERR_MEMORY, "out of memory");
    if (code != CURLE_OK)
        return err_set(e, ERR_SYSTEM, "libcurl can't be set up: %s", curl_easy_strerror(code));
    return 0;
}
