/* Splicing is only as good as its proof: what the fetch stage believes about parts of a file is decided here.
 */
#include "fetch/range.h"
#include "base/text.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { SAFE_DATE_DISTANCE_MS = 60 * 1000 };

static bool parse_number(const char **text, uint64_t *out)
{
    const char *digit = *text;
    uint64_t number = 0;
    if (!isdigit((unsigned char)*digit))
        return false;
    for (; isdigit((unsigned char)*digit); digit++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*digit - '0'), &number))
            return false;
    *text = digit;
    *out = number;
    return true;
}

static bool parse_total(const char *text, struct content_range *range)
{
    if (text[0] == '*' && text[1] == '\0')
        return true;
    range->total_is_known = parse_number(&text, &range->total);
    return range->total_is_known && *text == '\0';
}

bool range_parse(const char *value, struct content_range *out)
{
    struct content_range range = {0};
    if (value == NULL || strncasecmp(value, "bytes ", 6) != 0)
        return false;
    const char *rest = value + 6;
    if (rest[0] == '*' && rest[1] == '/') {
        range.is_unsatisfied = true;
        if (!parse_total(rest + 2, &range) || !range.total_is_known)
            return false;
        *out = range;
        return true;
    }
    if (!parse_number(&rest, &range.first) || *rest++ != '-' || !parse_number(&rest, &range.last) ||
        *rest++ != '/' || !parse_total(rest, &range))
        return false;
    if (range.last < range.first || (range.total_is_known && range.total <= range.last))
        return false;
    *out = range;
    return true;
}

int64_t range_content_length(const struct http_answer *answer)
{
    const char *text = http_header(answer, "Content-Length");
    uint64_t length;
    if (text == NULL || !parse_number(&text, &length) || *text != '\0' || length > INT64_MAX)
        return -1;
    return (int64_t)length;
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

/* One length of a list like "5, 5" (RFC 9110 section 8.6: servers or proxies may have joined two lines). */
static enum body_end take_length(const char **text, int64_t *length)
{
    uint64_t number = 0;
    while (is_blank(**text))
        (*text)++;
    size_t digits = strspn(*text, "0123456789");
    const char *end = *text + digits;
    while (is_blank(*end))
        end++;
    if (digits == 0 || (*end != '\0' && *end != ','))
        return BODY_END_ODD;
    if (!parse_number(text, &number) || number > INT64_MAX)
        return BODY_END_TOO_LARGE;
    if (*length >= 0 && *length != (int64_t)number)
        return BODY_END_ODD;
    *length = (int64_t)number;
    *text = end;
    return BODY_END_LENGTH;
}

static enum body_end take_lengths(const char *text, int64_t *length)
{
    for (;;) {
        enum body_end end = take_length(&text, length);
        if (end != BODY_END_LENGTH || *text == '\0')
            return end;
        text++;
    }
}

static bool ends_in_chunked(const char *coding)
{
    size_t length = strlen(coding);
    return text_ends_with_ignoring_case(coding, "chunked") &&
           (length == 7 || is_blank(coding[length - 8]) || coding[length - 8] == ',');
}

enum body_end range_body_end(const struct http_answer *answer, int64_t *length)
{
    enum body_end by_length = BODY_END_CLOSE;
    const char *coding = NULL;
    *length = -1;
    for (size_t i = 0; i < answer->header_count; i++) {
        const struct http_header *header = &answer->headers[i];
        if (strcasecmp(header->name, "Transfer-Encoding") == 0)
            coding = header->value;
        if (strcasecmp(header->name, "Content-Length") != 0 || by_length == BODY_END_ODD)
            continue;
        enum body_end end = take_lengths(header->value, length);
        if (by_length != BODY_END_TOO_LARGE || end == BODY_END_ODD)
            by_length = end;
    }
    if (by_length == BODY_END_ODD || by_length == BODY_END_TOO_LARGE) {
        *length = -1;
        return by_length;
    }
    if (coding == NULL || strcasecmp(coding, "identity") == 0)
        return by_length;
    if (ends_in_chunked(coding))
        return BODY_END_CHUNKS;
    *length = -1; /* another coding outweighs a length, and ends with the connection */
    return BODY_END_CLOSE;
}

const char *range_strong_validator(const struct http_answer *answer)
{
    const char *etag = http_header(answer, "ETag");
    if (etag != NULL && strlen(etag) > VALIDATOR_BYTES)
        return NULL;
    if (etag != NULL)
        return etag[0] == '"' && strlen(etag) >= 2 && text_ends_with(etag, "\"") ? etag : NULL;
    const char *modified = http_header(answer, "Last-Modified");
    const char *date = http_header(answer, "Date");
    if (modified == NULL || date == NULL)
        return NULL;
    int64_t modified_ms = clock_parse_http_date(modified);
    int64_t date_ms = clock_parse_http_date(date);
    if (modified_ms < 0 || date_ms < 0 || date_ms - modified_ms < SAFE_DATE_DISTANCE_MS)
        return NULL;
    return modified;
}

bool range_etags_match(const char *a, const char *b)
{
    if (text_is_empty(a) || text_is_empty(b))
        return false;
    a += text_starts_with(a, "W/") ? 2 : 0;
    b += text_starts_with(b, "W/") ? 2 : 0;
    return strcmp(a, b) == 0;
}
