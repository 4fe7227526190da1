/* The package host: HTTP/1.1 on raw sockets, because a library would not let it misbehave. One thread
 * accepts, each connection has a thread. */
#ifndef FLEETSIM_PACKAGE_HOST_H
#define FLEETSIM_PACKAGE_HOST_H

#include "base/err.h"
#include "request_log.h"
#include "script.h"
#include <pthread.h>
#include <stdint.h>

struct package_host {
    const char *folder; /* NULL: only what the script has */
    struct script *script;
    struct request_log *log;
    int listener;
    unsigned short port;
    char address[64]; /* the host that it listens on, as text */
    pthread_t acceptor;
    int stop;        /* atomic */
    int connections; /* atomic: threads that are alive */
    long accepted;
};

/* Binds and starts. Borrows all pointers until package_host_stop(). */
int package_host_start(struct package_host *host, const char *listen, const char *folder,
                       struct script *script, struct request_log *log, struct err *e) MUST_CHECK;
void package_host_stop(struct package_host *host);

enum { HOST_HEAD_BYTES = 16 * 1024, HOST_HEADERS = 64, HOST_WAIT_MS = 100 };

struct host_header {
    const char *name, *value;
};

/* One request, read and split. All text points into the connection's head. */
struct host_request {
    const char *method;
    const char *target; /* as sent */
    char path[2048];    /* of the target, not decoded */
    char file[2048];    /* decoded, without the first slash */
    const char *query;  /* "" if none */
    struct host_header headers[HOST_HEADERS];
    size_t header_count;
    uint64_t body_bytes;
    bool keep_alive;
};

struct host_connection {
    struct package_host *host;
    int socket; /* -1 once it is closed */
    long number;
    bool die_at_next_request; /* of close-keepalive */
    char head[HOST_HEAD_BYTES + 1];
    size_t used; /* of head: bytes that were read */
};

const char *host_header_of(const struct host_request *request, const char *name); /* NULL if not sent */
/* Answers, and logs. False: the connection is to be closed. */
bool package_reply(struct host_connection *connection, const struct host_request *request);
/* Sends all, waiting as long as the host runs. -1: the peer is gone or the host stops. */
int host_send(struct host_connection *connection, const char *bytes, size_t length);
/* Closes with RST, once the peer's kernel has what was sent: it can be read, and then the reset comes. */
void host_reset(struct host_connection *connection);
/* -1: before the time is over, the peer is gone or the host stops. */
int host_sleep(const struct host_connection *connection, int64_t ms);

#endif
