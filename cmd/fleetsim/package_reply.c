/* One answer of the package host: which bytes, under which headers, and where the connection goes wrong. The
 * script's behaviour is applied to what a well-behaved server would have sent. */
#include "package_reply.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "body.h"
#include "json.h"
#include "validators.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void add_header(struct reply *reply, const char *name, const char *value)
{
    struct err e;
    err_init(&e);
    if (buf_printf(&reply->headers, &e, "%s: %s\r\n", name, value) < 0)
        fprintf(stderr, "fleetsim: a header is left out: %s\n", e.text);
}

/* A short answer that is not the package. `text` is copied; NULL: the status in words. */
static void canned(struct reply *reply, unsigned status, const char *content_type, const char *text)
{
    char words[64];
    if (text == NULL) {
        snprintf(words, sizeof words, "%u %s\n", status, reply_reason(status));
        text = words;
    }
    free(reply->canned);
    reply->canned = copy_text(text);
    body_done(&reply->body);
    reply->body = body_of_text(reply->canned);
    reply->status = status;
    reply->from = 0;
    reply->length = reply->body.size;
    reply->announced = (int64_t)reply->length;
    buf_clear(&reply->headers);
    if (content_type != NULL)
        add_header(reply, "Content-Type", content_type);
}

static void retry_after(struct reply *reply)
{
    const char *text = reply->behaviour.retry_after;
    char date[HTTP_DATE_BYTES];
    canned(reply, reply->behaviour.status, "text/plain", NULL);
    if (text_starts_with(text, "date"))
        text = http_date(time(NULL) + strtol(text + strlen("date"), NULL, 10), date);
    add_header(reply, "Retry-After", text);
}

static void scripted_status(struct reply *reply)
{
    const char *name;
    json_t *value;
    const char *body = reply->behaviour.body;
    const json_t *headers = reply->behaviour.headers;
    bool typed = headers != NULL && json_object_get(headers, "Content-Type") != NULL;
    canned(reply, reply->behaviour.status, typed ? NULL : "text/plain", body);
    json_object_foreach((json_t *)(uintptr_t)headers, name, value)
    {
        if (json_is_string(value))
            add_header(reply, name, json_string_value(value));
    }
}

static bool starts_with_prefix(const char *value, const char *prefix)
{
    return value != NULL && text_starts_with(value, prefix);
}

/* The behaviours that need no package. True: the answer stands. */
static bool answer_without_package(struct reply *reply)
{
    const struct behaviour *behaviour = &reply->behaviour;
    switch (behaviour->kind) {
    case DO_STATUS:
        scripted_status(reply);
        return true;
    case DO_REDIRECT:
        canned(reply, behaviour->status, "text/plain", NULL);
        add_header(reply, "Location", behaviour->location);
        return true;
    case DO_RETRY_AFTER:
        retry_after(reply);
        return true;
    case DO_HTML:
        canned(reply, 200, "text/html; charset=utf-8",
               behaviour->body != NULL
                   ? behaviour->body
                   : "<!DOCTYPE html>\n<html><body>Please sign in to go on.</body></html>\n");
        return true;
    case DO_EMPTY:
        canned(reply, 200, "application/octet-stream", "");
        return true;
    case DO_REQUIRE_USER_AGENT:
        if (starts_with_prefix(host_header_of(reply->request, "User-Agent"), behaviour->prefix))
            return false;
        canned(reply, behaviour->status, "text/plain", NULL);
        return true;
    case DO_REQUIRE_HEADER:
        if (text_equal(host_header_of(reply->request, behaviour->header), behaviour->value))
            return false;
        canned(reply, behaviour->status, "text/plain", NULL);
        return true;
    case DO_SERVE:
    case DO_RESET:
    case DO_CLOSE:
    case DO_EOF:
    case DO_IGNORE_RANGE:
    case DO_WRONG_RANGE:
    case DO_RANGE_REFUSED:
    case DO_STALL:
    case DO_SLOW:
    case DO_WRONG_BYTES:
    case DO_NO_VALIDATORS:
    case DO_RANDOM_ETAG:
    case DO_CHUNKED:
    case DO_LYING_LENGTH:
    case DO_GZIP_HEADER:
    case DO_ALWAYS_304:
    case DO_HUGE_ANNOUNCE:
    case DO_CLOSE_KEEPALIVE:
        return false;
    }
    return false;
}

static int open_package(struct reply *reply, char *path, size_t size)
{
    struct err e;
    err_init(&e);
    path[0] = '\0';
    if (reply->entry != NULL && reply->entry->is_generated) {
        reply->body = body_of_generated(&reply->entry->generated);
        return 0;
    }
    const char *name =
        reply->entry != NULL && reply->entry->file != NULL ? reply->entry->file : reply->request->file;
    if (reply->connection->host->folder == NULL || strstr(name, "..") != NULL)
        return -1;
    snprintf(path, size, "%s/%s", reply->connection->host->folder, name);
    return body_open(&reply->body, path, &e);
}

/* An entry's own word (a text, or null for none) before what the host would say. */
static void choose_validator(const json_t *own, char *value, size_t size)
{
    if (own == NULL)
        return;
    snprintf(value, size, "%s", json_is_string(own) ? json_string_value(own) : "");
}

static void find_validators(struct reply *reply, const char *path, struct validators *out)
{
    *out = (struct validators){.etag = ""};
    if (reply->behaviour.kind == DO_NO_VALIDATORS)
        return;
    if (reply->body.generated != NULL)
        snprintf(out->etag, sizeof out->etag, "\"generated-%" PRIu64 "-%" PRIu64 "\"",
                 reply->body.generated->size, reply->body.generated->seed);
    else
        validators_of_file(path, out);
    if (reply->entry != NULL) {
        choose_validator(reply->entry->etag, out->etag, sizeof out->etag);
        choose_validator(reply->entry->last_modified, out->last_modified, sizeof out->last_modified);
    }
    if (reply->behaviour.kind == DO_RANDOM_ETAG)
        snprintf(out->etag, sizeof out->etag, "\"%08lx%08lx\"", (unsigned long)random(),
                 (unsigned long)random());
}

static void add_package_headers(struct reply *reply, const struct validators *validators)
{
    const struct package_entry *entry = reply->entry;
    const char *type =
        entry != NULL && entry->content_type != NULL ? entry->content_type : "application/octet-stream";
    if (reply->status != 304)
        add_header(reply, "Content-Type", type);
    if (entry != NULL && entry->content_disposition != NULL)
        add_header(reply, "Content-Disposition", entry->content_disposition);
    if (validators->etag[0] != '\0')
        add_header(reply, "ETag", validators->etag);
    if (validators->last_modified[0] != '\0')
        add_header(reply, "Last-Modified", validators->last_modified);
    if (reply->behaviour.kind != DO_IGNORE_RANGE)
        add_header(reply, "Accept-Ranges", "bytes");
    if (reply->behaviour.kind == DO_GZIP_HEADER)
        add_header(reply, "Content-Encoding", "gzip");
}

static void content_range(struct reply *reply, uint64_t from, uint64_t length)
{
    char text[96];
    snprintf(text, sizeof text, "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, from, from + length - 1,
             reply->body.size);
    add_header(reply, "Content-Range", text);
}

static void refuse_range(struct reply *reply, uint64_t size)
{
    char text[64];
    canned(reply, 416, "text/plain", NULL);
    snprintf(text, sizeof text, "bytes */%" PRIu64, size);
    add_header(reply, "Content-Range", text);
}

/* A part, as Range asked for it; false: everything is sent. */
static bool answer_range(struct reply *reply, const struct validators *validators)
{
    uint64_t from = 0, length = 0;
    const char *range = host_header_of(reply->request, "Range");
    if (range == NULL || reply->behaviour.kind == DO_IGNORE_RANGE || reply->behaviour.kind == DO_CHUNKED)
        return false;
    if (reply->behaviour.kind == DO_RANGE_REFUSED) {
        refuse_range(reply, reply->body.size);
        return true;
    }
    if (!validators_allow_range(validators, host_header_of(reply->request, "If-Range")))
        return false;
    switch (range_parse(range, reply->body.size, &from, &length)) {
    case RANGE_IGNORED:
        return false;
    case RANGE_UNSATISFIABLE:
        refuse_range(reply, reply->body.size);
        return true;
    case RANGE_OK:
        break;
    }
    if (reply->behaviour.kind == DO_WRONG_RANGE) {
        from = (uint64_t)reply->behaviour.offset < reply->body.size ? (uint64_t)reply->behaviour.offset : 0;
        length = reply->body.size - from;
    }
    reply->status = 206;
    reply->from = from;
    reply->length = length;
    reply->announced = (int64_t)length;
    add_package_headers(reply, validators);
    content_range(reply, from, length);
    return true;
}

static void answer_package(struct reply *reply)
{
    char path[4096];
    struct validators validators;
    if (open_package(reply, path, sizeof path) < 0) {
        canned(reply, 404, "text/plain", NULL);
        return;
    }
    find_validators(reply, path, &validators);
    bool not_modified = validators_match(&validators, host_header_of(reply->request, "If-None-Match"),
                                         host_header_of(reply->request, "If-Modified-Since"));
    if (not_modified || reply->behaviour.kind == DO_ALWAYS_304) {
        reply->status = 304;
        reply->announced = -1;
        add_package_headers(reply, &validators);
        return;
    }
    if (answer_range(reply, &validators))
        return;
    reply->status = 200;
    reply->length = reply->body.size;
    reply->announced = (int64_t)reply->length;
    add_package_headers(reply, &validators);
}

/* What the behaviour does to an answer that brings the package's bytes. */
static void spoil(struct reply *reply)
{
    const struct behaviour *behaviour = &reply->behaviour;
    if (reply->status != 200 && reply->status != 206)
        return;
    if (behaviour->kind == DO_WRONG_BYTES)
        reply->body.falsified = true;
    if (behaviour->kind == DO_CHUNKED)
        reply->announced = -1;
    if (behaviour->kind == DO_LYING_LENGTH)
        reply->announced = behaviour->length >= 0 ? behaviour->length : (int64_t)(reply->length / 2);
    if (behaviour->kind == DO_HUGE_ANNOUNCE)
        reply->announced = behaviour->length >= 0 ? behaviour->length : (int64_t)(reply->length * 2 + 1);
    if (behaviour->kind == DO_LYING_LENGTH || behaviour->kind == DO_HUGE_ANNOUNCE)
        reply->keep_alive = false;
    if (behaviour->kind == DO_RESET || behaviour->kind == DO_CLOSE) {
        reply->ending = behaviour->kind == DO_RESET ? ENDING_RESET : ENDING_CLOSE;
        reply->cut_after = (uint64_t)behaviour->after_bytes;
    }
}

/* ?fail=503, ?rst=1 and ?delay=N (seconds), at any path that the script does not name. */
static void plain_query(struct reply *reply)
{
    const char *query = reply->request->query;
    const char *fail = strstr(query, "fail=");
    const char *delay = strstr(query, "delay=");
    if (delay != NULL)
        reply->behaviour.delay_ms = strtol(delay + strlen("delay="), NULL, 10) * 1000;
    if (fail != NULL) {
        reply->behaviour.kind = DO_STATUS;
        reply->behaviour.status = (unsigned)strtol(fail + strlen("fail="), NULL, 10);
    }
    if (strstr(query, "rst=1") != NULL) {
        reply->behaviour.kind = DO_RESET;
        reply->behaviour.after_bytes = -1; /* half way */
    }
}

static void write_log(struct reply *reply)
{
    const struct host_request *request = reply->request;
    json_t *line = new_object();
    put_text(line, "server", "packages");
    put_text(line, "method", request->method);
    put_text(line, "path", request->path);
    put_text(line, "query", request->query);
    put_null(line, "role");
    put_number(line, "status", reply->status);
    json_t *headers = new_object();
    for (size_t i = 0; i < request->header_count; i++)
        put_text(headers, request->headers[i].name, request->headers[i].value);
    put(line, "headers", headers);
    put_number(line, "body_bytes", (json_int_t)request->body_bytes);
    put_number(line, "sent_bytes", (json_int_t)reply->sent);
    put_text(line, "behaviour", reply->behaviour.name);
    put_flag(line, "finished", reply->finished);
    put_number(line, "connection", reply->connection->number);
    request_log_write(reply->connection->host->log, reply->log_number, line);
}

static void find_behaviour(struct reply *reply)
{
    struct script *script = reply->connection->host->script;
    char path[sizeof reply->request->file + 1];
    snprintf(path, sizeof path, "/%s", reply->request->file);
    reply->behaviour = behaviour_serve();
    reply->entry = script_package(script, reply->request->target, &reply->behaviour);
    if (reply->entry == NULL && !text_equal(reply->request->target, reply->request->path))
        reply->entry = script_package(script, reply->request->path, &reply->behaviour);
    if (reply->entry == NULL && !text_equal(path, reply->request->path))
        reply->entry = script_package(script, path, &reply->behaviour);
    if (reply->entry == NULL)
        plain_query(reply);
}

static void make_reply(struct reply *reply)
{
    if (!text_equal(reply->request->method, "GET") && !text_equal(reply->request->method, "HEAD"))
        canned(reply, 405, "text/plain", NULL);
    else if (!answer_without_package(reply))
        answer_package(reply);
    if (reply->behaviour.kind == DO_RESET && reply->behaviour.after_bytes < 0)
        reply->behaviour.after_bytes = (int64_t)(reply->length / 2);
    spoil(reply);
    reply->finished = reply_send(reply);
}

bool package_reply(struct host_connection *connection, const struct host_request *request)
{
    struct reply reply = {.connection = connection,
                          .request = request,
                          .log_number = request_log_begin(connection->host->log),
                          .body = body_none(),
                          .headers = BUF_INIT(HEADERS_MAX_BYTES),
                          .keep_alive = request->keep_alive};
    find_behaviour(&reply);
    const struct behaviour *behaviour = &reply.behaviour;
    bool no_byte =
        host_sleep(connection, behaviour->delay_ms) < 0 || behaviour->kind == DO_EOF ||
        (behaviour->kind == DO_RESET && (behaviour->before_headers || behaviour->after_bytes == 0));
    if (!no_byte)
        make_reply(&reply);
    connection->die_at_next_request = behaviour->kind == DO_CLOSE_KEEPALIVE;
    if (behaviour->kind == DO_RESET && (no_byte || reply.ending == ENDING_RESET))
        host_reset(connection);
    write_log(&reply);
    bool keep_alive = reply.keep_alive && reply.finished;
    body_done(&reply.body);
    buf_done(&reply.headers);
    free(reply.canned);
    return keep_alive;
}
