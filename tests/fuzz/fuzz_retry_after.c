/* Any bytes as what a server says about when to come back: a status, Retry-After, Date, the rate-limit
 * headers and a second Retry-After, one per line. Never a negative wait, never one that is shorter than the
 * number that was said. */
#include "net/retry.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static bool is_number(const char *text)
{
    return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

/* A date that is understood means the same when it is written as RFC 9110 wants it. */
static void check_date(const char *text)
{
    char written[64];
    struct tm parts;
    int64_t ms = clock_parse_http_date(text);
    if (ms < -1 || ms % 1000 > 0)
        abort();
    if (ms < 0)
        return;
    time_t seconds = (time_t)(ms / 1000);
    if (gmtime_r(&seconds, &parts) == NULL || parts.tm_year + 1900 > 9999)
        abort();
    strftime(written, sizeof written, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    if (clock_parse_http_date(written) != ms)
        abort();
}

/* For ever is 1e9 seconds or more. */
static int64_t asked_ms(const char *digits)
{
    int64_t seconds = 0;
    for (; *digits != '\0'; digits++)
        if (seconds < 1000000000)
            seconds = seconds * 10 + (*digits - '0');
    return seconds * 1000;
}

static void check_answer(const struct http_answer *answer, const char *first, const char *second)
{
    int64_t wait = retry_after_ms(answer, INT64_C(1448877600000));
    if (wait < -1)
        abort();
    if (is_number(second) && wait < asked_ms(second))
        abort();
    if (is_number(first) && (wait < asked_ms(first) || (second[0] == '\0' && wait != asked_ms(first))))
        abort();
    /* 403 is a matter of time only with such headers. */
    enum retry_class class = retry_classify(answer);
    if (answer->status == 403 && (class == RETRY_TRANSIENT) != retry_is_rate_limited(answer))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    enum { LINES = 5 };
    static const char *const names[LINES] = {"Retry-After", "Date", "X-RateLimit-Remaining",
                                             "X-RateLimit-Reset", "Retry-After"};
    static const int statuses[] = {429, 503, 403, 404, 200, 302};
    struct http_header headers[LINES];
    if (size == 0)
        return 0;
    char *text = malloc(size);
    if (text == NULL)
        abort();
    memcpy(text, bytes + 1, size - 1);
    text[size - 1] = '\0';
    char *rest = text;
    size_t count = 0;
    for (char *line; count < LINES && (line = strsep(&rest, "\n")) != NULL; count++) {
        headers[count] = (struct http_header){.name = names[count], .value = line};
        check_date(line);
    }
    struct http_answer answer = {.status = statuses[bytes[0] % 6], .headers = headers, .header_count = count};
    check_answer(&answer, headers[0].value, count == LINES ? headers[LINES - 1].value : "");
    free(text);
    return 0;
}
