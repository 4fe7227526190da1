/* What a file's first and last bytes say it is. Pure. */
#ifndef TENDER_FETCH_SNIFF_H
#define TENDER_FETCH_SNIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* So many first and last bytes are enough for every check. */
enum { SNIFF_BYTES = 512 };

struct sniff_sample {
    const void *head; /* the file's first SNIFF_BYTES, or all of it */
    size_t head_length;
    /* Once the file is whole: its last SNIFF_BYTES, or all of it, and its size. NULL while it comes: then
     * only what no later byte can redeem is refused. */
    const void *tail;
    size_t tail_length;
    uint64_t size_bytes;
    const char *content_type; /* as the server said it; NULL: it did not */
};

/* Why a file is refused. Constant text. */
struct sniff_refusal {
    const char *found;    /* "an ELF program", "an HTML page"; NULL: nothing that we know */
    const char *declared; /* what its name promised: "a deb"; "a package" where the name says nothing */
};

/* Whether this can't be a package named `file_name`. A name without a known extension refuses only what is
 * plainly an error page. A script may lack its first line, have CRLF line ends or a byte-order mark; it has
 * no NUL in its beginning (but PowerShell's in UTF-16), and what is labelled as a page must begin as scripts
 * do. */
bool sniff_refuses(const char *file_name, const struct sniff_sample *sample, struct sniff_refusal *out);
/* Whether the name's extension is a known one, and whether the right bytes can be told from others. */
bool sniff_knows(const char *file_name);
bool sniff_has_magic(const char *file_name);

/* sniff_kind.c: what the first bytes are, whatever was declared; NULL: nothing that we know. */
struct sniff_kind {
    const char *magic;
    size_t length;
    size_t offset;
    const char *name;
    bool may_begin_disk_image; /* bytes that a disk image may have in its first sector */
};
const struct sniff_kind *sniff_binary_kind(const void *bytes, size_t length);
/* "an HTML page", "a Git LFS pointer", "a JSON text", "an error message" …: text that is neither a package
 * nor a script; NULL if it is not plainly that. */
const char *sniff_page_kind(const void *bytes, size_t length);
/* Whether text begins as scripts do and sentences do not: with a sign, an assignment, a call, a keyword. */
bool sniff_begins_as_script(const void *bytes, size_t length);
/* No control bytes but those of text. */
bool sniff_is_text(const void *bytes, size_t length);

#endif
