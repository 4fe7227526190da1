/* What an answer's headers mean for the file: take the body, from the start or where the partial ends, go
 * elsewhere, or leave it. Nothing is believed that was not asked for. */
#include "base/files.h"
#include "base/text.h"
#include "base/url.h"
#include "fetch/disposition.h"
#include "fetch/origin.h"
#include "fetch/range.h"
#include "fetch/sniff.h"
#include "fetch/transfer.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { TARGET_BYTES = 16 * 1024 };

static enum verdict refuse(struct transfer *transfer, enum retry_cause cause, const char *text)
{
    transfer->cause = cause;
    transfer->cause_text = text;
    return VERDICT_REFUSED;
}

static enum verdict local_trouble(struct transfer *transfer, const struct err *e)
{
    if (e->class == ERR_MEMORY)
        err_fill(&transfer->fetcher->fatal, ERR_MEMORY, "%s", e->text);
    transfer->cause_text = transfer_text(transfer, "%s", e->text);
    return VERDICT_LOCAL;
}

static bool is_encoded(const struct http_answer *answer)
{
    const char *encoding = http_header(answer, "Content-Encoding");
    return !text_is_empty(encoding) && strcasecmp(encoding, "identity") != 0;
}

static void remember_headers(struct transfer *transfer, const struct http_answer *answer)
{
    const char *type = http_header(answer, "Content-Type");
    const char *etag = http_header(answer, "ETag");
    const char *modified = http_header(answer, "Last-Modified");
    transfer->content_type = type == NULL ? NULL : transfer_text(transfer, "%.100s", type);
    transfer->content_encoding =
        is_encoded(answer) ? transfer_text(transfer, "%.40s", http_header(answer, "Content-Encoding")) : NULL;
    bool keeps_etag = etag != NULL && strlen(etag) <= VALIDATOR_BYTES;
    bool keeps_modified = modified != NULL && strlen(modified) <= VALIDATOR_BYTES;
    transfer->etag = keeps_etag ? transfer_text(transfer, "%s", etag) : "";
    transfer->last_modified = keeps_modified ? transfer_text(transfer, "%s", modified) : "";
}

static const char *fault_of_target(const char *target)
{
    if (strlen(target) > TARGET_BYTES)
        return "this URL is longer than 16 KiB (limit)";
    for (const char *at = target; *at != '\0'; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7F)
            return "its Location holds control characters";
    if (url_is_http(target))
        return NULL;
    bool is_http = strncasecmp(target, "http://", 7) == 0 || strncasecmp(target, "https://", 8) == 0;
    return is_http ? "its host or port can't be read" : "only http and https are followed";
}

static enum verdict judge_redirect(struct transfer *transfer, const struct http_answer *answer)
{
    const struct limits *limits = &transfer->fetcher->options->settings->limits;
    const char *target = answer->redirect_url;
    char shown[URL_TEXT_BYTES];
    if (target == NULL)
        return refuse(transfer, CAUSE_BAD_REDIRECT,
                      transfer_text(transfer, "HTTP %d without a target", answer->status));
    url_redact(target, shown, sizeof shown);
    const char *fault = fault_of_target(target);
    if (fault != NULL)
        return refuse(transfer, CAUSE_BAD_REDIRECT,
                      transfer_text(transfer, "redirect to %s: %s", shown, fault));
    if (origin_is_https(transfer->hop_url) && !origin_is_https(target))
        return refuse(transfer, CAUSE_BAD_REDIRECT,
                      transfer_text(transfer, "redirect from https to %s is not followed", shown));
    if (transfer->hop_count >= limits->max_redirects)
        return refuse(transfer, CAUSE_REDIRECT_LOOP,
                      transfer_text(transfer, "more than %lld redirects, the last to %s",
                                    (long long)limits->max_redirects, shown));
    transfer->redirect_url = origin_carry_userinfo(transfer->hop_url, target);
    if (transfer->redirect_url == NULL) {
        struct err e;
        err_init(&e);
        err_fill(&e, ERR_MEMORY, "out of memory");
        return local_trouble(transfer, &e);
    }
    return VERDICT_REDIRECT;
}

/* What all transfers under way will still write. */
static uint64_t promised_bytes(const struct fetcher *fetcher, const struct transfer *except)
{
    uint64_t promised = 0;
    for (size_t i = 0; i < fetcher->transfer_count; i++) {
        const struct transfer *other = &fetcher->transfers[i];
        const struct partial *partial = &other->partial;
        uint64_t written = partial->size_bytes - partial->gathered_bytes;
        if (other != except && other->state == TRANSFER_REQUESTING && partial->file >= 0 &&
            partial->expected_bytes > (int64_t)written)
            promised += (uint64_t)partial->expected_bytes - written;
    }
    return promised;
}

enum verdict transfer_check_room(struct transfer *transfer, uint64_t own_bytes)
{
    uint64_t needed_bytes = own_bytes + promised_bytes(transfer->fetcher, transfer);
    const struct fetch_options *options = transfer->fetcher->options;
    char size[TEXT_SIZE_BYTES], other[TEXT_SIZE_BYTES];
    struct err e;
    err_init(&e);
    uint64_t free_bytes;
    if (folder_free_bytes(options->cache_dir, &free_bytes, &e) < 0)
        return local_trouble(transfer, &e);
    if (needed_bytes > free_bytes && options->make_room != NULL) {
        options->make_room(options->make_room_context, needed_bytes);
        if (folder_free_bytes(options->cache_dir, &free_bytes, &e) < 0)
            return local_trouble(transfer, &e);
    }
    if (needed_bytes <= free_bytes)
        return VERDICT_BODY;
    return refuse(transfer, CAUSE_NO_SPACE,
                  transfer_text(transfer, "no disk space: %s needed with the other downloads, %s free in %s",
                                text_size(needed_bytes, size), text_size(free_bytes, other),
                                options->cache_dir));
}

/* VERDICT_BODY if a file of that length may come. */
static enum verdict check_size(struct transfer *transfer, int64_t total_bytes, uint64_t offset)
{
    const struct fetch_options *options = transfer->fetcher->options;
    char size[TEXT_SIZE_BYTES], other[TEXT_SIZE_BYTES];
    if (total_bytes < 0)
        return VERDICT_BODY;
    if (options->settings->limits.max_package_bytes > 0 &&
        total_bytes > options->settings->limits.max_package_bytes)
        return refuse(transfer, CAUSE_TOO_LARGE,
                      transfer_text(transfer, "too large: %s announced, the limit is %s",
                                    text_size((uint64_t)total_bytes, size),
                                    text_size((uint64_t)options->settings->limits.max_package_bytes, other)));
    return transfer_check_room(transfer, (uint64_t)total_bytes - offset);
}

static const char *choose_name(struct transfer *transfer, const struct http_answer *answer,
                               char out[FILE_NAME_BYTES])
{
    return disposition_choose(http_header(answer, "Content-Disposition"), transfer->hop_url,
                              transfer->request.url, out);
}

/* VERDICT_BODY if the body's end will show; *length: as announced. */
static enum verdict judge_end(struct transfer *transfer, const struct http_answer *answer, int64_t *length)
{
    char limit[TEXT_SIZE_BYTES];
    switch (range_body_end(answer, length)) {
    case BODY_END_LENGTH:
    case BODY_END_CHUNKS:
        return VERDICT_BODY;
    case BODY_END_CLOSE:
        transfer->ends_by_close = true;
        if (transfer->request.sha256 != NULL)
            return VERDICT_BODY; /* the digest tells */
        return refuse(transfer, CAUSE_NO_LENGTH,
                      "the answer has no length, so that a cut package could not be told from a whole one; "
                      "pin it with hash_sha256");
    case BODY_END_ODD:
        return refuse(transfer, CAUSE_BAD_LENGTH,
                      "the answer's Content-Length is no number, or contradicts itself");
    case BODY_END_TOO_LARGE:
        break;
    }
    int64_t most = transfer->fetcher->options->settings->limits.max_package_bytes;
    return refuse(transfer, CAUSE_TOO_LARGE,
                  most > 0 ? transfer_text(transfer, "too large: more than 8 EiB announced, the limit is %s",
                                           text_size((uint64_t)most, limit))
                           : "too large: more than 8 EiB announced");
}

/* A whole body: whatever was kept gives way to it. */
static enum verdict judge_whole(struct transfer *transfer, const struct http_answer *answer)
{
    struct partial *partial = &transfer->partial;
    struct err e;
    char name[FILE_NAME_BYTES], declared[URL_TEXT_BYTES];
    err_init(&e);
    if (!partial_is_open(partial)) {
        transfer->cause_text = transfer->no_partial;
        return VERDICT_LOCAL;
    }
    choose_name(transfer, answer, name);
    int64_t length;
    enum verdict verdict = judge_end(transfer, answer, &length);
    if (verdict != VERDICT_BODY)
        return verdict;
    bool is_pinned = transfer->request.sha256 != NULL;
    if (length == 0)
        return refuse(transfer, CAUSE_EMPTY, "the answer is empty (0 bytes)");
    /* Some servers label a file that is compressed by itself (.tar.gz) so. Whether these bytes are the file,
     * only a digest or its first bytes can tell. */
    if (is_encoded(answer) && !is_pinned &&
        !sniff_has_magic(transfer_declared_name(transfer, name, declared, sizeof declared)))
        return refuse(transfer, CAUSE_ENCODED,
                      transfer_text(transfer, "sent with Content-Encoding %.40s, which was not asked for",
                                    http_header(answer, "Content-Encoding")));
    verdict = check_size(transfer, length, 0);
    if (verdict != VERDICT_BODY)
        return verdict;
    if (partial_restart(partial, &e) < 0)
        return local_trouble(transfer, &e);
    const char *validator = is_encoded(answer) ? NULL : range_strong_validator(answer);
    if (partial_describe(partial, transfer->source->url, validator, length, name, &e) < 0)
        return local_trouble(transfer, &e);
    transfer->attempt.resumed_from = 0;
    transfer->body_end = length < 0 ? UINT64_MAX : (uint64_t)length;
    transfer->room_due_bytes = length < 0 ? 0 : UINT64_MAX;
    remember_headers(transfer, answer);
    return VERDICT_BODY;
}

static bool can_splice(const struct transfer *transfer, const struct http_answer *answer,
                       struct content_range *range)
{
    const struct partial *partial = &transfer->partial;
    if (!transfer->has_sent_range || !range_parse(http_header(answer, "Content-Range"), range) ||
        range->is_unsatisfied || !range->total_is_known || is_encoded(answer))
        return false;
    int64_t length = range_content_length(answer);
    if (length >= 0 && (uint64_t)length != range->last - range->first + 1)
        return false;
    if (range->first != partial->size_bytes ||
        (partial->expected_bytes >= 0 && range->total != (uint64_t)partial->expected_bytes))
        return false;
    /* A server that ignores If-Range and splices another version would say so here. */
    const char *validator = range_strong_validator(answer);
    bool is_same_source = partial_is_from(partial, transfer->source->url);
    return !is_same_source || partial->validator == NULL || validator == NULL ||
           strcmp(validator, partial->validator) == 0;
}

static enum verdict judge_part(struct transfer *transfer, const struct http_answer *answer)
{
    struct partial *partial = &transfer->partial;
    struct content_range range;
    struct err e;
    char name[FILE_NAME_BYTES];
    err_init(&e);
    if (!can_splice(transfer, answer, &range))
        return VERDICT_NO_SPLICE;
    enum verdict verdict = check_size(transfer, (int64_t)range.total, partial->size_bytes);
    if (verdict != VERDICT_BODY)
        return verdict;
    bool is_same_source = partial_is_from(partial, transfer->source->url);
    if (!is_same_source || partial->expected_bytes < 0) {
        const char *validator = range_strong_validator(answer);
        const char *kept = is_same_source && validator == NULL && partial->validator != NULL
                               ? transfer_text(transfer, "%s", partial->validator)
                               : validator;
        choose_name(transfer, answer, name);
        if (partial_describe(partial, transfer->source->url, kept, (int64_t)range.total, name, &e) < 0)
            return local_trouble(transfer, &e);
    }
    partial->is_resumed = true;
    transfer->body_end = range.last + 1;
    transfer->room_due_bytes = UINT64_MAX;
    remember_headers(transfer, answer);
    return VERDICT_BODY;
}

static enum verdict judge_unsatisfied(struct transfer *transfer, const struct http_answer *answer)
{
    struct content_range range;
    if (!transfer->has_sent_range)
        return VERDICT_STATUS;
    bool is_all = range_parse(http_header(answer, "Content-Range"), &range) && range.is_unsatisfied &&
                  range.total == transfer->partial.size_bytes && transfer->request.sha256 != NULL;
    return is_all ? VERDICT_COMPLETE : VERDICT_NO_SPLICE;
}

static enum verdict judge_probe(const struct transfer *transfer, const struct http_answer *answer)
{
    if (answer->status == 304 ||
        range_etags_match(http_header(answer, "ETag"), transfer->request.known->etag))
        return VERDICT_NOT_MODIFIED;
    return answer->status == 200 || answer->status == 206 || answer->status == 416 ? VERDICT_CHANGED
                                                                                   : VERDICT_STATUS;
}

enum verdict transfer_judge(struct transfer *transfer, const struct http_answer *answer)
{
    const struct clock *clock = transfer->fetcher->options->clock;
    transfer->attempt.status = answer->status;
    transfer->retry_after_ms = retry_after_ms(answer, clock->wall_ms(clock->context));
    if (answer->status >= 300 && answer->status <= 399 && answer->status != 304)
        return judge_redirect(transfer, answer);
    if (transfer->request.probe_only && transfer->has_sent_condition &&
        (answer->status < 400 || answer->status == 416))
        return judge_probe(transfer, answer);
    switch (answer->status) {
    case 200:
    case 203:
        return transfer->request.probe_only ? VERDICT_CHANGED : judge_whole(transfer, answer);
    case 206:
        return transfer->request.probe_only ? VERDICT_CHANGED : judge_part(transfer, answer);
    case 204:
    case 205:
        return refuse(transfer, CAUSE_EMPTY, "the answer is empty (0 bytes)");
    case 304:
        return transfer->has_sent_condition
                   ? VERDICT_NOT_MODIFIED
                   : refuse(transfer, CAUSE_WRONG_TYPE, "a 304 that nobody asked for");
    case 412:
        return transfer->has_sent_range ? VERDICT_NO_SPLICE : VERDICT_STATUS;
    case 416:
        return judge_unsatisfied(transfer, answer);
    default:
        return answer->status >= 200 && answer->status <= 299
                   ? refuse(transfer, CAUSE_WRONG_TYPE,
                            transfer_text(transfer, "HTTP %d is no answer to a download", answer->status))
                   : VERDICT_STATUS;
    }
}
