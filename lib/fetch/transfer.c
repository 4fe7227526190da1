/* The state machine of one download. fetch.c calls transfer_advance() whenever something may have changed;
 * what an exchange brings comes in through transfer_outcome.c. */
#include "fetch/transfer.h"
#include "base/text.h"
#include "base/url.h"
#include "fetch/cache.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOCK_LOOK_MS = 500, MAX_VISITED_BYTES = 4 * 1024 * 1024 };

void transfer_init(struct transfer *transfer, struct fetcher *fetcher, const struct package_request *request,
                   struct package *result)
{
    *transfer = (struct transfer){
        .fetcher = fetcher,
        .request = *request,
        .result = result,
        .name = request->name != NULL ? request->name : "package",
        .visited = BUF_INIT(MAX_VISITED_BYTES),
        .retry_after_ms = -1,
    };
    partial_init(&transfer->partial);
    partial_init(&transfer->check);
    *result = (struct package){.state = PACKAGE_INTERRUPTED};
    err_init(&result->err);
}

void transfer_done(struct transfer *transfer)
{
    if (transfer->exchange != NULL)
        http_cancel(transfer->exchange);
    transfer->exchange = NULL;
    transfer_end_chain(transfer);
    buf_done(&transfer->visited);
    partial_done(&transfer->partial);
    partial_forget(&transfer->check);
}

int64_t transfer_now(const struct transfer *transfer)
{
    const struct clock *clock = transfer->fetcher->options->clock;
    return clock->monotonic_ms(clock->context);
}

static bool holds_slot(enum transfer_state state)
{
    return state == TRANSFER_CHECKING || state == TRANSFER_READING || state == TRANSFER_REQUESTING;
}

void transfer_set_state(struct transfer *transfer, enum transfer_state state)
{
    struct fetcher *fetcher = transfer->fetcher;
    fetcher->busy += (holds_slot(state) ? 1 : 0) - (holds_slot(transfer->state) ? 1 : 0);
    if (state == TRANSFER_READY)
        transfer->ready_since_ms = transfer_now(transfer);
    transfer->state = state;
    fetcher->is_dirty = true;
}

void transfer_finish(struct transfer *transfer, enum package_state state)
{
    if (transfer->state == TRANSFER_FINISHED)
        return;
    if (transfer->exchange != NULL) {
        http_cancel(transfer->exchange);
        transfer->exchange = NULL;
        host_end(transfer->hop_host, HOST_NEUTRAL);
    }
    if (transfer->state == TRANSFER_WAITING)
        transfer->waited_ms += transfer_now(transfer) - transfer->wait_began_ms;
    transfer->result->waited_ms += transfer->waited_ms;
    transfer_close_attempt(transfer, state == PACKAGE_INTERRUPTED ? "interrupted" : "stopped");
    transfer->result->state = state;
    transfer_set_state(transfer, TRANSFER_FINISHED);
    transfer->fetcher->ended++;
    if (state == PACKAGE_FAILED)
        transfer->fetcher->failed++;
    transfer_done(transfer);
}

void transfer_fail(struct transfer *transfer, enum err_class class_, const char *format, ...)
{
    char text[ERR_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    err_fill(&transfer->result->err, class_, "%s", text);
    transfer_close_attempt(transfer, text);
    struct log_field fields[] = {LOG_TEXT("package", transfer->name)};
    log_event(transfer->fetcher->options->log, LOG_ERROR, "failed", fields, ARRAY_LENGTH(fields), "%s: %s",
              transfer->name, text);
    transfer_finish(transfer, PACKAGE_FAILED);
}

void transfer_fatal(struct transfer *transfer, const struct err *e)
{
    err_fill(&transfer->fetcher->fatal, e->class, "%s: %s", transfer->name, e->text);
    err_fill(&transfer->result->err, e->class, "%s", e->text);
    transfer_finish(transfer, PACKAGE_FAILED);
}

void transfer_fail_locally(struct transfer *transfer, const struct err *e)
{
    if (e->class == ERR_MEMORY)
        transfer_fatal(transfer, e);
    else
        transfer_fail(transfer, e->class, "%s", e->text);
}

static int add_source(struct transfer *transfer, const char *url, struct err *e)
{
    struct fetcher *fetcher = transfer->fetcher;
    struct source *source = &transfer->sources.items[transfer->sources.count];
    char shown[URL_TEXT_BYTES];
    *source = (struct source){.url = url};
    if (!url_is_http(url)) {
        source->is_out = true;
        source->last_cause =
            transfer_text(transfer,
                          "%s: only http:// and https:// URLs are fetched (fetch it by other means "
                          "and publish it there)",
                          url_redact(url, shown, sizeof shown));
    }
    source->host = host_of_url(fetcher->hosts, url, e);
    if (source->host == NULL)
        return -1;
    transfer->sources.count++;
    return 0;
}

static int name_partial(struct transfer *transfer, struct err *e)
{
    const struct package_request *request = &transfer->request;
    char hex[DIGEST_HEX_BYTES];
    if (request->sha256 != NULL) {
        snprintf(transfer->key, sizeof transfer->key, "%s", request->sha256);
        return 0;
    }
    if (digest_bytes(request->url, strlen(request->url), hex, e) < 0)
        return -1;
    snprintf(transfer->key, sizeof transfer->key, "url-%s", hex);
    return 0;
}

static bool is_listed(const struct source_list *list, const char *url)
{
    for (size_t i = 0; i < list->count; i++)
        if (text_equal(list->items[i].url, url))
            return true;
    return false;
}

static int add_sources(struct transfer *transfer, const struct string_list *urls, struct err *e)
{
    for (size_t i = 0; i < urls->count; i++)
        if (!is_listed(&transfer->sources, urls->items[i]) && add_source(transfer, urls->items[i], e) < 0)
            return -1;
    return 0;
}

/* The URL itself, its backups, then the mirrors of each. A probe compares with what the primary URL said
 * last: no other source can answer that. */
static int list_sources(struct transfer *transfer, struct err *e)
{
    const struct package_request *request = &transfer->request;
    const struct settings *settings = transfer->fetcher->options->settings;
    struct arena *arena = transfer->fetcher->arena;
    size_t own = request->probe_only ? 0 : 1 + request->backup_urls.count, count = 1 + own;
    struct string_list *mirrors = arena_alloc_array(arena, count, sizeof *mirrors, e);
    if (mirrors == NULL)
        return -1;
    for (size_t i = 0; i < own; i++) {
        const char *url = i == 0 ? request->url : request->backup_urls.items[i - 1];
        if (settings_mirrors_for(settings, url, arena, &mirrors[i], e) < 0)
            return -1;
        count += mirrors[i].count;
    }
    transfer->sources.items = arena_alloc_array(arena, count, sizeof *transfer->sources.items, e);
    if (transfer->sources.items == NULL || add_source(transfer, request->url, e) < 0)
        return -1;
    if (own > 0 && add_sources(transfer, &request->backup_urls, e) < 0)
        return -1;
    for (size_t i = 0; i < own; i++)
        if (add_sources(transfer, &mirrors[i], e) < 0)
            return -1;
    return 0;
}

int transfer_prepare(struct transfer *transfer, struct err *e)
{
    const struct settings *settings = transfer->fetcher->options->settings;
    if (list_sources(transfer, e) < 0)
        return -1;
    const struct source_rule *rule = settings_source_for(settings, transfer->request.url);
    transfer->policy = rule != NULL ? &rule->retry : &settings->retry;
    return name_partial(transfer, e);
}

static bool has_validator(const struct remembered_validator *known)
{
    return known != NULL && (!text_is_empty(known->etag) || !text_is_empty(known->last_modified)) &&
           !text_is_empty(known->sha256);
}

/* A 304 is worth asking for only where the remembered bytes are somewhere. */
static bool may_ask_conditionally(const struct transfer *transfer)
{
    const struct package_request *request = &transfer->request;
    if (request->sha256 != NULL || !has_validator(request->known))
        return false;
    bool is_cached = cache_has(transfer->fetcher->options->cache_dir, request->known->sha256, NULL);
    return is_cached || (request->known_bytes_are_held && !request->bytes_needed);
}

static void open_partial(struct transfer *transfer)
{
    struct err e;
    err_init(&e);
    const struct package_request *request = &transfer->request;
    const struct fetch_options *options = transfer->fetcher->options;
    if (partial_open(&transfer->partial, options->cache_dir, transfer->key, request->sha256 != NULL, &e) <
        0) {
        if (e.class == ERR_LOCKED) {
            if (transfer->state != TRANSFER_LOCKED)
                log_info(options->log, "wait", "%s: the same file is being fetched already; waiting for that",
                         transfer->name);
            transfer->due_ms = transfer_now(transfer) + LOCK_LOOK_MS;
            transfer_set_state(transfer, TRANSFER_LOCKED);
            return;
        }
        if (transfer->is_conditional && e.class != ERR_MEMORY) { /* a cache that can only be read */
            transfer->no_partial = transfer_text(transfer, "%s", e.text);
            transfer_set_state(transfer, TRANSFER_READY);
            return;
        }
        transfer_fail_locally(transfer, &e);
        return;
    }
    struct partial *partial = &transfer->partial;
    /* All there, but not proven by a pinned digest: the server's word on the last byte proves the version. */
    if (request->sha256 == NULL && partial->size_bytes > 0 &&
        (int64_t)partial->size_bytes == partial->expected_bytes &&
        partial_cut(partial, partial->size_bytes - 1, &e) < 0) {
        transfer_fail_locally(transfer, &e);
        return;
    }
    transfer->highest_bytes = transfer->progress_base = partial->size_bytes;
    transfer_set_state(transfer, partial->size_bytes > 0 ? TRANSFER_READING : TRANSFER_READY);
}

void transfer_begin(struct transfer *transfer)
{
    const struct package_request *request = &transfer->request;
    if (!transfer->has_begun) {
        transfer->has_begun = true;
        transfer->progress_ms = transfer_now(transfer);
        transfer->is_conditional = may_ask_conditionally(transfer);
    }
    if (request->sha256 != NULL && cache_has(transfer->fetcher->options->cache_dir, request->sha256, NULL)) {
        transfer_check_cached(transfer, request->sha256);
        return;
    }
    if (!source_any_left(&transfer->sources)) {
        transfer_fail(transfer, ERR_CONFIG, "%s", transfer->sources.items[0].last_cause);
        return;
    }
    if (!request->probe_only) {
        open_partial(transfer);
        return;
    }
    if (transfer->is_conditional)
        transfer_set_state(transfer, TRANSFER_READY);
    else
        transfer_finish(transfer, PACKAGE_UNKNOWN);
}

static void continue_reading(struct transfer *transfer)
{
    struct partial *partial = &transfer->partial;
    struct err e;
    err_init(&e);
    if (partial_hash_slice(partial, HASH_SLICE_BYTES, &e) < 0) {
        if (e.class == ERR_MEMORY) {
            transfer_fatal(transfer, &e);
            return;
        }
        err_init(&e);
        if (partial_restart(partial, &e) < 0) {
            transfer_fail_locally(transfer, &e);
            return;
        }
    }
    if (partial->hashed_bytes < partial->size_bytes)
        return;
    bool is_whole = transfer->request.sha256 != NULL && partial->size_bytes > 0 &&
                    (int64_t)partial->size_bytes == partial->expected_bytes;
    if (is_whole)
        transfer_complete(transfer);
    else
        transfer_set_state(transfer, TRANSFER_READY);
}

/* Asks if the gates let it; otherwise says in due_ms when to look again. */
static void ask_if_open(struct transfer *transfer, int64_t now_ms, bool slot_is_free)
{
    struct err e;
    err_init(&e);
    transfer->due_ms = 0;
    if (!transfer->request.probe_only && transfer->no_partial == NULL &&
        !partial_is_open(&transfer->partial)) {
        if (slot_is_free)
            transfer_begin(transfer);
        return;
    }
    if (transfer->hop_url == NULL) {
        if (!transfer_drop_away(transfer))
            return;
        struct source *source = source_next(&transfer->sources, now_ms);
        if (source == NULL) {
            transfer_fail(transfer, ERR_SERVER, "no source is left");
            return;
        }
        if (transfer_waits_for_host(transfer, source->host, now_ms) || !slot_is_free ||
            !host_is_open(source->host, now_ms))
            return;
        if (transfer_begin_chain(transfer, source, &e) < 0) {
            transfer_fail_locally(transfer, &e);
            return;
        }
    } else if (transfer_host_is_away(transfer, transfer->hop_host)) {
        transfer_failed_for_good(transfer, transfer_describe_away(transfer, transfer->hop_host));
        return;
    } else if (transfer_leaves_parked_hop(transfer, now_ms)) {
        return;
    } else if (transfer_waits_for_host(transfer, transfer->hop_host, now_ms) || !slot_is_free ||
               !host_is_open(transfer->hop_host, now_ms)) {
        return;
    }
    /* Waiting for a gate is nobody's lack of progress. */
    transfer->progress_ms += now_ms - transfer->ready_since_ms;
    transfer_ask(transfer);
}

static void look_at_lock(struct transfer *transfer, int64_t now_ms)
{
    char path[PATH_MAX];
    struct stat status;
    if (snprintf(path, sizeof path, "%s/partial/%s.part", transfer->fetcher->options->cache_dir,
                 transfer->key) < (int)sizeof path &&
        stat(path, &status) == 0 && (uint64_t)status.st_size != transfer->locked_size) {
        transfer->locked_size = (uint64_t)status.st_size;
        transfer->progress_ms = now_ms;
    }
    transfer_begin(transfer);
}

void transfer_note_progress(struct transfer *transfer, int64_t now_ms)
{
    if (transfer->partial.size_bytes > transfer->highest_bytes)
        transfer->highest_bytes = transfer->partial.size_bytes;
    if (transfer->highest_bytes - transfer->progress_base >= PROGRESS_BYTES) {
        transfer->progress_base = transfer->highest_bytes;
        transfer->progress_ms = now_ms;
    }
}

static bool is_out_of_time(struct transfer *transfer, int64_t now_ms)
{
    int64_t limit = transfer->fetcher->options->settings->limits.item_timeout_ms;
    if (limit <= 0 || !transfer->has_begun || transfer->state == TRANSFER_READY ||
        transfer->state == TRANSFER_PUBLISHING)
        return false;
    return now_ms - transfer->progress_ms >= limit;
}

static void write_gathered(struct transfer *transfer)
{
    if (transfer_flush(transfer) == 0)
        return;
    transfer_close_attempt(transfer, transfer->cause_text);
    transfer_fail(transfer, ERR_SYSTEM, "%s", transfer->cause_text);
}

void transfer_advance(struct transfer *transfer, int64_t now_ms)
{
    struct fetcher *fetcher = transfer->fetcher;
    bool slot_is_free = fetcher->busy < fetcher->options->settings->limits.parallel;
    if (transfer->state != TRANSFER_FINISHED && is_out_of_time(transfer, now_ms)) {
        char duration[CLOCK_TEXT_BYTES];
        transfer_fail(transfer, ERR_NETWORK,
                      "given up: less than 1 MiB of progress in %s (item timeout); last: %s",
                      clock_duration_text(fetcher->options->settings->limits.item_timeout_ms, duration),
                      transfer->cause_text != NULL ? transfer->cause_text : "still under way");
        return;
    }
    switch (transfer->state) {
    case TRANSFER_QUEUED:
        if (slot_is_free)
            transfer_begin(transfer);
        return;
    case TRANSFER_CHECKING:
        transfer_continue_checking(transfer);
        return;
    case TRANSFER_LOCKED:
        if (now_ms >= transfer->due_ms)
            look_at_lock(transfer, now_ms);
        return;
    case TRANSFER_READING:
        continue_reading(transfer);
        return;
    case TRANSFER_READY:
        ask_if_open(transfer, now_ms, slot_is_free);
        return;
    case TRANSFER_WAITING:
        if (now_ms >= transfer->due_ms) {
            transfer->waited_ms += now_ms - transfer->wait_began_ms;
            transfer_set_state(transfer, TRANSFER_READY);
        }
        return;
    case TRANSFER_REQUESTING:
        if (now_ms >= transfer_flush_due_ms(transfer))
            write_gathered(transfer);
        return;
    case TRANSFER_PUBLISHING:
    case TRANSFER_FINISHED:
        return;
    }
}
