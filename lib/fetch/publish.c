/* Between the last byte and the cache. A sync for each file and folder would cost a commit of the file system
 * each; in a batch the first sync carries most of the others, and the slots are free for other downloads
 * meanwhile. The order is what makes it safe: no file gets its name before its bytes are on the disk. */
#include "fetch/publish.h"
#include "base/text.h"
#include "fetch/cache.h"
#include "fetch/disposition.h"
#include <string.h>

enum { BATCH_FILES = 32, BATCH_WAIT_MS = 100, FOLDER_SYNC_MS = 5000 };

void publish_add(struct transfer *transfer, const char *hex)
{
    struct fetcher *fetcher = transfer->fetcher;
    memcpy(transfer->publish_sha256, hex, DIGEST_HEX_BYTES);
    if (fetcher->publishing++ == 0)
        fetcher->publish_since_ms = transfer_now(transfer);
    transfer_set_state(transfer, TRANSFER_PUBLISHING);
}

int64_t publish_due_ms(const struct fetcher *fetcher)
{
    if (fetcher->publishing == 0)
        return INT64_MAX;
    bool is_due = fetcher->publishing >= BATCH_FILES || fetcher->busy == 0;
    return fetcher->publish_since_ms + (is_due ? 0 : BATCH_WAIT_MS);
}

static void tell_validators(struct transfer *transfer)
{
    const struct memory_sink *memory = transfer->fetcher->options->memory;
    const struct package *result = transfer->result;
    bool is_primary = transfer->source == &transfer->sources.items[0];
    if (memory == NULL || memory->validator == NULL || transfer->request.sha256 != NULL || !is_primary)
        return;
    char url_sha256[DIGEST_HEX_BYTES];
    struct err ignored;
    err_init(&ignored);
    if (digest_bytes(transfer->request.url, strlen(transfer->request.url), url_sha256, &ignored) < 0)
        return;
    struct remembered_validator validator = {
        .url_sha256 = transfer_text(transfer, "%s", url_sha256),
        .etag = transfer->etag == NULL ? "" : transfer->etag,
        .last_modified = transfer->last_modified == NULL ? "" : transfer->last_modified,
        .sha256 = result->sha256,
        .file_name = result->file_name,
        .size_bytes = result->size_bytes,
    };
    memory->validator(memory->context, &validator);
}

static void fail(struct transfer *transfer, const struct err *e)
{
    bool is_full = transfer->partial.disk_is_full;
    if (transfer->partial.sync_has_failed) /* what is in the file now nobody knows */
        partial_discard(&transfer->partial);
    transfer_close_attempt(transfer, e->text);
    transfer_fail(transfer, e->class, "%s%s", is_full ? "no disk space left: " : "", e->text);
}

static int finish(struct transfer *transfer, struct err *e)
{
    struct partial *partial = &transfer->partial;
    struct package *result = transfer->result;
    const char *cache_dir = transfer->fetcher->options->cache_dir, *hex = transfer->publish_sha256;
    char path[PATH_MAX], name[FILE_NAME_BYTES];
    if (cache_path(cache_dir, hex, path, e) < 0)
        return -1;
    disposition_choose(NULL, NULL, transfer->request.url, name);
    if (partial->file_name != NULL && !text_equal(partial->file_name, name))
        cache_set_name(cache_dir, hex, partial->file_name);
    result->sha256 = transfer_text(transfer, "%s", hex);
    result->path = transfer_text(transfer, "%s", path);
    result->file_name = transfer_text(transfer, "%s", partial->file_name != NULL ? partial->file_name : name);
    result->size_bytes = partial->size_bytes;
    partial_forget(partial);
    transfer_close_attempt(transfer, "");
    tell_validators(transfer);
    transfer_finish(transfer, PACKAGE_FETCHED);
    return 0;
}

/* A folder that can't be synced does no harm to what lies in it. */
static void sync_folders(struct fetcher *fetcher)
{
    struct err e;
    err_init(&e);
    if (cache_commit_sync(&fetcher->commit, &e) < 0)
        log_warning(fetcher->options->log, "cache", "%s; a power cut now would cost the downloads again",
                    e.text);
}

static int make_durable(struct transfer *transfer, struct err *e)
{
    return partial_sync(&transfer->partial, e);
}

static int give_name(struct transfer *transfer, struct err *e)
{
    return cache_commit_file(&transfer->fetcher->commit, transfer->partial.path, transfer->publish_sha256, e);
}

/* Whoever fails, fails alone. */
static void each_waiting(struct fetcher *fetcher, int (*step)(struct transfer *transfer, struct err *e))
{
    for (size_t i = 0; i < fetcher->transfer_count; i++) {
        struct transfer *transfer = &fetcher->transfers[i];
        struct err e;
        err_init(&e);
        if (transfer->state == TRANSFER_PUBLISHING && step(transfer, &e) < 0)
            fail(transfer, &e);
    }
}

void publish_all(struct fetcher *fetcher)
{
    each_waiting(fetcher, make_durable);
    each_waiting(fetcher, give_name);
    each_waiting(fetcher, finish);
    fetcher->publishing = 0;
    int64_t now = fetcher->options->clock->monotonic_ms(fetcher->options->clock->context);
    if (fetcher->ended == fetcher->transfer_count || now - fetcher->folders_synced_ms >= FOLDER_SYNC_MS) {
        fetcher->folders_synced_ms = now;
        sync_folders(fetcher);
    }
}

void publish_end(struct fetcher *fetcher)
{
    if (fetcher->publishing > 0)
        publish_all(fetcher);
    sync_folders(fetcher);
}
