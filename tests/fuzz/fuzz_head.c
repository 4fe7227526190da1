/* Any bytes as the head of an answer, line by line as curl hands them over: status, headers, the target of a
 * redirect, and what net/ and fetch/ read out of them. The first byte chooses the URL that was asked. */
#include "base/url.h"
#include "fetch/range.h"
#include "net/http_exchange.h"
#include "net/retry.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { MAX_HEAD_BYTES = 64 * 1024, ARENA_BYTES = 8 * 1024 * 1024 };

static const char *const urls[] = {"https://bob:s3cret@h.example:8443/a/b%2520c/d.pkg?x=/y#f",
                                   "http://127.0.0.1/", "https://[::1]/a?b"};

static void check_headers(const struct http_answer *answer)
{
    for (size_t i = 0; i < answer->header_count; i++) {
        const struct http_header *header = &answer->headers[i];
        if (header->name[0] == '\0' || strpbrk(header->name, ":\n") != NULL ||
            strpbrk(header->value, "\n") != NULL || http_header(answer, header->name) == NULL)
            abort();
    }
}

static void check_redirect(const struct http_answer *answer)
{
    if (answer->redirect_url == NULL)
        return;
    if (answer->status < 300 || answer->status > 399 || answer->status == 304 ||
        http_header(answer, "Location") == NULL)
        abort();
    /* A blank would end the request's line. (What is no URL comes through as it was sent, and is refused.) */
    if (url_is_http(answer->redirect_url) && strpbrk(answer->redirect_url, " \n") != NULL)
        abort();
    /* The user info of the first hop is not taken along here. */
    if (strstr(answer->redirect_url, "s3cret") != NULL &&
        strstr(http_header(answer, "Location"), "s3cret") == NULL)
        abort();
}

static void check_readers(const struct http_answer *answer)
{
    const char *validator = range_strong_validator(answer);
    const char *etag = http_header(answer, "ETag");
    if (range_content_length(answer) < -1 || retry_after_ms(answer, 0) < -1)
        abort();
    if (validator != NULL && (etag != NULL ? validator != etag || validator[0] != '"'
                                           : validator != http_header(answer, "Last-Modified")))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static CURL *easy;
    if (easy == NULL)
        easy = curl_easy_init();
    if (easy == NULL || size == 0)
        return 0;
    struct http http = {.clock = clock_system()};
    struct http_exchange exchange = {
        .http = &http,
        .transfer = {.easy = easy},
        .url = (char *)(uintptr_t)urls[bytes[0] % 3],
        .header_bytes = BUF_INIT(MAX_HEAD_BYTES),
        .answer = {.arena = arena_new(ARENA_BYTES)},
    };
    err_init(&exchange.failure);
    if (exchange.answer.arena == NULL)
        abort();
    const char *rest = (const char *)bytes + 1;
    for (size_t left = size - 1; left > 0;) {
        const char *end = memchr(rest, '\n', left);
        size_t length = end == NULL ? left : (size_t)(end - rest) + 1;
        char *line = malloc(length);
        if (line == NULL)
            abort();
        memcpy(line, rest, length);
        size_t taken = exchange_on_header(line, 1, length, &exchange);
        free(line);
        if (taken != length)
            break;
        rest += length;
        left -= length;
    }
    check_headers(&exchange.answer);
    if (exchange.headers_are_done && !err_is_set(&exchange.failure))
        check_redirect(&exchange.answer);
    check_readers(&exchange.answer);
    buf_done(&exchange.header_bytes);
    http_answer_done(&exchange.answer);
    return 0;
}
