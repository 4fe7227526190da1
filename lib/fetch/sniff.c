/* A 200 proves nothing: captive portals, parking pages and LFS pointers come with one. Before bytes without a
 * pinned digest count as a package, their beginning must be what the name promises. */
#include "fetch/sniff.h"
#include "base/attributes.h"
#include "base/text.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { SHORTEST_TEXT_BYTES = 8 };

struct file_type {
    const char *suffix;
    const char *magic; /* NULL: can't be told by its beginning */
    size_t magic_length;
    const char *refusal;
};

#define MAGIC(bytes) (bytes), sizeof(bytes) - 1

static const struct file_type types[] = {
    {".pkg", MAGIC("xar!"), "not a pkg (no xar archive)"},
    {".msi", MAGIC("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"), "not an msi (no OLE document)"},
    {".exe", MAGIC("MZ"), "not an exe (no MZ header)"},
    {".deb", MAGIC("!<arch>\n"), "not a deb (no ar archive)"},
    {".rpm", MAGIC("\xED\xAB\xEE\xDB"), "not an rpm (no rpm lead)"},
    {".zip", MAGIC("PK"), "not a zip archive"},
    {".ipa", MAGIC("PK"), "not an ipa (no zip archive)"},
    {".msix", MAGIC("PK"), "not an msix (no zip archive)"},
    {".tar.gz", MAGIC("\x1F\x8B"), "not a tar.gz (no gzip stream)"},
    {".tgz", MAGIC("\x1F\x8B"), "not a tgz (no gzip stream)"},
    /* A disk image has its mark at the end, and some have none. */
    {".dmg", NULL, 0, ""},
    {".sh", NULL, 0, ""},
    {".ps1", NULL, 0, ""},
    {".py", NULL, 0, ""},
};

static const struct file_type *type_of(const char *file_name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(types); i++)
        if (text_ends_with_ignoring_case(file_name, types[i].suffix))
            return &types[i];
    return NULL;
}

bool sniff_knows(const char *file_name)
{
    const struct file_type *type = type_of(file_name);
    return type != NULL && type->magic != NULL;
}

static bool starts_with(const char *bytes, size_t length, const char *prefix)
{
    size_t prefix_length = strlen(prefix);
    return length >= prefix_length && strncasecmp(bytes, prefix, prefix_length) == 0;
}

const char *sniff_impostor(const void *bytes, size_t length)
{
    static const char *const html[] = {"<!doctype html", "<html",   "<head", "<body",
                                       "<title",         "<script", "<meta"};
    const char *text = bytes;
    if (starts_with(text, length, "version https://git-lfs.github.com/spec/"))
        return "a Git LFS pointer";
    if (starts_with(text, length, "\xEF\xBB\xBF")) {
        text += 3;
        length -= 3;
    }
    while (length > 0 && isspace((unsigned char)*text)) {
        text++;
        length--;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(html); i++)
        if (starts_with(text, length, html[i]))
            return "an HTML page";
    /* A comment before the first tag. */
    if (starts_with(text, length, "<!--") && memmem(text, length, "<html", 5) != NULL)
        return "an HTML page";
    return NULL;
}

static bool is_script(const char *file_name)
{
    return text_ends_with_ignoring_case(file_name, ".sh") ||
           text_ends_with_ignoring_case(file_name, ".ps1") || text_ends_with_ignoring_case(file_name, ".py");
}

/* An error page in plain words, a version string: no package begins so, but for scripts. */
static bool is_plain_text(const void *bytes, size_t length)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < length; i++)
        if (byte[i] == '\0' || (byte[i] < ' ' && strchr("\t\n\r\f", byte[i]) == NULL))
            return false;
    return length >= SHORTEST_TEXT_BYTES;
}

const char *sniff_refuse(const char *file_name, const void *bytes, size_t length)
{
    const struct file_type *type = type_of(file_name);
    bool has_magic = type != NULL && type->magic != NULL;
    if (has_magic && length >= type->magic_length && memcmp(bytes, type->magic, type->magic_length) == 0)
        return NULL;
    const char *impostor = sniff_impostor(bytes, length);
    if (impostor != NULL || type == NULL || is_script(file_name))
        return impostor;
    if (is_plain_text(bytes, length))
        return "a text page";
    return has_magic ? type->refusal : NULL;
}
