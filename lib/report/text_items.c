/* The items of a run for people: the changes, one line each; what is kept; and each trouble with all that is
 * known of it. */
#include "base/clock.h"
#include "base/text.h"
#include "report/page.h"
#include <stdio.h>
#include <string.h>

enum { FIELDS_BYTES = 512, ATTEMPTS_SHOWN = 3, NAMES_SHOWN = 8, DIGEST_SHOWN = 12 };

struct change_word {
    enum outcome_kind kind;
    const char *mark;
    enum paint paint;
    const char *done, *planned;
};

static const struct change_word change_words[] = {
    {OUTCOME_CREATED, "+", PAINT_GREEN, "created", "would create"},
    {OUTCOME_UPDATED, "~", PAINT_YELLOW, "updated", "would update"},
    {OUTCOME_REMOVED, "-", PAINT_RED, "removed", "would remove"},
    {OUTCOME_CHECKED, "?", PAINT_YELLOW, "checked", "would check"},
};

static const struct change_word *change_word(enum outcome_kind kind)
{
    for (size_t i = 0; i < ARRAY_LENGTH(change_words); i++)
        if (change_words[i].kind == kind)
            return &change_words[i];
    return NULL;
}

static void write_heading(struct page *page, const char *text)
{
    page_printf(page, "\n");
    page_painted(page, PAINT_BOLD, text);
    page_printf(page, "\n");
}

static void write_fields_note(struct page *page, const char *lead, unsigned fields)
{
    char text[FIELDS_BYTES];
    if (fields != 0)
        page_paragraph(page, lead, software_fields_text(fields, text, sizeof text));
}

static void write_change(struct page *page, const struct outcome *outcome, const struct change_word *word,
                         bool is_plan)
{
    char fields[FIELDS_BYTES];
    page_printf(page, "    ");
    page_painted(page, word->paint, word->mark);
    page_printf(page, " ");
    page_text(page, outcome->name);
    if (!text_is_empty(outcome->version)) {
        page_printf(page, " ");
        page_text(page, outcome->version);
    }
    page_printf(page, ": %s", is_plan ? word->planned : word->done);
    if (outcome->kind == OUTCOME_UPDATED && outcome->changed_fields != 0)
        page_printf(page, " (%s)", software_fields_text(outcome->changed_fields, fields, sizeof fields));
    if (!text_is_empty(outcome->sha256) && outcome->kind != OUTCOME_REMOVED)
        page_printf(page, " %.*s…", DIGEST_SHOWN, outcome->sha256);
    page_printf(page, "\n");
    if (!text_is_empty(outcome->what))
        page_paragraph(page, "      ", outcome->what);
    if (outcome->ignored_fields != 0)
        write_fields_note(page, "      sent, but not kept by the server: ", outcome->ignored_fields);
}

void text_write_changes(struct page *page, const struct run_report *report)
{
    bool has_heading = false;
    for (size_t i = 0; i < report->team_count; i++) {
        const struct team_outcome *team = &report->teams[i];
        bool has_name = false;
        for (size_t j = 0; j < team->outcome_count; j++) {
            const struct change_word *word = change_word(team->outcomes[j].kind);
            if (word == NULL)
                continue;
            if (!has_heading)
                write_heading(page, report->is_plan ? "Changes that apply would make" : "Changes");
            if (!has_name) {
                page_printf(page, "  ");
                page_text(page, team->name);
                page_printf(page, "\n");
            }
            has_heading = has_name = true;
            write_change(page, &team->outcomes[j], word, report->is_plan);
        }
    }
}

static void write_names(struct page *page, const struct team_outcome *team, enum outcome_kind kind)
{
    size_t shown = 0;
    size_t count = 0;
    for (size_t i = 0; i < team->outcome_count; i++)
        count += team->outcomes[i].kind == kind ? 1 : 0;
    struct buf names = BUF_INIT(64 * 1024);
    for (size_t i = 0; i < team->outcome_count && !page->failed && shown < NAMES_SHOWN; i++)
        if (team->outcomes[i].kind == kind &&
            buf_printf(&names, page->e, "%s%s", shown++ > 0 ? ", " : "", team->outcomes[i].name) < 0)
            page->failed = true;
    if (!page->failed && count > shown && buf_printf(&names, page->e, " and %zu more", count - shown) < 0)
        page->failed = true;
    page_paragraph(page, "    ", buf_text(&names));
    buf_done(&names);
}

/* Also where nothing has to be done: what Tender found and left alone, and what it took for granted. */
void text_write_kept(struct page *page, const struct run_report *report)
{
    size_t assumed = 0;
    bool has_heading = false;
    for (size_t i = 0; i < report->team_count; i++) {
        const struct team_outcome *team = &report->teams[i];
        size_t kept = 0;
        for (size_t j = 0; j < team->outcome_count; j++) {
            kept += team->outcomes[j].kind == OUTCOME_KEPT ? 1 : 0;
            assumed += team->outcomes[j].assumed_fields != 0 ? 1 : 0;
        }
        if (kept == 0)
            continue;
        if (!has_heading)
            write_heading(page, "In Fleet, but not declared: kept");
        has_heading = true;
        page_printf(page, "  ");
        page_text(page, team->name);
        page_printf(page, "\n");
        write_names(page, team, OUTCOME_KEPT);
    }
    if (assumed == 0)
        return;
    page_printf(page, "\n");
    page_count(page, assumed, "item leaves", "items leave");
    page_printf(page, " fields out that are assumed to be Fleet's default (--relearn sends them once)\n");
}

static bool is_trouble(const struct outcome *outcome)
{
    return outcome->kind == OUTCOME_FAILED || outcome->kind == OUTCOME_BLOCKED ||
           outcome->kind == OUTCOME_WAITING || outcome->kind == OUTCOME_WITHHELD;
}

static void write_attempt(struct page *page, const struct attempt *attempt)
{
    char duration[CLOCK_TEXT_BYTES], bytes[TEXT_SIZE_BYTES];
    page_printf(page, "      attempt %d, %s, %s", attempt->number,
                clock_duration_text(attempt->duration_ms, duration), text_size(attempt->bytes, bytes));
    if (attempt->resumed_from > 0)
        page_printf(page, " from %s on", text_size(attempt->resumed_from, bytes));
    page_printf(page, ": ");
    page_text(page, attempt->url);
    page_printf(page, "\n");
    if (!text_is_empty(attempt->cause))
        page_paragraph(page, "        ", attempt->cause);
}

static void write_fetch(struct page *page, const struct package *package)
{
    char waited[CLOCK_TEXT_BYTES], bytes[TEXT_SIZE_BYTES];
    page_printf(page, "    attempts: ");
    page_printf(page, "%zu, waited %s in all, %s received\n", package->attempt_count,
                clock_duration_text(package->waited_ms, waited), text_size(package->received_bytes, bytes));
    size_t first = package->attempt_count > ATTEMPTS_SHOWN ? package->attempt_count - ATTEMPTS_SHOWN : 0;
    if (first > 0)
        page_printf(page, "      (the last %d; the report as JSON has all)\n", ATTEMPTS_SHOWN);
    for (size_t i = first; i < package->attempt_count; i++)
        write_attempt(page, &package->attempts[i]);
}

/* Items that share kind, cause and advice are told once, with their names. */
static bool is_told_with(const struct outcome *first, const struct outcome *other)
{
    return is_trouble(other) && first->kind == other->kind && first->package == NULL &&
           other->package == NULL && text_equal(first->what, other->what) &&
           text_equal(first->advice, other->advice) && text_equal(first->kept, other->kept);
}

static void write_item_head(struct page *page, const struct team_outcome *team, const struct outcome *outcome,
                            size_t count)
{
    char place[PLACE_TEXT_BYTES];
    page_printf(page, "  ");
    page_painted(page, PAINT_RED, outcome_kind_name(outcome->kind));
    page_printf(page, "  ");
    page_text(page, team->name);
    page_printf(page, " / ");
    if (count > 1)
        page_printf(page, "%zu items", count);
    else
        page_text(page, outcome->name);
    page_printf(page, "\n");
    if (count == 1 && outcome->place.file != NULL) {
        page_printf(page, "    declared: ");
        page_text(page, place_text(&outcome->place, place, sizeof place));
        if (!text_is_empty(outcome->package_file)) {
            page_printf(page, " → ");
            page_text(page, outcome->package_file);
        }
        page_printf(page, "\n");
    }
}

/* Writes the trouble at `index` and those that are told with it; returns how many were written. */
static size_t write_trouble(struct page *page, const struct team_outcome *team, size_t index)
{
    const struct outcome *outcome = &team->outcomes[index];
    size_t count = 1;
    while (index + count < team->outcome_count && is_told_with(outcome, &team->outcomes[index + count]))
        count++;
    write_item_head(page, team, outcome, count);
    if (count > 1) {
        const struct team_outcome group = {.outcome_count = count, .outcomes = team->outcomes + index};
        write_names(page, &group, outcome->kind);
    }
    if (!text_is_empty(outcome->what))
        page_paragraph(page, "    cause:    ", outcome->what);
    if (outcome->package != NULL && outcome->package->attempt_count > 0)
        write_fetch(page, outcome->package);
    if (!text_is_empty(outcome->kept))
        page_paragraph(page, "    kept:     ", outcome->kept);
    if (!text_is_empty(outcome->advice))
        page_paragraph(page, "    to do:    ", outcome->advice);
    return count;
}

static bool has_trouble(const struct team_outcome *team)
{
    for (size_t i = 0; i < team->outcome_count; i++)
        if (is_trouble(&team->outcomes[i]))
            return true;
    return !text_is_empty(team->error) || !text_is_empty(team->removals_withheld);
}

void text_write_troubles(struct page *page, const struct run_report *report)
{
    bool has_heading = false;
    for (size_t i = 0; i < report->team_count; i++) {
        const struct team_outcome *team = &report->teams[i];
        if (!has_trouble(team))
            continue;
        if (!has_heading)
            write_heading(page, report->is_plan ? "What would not work" : "What did not work");
        has_heading = true;
        if (!text_is_empty(team->error)) {
            page_printf(page, "  ");
            page_painted(page, PAINT_RED, "team");
            page_printf(page, "  ");
            page_text(page, team->name);
            page_printf(page, "\n");
            page_paragraph(page, "    cause:    ", team->error);
        }
        if (!text_is_empty(team->removals_withheld)) {
            page_printf(page, "  ");
            page_painted(page, PAINT_RED, "withheld");
            page_printf(page, "  ");
            page_text(page, team->name);
            page_printf(page, "\n");
            page_paragraph(page, "    cause:    ", team->removals_withheld);
            write_names(page, team, OUTCOME_WITHHELD);
        }
        for (size_t j = 0; j < team->outcome_count;) {
            bool is_told = !is_trouble(&team->outcomes[j]) || (team->outcomes[j].kind == OUTCOME_WITHHELD &&
                                                               !text_is_empty(team->removals_withheld));
            j += is_told ? 1 : write_trouble(page, team, j);
        }
    }
}
