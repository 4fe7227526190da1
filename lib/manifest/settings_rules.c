/* The table of tender.yml's rules, and those that are lists of mappings: what holds for sources, and what
 * pruning may do in single teams. */
#include "base/text.h"
#include "base/url.h"
#include "manifest/names.h"
#include "manifest/settings_file.h"
#include <ctype.h>
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
    {"header_file", "A file whose first line is \"Name: value\" to send"},
    {"password_file", "A file whose first line is the password"},
    {"client_cert", "A file with the client certificate (PEM)"},
    {"client_key", "A file with its key"},
};

static bool is_guard(const struct setting *setting)
{
    return text_equal(setting->name, "prune") || text_equal(setting->name, "allow-empty") ||
           text_equal(setting->name, "max-removals");
}

static const struct rule_text guard_texts[] = {{"team", "A glob for the teams' names"}};

const struct settings_rules settings_rules_table[RULES_COUNT] = {
    [RULES_SOURCES] = {.key = "sources",
                       .one = "source",
                       .are_prefixes = true,
                       .help = "What holds for URLs that begin with a prefix; the longest one counts",
                       .text_count = ARRAY_LENGTH(source_texts),
                       .texts = source_texts,
                       .takes = is_retry,
                       .read = settings_read_sources},
    [RULES_MIRRORS] = {.key = "mirrors",
                       .one = "mirror",
                       .are_prefixes = true,
                       .help = "What lies below a URL prefix lies below these prefixes too",
                       .read = settings_read_mirrors},
    [RULES_BACKUPS] = {.key = "backup_urls",
                       .one = "backup",
                       .help = "Where else the bytes of a package lie, by its package file or its URL",
                       .read = settings_read_backups},
    [RULES_GUARDS] = {.key = "guards",
                      .one = "guard",
                      .help = "What pruning may do in the teams whose name matches; the first one counts",
                      .text_count = ARRAY_LENGTH(guard_texts),
                      .texts = guard_texts,
                      .takes = is_guard,
                      .read = settings_read_guards},
};
const size_t settings_rules_count = RULES_COUNT;

static int read_rule_pair(struct settings_reader *reader, const struct yaml_node *mapping, size_t at,
                          const struct settings_rules *rules, const char **const targets[],
                          struct settings *settings, struct err *e)
{
    const struct yaml_node *key = mapping->pairs[at].key;
    const struct yaml_node *value = mapping->pairs[at].value;
    if (key->kind != YAML_SCALAR)
        return settings_unknown_key(reader, key, rules, e);
    const struct yaml_node *first = settings_earlier_key(mapping, at);
    if (first != NULL)
        return settings_second_time(reader, key, first, e);
    for (size_t i = 0; i < rules->text_count; i++) {
        if (strcmp(rules->texts[i].key, key->text) != 0)
            continue;
        if (yaml_is_null(value))
            return 0;
        /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): the caller gives text_count targets */
        return settings_read_text(reader, value, key->text, i > 0, targets[i], e);
    }
    const struct setting *setting = settings_find_key(key->text);
    if (setting == NULL || !setting->in_file || !rules->takes(setting))
        return settings_unknown_key(reader, key, rules, e);
    settings->origins[setting - settings_table] =
        (struct setting_origin){.kind = ORIGIN_FILE, .line = key->line};
    return yaml_is_null(value) ? 0 : settings_set_one(reader, settings, setting, value, e);
}

int settings_read_rule(struct settings_reader *reader, const struct yaml_node *mapping,
                       const struct settings_rules *rules, const char **const targets[],
                       struct settings *settings, struct err *e)
{
    for (size_t i = 0; i < mapping->count; i++)
        if (read_rule_pair(reader, mapping, i, rules, targets, settings, e) < 0)
            return -1;
    return 0;
}

/* A value that is there but of no use was told at its place. */
static bool says(const struct yaml_node *mapping, const char *key)
{
    for (size_t i = 0; i < mapping->count; i++)
        if (mapping->pairs[i].key->kind == YAML_SCALAR && strcmp(mapping->pairs[i].key->text, key) == 0)
            return !yaml_is_null(mapping->pairs[i].value);
    return false;
}

/* RFC 9110, 5.6.2: what a header's name is made of. */
static bool is_header(const char *text)
{
    static const char marks[] = "!#$%&'*+-.^_`|~";
    size_t name = 0;
    while (isalnum((unsigned char)text[name]) || (text[name] != '\0' && strchr(marks, text[name]) != NULL))
        name++;
    return name > 0 && text[name] == ':' && name_find_control(text) < 0;
}

/* Keys of a source that say the same thing twice, and those that say nothing alone. */
static int check_keys(struct settings_reader *reader, const struct yaml_node *node, struct err *e)
{
    static const char *const either[][2] = {{"header", "header_file"}, {"password", "password_file"}};
    static const char *const needed[][2] = {
        {"password", "username"}, {"password_file", "username"}, {"client_key", "client_cert"}};
    for (size_t i = 0; i < ARRAY_LENGTH(either); i++)
        if (says(node, either[i][0]) && says(node, either[i][1]) &&
            diagnose_at(reader->load, RULE_CONFLICTING_KEYS, yaml_get(node, either[i][1]),
                        "remove one of them", e, "\"%s\" and \"%s\" can't stand in one source", either[i][0],
                        either[i][1]) < 0)
            return -1;
    for (size_t i = 0; i < ARRAY_LENGTH(needed); i++)
        if (says(node, needed[i][0]) && !says(node, needed[i][1]) &&
            diagnose_at(reader->load, RULE_MISSING_KEY, yaml_get(node, needed[i][0]), NULL, e,
                        "\"%s\" needs \"%s\" beside it", needed[i][0], needed[i][1]) < 0)
            return -1;
    return 0;
}

static int check_rule(struct settings_reader *reader, const struct yaml_node *node,
                      const struct source_rule *rule, struct err *e)
{
    char shown[URL_TEXT_BYTES];
    if (rule->prefix == NULL && !says(node, "prefix"))
        return diagnose_at(reader->load, RULE_MISSING_KEY, node, NULL, e,
                           "a source needs \"prefix\": how its URLs begin");
    if (rule->prefix != NULL && !url_is_prefix(rule->prefix))
        return diagnose_at(
            reader->load, RULE_URL, yaml_get(node, "prefix"), NULL, e,
            "the prefix %s must begin with http:// or https:// and a host, without \"?\" and \"#\"",
            url_redact(rule->prefix, shown, sizeof shown));
    if (rule->header != NULL && !is_header(rule->header))
        return diagnose_at(reader->load, RULE_SETTING, yaml_get(node, "header"), NULL, e,
                           "\"header\" must read \"Name: value\", in one line");
    return check_keys(reader, node, e);
}

/* The first one that says the same counts: a second one is a mistake. */
static int check_repeated(struct settings_reader *reader, struct map *seen, const struct yaml_node *rule,
                          const char *key, struct err *e)
{
    char shown[SHOWN_BYTES];
    const struct yaml_node *mine = yaml_get(rule, key);
    const struct yaml_node *first;
    if (settings_earlier(reader, seen, mine, strcmp(key, "team") == 0, &first, e) < 0)
        return -1;
    return first == NULL ? 0
                         : diagnose_at(reader->load, RULE_REPEATED_KEY, mine,
                                       "only one of them can hold: remove the other", e,
                                       "\"%s\" has a rule already: in line %d", diagnose_value(mine, shown),
                                       first->line);
}

static int read_source(struct settings_reader *reader, const struct yaml_node *node, struct err *e)
{
    if (node->kind != YAML_MAPPING)
        return diagnose_at(reader->load, RULE_TYPE, node, NULL, e,
                           "a source must be a mapping with \"prefix\", not %s", yaml_kind_text(node));
    struct settings retry = *reader->settings;
    struct source_rule rule = {.prefix = NULL};
    size_t errors = reader->load->error_count;
    const char **const targets[] = {&rule.prefix,      &rule.header,      &rule.username,
                                    &rule.password,    &rule.header_file, &rule.password_file,
                                    &rule.client_cert, &rule.client_key};
    if (settings_read_rule(reader, node, &settings_rules_table[RULES_SOURCES], targets, &retry, e) < 0 ||
        check_rule(reader, node, &rule, e) < 0)
        return -1;
    if (reader->load->error_count > errors)
        return 0;
    rule.retry = retry.retry;
    reader->settings->sources[reader->settings->source_count++] = rule;
    return 0;
}

int settings_read_sources(struct settings_reader *reader, const struct yaml_node *value, struct err *e)
{
    struct map seen = {.count = 0};
    if (value->kind != YAML_SEQUENCE)
        return diagnose_at(reader->load, RULE_TYPE, value, "begin each entry with \"- \"", e,
                           "\"sources\" must be a list, not %s", yaml_kind_text(value));
    reader->settings->sources =
        arena_alloc_array(reader->load->arena, value->count, sizeof *reader->settings->sources, e);
    if (reader->settings->sources == NULL)
        return -1;
    for (size_t i = 0; i < value->count; i++)
        if (check_repeated(reader, &seen, value->items[i], "prefix", e) < 0 ||
            read_source(reader, value->items[i], e) < 0)
            return -1;
    return 0;
}

/* By a flag or the environment: they win over what tender.yml says of single teams, too. */
static bool is_given(const struct settings_reader *reader, const char *name)
{
    return reader->already_set(reader->context, name);
}

static int read_guard(struct settings_reader *reader, const struct yaml_node *node, struct guard_rule *rule,
                      struct err *e)
{
    if (node->kind != YAML_MAPPING)
        return diagnose_at(reader->load, RULE_TYPE, node, NULL, e,
                           "a guard must be a mapping with \"team\", not %s", yaml_kind_text(node));
    struct settings own = *reader->settings;
    rule->place = yaml_place(node);
    const struct setting *prune = settings_find("prune");
    own.origins[prune - settings_table].kind = ORIGIN_DEFAULT;
    const char **const targets[] = {&rule->team};
    if (settings_read_rule(reader, node, &settings_rules_table[RULES_GUARDS], targets, &own, e) < 0)
        return -1;
    const char *name = NULL;
    if (rule->team != NULL && name_normalise(reader->load->arena, rule->team, &name, e) < 0)
        return -1;
    rule->team = name != NULL ? name : rule->team;
    bool says_prune = own.origins[prune - settings_table].kind == ORIGIN_FILE;
    if (says_prune && !is_given(reader, "prune") && !is_given(reader, "prune-team"))
        rule->prune = own.prune ? TRISTATE_TRUE : TRISTATE_FALSE;
    rule->allow_empty = is_given(reader, "allow-empty") ? reader->settings->allow_empty : own.allow_empty;
    rule->max_removals = is_given(reader, "max-removals") ? reader->settings->max_removals : own.max_removals;
    if (rule->team != NULL || says(node, "team"))
        return 0;
    return diagnose_at(reader->load, RULE_MISSING_KEY, node, NULL, e,
                       "a guard needs \"team\": which teams it is for, by name or glob");
}

int settings_read_guards(struct settings_reader *reader, const struct yaml_node *value, struct err *e)
{
    struct map seen = {.count = 0};
    if (value->kind != YAML_SEQUENCE)
        return diagnose_at(reader->load, RULE_TYPE, value, "begin each entry with \"- \"", e,
                           "\"guards\" must be a list, not %s", yaml_kind_text(value));
    struct guard_rule *guards = arena_alloc_array(reader->load->arena, value->count, sizeof *guards, e);
    if (guards == NULL)
        return -1;
    for (size_t i = 0; i < value->count; i++)
        if (check_repeated(reader, &seen, value->items[i], "team", e) < 0 ||
            read_guard(reader, value->items[i], &guards[i], e) < 0)
            return -1;
    reader->settings->guards = guards;
    while (reader->settings->guard_count < value->count && guards[reader->settings->guard_count].team != NULL)
        reader->settings->guard_count++;
    return 0;
}
