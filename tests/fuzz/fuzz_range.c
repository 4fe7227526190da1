/* Any bytes as the values of Content-Range, Content-Length, ETag and Last-Modified (one per line): what is
 * believed must be sound, and must mean the same when it is written and read again. */
#include "fetch/range.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_range(const char *value)
{
    struct content_range range = {0}, again = {0};
    char text[128];
    if (!range_parse(value, &range))
        return;
    if (range.is_unsatisfied) {
        if (!range.total_is_known)
            abort();
        snprintf(text, sizeof text, "bytes */%llu", (unsigned long long)range.total);
    } else {
        if (range.first > range.last || (range.total_is_known && range.last >= range.total))
            abort();
        snprintf(text, sizeof text, "bytes %llu-%llu/%.*s%llu", (unsigned long long)range.first,
                 (unsigned long long)range.last, 0, "", (unsigned long long)range.total);
        if (!range.total_is_known)
            snprintf(strrchr(text, '/'), 3, "/*");
    }
    if (!range_parse(text, &again) || again.is_unsatisfied != range.is_unsatisfied ||
        again.first != range.first || again.last != range.last ||
        again.total_is_known != range.total_is_known || again.total != range.total)
        abort();
}

static void check_length(const struct http_answer *answer, const char *value)
{
    int64_t length = range_content_length(answer);
    bool is_number = value[0] != '\0' && value[strspn(value, "0123456789")] == '\0';
    if (length < -1 || (length >= 0 && !is_number) || (is_number && strlen(value) < 19 && length < 0))
        abort();
}

static void check_end(const struct http_answer *answer)
{
    int64_t length = 7, plain = range_content_length(answer);
    enum body_end end = range_body_end(answer, &length);
    if (length < -1 || (length >= 0) != (end == BODY_END_LENGTH) || (plain >= 0 && length != plain))
        abort();
}

static void check_validator(const struct http_answer *answer, const char *etag)
{
    const char *validator = range_strong_validator(answer);
    if (validator != NULL && (validator[0] != '"' || strlen(validator) < 2 ||
                              validator[strlen(validator) - 1] != '"' || validator != etag))
        abort();
    if (range_etags_match(etag, etag) != (etag[0] != '\0'))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    enum { LINES = 4 };
    static const char *const names[LINES] = {"Content-Range", "Content-Length", "ETag", "Last-Modified"};
    struct http_header headers[LINES];
    char *text = malloc(size + 1);
    if (text == NULL)
        abort();
    memcpy(text, bytes, size);
    text[size] = '\0';
    char *rest = text;
    size_t count = 0;
    for (char *line; count < LINES && (line = strsep(&rest, "\n")) != NULL; count++)
        headers[count] = (struct http_header){.name = names[count], .value = line};
    struct http_answer answer = {.status = 206, .headers = headers, .header_count = count};
    check_range(headers[0].value);
    check_end(&answer);
    if (count > 1)
        check_length(&answer, headers[1].value);
    if (count > 2)
        check_validator(&answer, headers[2].value);
    free(text);
    return 0;
}
