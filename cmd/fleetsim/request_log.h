/* The request log: one JSON line per finished request, appended in a single write. */
#ifndef FLEETSIM_REQUEST_LOG_H
#define FLEETSIM_REQUEST_LOG_H

#include "base/err.h"
#include <jansson.h>
#include <pthread.h>

struct request_log {
    int file; /* -1: no log was asked for */
    pthread_mutex_t mutex;
    json_int_t sequence; /* of requests that came, from 1 */
    json_int_t open;     /* of them, not written yet */
};

int request_log_open(struct request_log *log, const char *path,
                     struct err *e) MUST_CHECK; /* path may be NULL */
void request_log_close(struct request_log *log);
/* A request came: its number. It is open until its line is written. */
json_int_t request_log_begin(struct request_log *log);
/* Adds "at" and the request's number as "n" and writes the line. Takes over the reference. */
void request_log_write(struct request_log *log, json_int_t number, json_t *line);
/* How many requests have no line yet: at 0 a reader sees all. */
json_int_t request_log_open_count(struct request_log *log);

#endif
