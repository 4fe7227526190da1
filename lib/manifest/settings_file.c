/* tender.yml at the repository's root: the settings that may stand in a file. The keys are those of the
 * settings' table; the rules for single sources and teams are read behind them (settings_rules.c). */
#include "manifest/settings_file.h"
#include "base/text.h"
#include "manifest/schema.h"
#include <stdio.h>
#include <string.h>

static const char file_name[] = "tender.yml";
enum { NAMES_MAX = 128, RULE_TEXTS_MAX = 16 };

/* "retry-initial" as it stands in the file: "retry_initial"; "file", which is a list, as "files". */
void settings_key_of(const struct setting *setting, char out[SETTINGS_KEY_BYTES])
{
    snprintf(out, SETTINGS_KEY_BYTES, "%s%s", setting->name, setting->type == SETTING_LIST ? "s" : "");
    for (char *letter = out; *letter != '\0'; letter++)
        *letter = *letter == '-' ? '_' : *letter;
}

/* Each setting has one spelling in the file, so that the same one twice is seen. */
const struct setting *settings_find_key(const char *key)
{
    for (size_t i = 0; i < settings_count; i++) {
        char name[SETTINGS_KEY_BYTES];
        settings_key_of(&settings_table[i], name);
        if (strcmp(name, key) == 0)
            return &settings_table[i];
    }
    return NULL;
}

int settings_unknown_key(struct settings_reader *reader, const struct yaml_node *key,
                         const struct settings_rules *rules, struct err *e)
{
    char names[NAMES_MAX][SETTINGS_KEY_BYTES];
    const char *candidates[NAMES_MAX + RULE_TEXTS_MAX];
    char shown[SHOWN_BYTES];
    size_t count = 0;
    for (size_t i = 0; i < settings_count && count < NAMES_MAX; i++) {
        if (!settings_table[i].in_file || (rules != NULL && !rules->takes(&settings_table[i])))
            continue;
        settings_key_of(&settings_table[i], names[count]);
        candidates[count] = names[count];
        count++;
    }
    for (size_t i = 0; rules != NULL && i < rules->text_count; i++)
        candidates[count++] = rules->texts[i].key;
    for (size_t i = 0; rules == NULL && i < settings_rules_count; i++)
        candidates[count++] = settings_rules_table[i].key;
    const char *nearest = key->kind == YAML_SCALAR ? text_nearest(key->text, candidates, count) : NULL;
    diagnose_value(key, shown);
    if (nearest != NULL)
        return diagnose_error(reader->load, key, NULL, e, "unknown setting \"%s\": did you mean \"%s\"?",
                              shown, nearest);
    return diagnose_error(reader->load, key, NULL, e, "unknown setting \"%s\"%s%s", shown,
                          rules == NULL ? "" : " of a ", rules == NULL ? "" : rules->one);
}

/* settings_set with a diagnostic in place of its error. */
int settings_set_one(struct settings_reader *reader, struct settings *settings, const struct setting *setting,
                     const struct yaml_node *node, struct err *e)
{
    struct err problem = {.class = ERR_NONE};
    const char *text;
    char key[SETTINGS_KEY_BYTES];
    settings_key_of(setting, key);
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

static int set_value(struct settings_reader *reader, const struct setting *setting,
                     const struct yaml_pair *pair, struct err *e)
{
    const struct yaml_node *value = pair->value;
    struct settings checked_only = *reader->settings;
    bool is_taken = !reader->already_set(reader->context, setting->name);
    struct settings *settings = is_taken ? reader->settings : &checked_only;
    settings->origins[setting - settings_table] = (struct setting_origin){ORIGIN_FILE, pair->key->line};
    if (setting->type != SETTING_LIST || value->kind != YAML_SEQUENCE)
        return settings_set_one(reader, settings, setting, value, e);
    /* An empty list is one that was given, too. */
    ((struct string_list *)((char *)settings + setting->offset))->is_set = true;
    for (size_t i = 0; i < value->count; i++)
        if (settings_set_one(reader, settings, setting, value->items[i], e) < 0)
            return -1;
    return 0;
}

int settings_second_time(struct settings_reader *reader, const struct yaml_node *key,
                         const struct yaml_node *first, struct err *e)
{
    char shown[SHOWN_BYTES];
    return diagnose_error(reader->load, key, "only one of them can hold: remove the other", e,
                          "\"%s\" stands there twice: in line %d too", diagnose_value(key, shown),
                          first->line);
}

/* The first key of the mapping with the same text, if `at` is not it. */
const struct yaml_node *settings_earlier_key(const struct yaml_node *mapping, size_t at)
{
    const struct yaml_node *key = mapping->pairs[at].key;
    for (size_t i = 0; i < at && key->kind == YAML_SCALAR && i < NAMES_MAX; i++) {
        const struct yaml_node *other = mapping->pairs[i].key;
        if (other->kind == YAML_SCALAR && strcmp(other->text, key->text) == 0)
            return other;
    }
    return NULL;
}

int settings_read_text(struct settings_reader *reader, const struct yaml_node *node, const char *key,
                       const char **out, struct err *e)
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

static const struct settings_rules *find_rules(const char *key)
{
    for (size_t i = 0; i < settings_rules_count; i++)
        if (strcmp(settings_rules_table[i].key, key) == 0)
            return &settings_rules_table[i];
    return NULL;
}

static int read_pair(struct settings_reader *reader, const struct yaml_node *root, size_t at, struct err *e)
{
    const struct yaml_node *key = root->pairs[at].key;
    if (key->kind != YAML_SCALAR)
        return settings_unknown_key(reader, key, NULL, e);
    const struct yaml_node *first = settings_earlier_key(root, at);
    if (first != NULL)
        return settings_second_time(reader, key, first, e);
    if (find_rules(key->text) != NULL)
        return 0; /* when the general settings are known */
    const struct setting *setting = settings_find_key(key->text);
    if (setting == NULL)
        return settings_unknown_key(reader, key, NULL, e);
    if (!setting->in_file)
        return diagnose_error(reader->load, key, NULL, e, "\"%s\" can't be set in %s: use %s or --%s",
                              key->text, file_name, setting->environment, setting->name);
    return yaml_is_null(root->pairs[at].value) ? 0 : set_value(reader, setting, &root->pairs[at], e);
}

static int read_root(struct settings_reader *reader, const struct yaml_node *root, struct err *e)
{
    if (root->kind != YAML_MAPPING)
        return diagnose_error(reader->load, root, NULL, e, "%s must be a mapping, not %s", file_name,
                              yaml_kind_text(root));
    for (size_t i = 0; i < root->count; i++)
        if (read_pair(reader, root, i, e) < 0)
            return -1;
    for (size_t i = 0; i < settings_rules_count; i++) {
        const struct yaml_node *value = yaml_get(root, settings_rules_table[i].key);
        if (!yaml_is_null(value) && settings_rules_table[i].read(reader, value, e) < 0)
            return -1;
    }
    return 0;
}

int manifest_load_settings(const struct manifest_source *source, const struct manifest_options *options,
                           bool (*already_set)(void *context, const char *name), void *already_set_context,
                           struct settings *settings, struct arena *arena, struct desired *out, struct err *e)
{
    struct load load = {.source = source, .options = options, .arena = arena};
    struct settings changed = *settings;
    struct desired result = *out;
    struct settings_reader reader = {
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
