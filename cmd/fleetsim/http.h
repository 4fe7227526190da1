/* The Fleet API on libmicrohttpd: reads requests, asks the routes, applies the script's faults, logs. */
#ifndef FLEETSIM_HTTP_H
#define FLEETSIM_HTTP_H

#include "sim.h"

struct api_server;

/* Borrows `sim` until api_server_stop(). *port is the real one; `address` gets the host. */
struct api_server *api_server_start(struct sim *sim, const char *listen, char *address, size_t address_size,
                                    unsigned short *port, struct err *e) MUST_CHECK;
void api_server_stop(struct api_server *server);

#endif
