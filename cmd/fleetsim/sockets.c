/* The listening sockets of both servers: the API's is handed to libmicrohttpd, the package host keeps its
 * own. */
#include "sockets.h"
#include "base/files.h"
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 128 };

static int split(const char *listen, char *host, size_t size, const char **port, struct err *e)
{
    const char *colon = strrchr(listen, ':');
    if (colon == NULL || colon == listen || colon[1] == '\0' || (size_t)(colon - listen) >= size)
        return err_set(e, ERR_USAGE, "\"%s\" is no HOST:PORT", listen);
    memcpy(host, listen, (size_t)(colon - listen));
    host[colon - listen] = '\0';
    *port = colon + 1;
    return 0;
}

static int bound_port(int file, unsigned short *port, struct err *e)
{
    struct sockaddr_in name = {0};
    socklen_t length = sizeof name;
    if (getsockname(file, (struct sockaddr *)&name, &length) < 0)
        return err_set_errno(e, "can't see the port");
    *port = ntohs(name.sin_port);
    return 0;
}

int socket_listen(const char *listen_text, int *out, char *address, size_t address_size, unsigned short *port,
                  struct err *e)
{
    const char *port_text;
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found;
    if (split(listen_text, address, address_size, &port_text, e) < 0)
        return -1;
    int failure = getaddrinfo(address, port_text, &hints, &found);
    if (failure != 0)
        return err_set(e, ERR_USAGE, "%s: %s", listen_text, gai_strerror(failure));
    CLEANUP(file_close_cleanup) int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int one = 1;
    bool bound = file >= 0 && setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
                 bind(file, found->ai_addr, found->ai_addrlen) == 0 && listen(file, BACKLOG) == 0;
    freeaddrinfo(found);
    if (!bound)
        return err_set_errno(e, "can't listen on %s", listen_text);
    if (bound_port(file, port, e) < 0)
        return -1;
    *out = file;
    file = -1;
    return 0;
}
