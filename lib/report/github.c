/* Findings as GitHub's workflow commands, which the runner turns into annotations. It shows ten errors and
 * ten warnings of a step and drops the others in silence: those that come first are the worst ones, and the
 * others are counted in a last line. */
#include "base/text.h"
#include "report/page.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANNOTATIONS_MAX = 10, LINE_BYTES = 8192 };

/* Bytes that would end a command's text, and, in a property, those that separate properties. */
static void put_line(struct page *page, const char *line, bool is_property)
{
    static const char hex[] = "0123456789ABCDEF";
    for (const char *text = line; *text != '\0' && !page->failed; text++) {
        unsigned char byte = (unsigned char)*text;
        bool is_special =
            byte == '%' || byte == '\r' || byte == '\n' || (is_property && (byte == ':' || byte == ','));
        const char escape[] = {'%', hex[byte >> 4], hex[byte & 15]};
        const char plain = (char)byte;
        if (is_special ? buf_add(page->out, escape, sizeof escape, page->e) < 0
                       : buf_add(page->out, &plain, 1, page->e) < 0)
            page->failed = true;
    }
}

/* Line ends are escaped, everything else is made fit to be shown. */
static void put_escaped(struct page *page, const char *text, bool is_property)
{
    if (text == NULL)
        return;
    while (*text != '\0') {
        char line[LINE_BYTES];
        size_t length = strcspn(text, "\r\n");
        put_line(page, text_printable(text, length, '?', line, sizeof line), is_property);
        text += length;
        for (; *text == '\r' || *text == '\n'; text++)
            put_line(page, *text == '\r' ? "\r" : "\n", is_property);
    }
}

static void write_annotation(struct page *page, const struct diagnostic *diagnostic)
{
    const struct place *place = &diagnostic->place;
    page_printf(page, "::%s ", diagnostic->severity == DIAGNOSTIC_ERROR ? "error" : "warning");
    if (place->file != NULL) {
        page_printf(page, "file=");
        put_escaped(page, place->file, true);
        page_printf(page, ",");
    }
    if (place->file != NULL && place->line > 0)
        page_printf(page, "line=%d,", place->line);
    if (place->file != NULL && place->line > 0 && place->column > 0)
        page_printf(page, "col=%d,", place->column);
    page_printf(page, "title=");
    put_escaped(page, rule_name(diagnostic->rule), true);
    page_printf(page, "::");
    char *text = finding_message(diagnostic, "\n", "");
    if (text == NULL && !page->failed)
        page->failed = err_set(page->e, ERR_MEMORY, "out of memory") < 0;
    put_escaped(page, text, false);
    free(text);
    page_printf(page, "\n");
}

static size_t write_some(struct page *page, const struct desired *desired, enum diagnostic_severity severity)
{
    size_t count = 0;
    for (size_t i = 0; i < desired->diagnostic_count; i++) {
        if (desired->diagnostics[i].severity != severity)
            continue;
        if (count < ANNOTATIONS_MAX)
            write_annotation(page, &desired->diagnostics[i]);
        count++;
    }
    return count > ANNOTATIONS_MAX ? count - ANNOTATIONS_MAX : 0;
}

int github_diagnostics(const struct desired *desired, const struct report_style *style, struct buf *out,
                       struct err *e)
{
    (void)style;
    struct page page = {.out = out, .e = e};
    size_t errors = write_some(&page, desired, DIAGNOSTIC_ERROR);
    size_t warnings = write_some(&page, desired, DIAGNOSTIC_WARNING);
    if (errors == 0 && warnings == 0)
        return page_result(&page);
    page_printf(&page, "::notice title=tender validate::Not shown, for GitHub shows ten of a kind: ");
    if (errors > 0)
        page_count(&page, errors, "error", "errors");
    if (errors > 0 && warnings > 0)
        page_printf(&page, " and ");
    if (warnings > 0)
        page_count(&page, warnings, "warning", "warnings");
    page_printf(&page, "\n");
    return page_result(&page);
}
