/* The counterpart of the fetch tests: misbehaves exactly as the script says, and remembers what was asked. */
#include "scripted_server.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_REQUESTS = 4096, HEAD_BYTES = 16384, BLOCK_BYTES = 16384, MAX_CONNECTIONS = 256 };
enum { HEAD_POOL_BYTES = 16 * 1024 * 1024 };

struct connection {
    struct scripted_server *server;
    int socket; /* -1: free */
};

/* Its threads allocate nothing, so that a test may make allocations fail while they run. */
struct scripted_server {
    const struct script_path *paths;
    size_t path_count;
    size_t *asked; /* per path */
    int listener;
    int port;
    pthread_t acceptor;
    pthread_mutex_t lock;
    pthread_cond_t idle;
    bool is_stopping;
    size_t threads;
    struct connection connections[MAX_CONNECTIONS];
    char *heads[MAX_REQUESTS];
    char *head_pool; /* mapped */
    size_t head_pool_used;
    size_t head_count;
    size_t now, most;
};

static void must(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "scripted server: %s: %s\n", what, strerror(errno));
    exit(70);
}

static void sleep_ms(unsigned ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&time, NULL);
}

static bool send_all(int socket, const void *bytes, size_t length)
{
    const char *rest = bytes;
    while (length > 0) {
        ssize_t sent = send(socket, rest, length, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        rest += sent;
        length -= (size_t)sent;
    }
    return true;
}

static bool read_head(int socket, char head[HEAD_BYTES])
{
    size_t used = 0;
    while (used < HEAD_BYTES - 1) {
        ssize_t got = recv(socket, head + used, 1, 0);
        if (got <= 0)
            return false;
        used++;
        head[used] = '\0';
        if (used >= 4 && memcmp(head + used - 4, "\r\n\r\n", 4) == 0)
            return true;
    }
    return false;
}

static const char *header_in(const char *head, const char *name, char *out, size_t size)
{
    size_t length = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line != NULL; line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, name, length) != 0 || line[2 + length] != ':')
            continue;
        const char *value = line + 3 + length + strspn(line + 3 + length, " ");
        snprintf(out, size, "%.*s", (int)strcspn(value, "\r"), value);
        return out;
    }
    return NULL;
}

static void drop_request_body(int socket, const char *head)
{
    char text[64], bytes[4096];
    if (header_in(head, "Content-Length", text, sizeof text) == NULL)
        return;
    for (long long left = atoll(text); left > 0;) {
        ssize_t got = recv(socket, bytes, left < (long long)sizeof bytes ? (size_t)left : sizeof bytes, 0);
        if (got <= 0)
            return;
        left -= got;
    }
}

static const struct script_step *next_step(struct scripted_server *server, const char *head)
{
    static const struct script_step not_found = {.status = 404};
    char path[4096] = "";
    sscanf(head, "%*s %4095s", path);
    const struct script_step *step = &not_found;
    pthread_mutex_lock(&server->lock);
    size_t length = strlen(head) + 1;
    if (server->head_count < MAX_REQUESTS && server->head_pool_used + length <= HEAD_POOL_BYTES) {
        char *kept = server->head_pool + server->head_pool_used;
        memcpy(kept, head, length);
        server->heads[server->head_count++] = kept;
        server->head_pool_used += length;
    }
    for (size_t i = 0; i < server->path_count; i++) {
        const struct script_path *script = &server->paths[i];
        if (strcmp(script->path, path) != 0)
            continue;
        size_t n = server->asked[i]++;
        step = &script->steps[n < script->step_count ? n : script->step_count - 1];
        break;
    }
    if (++server->now > server->most)
        server->most = server->now;
    pthread_mutex_unlock(&server->lock);
    return step;
}

struct slice {
    int status;
    size_t first, length;
    char range[128];
};

static void choose_slice(const struct script_step *step, const char *head, struct slice *slice)
{
    char text[256];
    unsigned long long first = 0, last = 0;
    *slice = (struct slice){.status = step->status == 0 ? 200 : step->status, .length = step->body_length};
    if (slice->status != 200)
        return;
    if (step->etag != NULL && header_in(head, "If-None-Match", text, sizeof text) != NULL &&
        strcmp(text, step->etag) == 0) {
        slice->status = 304;
        slice->length = 0;
        return;
    }
    if (!step->ranges || header_in(head, "Range", text, sizeof text) == NULL)
        return;
    int parts = sscanf(text, "bytes=%llu-%llu", &first, &last);
    if (parts < 1)
        return;
    if (!step->ignores_if_range && header_in(head, "If-Range", text, sizeof text) != NULL &&
        (step->etag == NULL || strcmp(text, step->etag) != 0))
        return;
    if (first >= step->body_length) {
        slice->status = 416;
        slice->length = 0;
        snprintf(slice->range, sizeof slice->range, "Content-Range: bytes */%zu\r\n", step->body_length);
        return;
    }
    slice->status = 206;
    slice->first = (size_t)((long long)first + step->range_shift);
    slice->length =
        (parts == 2 && last < step->body_length ? (size_t)last + 1 : step->body_length) - slice->first;
    snprintf(slice->range, sizeof slice->range, "Content-Range: bytes %zu-%zu/%lld\r\n", slice->first,
             slice->first + slice->length - 1, (long long)step->body_length + step->total_shift);
}

static bool send_head(int socket, const struct script_step *step, const struct slice *slice)
{
    char head[HEAD_BYTES], length[64] = "", etag[256] = "";
    if (step->chunked)
        snprintf(length, sizeof length, "Transfer-Encoding: chunked\r\n");
    else if (!step->until_close && slice->status != 304)
        snprintf(length, sizeof length, "Content-Length: %zu\r\n", slice->length);
    if (step->etag != NULL)
        snprintf(etag, sizeof etag, "ETag: %s\r\n", step->etag);
    int used = snprintf(head, sizeof head, "HTTP/1.1 %d Scripted\r\n%s%s%s%s\r\n", slice->status, length,
                        etag, slice->range, step->headers == NULL ? "" : step->headers);
    return send_all(socket, head, (size_t)used);
}

static bool send_block(int socket, const struct script_step *step, const char *bytes, size_t length)
{
    char size[32];
    if (!step->chunked)
        return send_all(socket, bytes, length);
    int used = snprintf(size, sizeof size, "%zx\r\n", length);
    return send_all(socket, size, (size_t)used) && send_all(socket, bytes, length) &&
           send_all(socket, "\r\n", 2);
}

static bool send_body(int socket, const struct script_step *step, const struct slice *slice)
{
    size_t left = slice->length;
    if (step->send_at_most > 0 && step->send_at_most < left)
        left = step->send_at_most;
    bool is_whole = left == slice->length;
    const char *bytes = (const char *)step->body + slice->first;
    while (left > 0) {
        size_t block = left < BLOCK_BYTES ? left : BLOCK_BYTES;
        if (!send_block(socket, step, bytes, block))
            return false;
        bytes += block;
        left -= block;
        if (step->pace_ms > 0)
            sleep_ms(step->pace_ms);
    }
    return !step->chunked || !is_whole || send_all(socket, "0\r\n\r\n", 5);
}

/* Whether the connection goes on. */
static bool end_answer(int socket, enum script_end end)
{
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    char byte;
    switch (end) {
    case SCRIPT_KEEP:
        return true;
    case SCRIPT_CLOSE:
        return false;
    case SCRIPT_RESET:
        sleep_ms(50); /* let the bytes be read: a reset throws away what is still in the buffers */
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
        return false;
    case SCRIPT_STALL:
        while (recv(socket, &byte, 1, 0) > 0)
            continue;
        return false;
    }
    return false;
}

static bool answer(struct connection *connection)
{
    char head[HEAD_BYTES] = "";
    if (!read_head(connection->socket, head))
        return false;
    drop_request_body(connection->socket, head);
    struct scripted_server *server = connection->server;
    const struct script_step *step = next_step(server, head);
    bool goes_on = true;
    if (step->delay_ms > 0)
        sleep_ms(step->delay_ms);
    if (step->raw != NULL) {
        goes_on = send_all(connection->socket, step->raw, strlen(step->raw));
    } else if (step->send_at_most != SCRIPT_NOTHING) {
        struct slice slice;
        choose_slice(step, head, &slice);
        goes_on = send_head(connection->socket, step, &slice) && send_body(connection->socket, step, &slice);
    }
    pthread_mutex_lock(&server->lock);
    server->now--;
    pthread_mutex_unlock(&server->lock);
    return goes_on && end_answer(connection->socket, step->until_close ? SCRIPT_CLOSE : step->end);
}

static void *serve(void *context)
{
    struct connection *connection = context;
    struct scripted_server *server = connection->server;
    while (answer(connection))
        continue;
    pthread_mutex_lock(&server->lock);
    close(connection->socket);
    connection->socket = -1;
    server->threads--;
    pthread_cond_broadcast(&server->idle);
    pthread_mutex_unlock(&server->lock);
    return NULL;
}

static void start_connection(struct scripted_server *server, int socket)
{
    pthread_t thread;
    pthread_mutex_lock(&server->lock);
    size_t slot = 0;
    while (slot < MAX_CONNECTIONS && server->connections[slot].socket >= 0)
        slot++;
    must(slot < MAX_CONNECTIONS && !server->is_stopping, "too many connections");
    struct connection *connection = &server->connections[slot];
    *connection = (struct connection){.server = server, .socket = socket};
    server->threads++;
    pthread_mutex_unlock(&server->lock);
    must(pthread_create(&thread, NULL, serve, connection) == 0, "thread");
    pthread_detach(thread);
}

static void *accept_connections(void *context)
{
    struct scripted_server *server = context;
    for (;;) {
        int socket = accept(server->listener, NULL, NULL);
        pthread_mutex_lock(&server->lock);
        bool is_stopping = server->is_stopping;
        pthread_mutex_unlock(&server->lock);
        if (is_stopping) {
            if (socket >= 0)
                close(socket);
            return NULL;
        }
        if (socket >= 0)
            start_connection(server, socket);
    }
}

struct scripted_server *scripted_server_new(const struct script_path *paths, size_t path_count)
{
    struct scripted_server *server = calloc(1, sizeof *server);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    must(server != NULL, "memory");
    server->paths = paths;
    server->path_count = path_count;
    server->asked = calloc(path_count + 1, sizeof *server->asked);
    must(server->asked != NULL, "memory");
    for (size_t i = 0; i < MAX_CONNECTIONS; i++)
        server->connections[i].socket = -1;
    server->head_pool =
        mmap(NULL, HEAD_POOL_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(server->head_pool != MAP_FAILED, "memory");
    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->idle, NULL);
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(server->listener >= 0, "socket");
    must(bind(server->listener, (struct sockaddr *)&address, sizeof address) == 0, "bind");
    must(listen(server->listener, 128) == 0, "listen");
    must(getsockname(server->listener, (struct sockaddr *)&address, &length) == 0, "port");
    server->port = ntohs(address.sin_port);
    must(pthread_create(&server->acceptor, NULL, accept_connections, server) == 0, "thread");
    return server;
}

void scripted_server_free(struct scripted_server *server)
{
    if (server == NULL)
        return;
    pthread_mutex_lock(&server->lock);
    server->is_stopping = true;
    pthread_mutex_unlock(&server->lock);
    shutdown(server->listener, SHUT_RDWR);
    pthread_join(server->acceptor, NULL);
    close(server->listener);
    pthread_mutex_lock(&server->lock);
    for (size_t i = 0; i < MAX_CONNECTIONS; i++)
        if (server->connections[i].socket >= 0)
            shutdown(server->connections[i].socket, SHUT_RDWR);
    while (server->threads > 0)
        pthread_cond_wait(&server->idle, &server->lock);
    pthread_mutex_unlock(&server->lock);
    pthread_mutex_destroy(&server->lock);
    pthread_cond_destroy(&server->idle);
    munmap(server->head_pool, HEAD_POOL_BYTES);
    free(server->asked);
    free(server);
}

int scripted_server_port(const struct scripted_server *server)
{
    return server->port;
}

static bool is_for(const char *head, const char *path)
{
    char asked[4096] = "";
    sscanf(head, "%*s %4095s", asked);
    return path == NULL || strcmp(asked, path) == 0;
}

size_t scripted_server_count(struct scripted_server *server, const char *path)
{
    size_t count = 0;
    pthread_mutex_lock(&server->lock);
    for (size_t i = 0; i < server->head_count; i++)
        count += is_for(server->heads[i], path);
    pthread_mutex_unlock(&server->lock);
    return count;
}

const char *scripted_server_head(struct scripted_server *server, const char *path, size_t n, char *out,
                                 size_t size)
{
    out[0] = '\0';
    pthread_mutex_lock(&server->lock);
    for (size_t i = 0; i < server->head_count; i++) {
        if (!is_for(server->heads[i], path) || n-- > 0)
            continue;
        snprintf(out, size, "%s", server->heads[i]);
        break;
    }
    pthread_mutex_unlock(&server->lock);
    return out;
}

size_t scripted_server_most_at_once(struct scripted_server *server)
{
    pthread_mutex_lock(&server->lock);
    size_t most = server->most;
    pthread_mutex_unlock(&server->lock);
    return most;
}
