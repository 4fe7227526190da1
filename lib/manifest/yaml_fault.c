/* What libyaml says of a text that is no YAML, in the words of the person who wrote it, at the place where it
 * went wrong: often an earlier one than where the parser gave up. */
#include "base/text.h"
#include "manifest/lines.h"
#include <stdio.h>
#include <string.h>

static bool is_blank(const struct line *line)
{
    for (size_t i = line->indent; i < line->length; i++)
        if (line->text[i] == '#')
            return true;
        else if (line->text[i] != ' ' && line->text[i] != '\t')
            return false;
    return true;
}

/* From the line with this number to the last one above it that is neither blank nor a comment; false where
 * there is none. */
static bool go_up(const struct yaml_file *file, struct line *line, size_t *number)
{
    while (*number > 0) {
        *line = line_at(line_back(line->text, file->text), file->text + file->length);
        (*number)--;
        if (!is_blank(line))
            return true;
    }
    return false;
}

/* The number of that line, or SIZE_MAX. */
static size_t line_before(const struct yaml_file *file, size_t number)
{
    struct line line = line_of(file, number);
    return go_up(file, &line, &number) ? number : SIZE_MAX;
}

static bool begins_entry(const struct line *line)
{
    return line->indent < line->length && line->text[line->indent] == '-' &&
           (line->indent + 1 == line->length || line->text[line->indent + 1] == ' ');
}

/* Where the line's "key:" ends (behind the ":"), 0 if it has none; quotes are not looked into. */
static size_t key_end(const struct line *line)
{
    for (size_t i = line->indent; i < line->length; i++) {
        if (line->text[i] == '"' || line->text[i] == '\'' || line->text[i] == '#')
            return 0;
        if (line->text[i] == ':' && (i + 1 == line->length || line->text[i + 1] == ' '))
            return i + 1;
    }
    return 0;
}

/* "key: value" with a value that is no block, list or mapping: finished, nothing can stand below it. */
static bool is_finished(const struct line *line)
{
    size_t at = key_end(line);
    while (at > 0 && at < line->length && line->text[at] == ' ')
        at++;
    return at > 0 && at < line->length && strchr("|>&!#[{\"'", line->text[at]) == NULL;
}

enum { SHOWN_KEY_BYTES = 80 };

/* The line's key, as a message may show it. */
static const char *shown_key(const struct line *line, char out[SHOWN_KEY_BYTES])
{
    size_t end = key_end(line);
    size_t start = line->indent;
    while (start + 1 < end && line->text[start] == '-' && line->text[start + 1] == ' ')
        for (start++; start < end && line->text[start] == ' ';)
            start++;
    return text_first_line(line->text + start, end > start ? end - start - 1 : 0, out, SHOWN_KEY_BYTES);
}

static int fail(const struct yaml_fault *fault, size_t line, size_t column, struct err *e, const char *text)
{
    err_fill(e, ERR_MANIFEST, "%s", text);
    err_at(e, fault->file->path, (int)line + 1, (int)column + 1);
    return -1;
}

/* The bytes before the line's character `column`. */
static size_t offset_of(const struct line *line, size_t column)
{
    size_t at = 0;
    for (size_t i = 0; i < column && at < line->length; i++)
        for (at++; at < line->length && ((unsigned char)line->text[at] & 0xC0) == 0x80;)
            at++;
    return at;
}

static int fail_character(const struct yaml_fault *fault, struct err *e)
{
    const struct line line = line_of(fault->file, fault->line);
    size_t at = offset_of(&line, fault->column);
    char character = '\0';
    if (at < line.length)
        character = line.text[at];
    const char *text = "no value can begin with this character: quote it";
    if (character == '\t')
        text = "a tab is used for indentation: YAML takes spaces only";
    else if (character == '`' && line.length - at >= 3 && memcmp(line.text + at, "```", 3) == 0)
        text = "a stray \"```\" (a Markdown fence): remove the line";
    else if (character == '`')
        text = "a value that begins with \"`\" must be quoted";
    else if (character == '@')
        text = "a value that begins with \"@\" must be quoted";
    else if (character == '%')
        text = "a value that begins with \"%\" must be quoted";
    return fail(fault, fault->line, fault->column, e, text);
}

/* The last "[" or "{" at a line's end above the fault, with nothing that closes it between: its number and
 * column; false if there is none near. */
static bool find_open_bracket(const struct yaml_fault *fault, size_t *number, size_t *column)
{
    enum { LINES_MOST = 50 };
    struct line line = line_of(fault->file, fault->line);
    *number = fault->line;
    for (int i = 0; i < LINES_MOST && go_up(fault->file, &line, number); i++) {
        size_t end = line.length;
        while (end > 0 && line.text[end - 1] == ' ')
            end--;
        if (line.text[end - 1] == '[' || line.text[end - 1] == '{') {
            *column = text_count_characters(line.text, end - 1);
            return true;
        }
        if (memchr(line.text, ']', end) != NULL || memchr(line.text, '}', end) != NULL)
            return false;
    }
    return false;
}

/* Nothing where a value must stand: most often the bracket that asks for it was forgotten. */
static int fail_nothing(const struct yaml_fault *fault, const struct line *line, struct err *e)
{
    size_t number, column;
    if (!find_open_bracket(fault, &number, &column))
        return fail(fault, fault->line, fault->column, e, "a value is missing here");
    if (begins_entry(line) && fault->column == line->indent)
        return fail(fault, number, column, e,
                    "a bracket around entries that begin with \"- \": leave out either of them");
    return fail(fault, number, column, e, "this bracket is not closed, or a comma is missing behind it");
}

/* A "}" or "]" too many, or a character that begins no value. */
static int fail_content(const struct yaml_fault *fault, const char *what, struct err *e)
{
    char text[128];
    const struct line line = line_of(fault->file, fault->line);
    size_t at = offset_of(&line, fault->column);
    char character[2] = {at < line.length ? line.text[at] : '\0', '\0'};
    if (character[0] == '\0' || strchr("[]{},:", character[0]) == NULL)
        return fail_nothing(fault, &line, e);
    snprintf(text, sizeof text, "a \"%s\" %s", character, what);
    return fail(fault, fault->line, fault->column, e, text);
}

/* "name:A", or "name" alone, in the line above one that would be below it: its number, or SIZE_MAX. */
static size_t line_without_colon(const struct yaml_fault *fault, const struct line *line)
{
    size_t number = line_before(fault->file, fault->line);
    if (number == SIZE_MAX)
        return SIZE_MAX;
    const struct line above = line_of(fault->file, number);
    for (size_t i = above.indent; i < above.length; i++)
        if (strchr("\"'[]{}#,", above.text[i]) != NULL)
            return SIZE_MAX;
    return key_end(&above) == 0 && !begins_entry(&above) && line->indent >= above.indent ? number : SIZE_MAX;
}

static int fail_without_colon(const struct yaml_fault *fault, size_t number, struct err *e)
{
    char shown[SHOWN_KEY_BYTES];
    char text[256];
    const struct line line = line_of(fault->file, number);
    text_first_line(line.text + line.indent, line.length - line.indent, shown, sizeof shown);
    bool has_colon = memchr(line.text + line.indent, ':', line.length - line.indent) != NULL;
    snprintf(text, sizeof text, has_colon ? "no blank behind the \":\" of \"%s\"" : "no \":\" behind \"%s\"",
             shown);
    return fail(fault, number, line.indent, e, text);
}

/* "key: a: b", or a key below a line that has its value already. */
static int fail_colon(const struct yaml_fault *fault, struct err *e)
{
    char key[SHOWN_KEY_BYTES];
    char above_key[SHOWN_KEY_BYTES];
    char text[256];
    const struct line line = line_of(fault->file, fault->line);
    size_t first = key_end(&line);
    size_t number = line_before(fault->file, fault->line);
    const struct line above = line_of(fault->file, number == SIZE_MAX ? 0 : number);
    size_t value = first;
    while (value < line.length && line.text[value] == ' ')
        value++;
    bool is_flow = value < line.length && (line.text[value] == '{' || line.text[value] == '[');
    if (first > 0 && fault->column + 1 > first && !is_flow) {
        snprintf(text, sizeof text, "the value of \"%s\" has a \": \" in it: put the value in quotes",
                 shown_key(&line, key));
        return fail(fault, fault->line, fault->column, e, text);
    }
    if (number != SIZE_MAX && line.indent > above.indent && is_finished(&above)) {
        snprintf(text, sizeof text,
                 "\"%s\" is indented below \"%s\" (line %zu), which has its value already: correct the "
                 "indentation",
                 shown_key(&line, key), shown_key(&above, above_key), number + 1);
        return fail(fault, fault->line, line.indent, e, text);
    }
    size_t without = line_without_colon(fault, &line);
    if (without != SIZE_MAX && first > 0)
        return fail_without_colon(fault, without, e);
    return fail(fault, fault->line, fault->column, e,
                "a \": \" where no key can stand: quote the value, or correct the indentation");
}

/* The columns in which the lines above begin something: the nearest deeper and the nearest shallower one. */
struct columns {
    size_t deeper, deeper_line; /* SIZE_MAX: none */
    size_t shallower, shallower_line;
    bool is_exact; /* the line's own column is among them */
};

static void note_column(struct columns *columns, size_t mine, size_t column, size_t line)
{
    columns->is_exact = columns->is_exact || column == mine;
    if (column > mine && column < columns->deeper) {
        columns->deeper = column;
        columns->deeper_line = line;
    }
    if (column < mine && columns->shallower == SIZE_MAX) {
        columns->shallower = column;
        columns->shallower_line = line;
    }
}

static struct columns find_columns(const struct yaml_file *file, size_t number, size_t mine)
{
    struct columns columns = {.deeper = SIZE_MAX, .shallower = SIZE_MAX};
    enum { LINES_MOST = 200 };
    struct line line = line_of(file, number);
    for (int i = 0; i < LINES_MOST && columns.shallower == SIZE_MAX && go_up(file, &line, &number); i++) {
        size_t content = line.indent;
        if (begins_entry(&line))
            for (content++; content < line.length && line.text[content] == ' ';)
                content++;
        note_column(&columns, mine, content, number);
        note_column(&columns, mine, line.indent, number);
    }
    return columns;
}

/* A line that stands in another column than those of the list or mapping that is open there. */
static int fail_indentation(const struct yaml_fault *fault, struct err *e)
{
    char text[300];
    const struct line line = line_of(fault->file, fault->line);
    const char *what = begins_entry(&line) ? "this list entry" : "this line";
    if (fault->quote_end_line > 0 && fault->quote_end_line == fault->line) {
        snprintf(text, sizeof text,
                 "the quote that begins here ends in line %zu only: is its closing quote missing?",
                 fault->quote_end_line + 1);
        return fail(fault, fault->quote_line, fault->quote_column, e, text);
    }
    size_t at = offset_of(&line, fault->column);
    if (at < line.length && (line.text[at] == '}' || line.text[at] == ']'))
        return fail_content(fault, "that closes nothing", e);
    if (at < line.length && line.text[at] == ':')
        return fail(fault, fault->line, fault->column, e, "a \":\" without a key before it");
    if (line.indent != fault->column)
        return fail(fault, fault->line, fault->column, e,
                    "something stands behind a finished value: quote the whole value");
    const struct columns columns = find_columns(fault->file, fault->line, line.indent);
    if (columns.is_exact || (columns.deeper == SIZE_MAX && columns.shallower == SIZE_MAX))
        snprintf(text, sizeof text, "wrong indentation: %s does not belong to the %s above", what,
                 begins_entry(&line) ? "mapping" : "list");
    else if (columns.deeper == SIZE_MAX || columns.shallower == SIZE_MAX)
        snprintf(text, sizeof text,
                 "wrong indentation: %s begins in column %zu, what is above begins in column %zu (line %zu)",
                 what, line.indent + 1, (columns.deeper == SIZE_MAX ? columns.shallower : columns.deeper) + 1,
                 (columns.deeper == SIZE_MAX ? columns.shallower_line : columns.deeper_line) + 1);
    else
        snprintf(text, sizeof text,
                 "wrong indentation: %s begins in column %zu, what is above begins in column %zu (line %zu) "
                 "or %zu "
                 "(line %zu)",
                 what, line.indent + 1, columns.deeper + 1, columns.deeper_line + 1, columns.shallower + 1,
                 columns.shallower_line + 1);
    return fail(fault, fault->line, fault->column, e, text);
}

static int fail_entry(const struct yaml_fault *fault, struct err *e)
{
    char key[SHOWN_KEY_BYTES];
    char text[256];
    const struct line line = line_of(fault->file, fault->line);
    size_t number = line_before(fault->file, fault->line);
    const struct line above = line_of(fault->file, number == SIZE_MAX ? 0 : number);
    if (number != SIZE_MAX && is_finished(&above) && begins_entry(&line)) {
        snprintf(text, sizeof text,
                 "a list entry (\"- \") below \"%s\" (line %zu), which has its value already: correct the "
                 "indentation",
                 shown_key(&above, key), number + 1);
        return fail(fault, fault->line, fault->column, e, text);
    }
    return fail(fault, fault->line, fault->column, e,
                "a list entry (\"- \") where none can stand: correct the indentation");
}

static bool has_text(const char *text, const char *part)
{
    return text != NULL && strstr(text, part) != NULL;
}

/* A line that Git writes where a merge has a conflict; its mark, or NULL. "=======" may be somebody's text.
 */
static const char *conflict_mark(const struct line *line, bool is_at_fault)
{
    static const char *const marks[] = {"<<<<<<<", "|||||||", ">>>>>>>", "======="};
    size_t length = strlen(marks[0]);
    for (size_t i = 0; i < ARRAY_LENGTH(marks); i++) {
        bool is_divider = marks[i][0] == '=';
        if (line->length >= length && memcmp(line->text, marks[i], length) == 0 &&
            (line->length == length || (!is_divider && line->text[length] == ' ')) &&
            (!is_divider || is_at_fault))
            return marks[i];
    }
    return NULL;
}

/* Fails at the first of them, if there is one; 0 else. */
static int fail_conflict(const struct yaml_fault *fault, struct err *e)
{
    char text[128];
    const char *at = fault->file->text;
    const char *end = at + fault->file->length;
    for (size_t number = 0; at < end; at = line_next(at, end), number++) {
        const struct line line = line_at(at, end);
        bool is_at_fault = number == fault->line || (fault->context != NULL && number == fault->context_line);
        const char *mark = conflict_mark(&line, is_at_fault);
        if (mark != NULL) {
            snprintf(text, sizeof text,
                     "a Git conflict marker (\"%s\"): finish the merge, and remove the markers", mark);
            return fail(fault, number, 0, e, text);
        }
    }
    return 0;
}

/* The line before the fault speaks to YAML itself. */
static bool begins_directive(const struct yaml_fault *fault)
{
    size_t number = line_before(fault->file, fault->line);
    return number != SIZE_MAX && line_of(fault->file, number).text[0] == '%';
}

static size_t first_line(const struct yaml_file *file)
{
    const char *end = file->text + file->length;
    size_t number = 0;
    for (const char *at = file->text; at < end; at = line_next(at, end), number++) {
        const struct line line = line_at(at, end);
        if (!is_blank(&line))
            break;
    }
    return number;
}

/* The first line begins right of the one where the document seems to end. */
static bool is_outdented(const struct yaml_fault *fault)
{
    const struct line first = line_of(fault->file, first_line(fault->file));
    const struct line line = line_of(fault->file, fault->line);
    return line.indent < first.indent;
}

/* "-key: value": to YAML a key that begins with "-", and no list entry. */
static bool lacks_blank(const struct line *line)
{
    return line->indent + 1 < line->length && line->text[line->indent] == '-' &&
           strchr("- \t", line->text[line->indent + 1]) == NULL && key_end(line) > 0;
}

static bool begins_with_mark(const struct line *line)
{
    static const char mark[] = "\ufeff";
    return line->length >= strlen(mark) && memcmp(line->text, mark, strlen(mark)) == 0;
}

/* A fault in the line that the parser stopped at, or in one that it then was in; 0 if there is none. */
static int fail_by_beginning(const struct yaml_fault *fault, struct err *e)
{
    char key[SHOWN_KEY_BYTES];
    char text[256];
    const size_t numbers[] = {line_before(fault->file, fault->line), fault->line,
                              fault->context == NULL ? fault->line : fault->context_line, 0};
    for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++) {
        if (numbers[i] == SIZE_MAX)
            continue;
        const struct line line = line_of(fault->file, numbers[i]);
        if (begins_with_mark(&line))
            return fail(fault, numbers[i], 0, e,
                        "the line begins with an invisible character (U+FEFF, a byte order mark): remove it");
        if (!lacks_blank(&line))
            continue;
        snprintf(text, sizeof text, "no blank behind the \"-\" of \"%s\": a list entry begins with \"- \"",
                 shown_key(&line, key));
        return fail(fault, numbers[i], line.indent, e, text);
    }
    return 0;
}

/* Where something stands in a place that has no use for it. */
static bool is_about_place(const char *problem)
{
    static const char *const problems[] = {
        "mapping values are not allowed in this context",
        "block sequence entries are not allowed in this context",
        "did not find expected key",
        "did not find expected '-' indicator",
        "could not find expected ':'",
        "did not find expected <document start>",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(problems); i++)
        if (strcmp(problem, problems[i]) == 0)
            return true;
    return false;
}

/* What needs a look at the text. */
static int fail_by_text(const struct yaml_fault *fault, const char *problem, struct err *e)
{
    if (strcmp(problem, "found character that cannot start any token") == 0)
        return fail_character(fault, e);
    if (has_text(fault->context, "quoted scalar") &&
        (has_text(problem, "unexpected end of stream") || has_text(problem, "unexpected document indicator")))
        return fail(fault, fault->context_line, fault->context_column, e,
                    "the quote that begins here is never closed");
    if (strcmp(problem, "mapping values are not allowed in this context") == 0)
        return fail_colon(fault, e);
    if (strcmp(problem, "block sequence entries are not allowed in this context") == 0)
        return fail_entry(fault, e);
    if (strcmp(problem, "did not find expected key") == 0 ||
        strcmp(problem, "did not find expected '-' indicator") == 0)
        return fail_indentation(fault, e);
    if (strcmp(problem, "did not find expected node content") == 0)
        return fail_content(fault, "where a value is expected: quote a value that begins with it", e);
    /* The key's line, not the next one, where the parser gave up. */
    if (strcmp(problem, "could not find expected ':'") == 0)
        return fail(fault, fault->context == NULL ? fault->line : fault->context_line,
                    fault->context == NULL ? fault->column : fault->context_column, e,
                    "this line has no \": \" behind its key, or is not indented enough");
    bool is_list = strcmp(problem, "did not find expected ',' or ']'") == 0;
    if (is_list || strcmp(problem, "did not find expected ',' or '}'") == 0)
        return fail(fault, fault->context_line, fault->context_column, e,
                    is_list ? "the \"[\" here is not closed, or a comma is missing behind it"
                            : "the \"{\" here is not closed, or a comma is missing behind it");
    if (strcmp(problem, "did not find expected <document start>") == 0 && fault->line > 0 &&
        begins_directive(fault))
        return fail(fault, fault->line, fault->column, e,
                    "a line \"---\" must follow the lines that begin with \"%\"");
    if (strcmp(problem, "did not find expected <document start>") == 0 && is_outdented(fault))
        return fail(fault, first_line(fault->file), 0, e,
                    "the first line is indented more than the others: correct the indentation");
    return yaml_fault_by_words(fault, problem, e);
}

int yaml_fault_explain(const struct yaml_fault *fault, struct err *e)
{
    if (fail_conflict(fault, e) < 0)
        return -1;
    const char *problem = fault->problem == NULL ? "it can't be read" : fault->problem;
    if (is_about_place(problem) && fail_by_beginning(fault, e) < 0)
        return -1;
    return fail_by_text(fault, problem, e);
}
