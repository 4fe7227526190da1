/* Between the files of net/http only: one exchange and its parts. */
#ifndef TENDER_NET_HTTP_EXCHANGE_H
#define TENDER_NET_HTTP_EXCHANGE_H

#include "net/http.h"
#include "net/loop_curl.h"

struct http {
    struct loop *loop;
    const struct clock *clock;
    const struct log *log;
    char *user_agent;
    char *ca_file;
    CURLSH *share; /* TLS sessions: writes open a connection each, and need no full handshake for it */
};

/* How far an exchange is: decides which of our timers counts. */
enum exchange_phase {
    EXCHANGE_CONNECTING, /* name, connection, TLS: the connect timeout */
    EXCHANGE_SENDING,    /* the request's body: the stall limit */
    EXCHANGE_WAITING,    /* for the answer's first byte: the first-byte timeout, or the stall limit */
    EXCHANGE_RECEIVING,  /* the stall limit */
};

/* Where the stall limit measures from. */
struct stall_mark {
    int64_t at_ms;
    uint64_t bytes;
};

struct http_exchange {
    struct loop_transfer transfer;
    struct http *http;
    struct http_request request; /* its strings were copied or given to curl; callbacks and limits are used */
    char *url;                   /* for resolving redirects */
    char method[16];
    struct curl_slist *headers;
    curl_mime *mime;
    struct upload_part *uploads; /* one per file part */
    size_t upload_count;
    enum exchange_phase phase;
    int64_t started_ms, phase_started_ms;
    struct stall_mark mark;
    struct loop_timer tick;
    bool is_paused;
    struct stall_mark paused; /* when that began */
    bool is_cancelled;        /* within a callback: freed once curl is out of it */
    bool is_stopped_by_us;    /* a callback said so */
    bool headers_are_done;
    char *proxy;        /* NULL: none; with its login */
    bool is_proxied;    /* the request goes to an HTTP proxy, which answers in its own name or the host's */
    bool is_tunnelled;  /* an HTTP proxy is asked for a tunnel (CONNECT) */
    bool has_tunnel;    /* it has answered */
    struct err failure; /* our own, set in a callback. ERR_SERVER: the answer is larger than allowed */
    char curl_text[CURL_ERROR_SIZE];
    struct buf
        header_bytes; /* the raw lines of the answer (before it a proxy's to CONNECT) that is under way */
    uint64_t received_head_bytes; /* of all answers, for the stall limit */
    struct http_answer answer;
    struct http_answer *result; /* http_perform: where the answer goes instead of on_done */
    bool *is_done;
};

/* http_setup.c: all options of the easy handle. */
int exchange_setup(struct http_exchange *exchange, struct err *e) MUST_CHECK;

/* http_upload.c: the multipart body. */
int exchange_add_parts(struct http_exchange *exchange, struct err *e) MUST_CHECK;
void exchange_drop_parts(struct http_exchange *exchange);

/* http_answer.c: curl's header callback, and what is made of the lines. */
size_t exchange_on_header(char *line, size_t size, size_t count, void *context);

/* The headers with which a proxy refused a tunnel become the answer's: they say when to come back. */
void exchange_take_proxy_head(struct http_exchange *exchange);

/* http_cause.c: fills cause and cause_words of a failed answer. */
void exchange_explain(struct http_exchange *exchange, CURLcode code);
/* The text of the timer that has run out; "" if none has. */
enum exchange_timer { TIMER_NONE, TIMER_CONNECT, TIMER_FIRST_BYTE, TIMER_STALL, TIMER_TOTAL };
void exchange_explain_timer(struct http_exchange *exchange, enum exchange_timer timer);

/* http_timers.c */
void exchange_enter(struct http_exchange *exchange, enum exchange_phase phase);
/* A pause has ended: how long it held the peer back, which the stall limit leaves out. */
int64_t exchange_forgive_pause(struct http_exchange *exchange, const struct stall_mark *paused);
/* What the stall limit measures now. */
struct stall_mark exchange_mark(const struct http_exchange *exchange);
void exchange_tick(void *context);
void exchange_set_tick(struct http_exchange *exchange);

/* http.c: ends it with an answer; frees the exchange. */
void exchange_finish(struct http_exchange *exchange, enum http_end end, CURLcode code);
/* Frees one that was cancelled while curl was in a callback. */
void exchange_end_cancelled(struct http_exchange *exchange);

#endif
