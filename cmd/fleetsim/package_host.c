/* The package host's connections: accepting, reading request heads, keeping alive. What is answered is
 * decided in package_reply.c. */
#include "package_host.h"
#include "base/files.h"
#include "base/text.h"
#include "json.h"
#include "sockets.h"
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { DRAIN_ROUNDS = 2000, STOP_ROUNDS = 500, NAP_US = 1000 };

static bool stopping(const struct package_host *host)
{
    return __atomic_load_n(&host->stop, __ATOMIC_RELAXED) != 0;
}

int host_sleep(const struct host_connection *connection, int64_t ms)
{
    while (ms > 0 && !stopping(connection->host)) {
        int64_t slice = ms < HOST_WAIT_MS ? ms : HOST_WAIT_MS;
        struct pollfd peer = {.fd = connection->socket, .events = POLLRDHUP};
        if (poll(&peer, 1, (int)slice) > 0)
            return -1;
        ms -= slice;
    }
    return ms > 0 ? -1 : 0;
}

/* False when the host stops first. */
static bool wait_for(const struct host_connection *connection, short events)
{
    while (!stopping(connection->host)) {
        struct pollfd item = {.fd = connection->socket, .events = events};
        int ready = poll(&item, 1, HOST_WAIT_MS);
        if (ready > 0)
            return true;
        if (ready < 0 && errno != EINTR)
            return false;
    }
    return false;
}

int host_send(struct host_connection *connection, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(connection->socket, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
            if (!wait_for(connection, POLLOUT))
                return -1;
            continue;
        }
        if (sent < 0)
            return -1;
        bytes += sent;
        length -= (size_t)sent;
    }
    return 0;
}

void host_reset(struct host_connection *connection)
{
    int pending = 0;
    for (int i = 0; i < DRAIN_ROUNDS; i++) {
        if (ioctl(connection->socket, SIOCOUTQ, &pending) < 0 || pending == 0)
            break;
        usleep(NAP_US);
    }
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    setsockopt(connection->socket, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    close(connection->socket);
    connection->socket = -1;
}

const char *host_header_of(const struct host_request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++)
        if (strcasecmp(request->headers[i].name, name) == 0)
            return request->headers[i].value;
    return NULL;
}

/* The length of the head that lies in the buffer, its empty line included; 0 if it is not whole yet. */
static size_t head_length(const struct host_connection *connection)
{
    const char *end = memmem(connection->head, connection->used, "\r\n\r\n", 4);
    return end != NULL ? (size_t)(end - connection->head) + 4 : 0;
}

static size_t read_head(struct host_connection *connection)
{
    for (;;) {
        size_t length = head_length(connection);
        if (length > 0)
            return length;
        if (connection->used == HOST_HEAD_BYTES || !wait_for(connection, POLLIN))
            return 0;
        ssize_t got = recv(connection->socket, connection->head + connection->used,
                           HOST_HEAD_BYTES - connection->used, 0);
        if (got <= 0)
            return 0;
        connection->used += (size_t)got;
    }
}

static int hex_value(char digit)
{
    const char *digits = "0123456789abcdef";
    const char *at = digit != '\0' ? strchr(digits, digit | 0x20) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

static void decode_path(const char *path, char *out, size_t size)
{
    size_t used = 0;
    for (const char *at = path; *at != '\0' && used + 1 < size; at++) {
        if (*at == '%' && hex_value(at[1]) >= 0 && hex_value(at[2]) >= 0) {
            out[used++] = (char)(hex_value(at[1]) * 16 + hex_value(at[2]));
            at += 2;
        } else {
            out[used++] = *at;
        }
    }
    out[used] = '\0';
}

static bool split_target(struct host_request *request)
{
    const char *question = strchr(request->target, '?');
    size_t length = question != NULL ? (size_t)(question - request->target) : strlen(request->target);
    if (request->target[0] != '/' || length >= sizeof request->path)
        return false;
    memcpy(request->path, request->target, length);
    request->path[length] = '\0';
    request->query = question != NULL ? question + 1 : "";
    decode_path(request->path + 1, request->file, sizeof request->file);
    return true;
}

/* Cuts the head into its words in place. False: not HTTP. */
static bool split_head(char *head, struct host_request *request)
{
    char *rest = NULL;
    char *line = strtok_r(head, "\r\n", &rest);
    char *space = line != NULL ? strchr(line, ' ') : NULL;
    char *version = space != NULL ? strchr(space + 1, ' ') : NULL;
    if (version == NULL)
        return false;
    *space = *version = '\0';
    *request = (struct host_request){.method = line, .target = space + 1};
    while ((line = strtok_r(NULL, "\r\n", &rest)) != NULL && request->header_count < HOST_HEADERS) {
        char *colon = strchr(line, ':');
        if (colon == NULL)
            return false;
        *colon = '\0';
        request->headers[request->header_count++] =
            (struct host_header){.name = line, .value = colon + 1 + strspn(colon + 1, " \t")};
    }
    const char *connection = host_header_of(request, "Connection");
    request->keep_alive =
        text_equal(version + 1, "HTTP/1.1") && (connection == NULL || strcasecmp(connection, "close") != 0);
    return split_target(request);
}

/* What a request brings as its body is read and thrown away. */
static bool skip_body(struct host_connection *connection, size_t head, struct host_request *request)
{
    char waste[8192];
    const char *length = host_header_of(request, "Content-Length");
    uint64_t rest = length != NULL ? strtoull(length, NULL, 10) : 0;
    request->body_bytes = rest;
    size_t here = connection->used - head;
    size_t from_head = here < rest ? here : (size_t)rest;
    rest -= from_head;
    memmove(connection->head, connection->head + head + from_head, here - from_head);
    connection->used = here - from_head;
    while (rest > 0) {
        if (!wait_for(connection, POLLIN))
            return false;
        ssize_t got = recv(connection->socket, waste, rest < sizeof waste ? (size_t)rest : sizeof waste, 0);
        if (got <= 0)
            return false;
        rest -= (uint64_t)got;
    }
    return true;
}

static bool serve_one(struct host_connection *connection)
{
    size_t length = read_head(connection);
    if (length == 0)
        return false;
    if (connection->die_at_next_request) {
        host_reset(connection);
        return false;
    }
    struct host_request request;
    CLEANUP(file_free_cleanup) char *head = allocate(length + 1);
    memcpy(head, connection->head, length);
    if (!split_head(head, &request)) {
        static const char bad[] =
            "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        host_send(connection, bad, strlen(bad));
        return false;
    }
    return skip_body(connection, length, &request) && package_reply(connection, &request);
}

static void *connection_thread(void *argument)
{
    struct host_connection *connection = argument;
    struct package_host *host = connection->host;
    while (!stopping(host) && serve_one(connection))
        continue;
    if (connection->socket >= 0) {
        shutdown(connection->socket, SHUT_WR);
        close(connection->socket);
    }
    free(connection);
    __atomic_sub_fetch(&host->connections, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void begin_connection(struct package_host *host, int socket)
{
    int one = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct host_connection *connection = allocate(sizeof *connection);
    connection->host = host;
    connection->socket = socket;
    connection->number = ++host->accepted;
    __atomic_add_fetch(&host->connections, 1, __ATOMIC_RELAXED);
    pthread_t thread;
    if (pthread_create(&thread, NULL, connection_thread, connection) != 0) {
        __atomic_sub_fetch(&host->connections, 1, __ATOMIC_RELEASE);
        close(socket);
        free(connection);
        return;
    }
    pthread_detach(thread);
}

static void *accept_thread(void *argument)
{
    struct package_host *host = argument;
    while (!stopping(host)) {
        struct pollfd item = {.fd = host->listener, .events = POLLIN};
        if (poll(&item, 1, HOST_WAIT_MS) <= 0)
            continue;
        int socket = accept4(host->listener, NULL, NULL, SOCK_CLOEXEC);
        if (socket >= 0)
            begin_connection(host, socket);
    }
    return NULL;
}

int package_host_start(struct package_host *host, const char *listen, const char *folder,
                       struct script *script, struct request_log *log, struct err *e)
{
    *host = (struct package_host){.folder = folder, .script = script, .log = log, .listener = -1};
    if (socket_listen(listen, &host->listener, host->address, sizeof host->address, &host->port, e) < 0)
        return -1;
    if (pthread_create(&host->acceptor, NULL, accept_thread, host) != 0) {
        file_close_cleanup(&host->listener);
        return err_set(e, ERR_SYSTEM, "can't start the package host's thread");
    }
    return 0;
}

void package_host_stop(struct package_host *host)
{
    if (host->listener < 0)
        return;
    __atomic_store_n(&host->stop, 1, __ATOMIC_RELAXED);
    pthread_join(host->acceptor, NULL);
    file_close_cleanup(&host->listener);
    for (int i = 0; i < STOP_ROUNDS && __atomic_load_n(&host->connections, __ATOMIC_ACQUIRE) > 0; i++)
        usleep(10 * NAP_US);
}
