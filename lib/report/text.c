/* The report for people: what was looked at, a table by team, the changes, then everything that did not work
 * with what to do about it, and one last line that says how it ended. */
#include "base/text.h"
#include "base/clock.h"
#include "report/page.h"
#include <stdio.h>
#include <string.h>

enum { LEAST_WIDTH = 40, LEAST_NAME_COLUMNS = 12, MOST_NAME_COLUMNS = 40, COLUMN_GAP = 2 };

struct page page_open(const struct report_style *style, struct buf *out, struct err *e)
{
    int width = style->width > 0 && style->width < LEAST_WIDTH ? LEAST_WIDTH : style->width;
    return (struct page){.out = out, .e = e, .color = style->color, .width = width};
}

/* The table's columns in their order, with what a dry run calls them. */
static const struct column {
    enum outcome_kind kind;
    const char *done, *planned;
} columns[] = {
    {OUTCOME_UNCHANGED, "unchanged", "unchanged"}, {OUTCOME_FETCHED, "fetched", "fetched"},
    {OUTCOME_CREATED, "created", "create"},        {OUTCOME_UPDATED, "updated", "update"},
    {OUTCOME_REMOVED, "removed", "remove"},        {OUTCOME_CHECKED, "checked", "check"},
    {OUTCOME_KEPT, "undeclared", "undeclared"},    {OUTCOME_WITHHELD, "withheld", "withheld"},
    {OUTCOME_WAITING, "waiting", "waiting"},       {OUTCOME_BLOCKED, "blocked", "blocked"},
    {OUTCOME_FAILED, "failed", "failed"},
};

static bool is_trouble(enum outcome_kind kind)
{
    return kind == OUTCOME_FAILED || kind == OUTCOME_BLOCKED || kind == OUTCOME_WAITING ||
           kind == OUTCOME_WITHHELD;
}

static const char *column_title(const struct column *column, bool is_plan)
{
    return is_plan ? column->planned : column->done;
}

static size_t count_kind(const struct team_outcome *team, enum outcome_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < team->outcome_count; i++)
        count += team->outcomes[i].kind == kind ? 1 : 0;
    return count;
}

static void write_header(struct page *page, const struct run_report *report)
{
    page_painted(page, PAINT_BOLD, "tender ");
    page_painted(page, PAINT_BOLD, report->command);
    page_printf(page, "%s\n", report->is_plan ? " (dry run: nothing is written)" : "");
    page_printf(page, "  repository  ");
    page_text(page, report->repository);
    if (!text_is_empty(report->revision)) {
        page_printf(page, ", ");
        page_text(page, report->revision);
    }
    page_printf(page, "\n");
    if (!text_is_empty(report->fleet_url)) {
        page_printf(page, "  Fleet       ");
        page_text(page, report->fleet_url);
        if (!text_is_empty(report->server_version)) {
            page_printf(page, ", version ");
            page_text(page, report->server_version);
        }
        page_printf(page, "\n");
    }
    if (!text_is_empty(report->warning))
        page_paragraph(page, "  warning     ", report->warning);
}

static int name_columns(const struct page *page, const struct run_report *report, int others)
{
    int most = text_columns("Team");
    for (size_t i = 0; i < report->team_count; i++) {
        int needed = text_columns(report->teams[i].name);
        most = needed > most ? needed : most;
    }
    int room = page->width > 0 ? page->width - others : MOST_NAME_COLUMNS;
    room = room < LEAST_NAME_COLUMNS ? LEAST_NAME_COLUMNS : room;
    return most < room ? most : room;
}

static void write_number(struct page *page, const struct column *column, size_t count, int width)
{
    char number[24];
    snprintf(number, sizeof number, "%zu", count);
    int blanks = width - (int)strlen(count == 0 ? "-" : number);
    for (int i = 0; i < blanks; i++)
        page_printf(page, " ");
    if (count == 0)
        page_painted(page, PAINT_DIM, "-");
    else
        page_painted(page, is_trouble(column->kind) ? PAINT_RED : PAINT_NONE, number);
}

static int column_width(const struct column *column, bool is_plan)
{
    return (int)strlen(column_title(column, is_plan)) + COLUMN_GAP;
}

static void write_table_row(struct page *page, const struct run_report *report, const char *name,
                            const struct team_outcome *team, int name_width)
{
    page_cell(page, name, name_width, false);
    for (size_t i = 0; i < ARRAY_LENGTH(columns); i++) {
        size_t total = report->counts[columns[i].kind];
        if (total > 0)
            write_number(page, &columns[i], team == NULL ? total : count_kind(team, columns[i].kind),
                         column_width(&columns[i], report->is_plan));
    }
    page_printf(page, "\n");
}

static void write_wide_table(struct page *page, const struct run_report *report, int others)
{
    int name_width = name_columns(page, report, others);
    page_cell(page, "Team", name_width, false);
    for (size_t i = 0; i < ARRAY_LENGTH(columns); i++)
        if (report->counts[columns[i].kind] > 0)
            page_cell(page, column_title(&columns[i], report->is_plan),
                      column_width(&columns[i], report->is_plan), true);
    page_printf(page, "\n");
    for (size_t i = 0; i < report->team_count; i++)
        write_table_row(page, report, report->teams[i].name, &report->teams[i], name_width);
    if (report->team_count > 1)
        write_table_row(page, report, "All", NULL, name_width);
}

/* Where the columns do not fit the terminal: the same in words. */
static void write_team_in_words(struct page *page, const struct run_report *report,
                                const struct team_outcome *team)
{
    char words[512] = "";
    size_t used = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(columns); i++) {
        size_t count = count_kind(team, columns[i].kind);
        if (count > 0 && used < sizeof words)
            used += (size_t)snprintf(words + used, sizeof words - used, "%s%zu %s", used > 0 ? ", " : "",
                                     count, column_title(&columns[i], report->is_plan));
    }
    page_painted(page, PAINT_BOLD, team->name);
    page_printf(page, "\n");
    page_paragraph(page, "  ", words[0] == '\0' ? "no software" : words);
}

static void write_table(struct page *page, const struct run_report *report)
{
    int others = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(columns); i++)
        if (report->counts[columns[i].kind] > 0)
            others += column_width(&columns[i], report->is_plan);
    if (report->team_count == 0)
        return;
    page_printf(page, "\n");
    if (page->width == 0 || others + LEAST_NAME_COLUMNS <= page->width) {
        write_wide_table(page, report, others);
        return;
    }
    for (size_t i = 0; i < report->team_count; i++)
        write_team_in_words(page, report, &report->teams[i]);
}

/* "3 created, 1 updated": of those kinds that are there. */
static void write_counts(struct page *page, const struct run_report *report, bool troubles)
{
    size_t all = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(columns); i++) {
        size_t count = report->counts[columns[i].kind];
        if (count == 0 || is_trouble(columns[i].kind) != troubles)
            continue;
        bool to_do = report->is_plan && strcmp(columns[i].done, columns[i].planned) != 0;
        page_printf(page, "%s%zu %s%s", all > 0 ? ", " : "", count, to_do ? "to " : "",
                    column_title(&columns[i], report->is_plan));
        all += count;
    }
}

static const char *status_meaning(const struct run_report *report)
{
    switch (report->exit_status) {
    case 0:
        return "nothing failed";
    case 2:
        return "there are changes to apply";
    case 3:
        return report->is_plan ? "partial; nothing was written" : "partial; the rest is applied";
    case 5:
        return "another run holds the lock";
    case 64:
        return "wrong usage";
    case 65:
        return "the manifests have errors and nothing could run";
    case 77:
        return "not authorised";
    default:
        return "nothing could be reconciled";
    }
}

static void write_traffic(struct page *page, const struct run_report *report)
{
    char duration[CLOCK_TEXT_BYTES], received[TEXT_SIZE_BYTES], uploaded[TEXT_SIZE_BYTES];
    size_t calls = 0;
    int64_t calls_ms = 0;
    for (size_t i = 0; i < report->call_count; i++) {
        calls += report->calls[i].count;
        calls_ms += report->calls[i].total_ms;
    }
    page_printf(page, "\n%s", clock_duration_text(report->duration_ms, duration));
    if (report->received_bytes > 0)
        page_printf(page, ", %s downloaded", text_size(report->received_bytes, received));
    if (report->uploaded_bytes > 0)
        page_printf(page, ", %s uploaded", text_size(report->uploaded_bytes, uploaded));
    if (calls > 0)
        page_printf(page, ", %zu request%s to Fleet that took %s", calls, calls == 1 ? "" : "s",
                    clock_duration_text(calls_ms, duration));
    page_printf(page, "\n");
}

static const char *verdict(const struct run_report *report)
{
    if (err_is_set(&report->failure))
        return "Failed";
    if (report->was_interrupted)
        return "Interrupted";
    if (report->exit_status == 65)
        return "Failed";
    if (report->exit_status == 3)
        return "Partial";
    return report->is_plan ? "Plan" : "Done";
}

/* The last line: how it ended, what needs somebody's attention, what was done, and the status. */
static void write_summary(struct page *page, const struct run_report *report)
{
    bool good = report->exit_status == 0 || report->exit_status == 2;
    size_t all = 0, troubles = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(columns); i++) {
        size_t count = report->counts[columns[i].kind];
        all += count;
        troubles += is_trouble(columns[i].kind) ? count : 0;
    }
    write_traffic(page, report);
    page_painted(page, good ? PAINT_GREEN : PAINT_RED, verdict(report));
    page_printf(page, ": ");
    if (troubles > 0) {
        page_printf(page, "%zu of ", troubles);
        page_count(page, all, "item needs", "items need");
        page_printf(page, " attention (");
        write_counts(page, report, true);
        page_printf(page, ")%s", troubles < all ? "; " : "");
    }
    if (troubles < all)
        write_counts(page, report, false);
    if (all == 0)
        page_printf(page, "%s", err_is_set(&report->failure) ? "nothing was changed" : "no software");
    page_printf(page, ". Exit status %d: %s.\n", report->exit_status, status_meaning(report));
}

static void write_failure(struct page *page, const struct run_report *report)
{
    char text[ERR_TEXT_BYTES + ERR_FILE_BYTES + 32];
    if (!err_is_set(&report->failure))
        return;
    page_printf(page, "\n");
    page_painted(page, PAINT_RED, "The run could not be completed");
    page_printf(page, "\n");
    page_paragraph(page, "  ", err_format(&report->failure, text, sizeof text));
}

int text_run(const struct run_report *report, const struct report_style *style, struct buf *out,
             struct err *e)
{
    struct page page = page_open(style, out, e);
    write_header(&page, report);
    write_table(&page, report);
    text_write_changes(&page, report);
    text_write_kept(&page, report);
    if (report->diagnostic_count > 0) {
        page_printf(&page, "\n");
        page_painted(&page, PAINT_BOLD, "Manifests");
        page_printf(&page, "\n");
        text_write_diagnostics(&page, report->diagnostics, report->diagnostic_count);
    }
    text_write_troubles(&page, report);
    write_failure(&page, report);
    write_summary(&page, report);
    return page_result(&page);
}
