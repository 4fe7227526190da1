/* The bytes of a body: into the partial and its digest as they come, and, when they are all there, the proofs
 * that make a package of them. */
#include "base/files.h"
#include "base/text.h"
#include "base/url.h"
#include "fetch/cache.h"
#include "fetch/disposition.h"
#include "fetch/sniff.h"
#include "fetch/transfer.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

static int refuse(struct transfer *transfer, enum retry_cause cause, const char *text)
{
    transfer->verdict = VERDICT_REFUSED;
    transfer->cause = cause;
    transfer->cause_text = text;
    return -1;
}

static int local_trouble(struct transfer *transfer, const struct err *e)
{
    if (transfer->partial.disk_is_full)
        return refuse(
            transfer, CAUSE_NO_SPACE,
            transfer_text(transfer, "no disk space left in %s", transfer->fetcher->options->cache_dir));
    if (e->class == ERR_MEMORY)
        err_fill(&transfer->fetcher->fatal, ERR_MEMORY, "%s", e->text);
    transfer->verdict = VERDICT_LOCAL;
    transfer->cause_text = transfer_text(transfer, "%s", e->text);
    return -1;
}

/* The extension that counts: the URL's if it is a known one, else the name's that the server gave. */
static const char *declared_name(const struct transfer *transfer, char *out, size_t size)
{
    url_file_name(transfer->request.url, out, size);
    if (sniff_knows(out) || transfer->partial.file_name == NULL)
        return out;
    return transfer->partial.file_name;
}

/* What is wrong with the file's beginning; NULL: nothing. */
static const char *look_at_beginning(const struct transfer *transfer)
{
    char bytes[SNIFF_BYTES], name[URL_TEXT_BYTES];
    ssize_t got;
    do
        got = pread(transfer->partial.file, bytes, sizeof bytes, 0);
    while (got < 0 && errno == EINTR);
    return sniff_refuse(declared_name(transfer, name, sizeof name), bytes, got < 0 ? 0 : (size_t)got);
}

static const char *describe_wrong_type(struct transfer *transfer, const char *what)
{
    char shown[URL_TEXT_BYTES];
    return transfer_text(transfer, "%s came instead of a package (from %s, Content-Type %s)", what,
                         transfer->hop_url == NULL ? "a former run"
                                                   : url_redact(transfer->hop_url, shown, sizeof shown),
                         transfer->content_type == NULL ? "not given" : transfer->content_type);
}

int transfer_take(struct transfer *transfer, const void *bytes, size_t length)
{
    struct partial *partial = &transfer->partial;
    const struct limits *limits = &transfer->fetcher->options->settings->limits;
    struct err e;
    char size[TEXT_SIZE_BYTES];
    err_init(&e);
    uint64_t end = partial->size_bytes + length;
    if (limits->max_package_bytes > 0 && end > (uint64_t)limits->max_package_bytes)
        return refuse(transfer, CAUSE_TOO_LARGE,
                      transfer_text(transfer, "too large: more than %s (limit)",
                                    text_size((uint64_t)limits->max_package_bytes, size)));
    if (partial->expected_bytes >= 0 && end > (uint64_t)partial->expected_bytes)
        return refuse(transfer, CAUSE_BAD_RANGE, "more bytes came than were announced");
    if (partial_append(partial, bytes, length, &e) < 0)
        return local_trouble(transfer, &e);
    transfer->attempt.bytes += length;
    transfer->fetcher->received_bytes += length;
    transfer_note_progress(transfer, transfer_now(transfer));
    if (transfer->has_sniffed || partial->size_bytes < SNIFF_BYTES || transfer->request.sha256 != NULL)
        return 0;
    transfer->has_sniffed = true;
    const char *what = look_at_beginning(transfer);
    return what == NULL ? 0 : refuse(transfer, CAUSE_WRONG_TYPE, describe_wrong_type(transfer, what));
}

static void tell_validators(const struct transfer *transfer)
{
    const struct memory_sink *memory = transfer->fetcher->options->memory;
    const struct package *result = transfer->result;
    bool is_primary = transfer->source == &transfer->sources.items[0];
    if (memory == NULL || memory->validator == NULL || transfer->request.sha256 != NULL || !is_primary)
        return;
    struct remembered_validator validator = {
        .url = transfer->request.url,
        .etag = transfer->etag == NULL ? "" : transfer->etag,
        .last_modified = transfer->last_modified == NULL ? "" : transfer->last_modified,
        .sha256 = result->sha256,
        .file_name = result->file_name,
        .size_bytes = result->size_bytes,
    };
    memory->validator(memory->context, &validator);
}

static void keep(struct transfer *transfer, const char *hex)
{
    struct partial *partial = &transfer->partial;
    struct package *result = transfer->result;
    const char *cache_dir = transfer->fetcher->options->cache_dir;
    char path[PATH_MAX], name[FILE_NAME_BYTES];
    struct err e;
    err_init(&e);
    if (cache_path(cache_dir, hex, path, &e) < 0 || cache_commit(cache_dir, partial->path, hex, &e) < 0) {
        transfer_close_attempt(transfer, e.text);
        transfer_fail(transfer, e.class, "%s", e.text);
        return;
    }
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
}

/* Bytes that are proven wrong are never an input to the next attempt. */
static void drop_bytes(struct transfer *transfer)
{
    struct err e;
    err_init(&e);
    if (partial_restart(&transfer->partial, &e) < 0)
        partial_discard(&transfer->partial);
    transfer->highest_bytes = transfer->progress_base = 0;
}

static void wrong_digest(struct transfer *transfer, const char *hex, const char *impostor)
{
    char shown[URL_TEXT_BYTES];
    const char *text;
    bool is_doubtful = transfer->partial.is_resumed && !transfer->had_clean_restart;
    if (is_doubtful) {
        transfer->had_clean_restart = true;
        text = transfer_text(transfer, "the resumed file's digest is wrong (expected %s, got %s)",
                             transfer->request.sha256, hex);
    } else {
        text = transfer_text(
            transfer,
            "upstream changed: expected %s, got %s%s%s (from %s, Content-Type %s); update the pinned "
            "digest if the new bytes are wanted",
            transfer->request.sha256, hex, impostor == NULL ? "" : ", which is ",
            impostor == NULL ? "" : impostor,
            transfer->hop_url == NULL ? "a former run's file"
                                      : url_redact(transfer->hop_url, shown, sizeof shown),
            transfer->content_type == NULL ? "not given" : transfer->content_type);
    }
    drop_bytes(transfer);
    transfer_failed_by_cause(transfer, is_doubtful ? CAUSE_RESUMED_MISMATCH : CAUSE_DIGEST_MISMATCH, text);
}

void transfer_complete(struct transfer *transfer)
{
    struct partial *partial = &transfer->partial;
    char hex[DIGEST_HEX_BYTES];
    struct err e;
    err_init(&e);
    if (partial->size_bytes == 0) {
        transfer_failed_by_cause(transfer, CAUSE_EMPTY, "the answer is empty (0 bytes)");
        return;
    }
    const char *wrong = look_at_beginning(transfer);
    if (wrong != NULL && transfer->request.sha256 == NULL) {
        const char *text = describe_wrong_type(transfer, wrong);
        drop_bytes(transfer);
        transfer_failed_by_cause(transfer, CAUSE_WRONG_TYPE, text);
        return;
    }
    if (partial_finish(partial, hex, &e) < 0) {
        bool is_full = partial->disk_is_full;
        partial_discard(partial);
        transfer_fail(transfer, e.class, "%s%s", is_full ? "no disk space left: " : "", e.text);
        return;
    }
    if (transfer->request.sha256 != NULL && strcmp(hex, transfer->request.sha256) != 0)
        wrong_digest(transfer, hex, wrong);
    else
        keep(transfer, hex);
}
