/* The sidecar of a partial file: lines of plain text, "end" last so that a cut one is noticed. */
#include "fetch/partial_about.h"
#include "base/files.h"
#include "base/text.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ABOUT_BYTES = 16 * 1024, BOOT_ID_BYTES = 64 };

static const char first_line[] = "tender partial 1\n";

/* Changes with each start of the machine: after a power cut the bytes on disk need not be those that were
 * written. "" where the system does not say. */
static const char *own_boot_id(void)
{
    static char boot_id[BOOT_ID_BYTES];
    static bool is_read;
    if (is_read)
        return boot_id;
    is_read = true;
    CLEANUP(file_close_cleanup) int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? 0 : read(file, boot_id, BOOT_ID_BYTES - 1);
    boot_id[got < 0 ? 0 : got] = '\0';
    boot_id[strcspn(boot_id, "\n")] = '\0';
    return boot_id;
}

static const char *value_of(char *line, const char *name)
{
    size_t length = strlen(name);
    return strncmp(line, name, length) == 0 && line[length] == ' ' ? line + length + 1 : NULL;
}

static int take_text(char **slot, const char *value, struct err *e)
{
    free(*slot);
    *slot = strdup(value);
    return *slot == NULL ? err_set(e, ERR_MEMORY, "out of memory") : 0;
}

static int take_line(struct partial *partial, char *line, char boot_id[BOOT_ID_BYTES], struct err *e)
{
    const char *value;
    if ((value = value_of(line, "boot")) != NULL) {
        snprintf(boot_id, BOOT_ID_BYTES, "%s", value);
    } else if ((value = value_of(line, "source")) != NULL && digest_is_hex(value)) {
        memcpy(partial->source, value, DIGEST_HEX_BYTES);
    } else if ((value = value_of(line, "validator")) != NULL) {
        return take_text(&partial->validator, value, e);
    } else if ((value = value_of(line, "name")) != NULL) {
        return take_text(&partial->file_name, value, e);
    } else if ((value = value_of(line, "size")) != NULL) {
        char *end;
        long long size = strtoll(value, &end, 10);
        partial->expected_bytes = end != value && *end == '\0' && size >= 0 ? size : -1;
    }
    return 0;
}

int about_read(struct partial *partial, bool is_pinned, struct err *e)
{
    struct buf text = BUF_INIT(ABOUT_BYTES);
    char boot_id[BOOT_ID_BYTES] = "";
    bool has_end = false;
    if (file_read(partial->about, &text, e) < 0) {
        buf_done(&text);
        return -1;
    }
    int result = text_starts_with(buf_text(&text), first_line) ? 0 : -1;
    char *rest = text.bytes;
    for (char *line; result == 0 && !has_end && (line = strsep(&rest, "\n")) != NULL;) {
        has_end = strcmp(line, "end") == 0;
        result = take_line(partial, line, boot_id, e);
    }
    bool is_same_boot = boot_id[0] != '\0' && strcmp(boot_id, own_boot_id()) == 0;
    if (!has_end || (!is_same_boot && !is_pinned))
        result = -1;
    buf_done(&text);
    return result;
}

static int compose(const struct partial *partial, struct buf *text, struct err *e)
{
    if (buf_printf(text, e, "%sboot %s\nsource %s\n", first_line, own_boot_id(), partial->source) < 0)
        return -1;
    if (partial->validator != NULL && buf_printf(text, e, "validator %s\n", partial->validator) < 0)
        return -1;
    if (partial->expected_bytes >= 0 &&
        buf_printf(text, e, "size %lld\n", (long long)partial->expected_bytes) < 0)
        return -1;
    if (partial->file_name != NULL && buf_printf(text, e, "name %s\n", partial->file_name) < 0)
        return -1;
    return buf_add_text(text, "end\n", e);
}

int about_write(const struct partial *partial, struct err *e)
{
    struct buf text = BUF_INIT(ABOUT_BYTES);
    int result = compose(partial, &text, e);
    if (result == 0) /* it speaks of this start of the machine only; a lost one costs a download */
        result = file_write_unsynced(partial->about, text.bytes, text.length, 0600, e);
    buf_done(&text);
    return result;
}
