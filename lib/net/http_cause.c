/* Why an exchange failed, in plain words: what people read in waits, attempts and failures. */
#include "base/text.h"
#include "net/http_exchange.h"
#include "net/retry.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { WORDS_BYTES = 512 };

struct errno_words {
    int number;
    const char *words;
};

static const char *words_of_errno(long number)
{
    static const struct errno_words table[] = {
        {ECONNREFUSED, "connection refused"},
        {ECONNRESET, "connection reset by peer"},
        {EPIPE, "connection closed by peer while sending"},
        {ETIMEDOUT, "connection timed out"},
        {EHOSTUNREACH, "no route to host"},
        {ENETUNREACH, "network unreachable"},
        {ENETDOWN, "network is down"},
        {ECONNABORTED, "connection aborted"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++)
        if (table[i].number == number)
            return table[i].words;
    return NULL;
}

static bool errno_tells_more(CURLcode code)
{
    return code == CURLE_COULDNT_CONNECT || code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR ||
           code == CURLE_SSL_CONNECT_ERROR;
}

/* For these curl's own text says what the table can't: which certificate, which protocol error. */
static bool curl_tells_more(CURLcode code)
{
    static const CURLcode codes[] = {CURLE_PEER_FAILED_VERIFICATION,
                                     CURLE_SSL_CONNECT_ERROR,
                                     CURLE_SSL_CACERT_BADFILE,
                                     CURLE_SSL_ISSUER_ERROR,
                                     CURLE_SSL_INVALIDCERTSTATUS,
                                     CURLE_HTTP2,
                                     CURLE_HTTP2_STREAM,
                                     CURLE_WEIRD_SERVER_REPLY,
                                     CURLE_UNSUPPORTED_PROTOCOL};
    for (size_t i = 0; i < ARRAY_LENGTH(codes); i++)
        if (codes[i] == code)
            return true;
    return false;
}

/* The words go into the answer's arena; without memory the plain constant must do. */
static const char *keep(struct http_answer *answer, const char *words, const char *fallback)
{
    struct err ignored;
    err_init(&ignored);
    const char *copy = arena_strdup(answer->arena, words, &ignored);
    return copy != NULL ? copy : fallback;
}

static void add_amount(struct http_answer *answer)
{
    char text[WORDS_BYTES + 64];
    if (answer->received_bytes > 0)
        snprintf(text, sizeof text, "%s after %llu bytes", answer->cause_words,
                 (unsigned long long)answer->received_bytes);
    else if (answer->sent_bytes > 0)
        snprintf(text, sizeof text, "%s after %llu bytes were sent", answer->cause_words,
                 (unsigned long long)answer->sent_bytes);
    else
        snprintf(text, sizeof text, "%s", answer->cause_words);
    answer->cause = keep(answer, text, answer->cause_words);
}

/* What a proxy answered instead of opening a tunnel; 0: it did not. */
static int tunnel_status(const struct http_exchange *exchange)
{
    long status = 0;
    bool is_told = exchange->is_tunnelled && exchange->answer.status == 0 &&
                   curl_easy_getinfo(exchange->transfer.easy, CURLINFO_HTTP_CONNECTCODE, &status) == CURLE_OK;
    return is_told && status >= 300 ? (int)status : 0;
}

/* What a host says in the clear where TLS was expected, in OpenSSL's words. */
static bool speaks_no_tls(const struct http_exchange *exchange, CURLcode code)
{
    static const char *const signs[] = {"wrong version number", "packet length too long",
                                        "record layer failure", "http request"};
    for (size_t i = 0; code == CURLE_SSL_CONNECT_ERROR && i < ARRAY_LENGTH(signs); i++)
        if (strstr(exchange->curl_text, signs[i]) != NULL)
            return true;
    return false;
}

/* To curl that is as if the connection were lost; only its text says more. */
static bool has_bad_chunk(const struct http_exchange *exchange, CURLcode code)
{
    return code == CURLE_RECV_ERROR && strstr(exchange->curl_text, "chunk") != NULL;
}

/* A refusal for good is no broken connection: another try would hear the same. */
static void explain_refused_tunnel(struct http_exchange *exchange, int status)
{
    struct http_answer *answer = &exchange->answer;
    const struct clock *clock = exchange->http->clock;
    char text[WORDS_BYTES], duration[CLOCK_TEXT_BYTES];
    exchange_take_proxy_head(exchange);
    int64_t after_ms = retry_after_ms(answer, clock->wall_ms(clock->context));
    bool is_for_good = status >= 400 && status <= 499 && retry_of_status(status, false) == RETRY_PERMANENT;
    if (status == 407) {
        answer->status = 407;
        answer->proxy_wants_login = true;
        snprintf(text, sizeof text, "the proxy %s asks for a login (407)", answer->proxy);
    } else {
        snprintf(text, sizeof text, "the proxy %s opens no tunnel (HTTP %d%s%s)", answer->proxy, status,
                 after_ms < 0 ? "" : ", Retry-After ",
                 after_ms < 0 ? "" : clock_duration_text(after_ms, duration));
    }
    if (is_for_good)
        answer->curl_code = CURLE_UNSUPPORTED_PROTOCOL;
    answer->cause_words = keep(answer, text, "the proxy opens no tunnel");
}

void exchange_explain(struct http_exchange *exchange, CURLcode code)
{
    struct http_answer *answer = &exchange->answer;
    if (answer->cause != NULL)
        return; /* a timer of ours said it already */
    if (code == CURLE_OPERATION_TIMEDOUT) {
        exchange_explain_timer(exchange,
                               exchange->phase == EXCHANGE_CONNECTING ? TIMER_CONNECT : TIMER_STALL);
        return;
    }
    answer->is_untrusted = code == CURLE_PEER_FAILED_VERIFICATION;
    long number = 0;
    const char *words = retry_curl_words((int)code);
    curl_easy_getinfo(exchange->transfer.easy, CURLINFO_OS_ERRNO, &number);
    if (errno_tells_more(code) && words_of_errno(number) != NULL)
        words = words_of_errno(number);
    char text[WORDS_BYTES];
    int status = tunnel_status(exchange);
    if (status != 0) {
        explain_refused_tunnel(exchange, status);
    } else if (err_is_set(&exchange->failure)) {
        answer->cause_words = keep(answer, exchange->failure.text, "our own processing of the answer failed");
    } else if (speaks_no_tls(exchange, code)) {
        answer->curl_code = CURLE_UNSUPPORTED_PROTOCOL; /* not broken off: another try will hear the same */
        answer->cause_words = "this port does not speak TLS (https)";
    } else if (has_bad_chunk(exchange, code)) {
        answer->cause_words = "the answer's chunks can't be read";
    } else if (curl_tells_more(code) && exchange->curl_text[0] != '\0') {
        char detail[WORDS_BYTES / 2];
        size_t length = strlen(exchange->curl_text);
        while (length > 0 && exchange->curl_text[length - 1] == ' ') /* OpenSSL's have one */
            length--;
        text_first_line(exchange->curl_text, length, detail, sizeof detail);
        snprintf(text, sizeof text, "%s: %s", words, detail);
        answer->cause_words = keep(answer, text, words);
    } else if (exchange->phase == EXCHANGE_CONNECTING && answer->proxy != NULL) {
        snprintf(text, sizeof text, "%s, through the proxy %s", words, answer->proxy);
        answer->cause_words = keep(answer, text, words);
    } else {
        answer->cause_words = words;
    }
    add_amount(answer);
}

static const char *connect_words(struct http_exchange *exchange)
{
    curl_off_t looked_up = 0;
    char *address = NULL;
    curl_easy_getinfo(exchange->transfer.easy, CURLINFO_NAMELOOKUP_TIME_T, &looked_up);
    curl_easy_getinfo(exchange->transfer.easy, CURLINFO_PRIMARY_IP, &address);
    if (looked_up == 0)
        return "host name not looked up";
    if (text_is_empty(address))
        return "not connected";
    return !exchange->is_tunnelled || exchange->has_tunnel ? "TLS not agreed on" : "CONNECT not answered";
}

void exchange_explain_timer(struct http_exchange *exchange, enum exchange_timer timer)
{
    const struct http_request *request = &exchange->request;
    struct http_answer *answer = &exchange->answer;
    char duration[CLOCK_TEXT_BYTES], size[TEXT_SIZE_BYTES], text[WORDS_BYTES] = "";
    switch (timer) {
    case TIMER_NONE:
        return;
    case TIMER_CONNECT:
        snprintf(text, sizeof text, "%s within %s (connect timeout)%s%s", connect_words(exchange),
                 clock_duration_text(request->connect_timeout_ms, duration),
                 answer->proxy == NULL ? "" : ", through the proxy ",
                 answer->proxy == NULL ? "" : answer->proxy);
        break;
    case TIMER_FIRST_BYTE:
        snprintf(text, sizeof text, "no answer within %s (first-byte timeout)",
                 clock_duration_text(request->first_byte_timeout_ms, duration));
        break;
    case TIMER_STALL:
        snprintf(text, sizeof text, "stalled: under %s/s for %s (stall limit)",
                 text_size((uint64_t)request->stall_bytes_per_s, size),
                 clock_duration_text(request->stall_ms, duration));
        break;
    case TIMER_TOTAL:
        snprintf(text, sizeof text, "not done within %s (total timeout)",
                 clock_duration_text(request->total_timeout_ms, duration));
        break;
    }
    answer->cause_words = keep(answer, text, "a time limit was reached");
    add_amount(answer);
}
