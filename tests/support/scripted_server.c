/* The counterpart of the fetch tests: misbehaves exactly as the script says, and remembers what was asked. */
#include "scripted_server.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
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
    bool is_hasty;
    size_t threads;
    struct connection connections[MAX_CONNECTIONS];
    struct script_record records[MAX_REQUESTS];
    const struct clock *clock;
    void (*rewrite)(char *head, size_t size);
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

const char *scripted_server_header(const char *head, const char *name, char *out, size_t size)
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
    if (scripted_server_header(head, "Content-Length", text, sizeof text) == NULL)
        return;
    for (long long left = atoll(text); left > 0;) {
        ssize_t got = recv(socket, bytes, left < (long long)sizeof bytes ? (size_t)left : sizeof bytes, 0);
        if (got <= 0)
            return;
        left -= got;
    }
}

static int64_t now_ms(const struct scripted_server *server)
{
    return server->clock->monotonic_ms(server->clock->context);
}

/* Remembers the request; the record's number, MAX_REQUESTS if there is no room for one. */
static size_t record_request(struct scripted_server *server, const char *head, const struct script_step *step)
{
    size_t length = strlen(head) + 1;
    if (server->head_count == MAX_REQUESTS || server->head_pool_used + length > HEAD_POOL_BYTES)
        return MAX_REQUESTS;
    char *kept = server->head_pool + server->head_pool_used;
    memcpy(kept, head, length);
    server->head_pool_used += length;
    static uint64_t last_number;
    server->records[server->head_count] =
        (struct script_record){.head = kept,
                               .step = step,
                               .number = __atomic_add_fetch(&last_number, 1, __ATOMIC_SEQ_CST),
                               .asked_ms = now_ms(server)};
    return server->head_count++;
}

static const struct script_step *next_step(struct scripted_server *server, const char *head, size_t *number)
{
    static const struct script_step not_found = {.status = 404};
    char path[4096] = "";
    sscanf(head, "%*s %4095s", path);
    const struct script_step *step = NULL;
    pthread_mutex_lock(&server->lock);
    for (size_t i = 0; i < server->path_count && step == NULL; i++) {
        const struct script_path *script = &server->paths[i];
        if (strcmp(script->path, path) != 0)
            continue;
        size_t n = server->asked[i]++;
        step = &script->steps[n < script->step_count ? n : script->step_count - 1];
    }
    *number = record_request(server, head, step);
    if (++server->now > server->most)
        server->most = server->now;
    pthread_mutex_unlock(&server->lock);
    return step == NULL ? &not_found : step;
}

struct slice {
    int status;
    size_t first, length;
    char range[128];
};

static bool is_equal(const char *head, const char *name, const char *value)
{
    char text[256];
    return value != NULL && scripted_server_header(head, name, text, sizeof text) != NULL &&
           strcmp(text, value) == 0;
}

/* Whether If-Range lets the range be honoured. */
static bool passes_if_range(const struct script_step *step, const char *head)
{
    char text[256];
    return step->ignores_if_range || scripted_server_header(head, "If-Range", text, sizeof text) == NULL ||
           is_equal(head, "If-Range", step->etag) || is_equal(head, "If-Range", step->modified);
}

static void choose_part(const struct script_step *step, const char *head, struct slice *slice)
{
    char text[256];
    unsigned long long first = 0, last = 0;
    if (!step->ranges || scripted_server_header(head, "Range", text, sizeof text) == NULL)
        return;
    int parts = sscanf(text, "bytes=%llu-%llu", &first, &last);
    if (parts < 1 || !passes_if_range(step, head))
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
    if (step->part_at_most > 0 && step->part_at_most < slice->length)
        slice->length = step->part_at_most;
    snprintf(slice->range, sizeof slice->range, "Content-Range: bytes %zu-%zu/%lld\r\n", slice->first,
             slice->first + slice->length - 1, (long long)step->body_length + step->total_shift);
    if (step->content_range != NULL)
        snprintf(slice->range, sizeof slice->range, "%s", step->content_range);
}

static void choose_slice(const struct script_step *step, const char *head, struct slice *slice)
{
    *slice = (struct slice){.status = step->status == 0 ? 200 : step->status, .length = step->body_length};
    if (slice->status != 200)
        return;
    if (is_equal(head, "If-None-Match", step->etag) || is_equal(head, "If-Modified-Since", step->modified)) {
        slice->status = 304;
        slice->length = 0;
        return;
    }
    choose_part(step, head, slice);
}

static bool send_head(int socket, const struct script_step *step, const struct slice *slice)
{
    char head[HEAD_BYTES], length[64] = "", etag[256] = "", modified[128] = "";
    if (step->chunked)
        snprintf(length, sizeof length, "Transfer-Encoding: chunked\r\n");
    else if (!step->until_close && slice->status != 304)
        snprintf(length, sizeof length, "Content-Length: %zu\r\n", slice->length);
    if (step->etag != NULL)
        snprintf(etag, sizeof etag, "ETag: %s\r\n", step->etag);
    if (step->modified != NULL)
        snprintf(modified, sizeof modified, "Last-Modified: %s\r\n", step->modified);
    int used = snprintf(head, sizeof head, "HTTP/1.1 %d Scripted\r\n%s%s%s%s%s\r\n", slice->status, length,
                        etag, modified, slice->range, step->headers == NULL ? "" : step->headers);
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

static bool send_body(int socket, const struct script_step *step, const struct slice *slice,
                      uint64_t *sent_bytes)
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
        *sent_bytes += block;
        if (step->pace_ms > 0)
            sleep_ms(step->pace_ms);
    }
    return !step->chunked || !is_whole || send_all(socket, "0\r\n\r\n", 5);
}

/* One line of /proc/net/tcp: the bytes that this end of the connection has not read; -1: another one's. */
static long unread_in_line(const char *line, unsigned local_port, unsigned remote_port)
{
    enum { CLOSE_WAIT = 8 };
    unsigned local, remote, state, waiting, unread;
    if (sscanf(line, " %*u: %*8x:%x %*8x:%x %x %x:%x", &local, &remote, &state, &waiting, &unread) != 5)
        return -1;
    if (local != local_port || remote != remote_port)
        return -1;
    /* Our own end of the connection counts as a byte there, and a client that is done never reads it. */
    return state == CLOSE_WAIT && unread > 0 ? (long)unread - 1 : (long)unread;
}

/* What the client's end has not read yet, as the kernel sees it; -1: it does not say. */
static long unread_bytes(unsigned client_port, unsigned own_port)
{
    char text[8192 + 1];
    size_t used = 0;
    long unread = -1;
    int file = open("/proc/net/tcp", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -1;
    for (ssize_t got; unread < 0 && (got = read(file, text + used, sizeof text - 1 - used)) > 0;) {
        used += (size_t)got;
        text[used] = '\0';
        char *line = text;
        for (char *end; unread < 0 && (end = strchr(line, '\n')) != NULL; line = end + 1) {
            *end = '\0';
            unread = unread_in_line(line, client_port, own_port);
        }
        used -= (size_t)(line - text);
        memmove(text, line, used);
    }
    close(file);
    return unread;
}

static void wait_until_read(int socket)
{
    enum { MOST_TRIES = 2000, BLIND_WAIT_MS = 50 };
    struct sockaddr_in client, own;
    socklen_t length = sizeof client, own_length = sizeof own;
    if (getpeername(socket, (struct sockaddr *)&client, &length) < 0 ||
        getsockname(socket, (struct sockaddr *)&own, &own_length) < 0)
        return;
    for (int i = 0; i < MOST_TRIES; i++) {
        int on_the_way = 0;
        if (ioctl(socket, SIOCOUTQ, &on_the_way) == 0 && on_the_way > 0) {
            sleep_ms(1);
            continue;
        }
        long unread = unread_bytes(ntohs(client.sin_port), ntohs(own.sin_port));
        if (unread < 0)
            sleep_ms(BLIND_WAIT_MS);
        if (unread <= 0)
            return;
        sleep_ms(1);
    }
}

/* Whether the connection goes on. */
static bool end_answer(int socket, enum script_end end, bool is_hasty)
{
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    char byte;
    switch (end) {
    case SCRIPT_KEEP:
        return true;
    case SCRIPT_CLOSE:
        return false;
    case SCRIPT_RESET:
        if (!is_hasty)
            wait_until_read(socket);
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
        return false;
    case SCRIPT_STALL:
        while (recv(socket, &byte, 1, 0) > 0)
            continue;
        return false;
    }
    return false;
}

static bool send_answer(int socket, const struct script_step *step, const char *head,
                        struct script_record *record)
{
    struct slice slice = {.length = step->body_length};
    if (step->raw != NULL)
        return send_all(socket, step->raw, strlen(step->raw)) &&
               send_body(socket, step, &slice, &record->sent_bytes);
    if (step->send_at_most == SCRIPT_NOTHING)
        return true;
    choose_slice(step, head, &slice);
    record->status = slice.status;
    record->first = slice.first;
    return send_head(socket, step, &slice) && send_body(socket, step, &slice, &record->sent_bytes);
}

static bool answer(struct connection *connection)
{
    char head[HEAD_BYTES] = "";
    if (!read_head(connection->socket, head))
        return false;
    drop_request_body(connection->socket, head);
    struct scripted_server *server = connection->server;
    if (server->rewrite != NULL)
        server->rewrite(head, sizeof head);
    size_t number;
    const struct script_step *step = next_step(server, head, &number);
    if (step->delay_ms > 0)
        sleep_ms(step->delay_ms);
    struct script_record made = {.answered_ms = now_ms(server)};
    bool goes_on = send_answer(connection->socket, step, head, &made);
    pthread_mutex_lock(&server->lock);
    server->now--;
    if (number < MAX_REQUESTS) {
        struct script_record *record = &server->records[number];
        record->status = made.status;
        record->first = made.first;
        record->sent_bytes = made.sent_bytes;
        record->answered_ms = made.answered_ms;
        record->was_sent_whole = goes_on;
    }
    pthread_cond_broadcast(&server->idle);
    pthread_mutex_unlock(&server->lock);
    return goes_on &&
           end_answer(connection->socket, step->until_close ? SCRIPT_CLOSE : step->end, server->is_hasty);
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
    int at_once = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
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
    server->clock = clock_system();
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

void scripted_server_use_clock(struct scripted_server *server, const struct clock *clock)
{
    server->clock = clock;
}

void scripted_server_be_hasty(struct scripted_server *server)
{
    server->is_hasty = true;
}

void scripted_server_tamper(struct scripted_server *server, void (*rewrite)(char *head, size_t size))
{
    server->rewrite = rewrite;
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
        count += is_for(server->records[i].head, path);
    pthread_mutex_unlock(&server->lock);
    return count;
}

const char *scripted_server_head(struct scripted_server *server, const char *path, size_t n, char *out,
                                 size_t size)
{
    out[0] = '\0';
    pthread_mutex_lock(&server->lock);
    for (size_t i = 0; i < server->head_count; i++) {
        if (!is_for(server->records[i].head, path) || n-- > 0)
            continue;
        snprintf(out, size, "%s", server->records[i].head);
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

size_t scripted_server_records(struct scripted_server *server, struct script_record *out, size_t most)
{
    pthread_mutex_lock(&server->lock);
    while (server->now > 0)
        pthread_cond_wait(&server->idle, &server->lock);
    size_t count = server->head_count < most ? server->head_count : most;
    memcpy(out, server->records, count * sizeof *out);
    pthread_mutex_unlock(&server->lock);
    return count;
}
