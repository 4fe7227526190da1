/* Between loop.c and http.c only: how a curl handle is put into the loop. */
#ifndef TENDER_NET_LOOP_CURL_H
#define TENDER_NET_LOOP_CURL_H

#include "net/loop.h"
#include <curl/curl.h>

/* One transfer in the loop. The memory is the caller's and stays where it is until `done` was called or
 * loop_transfer_remove() returned. */
struct loop_transfer {
    CURL *easy;           /* its CURLINFO_PRIVATE is this */
    curl_socket_t socket; /* the last one that curl watched for it; 0: none yet */
    /* Called outside of curl's own callbacks, with the handle already out of the loop. */
    void (*done)(struct loop_transfer *transfer, CURLcode code);
    struct loop_transfer *next; /* the loop's */
    enum { TRANSFER_OUT, TRANSFER_QUEUED, TRANSFER_IN } state;
};

/* Starts it with the next step: curl forbids additions from within its callbacks. */
void loop_transfer_add(struct loop *loop, struct loop_transfer *transfer);
/* Not from within a callback of curl's. */
void loop_transfer_remove(struct loop *loop, struct loop_transfer *transfer);
/* Whether we are inside of a callback of curl's. */
bool loop_is_performing(const struct loop *loop);
/* How much its socket has received and nobody has read. */
size_t loop_transfer_waiting_bytes(const struct loop_transfer *transfer);
/* Calls curl_easy_pause, which may call the handle's callbacks. */
void loop_transfer_pause(struct loop *loop, struct loop_transfer *transfer, bool paused);

#endif
