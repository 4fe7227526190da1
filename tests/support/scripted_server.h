/* A small HTTP server on raw sockets (127.0.0.1, threads) whose every answer is a script: what it sends,
 * where it cuts, how it ends. It remembers each request. For tests of net/ and fetch/ only. */
#ifndef TENDER_TESTS_SCRIPTED_SERVER_H
#define TENDER_TESTS_SCRIPTED_SERVER_H

#include "base/clock.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum script_end {
    SCRIPT_KEEP,  /* the connection stays for the next request */
    SCRIPT_CLOSE, /* FIN */
    SCRIPT_RESET, /* RST, once the client has read what was sent (a reset throws away what it has not) */
    SCRIPT_STALL, /* silence until the client or the server ends */
};

/* One answer. All zero: 200 with an empty body. */
struct script_step {
    int status;          /* 0: 200 */
    const char *headers; /* further lines, each ended by "\r\n"; NULL: none */
    const void *body;
    size_t body_length;
    const char *etag; /* sent; compared with If-None-Match (304) and, with `ranges`, with If-Range */
    bool ranges;      /* Range is honoured: 206, 416; otherwise always the whole body */
    bool ignores_if_range;
    int64_t range_shift; /* added to the offset of a 206 */
    int64_t total_shift; /* added to the total of a 206's Content-Range */
    bool chunked;        /* no Content-Length */
    bool until_close;    /* neither: the body ends with the connection */
    size_t send_at_most; /* body bytes, then `end`; 0: all. SCRIPT_NOTHING: not even headers */
    enum script_end end;
    unsigned delay_ms; /* before the answer */
    unsigned pace_ms;  /* after every 16 KiB of body */
    const char
        *raw; /* this text instead of a head, then `body` as it is (none, if `body` is NULL), then `end` */
    const char
        *modified; /* Last-Modified; compared with If-Modified-Since and, where no ETag fits, If-Range */
    size_t part_at_most;       /* a 206 brings no more than so much; 0: all that was asked for */
    const char *content_range; /* instead of the right one: a whole header line, "" for none */
};
#define SCRIPT_NOTHING SIZE_MAX

/* The n-th request for a path gets the n-th step, the last one again and again. */
struct script_path {
    const char *path; /* with query */
    const struct script_step *steps;
    size_t step_count;
};

/* In an initialiser: a path's steps, and a path with them. */
#define STEPS(...)                                                                                           \
    .steps = (const struct script_step[]){__VA_ARGS__},                                                      \
    .step_count = sizeof((const struct script_step[]){__VA_ARGS__}) / sizeof(struct script_step)

#define PATH(path_, ...)                                                                                     \
    {                                                                                                        \
        .path = (path_), STEPS(__VA_ARGS__)                                                                  \
    }

struct scripted_server;

/* The paths are borrowed. Ends the test program if the system refuses a socket or a thread. */
struct scripted_server *scripted_server_new(const struct script_path *paths, size_t path_count);
/* The clock of the records' times; the system's until then. Before the first request. */
void scripted_server_use_clock(struct scripted_server *server, const struct clock *clock);
/* Resets come at once, whatever the client has read: faster, and as chance will have it. Before the first
 * request. */
void scripted_server_be_hasty(struct scripted_server *server);
/* Called with each request's head before the server looks at it and records it: what a proxy between the two
 * would do to it. Its work must fit into `size`. Before the first request. */
void scripted_server_tamper(struct scripted_server *server, void (*rewrite)(char *head, size_t size));
/* Stops all connections and waits for their threads. */
void scripted_server_free(struct scripted_server *server);
int scripted_server_port(const struct scripted_server *server);

/* Requests so far, in their order. `path` NULL: all. */
size_t scripted_server_count(struct scripted_server *server, const char *path);
/* The head of the n-th request (0-based) for the path (NULL: of all), copied into out; "" if there is none.
 */
const char *scripted_server_head(struct scripted_server *server, const char *path, size_t n, char *out,
                                 size_t size);
/* One request, and what it was answered. */
struct script_record {
    const char *head;               /* lives as long as the server */
    const struct script_step *step; /* NULL: the path has no script */
    int status;                     /* 0: no head was sent */
    uint64_t number;                /* the requests' order over all servers of the process */
    uint64_t first;                 /* where a 206 begins */
    uint64_t sent_bytes;            /* of the body */
    bool was_sent_whole;            /* everything that the script says went out */
    int64_t asked_ms, answered_ms;  /* by the clock, monotonic; answered: just before the first byte */
};
/* Waits until no answer is under way (a stall counts as answered), and copies the records in the requests'
 * order, at most `most`; returns how many. */
size_t scripted_server_records(struct scripted_server *server, struct script_record *out, size_t most);
/* The value of a header in a request's head, copied into out; NULL if it has none. */
const char *scripted_server_header(const char *head, const char *name, char *out, size_t size);
/* The most requests that were under way at once. */
size_t scripted_server_most_at_once(struct scripted_server *server);

#endif
