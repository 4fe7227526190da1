/* A 200 proves nothing: captive portals, parking pages and LFS pointers come with one. Before bytes without a
 * pinned digest count as a package, their beginning must be what the name promises, and a disk image's end
 * too. Right files come through, whatever they look like; what is plainly of another kind does not. */
#include "fetch/sniff.h"
#include "base/attributes.h"
#include "base/text.h"
#include <string.h>
#include <strings.h>

enum { SHORTEST_TEXT_BYTES = 8, SECTOR_BYTES = 512 };

enum family {
    BY_MAGIC,
    SCRIPT,     /* text in some language */
    DISK_IMAGE, /* has its mark at the end, or none at all */
};

struct file_type {
    const char *suffix;
    const char *declared;
    enum family family;
    const char *magic;
    size_t magic_length;
};

#define MAGIC(bytes) BY_MAGIC, (bytes), sizeof(bytes) - 1

static const struct file_type types[] = {
    {".pkg", "a pkg", MAGIC("xar!")},
    {".msi", "an msi", MAGIC("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1")},
    {".exe", "an exe", MAGIC("MZ")},
    {".deb", "a deb", MAGIC("!<arch>\ndebian-binary")},
    {".rpm", "an rpm", MAGIC("\xED\xAB\xEE\xDB")},
    {".zip", "a zip archive", MAGIC("PK")},
    {".ipa", "an ipa", MAGIC("PK")},
    {".msix", "an msix", MAGIC("PK")},
    {".tar.gz", "a tar.gz", MAGIC("\x1F\x8B\x08")},
    {".tgz", "a tgz", MAGIC("\x1F\x8B\x08")},
    {".dmg", "a dmg", DISK_IMAGE, NULL, 0},
    {".sh", "a script", SCRIPT, NULL, 0},
    {".ps1", "a script", SCRIPT, NULL, 0},
    {".py", "a script", SCRIPT, NULL, 0},
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
    return type_of(file_name) != NULL;
}

bool sniff_has_magic(const char *file_name)
{
    const struct file_type *type = type_of(file_name);
    return type != NULL && type->family != DISK_IMAGE;
}

static bool head_is(const struct sniff_sample *sample, const char *magic, size_t length)
{
    return sample->head_length >= length && memcmp(sample->head, magic, length) == 0;
}

static bool tail_has(const struct sniff_sample *sample, const char *word, size_t before_end)
{
    return sample->tail != NULL && sample->tail_length >= before_end &&
           memcmp((const char *)sample->tail + sample->tail_length - before_end, word, strlen(word)) == 0;
}

/* What a head is, where nothing redeems it: a page, a kind of file, or just text. NULL: not known. Text may
 * begin with two or three letters by chance. */
static const char *name_kind(const struct sniff_sample *sample)
{
    enum { SHORTEST_SURE_MAGIC = 4 };
    const struct sniff_kind *kind = sniff_binary_kind(sample->head, sample->head_length);
    const char *page = sniff_page_kind(sample->head, sample->head_length);
    if (page != NULL)
        return page;
    if (kind != NULL && kind->length >= SHORTEST_SURE_MAGIC)
        return kind->name;
    if (sample->head_length >= SHORTEST_TEXT_BYTES && sniff_is_text(sample->head, sample->head_length))
        return "a text page";
    return kind != NULL ? kind->name : NULL;
}

/* Text that begins with two right letters is still text. */
static bool is_what_it_says(const struct file_type *type, const struct sniff_sample *sample)
{
    return head_is(sample, type->magic, type->magic_length) &&
           (type->magic_length > 2 || sample->head_length < SHORTEST_TEXT_BYTES ||
            !sniff_is_text(sample->head, sample->head_length));
}

/* A byte-order mark is PowerShell's way to say that it is UTF-16; nobody else runs that. */
static bool is_utf16_script(const struct file_type *type, const struct sniff_sample *sample)
{
    return strcmp(type->suffix, ".ps1") == 0 &&
           (head_is(sample, "\xFF\xFE", 2) || head_is(sample, "\xFE\xFF", 2));
}

/* A type that is said of pages and of what programming interfaces answer, never of scripts. */
static bool is_type_of_pages(const char *content_type)
{
    static const char *const types_of_pages[] = {"text/html", "application/xhtml+xml", "application/json",
                                                 "text/json", "application/xml",       "text/xml"};
    size_t length = content_type == NULL ? 0 : strcspn(content_type, "; \t");
    for (size_t i = 0; i < ARRAY_LENGTH(types_of_pages); i++)
        if (length == strlen(types_of_pages[i]) && strncasecmp(content_type, types_of_pages[i], length) == 0)
            return true;
    return length > 5 && (strncasecmp(content_type + length - 5, "+json", 5) == 0 ||
                          strncasecmp(content_type + length - 4, "+xml", 4) == 0);
}

static bool refuses_script(const struct file_type *type, const struct sniff_sample *sample,
                           const char **found)
{
    if (is_utf16_script(type, sample))
        return false;
    const struct sniff_kind *kind = sniff_binary_kind(sample->head, sample->head_length);
    bool names_interpreter = head_is(sample, "#!", 2) || head_is(sample, "\xEF\xBB\xBF#!", 5);
    bool has_nul = memchr(sample->head, '\0', sample->head_length) != NULL;
    bool is_text = sniff_is_text(sample->head, sample->head_length);
    if (names_interpreter)
        *found = has_nul ? "binary data" : NULL;
    else if ((*found = sniff_page_kind(sample->head, sample->head_length)) == NULL && !is_text)
        *found = kind != NULL ? kind->name : "binary data";
    else if (*found == NULL && is_type_of_pages(sample->content_type) &&
             !sniff_begins_as_script(sample->head, sample->head_length))
        *found = "a text page";
    return *found != NULL;
}

/* UDIF images end with a trailer ("koly", very old ones begin with it), encrypted ones begin or end with a
 * word. What has no mark is a raw image: whole sectors of any file system. */
static bool refuses_disk_image(const struct sniff_sample *sample, const char **found)
{
    const struct sniff_kind *kind = sniff_binary_kind(sample->head, sample->head_length);
    bool is_whole = sample->tail != NULL;
    if (head_is(sample, "koly", 4) || head_is(sample, "encrcdsa", 8) ||
        tail_has(sample, "koly", SECTOR_BYTES) || tail_has(sample, "cdsaencr", 8))
        return false;
    if (!is_whole && kind != NULL && kind->may_begin_disk_image)
        return false;
    *found = name_kind(sample);
    return *found != NULL || (is_whole && sample->size_bytes % SECTOR_BYTES != 0);
}

bool sniff_refuses(const char *file_name, const struct sniff_sample *sample, struct sniff_refusal *out)
{
    const struct file_type *type = type_of(file_name);
    *out = (struct sniff_refusal){.declared = type == NULL ? "a package" : type->declared};
    if (type == NULL) {
        out->found = sniff_page_kind(sample->head, sample->head_length);
        return out->found != NULL;
    }
    switch (type->family) {
    case BY_MAGIC:
        if (is_what_it_says(type, sample))
            return false;
        out->found = name_kind(sample);
        return true;
    case SCRIPT:
        return refuses_script(type, sample, &out->found);
    case DISK_IMAGE:
        return refuses_disk_image(sample, &out->found);
    }
    return false;
}
