/* tender.yml's rules that map a text to a list of URLs: `mirrors`, by prefix, and `backup_urls`, by package
 * file or URL. */
#include "base/text.h"
#include "base/url.h"
#include "manifest/settings_file.h"
#include <string.h>

struct url_rule {
    const char *key; /* variables replaced */
    struct string_list urls;
    const struct yaml_node *node; /* of the key */
};

/* Where a prefix ends and a URL's own part begins must be certain. */
static int check_url(struct settings_reader *reader, const struct yaml_node *node, const char *url,
                     bool is_prefix, struct err *e)
{
    char shown[URL_TEXT_BYTES];
    if (is_prefix ? url_is_prefix(url) : url_is_http(url) && strpbrk(url, " \t\r\n") == NULL)
        return 0;
    return diagnose_at(reader->load, RULE_URL, node, NULL, e,
                       "the %s %s must begin with http:// or https:// and a host%s",
                       is_prefix ? "prefix" : "URL", url_redact(url, shown, sizeof shown),
                       is_prefix ? ", without \"?\" and \"#\"" : ", without a blank");
}

static int check_allowed(struct settings_reader *reader, const struct yaml_node *node, const char *url,
                         struct err *e)
{
    char shown[URL_TEXT_BYTES];
    if (settings_allows_source(reader->settings, url))
        return 0;
    return diagnose_at(reader->load, RULE_SOURCE, node, "add its prefix there, or use another URL", e,
                       "%s is below no prefix of \"allowed_sources\"", url_redact(url, shown, sizeof shown));
}

/* A list of URLs, or one. */
static int read_urls(struct settings_reader *reader, const struct yaml_node *value, const char *name,
                     bool are_prefixes, struct string_list *out, struct err *e)
{
    bool is_single = value->kind == YAML_SCALAR;
    if (value->kind == YAML_MAPPING || yaml_is_null(value))
        return diagnose_at(reader->load, RULE_TYPE, value, NULL, e, "\"%s\" needs a list of URLs here", name);
    size_t count = is_single ? 1 : value->count;
    const char **items = arena_alloc_array(reader->load->arena, count, sizeof *items, e);
    if (items == NULL)
        return -1;
    *out = (struct string_list){.is_set = true, .items = items};
    for (size_t i = 0; i < count; i++) {
        const struct yaml_node *node = is_single ? value : value->items[i];
        const char *text = NULL;
        size_t errors = reader->load->error_count;
        if (settings_read_text(reader, node, name, false, &text, e) < 0 ||
            (text != NULL && check_url(reader, node, text, are_prefixes, e) < 0))
            return -1;
        if (text == NULL || reader->load->error_count > errors)
            continue;
        items[out->count++] = text;
        if (check_allowed(reader, node, text, e) < 0)
            return -1;
    }
    return 0;
}

/* The pairs of the mapping that hold no mistake. */
static int read_rules(struct settings_reader *reader, const struct yaml_node *value, const char *name,
                      bool are_prefixes, struct url_rule **out, size_t *count, struct err *e)
{
    if (value->kind != YAML_MAPPING)
        return diagnose_at(reader->load, RULE_TYPE, value, NULL, e, "\"%s\" must be a mapping, not %s", name,
                           yaml_kind_text(value));
    struct url_rule *rules = arena_alloc_array(reader->load->arena, value->count, sizeof *rules, e);
    struct map keys = {.count = 0};
    if (rules == NULL)
        return -1;
    for (size_t i = 0; i < value->count; i++) {
        const struct yaml_node *key = value->pairs[i].key;
        const struct yaml_node *first = NULL;
        struct url_rule rule = {.node = key};
        size_t errors = reader->load->error_count;
        if (settings_earlier(reader, &keys, key, false, &first, e) < 0 ||
            (first != NULL && settings_second_time(reader, key, first, e) < 0) ||
            settings_read_text(reader, key, name, false, &rule.key, e) < 0 ||
            (rule.key != NULL && are_prefixes && check_url(reader, key, rule.key, true, e) < 0) ||
            read_urls(reader, value->pairs[i].value, name, are_prefixes, &rule.urls, e) < 0)
            return -1;
        if (reader->load->error_count == errors && rule.key != NULL)
            rules[(*count)++] = rule;
    }
    *out = rules;
    return 0;
}

int settings_read_mirrors(struct settings_reader *reader, const struct yaml_node *value, struct err *e)
{
    struct url_rule *rules = NULL;
    size_t count = 0;
    if (read_rules(reader, value, "mirrors", true, &rules, &count, e) < 0)
        return -1;
    struct mirror_rule *mirrors = arena_alloc_array(reader->load->arena, count, sizeof *mirrors, e);
    if (mirrors == NULL)
        return -1;
    for (size_t i = 0; i < count; i++)
        mirrors[i] = (struct mirror_rule){.prefix = rules[i].key, .replacements = rules[i].urls};
    reader->settings->mirrors = mirrors;
    reader->settings->mirror_count = count;
    return 0;
}

int settings_read_backups(struct settings_reader *reader, const struct yaml_node *value, struct err *e)
{
    struct url_rule *rules = NULL;
    size_t count = 0;
    if (read_rules(reader, value, "backup_urls", false, &rules, &count, e) < 0)
        return -1;
    struct backup_rule *backups = arena_alloc_array(reader->load->arena, count, sizeof *backups, e);
    if (backups == NULL)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const char *reason = NULL;
        bool is_url = strstr(rules[i].key, "://") != NULL;
        struct backup_rule *backup = &backups[reader->settings->backup_count];
        *backup = (struct backup_rule){.urls = rules[i].urls, .place = yaml_place(rules[i].node)};
        if (is_url)
            backup->url = rules[i].key;
        else
            backup->package_file = reference_resolve(reader->load, "", rules[i].key, &reason, e);
        if (is_url || backup->package_file != NULL)
            reader->settings->backup_count++;
        else if (reason == NULL ||
                 diagnose_at(reader->load, RULE_PATH, rules[i].node, NULL, e, "%s", reason) < 0)
            return -1;
    }
    reader->settings->backups = backups;
    return 0;
}
