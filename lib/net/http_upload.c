/* multipart/form-data bodies: files are streamed from disk into curl, and hashed on the way, so that memory
 * stays flat and what was sent is known. */
#include "net/http_exchange.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct upload_part {
    struct http_exchange *exchange;
    const struct http_part *part;
    int file;
    uint64_t sent_bytes;
};

static size_t read_part(char *out, size_t size, size_t count, void *context)
{
    struct upload_part *upload = context;
    struct err *failure = &upload->exchange->failure;
    if (upload->exchange->is_cancelled)
        return CURL_READFUNC_ABORT;
    uint64_t left = upload->part->file_bytes - upload->sent_bytes;
    size_t wanted = size * count;
    if (wanted > left)
        wanted = (size_t)left;
    ssize_t got;
    do
        got = read(upload->file, out, wanted);
    while (got < 0 && errno == EINTR);
    if (got < 0) {
        err_fill_errno(failure, "can't read %s", upload->part->file_path);
        return CURL_READFUNC_ABORT;
    }
    if (got == 0 && wanted > 0) {
        err_fill(failure, ERR_SYSTEM, "%s became shorter while it was sent", upload->part->file_path);
        return CURL_READFUNC_ABORT;
    }
    if (upload->part->digest != NULL && digest_update(upload->part->digest, out, (size_t)got, failure) < 0)
        return CURL_READFUNC_ABORT;
    upload->sent_bytes += (uint64_t)got;
    return (size_t)got;
}

/* Back to the start only: that is all a request that is sent anew needs. */
static int seek_part(void *context, curl_off_t offset, int origin)
{
    struct upload_part *upload = context;
    if (upload->exchange->is_cancelled || offset != 0 || origin != SEEK_SET ||
        lseek(upload->file, 0, SEEK_SET) != 0)
        return CURL_SEEKFUNC_FAIL;
    upload->sent_bytes = 0;
    if (upload->part->digest != NULL && digest_restart(upload->part->digest, &upload->exchange->failure) < 0)
        return CURL_SEEKFUNC_FAIL;
    return CURL_SEEKFUNC_OK;
}

static int add_file(struct http_exchange *exchange, curl_mimepart *target, const struct http_part *part,
                    struct err *e)
{
    struct upload_part *upload = &exchange->uploads[exchange->upload_count++];
    *upload = (struct upload_part){.exchange = exchange, .part = part, .file = -1};
    upload->file = open(part->file_path, O_RDONLY | O_CLOEXEC);
    if (upload->file < 0)
        return err_set_errno(e, "can't open %s", part->file_path);
    if (part->digest != NULL && digest_restart(part->digest, e) < 0)
        return -1;
    if (curl_mime_data_cb(target, (curl_off_t)part->file_bytes, read_part, seek_part, NULL, upload) !=
            CURLE_OK ||
        curl_mime_filename(target, part->file_name) != CURLE_OK ||
        curl_mime_type(target, "application/octet-stream") != CURLE_OK)
        return err_set(e, ERR_MEMORY, "out of memory");
    return 0;
}

int exchange_add_parts(struct http_exchange *exchange, struct err *e)
{
    const struct http_request *request = &exchange->request;
    exchange->mime = curl_mime_init(exchange->transfer.easy);
    exchange->uploads = calloc(request->part_count, sizeof *exchange->uploads);
    if (exchange->mime == NULL || exchange->uploads == NULL)
        return err_set(e, ERR_MEMORY, "out of memory");
    for (size_t i = 0; i < request->part_count; i++) {
        const struct http_part *part = &request->parts[i];
        curl_mimepart *target = curl_mime_addpart(exchange->mime);
        if (target == NULL || curl_mime_name(target, part->name) != CURLE_OK)
            return err_set(e, ERR_MEMORY, "out of memory");
        if (part->text == NULL) {
            if (add_file(exchange, target, part, e) < 0)
                return -1;
        } else if (curl_mime_data(target, part->text, part->text_length) != CURLE_OK) {
            return err_set(e, ERR_MEMORY, "out of memory");
        }
    }
    return 0;
}

void exchange_drop_parts(struct http_exchange *exchange)
{
    curl_mime_free(exchange->mime);
    exchange->mime = NULL;
    for (size_t i = 0; i < exchange->upload_count; i++)
        if (exchange->uploads[i].file >= 0)
            close(exchange->uploads[i].file);
    free(exchange->uploads);
    exchange->uploads = NULL;
    exchange->upload_count = 0;
}
