/* What package_reply.c sends: one view at a time, so that no body is ever whole in memory. */
#include "body.h"
#include "base/files.h"
#include "json.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FALSIFIER = 0x55 };

struct body body_none(void)
{
    return (struct body){.file = -1};
}

struct body body_of_text(const char *text)
{
    return (struct body){.file = -1, .text = text, .size = strlen(text)};
}

struct body body_of_generated(const struct generated *generated)
{
    return (struct body){.file = -1, .generated = generated, .size = generated->size};
}

int body_open(struct body *body, const char *path, struct err *e)
{
    struct stat status;
    CLEANUP(file_close_cleanup) int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return err_set(e, ERR_NOT_FOUND, "no file %s", path);
    if (fstat(file, &status) < 0 || !S_ISREG(status.st_mode))
        return err_set(e, ERR_NOT_FOUND, "%s is no file", path);
    *body = (struct body){.file = file, .size = (uint64_t)status.st_size};
    file = -1;
    return 0;
}

void body_done(struct body *body)
{
    file_close_cleanup(&body->file);
    free(body->slice);
    *body = body_none();
}

static ssize_t original_view(struct body *body, uint64_t offset, const char **bytes)
{
    if (body->text != NULL) {
        *bytes = body->text + offset;
        return (ssize_t)(body->size - offset);
    }
    if (body->generated != NULL)
        return (ssize_t)generated_view(body->generated, offset, bytes);
    if (body->slice == NULL)
        body->slice = allocate(BODY_SLICE_BYTES);
    ssize_t got;
    do
        got = pread(body->file, body->slice, BODY_SLICE_BYTES, (off_t)offset);
    while (got < 0 && errno == EINTR);
    *bytes = body->slice;
    return got;
}

ssize_t body_view(struct body *body, uint64_t offset, const char **bytes)
{
    *bytes = NULL;
    if (offset >= body->size)
        return 0;
    ssize_t length = original_view(body, offset, bytes);
    if (length <= 0 || *bytes == NULL || !body->falsified)
        return length;
    if (length > BODY_SLICE_BYTES)
        length = BODY_SLICE_BYTES;
    if (body->slice == NULL)
        body->slice = allocate(BODY_SLICE_BYTES);
    for (ssize_t i = 0; i < length; i++)
        body->slice[i] = (char)((*bytes)[i] ^ FALSIFIER);
    *bytes = body->slice;
    return length;
}
