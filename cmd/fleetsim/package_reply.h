/* An answer of the package host while it is made (package_reply.c) and sent (package_send.c). */
#ifndef FLEETSIM_PACKAGE_REPLY_H
#define FLEETSIM_PACKAGE_REPLY_H

#include "base/buf.h"
#include "body.h"
#include "package_host.h"

enum { HEADERS_MAX_BYTES = 64 * 1024 };

/* How the body's sending ends. */
enum ending { ENDING_WHOLE, ENDING_RESET, ENDING_CLOSE };

struct reply {
    struct host_connection *connection;
    const struct host_request *request;
    json_int_t log_number;
    struct behaviour behaviour;
    struct package_entry *entry; /* NULL: not in the script */
    unsigned status;             /* 0: nothing is answered */
    struct body body;
    uint64_t from, length; /* the part of the body that is sent */
    int64_t announced;     /* Content-Length; -1: none (chunked) */
    struct buf headers;
    enum ending ending;
    uint64_t cut_after; /* of a reset or a short body */
    bool keep_alive;
    bool finished;
    uint64_t sent;
    char *canned; /* owned: a body made for this answer */
};

/* The words behind a status. */
const char *reply_reason(unsigned status);
/* Head and body. True: all that was to be sent was sent. */
bool reply_send(struct reply *reply);

#endif
