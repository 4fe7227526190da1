/* The bytes of a body: into the partial and its digest as they come, and, when they are all there, the proofs
 * that make a package of them. */
#include "base/files.h"
#include "base/text.h"
#include "base/url.h"
#include "fetch/bandwidth.h"
#include "fetch/publish.h"
#include "fetch/sniff.h"
#include "fetch/transfer.h"
#include <string.h>

enum { LONGEST_GATHERED_MS = 200, ROOM_SLICE_BYTES = 256 * 1024 };

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

const char *transfer_declared_name(const struct transfer *transfer, const char *given, char *out, size_t size)
{
    url_file_name(transfer->request.url, out, size);
    return sniff_knows(out) || given == NULL ? out : given;
}

/* Whether the file, or its beginning, can't be the package. */
static bool is_refused(const struct transfer *transfer, bool is_whole, struct sniff_refusal *why)
{
    const struct partial *partial = &transfer->partial;
    char head[SNIFF_BYTES], tail[SNIFF_BYTES], name[URL_TEXT_BYTES];
    uint64_t size = partial->size_bytes;
    struct sniff_sample sample = {.head = head,
                                  .head_length = partial_read(partial, 0, head, sizeof head),
                                  .size_bytes = size,
                                  .content_type = transfer->content_type};
    if (is_whole) {
        sample.tail = tail;
        sample.tail_length =
            partial_read(partial, size < sizeof tail ? 0 : size - sizeof tail, tail, sizeof tail);
    }
    return sniff_refuses(transfer_declared_name(transfer, partial->file_name, name, sizeof name), &sample,
                         why);
}

static const char *describe_wrong_type(struct transfer *transfer, const struct sniff_refusal *why)
{
    char shown[URL_TEXT_BYTES];
    return transfer_text(
        transfer, "%s %s %s (from %s, Content-Type %s%s%s)", why->found == NULL ? "what came" : why->found,
        why->found == NULL ? "is not" : "came instead of", why->declared,
        transfer->hop_url == NULL ? "a former run" : url_redact(transfer->hop_url, shown, sizeof shown),
        transfer->content_type == NULL ? "not given" : transfer->content_type,
        transfer->content_encoding == NULL ? "" : ", Content-Encoding ",
        transfer->content_encoding == NULL ? "" : transfer->content_encoding);
}

int transfer_flush(struct transfer *transfer)
{
    struct err e;
    err_init(&e);
    return partial_flush(&transfer->partial, &e) < 0 ? local_trouble(transfer, &e) : 0;
}

int transfer_settle(struct transfer *transfer, bool is_whole)
{
    struct err e;
    err_init(&e);
    return partial_settle(&transfer->partial, is_whole, &e) < 0 ? local_trouble(transfer, &e) : 0;
}

int64_t transfer_flush_due_ms(const struct transfer *transfer)
{
    return transfer->partial.gathered_bytes == 0 ? INT64_MAX
                                                 : transfer->gathered_since_ms + LONGEST_GATHERED_MS;
}

/* A slow body must not lie in memory only: it would be lost with the process. */
static void note_gathering(struct transfer *transfer)
{
    struct fetcher *fetcher = transfer->fetcher;
    transfer->gathered_since_ms = transfer_now(transfer);
    int64_t due = transfer->gathered_since_ms + LONGEST_GATHERED_MS;
    if (due < fetcher->gathered_due_ms)
        fetcher->gathered_due_ms = due;
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
    if (end > transfer->body_end)
        return refuse(transfer, CAUSE_BAD_RANGE, "more bytes came than were announced");
    if (partial->size_bytes >= transfer->room_due_bytes) { /* nothing was promised to it */
        transfer->room_due_bytes = partial->size_bytes + ROOM_SLICE_BYTES;
        transfer->verdict = transfer_check_room(transfer, partial->gathered_bytes + length);
        if (transfer->verdict != VERDICT_BODY)
            return -1;
    }
    if (partial->gathered_bytes == 0)
        note_gathering(transfer);
    if (partial_append(partial, bytes, length, &e) < 0)
        return local_trouble(transfer, &e);
    transfer->attempt.bytes += length;
    transfer->fetcher->received_bytes += length;
    bandwidth_spend(transfer, length);
    transfer_note_progress(transfer, transfer_now(transfer));
    if (transfer->has_sniffed || partial->size_bytes < SNIFF_BYTES || transfer->request.sha256 != NULL)
        return 0;
    transfer->has_sniffed = true;
    struct sniff_refusal why;
    return is_refused(transfer, false, &why)
               ? refuse(transfer, CAUSE_WRONG_TYPE, describe_wrong_type(transfer, &why))
               : 0;
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

/* A body that only the connection's end has ended may have been cut there. */
static void maybe_cut(struct transfer *transfer, const char *hex)
{
    const char *text = transfer_text(
        transfer,
        "%llu bytes came without a length, with the wrong digest (expected %s, got %s): cut, or changed",
        (unsigned long long)transfer->partial.size_bytes, transfer->request.sha256, hex);
    drop_bytes(transfer);
    transfer_failed_by_cause(transfer, CAUSE_SHORT_BODY, text);
}

/* `impostor`: what came plainly is something else; NULL: it is not. */
static void wrong_digest(struct transfer *transfer, const char *hex, const struct sniff_refusal *impostor)
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
            transfer->request.sha256, hex,
            impostor == NULL          ? ""
            : impostor->found == NULL ? ", which is not "
                                      : ", which is ",
            impostor == NULL          ? ""
            : impostor->found == NULL ? impostor->declared
                                      : impostor->found,
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
    struct sniff_refusal why;
    bool is_impostor = is_refused(transfer, true, &why);
    if (is_impostor && transfer->request.sha256 == NULL) {
        const char *text = describe_wrong_type(transfer, &why);
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
    bool is_wrong = transfer->request.sha256 != NULL && strcmp(hex, transfer->request.sha256) != 0;
    if (is_wrong && transfer->ends_by_close && transfer->source != NULL && !is_impostor)
        maybe_cut(transfer, hex);
    else if (is_wrong)
        wrong_digest(transfer, hex, is_impostor ? &why : NULL);
    else
        publish_add(transfer, hex);
}
