/* Bytes that are in the cache already count once their digest was computed in this run; a damaged entry is
 * removed and fetched again. */
#include "base/text.h"
#include "fetch/cache.h"
#include "fetch/disposition.h"
#include "fetch/transfer.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void transfer_check_cached(struct transfer *transfer, const char *sha256)
{
    struct partial *check = &transfer->check;
    struct stat status;
    struct err e;
    char path[PATH_MAX];
    err_init(&e);
    partial_forget(check);
    check->digest = digest_new(&e);
    if (check->digest == NULL || cache_path(transfer->fetcher->options->cache_dir, sha256, path, &e) < 0) {
        transfer_fail_locally(transfer, &e);
        return;
    }
    check->path = strdup(path);
    check->file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (check->path == NULL) {
        err_fill(&e, ERR_MEMORY, "out of memory");
        transfer_fail_locally(transfer, &e);
        return;
    }
    memcpy(check->source, sha256, DIGEST_HEX_BYTES);
    check->size_bytes = check->file >= 0 && fstat(check->file, &status) == 0 ? (uint64_t)status.st_size : 0;
    transfer_set_state(transfer, TRANSFER_CHECKING);
}

static void keep_cached(struct transfer *transfer)
{
    struct package *result = transfer->result;
    const struct remembered_validator *known = transfer->request.known;
    char name[FILE_NAME_BYTES];
    const char *known_name =
        known != NULL && text_equal(known->sha256, transfer->check.source) && !text_is_empty(known->file_name)
            ? known->file_name
            : NULL;
    if (known_name != NULL)
        snprintf(name, sizeof name, "%s", known_name);
    else if (!cache_name(transfer->fetcher->options->cache_dir, transfer->check.source, name, sizeof name))
        disposition_choose(NULL, NULL, transfer->request.url, name);
    result->sha256 = transfer_text(transfer, "%s", transfer->check.source);
    result->path = transfer_text(transfer, "%s", transfer->check.path);
    result->file_name = transfer_text(transfer, "%s", name);
    result->size_bytes = transfer->check.size_bytes;
    cache_touch(transfer->fetcher->options->cache_dir, result->sha256);
    transfer_finish(transfer, PACKAGE_CACHED);
}

void transfer_continue_checking(struct transfer *transfer)
{
    struct partial *check = &transfer->check;
    const char *cache_dir = transfer->fetcher->options->cache_dir;
    char hex[DIGEST_HEX_BYTES];
    struct err e;
    err_init(&e);
    if (check->file < 0 || partial_hash_slice(check, HASH_SLICE_BYTES, &e) < 0) {
        if (e.class == ERR_MEMORY) {
            transfer_fatal(transfer, &e);
            return;
        }
        check->size_bytes = check->hashed_bytes; /* unreadable: as good as corrupt */
        memset(hex, 0, sizeof hex);
    } else if (check->hashed_bytes < check->size_bytes) {
        return;
    } else if (digest_finish(check->digest, hex, &e) < 0) {
        transfer_fail_locally(transfer, &e);
        return;
    }
    if (strcmp(hex, check->source) == 0) {
        keep_cached(transfer);
        return;
    }
    log_warning(transfer->fetcher->options->log, "cache",
                "%s: the cached file is damaged (sha256 %.8s…); it is removed and fetched again",
                transfer->name, check->source);
    cache_remove(cache_dir, check->source);
    partial_forget(check);
    transfer->is_conditional = false;
    if (partial_is_open(&transfer->partial))
        transfer_set_state(transfer, TRANSFER_READY);
    else
        transfer_begin(transfer);
}
