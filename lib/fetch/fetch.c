/* From what the plan asks for to files in the cache: merges equal requests, lets the transfers run side by
 * side within their gates, and ends when each has its result. */
#include "fetch/fetch.h"
#include "base/files.h"
#include "base/text.h"
#include "fetch/bandwidth.h"
#include "fetch/cache.h"
#include "fetch/progress.h"
#include "fetch/publish.h"
#include "fetch/transfer.h"
#include <stdlib.h>
#include <string.h>

enum { LONGEST_STEP_MS = 1000, RETRIES_PER_ROUND = 6, RETRIES_PER_ITEM = 2 };

/* The same URL, or the same pinned bytes from wherever they come. */
static bool is_same_download(const struct package_request *a, const struct package_request *b)
{
    return text_equal(a->sha256, b->sha256) && a->probe_only == b->probe_only &&
           (a->sha256 != NULL || text_equal(a->url, b->url));
}

static void add_url(const struct package_request *into, const char **urls, size_t *count, const char *url)
{
    if (text_equal(url, into->url))
        return;
    for (size_t i = 0; i < *count; i++)
        if (text_equal(urls[i], url))
            return;
    urls[(*count)++] = url;
}

/* One download serves all who want the same: it must satisfy the most demanding of them, and any of their
 * sources will do. */
static int merge(struct package_request *into, const struct package_request *other, struct arena *arena,
                 struct err *e)
{
    into->bytes_needed = into->bytes_needed || other->bytes_needed;
    into->known_bytes_are_held = into->known_bytes_are_held && other->known_bytes_are_held;
    if (into->known == NULL)
        into->known = other->known;
    const struct string_list *own = &into->backup_urls, *more = &other->backup_urls;
    if (text_equal(into->url, other->url) && (more->count == 0 || own->items == more->items))
        return 0;
    const char **urls = arena_alloc_array(arena, own->count + 1 + more->count, sizeof *urls, e);
    if (urls == NULL)
        return -1;
    size_t count = 0;
    for (size_t i = 0; i < own->count; i++)
        add_url(into, urls, &count, own->items[i]);
    add_url(into, urls, &count, other->url);
    for (size_t i = 0; i < more->count; i++)
        add_url(into, urls, &count, more->items[i]);
    into->backup_urls = (struct string_list){.is_set = true, .count = count, .items = urls};
    return 0;
}

static int assign(struct fetcher *fetcher, const struct package_request *requests, size_t count,
                  size_t *transfer_of, struct package *results, struct err *e)
{
    for (size_t i = 0; i < count; i++) {
        size_t found = 0;
        while (found < fetcher->transfer_count &&
               !is_same_download(&fetcher->transfers[found].request, &requests[i]))
            found++;
        transfer_of[i] = found;
        if (found < fetcher->transfer_count) {
            if (merge(&fetcher->transfers[found].request, &requests[i], fetcher->arena, e) < 0)
                return -1;
            continue;
        }
        transfer_init(&fetcher->transfers[found], fetcher, &requests[i], &results[i]);
        fetcher->transfer_count++;
    }
    for (size_t i = 0; i < fetcher->transfer_count; i++)
        if (transfer_prepare(&fetcher->transfers[i], e) < 0)
            return -1;
    return 0;
}

static int64_t now_ms(const struct fetcher *fetcher)
{
    return fetcher->options->clock->monotonic_ms(fetcher->options->clock->context);
}

static void advance_all(struct fetcher *fetcher)
{
    fetcher->is_dirty = false;
    int64_t now = now_ms(fetcher);
    for (size_t i = 0; i < fetcher->transfer_count && !err_is_set(&fetcher->fatal); i++)
        transfer_advance(&fetcher->transfers[i], now);
    if (now >= publish_due_ms(fetcher))
        publish_all(fetcher);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* When somebody must be looked at again, if nothing happens before. */
static int64_t next_look(struct fetcher *fetcher)
{
    int64_t next = earlier(now_ms(fetcher) + LONGEST_STEP_MS, publish_due_ms(fetcher));
    int64_t deadline = fetcher->options->deadline_monotonic_ms;
    if (deadline > 0)
        next = earlier(next, deadline);
    fetcher->gathered_due_ms = INT64_MAX;
    for (size_t i = 0; i < fetcher->transfer_count; i++) {
        const struct transfer *transfer = &fetcher->transfers[i];
        bool has_due = transfer->state == TRANSFER_LOCKED || transfer->state == TRANSFER_WAITING ||
                       (transfer->state == TRANSFER_READY && transfer->due_ms > 0);
        if (transfer->state == TRANSFER_CHECKING || transfer->state == TRANSFER_READING)
            return 0;
        if (has_due)
            next = earlier(next, transfer->due_ms);
        fetcher->gathered_due_ms = earlier(fetcher->gathered_due_ms, transfer_flush_due_ms(transfer));
    }
    return next;
}

/* What came since the last look may ask for an earlier one. */
static int64_t wake_up_ms(const struct fetcher *fetcher, int64_t next)
{
    return earlier(next, earlier(fetcher->gathered_due_ms, bandwidth_due_ms(fetcher)));
}

/* `kept`: what is said of an item that had begun. */
static void end_all(struct fetcher *fetcher, enum package_state state, enum err_class class_,
                    const char *text, const char *kept)
{
    publish_end(fetcher); /* these are whole */
    for (size_t i = 0; i < fetcher->transfer_count; i++) {
        struct transfer *transfer = &fetcher->transfers[i];
        if (transfer->state == TRANSFER_FINISHED)
            continue;
        err_fill(&transfer->result->err, class_, "%s%s", text, transfer->partial.size_bytes > 0 ? kept : "");
        transfer_finish(transfer, state);
    }
}

static int run(struct fetcher *fetcher, struct progress *progress, struct err *e)
{
    const struct fetch_options *options = fetcher->options;
    fetcher->is_dirty = true;
    int64_t next = 0;
    bandwidth_apply(fetcher, now_ms(fetcher));
    while (fetcher->ended < fetcher->transfer_count) {
        if (loop_stop_requested(options->loop) != LOOP_GO_ON) {
            end_all(fetcher, PACKAGE_INTERRUPTED, ERR_INTERRUPTED, "interrupted", "; what arrived is kept");
            break;
        }
        if (options->deadline_monotonic_ms > 0 && now_ms(fetcher) >= options->deadline_monotonic_ms) {
            end_all(fetcher, PACKAGE_FAILED, ERR_NETWORK, "the run's deadline came first",
                    "; what arrived is kept");
            break;
        }
        if (fetcher->is_dirty || now_ms(fetcher) >= earlier(next, fetcher->gathered_due_ms)) {
            bool has_changed = fetcher->is_dirty;
            advance_all(fetcher);
            next = fetcher->is_dirty ? 0 : next_look(fetcher);
            progress_tell(progress, has_changed);
        }
        if (fetcher->ended < fetcher->transfer_count &&
            loop_step(options->loop, wake_up_ms(fetcher, next), e) < 0)
            err_fill(&fetcher->fatal, e->class, "%s", e->text);
        if (err_is_set(&fetcher->fatal)) {
            end_all(fetcher, PACKAGE_FAILED, fetcher->fatal.class, fetcher->fatal.text, "");
            err_fill(e, fetcher->fatal.class, "%s", fetcher->fatal.text);
            return -1;
        }
        bandwidth_apply(fetcher, now_ms(fetcher));
        progress_tell(progress, false);
    }
    publish_end(fetcher);
    progress_tell(progress, true);
    return 0;
}

static void fetcher_done(struct fetcher *fetcher)
{
    for (size_t i = 0; i < fetcher->transfer_count; i++)
        transfer_done(&fetcher->transfers[i]);
    free(fetcher->transfers);
    host_table_free(fetcher->hosts);
}

static int run_all(struct fetcher *fetcher, const struct package_request *requests, size_t count,
                   size_t *transfer_of, struct package *results, struct err *e)
{
    const struct settings *settings = fetcher->options->settings;
    struct host_limits limits = {
        .parallel = settings->limits.parallel_per_host,
        .retry_base = settings->retry.rounds * RETRIES_PER_ROUND,
        .retry_per_item = RETRIES_PER_ITEM,
    };
    fetcher->hosts = host_table_new(&limits, e);
    fetcher->transfers = calloc(count, sizeof *fetcher->transfers);
    if (fetcher->hosts == NULL || fetcher->transfers == NULL)
        return err_set(e, ERR_MEMORY, "out of memory");
    if (assign(fetcher, requests, count, transfer_of, results, e) < 0)
        return -1;
    CLEANUP(progress_cleanup) struct progress *progress = progress_new(fetcher, e);
    if (progress == NULL)
        return -1;
    int result = run(fetcher, progress, e);
    for (size_t i = 0; i < count; i++)
        if (fetcher->transfers[transfer_of[i]].result != &results[i])
            results[i] = *fetcher->transfers[transfer_of[i]].result;
    return result;
}

/* A probe leaves nothing behind: a dry run works where nothing can be written. */
static bool are_all_probes(const struct package_request *requests, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!requests[i].probe_only)
            return false;
    return true;
}

int fetch_run(const struct fetch_options *options, const struct package_request *requests, size_t count,
              struct arena *arena, struct package *results, struct err *e)
{
    if (count == 0)
        return 0;
    if (!are_all_probes(requests, count) && cache_prepare(options->cache_dir, e) < 0)
        return -1;
    struct fetcher fetcher = {.options = options, .arena = arena, .gathered_due_ms = INT64_MAX};
    err_init(&fetcher.fatal);
    cache_commit_begin(&fetcher.commit, options->cache_dir);
    fetcher.folders_synced_ms = now_ms(&fetcher);
    size_t *transfer_of = calloc(count, sizeof *transfer_of);
    int result = transfer_of == NULL ? err_set(e, ERR_MEMORY, "out of memory")
                                     : run_all(&fetcher, requests, count, transfer_of, results, e);
    fetcher_done(&fetcher);
    free(transfer_of);
    return result;
}
