/* tender.yml's `sources`: what holds for URLs that begin with a prefix. */
#include "base/text.h"
#include "base/url.h"
#include "manifest/settings_file.h"
#include <string.h>

static int read_source_pair(struct settings_reader *reader, const struct yaml_node *mapping, size_t at,
                            struct source_rule *rule, struct settings *retry, struct err *e)
{
    const struct settings_rules *rules = &settings_rules_table[RULES_SOURCES];
    const struct yaml_node *key = mapping->pairs[at].key;
    const struct yaml_node *value = mapping->pairs[at].value;
    const char **const targets[] = {&rule->prefix, &rule->header, &rule->username, &rule->password};
    if (key->kind != YAML_SCALAR)
        return settings_unknown_key(reader, key, rules, e);
    const struct yaml_node *first = settings_earlier_key(mapping, at);
    if (first != NULL)
        return settings_second_time(reader, key, first, e);
    for (size_t i = 0; i < ARRAY_LENGTH(targets); i++)
        if (strcmp(rules->texts[i].key, key->text) == 0)
            return yaml_is_null(value) ? 0 : settings_read_text(reader, value, key->text, targets[i], e);
    const struct setting *setting = settings_find_key(key->text);
    if (setting == NULL || !setting->in_file || !rules->takes(setting))
        return settings_unknown_key(reader, key, rules, e);
    return yaml_is_null(value) ? 0 : settings_set_one(reader, retry, setting, value, e);
}

static int check_rule(struct settings_reader *reader, const struct yaml_node *node,
                      const struct source_rule *rule, struct err *e)
{
    char shown[URL_TEXT_BYTES];
    if (rule->prefix == NULL)
        return diagnose_error(reader->load, node, NULL, e, "a source needs \"prefix\": how its URLs begin");
    if (!url_is_http(rule->prefix))
        return diagnose_error(reader->load, node, NULL, e,
                              "the prefix %s must begin with http:// or https:// and a host",
                              url_redact(rule->prefix, shown, sizeof shown));
    const char *colon = rule->header == NULL ? NULL : strchr(rule->header, ':');
    if (rule->header != NULL &&
        (colon == NULL || colon == rule->header || strpbrk(rule->header, "\r\n") != NULL))
        return diagnose_error(reader->load, node, NULL, e,
                              "\"header\" must read \"Name: value\", in one line");
    return 0;
}

static int read_source(struct settings_reader *reader, const struct yaml_node *node, struct err *e)
{
    if (node->kind != YAML_MAPPING)
        return diagnose_error(reader->load, node, NULL, e,
                              "a source must be a mapping with \"prefix\", not %s", yaml_kind_text(node));
    struct settings retry = *reader->settings;
    struct source_rule rule = {.prefix = NULL};
    size_t errors = reader->load->error_count;
    for (size_t i = 0; i < node->count; i++)
        if (read_source_pair(reader, node, i, &rule, &retry, e) < 0)
            return -1;
    if (check_rule(reader, node, &rule, e) < 0)
        return -1;
    if (reader->load->error_count > errors)
        return 0;
    rule.retry = retry.retry;
    reader->settings->sources[reader->settings->source_count++] = rule;
    return 0;
}

int settings_read_sources(struct settings_reader *reader, const struct yaml_node *value, struct err *e)
{
    if (value->kind != YAML_SEQUENCE)
        return diagnose_error(reader->load, value, NULL, e, "\"sources\" must be a list, not %s",
                              yaml_kind_text(value));
    reader->settings->sources =
        arena_alloc_array(reader->load->arena, value->count, sizeof *reader->settings->sources, e);
    if (reader->settings->sources == NULL)
        return -1;
    for (size_t i = 0; i < value->count; i++)
        if (read_source(reader, value->items[i], e) < 0)
            return -1;
    return 0;
}
