/* The head of an answer: curl's header lines become status, headers and the target of a redirect. */
#include "base/url.h"
#include "net/http_exchange.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Of one exchange: all heads (1xx too) and trailers together. The lines of one head: further ones might be
 * the very ones that count. */
enum { MAX_HEAD_BYTES = 256 * 1024, MAX_HEADERS = 1024 };

const char *http_header(const struct http_answer *answer, const char *name)
{
    for (size_t i = 0; i < answer->header_count; i++)
        if (strcasecmp(answer->headers[i].name, name) == 0)
            return answer->headers[i].value;
    return NULL;
}

void http_answer_done(struct http_answer *answer)
{
    buf_done(&answer->body);
    arena_free(answer->arena);
    *answer = (struct http_answer){.times = REQUEST_TIMES_NONE, .total_ms = -1};
}

/* "HTTP/1.1 206 Partial Content" */
static int status_of(const char *line)
{
    const char *space = strchr(line, ' ');
    if (space == NULL)
        return 0;
    int status = 0;
    for (int i = 1; i <= 3; i++) {
        if (!isdigit((unsigned char)space[i]))
            return 0;
        status = status * 10 + (space[i] - '0');
    }
    return status;
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

/* One "Name: value" line; a line without a colon is ignored, a folded one (obsolete) too. */
static int parse_line(struct http_answer *answer, const char *line, size_t length, struct err *e)
{
    const char *colon = memchr(line, ':', length);
    if (colon == NULL || colon == line || is_blank(line[0]))
        return 0;
    if (answer->header_count == MAX_HEADERS)
        return err_set(e, ERR_SERVER, "the answer has more than %d header lines (limit)", MAX_HEADERS);
    const char *value = colon + 1;
    const char *end = line + length;
    while (value < end && is_blank(*value))
        value++;
    while (end > value && is_blank(end[-1]))
        end--;
    struct http_header *header = &answer->headers[answer->header_count];
    header->name = arena_strndup(answer->arena, line, (size_t)(colon - line), e);
    header->value = arena_strndup(answer->arena, value, (size_t)(end - value), e);
    if (header->name == NULL || header->value == NULL)
        return -1;
    answer->header_count++;
    return 0;
}

static bool is_interim(int status)
{
    return status >= 100 && status < 200 && status != 101;
}

/* Of a 1xx only the status: the final answer is still to come, and any number of them may come before it. */
static int parse_head(struct http_answer *answer, const struct buf *lines, struct err *e)
{
    answer->header_count = 0;
    answer->status = status_of(buf_text(lines));
    if (is_interim(answer->status))
        return 0;
    answer->headers = arena_alloc_array(answer->arena, MAX_HEADERS, sizeof *answer->headers, e);
    if (answer->headers == NULL)
        return -1;
    const char *line = buf_text(lines);
    while ((line = strchr(line, '\n')) != NULL) {
        line++;
        if (parse_line(answer, line, strcspn(line, "\n"), e) < 0)
            return -1;
    }
    return 0;
}

static bool has_scheme(const char *location)
{
    size_t length = strspn(location, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");
    return length > 0 && isalpha((unsigned char)location[0]) && location[length] == ':';
}

/* A whole URL is taken as it was sent, so that no signature in it breaks: only its fragment goes, and blanks,
 * which some servers send, are escaped. */
static char *copy_whole(struct arena *arena, const char *location, struct err *e)
{
    size_t length = strcspn(location, "#");
    char *copy = arena_alloc(arena, length * 3 + 1, e);
    if (copy == NULL)
        return NULL;
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        if (location[i] == ' ') {
            memcpy(copy + used, "%20", 3);
            used += 3;
        } else {
            copy[used++] = location[i];
        }
    }
    return copy;
}

/* A relative one is resolved against the request's URL (RFC 3986 section 5). */
static char *resolve_relative(struct arena *arena, const char *base, const char *location, struct err *e)
{
    CURLU *url = curl_url();
    char *whole = NULL;
    char *copy = NULL;
    if (url == NULL) {
        err_fill(e, ERR_MEMORY, "out of memory");
        return NULL;
    }
    CURLUcode code = curl_url_set(url, CURLUPART_URL, base, CURLU_PATH_AS_IS | CURLU_ALLOW_SPACE);
    if (code == CURLUE_OK)
        code = curl_url_set(url, CURLUPART_URL, location, CURLU_ALLOW_SPACE | CURLU_URLENCODE);
    if (code == CURLUE_OK)
        code = curl_url_set(url, CURLUPART_FRAGMENT, NULL, 0);
    /* The next hop decides itself about credentials. */
    if (code == CURLUE_OK)
        code = curl_url_set(url, CURLUPART_USER, NULL, 0);
    if (code == CURLUE_OK)
        code = curl_url_set(url, CURLUPART_PASSWORD, NULL, 0);
    if (code == CURLUE_OK)
        code = curl_url_get(url, CURLUPART_URL, &whole, 0);
    if (code == CURLUE_OUT_OF_MEMORY)
        err_fill(e, ERR_MEMORY, "out of memory");
    else
        copy = arena_strdup(arena, code == CURLUE_OK ? whole : location, e);
    curl_free(whole);
    curl_url_cleanup(url);
    return copy;
}

static int find_redirect(struct http_exchange *exchange, struct err *e)
{
    struct http_answer *answer = &exchange->answer;
    const char *location = http_header(answer, "Location");
    if (answer->status < 300 || answer->status > 399 || answer->status == 304 || location == NULL ||
        location[0] == '\0')
        return 0;
    answer->redirect_url = has_scheme(location) ? copy_whole(answer->arena, location, e)
                                                : resolve_relative(answer->arena, exchange->url, location, e);
    return answer->redirect_url == NULL ? -1 : 0;
}

static int head_is_whole(struct http_exchange *exchange)
{
    struct http_answer *answer = &exchange->answer;
    if (parse_head(answer, &exchange->header_bytes, &exchange->failure) < 0)
        return -1;
    if (is_interim(answer->status))
        return 0;
    exchange->headers_are_done = true;
    if (find_redirect(exchange, &exchange->failure) < 0)
        return -1;
    if (exchange->request.on_headers == NULL)
        return 0;
    if (exchange->request.on_headers(exchange->request.context, answer) != 0) {
        exchange->is_stopped_by_us = true;
        return -1;
    }
    return exchange->is_cancelled ? -1 : 0;
}

void exchange_take_proxy_head(struct http_exchange *exchange)
{
    struct err ignored;
    err_init(&ignored);
    if (parse_head(&exchange->answer, &exchange->header_bytes, &ignored) < 0)
        exchange->answer.header_count = 0;
    exchange->answer.status = 0;
}

/* A proxy's answer to CONNECT comes before there is a connection to the host. */
static bool is_of_tunnel(const struct http_exchange *exchange)
{
    return exchange->is_tunnelled && exchange->phase == EXCHANGE_CONNECTING;
}

size_t exchange_on_header(char *line, size_t size, size_t count, void *context)
{
    struct http_exchange *exchange = context;
    size_t length = size * count;
    if (exchange->is_cancelled)
        return 0;
    if (exchange->phase != EXCHANGE_RECEIVING && !is_of_tunnel(exchange)) {
        const struct clock *clock = exchange->http->clock;
        exchange->answer.times.first_byte_ms = clock->monotonic_ms(clock->context) - exchange->started_ms;
        exchange_enter(exchange, EXCHANGE_RECEIVING);
    }
    exchange->received_head_bytes += length;
    if (exchange->received_head_bytes > MAX_HEAD_BYTES) {
        err_fill(&exchange->failure, ERR_SERVER, "the answer's headers%s are larger than %d KiB (limit)",
                 exchange->headers_are_done ? " and trailers" : "", MAX_HEAD_BYTES / 1024);
        return 0;
    }
    if (exchange->headers_are_done)
        return length; /* trailers */
    if (length > 5 && memcmp(line, "HTTP/", 5) == 0)
        buf_clear(&exchange->header_bytes);
    struct buf *head = &exchange->header_bytes;
    if (buf_add(head, line, length, &exchange->failure) < 0)
        return 0;
    bool is_last = length == 0 || line[0] == '\r' || line[0] == '\n';
    if (is_of_tunnel(exchange)) {
        exchange->has_tunnel = is_last;
        return length;
    }
    return is_last && head_is_whole(exchange) < 0 ? 0 : length;
}
