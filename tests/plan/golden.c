/* Runs one golden plan: reads case.json as a run would (lists, then the details that the planner wants, then
 * the plan) and compares the plan's text with plan.txt. */
#include "base/files.h"
#include "base/text.h"
#include "base/url.h"
#include "read_case.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_BYTES = 64 * 1024 * 1024, TEXT_BYTES = 1024 * 1024, FIELDS_BYTES = 512 };

static struct err e;

static void must(int result)
{
    if (result == 0)
        return;
    fprintf(stderr, "%s\n", e.text);
    exit(2);
}

static void print_details(struct golden_case *golden, struct arena *arena, struct buf *out)
{
    struct wanted_details *wanted = NULL;
    size_t count = 0;
    must(plan_wanted_details(&golden->desired, &golden->observed, &golden->memory, &golden->options, arena,
                             &wanted, &count, &e));
    for (size_t i = 0; i < count; i++) {
        must(buf_printf(out, &e, "details %s/%d %s\n", wanted[i].team->name, (int)wanted[i].title->title_id,
                        wanted[i].title->name));
        case_fill_details(golden, wanted[i].team, wanted[i].title, arena);
    }
}

static void print_item(const struct plan_item *item, struct buf *out)
{
    char fields[FIELDS_BYTES];
    must(buf_printf(out, &e, "  %s", plan_action_name(item->action)));
    if (item->reason != REASON_NONE)
        must(buf_printf(out, &e, "(%s)", plan_reason_name(item->reason)));
    must(buf_printf(out, &e, " %s", item->name));
    if (item->title != NULL)
        must(buf_printf(out, &e, " title=%d", (int)item->title->title_id));
    if (item->likely_title != NULL)
        must(buf_printf(out, &e, " likely=%d", (int)item->likely_title->title_id));
    if (item->sha256 != NULL)
        must(buf_printf(out, &e, " sha256=%.4s", item->sha256));
    if (item->changed_fields != 0)
        must(buf_printf(out, &e, " changed=[%s]",
                        software_fields_text(item->changed_fields, fields, sizeof fields)));
    if (item->assumed_fields != 0)
        must(buf_printf(out, &e, " assumed=[%s]",
                        software_fields_text(item->assumed_fields, fields, sizeof fields)));
    must(
        buf_printf(out, &e, "%s%s\n", item->needs_fetch ? " fetch" : "", item->needs_bytes ? " upload" : ""));
    if (!text_is_empty(item->explanation))
        must(buf_printf(out, &e, "    %s\n", item->explanation));
}

static void print_team(const struct plan_team *team, struct buf *out)
{
    static const char *const deliveries[] = {"nothing to write", "whole", "item by item"};
    must(buf_printf(out, &e, "team %s: %s%s%s%s\n", team->desired->name,
                    team->create_team ? "create it, " : "", deliveries[team->delivery],
                    team->delivery_reason[0] == '\0' ? "" : ": ", team->delivery_reason));
    for (size_t i = 0; i < team->item_count; i++)
        print_item(&team->items[i], out);
    if (!text_is_empty(team->removals_withheld))
        must(buf_printf(out, &e, "  %s\n", team->removals_withheld));
}

static void print_fetches(const struct golden_case *golden, const struct plan *plan, struct arena *arena,
                          struct buf *out)
{
    struct plan_fetches fetches;
    must(plan_fetches(plan, &golden->memory, golden->probe, arena, &fetches, &e));
    for (size_t i = 0; i < fetches.count; i++) {
        const struct package_request *request = &fetches.requests[i];
        must(buf_printf(out, &e, "fetch %s for %s%s%s%s%s%s", request->url, request->wanted_by,
                        request->sha256 != NULL ? " pinned" : "", request->known != NULL ? " if-changed" : "",
                        request->known_bytes_are_held ? " held" : "", request->bytes_needed ? " bytes" : "",
                        request->probe_only ? " probe" : ""));
        for (size_t j = 0; j < request->backup_urls.count; j++)
            must(buf_printf(out, &e, " backup=%s", request->backup_urls.items[j]));
        must(buf_add_text(out, "\n", &e));
    }
}

static void print_plan(struct golden_case *golden, struct arena *arena, struct buf *out)
{
    const struct plan_input input = {.desired = &golden->desired,
                                     .observed = &golden->observed,
                                     .memory = &golden->memory,
                                     .known = golden->known,
                                     .known_count = golden->known_count,
                                     .options = &golden->options};
    struct plan plan;
    print_details(golden, arena, out);
    must(plan_build(&input, arena, &plan, &e));
    for (size_t i = 0; i < plan.team_count; i++)
        print_team(&plan.teams[i], out);
    print_fetches(golden, &plan, arena, out);
    must(buf_printf(out, &e, "changes %zu\n", plan.change_count));
}

/* The first line that differs, with both versions: enough to see what happened. */
static void print_difference(const char *path, const char *expected, const char *got)
{
    int line = 1;
    const char *a = expected;
    const char *b = got;
    for (size_t i = 0; a[i] != '\0' && a[i] == b[i]; i++)
        if (a[i] == '\n') {
            line++;
            expected = a + i + 1;
            got = b + i + 1;
        }
    printf("%s:%d differs\n-%.*s\n+%.*s\n\nthe whole plan now:\n%s", path, line, (int)strcspn(expected, "\n"),
           expected, (int)strcspn(got, "\n"), got, b);
}

static int compare(const char *path, const struct buf *text)
{
    struct buf expected = BUF_INIT(TEXT_BYTES);
    if (getenv("TENDER_UPDATE_GOLDEN") != NULL) {
        must(file_write_atomically(path, buf_text(text), text->length, 0644, &e));
        return 0;
    }
    must(file_read(path, &expected, &e));
    bool is_same = strcmp(buf_text(&expected), buf_text(text)) == 0;
    if (!is_same)
        print_difference(path, buf_text(&expected), buf_text(text));
    buf_done(&expected);
    return is_same ? 0 : 1;
}

int main(int argc, char **argv)
{
    int status = argc > 1 ? 0 : 64;
    for (int i = 1; i < argc; i++) {
        char path[4096];
        CLEANUP(arena_cleanup) struct arena *arena = arena_new(ARENA_BYTES);
        struct buf text = BUF_INIT(TEXT_BYTES);
        struct golden_case golden;
        err_init(&e);
        snprintf(path, sizeof path, "%s/case.json", argv[i]);
        case_read(path, arena, &golden);
        print_plan(&golden, arena, &text);
        snprintf(path, sizeof path, "%s/plan.txt", argv[i]);
        status |= compare(path, &text);
        buf_done(&text);
        json_decref(golden.document);
    }
    return status;
}
