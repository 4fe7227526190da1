/* Runs calls on the loop: several reads at once, each with its own retries; writes alone, looked up where
 * their answer was lost. Everything that the client (client.c) asks of the server goes through here. */
#include "fleet/call.h"
#include "fleet/fleet_private.h"
#include "net/retry.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void call_done(struct call *call)
{
    buf_done(&call->answer);
}

static void start(struct call *call);

static void on_timer(void *context)
{
    struct call *call = context;
    call->is_waiting = false;
    start(call);
}

static bool is_over(const struct call *call)
{
    return call->end != CALL_PENDING;
}

/* Waits for the next attempt, or ends the call where there is none left. */
static void again(struct call *call, int64_t asked_ms)
{
    struct fleet *fleet = call->fleet;
    const struct retry_policy *policy = &fleet->options.settings->retry;
    int64_t delay = retry_wait_ms(policy, call->attempts - 1, asked_ms, fleet->options.jitter);
    if (call->attempts >= policy->rounds || asked_ms > policy->retry_after_max_ms) {
        char wait[CLOCK_TEXT_BYTES];
        if (asked_ms > policy->retry_after_max_ms)
            err_add_prefix(&call->err, "the server asks to wait %s, longer than the limit (retry-after-max)",
                           clock_duration_text(asked_ms, wait));
        else
            err_add_prefix(&call->err, "given up after %" PRId64 " attempts", call->attempts);
        call->end = CALL_FAILED;
        return;
    }
    char wait[CLOCK_TEXT_BYTES];
    log_warning(fleet->options.log, "api-wait", "%s; attempt %" PRId64 " of %" PRId64 " in %s",
                call->err.text, call->attempts + 1, policy->rounds, clock_duration_text(delay, wait));
    call->is_waiting = true;
    call->timer = (struct loop_timer){.fire = on_timer, .context = call};
    loop_timer_set(fleet->options.loop, &call->timer, fleet_now_ms(fleet) + delay);
}

enum { REFUSAL_BODY_BYTES = 16 * 1024 };

static int on_headers(void *context, const struct http_answer *answer)
{
    struct call *call = context;
    call->status = answer->status;
    buf_done(&call->answer);
    call->answer = BUF_INIT(REFUSAL_BODY_BYTES);
    return 0;
}

/* The bytes of a 200 go to the caller; those of a refusal are kept for its sentence, as far as they fit. */
static int on_raw_body(void *context, const void *bytes, size_t length)
{
    struct call *call = context;
    if (call->status == 200)
        return call->on_body(call->context, bytes, length);
    struct err ignored;
    err_init(&ignored);
    if (call->answer.length + length < REFUSAL_BODY_BYTES)
        return buf_add(&call->answer, bytes, length, &ignored);
    return 0;
}

static void on_done(void *context, struct http_answer *answer)
{
    struct call *call = context;
    struct fleet *fleet = call->fleet;
    if (call->on_body != NULL) {
        buf_done(&answer->body);
        answer->body = call->answer;
        call->answer = BUF_INIT(0);
    }
    call->exchange = NULL;
    call->sent_bytes += answer->sent_bytes;
    fleet->uploaded_bytes += answer->sent_bytes;
    fleet_count_call(fleet, call->name, answer->total_ms < 0 ? 0 : answer->total_ms);
    enum call_verdict verdict = call_judge(call, answer);
    log_debug(fleet->options.log, "api", "%s: %d in %" PRId64 " ms", call->name, answer->status,
              answer->total_ms);
    switch (verdict) {
    case VERDICT_DONE:
        buf_done(&call->answer);
        call->answer = answer->body;
        answer->body = BUF_INIT(0);
        call->end = CALL_DONE;
        break;
    case VERDICT_REFUSED:
        call->end = CALL_REFUSED;
        break;
    case VERDICT_AGAIN:
        again(call, retry_after_ms(answer, fleet->options.clock->wall_ms(fleet->options.clock->context)));
        break;
    case VERDICT_AGAIN_ONCE:
        if (call->server_errors++ > 0)
            call->end = CALL_REFUSED;
        else if (call->is_write)
            call->end = CALL_UNKNOWN;
        else
            again(call, retry_after_ms(answer, fleet->options.clock->wall_ms(fleet->options.clock->context)));
        break;
    case VERDICT_UNKNOWN:
        call->end = CALL_UNKNOWN;
        break;
    }
}

static int start_exchange(struct call *call, struct err *e)
{
    struct fleet *fleet = call->fleet;
    const struct limits *limits = &fleet->options.settings->limits;
    char url[API_BASE_BYTES + 2048];
    if ((size_t)snprintf(url, sizeof url, "%s%s", fleet->base, call->path) >= sizeof url)
        return err_set(e, ERR_SERVER, "%s: the address is too long", call->name);
    const char *headers[] = {fleet->authorisation, "Accept: application/json",
                             "Content-Type: application/json"};
    struct http_request request = {
        .method = call->method,
        .url = url,
        .headers = headers,
        .header_count = call->body != NULL ? 3 : 2,
        .body = call->body,
        .body_length = call->body_length,
        .parts = call->parts,
        .part_count = call->part_count,
        .fresh_connection = call->is_write,
        .version = HTTP_2_ALLOWED,
        .range_end = -1,
        .max_answer_bytes = (size_t)limits->max_answer_bytes,
        .connect_timeout_ms = limits->connect_timeout_ms,
        .first_byte_timeout_ms = limits->api_timeout_ms,
        .stall_bytes_per_s = limits->stall_bytes_per_s,
        .stall_ms = limits->stall_ms,
        .on_headers = call->on_body != NULL ? on_headers : NULL,
        .on_body = call->on_body != NULL ? on_raw_body : NULL,
        .on_done = on_done,
        .context = call,
    };
    if (call->on_start != NULL && call->on_start(call->context, e) < 0)
        return -1;
    call->attempts++;
    call->exchange = http_start(fleet->options.http, &request, e);
    return call->exchange == NULL ? -1 : 0;
}

static void start(struct call *call)
{
    err_init(&call->err);
    if (start_exchange(call, &call->err) < 0)
        call->end = CALL_FAILED;
}

/* A stop ends reads at once; what belongs to a commit under way gets its grace. */
static int check_stop(struct fleet *fleet, struct err *e)
{
    enum loop_stop stop = loop_stop_requested(fleet->options.loop);
    int64_t deadline = fleet->options.deadline_monotonic_ms;
    if (deadline > 0 && fleet_now_ms(fleet) >= deadline)
        return err_set(e, ERR_INTERRUPTED, "the run's deadline came before it was done");
    if (stop == LOOP_GO_ON)
        return 0;
    if (fleet->grace_until_ms == 0)
        fleet->grace_until_ms = fleet_now_ms(fleet) + fleet->options.settings->limits.shutdown_grace_ms;
    if (stop == LOOP_STOP_SOON && fleet->in_commit && fleet_now_ms(fleet) < fleet->grace_until_ms)
        return 0;
    return err_set(e, ERR_INTERRUPTED, "stopped by a signal before it was done");
}

/* How long the loop may sleep before check_stop must be asked again. */
static int64_t wake_up_ms(const struct fleet *fleet, int64_t until_ms)
{
    int64_t deadline = fleet->options.deadline_monotonic_ms;
    if (deadline > 0 && deadline < until_ms)
        until_ms = deadline;
    return fleet->grace_until_ms > 0 && fleet->grace_until_ms < until_ms ? fleet->grace_until_ms : until_ms;
}

static void abandon(struct call *call)
{
    if (call->exchange != NULL)
        http_cancel(call->exchange);
    if (call->is_waiting)
        loop_timer_cancel(call->fleet->options.loop, &call->timer);
    call->exchange = NULL;
    call->is_waiting = false;
    if (is_over(call))
        return;
    call->end = call->is_write && call->attempts > 0 ? CALL_UNKNOWN : CALL_FAILED;
    err_fill(&call->err, ERR_INTERRUPTED, "%s: stopped before it was done", call->name);
}

enum { LONGEST_SLEEP_MS = 60 * 1000 };

int call_run_all(struct fleet *fleet, struct call *calls, size_t count, struct err *e)
{
    size_t limit = (size_t)fleet->options.settings->limits.parallel_api;
    size_t started = 0, running = 0;
    int result = check_stop(fleet, e);
    for (size_t i = 0; i < count; i++)
        calls[i].fleet = fleet;
    while (result == 0) {
        running = 0;
        for (size_t i = 0; i < started; i++)
            running += !is_over(&calls[i]);
        while (started < count && running < limit && !fleet->is_locked_out) {
            start(&calls[started]);
            running += !is_over(&calls[started++]); /* one that can't even be started has ended */
        }
        if (running == 0 || fleet->is_locked_out)
            break;
        result = loop_step(fleet->options.loop, wake_up_ms(fleet, fleet_now_ms(fleet) + LONGEST_SLEEP_MS), e);
        if (result == 0)
            result = check_stop(fleet, e);
    }
    for (size_t i = 0; i < count; i++)
        abandon(&calls[i]);
    for (size_t i = 0; i < count; i++) {
        bool is_fatal = calls[i].err.class == ERR_MEMORY ||
                        (calls[i].status == 401 && calls[i].err.class == ERR_UNAUTHORISED);
        if (result == 0 && is_fatal && calls[i].end != CALL_DONE)
            result = err_set(e, calls[i].err.class, "%s", calls[i].err.text);
    }
    return result;
}

int call_read(struct fleet *fleet, struct call *call, struct err *e)
{
    if (call_run_all(fleet, call, 1, e) < 0)
        return -1;
    if (call->end != CALL_DONE)
        return err_set(e, call->err.class, "%s", call->err.text);
    return 0;
}

int call_wait(struct fleet *fleet, int64_t duration_ms, struct err *e)
{
    int64_t until = fleet_now_ms(fleet) + duration_ms;
    while (fleet_now_ms(fleet) < until) {
        if (check_stop(fleet, e) < 0)
            return -1;
        if (loop_step(fleet->options.loop, wake_up_ms(fleet, until), e) < 0)
            return -1;
    }
    return check_stop(fleet, e);
}

int call_write(struct fleet *fleet, struct call *call, call_lookup *lookup, void *context, struct err *e)
{
    int64_t rounds = fleet->options.settings->retry.rounds;
    for (;;) {
        call->end = CALL_PENDING;
        if (call_run_all(fleet, call, 1, e) < 0)
            return -1;
        if (call->end == CALL_DONE)
            return 0;
        if (call->end != CALL_UNKNOWN || call->attempts >= rounds)
            return err_set(e, call->err.class, "%s", call->err.text);
        int64_t delay =
            retry_delay_ms(&fleet->options.settings->retry, call->attempts - 1, fleet->options.jitter);
        log_warning(fleet->options.log, "api-lost",
                    "%s; whether it was carried out is looked up before it is sent again", call->err.text);
        if (call_wait(fleet, delay, e) < 0)
            return -1;
        bool is_there = false;
        struct err trouble;
        err_init(&trouble);
        if (lookup(context, &is_there, &trouble) < 0)
            return err_set(e, trouble.class, "%s; whether it was carried out can't be told: %s",
                           call->err.text, trouble.text);
        if (is_there) {
            call->end = CALL_DONE;
            call->was_looked_up = true;
            return 0;
        }
    }
}
