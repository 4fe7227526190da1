/* What the manifests say, and what is wrong with them, for people. */
#include "base/text.h"
#include "base/url.h"
#include "report/page.h"
#include <stdio.h>
#include <string.h>

enum { MOST_NAME_BYTES = 512 };

/* The text with tabs as arrows, since it is they that may be wrong, and not its indentation. */
static void show_tabs(const char *text, char *out, size_t size)
{
    size_t used = 0;
    for (; *text != '\0' && used + sizeof "→" < size; text++)
        used += (size_t)snprintf(out + used, size - used, *text == '\t' ? "→" : "%c", *text);
    out[used] = '\0';
}

/* The source line without its indentation, and a caret under the place. */
static void write_excerpt(struct page *page, const struct diagnostic *diagnostic)
{
    char shown[1024];
    const char *line = diagnostic->excerpt;
    const char *at = line;
    for (int i = 1; i < diagnostic->caret && *at != '\0'; i++)
        for (at++; ((unsigned char)*at & 0xC0) == 0x80; at++)
            ;
    size_t indent = strspn(line, " ");
    if (diagnostic->caret > 0 && at < line + indent)
        indent = (size_t)(at - line);
    show_tabs(line + indent, shown, sizeof shown);
    page_printf(page, "    | ");
    page_text(page, shown);
    page_printf(page, "\n");
    if (diagnostic->caret <= 0)
        return;
    char before[512];
    snprintf(before, sizeof before, "%.*s", (int)(at - line - (long)indent), line + indent);
    show_tabs(before, shown, sizeof shown);
    page_printf(page, "    | %*s", text_columns(shown), "");
    page_painted(page, PAINT_GREEN, "^");
    page_printf(page, "\n");
}

void text_write_diagnostics(struct page *page, const struct diagnostic *diagnostics, size_t count)
{
    char place[PLACE_TEXT_BYTES];
    for (size_t i = 0; i < count; i++) {
        const struct diagnostic *diagnostic = &diagnostics[i];
        bool is_error = diagnostic->severity == DIAGNOSTIC_ERROR;
        page_painted(page, PAINT_BOLD, place_text(&diagnostic->place, place, sizeof place));
        page_text(page, place[0] == '\0' ? "" : ": ");
        page_painted(page, is_error ? PAINT_RED : PAINT_YELLOW, is_error ? "error" : "warning");
        page_paragraph(page, ": ", diagnostic->text);
        if (!text_is_empty(diagnostic->excerpt))
            write_excerpt(page, diagnostic);
        if (!text_is_empty(diagnostic->trail))
            page_paragraph(page, "    ", diagnostic->trail);
        if (!text_is_empty(diagnostic->advice))
            page_paragraph(page, "    ", diagnostic->advice);
    }
}

int text_diagnostics(const struct desired *desired, const struct report_style *style, struct buf *out,
                     struct err *e)
{
    struct page page = page_open(style, out, e);
    text_write_diagnostics(&page, desired->diagnostics, desired->diagnostic_count);
    if (desired->diagnostic_count > 0)
        page_printf(&page, "\n");
    page_count(&page, desired->file_count, "file", "files");
    page_printf(&page, " with ");
    page_count(&page, desired->team_count, "team", "teams");
    page_printf(&page, ": ");
    size_t warnings = desired->diagnostic_count - desired->error_count;
    if (desired->diagnostic_count == 0)
        page_painted(&page, PAINT_GREEN, "no errors");
    if (desired->error_count > 0)
        page_count(&page, desired->error_count, "error", "errors");
    if (desired->error_count > 0 && warnings > 0)
        page_printf(&page, ", ");
    if (warnings > 0)
        page_count(&page, warnings, "warning", "warnings");
    page_printf(&page, "\n");
    return page_result(&page);
}

static void write_field(struct page *page, const char *name, const char *value)
{
    if (text_is_empty(value))
        return;
    page_printf(page, "      %s: ", name);
    page_text(page, value);
    page_printf(page, "\n");
}

static void write_list(struct page *page, const char *name, const struct string_list *list)
{
    if (!list->is_set || list->count == 0)
        return;
    page_printf(page, "      %s: ", name);
    for (size_t i = 0; i < list->count; i++) {
        page_text(page, i > 0 ? ", " : "");
        page_text(page, list->items[i]);
    }
    page_printf(page, "\n");
}

static void write_item(struct page *page, const struct software_item *item)
{
    char name[MOST_NAME_BYTES], place[PLACE_TEXT_BYTES], url[URL_TEXT_BYTES];
    page_printf(page, "    ");
    page_painted(page, PAINT_BOLD, software_name(item, name, sizeof name));
    page_printf(page, "  ");
    page_painted(page, PAINT_DIM, place_text(&item->place, place, sizeof place));
    page_printf(page, "\n");
    write_field(page, "package_file", item->package_file);
    if (item->url != NULL)
        write_field(page, "url", url_redact(item->url, url, sizeof url));
    for (size_t i = 0; i < item->backup_urls.count; i++)
        write_field(page, "backup_url", url_redact(item->backup_urls.items[i], url, sizeof url));
    write_field(page, "sha256", item->sha256);
    write_field(page, "script", item->script.path);
    write_field(page, "slug", item->slug);
    write_field(page, "version", item->version);
    write_field(page, "app_store_id", item->app_store_id);
    write_field(page, "platform", item->platform);
    write_field(page, "install_script", item->install_script.path);
    write_field(page, "uninstall_script", item->uninstall_script.path);
    write_field(page, "post_install_script", item->post_install_script.path);
    write_field(page, "pre_install_query", item->pre_install_query.path);
    write_field(page, "icon", item->icon.path);
    write_field(page, "configuration", item->configuration.path);
    write_field(page, "self_service", item->self_service ? "true" : "");
    write_field(page, "setup_experience",
                item->setup_experience == TRISTATE_TRUE    ? "true"
                : item->setup_experience == TRISTATE_FALSE ? "false"
                                                           : "");
    if (item->label_mode != LABELS_NONE)
        write_list(page, label_mode_name(item->label_mode), &item->labels);
    write_list(page, "categories", &item->categories);
}

static void write_software(struct page *page, const char *name, const struct software_list *list)
{
    static const char *const empty[] = {"not managed", "none", "none"};
    page_printf(page, "  %s: ", name);
    if (list->count == 0) {
        page_printf(page, "%s\n", empty[list->state]);
        return;
    }
    page_printf(page, "%zu\n", list->count);
    for (size_t i = 0; i < list->count; i++)
        write_item(page, &list->items[i]);
}

int text_show(const struct desired *desired, const struct report_style *style, struct buf *out, struct err *e)
{
    struct page page = page_open(style, out, e);
    for (size_t i = 0; i < desired->team_count; i++) {
        const struct desired_team *team = &desired->teams[i];
        page_printf(&page, i > 0 ? "\n" : "");
        page_painted(&page, PAINT_BOLD, team->name);
        page_printf(&page, "  ");
        page_text(&page, team->place.file);
        page_text(&page, team->is_invalid ? "  (has errors)" : "");
        page_printf(&page, "\n");
        write_software(&page, "packages", &team->packages);
        write_software(&page, "fleet_maintained_apps", &team->maintained_apps);
        write_software(&page, "app_store_apps", &team->app_store_apps);
    }
    if (desired->diagnostic_count > 0)
        page_printf(&page, "\n");
    text_write_diagnostics(&page, desired->diagnostics, desired->diagnostic_count);
    return page_result(&page);
}
