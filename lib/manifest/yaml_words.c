/* libyaml's words whose meaning needs no look at the text. */
#include "manifest/yaml.h"
#include <string.h>

static const char version[] = "the %YAML line is not understood: write \"%YAML 1.1\", or remove the line";
static const char handle[] = "a %TAG line that is not understood, or that is there twice: remove it";
static const char directive[] = "a line that begins with \"%\" speaks to YAML itself, and this one is not "
                                "understood: quote the value, or remove the line";
static const char tag[] = "a value that begins with \"!\" must be quoted: this is no YAML tag";
static const char tab[] = "a tab is used for indentation: YAML takes spaces only";

/* The first row counts whose words stand in what was read (the context), or in what went wrong. */
static const struct {
    const char *context, *problem; /* NULL: any */
    enum { WHERE_IT_ENDED, WHERE_IT_BEGAN, BEFORE_ESCAPE } place;
    const char *text;
} meanings[] = {
    {NULL, "found duplicate %YAML directive", WHERE_IT_ENDED, "the %YAML directive stands there twice"},
    {NULL, "found incompatible YAML document", WHERE_IT_ENDED, version},
    {"%YAML directive", NULL, WHERE_IT_BEGAN, version},
    {NULL, "version number", WHERE_IT_BEGAN, version},
    {NULL, "digit or '.' character", WHERE_IT_BEGAN, version},
    {NULL, "found duplicate %TAG directive", WHERE_IT_ENDED, handle},
    {"TAG directive", NULL, WHERE_IT_BEGAN, handle},
    {"tag directive", NULL, WHERE_IT_BEGAN, handle},
    {"a directive", NULL, WHERE_IT_BEGAN, directive},
    {NULL, "directive name", WHERE_IT_BEGAN, directive},
    {NULL, "non-alphabetical character", WHERE_IT_BEGAN, directive},
    {NULL, "found undefined tag handle", WHERE_IT_ENDED,
     "an unknown YAML tag: quote a value that begins with \"!\""},
    {"ing a tag", NULL, WHERE_IT_BEGAN, tag},
    {NULL, "tag URI", WHERE_IT_BEGAN, tag},
    {NULL, " octet", WHERE_IT_BEGAN, tag},
    {NULL, "'!'", WHERE_IT_BEGAN, tag},
    {NULL, "'>'", WHERE_IT_BEGAN, tag},
    {NULL, "expected whitespace", WHERE_IT_BEGAN, tag},
    {NULL, "found a tab character", WHERE_IT_ENDED, tab},
    {NULL, "alphabetic or numeric character", WHERE_IT_BEGAN,
     "a value that begins with \"*\" or \"&\" must be quoted"},
    {NULL, "found unknown escape character", WHERE_IT_ENDED,
     "a \"\\\" that begins no known escape: write \"\\\\\", or use single quotes"},
    {NULL, "hexdecimal number", BEFORE_ESCAPE,
     "a \"\\x\" or \"\\u\" that hex digits must follow: write \"\\\\\", or use single quotes"},
    {NULL, "invalid Unicode character", BEFORE_ESCAPE,
     "a \"\\u\" or \"\\U\" that names no character: write \"\\\\\", or use single quotes"},
    {NULL, "comment or line break", WHERE_IT_BEGAN,
     "behind \"|\" or \">\" the line must end: the text begins in the next one"},
    {NULL, "indentation indicator", WHERE_IT_BEGAN,
     "the number behind \"|\" or \">\" must be from 1 to 9: it says how far the text is indented"},
    {NULL, "mapping keys are not allowed", WHERE_IT_ENDED,
     "a \"? \" where no key can stand: quote a value that begins with \"?\""},
    {NULL, "found unexpected ':'", WHERE_IT_ENDED,
     "between \"[\" and \"]\", or \"{\" and \"}\", a value that ends with \":\" must be quoted"},
    {NULL, "expected <document start>", WHERE_IT_ENDED,
     "something stands behind the end of the document: correct the indentation"},
    {NULL, "document indicator", WHERE_IT_ENDED, "the document ends before the value does"},
    {NULL, "end of stream", WHERE_IT_ENDED, "the file ends before the value does"},
    {NULL, "<stream-start>", WHERE_IT_ENDED, "the file can't be read as YAML"},
};

static bool holds(const char *text, const char *part)
{
    return part == NULL || (text != NULL && strstr(text, part) != NULL);
}

int yaml_fault_by_words(const struct yaml_fault *fault, const char *problem, struct err *e)
{
    enum { ESCAPE_COLUMNS = 2 };
    size_t line = fault->line;
    size_t column = fault->column;
    const char *text = NULL;
    for (size_t i = 0; text == NULL && i < ARRAY_LENGTH(meanings); i++) {
        if (!holds(fault->context, meanings[i].context) || !holds(problem, meanings[i].problem))
            continue;
        text = meanings[i].text;
        if (meanings[i].place == WHERE_IT_BEGAN && fault->context != NULL) {
            line = fault->context_line;
            column = fault->context_column;
        } else if (meanings[i].place == BEFORE_ESCAPE && column >= ESCAPE_COLUMNS) {
            column -= ESCAPE_COLUMNS;
        }
    }
    if (text != NULL)
        err_fill(e, ERR_MANIFEST, "%s", text);
    else
        err_fill(e, ERR_MANIFEST, "not valid YAML: %s%s%s", problem, fault->context == NULL ? "" : " ",
                 fault->context == NULL ? "" : fault->context);
    err_at(e, fault->file->path, (int)line + 1, (int)column + 1);
    return -1;
}
