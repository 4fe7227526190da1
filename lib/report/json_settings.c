/* The settings as they hold, for programs: docs/report.md names every field. Secrets are "***". */
#include "base/text.h"
#include "base/url.h"
#include "report/page.h"

enum { VALUE_BYTES = 4096, ORIGIN_BYTES = 128 };

static json_t *shown_url(const char *url)
{
    char shown[URL_TEXT_BYTES];
    return json_text(url_redact(url, shown, sizeof shown));
}

static json_t *shown_urls(const struct string_list *urls, bool *failed)
{
    json_t *array = json_array();
    for (size_t i = 0; i < urls->count; i++)
        json_add(array, shown_url(urls->items[i]), failed);
    return array;
}

static json_t *secret(const char *text)
{
    return text == NULL ? json_null() : json_string("***");
}

/* Lists as lists; null: not set. */
static json_t *value_of(const struct settings *settings, const struct setting *setting, bool *failed)
{
    char text[VALUE_BYTES];
    const void *field = (const unsigned char *)settings + setting->offset;
    if (setting->type == SETTING_LIST) {
        const struct string_list *list = field;
        return !list->is_set                            ? json_null()
               : text_equal(setting->value_name, "URL") ? shown_urls(list, failed)
                                                        : json_texts(list);
    }
    settings_text(settings, setting, text, sizeof text);
    bool is_unset = text[0] == '\0' && (setting->type == SETTING_TEXT || setting->type == SETTING_SECRET);
    return is_unset ? json_null() : json_text(text);
}

static json_t *setting_value(const struct settings *settings, const struct setting *setting, bool *failed)
{
    static const char *const kinds[] = {"default", "tender.yml", "environment", "flag"};
    char origin[ORIGIN_BYTES];
    json_t *value = json_object();
    json_put(value, "name", json_string(setting->name), failed);
    json_put(value, "value", value_of(settings, setting, failed), failed);
    json_put(value, "source", json_string(kinds[settings->origins[setting - settings_table].kind]), failed);
    json_put(value, "origin", json_string(settings_origin_text(settings, setting, origin, sizeof origin)),
             failed);
    return value;
}

static json_t *source_value(const struct source_rule *rule, bool *failed)
{
    json_t *value = json_object();
    struct settings own = {.retry = rule->retry};
    char text[VALUE_BYTES];
    json_put(value, "prefix", shown_url(rule->prefix), failed);
    json_put(value, "header", secret(rule->header), failed);
    json_put(value, "username", secret(rule->username), failed);
    json_put(value, "password", secret(rule->password), failed);
    json_put(value, "header_file", json_text_or_null(rule->header_file), failed);
    json_put(value, "password_file", json_text_or_null(rule->password_file), failed);
    json_put(value, "client_cert", json_text_or_null(rule->client_cert), failed);
    json_put(value, "client_key", json_text_or_null(rule->client_key), failed);
    for (size_t i = 0; i < settings_count; i++)
        if (text_starts_with(settings_table[i].name, "retry-"))
            json_put(value, settings_table[i].name,
                     json_text(settings_text(&own, &settings_table[i], text, sizeof text)), failed);
    return value;
}

static json_t *mirror_value(const struct mirror_rule *rule, bool *failed)
{
    json_t *value = json_object();
    json_put(value, "prefix", shown_url(rule->prefix), failed);
    json_put(value, "replacements", shown_urls(&rule->replacements, failed), failed);
    return value;
}

static json_t *backup_value(const struct backup_rule *rule, bool *failed)
{
    json_t *value = json_object();
    json_put(value, "package_file", json_text_or_null(rule->package_file), failed);
    json_put(value, "url", rule->url == NULL ? json_null() : shown_url(rule->url), failed);
    json_put(value, "urls", shown_urls(&rule->urls, failed), failed);
    return value;
}

static json_t *guard_value(const struct guard_rule *rule, bool *failed)
{
    json_t *value = json_object();
    json_put(value, "team", json_text(rule->team), failed);
    json_put(value, "prune",
             rule->prune == TRISTATE_ABSENT ? json_null() : json_boolean(rule->prune == TRISTATE_TRUE),
             failed);
    json_put(value, "allow_empty", json_boolean(rule->allow_empty), failed);
    json_put(value, "max_removals", json_integer(rule->max_removals), failed);
    return value;
}

int json_settings(const struct settings *settings, const struct report_style *style, struct buf *out,
                  struct err *e)
{
    (void)style;
    bool failed = false;
    json_t *document = json_object();
    json_t *values = json_array();
    json_t *sources = json_array();
    json_t *mirrors = json_array();
    json_t *backups = json_array();
    json_t *guards = json_array();
    for (size_t i = 0; i < settings_count; i++)
        json_add(values, setting_value(settings, &settings_table[i], &failed), &failed);
    for (size_t i = 0; i < settings->source_count; i++)
        json_add(sources, source_value(&settings->sources[i], &failed), &failed);
    for (size_t i = 0; i < settings->mirror_count; i++)
        json_add(mirrors, mirror_value(&settings->mirrors[i], &failed), &failed);
    for (size_t i = 0; i < settings->backup_count; i++)
        json_add(backups, backup_value(&settings->backups[i], &failed), &failed);
    for (size_t i = 0; i < settings->guard_count; i++)
        json_add(guards, guard_value(&settings->guards[i], &failed), &failed);
    json_put(document, "format_version", json_integer(REPORT_FORMAT_VERSION), &failed);
    json_put(document, "settings", values, &failed);
    json_put(document, "sources", sources, &failed);
    json_put(document, "mirrors", mirrors, &failed);
    json_put(document, "backup_urls", backups, &failed);
    json_put(document, "guards", guards, &failed);
    return json_write(document, failed, out, e);
}
