/* The line that a finding is about, as it may be shown. It may hold a secret: what is shown of a line, or of
 * a value, passes through here. */
#include "base/text.h"
#include "base/url.h"
#include "manifest/lines.h"
#include "manifest/load.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { EXCERPT_BYTES = 240, BEFORE_CARET = 100, BEHIND_CARET = 40 };

static int index_lines(struct load *load, struct yaml_file *file, struct err *e)
{
    const char *end = file->text + file->length;
    size_t count = 1;
    for (const char *at = line_next(file->text, end); at < end; at = line_next(at, end))
        count++;
    size_t *starts = arena_alloc_array(load->arena, count, sizeof *starts, e);
    if (starts == NULL)
        return -1;
    for (size_t line = 1; line < count; line++)
        starts[line] = (size_t)(line_next(file->text + starts[line - 1], end) - file->text);
    file->line_starts = starts;
    file->line_count = count;
    return 0;
}

/* Behind a key that says so, the line is secret: where that begins (a ':'), NULL if nowhere. */
static char *find_secret(char *line)
{
    static const char *const words[] = {"secret", "password",      "passwd", "token",
                                        "header", "authorization", "api_key"};
    for (char *at = line; *at != '\0'; at++)
        for (size_t k = 0; k < ARRAY_LENGTH(words); k++)
            if (strncasecmp(at, words[k], strlen(words[k])) == 0)
                return strchr(at, ':');
    return NULL;
}

/* Each word with "://" in it becomes what url_redact makes of it. A blank may stand in a URL by mistake: the
 * query behind it is hidden too. */
void excerpt_redact(const char *text, char *out, size_t size)
{
    size_t used = 0;
    bool may_be_in_url = false;
    out[0] = '\0';
    while (*text != '\0' && used + 1 < size) {
        size_t length = strcspn(text, " \t'\"<>");
        if (length == 0) {
            may_be_in_url = may_be_in_url && strchr(" \t", *text) != NULL;
            out[used++] = *text++;
            out[used] = '\0';
            continue;
        }
        char word[EXCERPT_LINE_BYTES];
        char shown[EXCERPT_LINE_BYTES];
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        snprintf(shown, sizeof shown, "%s", word);
        char *query = may_be_in_url ? strchr(shown, '?') : NULL;
        if (strstr(word, "://") != NULL) {
            url_redact(word, shown, sizeof shown);
            may_be_in_url = true;
        } else if (query != NULL) {
            snprintf(query, sizeof shown - (size_t)(query - shown), "?…");
        }
        int written = snprintf(out + used, size - used, "%s", shown);
        used += written < (int)(size - used) ? (size_t)written : size - used - 1;
        text += length;
    }
}

/* Tabs stay; other characters that can't be shown become '?'. */
static void make_printable(const char *text, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (;;) {
        size_t length = strcspn(text, "\t\r\n");
        text_printable(text, length, '?', out + used, size - used);
        used += strlen(out + used);
        if (text[length] != '\t' || used + 1 >= size)
            return;
        out[used++] = '\t';
        out[used] = '\0';
        text += length + 1;
    }
}

static void show(const char *text, char out[EXCERPT_LINE_BYTES])
{
    char raw[EXCERPT_LINE_BYTES];
    char redacted[EXCERPT_LINE_BYTES];
    snprintf(raw, sizeof raw, "%s", text);
    char *colon = find_secret(raw);
    if (colon != NULL)
        snprintf(colon, sizeof raw - (size_t)(colon - raw), ": ***");
    excerpt_redact(raw, redacted, sizeof redacted);
    make_printable(redacted, out, EXCERPT_LINE_BYTES);
}

static bool is_inside_character(const char *at)
{
    return ((unsigned char)*at & 0xC0) == 0x80;
}

/* Bytes before the line's character number `column`. */
static size_t bytes_before(const char *line, int column)
{
    const char *at = line;
    for (int i = 1; i < column && *at != '\0'; i++)
        for (at++; is_inside_character(at); at++)
            ;
    return (size_t)(at - line);
}

/* What both begin with, in whole characters of `b`. */
static size_t common_bytes(const char *a, const char *b)
{
    size_t length = 0;
    while (a[length] != '\0' && a[length] == b[length])
        length++;
    while (length > 0 && is_inside_character(b + length))
        length--;
    return length;
}

/* Of a long line, the part around the caret. */
static const char *cut(struct load *load, const char *shown, size_t caret, int *column, struct err *e)
{
    char out[EXCERPT_BYTES];
    size_t start = caret + BEHIND_CARET < EXCERPT_BYTES ? 0 : caret - BEFORE_CARET;
    while (is_inside_character(shown + start))
        start++;
    snprintf(out, sizeof out, "%s", start == 0 ? "" : "…");
    size_t used = strlen(out);
    make_printable(shown + start, out + used, sizeof out - used);
    *column = 1;
    for (const char *at = out; at < out + used + (caret - start) && *at != '\0'; at++)
        *column += !is_inside_character(at + 1);
    return arena_strdup(load->arena, out, e);
}

int excerpt_take(struct load *load, struct yaml_file *file, struct diagnostic *diagnostic, struct err *e)
{
    int line = diagnostic->place.line;
    if (file->line_starts == NULL && index_lines(load, file, e) < 0)
        return -1;
    if (line < 1 || (size_t)line > file->line_count) {
        diagnostic->excerpt = "";
        return 0;
    }
    const struct line found = line_at(file->text + file->line_starts[line - 1], file->text + file->length);
    size_t length = found.length < EXCERPT_LINE_BYTES - 1 ? found.length : EXCERPT_LINE_BYTES - 1;
    char raw[EXCERPT_LINE_BYTES];
    char shown[EXCERPT_LINE_BYTES];
    char before[EXCERPT_LINE_BYTES];
    memcpy(raw, found.text, length);
    raw[length] = '\0';
    show(raw, shown);
    /* What is hidden has another length: the caret stands behind what is shown of the text before it. */
    raw[bytes_before(raw, diagnostic->place.column)] = '\0';
    show(raw, before);
    diagnostic->excerpt = cut(load, shown, common_bytes(before, shown), &diagnostic->caret, e);
    return diagnostic->excerpt == NULL ? -1 : 0;
}
