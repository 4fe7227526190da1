/* A package's bytes on their way back from the server, for a team that can't get them by digest alone:
 * streamed into a file and hashed. */
#include "base/files.h"
#include "fleet/call.h"
#include "fleet/client.h"
#include "fleet/fleet_private.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { PATH_BYTES = 512 };

static void call_cleanup(struct call *call)
{
    call_done(call);
}

struct download {
    struct digest *digest;
    int file;
    uint64_t size, limit;
    struct err err;
};

static int take_bytes(void *context, const void *bytes, size_t length)
{
    struct download *download = context;
    download->size += length;
    if (download->size > download->limit)
        return err_set(&download->err, ERR_SERVER, "the package is larger than the limit (max-package-size)");
    if (digest_update(download->digest, bytes, length, &download->err) < 0)
        return -1;
    return file_write_all(download->file, bytes, length, &download->err);
}

static int restart_download(void *context, struct err *e)
{
    struct download *download = context;
    download->size = 0;
    if (ftruncate(download->file, 0) < 0 || lseek(download->file, 0, SEEK_SET) < 0)
        return err_set_errno(e, "can't empty the file for the package");
    return digest_restart(download->digest, e);
}

int fleet_download_package(struct fleet *fleet, int64_t team_id, int64_t title_id, const char *path,
                           char sha256[DIGEST_HEX_BYTES], uint64_t *size_bytes, struct err *e)
{
    char url_path[PATH_BYTES];
    snprintf(url_path, sizeof url_path, "/software/titles/%" PRId64 "/package?alt=media&team_id=%" PRId64,
             title_id, team_id);
    CLEANUP(file_close_cleanup) int file = open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_TRUNC, 0600);
    if (file < 0)
        return err_set_errno(e, "can't make %s", path);
    CLEANUP(digest_cleanup) struct digest *digest = digest_new(e);
    if (digest == NULL)
        return -1;
    struct download download = {
        .digest = digest, .file = file, .limit = (uint64_t)fleet->options.settings->limits.max_package_bytes};
    err_init(&download.err);
    CLEANUP(call_cleanup)
    struct call call = {.name = "GET /software/titles/{id}/package",
                        .method = "GET",
                        .path = url_path,
                        .right = "download packages of this team",
                        .on_body = take_bytes,
                        .on_start = restart_download,
                        .context = &download};
    struct err trouble;
    err_init(&trouble);
    if (call_read(fleet, &call, &trouble) < 0)
        return err_is_set(&download.err) ? err_set(e, download.err.class, "%s", download.err.text)
                                         : err_set(e, trouble.class, "%s", trouble.text);
    *size_bytes = download.size;
    return digest_finish(digest, sha256, e);
}
