/* Name and version of an .rpm: a lead, a signature header, and the header whose entries say it. */
#include "base/files.h"
#include "json.h"
#include "package_meta.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    LEAD_BYTES = 96,
    INTRO_BYTES = 16,
    ENTRY_BYTES = 16,
    TAG_NAME = 1000,
    TAG_VERSION = 1001,
    HEADER_MAX_BYTES = 16 * 1024 * 1024
};

static uint32_t number(const char *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return ntohl(value);
}

/* The sizes of the header structure at `at`: index entries, then a store of values. */
static int read_intro(int file, off_t at, uint32_t *entries, uint32_t *store)
{
    static const char magic[] = {'\x8E', '\xAD', '\xE8', '\x01'};
    char intro[INTRO_BYTES];
    if (pread(file, intro, sizeof intro, at) != (ssize_t)sizeof intro ||
        memcmp(intro, magic, sizeof magic) != 0)
        return -1;
    *entries = number(intro + 8);
    *store = number(intro + 12);
    return *entries < HEADER_MAX_BYTES / ENTRY_BYTES && *store < HEADER_MAX_BYTES ? 0 : -1;
}

static void copy_value(const char *store, uint32_t size, uint32_t offset, char *out, size_t out_size)
{
    if (offset < size)
        snprintf(out, out_size, "%.*s", (int)strnlen(store + offset, size - offset), store + offset);
}

static int read_header(int file, off_t at, struct package_meta *out, struct err *e)
{
    uint32_t entries, size;
    if (read_intro(file, at, &entries, &size) < 0)
        return err_set(e, ERR_SERVER, "no header in the package");
    size_t index_bytes = (size_t)entries * ENTRY_BYTES;
    CLEANUP(file_free_cleanup) char *header = allocate(index_bytes + size);
    if (pread(file, header, index_bytes + size, at + INTRO_BYTES) != (ssize_t)(index_bytes + size))
        return err_set(e, ERR_SERVER, "the package is cut");
    for (uint32_t i = 0; i < entries; i++) {
        const char *entry = header + (size_t)i * ENTRY_BYTES;
        if (number(entry) == TAG_NAME)
            copy_value(header + index_bytes, size, number(entry + 8), out->name, sizeof out->name);
        if (number(entry) == TAG_VERSION)
            copy_value(header + index_bytes, size, number(entry + 8), out->version, sizeof out->version);
    }
    return 0;
}

int rpm_read(const char *path, struct package_meta *out, struct err *e)
{
    uint32_t entries, size;
    CLEANUP(file_close_cleanup) int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return err_set_errno(e, "can't open %s", path);
    if (read_intro(file, LEAD_BYTES, &entries, &size) < 0)
        return err_set(e, ERR_SERVER, "no signature header in the package");
    /* The signature is padded to a multiple of eight. */
    off_t signature = INTRO_BYTES + (off_t)entries * ENTRY_BYTES + size;
    return read_header(file, LEAD_BYTES + (signature + 7) / 8 * 8, out, e);
}
