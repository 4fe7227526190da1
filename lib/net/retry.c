/* The one place that decides whether trying again helps. Every download and every API call asks here when an
 * attempt has ended. */
#include "net/retry.h"
#include <ctype.h>
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct curl_row {
    CURLcode code;
    enum retry_class class;
    const char *words;
};

static const struct curl_row curl_table[] = {
    {CURLE_OK, RETRY_SUCCESS, "done"},
    {CURLE_COULDNT_RESOLVE_HOST, RETRY_TRANSIENT, "host name can't be resolved"},
    {CURLE_COULDNT_RESOLVE_PROXY, RETRY_TRANSIENT, "proxy's name can't be resolved"},
    {CURLE_COULDNT_CONNECT, RETRY_TRANSIENT, "no connection"},
    {CURLE_OPERATION_TIMEDOUT, RETRY_TRANSIENT, "a time limit was reached"},
    {CURLE_SSL_CONNECT_ERROR, RETRY_TRANSIENT, "TLS handshake broken off"},
    {CURLE_GOT_NOTHING, RETRY_TRANSIENT, "connection closed without an answer"},
    {CURLE_RECV_ERROR, RETRY_TRANSIENT, "connection lost while receiving"},
    {CURLE_SEND_ERROR, RETRY_TRANSIENT, "connection lost while sending"},
    {CURLE_SEND_FAIL_REWIND, RETRY_TRANSIENT, "the request could not be sent again"},
    {CURLE_PARTIAL_FILE, RETRY_TRANSIENT, "connection closed before the end of the body"},
    {CURLE_HTTP2, RETRY_TRANSIENT, "HTTP/2 framing error"},
    {CURLE_HTTP2_STREAM, RETRY_TRANSIENT, "HTTP/2 stream broken off by the server"},
    {CURLE_WEIRD_SERVER_REPLY, RETRY_TRANSIENT, "the answer is not HTTP"},
    {CURLE_PROXY, RETRY_TRANSIENT, "the proxy broke off"},
    {CURLE_NO_CONNECTION_AVAILABLE, RETRY_TRANSIENT, "no connection free"},
    {CURLE_AGAIN, RETRY_TRANSIENT, "socket not ready"},
    {CURLE_UNRECOVERABLE_POLL, RETRY_TRANSIENT, "sockets can't be polled"},
    {CURLE_UNSUPPORTED_PROTOCOL, RETRY_TRANSIENT_ONCE, "not HTTP (only http and https are spoken)"},
    {CURLE_URL_MALFORMAT, RETRY_PERMANENT, "the URL can't be read"},
    {CURLE_PEER_FAILED_VERIFICATION, RETRY_PERMANENT, "the server's certificate is refused"},
    {CURLE_SSL_ISSUER_ERROR, RETRY_PERMANENT, "the certificate's issuer is refused"},
    {CURLE_SSL_INVALIDCERTSTATUS, RETRY_PERMANENT, "the certificate's status is refused"},
    {CURLE_SSL_PINNEDPUBKEYNOTMATCH, RETRY_PERMANENT, "the server's key is not the pinned one"},
    {CURLE_SSL_CERTPROBLEM, RETRY_PERMANENT, "our own certificate can't be used"},
    {CURLE_SSL_CIPHER, RETRY_PERMANENT, "no TLS cipher in common"},
    {CURLE_FILESIZE_EXCEEDED, RETRY_PERMANENT, "larger than allowed"},
    {CURLE_READ_ERROR, RETRY_PERMANENT, "what should be sent can't be read"},
    {CURLE_WRITE_ERROR, RETRY_PERMANENT, "the answer can't be taken"},
    {CURLE_ABORTED_BY_CALLBACK, RETRY_PERMANENT, "stopped by us"},
    {CURLE_OUT_OF_MEMORY, RETRY_FATAL, "out of memory"},
    {CURLE_SSL_CACERT_BADFILE, RETRY_FATAL, "the CA file can't be used"},
};

static const struct curl_row *find_curl_row(int curl_code)
{
    for (size_t i = 0; i < ARRAY_LENGTH(curl_table); i++)
        if ((int)curl_table[i].code == curl_code)
            return &curl_table[i];
    return NULL;
}

enum retry_class retry_of_curl(int curl_code)
{
    const struct curl_row *row = find_curl_row(curl_code);
    return row == NULL ? RETRY_TRANSIENT_ONCE : row->class;
}

const char *retry_curl_words(int curl_code)
{
    const struct curl_row *row = find_curl_row(curl_code);
    return row == NULL ? curl_easy_strerror((CURLcode)curl_code) : row->words;
}

struct status_row {
    int first, last;
    enum retry_class class;
};

/* The first row that holds counts. */
static const struct status_row status_table[] = {
    {200, 299, RETRY_SUCCESS},   {304, 304, RETRY_SUCCESS},   {408, 408, RETRY_TRANSIENT},
    {425, 425, RETRY_TRANSIENT}, {429, 429, RETRY_TRANSIENT}, {501, 501, RETRY_PERMANENT},
    {505, 505, RETRY_PERMANENT}, {500, 599, RETRY_TRANSIENT}, {100, 999, RETRY_PERMANENT},
};

enum retry_class retry_of_status(int status, bool is_rate_limited)
{
    if (status == 403 && is_rate_limited)
        return RETRY_TRANSIENT;
    for (size_t i = 0; i < ARRAY_LENGTH(status_table); i++)
        if (status >= status_table[i].first && status <= status_table[i].last)
            return status_table[i].class;
    return RETRY_TRANSIENT_ONCE;
}

static const enum retry_class cause_table[RETRY_CAUSE_COUNT] = {
    [CAUSE_SHORT_BODY] = RETRY_TRANSIENT,
    [CAUSE_BAD_RANGE] = RETRY_TRANSIENT,
    [CAUSE_RESUMED_MISMATCH] = RETRY_TRANSIENT,
    [CAUSE_DIGEST_MISMATCH] = RETRY_PERMANENT,
    [CAUSE_EMPTY] = RETRY_PERMANENT,
    [CAUSE_WRONG_TYPE] = RETRY_PERMANENT,
    [CAUSE_TOO_LARGE] = RETRY_PERMANENT,
    [CAUSE_REDIRECT_LOOP] = RETRY_PERMANENT,
    [CAUSE_BAD_REDIRECT] = RETRY_PERMANENT,
    [CAUSE_ENCODED] = RETRY_PERMANENT,
    [CAUSE_RETRY_AFTER_TOO_LONG] = RETRY_PERMANENT,
    [CAUSE_BAD_LENGTH] = RETRY_TRANSIENT,
    [CAUSE_NO_LENGTH] = RETRY_PERMANENT,
    [CAUSE_NO_SPACE] = RETRY_PERMANENT,
};

enum retry_class retry_of_cause(enum retry_cause cause)
{
    return cause_table[cause];
}

enum retry_class retry_classify(const struct http_answer *answer)
{
    if (answer->proxy_wants_login)
        return RETRY_FATAL;
    if (answer->end == HTTP_FAILED)
        return retry_of_curl(answer->curl_code);
    return retry_of_status(answer->status, retry_is_rate_limited(answer));
}

enum err_class retry_fatal_class(const struct http_answer *answer)
{
    if (answer->proxy_wants_login)
        return ERR_NETWORK;
    return answer->curl_code == (int)CURLE_OUT_OF_MEMORY ? ERR_MEMORY : ERR_CONFIG;
}

/* Of the digits at its beginning; a number too large for us is as good as for ever. */
static int64_t leading_number(const char *text)
{
    enum { LARGEST = 1000000000 };
    int64_t number = 0;
    for (; isdigit((unsigned char)*text); text++)
        if (number < LARGEST)
            number = number * 10 + (*text - '0');
    return number;
}

/* Digits only. -1: no number. */
static int64_t parse_number(const char *text)
{
    if (text == NULL || !isdigit((unsigned char)*text))
        return -1;
    const char *end = text + strspn(text, "0123456789");
    return end[strspn(end, " \t")] == '\0' ? leading_number(text) : -1;
}

static const char *remaining_calls(const struct http_answer *answer)
{
    const char *remaining = http_header(answer, "X-RateLimit-Remaining");
    return remaining != NULL ? remaining : http_header(answer, "RateLimit-Remaining");
}

bool retry_is_rate_limited(const struct http_answer *answer)
{
    const char *remaining = remaining_calls(answer);
    return http_header(answer, "Retry-After") != NULL || (remaining != NULL && parse_number(remaining) == 0);
}

static int64_t server_now_ms(const struct http_answer *answer, int64_t now_wall_ms)
{
    const char *date = http_header(answer, "Date");
    int64_t parsed = date == NULL ? -1 : clock_parse_http_date(date);
    return parsed < 0 ? now_wall_ms : parsed;
}

/* The reset time: seconds from now (RateLimit-Reset), or since 1970 as GitHub says it (X-RateLimit-Reset). */
static int64_t reset_ms(const struct http_answer *answer, int64_t now_wall_ms)
{
    enum { CAN_ONLY_BE_A_DATE = 100000000 };
    const char *remaining = remaining_calls(answer);
    if (remaining == NULL || parse_number(remaining) != 0 || (answer->status != 403 && answer->status != 429))
        return -1;
    const char *reset = http_header(answer, "X-RateLimit-Reset");
    if (reset == NULL)
        reset = http_header(answer, "RateLimit-Reset");
    int64_t seconds = parse_number(reset);
    if (seconds < 0)
        return -1;
    if (seconds < CAN_ONLY_BE_A_DATE)
        return seconds * 1000;
    int64_t wait = seconds * 1000 - server_now_ms(answer, now_wall_ms);
    return wait < 0 ? 0 : wait;
}

/* RFC 9110, 10.2.3: digits. A fraction, or several in one line (fields that were joined on their way), are
 * read to the side of patience. -1: no such. */
static int64_t parse_delays(const char *text)
{
    static const char digits[] = "0123456789";
    int64_t longest = -1;
    for (;; text++) {
        text += strspn(text, " \t");
        if (!isdigit((unsigned char)*text))
            return -1;
        int64_t seconds = leading_number(text);
        text += strspn(text, digits);
        if (*text == '.') {
            size_t length = strspn(text + 1, digits);
            seconds += strspn(text + 1, "0") < length;
            text += 1 + length;
        }
        longest = seconds > longest ? seconds : longest;
        text += strspn(text, " \t");
        if (*text != ',')
            return *text == '\0' ? longest : -1;
    }
}

/* One Retry-After; -1: neither seconds nor a date. */
static int64_t wait_of(const struct http_answer *answer, const char *text, int64_t now_wall_ms)
{
    int64_t seconds = parse_delays(text);
    if (seconds >= 0)
        return seconds * 1000;
    int64_t date = clock_parse_http_date(text);
    if (date < 0)
        return -1;
    int64_t wait = date - server_now_ms(answer, now_wall_ms);
    return wait < 0 ? 0 : wait;
}

int64_t retry_after_ms(const struct http_answer *answer, int64_t now_wall_ms)
{
    int64_t longest = -1;
    for (size_t i = 0; i < answer->header_count; i++) {
        if (strcasecmp(answer->headers[i].name, "Retry-After") != 0)
            continue;
        int64_t wait = wait_of(answer, answer->headers[i].value, now_wall_ms);
        longest = wait > longest ? wait : longest;
    }
    return longest >= 0 ? longest : reset_ms(answer, now_wall_ms);
}

static double raw_delay_ms(const struct retry_policy *policy, int64_t round)
{
    double initial = (double)policy->initial_ms;
    double maximum = (double)policy->max_delay_ms;
    double delay = initial;
    switch (policy->strategy) {
    case RETRY_CONSTANT:
        break;
    case RETRY_LINEAR:
        delay = initial * (double)(round + 1);
        break;
    case RETRY_EXPONENTIAL:
        /* Step by step up to the maximum, so that no power overflows. */
        for (int64_t i = 0; i < round && delay < maximum && policy->factor > 1.0; i++)
            delay *= policy->factor;
        break;
    }
    return delay < maximum ? delay : maximum;
}

int64_t retry_delay_ms(const struct retry_policy *policy, int64_t round, const struct jitter *jitter)
{
    double delay = raw_delay_ms(policy, round < 0 ? 0 : round);
    if (policy->jitter == RETRY_JITTER_FULL)
        delay *= jitter->next(jitter->context);
    return delay <= 0 ? 0 : (int64_t)(delay + 0.5);
}

int64_t retry_spread_ms(const struct retry_policy *policy, const struct jitter *jitter)
{
    return policy->jitter == RETRY_JITTER_FULL ? retry_delay_ms(policy, 0, jitter) : 0;
}

int64_t retry_wait_ms(const struct retry_policy *policy, int64_t round, int64_t asked_ms,
                      const struct jitter *jitter)
{
    int64_t delay = retry_delay_ms(policy, round, jitter);
    int64_t asked = asked_ms < 0 ? 0 : asked_ms + retry_spread_ms(policy, jitter);
    return asked > delay ? asked : delay;
}
