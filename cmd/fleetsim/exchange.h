/* One request of the API and its answer on a connection, between http.c (the wire) and the handlers. */
#ifndef FLEETSIM_EXCHANGE_H
#define FLEETSIM_EXCHANGE_H

#include "routes.h"
#include "sim.h"
#include <microhttpd.h>

enum { EXCHANGE_BODY_BYTES = 64 * 1024 * 1024 };

struct exchange {
    struct request request;
    struct MHD_Connection *wire;
    char *target; /* owned: path and query as sent */
    char *path;   /* owned: decoded, without the query */
    char *method; /* owned */
    const char *api_path;
    long connection_number;
    bool started;
    json_int_t log_number; /* 0: a hook, which is not logged */
    bool answered;
    enum route_result found;
    struct err form_error; /* why the form could not be read */
    struct buf body;       /* what came, unless it went into the form */
    uint64_t body_bytes;
    uint64_t sent_bytes; /* of the answer's body */
    unsigned status;     /* 0: none was sent */
};

struct exchange *exchange_new(struct sim *sim, const char *target);
void exchange_free(struct exchange *exchange);
/* The head is here: route and fault are looked up, the body's reader is made. */
void exchange_begin(struct exchange *exchange, struct MHD_Connection *wire, const char *path,
                    const char *method, long connection_number, bool reused);
void exchange_receive(struct exchange *exchange, const char *bytes, size_t length);
/* All is here: decodes, checks the token, runs the handler. */
void exchange_run(struct exchange *exchange, struct answer *answer);
/* Writes the log's line, except for hooks. */
void exchange_log(struct exchange *exchange, bool finished);

#endif
