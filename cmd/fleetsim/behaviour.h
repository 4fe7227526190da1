/* How the package host answers one request: a name of the const table and its parameters. */
#ifndef FLEETSIM_BEHAVIOUR_H
#define FLEETSIM_BEHAVIOUR_H

#include "base/err.h"
#include <jansson.h>
#include <stdint.h>

enum behaviour_kind {
    DO_SERVE,              /* the file, as a well-behaved server does */
    DO_RESET,              /* RST after N body bytes; at 0 before any byte */
    DO_CLOSE,              /* FIN after N body bytes: a short body */
    DO_EOF,                /* FIN without a byte */
    DO_STATUS,             /* a status, headers and a body of the script */
    DO_REDIRECT,           /* a Location */
    DO_IGNORE_RANGE,       /* 200 with everything, whatever Range asked for */
    DO_WRONG_RANGE,        /* 206 whose Content-Range starts elsewhere */
    DO_RANGE_REFUSED,      /* 416 to a request with Range, else serve */
    DO_STALL,              /* N body bytes, silence, then the rest */
    DO_SLOW,               /* N bytes per second */
    DO_RETRY_AFTER,        /* 503 or 429 with Retry-After */
    DO_HTML,               /* 200 with a page instead of the package */
    DO_EMPTY,              /* 200 with no bytes */
    DO_WRONG_BYTES,        /* the right length, other content */
    DO_NO_VALIDATORS,      /* neither ETag nor Last-Modified */
    DO_RANDOM_ETAG,        /* another ETag each time */
    DO_CHUNKED,            /* no length in front */
    DO_LYING_LENGTH,       /* Content-Length smaller than what is sent */
    DO_GZIP_HEADER,        /* Content-Encoding: gzip over plain bytes */
    DO_ALWAYS_304,         /* 304 even without a condition */
    DO_REQUIRE_USER_AGENT, /* 403 unless the User-Agent begins so */
    DO_REQUIRE_HEADER,     /* 401 unless a header has this value */
    DO_HUGE_ANNOUNCE,      /* Content-Length larger than what is sent */
    DO_CLOSE_KEEPALIVE,    /* serves, and ends the kept connection at the next request */
};

struct behaviour {
    enum behaviour_kind kind;
    const char *name;    /* of the table */
    int64_t after_bytes; /* body bytes before the trouble */
    bool before_headers; /* trouble before any byte */
    unsigned status;     /* 0: the behaviour's own */
    int64_t delay_ms;    /* before the answer */
    int64_t silence_ms;  /* of a stall */
    int64_t bytes_per_second;
    int64_t length;   /* that is announced; -1: the behaviour's own */
    int64_t offset;   /* of wrong-range */
    json_int_t times; /* how many requests it is for; then the next one */
    const char *location, *retry_after, *header, *value, *prefix, *body; /* of the script; NULL: not given */
    const json_t *headers;
};

/* Reads one object of the script, which must outlive *out. An unknown name or key is ERR_CONFIG naming the
 * known ones. */
int behaviour_parse(const json_t *object, struct behaviour *out, struct err *e) MUST_CHECK;
/* The known names, one a line, for the documentation's test and error texts. */
const char *behaviour_names(char *out, size_t size);
/* The plain one. */
struct behaviour behaviour_serve(void);

#endif
