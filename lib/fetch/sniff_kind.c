/* Kinds of files by their first bytes: what packages are made of, and what comes in their place. */
#include "base/attributes.h"
#include "fetch/sniff.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

#define MAGIC(bytes) (bytes), sizeof(bytes) - 1

/* The first that fits counts. */
static const struct sniff_kind kinds[] = {
    {MAGIC("\x7F"
           "ELF"),
     0, "an ELF program", false},
    {MAGIC("MZ"), 0, "a Windows program", true},
    {MAGIC("\xCF\xFA\xED\xFE"), 0, "a Mach-O program", false},
    {MAGIC("\xCE\xFA\xED\xFE"), 0, "a Mach-O program", false},
    {MAGIC("\xFE\xED\xFA\xCF"), 0, "a Mach-O program", false},
    {MAGIC("\xFE\xED\xFA\xCE"), 0, "a Mach-O program", false},
    {MAGIC("\xCA\xFE\xBA\xBE"), 0, "a Mach-O program", false},
    {MAGIC("xar!"), 0, "a xar archive (pkg)", false},
    {MAGIC("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"), 0, "an OLE document (msi)", false},
    {MAGIC("!<arch>\ndebian-binary"), 0, "a deb", false},
    {MAGIC("!<arch>\n"), 0, "an ar archive", false},
    {MAGIC("\xED\xAB\xEE\xDB"), 0, "an rpm", false},
    {MAGIC("PK\3\4"), 0, "a zip archive", false},
    {MAGIC("PK\5\6"), 0, "a zip archive", false},
    {MAGIC("PK\7\x8"), 0, "a zip archive", false},
    {MAGIC("\x1F\x8B"), 0, "a gzip stream", false},
    {MAGIC("BZh"), 0, "a bzip2 stream", true}, /* so do a compressed disk image's blocks begin … */
    {MAGIC("\xFD"
           "7zXZ\0"),
     0, "an xz stream", true}, /* … or so */
    {MAGIC("\x28\xB5\x2F\xFD"), 0, "a zstd stream", false},
    {MAGIC("7z\xBC\xAF\x27\x1C"), 0, "a 7-Zip archive", false},
    {MAGIC("Rar!\x1A\7"), 0, "a RAR archive", false},
    {MAGIC("MSCF\0\0\0\0"), 0, "a Windows cabinet", false},
    {MAGIC("%PDF-"), 0, "a PDF document", false},
    {MAGIC("\x89PNG\r\n\x1A\n"), 0, "a PNG image", false},
    {MAGIC("GIF8"), 0, "a GIF image", false},
    {MAGIC("\xFF\xD8\xFF"), 0, "a JPEG image", false},
    {MAGIC("ustar"), 257, "a tar archive", false},
};

const struct sniff_kind *sniff_binary_kind(const void *bytes, size_t length)
{
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        const struct sniff_kind *kind = &kinds[i];
        if (length >= kind->offset + kind->length &&
            memcmp((const char *)bytes + kind->offset, kind->magic, kind->length) == 0)
            return kind;
    }
    return NULL;
}

bool sniff_is_text(const void *bytes, size_t length)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < length; i++)
        if (byte[i] == '\0' || (byte[i] < ' ' && strchr("\a\b\t\n\v\f\r\x1A\x1B", byte[i]) == NULL))
            return false;
    return true;
}

/* What is left of the head to be looked at. */
struct text {
    const char *at;
    size_t length;
};

static void skip(struct text *text, size_t length)
{
    text->at += length;
    text->length -= length;
}

static void skip_blanks(struct text *text)
{
    while (text->length > 0 && isspace((unsigned char)*text->at))
        skip(text, 1);
}

static bool starts_with(const struct text *text, const char *prefix)
{
    size_t length = strlen(prefix);
    return text->length >= length && strncasecmp(text->at, prefix, length) == 0;
}

/* The same, and the word ends there. */
static bool starts_with_words(const struct text *text, const char *words)
{
    size_t length = strlen(words);
    return starts_with(text, words) && (text->length == length || !isalnum((unsigned char)text->at[length]));
}

static bool is_html(const struct text *text)
{
    static const char *const beginnings[] = {"<!doctype html", "<html",   "<head", "<body",
                                             "<title",         "<script", "<meta"};
    for (size_t i = 0; i < ARRAY_LENGTH(beginnings); i++)
        if (starts_with(text, beginnings[i]))
            return true;
    /* A comment, or XHTML's first line, before the first tag. */
    return (starts_with(text, "<!--") || starts_with(text, "<?xml")) &&
           (memmem(text->at, text->length, "<html", 5) != NULL ||
            memmem(text->at, text->length, "<!DOCTYPE html", 14) != NULL);
}

/* `{"…" :` or `{}` or `[{`: no language's script begins so. */
static bool is_json(struct text text)
{
    bool is_list = starts_with(&text, "[");
    if (!is_list && !starts_with(&text, "{"))
        return false;
    skip(&text, 1);
    skip_blanks(&text);
    if (is_list)
        return starts_with(&text, "{\"") || starts_with(&text, "{}");
    if (!starts_with(&text, "\""))
        return starts_with(&text, "}");
    skip(&text, 1);
    const char *end = memchr(text.at, '"', text.length);
    if (end == NULL)
        return false;
    skip(&text, (size_t)(end + 1 - text.at));
    skip_blanks(&text);
    return starts_with(&text, ":");
}

/* "404 page not found", "HTTP/1.1 503 …", "Error 502: …": no script begins with a status. */
static bool begins_with_status(struct text text)
{
    if (starts_with(&text, "HTTP/1.") || starts_with(&text, "HTTP/2 "))
        return true;
    if (starts_with_words(&text, "error")) {
        skip(&text, strlen("error"));
        while (text.length > 0 && strchr(": \t", *text.at) != NULL)
            skip(&text, 1);
    }
    if (text.length < 3 || strchr("345", text.at[0]) == NULL || !isdigit((unsigned char)text.at[1]) ||
        !isdigit((unsigned char)text.at[2]))
        return false;
    return text.length == 3 || strchr(" :-,.\r\n\t", text.at[3]) != NULL;
}

/* Sentences of servers, proxies and stores. Where one word would do for a command's name too, it must be all
 * that there is. */
static bool is_sentence_of_servers(const struct text *text)
{
    static const char *const beginnings[] = {
        "error:",
        "not found",
        "page not found",
        "file not found",
        "object not found",
        "no such file",
        "no such object",
        "access denied",
        "access is denied",
        "permission denied",
        "not authorized",
        "not authorised",
        "bad request",
        "bad gateway",
        "gateway time",
        "service unavailable",
        "service temporarily",
        "temporarily unavailable",
        "internal server error",
        "server error",
        "too many requests",
        "rate limit exceeded",
        "request timeout",
        "request timed out",
        "upstream connect",
        "upstream request",
        "no healthy upstream",
        "method not allowed",
        "moved permanently",
        "request blocked",
        "request has expired",
        "the requested",
        "the specified",
        "the resource",
        "the page",
        "this page",
    };
    static const char *const whole[] = {"forbidden", "unauthorized", "unauthorised", "error",
                                        "gone",      "found",        "null"};
    for (size_t i = 0; i < ARRAY_LENGTH(beginnings); i++)
        if (starts_with(text, beginnings[i]))
            return true;
    for (size_t i = 0; i < ARRAY_LENGTH(whole); i++) {
        struct text rest = *text;
        if (!starts_with_words(text, whole[i]))
            continue;
        skip(&rest, strlen(whole[i]));
        while (rest.length > 0 && (isspace((unsigned char)*rest.at) || *rest.at == '.' || *rest.at == '!'))
            skip(&rest, 1);
        if (rest.length == 0)
            return true;
    }
    return false;
}

const char *sniff_page_kind(const void *bytes, size_t length)
{
    struct text text = {.at = bytes, .length = length};
    if (starts_with(&text, "\xEF\xBB\xBF"))
        skip(&text, 3);
    skip_blanks(&text);
    if (starts_with(&text, "version https://git-lfs.github.com/spec/"))
        return "a Git LFS pointer";
    if (is_html(&text))
        return "an HTML page";
    if (starts_with(&text, "<?xml") || starts_with(&text, "<error>"))
        return "an XML text";
    if (is_json(text))
        return "a JSON text";
    if (sniff_is_text(text.at, text.length) && (begins_with_status(text) || is_sentence_of_servers(&text)))
        return "an error message";
    return NULL;
}

bool sniff_begins_as_script(const void *bytes, size_t length)
{
    static const char *const words[] = {"param",  "function", "using", "import", "from", "def",   "class",
                                        "echo",   "export",   "set",   "exit",   "if",   "for",   "foreach",
                                        "while",  "case",     "try",   "sudo",   "cd",   "curl",  "apt-get",
                                        "source", "trap",     "umask", "printf", "test", "throw", "return"};
    struct text text = {.at = bytes, .length = length};
    if (starts_with(&text, "\xEF\xBB\xBF"))
        skip(&text, 3);
    skip_blanks(&text);
    if (text.length > 0 && strchr("#$[({&.@:/\"'", *text.at) != NULL)
        return true;
    size_t end = 0;
    while (end < text.length && (isalnum((unsigned char)text.at[end]) || strchr("_-", text.at[end]) != NULL))
        end++;
    if (starts_with(&text, "<#") || (end > 0 && end < text.length && strchr("=(+", text.at[end]) != NULL))
        return true;
    const char *dash = memchr(text.at, '-', end); /* Write-Host */
    if (dash != NULL && (size_t)(dash - text.at) + 1 < end && isupper((unsigned char)dash[1]))
        return true;
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++)
        if (end == strlen(words[i]) && strncmp(text.at, words[i], end) == 0)
            return true;
    return false;
}
