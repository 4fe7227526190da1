/* A text's lines: which bytes they are, and which of libyaml's lines lies where in them. */
#include "manifest/lines.h"
#include "base/text.h"
#include <string.h>

static bool is_line_end(const char *at)
{
    return *at == '\n' || *at == '\r';
}

const char *line_next(const char *at, const char *end)
{
    while (at < end && !is_line_end(at))
        at++;
    if (end - at >= 2 && at[0] == '\r' && at[1] == '\n')
        return at + 2;
    return at < end ? at + 1 : end;
}

const char *line_back(const char *at, const char *begin)
{
    if (at > begin)
        at -= at - begin >= 2 && at[-2] == '\r' && at[-1] == '\n' ? 2 : 1;
    while (at > begin && !is_line_end(at - 1))
        at--;
    return at;
}

struct line line_at(const char *at, const char *end)
{
    struct line line = {.text = at};
    while (at + line.length < end && !is_line_end(at + line.length))
        line.length++;
    while (line.indent < line.length && at[line.indent] == ' ')
        line.indent++;
    return line;
}

struct line line_of(const struct yaml_file *file, size_t number)
{
    const char *at = file->text;
    const char *end = file->text + file->length;
    for (size_t i = 0; i < number && at < end; i++)
        at = line_next(at, end);
    return line_at(at, end);
}

/* Bytes of the NEL, LS or PS that `at` begins with; 0: none. */
static size_t break_bytes(const char *at, const char *end)
{
    static const char *const breaks[] = {"\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"};
    for (size_t i = 0; i < ARRAY_LENGTH(breaks); i++)
        if ((size_t)(end - at) >= strlen(breaks[i]) && memcmp(at, breaks[i], strlen(breaks[i])) == 0)
            return strlen(breaks[i]);
    return 0;
}

static const char *find_break(const char *at, const char *end)
{
    static const unsigned char leads[] = {0xC2, 0xE2};
    for (size_t i = 0; i < ARRAY_LENGTH(leads); i++)
        for (const char *found = at; (found = memchr(found, leads[i], (size_t)(end - found))) != NULL;
             found++)
            if (break_bytes(found, end) > 0)
                return found;
    return NULL;
}

int line_origins(const struct yaml_file *file, struct arena *arena, struct line_origins *out, struct err *e)
{
    const char *at = file->text;
    const char *end = at + file->length;
    struct line_origin here = {.line = 0};
    size_t capacity = 0;
    *out = (struct line_origins){.count = 0};
    if (find_break(at, end) == NULL)
        return 0;
    for (;;) {
        struct line_origin *slot = ARENA_PUSH(arena, &out->items, &out->count, &capacity, e);
        if (slot == NULL)
            return -1;
        *slot = here;
        const char *begin = at;
        while (at < end && !is_line_end(at) && break_bytes(at, end) == 0)
            at++;
        if (at == end)
            return 0;
        if (is_line_end(at)) {
            at = line_next(at, end);
            here = (struct line_origin){.line = here.line + 1};
        } else {
            here.column += text_count_characters(begin, (size_t)(at - begin)) + 1;
            at += break_bytes(at, end);
        }
    }
}

void line_origins_place(const struct line_origins *origins, size_t *line, size_t *column)
{
    if (origins->count == 0)
        return;
    if (*line >= origins->count) { /* libyaml ends the last line itself, where no line end does */
        *line = origins->items[origins->count - 1].line + (*line - (origins->count - 1));
        return;
    }
    const struct line_origin *origin = &origins->items[*line];
    *line = origin->line;
    *column += origin->column;
}
