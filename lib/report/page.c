/* The paper that the text writers write on: it knows colours, columns and wrapping, and keeps the first
 * error, so that writing reads like writing. */
#include "report/page.h"
#include "base/text.h"
#include "base/url.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct range {
    unsigned first, last;
};

/* Marks and joiners that take no column of their own. */
static const struct range narrowless[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD},   {0x064B, 0x065F},
    {0x200B, 0x200F}, {0x202A, 0x202E}, {0x2060, 0x2064},   {0x20D0, 0x20F0},
    {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF}, {0x1F3FB, 0x1F3FF}, {0xE0001, 0xE01EF},
};
/* East Asian wide characters and emoji that are shown as pictures. */
static const struct range wide[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23EC},   {0x25FD, 0x25FE},
    {0x2614, 0x2615},   {0x2648, 0x2653},   {0x267F, 0x267F},   {0x2693, 0x2693},   {0x26A1, 0x26A1},
    {0x26AA, 0x26AB},   {0x26BD, 0x26BE},   {0x26C4, 0x26C5},   {0x26CE, 0x26CE},   {0x26D4, 0x26D4},
    {0x26EA, 0x26EA},   {0x26F2, 0x26F3},   {0x26F5, 0x26F5},   {0x26FA, 0x26FA},   {0x26FD, 0x26FD},
    {0x2705, 0x2705},   {0x270A, 0x270B},   {0x2728, 0x2728},   {0x274C, 0x274C},   {0x274E, 0x274E},
    {0x2753, 0x2755},   {0x2757, 0x2757},   {0x2795, 0x2797},   {0x27B0, 0x27B0},   {0x2B1B, 0x2B1C},
    {0x2B50, 0x2B50},   {0x2B55, 0x2B55},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},   {0xAC00, 0xD7A3},
    {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F004, 0x1F004},
    {0x1F0CF, 0x1F0CF}, {0x1F18E, 0x1F19A}, {0x1F1E6, 0x1F202}, {0x1F210, 0x1F320}, {0x1F32D, 0x1F335},
    {0x1F337, 0x1F393}, {0x1F3A0, 0x1F3CA}, {0x1F3CF, 0x1F3D3}, {0x1F3E0, 0x1F3F0}, {0x1F3F4, 0x1F3FA},
    {0x1F400, 0x1F43E}, {0x1F440, 0x1F4FC}, {0x1F4FF, 0x1F53D}, {0x1F54B, 0x1F567}, {0x1F57A, 0x1F57A},
    {0x1F595, 0x1F596}, {0x1F5A4, 0x1F5A4}, {0x1F5FB, 0x1F64F}, {0x1F680, 0x1F6C5}, {0x1F6CC, 0x1F6D7},
    {0x1F6EB, 0x1F6FC}, {0x1F7E0, 0x1F7EB}, {0x1F90C, 0x1FAFF}, {0x20000, 0x3FFFD},
};

static bool is_in(const struct range *ranges, size_t count, unsigned character)
{
    for (size_t i = 0; i < count; i++)
        if (character >= ranges[i].first && character <= ranges[i].last)
            return true;
    return false;
}

/* Decodes the character at `text`; a byte that starts none counts as itself. Returns its length. */
static size_t decode(const char *text, unsigned *character)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t length = bytes[0] < 0x80    ? 1
                    : bytes[0] >= 0xF0 ? 4
                    : bytes[0] >= 0xE0 ? 3
                    : bytes[0] >= 0xC2 ? 2
                                       : 1;
    static const unsigned masks[] = {0, 0xFF, 0x1F, 0x0F, 0x07};
    *character = bytes[0] & masks[length];
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xC0) != 0x80) {
            *character = 0xFFFD;
            return 1;
        }
        *character = *character << 6 | (bytes[i] & 0x3Fu);
    }
    if (length == 1 && bytes[0] >= 0x80)
        *character = 0xFFFD;
    return length;
}

static int character_columns(unsigned character)
{
    if (is_in(narrowless, ARRAY_LENGTH(narrowless), character))
        return 0;
    return is_in(wide, ARRAY_LENGTH(wide), character) ? 2 : 1;
}

int text_columns(const char *text)
{
    int columns = 0;
    bool joined = false;
    while (*text != '\0') {
        unsigned character;
        text += decode(text, &character);
        if (!joined)
            columns += character_columns(character);
        joined = character == 0x200D; /* what follows a joiner is drawn into the same picture */
    }
    return columns;
}

static void put(struct page *page, const char *bytes, size_t length)
{
    if (!page->failed && buf_add(page->out, bytes, length, page->e) < 0)
        page->failed = true;
}

void page_printf(struct page *page, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length > 0)
        put(page, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

static void put_clean(struct page *page, const char *text, size_t length)
{
    const char *end = text + length;
    while (text < end) {
        unsigned character;
        size_t size = decode(text, &character);
        if (text_character_deceives(character))
            put(page, "?", 1);
        else if (character == 0xFFFD)
            put(page, "\xEF\xBF\xBD", 3);
        else
            put(page, text, size);
        text += size;
    }
}

void page_text(struct page *page, const char *text)
{
    if (text != NULL)
        put_clean(page, text, strlen(text));
}

void page_painted(struct page *page, enum paint paint, const char *text)
{
    static const char *const codes[] = {"", "\033[1m", "\033[2m", "\033[32m", "\033[33m", "\033[31m"};
    bool paints = page->color && paint != PAINT_NONE;
    if (paints)
        put(page, codes[paint], strlen(codes[paint]));
    page_text(page, text);
    if (paints)
        put(page, "\033[0m", 4);
}

static void put_blanks(struct page *page, int count)
{
    for (int i = 0; i < count; i++)
        put(page, " ", 1);
}

void page_cell(struct page *page, const char *text, int columns, bool to_the_right)
{
    int needed = text_columns(text);
    if (to_the_right)
        put_blanks(page, columns - needed);
    if (needed <= columns) {
        page_text(page, text);
        if (!to_the_right)
            put_blanks(page, columns - needed);
        return;
    }
    int used = 0;
    while (*text != '\0') {
        unsigned character;
        size_t size = decode(text, &character);
        if (used + character_columns(character) > columns - 1)
            break;
        put_clean(page, text, size);
        used += character_columns(character);
        text += size;
    }
    put(page, "…", strlen("…"));
    put_blanks(page, columns - used - 1);
}

/* One word or line end after the other. */
void page_paragraph(struct page *page, const char *lead, const char *text)
{
    int indent = text_columns(lead);
    int used = indent;
    bool line_is_empty = true;
    put(page, lead, strlen(lead));
    while (text != NULL && *text != '\0') {
        if (*text == ' ' || *text == '\t' || *text == '\r') {
            text++;
            continue;
        }
        if (*text == '\n') {
            put(page, "\n", 1);
            put_blanks(page, indent);
            used = indent;
            line_is_empty = true;
            text++;
            continue;
        }
        size_t length = strcspn(text, " \t\r\n");
        char word[512];
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), text);
        int columns = text_columns(word);
        if (!line_is_empty && page->width > 0 && used + 1 + columns > page->width) {
            put(page, "\n", 1);
            put_blanks(page, indent);
            used = indent;
            line_is_empty = true;
        }
        if (!line_is_empty)
            put(page, " ", 1);
        used += columns + (line_is_empty ? 0 : 1);
        put_clean(page, text, length);
        line_is_empty = false;
        text += length;
    }
    put(page, "\n", 1);
}

int page_result(const struct page *page)
{
    return page->failed ? -1 : 0;
}

const char *place_text(const struct place *place, char *out, size_t size)
{
    if (place->file == NULL)
        snprintf(out, size, "%s", "");
    else if (place->line == 0)
        snprintf(out, size, "%s", place->file);
    else if (place->column == 0)
        snprintf(out, size, "%s:%d", place->file, place->line);
    else
        snprintf(out, size, "%s:%d:%d", place->file, place->line, place->column);
    return out;
}

void page_count(struct page *page, size_t count, const char *one, const char *many)
{
    page_printf(page, "%zu %s", count, count == 1 ? one : many);
}

char *url_without_userinfo(const char *url)
{
    char redacted[URL_TEXT_BYTES];
    const char *marker = strstr(url, "://");
    const char *authority = marker == NULL ? url : marker + 3;
    size_t length = strcspn(authority, "/?#");
    const char *at = memrchr(authority, '@', length);
    char *out = NULL;
    /* What url_redact() can't take apart with certainty, or what is no URL at all, is shown as it shows it.
     */
    url_redact(url, redacted, sizeof redacted);
    if (marker == NULL || text_ends_with(redacted, "://***"))
        return strdup(redacted);
    if (at == NULL)
        return strdup(url);
    int head = (int)(authority - url);
    return asprintf(&out, "%.*s***%s", head, url, at) < 0 ? NULL : out;
}
