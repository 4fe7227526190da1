/* The table of tender.yml's rules, and those that map a text to a list of URLs. */
#include "base/text.h"
#include "base/url.h"
#include "manifest/settings_file.h"
#include <string.h>

static bool is_retry(const struct setting *setting)
{
    return text_starts_with(setting->name, "retry-");
}

static const struct rule_text source_texts[] = {
    {"prefix", "How the URLs begin: scheme, host, port and a part of the path"},
    {"header", "\"Name: value\" to send; take secrets from a variable"},
    {"username", "For basic authentication"},
    {"password", "For basic authentication; take it from a variable"},
};

const struct settings_rules settings_rules_table[RULES_COUNT] = {
    [RULES_SOURCES] = {.key = "sources",
                       .one = "source",
                       .help = "What holds for URLs that begin with a prefix; the longest one counts",
                       .text_count = ARRAY_LENGTH(source_texts),
                       .texts = source_texts,
                       .takes = is_retry,
                       .read = settings_read_sources},
    [RULES_MIRRORS] = {.key = "mirrors",
                       .one = "mirror",
                       .help = "What lies below a URL prefix lies below these prefixes too",
                       .read = settings_read_mirrors},
};
const size_t settings_rules_count = RULES_COUNT;

/* Where a prefix ends and a URL's own part begins must be certain. */
static int check_prefix(struct settings_reader *reader, const struct yaml_node *node, const char *prefix,
                        struct err *e)
{
    char shown[URL_TEXT_BYTES];
    if (url_is_http(prefix) && strpbrk(prefix, "?# \t\r\n") == NULL)
        return 0;
    return diagnose_error(reader->load, node, NULL, e,
                          "the prefix %s must begin with http:// or https:// and a host, without \"?\" and "
                          "\"#\"",
                          url_redact(prefix, shown, sizeof shown));
}

/* A list of prefixes, or one. */
static int read_prefixes(struct settings_reader *reader, const struct yaml_node *value, const char *name,
                         struct string_list *out, struct err *e)
{
    bool is_single = value->kind == YAML_SCALAR;
    if (value->kind == YAML_MAPPING || yaml_is_null(value))
        return diagnose_error(reader->load, value, NULL, e, "\"%s\" must map each prefix to a list of URLs",
                              name);
    size_t count = is_single ? 1 : value->count;
    const char **items = arena_alloc_array(reader->load->arena, count, sizeof *items, e);
    if (items == NULL)
        return -1;
    out->is_set = true;
    out->items = items;
    for (size_t i = 0; i < count; i++) {
        const struct yaml_node *node = is_single ? value : value->items[i];
        const char *text = NULL;
        if (settings_read_text(reader, node, name, &text, e) < 0)
            return -1;
        if (text == NULL)
            continue;
        items[out->count++] = text;
        if (check_prefix(reader, node, text, e) < 0)
            return -1;
    }
    return 0;
}

int settings_read_mirrors(struct settings_reader *reader, const struct yaml_node *value, struct err *e)
{
    if (value->kind != YAML_MAPPING)
        return diagnose_error(reader->load, value, NULL, e,
                              "\"mirrors\" must map each prefix to a list of URLs, and is %s",
                              yaml_kind_text(value));
    struct mirror_rule *mirrors = arena_alloc_array(reader->load->arena, value->count, sizeof *mirrors, e);
    if (mirrors == NULL)
        return -1;
    size_t count = 0;
    for (size_t i = 0; i < value->count; i++) {
        const struct yaml_node *key = value->pairs[i].key;
        const struct yaml_node *first = settings_earlier_key(value, i);
        struct mirror_rule rule = {.prefix = NULL};
        size_t errors = reader->load->error_count;
        if (first != NULL && settings_second_time(reader, key, first, e) < 0)
            return -1;
        if (settings_read_text(reader, key, "mirrors", &rule.prefix, e) < 0 ||
            (rule.prefix != NULL && check_prefix(reader, key, rule.prefix, e) < 0) ||
            read_prefixes(reader, value->pairs[i].value, "mirrors", &rule.replacements, e) < 0)
            return -1;
        if (reader->load->error_count == errors && rule.prefix != NULL)
            mirrors[count++] = rule;
    }
    reader->settings->mirrors = mirrors;
    reader->settings->mirror_count = count;
    return 0;
}
