/* Everything that waits in a run waits here: downloads, uploads, API calls, back-off and signals share one
 * curl_multi_poll. */
#include "net/loop.h"
#include "net/loop_curl.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { MAX_WAIT_MS = 60 * 1000, MAX_KEPT_CONNECTIONS = 32 };

struct loop {
    const struct clock *clock;
    CURLM *multi;
    struct loop_timer *timers;    /* by due time */
    struct loop_transfer *queued; /* first come, first started */
    struct loop_transfer **queued_end;
    size_t transfers_in;
    bool is_performing;
    bool is_out_of_memory;  /* seen within a callback */
    curl_socket_t *sockets; /* that curl watches */
    size_t socket_count, socket_capacity;
    size_t turn; /* the socket that is looked at next */
    int pipe_read, pipe_write;
    /* Written by the signal handler. */
    volatile sig_atomic_t stop_count;
    volatile sig_atomic_t wake_count;
    bool stop_flag;
    int wakes_taken;
};

/* A signal handler has no context: the loop of the program. */
static struct loop *volatile signal_loop;

static void poke(struct loop *loop)
{
    int kept_errno = errno;
    ssize_t written = write(loop->pipe_write, "", 1);
    (void)written; /* a full pipe wakes the loop just as well */
    errno = kept_errno;
}

static void on_signal(int number)
{
    struct loop *loop = signal_loop;
    if (loop == NULL)
        return;
    if (number == SIGHUP) {
        loop->wake_count++;
    } else {
        if (loop->stop_count < LOOP_STOP_NOW)
            loop->stop_count++;
        loop->stop_flag = true;
    }
    poke(loop);
}

static bool pipe_open(struct loop *loop)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return false;
    loop->pipe_read = ends[0];
    loop->pipe_write = ends[1];
    return true;
}

static struct loop_transfer *transfer_of(CURL *easy)
{
    char *owner = NULL;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &owner);
    return (struct loop_transfer *)(void *)owner;
}

static size_t find_socket(const struct loop *loop, curl_socket_t socket)
{
    size_t i = 0;
    while (i < loop->socket_count && loop->sockets[i] != socket)
        i++;
    return i;
}

/* The others keep their order, so that none loses its turn. */
static void forget_socket(struct loop *loop, size_t i)
{
    loop->socket_count--;
    memmove(&loop->sockets[i], &loop->sockets[i + 1], (loop->socket_count - i) * sizeof *loop->sockets);
    if (i < loop->turn)
        loop->turn--;
}

/* curl tells which sockets it watches. */
static int on_socket(CURL *easy, curl_socket_t socket, int what, void *context, void *unused)
{
    struct loop *loop = context;
    size_t i = find_socket(loop, socket);
    struct loop_transfer *transfer = transfer_of(easy);
    (void)unused;
    if (what != CURL_POLL_REMOVE && transfer != NULL)
        transfer->socket = socket;
    if (what == CURL_POLL_REMOVE && i < loop->socket_count)
        forget_socket(loop, i);
    if (what == CURL_POLL_REMOVE || i < loop->socket_count)
        return 0;
    if (loop->socket_count == loop->socket_capacity) {
        size_t capacity = loop->socket_capacity == 0 ? MAX_KEPT_CONNECTIONS : 2 * loop->socket_capacity;
        curl_socket_t *grown = realloc(loop->sockets, capacity * sizeof *grown);
        if (grown == NULL) {
            loop->is_out_of_memory = true;
            return 0;
        }
        loop->sockets = grown;
        loop->socket_capacity = capacity;
    }
    loop->sockets[loop->socket_count++] = socket;
    return 0;
}

struct loop *loop_new(const struct clock *clock, struct err *e)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        err_fill(e, ERR_SYSTEM, "libcurl can't be initialised");
        return NULL;
    }
    CLEANUP(loop_cleanup) struct loop *loop = calloc(1, sizeof *loop);
    if (loop == NULL) {
        curl_global_cleanup();
        err_fill(e, ERR_MEMORY, "out of memory");
        return NULL;
    }
    loop->clock = clock;
    loop->pipe_read = loop->pipe_write = -1;
    loop->queued_end = &loop->queued;
    loop->multi = curl_multi_init();
    if (loop->multi == NULL) {
        err_fill(e, ERR_MEMORY, "out of memory");
        return NULL;
    }
    curl_multi_setopt(loop->multi, CURLMOPT_MAXCONNECTS, (long)MAX_KEPT_CONNECTIONS);
    curl_multi_setopt(loop->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(loop->multi, CURLMOPT_SOCKETDATA, loop);
    if (!pipe_open(loop)) {
        err_fill_errno(e, "can't make a pipe");
        return NULL;
    }
    return TAKE(loop);
}

void loop_free(struct loop *loop)
{
    if (loop == NULL)
        return;
    if (signal_loop == loop)
        signal_loop = NULL;
    if (loop->multi != NULL)
        curl_multi_cleanup(loop->multi);
    free(loop->sockets);
    if (loop->pipe_read >= 0)
        close(loop->pipe_read);
    if (loop->pipe_write >= 0)
        close(loop->pipe_write);
    free(loop);
    curl_global_cleanup();
}

void loop_cleanup(struct loop **loop)
{
    loop_free(*loop);
    *loop = NULL;
}

int loop_catch_signals(struct loop *loop, struct err *e)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    signal_loop = loop;
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++)
        if (sigaction(numbers[i], &action, NULL) < 0)
            return err_set_errno(e, "can't catch signal %d", numbers[i]);
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&ignore.sa_mask);
    if (sigaction(SIGPIPE, &ignore, NULL) < 0)
        return err_set_errno(e, "can't ignore SIGPIPE");
    return 0;
}

enum loop_stop loop_stop_requested(const struct loop *loop)
{
    sig_atomic_t count = loop->stop_count;
    return count == 0 ? LOOP_GO_ON : count == 1 ? LOOP_STOP_SOON : LOOP_STOP_NOW;
}

void loop_request_stop(struct loop *loop, enum loop_stop stop)
{
    if (loop->stop_count < (sig_atomic_t)stop)
        loop->stop_count = (sig_atomic_t)stop;
    loop->stop_flag = loop->stop_count > 0;
    poke(loop);
}

const bool *loop_stop_flag(const struct loop *loop)
{
    return &loop->stop_flag;
}

bool loop_take_wake(struct loop *loop)
{
    int count = loop->wake_count;
    bool woken = count != loop->wakes_taken;
    loop->wakes_taken = count;
    return woken;
}

static int64_t now_ms(const struct loop *loop)
{
    return loop->clock->monotonic_ms(loop->clock->context);
}

void loop_timer_set(struct loop *loop, struct loop_timer *timer, int64_t due_monotonic_ms)
{
    loop_timer_cancel(loop, timer);
    timer->due_monotonic_ms = due_monotonic_ms;
    timer->is_set = true;
    struct loop_timer **place = &loop->timers;
    while (*place != NULL && (*place)->due_monotonic_ms <= due_monotonic_ms)
        place = &(*place)->next;
    timer->next = *place;
    *place = timer;
}

void loop_timer_cancel(struct loop *loop, struct loop_timer *timer)
{
    if (!timer->is_set)
        return;
    timer->is_set = false;
    for (struct loop_timer **place = &loop->timers; *place != NULL; place = &(*place)->next) {
        if (*place == timer) {
            *place = timer->next;
            timer->next = NULL;
            return;
        }
    }
}

/* A timer that sets itself again for now waits for the next step, so that none starves the transfers. */
static void fire_timers(struct loop *loop)
{
    int64_t now = now_ms(loop);
    size_t due = 0;
    for (const struct loop_timer *timer = loop->timers; timer != NULL && timer->due_monotonic_ms <= now;
         timer = timer->next)
        due++;
    for (; due > 0 && loop->timers != NULL && loop->timers->due_monotonic_ms <= now; due--) {
        struct loop_timer *timer = loop->timers;
        loop_timer_cancel(loop, timer);
        timer->fire(timer->context);
    }
}

void loop_transfer_add(struct loop *loop, struct loop_transfer *transfer)
{
    transfer->next = NULL;
    transfer->state = TRANSFER_QUEUED;
    *loop->queued_end = transfer;
    loop->queued_end = &transfer->next;
}

static void dequeue(struct loop *loop, struct loop_transfer *transfer)
{
    for (struct loop_transfer **place = &loop->queued; *place != NULL; place = &(*place)->next) {
        if (*place != transfer)
            continue;
        *place = transfer->next;
        if (loop->queued_end == &transfer->next)
            loop->queued_end = place;
        break;
    }
    transfer->next = NULL;
    transfer->state = TRANSFER_OUT;
}

void loop_transfer_remove(struct loop *loop, struct loop_transfer *transfer)
{
    switch (transfer->state) {
    case TRANSFER_OUT:
        return;
    case TRANSFER_QUEUED:
        dequeue(loop, transfer);
        return;
    case TRANSFER_IN:
        curl_multi_remove_handle(loop->multi, transfer->easy);
        transfer->state = TRANSFER_OUT;
        loop->transfers_in--;
        return;
    }
}

bool loop_is_performing(const struct loop *loop)
{
    return loop->is_performing;
}

size_t loop_transfer_waiting_bytes(const struct loop_transfer *transfer)
{
    int bytes = 0;
    if (transfer->socket <= 0 || ioctl(transfer->socket, FIONREAD, &bytes) < 0 || bytes < 0)
        return 0;
    return (size_t)bytes;
}

void loop_transfer_pause(struct loop *loop, struct loop_transfer *transfer, bool paused)
{
    bool was_performing = loop->is_performing;
    loop->is_performing = true;
    curl_easy_pause(transfer->easy, paused ? CURLPAUSE_ALL : CURLPAUSE_CONT);
    loop->is_performing = was_performing;
}

/* Whether one ended already. */
static bool start_queued(struct loop *loop)
{
    bool one_ended = false;
    while (loop->queued != NULL) {
        struct loop_transfer *transfer = loop->queued;
        dequeue(loop, transfer);
        CURLMcode code = curl_multi_add_handle(loop->multi, transfer->easy);
        if (code != CURLM_OK) {
            transfer->done(transfer, code == CURLM_OUT_OF_MEMORY ? CURLE_OUT_OF_MEMORY : CURLE_FAILED_INIT);
            one_ended = true;
            continue;
        }
        transfer->state = TRANSFER_IN;
        loop->transfers_in++;
    }
    return one_ended;
}

/* How many ended. */
static int finish_transfers(struct loop *loop)
{
    int left, ended = 0;
    for (const CURLMsg *message; (message = curl_multi_info_read(loop->multi, &left)) != NULL;) {
        if (message->msg != CURLMSG_DONE)
            continue;
        CURLcode code = message->data.result;
        struct loop_transfer *transfer = transfer_of(message->easy_handle);
        loop_transfer_remove(loop, transfer);
        transfer->done(transfer, code);
        ended++;
    }
    return ended;
}

/* One socket, or what is due by time; how many transfers ended. */
static int act(struct loop *loop, curl_socket_t socket, struct err *e)
{
    int running;
    loop->is_performing = true;
    CURLMcode code = curl_multi_socket_action(loop->multi, socket, 0, &running);
    loop->is_performing = false;
    bool is_out_of_memory = code == CURLM_OUT_OF_MEMORY || loop->is_out_of_memory;
    loop->is_out_of_memory = false; /* told once: the next run may find some */
    if (is_out_of_memory)
        return err_set(e, ERR_MEMORY, "out of memory");
    if (code != CURLM_OK)
        return err_set(e, ERR_SYSTEM, "libcurl: %s", curl_multi_strerror(code));
    return finish_transfers(loop);
}

/* Socket by socket, and no further than to the first transfer that ends: its connection gets the next request
 * before the others' bytes are read. Otherwise all connections fall into step, and all wait at once. One
 * socket has its turn in any case: what ends by time must not starve the others. */
static int perform(struct loop *loop, struct err *e)
{
    int ended = act(loop, CURL_SOCKET_TIMEOUT, e);
    bool goes_on = ended >= 0;
    for (size_t left = loop->socket_count; goes_on && left > 0 && loop->socket_count > 0; left--) {
        loop->turn %= loop->socket_count;
        int more = act(loop, loop->sockets[loop->turn++], e);
        ended = more < 0 ? -1 : ended + more;
        goes_on = ended == 0;
    }
    return ended < 0 ? -1 : 0;
}

static void drain_pipe(const struct loop *loop)
{
    char bytes[64];
    while (read(loop->pipe_read, bytes, sizeof bytes) == (ssize_t)sizeof bytes)
        continue;
}

static int wait_for_something(struct loop *loop, int64_t until, struct err *e)
{
    if (loop->timers != NULL && loop->timers->due_monotonic_ms < until)
        until = loop->timers->due_monotonic_ms;
    int64_t now = now_ms(loop);
    int64_t wait = until <= now ? 0 : until - now;
    if (loop->queued != NULL)
        wait = 0;
    if (wait > 0 && loop->transfers_in == 0 && loop->clock->skip != NULL) {
        loop->clock->skip(loop->clock->context, wait);
        wait = 0;
    }
    struct curl_waitfd pipe_end = {.fd = loop->pipe_read, .events = CURL_WAIT_POLLIN};
    CURLMcode code =
        curl_multi_poll(loop->multi, &pipe_end, 1, wait > MAX_WAIT_MS ? MAX_WAIT_MS : (int)wait, NULL);
    if (code == CURLM_OUT_OF_MEMORY)
        return err_set(e, ERR_MEMORY, "out of memory");
    if (code != CURLM_OK && code != CURLM_UNRECOVERABLE_POLL)
        return err_set(e, ERR_SYSTEM, "libcurl: %s", curl_multi_strerror(code));
    if (pipe_end.revents != 0)
        drain_pipe(loop);
    return 0;
}

int loop_step(struct loop *loop, int64_t until_monotonic_ms, struct err *e)
{
    /* Callbacks come behind the wait only: whoever waits for one sees it before the next wait. A handle just
     * added makes curl's poll return at once. */
    if (start_queued(loop))
        until_monotonic_ms = 0;
    if (wait_for_something(loop, until_monotonic_ms, e) < 0 || perform(loop, e) < 0)
        return -1;
    fire_timers(loop);
    return 0;
}

int loop_wait_until(struct loop *loop, int64_t until_monotonic_ms, struct err *e)
{
    while (now_ms(loop) < until_monotonic_ms && loop_stop_requested(loop) == LOOP_GO_ON &&
           loop->wake_count == loop->wakes_taken)
        if (loop_step(loop, until_monotonic_ms, e) < 0)
            return -1;
    return 0;
}
