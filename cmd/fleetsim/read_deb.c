/* Name and version of a .deb: an ar archive whose member control.tar (plain or .gz) holds the file "control".
 */
#include "base/files.h"
#include "base/text.h"
#include "json.h"
#include "package_meta.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { AR_MAGIC_BYTES = 8, AR_HEADER_BYTES = 60, TAR_BLOCK_BYTES = 512, CONTROL_MAX_BYTES = 8 * 1024 * 1024 };

/* One member's name (without padding and slash) and where its bytes lie. */
struct ar_member {
    char name[17];
    off_t offset;
    off_t size;
};

static int read_member(int file, off_t at, struct ar_member *out)
{
    char header[AR_HEADER_BYTES + 1] = "";
    if (pread(file, header, AR_HEADER_BYTES, at) != AR_HEADER_BYTES || memcmp(header + 58, "`\n", 2) != 0)
        return -1;
    memcpy(out->name, header, 16);
    out->name[16] = '\0';
    out->name[strcspn(out->name, " /")] = '\0';
    out->offset = at + AR_HEADER_BYTES;
    out->size = strtoll(header + 48, NULL, 10);
    return out->size < 0 ? -1 : 0;
}

static int find_control(int file, struct ar_member *member)
{
    off_t at = AR_MAGIC_BYTES;
    while (read_member(file, at, member) == 0) {
        if (text_starts_with(member->name, "control.tar"))
            return 0;
        at = member->offset + member->size + (member->size & 1);
    }
    return -1;
}

static int inflate_into(const char *bytes, size_t length, struct buf *out, struct err *e)
{
    char slice[16 * 1024];
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)length};
    if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK)
        return err_set(e, ERR_MEMORY, "out of memory");
    int status = Z_OK;
    int result = 0;
    while (status == Z_OK && result == 0) {
        stream.next_out = (Bytef *)slice;
        stream.avail_out = sizeof slice;
        status = inflate(&stream, Z_NO_FLUSH);
        if (status == Z_OK || status == Z_STREAM_END)
            result = buf_add(out, slice, sizeof slice - stream.avail_out, e);
    }
    inflateEnd(&stream);
    if (status != Z_STREAM_END || result < 0)
        return err_set(e, ERR_SERVER, "the control archive is damaged");
    return 0;
}

static void copy_field(const char *control, const char *field, char *out, size_t size)
{
    size_t length = strlen(field);
    for (const char *line = control; line != NULL && *line != '\0';) {
        const char *end = strchr(line, '\n');
        if (strncmp(line, field, length) == 0) {
            const char *value = line + length + strspn(line + length, " \t");
            snprintf(out, size, "%.*s", (int)strcspn(value, "\r\n"), value);
            return;
        }
        line = end != NULL ? end + 1 : NULL;
    }
}

/* Looks for the file "control" in a tar archive. */
static int read_tar(const char *tar, size_t length, struct package_meta *out, struct err *e)
{
    for (size_t at = 0; at + TAR_BLOCK_BYTES <= length && tar[at] != '\0';) {
        char name[101] = "", octal[13] = "";
        memcpy(name, tar + at, 100);
        memcpy(octal, tar + at + 124, 12);
        size_t size = (size_t)strtoull(octal, NULL, 8);
        size_t from = at + TAR_BLOCK_BYTES;
        if (size > length - from)
            break;
        if (text_equal(name, "./control") || text_equal(name, "control")) {
            CLEANUP(file_free_cleanup) char *control = allocate(size + 1);
            memcpy(control, tar + from, size);
            copy_field(control, "Package:", out->name, sizeof out->name);
            copy_field(control, "Version:", out->version, sizeof out->version);
            return 0;
        }
        at = from + (size + TAR_BLOCK_BYTES - 1) / TAR_BLOCK_BYTES * TAR_BLOCK_BYTES;
    }
    return err_set(e, ERR_SERVER, "no control file in the package");
}

int deb_read(const char *path, struct package_meta *out, struct err *e)
{
    struct ar_member member;
    CLEANUP(file_close_cleanup) int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return err_set_errno(e, "can't open %s", path);
    if (find_control(file, &member) < 0 || member.size > CONTROL_MAX_BYTES)
        return err_set(e, ERR_SERVER, "no control archive in the package");
    bool is_plain = text_equal(member.name, "control.tar");
    if (!is_plain && !text_equal(member.name, "control.tar.gz"))
        return 0; /* .xz, .zst: the file's name must do */
    CLEANUP(file_free_cleanup) char *bytes = allocate((size_t)member.size);
    if (pread(file, bytes, (size_t)member.size, member.offset) != member.size)
        return err_set(e, ERR_SERVER, "the package is cut");
    if (is_plain)
        return read_tar(bytes, (size_t)member.size, out, e);
    CLEANUP(buf_done) struct buf tar = BUF_INIT(CONTROL_MAX_BYTES);
    if (inflate_into(bytes, (size_t)member.size, &tar, e) < 0)
        return -1;
    return read_tar(buf_text(&tar), tar.length, out, e);
}
