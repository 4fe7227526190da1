/* HTTP exchanges over the one event loop: downloads, uploads and API calls. libcurl's only home is this
 * folder. The loop is driven by loop_run(); an exchange calls back when it is over. http_perform() is for
 * callers that have nothing else to do. */
#ifndef TENDER_NET_HTTP_H
#define TENDER_NET_HTTP_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/log.h"
#include "model/package.h"
#include "model/settings.h"
#include "net/loop.h"

struct http_options {
    struct loop *loop;
    const char *user_agent;
    const char *ca_file; /* NULL: the system's */
    const struct clock *clock;
    const struct log *log;
};

struct http; /* what exchanges share: connections, DNS, options. One for packages, one for the API */

struct http *http_new(const struct http_options *options, struct err *e) MUST_CHECK;
void http_free(struct http *http);
void http_cleanup(struct http **http);
const char *http_user_agent(const struct http *http); /* "" if none is sent */

/* One field or file of a multipart/form-data body (RFC 7578). */
struct http_part {
    const char *name;
    const char *text; /* a text field; NULL: a file */
    size_t text_length;
    const char *file_path; /* streamed, never whole in memory */
    const char *file_name; /* sent as filename */
    uint64_t file_bytes;
    struct digest
        *digest; /* gets the file's bytes as they are sent; may be NULL. Restarted if the body is rewound */
};

enum http_version { HTTP_1_1_ONLY, HTTP_2_ALLOWED };

struct http_answer;

struct http_request {
    const char *method; /* "GET", "POST", … */
    const char *url;
    const char *const *headers; /* "Name: value" */
    size_t header_count;
    const void *body; /* NULL: none */
    size_t body_length;
    const struct http_part *parts; /* multipart body instead of `body` */
    size_t part_count;
    bool fresh_connection; /* writes: curl re-sends a request when a kept-alive connection dies; on a fresh
                              one it can't */
    enum http_version version;
    const char *username, *password;      /* basic authentication; NULL: none */
    const char *client_cert, *client_key; /* files, PEM; NULL: none */
    uint64_t range_start;                 /* > 0 or has_range: "Range: bytes=start-" or with range_end */
    bool has_range;
    int64_t range_end;       /* inclusive; -1: open */
    size_t max_answer_bytes; /* collected body; more is an error. Not for on_body */
    int64_t connect_timeout_ms;
    int64_t first_byte_timeout_ms; /* after the request was sent whole; 0: none but the stall limit */
    int64_t stall_bytes_per_s, stall_ms;
    int64_t total_timeout_ms; /* 0: none */

    /* Called on the loop. Each may be NULL. Non-zero from on_headers or on_body ends the exchange with
     * HTTP_STOPPED_BY_US. */
    int (*on_headers)(
        void *context,
        const struct http_answer *answer); /* all headers of the final answer (no 1xx) are here */
    int (*on_body)(void *context, const void *bytes, size_t length);
    void (*on_done)(void *context, struct http_answer *answer);
    void *context;
};

/* How an exchange ended on the line; retry_classify() makes a class of it. */
enum http_end {
    HTTP_ANSWERED,      /* a whole answer, whatever its status */
    HTTP_FAILED,        /* curl_code and cause say how */
    HTTP_STOPPED_BY_US, /* on_headers or on_body said so, or http_cancel */
};

struct http_header {
    const char *name; /* as sent */
    const char *value;
};

struct http_answer {
    enum http_end end;
    int status; /* 0: none came; the headers may be those with which a proxy refused a tunnel */
    size_t header_count;
    struct http_header *headers;
    struct buf body;   /* where on_body is NULL */
    int curl_code;     /* CURLcode */
    const char *cause; /* plain words where it failed: "connection reset by peer after 20000 bytes", which
                          timer fired … */
    const char *cause_words; /* the same without numbers: "connection reset by peer"; for callers that know
                                more */
    bool is_untrusted;       /* it failed because the peer's certificate was refused */
    const char *proxy;       /* that the request went through, redacted; NULL: none */
    bool proxy_wants_login;  /* a 407 of a proxy that is in use: without one, 407 is a status like others */
    bool may_have_arrived; /* the request may have reached the server (so a write's effect must be looked up)
                            */
    char remote_address[64]; /* "127.0.0.1:443", "" if never connected */
    struct request_times times;
    int64_t total_ms;
    uint64_t sent_bytes, received_bytes; /* bodies */
    const char *redirect_url;            /* absolute target of a 3xx with Location, as sent otherwise; NULL */
    struct arena *arena;                 /* the strings' memory; http_answer_done() frees it */
};

/* The first header of that name (any case); NULL if none. */
const char *http_header(const struct http_answer *answer, const char *name);
void http_answer_done(struct http_answer *answer);

struct http_exchange;
/* Starts it; the request is copied but for body, parts and their files, which must live until on_done.
 * on_done is called exactly once, from the loop, unless http_cancel came first. The answer given to it is
 * freed behind it. */
struct http_exchange *http_start(struct http *http, const struct http_request *request,
                                 struct err *e) MUST_CHECK;
void http_cancel(struct http_exchange *exchange); /* ends it without on_done */
/* The timers stand still meanwhile, if the peer was held back by it. The end of a pause tells how long it was
 * (0: nothing worth the stall limit waited); everything else 0. */
int64_t http_pause(struct http_exchange *exchange, bool paused);

/* Starts it and runs the loop until it is done. `answer` is the caller's: http_answer_done(). -1: it could
 * not be started, or the loop was told to stop now. A failed exchange is 0 with answer->end. */
int http_perform(struct http *http, const struct http_request *request, struct http_answer *answer,
                 struct err *e) MUST_CHECK;

#endif
