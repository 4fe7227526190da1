/* delay_relay PORT MS: a TCP relay in front of 127.0.0.1:PORT which hands on every byte MS milliseconds after
 * it came, both ways. Prints the port that it listens on. For the bench: a distance between client and server
 * that keeps the bandwidth. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST_PAIRS = 128, CHUNK_BYTES = 64 * 1024, MOST_CHUNKS = 512 };

struct chunk {
    int64_t due_us;
    size_t length, sent;
    char bytes[CHUNK_BYTES];
};

/* One direction: chunks in a ring, oldest first. */
struct lane {
    int from, to;
    bool has_ended; /* nothing more comes in */
    bool is_shut;   /* the end was handed on */
    size_t first, count;
    struct chunk *chunks[MOST_CHUNKS];
};

struct pair {
    bool is_used;
    struct lane lanes[2];
};

static struct pair pairs[MOST_PAIRS];
static int64_t delay_us;

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void open_pair(int client, int target_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)target_port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int server = socket(AF_INET, SOCK_STREAM, 0);
    struct pair *pair = NULL;
    for (size_t i = 0; i < MOST_PAIRS && pair == NULL; i++)
        pair = pairs[i].is_used ? NULL : &pairs[i];
    if (pair == NULL || server < 0 || connect(server, (struct sockaddr *)&address, sizeof address) < 0) {
        close(client);
        if (server >= 0)
            close(server);
        return;
    }
    int one = 1;
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    *pair = (struct pair){.is_used = true,
                          .lanes = {{.from = client, .to = server}, {.from = server, .to = client}}};
}

static void take_in(struct lane *lane)
{
    struct chunk *chunk = malloc(sizeof *chunk);
    ssize_t got = chunk == NULL ? -1 : recv(lane->from, chunk->bytes, sizeof chunk->bytes, MSG_DONTWAIT);
    if (got <= 0) {
        free(chunk);
        lane->has_ended = got == 0 || (errno != EAGAIN && errno != EINTR);
        return;
    }
    chunk->due_us = now_us() + delay_us;
    chunk->length = (size_t)got;
    chunk->sent = 0;
    lane->chunks[(lane->first + lane->count++) % MOST_CHUNKS] = chunk;
}

static void drop_chunks(struct lane *lane)
{
    for (; lane->count > 0; lane->count--, lane->first = (lane->first + 1) % MOST_CHUNKS)
        free(lane->chunks[lane->first]);
}

static void hand_on(struct lane *lane)
{
    while (lane->count > 0 && lane->chunks[lane->first]->due_us <= now_us()) {
        struct chunk *chunk = lane->chunks[lane->first];
        ssize_t sent = send(lane->to, chunk->bytes + chunk->sent, chunk->length - chunk->sent,
                            MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (sent < 0) {
            drop_chunks(lane);
            lane->has_ended = true;
            break;
        }
        chunk->sent += (size_t)sent;
        if (chunk->sent < chunk->length)
            return;
        free(chunk);
        lane->first = (lane->first + 1) % MOST_CHUNKS;
        lane->count--;
    }
    if (lane->has_ended && lane->count == 0 && !lane->is_shut) {
        shutdown(lane->to, SHUT_WR);
        lane->is_shut = true;
    }
}

static void close_ended(struct pair *pair)
{
    if (!pair->lanes[0].is_shut || !pair->lanes[1].is_shut)
        return;
    close(pair->lanes[0].from);
    close(pair->lanes[1].from);
    pair->is_used = false;
}

/* Milliseconds until the next chunk is due, for poll; `polled` gets who may be read or written. */
static int prepare(struct pollfd *polled, struct lane **of, nfds_t *count)
{
    int64_t next = -1;
    for (size_t i = 0; i < MOST_PAIRS; i++)
        for (size_t k = 0; pairs[i].is_used && k < 2; k++) {
            struct lane *lane = &pairs[i].lanes[k];
            int64_t due = lane->count > 0 ? lane->chunks[lane->first]->due_us : -1;
            bool is_due = due >= 0 && due <= now_us();
            if (due >= 0 && !is_due && (next < 0 || due < next))
                next = due;
            if (!lane->has_ended && lane->count < MOST_CHUNKS) {
                of[*count] = lane;
                polled[(*count)++] = (struct pollfd){.fd = lane->from, .events = POLLIN};
            }
            if (is_due) {
                of[*count] = lane;
                polled[(*count)++] = (struct pollfd){.fd = lane->to, .events = POLLOUT};
            }
        }
    return next < 0 ? -1 : (int)((next - now_us() + 999) / 1000);
}

static void run(int listener, int target_port)
{
    for (;;) {
        struct pollfd polled[MOST_PAIRS * 4 + 1];
        struct lane *of[MOST_PAIRS * 4 + 1];
        nfds_t count = 0;
        of[count] = NULL;
        polled[count++] = (struct pollfd){.fd = listener, .events = POLLIN};
        int wait_ms = prepare(polled, of, &count);
        poll(polled, count, wait_ms < 0 ? 1000 : wait_ms);
        for (nfds_t i = 1; i < count; i++)
            if (polled[i].events == POLLIN && polled[i].revents != 0 && of[i]->count < MOST_CHUNKS)
                take_in(of[i]);
        for (size_t i = 0; i < MOST_PAIRS; i++)
            if (pairs[i].is_used) {
                hand_on(&pairs[i].lanes[0]);
                hand_on(&pairs[i].lanes[1]);
                close_ended(&pairs[i]);
            }
        if (polled[0].revents & POLLIN) {
            int client = accept(listener, NULL, NULL);
            if (client >= 0)
                open_pair(client, target_port);
        }
    }
}

int main(int argc, char *argv[])
{
    if (argc != 3) {
        fprintf(stderr, "usage: delay_relay PORT MS\n");
        return 64;
    }
    delay_us = strtol(argv[2], NULL, 10) * 1000;
    signal(SIGPIPE, SIG_IGN);
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) < 0 || listen(listener, 64) < 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) < 0) {
        perror("delay_relay");
        return 1;
    }
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    run(listener, (int)strtol(argv[1], NULL, 10));
}
