/* tender.yml at the repository's root: the settings that may stand in a file, and what holds for single
 * sources. The keys are those of the settings' table. */
#include "base/text.h"
#include "base/url.h"
#include "manifest/load.h"
#include "manifest/schema.h"
#include <stdio.h>
#include <string.h>

static const char file_name[] = "tender.yml";
enum { NAMES_MAX = 128, NAME_BYTES = 64 };

struct reader {
    struct load *load;
    bool (*already_set)(void *context, const char *name);
    void *context;
    struct settings *settings;
    struct source_rule *rules;
    size_t rule_count, rule_capacity;
};

/* "retry-initial" as it stands in the file: "retry_initial"; "file", which is a list, as "files". */
static void key_of(const struct setting *setting, char out[NAME_BYTES])
{
    snprintf(out, NAME_BYTES, "%s%s", setting->name, setting->type == SETTING_LIST ? "s" : "");
    for (char *letter = out; *letter != '\0'; letter++)
        *letter = *letter == '-' ? '_' : *letter;
}

/* Each setting has one spelling in the file, so that the same one twice is seen. */
static const struct setting *find_setting(const char *key)
{
    for (size_t i = 0; i < settings_count; i++) {
        char name[NAME_BYTES];
        key_of(&settings_table[i], name);
        if (strcmp(name, key) == 0)
            return &settings_table[i];
    }
    return NULL;
}

/* `in_source`: the keys that a source may have. */
static int unknown_key(struct reader *reader, const struct yaml_node *key, bool in_source, struct err *e)
{
    static const char *const source_keys[] = {"prefix", "header", "username", "password"};
    char names[NAMES_MAX][NAME_BYTES];
    const char *candidates[NAMES_MAX + ARRAY_LENGTH(source_keys) + 1];
    char shown[SHOWN_BYTES];
    size_t count = 0;
    for (size_t i = 0; i < settings_count && count < NAMES_MAX; i++) {
        if (!settings_table[i].in_file || (in_source && !text_starts_with(settings_table[i].name, "retry-")))
            continue;
        key_of(&settings_table[i], names[count]);
        candidates[count] = names[count];
        count++;
    }
    for (size_t i = 0; in_source && i < ARRAY_LENGTH(source_keys); i++)
        candidates[count++] = source_keys[i];
    if (!in_source)
        candidates[count++] = "sources";
    const char *nearest = key->kind == YAML_SCALAR ? text_nearest(key->text, candidates, count) : NULL;
    diagnose_value(key, shown);
    if (nearest == NULL)
        return diagnose_error(reader->load, key, NULL, e, "unknown setting \"%s\"%s", shown,
                              in_source ? " of a source" : "");
    return diagnose_error(reader->load, key, NULL, e, "unknown setting \"%s\": did you mean \"%s\"?", shown,
                          nearest);
}

/* settings_set with a diagnostic in place of its error. */
static int set_one(struct reader *reader, struct settings *settings, const struct setting *setting,
                   const struct yaml_node *node, struct err *e)
{
    struct err problem = {.class = ERR_NONE};
    const char *text;
    char key[NAME_BYTES];
    key_of(setting, key);
    if (node->kind != YAML_SCALAR)
        return diagnose_error(reader->load, node, NULL, e, "\"%s\" must be a single value, not %s", key,
                              yaml_kind_text(node));
    if (variables_expand(reader->load, node, &text, e) < 0)
        return -1;
    if (text == NULL)
        return 0;
    if (settings_set(settings, setting, text, key, reader->load->arena, &problem) == 0)
        return 0;
    if (problem.class == ERR_MEMORY)
        return err_set(e, ERR_MEMORY, "%s", problem.text);
    return diagnose_error(reader->load, node, NULL, e, "%s", problem.text);
}

static int set_value(struct reader *reader, const struct setting *setting, const struct yaml_node *value,
                     struct err *e)
{
    struct settings checked_only = *reader->settings;
    bool is_taken = !reader->already_set(reader->context, setting->name);
    struct settings *settings = is_taken ? reader->settings : &checked_only;
    if (setting->type != SETTING_LIST || value->kind != YAML_SEQUENCE)
        return set_one(reader, settings, setting, value, e);
    for (size_t i = 0; i < value->count; i++)
        if (set_one(reader, settings, setting, value->items[i], e) < 0)
            return -1;
    return 0;
}

static int second_time(struct reader *reader, const struct yaml_node *key, const struct yaml_node *first,
                       struct err *e)
{
    return diagnose_error(reader->load, key, "only one of them can hold: remove the other", e,
                          "\"%s\" stands there twice: in line %d too", key->text, first->line);
}

/* The first key of the mapping with the same text, if `at` is not it. */
static const struct yaml_node *earlier(const struct yaml_node *mapping, size_t at)
{
    const struct yaml_node *key = mapping->pairs[at].key;
    for (size_t i = 0; i < at && key->kind == YAML_SCALAR && i < NAMES_MAX; i++) {
        const struct yaml_node *other = mapping->pairs[i].key;
        if (other->kind == YAML_SCALAR && strcmp(other->text, key->text) == 0)
            return other;
    }
    return NULL;
}

static int source_text(struct reader *reader, const struct yaml_node *node, const char *key, const char **out,
                       struct err *e)
{
    if (node->kind != YAML_SCALAR)
        return diagnose_error(reader->load, node, NULL, e, "\"%s\" must be a text, not %s", key,
                              yaml_kind_text(node));
    const char *text;
    if (variables_expand(reader->load, node, &text, e) < 0)
        return -1;
    if (text != NULL && text[0] != '\0')
        *out = text;
    return 0;
}

static int read_source_pair(struct reader *reader, const struct yaml_node *mapping, size_t at,
                            struct source_rule *rule, struct settings *retry, struct err *e)
{
    const struct yaml_node *key = mapping->pairs[at].key;
    const struct yaml_node *value = mapping->pairs[at].value;
    const struct {
        const char *key;
        const char **target;
    } texts[] = {{"prefix", &rule->prefix},
                 {"header", &rule->header},
                 {"username", &rule->username},
                 {"password", &rule->password}};
    if (key->kind != YAML_SCALAR)
        return unknown_key(reader, key, true, e);
    const struct yaml_node *first = earlier(mapping, at);
    if (first != NULL)
        return second_time(reader, key, first, e);
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++)
        if (strcmp(texts[i].key, key->text) == 0)
            return yaml_is_null(value) ? 0 : source_text(reader, value, key->text, texts[i].target, e);
    const struct setting *setting = find_setting(key->text);
    if (setting == NULL || !setting->in_file || !text_starts_with(setting->name, "retry-"))
        return unknown_key(reader, key, true, e);
    return yaml_is_null(value) ? 0 : set_one(reader, retry, setting, value, e);
}

static int check_rule(struct reader *reader, const struct yaml_node *node, const struct source_rule *rule,
                      struct err *e)
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

static int read_source(struct reader *reader, const struct yaml_node *node, struct err *e)
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
    struct source_rule *slot =
        ARENA_PUSH(reader->load->arena, &reader->rules, &reader->rule_count, &reader->rule_capacity, e);
    if (slot == NULL)
        return -1;
    *slot = rule;
    slot->retry = retry.retry;
    return 0;
}

static int read_sources(struct reader *reader, const struct yaml_node *value, struct err *e)
{
    if (yaml_is_null(value))
        return 0;
    if (value->kind != YAML_SEQUENCE)
        return diagnose_error(reader->load, value, NULL, e, "\"sources\" must be a list, not %s",
                              yaml_kind_text(value));
    for (size_t i = 0; i < value->count; i++)
        if (read_source(reader, value->items[i], e) < 0)
            return -1;
    reader->settings->sources = reader->rules;
    reader->settings->source_count = reader->rule_count;
    return 0;
}

static int read_pair(struct reader *reader, const struct yaml_node *root, size_t at, struct err *e)
{
    const struct yaml_node *key = root->pairs[at].key;
    if (key->kind != YAML_SCALAR)
        return unknown_key(reader, key, false, e);
    const struct yaml_node *first = earlier(root, at);
    if (first != NULL)
        return second_time(reader, key, first, e);
    if (strcmp(key->text, "sources") == 0)
        return 0; /* when the general retry rules are known */
    const struct setting *setting = find_setting(key->text);
    if (setting == NULL)
        return unknown_key(reader, key, false, e);
    if (!setting->in_file)
        return diagnose_error(reader->load, key, NULL, e, "\"%s\" can't be set in %s: use %s or --%s",
                              key->text, file_name, setting->environment, setting->name);
    return yaml_is_null(root->pairs[at].value) ? 0 : set_value(reader, setting, root->pairs[at].value, e);
}

static int read_root(struct reader *reader, const struct yaml_node *root, struct err *e)
{
    if (root->kind != YAML_MAPPING)
        return diagnose_error(reader->load, root, NULL, e, "%s must be a mapping, not %s", file_name,
                              yaml_kind_text(root));
    for (size_t i = 0; i < root->count; i++)
        if (read_pair(reader, root, i, e) < 0)
            return -1;
    return read_sources(reader, yaml_get(root, "sources"), e);
}

int manifest_load_settings(const struct manifest_source *source, const struct manifest_options *options,
                           bool (*already_set)(void *context, const char *name), void *already_set_context,
                           struct settings *settings, struct arena *arena, struct desired *out, struct err *e)
{
    struct load load = {.source = source, .options = options, .arena = arena};
    struct settings changed = *settings;
    struct desired result = *out;
    struct reader reader = {
        .load = &load, .already_set = already_set, .context = already_set_context, .settings = &changed};
    struct yaml_file *file = arena_alloc(arena, sizeof *file, e);
    const struct yaml_node *root = NULL;
    struct file_problem unreadable;
    struct err problem = {.class = ERR_NONE};
    if (file == NULL || reference_read(&load, file_name, file, &unreadable, e) < 0)
        return -1;
    if (unreadable.is_missing)
        return 0;
    if (unreadable.text != NULL) {
        if (diagnose(&load, DIAGNOSTIC_ERROR, NULL, (struct place){.file = file_name}, NULL, e, "%s",
                     unreadable.text) < 0)
            return -1;
    } else if (yaml_parse(file, arena, &root, &problem) < 0) {
        if (diagnose_problem(&load, file, &problem, e) < 0)
            return -1;
    } else if (root != NULL && read_root(&reader, root, e) < 0) {
        return -1;
    }
    if (diagnose_finish(&load, &result, e) < 0)
        return -1;
    result.file_count += load.file_count;
    *settings = changed;
    *out = result;
    return 0;
}
