/* Words, sizes and first lines: what messages and look-ups are made of. */
#include "base/text.h"
#include "base/attributes.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { WORD_BYTES = 64 };

bool text_equal(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

bool text_is_empty(const char *text)
{
    return text == NULL || text[0] == '\0';
}

bool text_starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends_with(const char *text, const char *suffix)
{
    size_t length = strlen(text);
    size_t tail = strlen(suffix);
    return length >= tail && memcmp(text + length - tail, suffix, tail) == 0;
}

bool text_ends_with_ignoring_case(const char *text, const char *suffix)
{
    size_t length = strlen(text);
    size_t tail = strlen(suffix);
    return length >= tail && strcasecmp(text + length - tail, suffix) == 0;
}

void text_replace(char *text, const char *word, const char *mark)
{
    size_t word_length = strlen(word);
    size_t mark_length = strlen(mark);
    if (word_length == 0 || mark_length > word_length)
        return;
    for (char *at = text; (at = strstr(at, word)) != NULL; at += mark_length) {
        memcpy(at, mark, mark_length);
        memmove(at + mark_length, at + word_length, strlen(at + word_length) + 1);
    }
}

static char fold(char letter)
{
    return letter == '-' ? '_' : (char)tolower((unsigned char)letter);
}

static unsigned smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Optimal string alignment, three rows of the usual table. */
unsigned text_edit_distance(const char *a, const char *b)
{
    size_t a_length = strlen(a);
    size_t b_length = strlen(b);
    if (a_length >= WORD_BYTES || b_length >= WORD_BYTES)
        return 1000;
    unsigned rows[3][WORD_BYTES];
    unsigned *before = rows[0];
    unsigned *above = rows[1];
    unsigned *row = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        above[j] = (unsigned)j;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_length; j++) {
            unsigned cost = fold(a[i - 1]) == fold(b[j - 1]) ? 0 : 1;
            row[j] = smaller(smaller(above[j] + 1, row[j - 1] + 1), above[j - 1] + cost);
            if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) && fold(a[i - 2]) == fold(b[j - 1]))
                row[j] = smaller(row[j], before[j - 2] + 1);
        }
        unsigned *free_row = before;
        before = above;
        above = row;
        row = free_row;
    }
    return above[b_length];
}

const char *text_nearest(const char *word, const char *const *candidates, size_t count)
{
    const char *nearest = NULL;
    unsigned best = 1000;
    for (size_t i = 0; i < count; i++) {
        unsigned distance = text_edit_distance(word, candidates[i]);
        if (distance < best) {
            best = distance;
            nearest = candidates[i];
        }
    }
    size_t near_enough = strlen(word) < 3 ? 1 : strlen(word) / 3;
    return nearest != NULL && best <= near_enough && best < strlen(word) ? nearest : NULL;
}

const char *text_size(uint64_t bytes, char out[TEXT_SIZE_BYTES])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    if (bytes < 1024) {
        snprintf(out, TEXT_SIZE_BYTES, "%d byte%s", (int)bytes, bytes == 1 ? "" : "s");
        return out;
    }
    double value = (double)bytes / 1024;
    size_t unit = 0;
    while (value >= 1023.95 && unit < 3) { /* what would be rounded to 1024.0 */
        value /= 1024;
        unit++;
    }
    snprintf(out, TEXT_SIZE_BYTES, "%.1f %s", value, units[unit]);
    return out;
}

/* Length of the sequence that starts here, 0 if it is not valid. */
static size_t utf8_sequence(const unsigned char *text, size_t left)
{
    unsigned char lead = text[0];
    size_t length = lead < 0x80                   ? 1
                    : lead >= 0xC2 && lead < 0xE0 ? 2
                    : (lead & 0xF0) == 0xE0       ? 3
                    : lead >= 0xF0 && lead < 0xF5 ? 4
                                                  : 0;
    if (length == 0 || length > left)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xC0) != 0x80)
            return 0;
    if ((lead == 0xE0 && text[1] < 0xA0) || (lead == 0xED && text[1] >= 0xA0) ||
        (lead == 0xF0 && text[1] < 0x90) || (lead == 0xF4 && text[1] >= 0x90))
        return 0;
    return length;
}

size_t text_count_characters(const char *text, size_t length)
{
    size_t count = 0;
    for (size_t i = 0; i < length; i++)
        count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

void text_mark_cut(char *text, size_t size)
{
    static const char ellipsis[] = "…";
    if (size < sizeof ellipsis) {
        if (size > 0)
            text[0] = '\0';
        return;
    }
    size_t end = size - sizeof ellipsis;
    while (end > 0 && ((unsigned char)text[end] & 0xC0) == 0x80)
        end--;
    memcpy(text + end, ellipsis, sizeof ellipsis);
}

bool text_character_deceives(unsigned character)
{
    static const struct {
        unsigned first, last;
    } ranges[] = {
        {0x00, 0x1F},     {0x7F, 0x9F}, /* C0, DEL, C1 */
        {0x061C, 0x061C},               /* Arabic letter mark */
        {0x200E, 0x200F},               /* left-to-right and right-to-left mark */
        {0x2028, 0x202E},               /* line and paragraph separator, embeddings and overrides */
        {0x2066, 0x2069},               /* isolates */
    };
    for (size_t i = 0; i < ARRAY_LENGTH(ranges); i++)
        if (character >= ranges[i].first && character <= ranges[i].last)
            return true;
    return false;
}

/* The character of a valid sequence. */
static unsigned decode(const unsigned char *text, size_t sequence)
{
    static const unsigned masks[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    unsigned character = text[0] & masks[sequence];
    for (size_t i = 1; i < sequence; i++)
        character = character << 6 | (text[i] & 0x3Fu);
    return character;
}

const char *text_printable(const char *text, size_t length, char instead, char *out, size_t size)
{
    if (size == 0)
        return out;
    size_t used = 0;
    for (size_t i = 0; i < length;) {
        const unsigned char *at = (const unsigned char *)text + i;
        while (i < length && *at >= 0x20 && *at < 0x7F && used + 1 < size) { /* most texts are nothing else */
            out[used++] = (char)*at++;
            i++;
        }
        if (i == length)
            break;
        size_t sequence = utf8_sequence(at, length - i);
        bool is_good = sequence > 0 && !text_character_deceives(decode(at, sequence));
        size_t needed = is_good ? sequence : 1;
        if (used + needed >= size) {
            /* What was copied so far fills up to the place where the ellipsis goes. */
            memset(out + used, ' ', size - used);
            text_mark_cut(out, size);
            return out;
        }
        if (is_good)
            memcpy(out + used, at, sequence);
        else
            out[used] = instead;
        used += needed;
        i += sequence > 0 ? sequence : 1;
    }
    out[used] = '\0';
    return out;
}

const char *text_first_line(const char *text, size_t length, char *out, size_t size)
{
    size_t start = 0;
    while (start < length && isspace((unsigned char)text[start]))
        start++;
    size_t end = start;
    while (end < length && text[end] != '\n' && text[end] != '\r')
        end++;
    return text_printable(text + start, end - start, '?', out, size);
}

bool text_is_utf8(const char *text, size_t length, size_t *bad_offset)
{
    for (size_t i = 0; i < length;) {
        size_t sequence = utf8_sequence((const unsigned char *)text + i, length - i);
        if (sequence == 0) {
            if (bad_offset != NULL)
                *bad_offset = i;
            return false;
        }
        i += sequence;
    }
    return true;
}
