/* Listening and connecting, by "HOST:PORT". */
#ifndef FLEETSIM_SOCKETS_H
#define FLEETSIM_SOCKETS_H

#include "base/err.h"
#include <stddef.h>

/* Port 0: any free one; *port is the real one. `address` gets the host as written. The caller closes *out.
 */
int socket_listen(const char *listen_text, int *out, char *address, size_t address_size, unsigned short *port,
                  struct err *e) MUST_CHECK;

#endif
