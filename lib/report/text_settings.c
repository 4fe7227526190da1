/* The settings as they hold, for people, each with where it comes from. Secrets are "***". */
#include "base/text.h"
#include "base/url.h"
#include "report/page.h"
#include <inttypes.h>

enum { VALUE_BYTES = 4096, ORIGIN_BYTES = 128, NAME_COLUMNS = 20, VALUE_COLUMNS = 30 };

static void write_url(struct page *page, const char *url)
{
    char shown[URL_TEXT_BYTES];
    page_text(page, url_redact(url, shown, sizeof shown));
}

static void write_urls(struct page *page, const struct string_list *urls)
{
    for (size_t i = 0; i < urls->count; i++) {
        page_printf(page, "    ");
        write_url(page, urls->items[i]);
        page_printf(page, "\n");
    }
}

static void write_setting(struct page *page, const struct settings *settings, const struct setting *setting)
{
    char value[VALUE_BYTES], origin[ORIGIN_BYTES];
    settings_text(settings, setting, value, sizeof value);
    settings_origin_text(settings, setting, origin, sizeof origin);
    page_cell(page, setting->name, NAME_COLUMNS, false);
    if (text_columns(value) > VALUE_COLUMNS)
        page_text(page, value);
    else
        page_cell(page, value[0] == '\0' ? "-" : value, VALUE_COLUMNS, false);
    page_printf(page, "  ");
    bool is_default = settings->origins[setting - settings_table].kind == ORIGIN_DEFAULT;
    page_painted(page, is_default ? PAINT_DIM : PAINT_BOLD, origin);
    page_printf(page, "\n");
}

/* What differs from the general retry settings. */
static void write_retry(struct page *page, const struct settings *settings, const struct source_rule *rule)
{
    char own[VALUE_BYTES], general[VALUE_BYTES];
    const struct settings changed = {.retry = rule->retry};
    for (size_t i = 0; i < settings_count; i++) {
        const struct setting *setting = &settings_table[i];
        if (!text_starts_with(setting->name, "retry-") ||
            text_equal(settings_text(&changed, setting, own, sizeof own),
                       settings_text(settings, setting, general, sizeof general)))
            continue;
        page_printf(page, "    %s: ", setting->name);
        page_text(page, own);
        page_printf(page, "\n");
    }
}

static void write_source(struct page *page, const struct settings *settings, const struct source_rule *rule)
{
    page_printf(page, "\nsource ");
    write_url(page, rule->prefix);
    page_printf(page, "\n%s%s%s", rule->header != NULL ? "    header: ***\n" : "",
                rule->username != NULL ? "    username: ***\n" : "",
                rule->password != NULL ? "    password: ***\n" : "");
    const struct {
        const char *name, *path;
    } files[] = {{"header_file", rule->header_file},
                 {"password_file", rule->password_file},
                 {"client_cert", rule->client_cert},
                 {"client_key", rule->client_key}};
    for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
        if (files[i].path == NULL)
            continue;
        page_printf(page, "    %s: ", files[i].name);
        page_text(page, files[i].path);
        page_printf(page, "\n");
    }
    write_retry(page, settings, rule);
}

static void write_guard(struct page *page, const struct guard_rule *guard)
{
    page_printf(page, "\nguard for ");
    page_text(page, guard->team);
    page_printf(page, "\n");
    if (guard->prune != TRISTATE_ABSENT)
        page_printf(page, "    prune: %s\n", guard->prune == TRISTATE_TRUE ? "true" : "false");
    page_printf(page, "    allow-empty: %s\n    max-removals: %" PRId64 "\n",
                guard->allow_empty ? "true" : "false", guard->max_removals);
}

int text_settings(const struct settings *settings, const struct report_style *style, struct buf *out,
                  struct err *e)
{
    struct page page = page_open(style, out, e);
    for (size_t i = 0; i < settings_count; i++)
        write_setting(&page, settings, &settings_table[i]);
    for (size_t i = 0; i < settings->source_count; i++)
        write_source(&page, settings, &settings->sources[i]);
    for (size_t i = 0; i < settings->mirror_count; i++) {
        page_printf(&page, "\nmirrors of ");
        write_url(&page, settings->mirrors[i].prefix);
        page_printf(&page, "\n");
        write_urls(&page, &settings->mirrors[i].replacements);
    }
    for (size_t i = 0; i < settings->backup_count; i++) {
        const struct backup_rule *rule = &settings->backups[i];
        page_printf(&page, "\nbackup URLs of ");
        if (rule->url != NULL)
            write_url(&page, rule->url);
        page_text(&page, rule->package_file);
        page_printf(&page, "\n");
        write_urls(&page, &rule->urls);
    }
    for (size_t i = 0; i < settings->guard_count; i++)
        write_guard(&page, &settings->guards[i]);
    return page_result(&page);
}
