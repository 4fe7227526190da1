/* tender.yml at the repository's root: the settings that may stand in a file. The keys are those of the
 * settings' table; the rules for single sources and teams are read behind them (settings_rules.c). */
#include "manifest/settings_file.h"
#include "base/text.h"
#include "manifest/names.h"
#include "manifest/schema.h"
#include <stdio.h>
#include <string.h>

enum { NAMES_MAX = 128, RULE_TEXTS_MAX = 16, ADVISED_MAX = 100 };

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

/* Whether it tells which teams are read. */
static bool is_about_selection(const char *key)
{
    return strcmp(key, "files") == 0 || strcmp(key, "teams") == 0 || strcmp(key, "exclude_teams") == 0;
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
    bool is_advised = key->kind == YAML_SCALAR && ++reader->unknown_count <= ADVISED_MAX;
    const char *nearest = is_advised ? text_nearest(key->text, candidates, count) : NULL;
    diagnose_value(key, shown);
    reader->settings->selection_in_doubt |= rules == NULL && nearest != NULL && is_about_selection(nearest);
    if (nearest != NULL)
        return diagnose_at(reader->load, RULE_UNKNOWN_SETTING, key, NULL, e,
                           "unknown setting \"%s\": did you mean \"%s\"?", shown, nearest);
    bool is_group = false; /* "retry: {attempts: 3}" */
    size_t length = key->kind == YAML_SCALAR ? key->length : 0;
    for (size_t i = 0; i < count && length > 0; i++)
        is_group =
            is_group || (strncmp(candidates[i], key->text, length) == 0 && candidates[i][length] == '_');
    return diagnose_at(
        reader->load, RULE_UNKNOWN_SETTING, key,
        is_group ? "settings stand side by side, with their full names: `retry_attempts: 3`" : NULL, e,
        "unknown setting \"%s\"%s%s", shown, rules == NULL ? "" : " of a ", rules == NULL ? "" : rules->one);
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
        return diagnose_at(reader->load, RULE_TYPE, node, NULL, e, "\"%s\" must be %s, not %s", key,
                           setting->type == SETTING_LIST ? "a list of texts" : "a single value",
                           yaml_kind_text(node));
    if (variables_expand(reader->load, node, &text, e) < 0)
        return -1;
    if (text == NULL)
        return 0;
    if (settings_set(settings, setting, text, key, reader->load->arena, &problem) == 0)
        return 0;
    if (problem.class == ERR_MEMORY)
        return err_set(e, ERR_MEMORY, "%s", problem.text);
    return diagnose_at(reader->load, RULE_SETTING, node, NULL, e, "%s", problem.text);
}

/* A list, or a single item of one. */
static int set_list(struct settings_reader *reader, struct settings *settings, const struct setting *setting,
                    const struct yaml_node *value, struct err *e)
{
    struct string_list *list = (struct string_list *)((char *)settings + setting->offset);
    bool is_single = value->kind != YAML_SEQUENCE;
    size_t count = is_single ? 1 : value->count;
    size_t errors = reader->load->error_count;
    char key[SETTINGS_KEY_BYTES];
    settings_key_of(setting, key);
    struct place *places = arena_alloc_array(reader->load->arena, list->count + count, sizeof *places, e);
    if (places == NULL)
        return -1;
    if (count > SETTINGS_LIST_MOST) {
        reader->settings->selection_in_doubt |= is_about_selection(key);
        return diagnose_at(reader->load, RULE_SETTING, value, NULL, e,
                           "\"%s\": a list has at most %d items, not %zu", key, SETTINGS_LIST_MOST, count);
    }
    list->is_set = true; /* an empty list is one that was given, too */
    for (size_t i = 0; i < count; i++) {
        const struct yaml_node *item = is_single ? value : value->items[i];
        size_t before = list->count;
        bool is_text = item->kind == YAML_SCALAR && !yaml_is_null(item);
        int result = is_text || is_single
                         ? settings_set_one(reader, settings, setting, item, e)
                         : diagnose_at(reader->load, RULE_TYPE, item, NULL, e,
                                       "an item of \"%s\" must be a text, not %s", key, yaml_kind_text(item));
        if (result < 0)
            return -1;
        if (list->count > before)
            places[before] = yaml_place(item);
    }
    settings->origins[setting - settings_table].items = places;
    if (reader->load->error_count == errors)
        return 0;
    /* Half a list says something else than the whole: of what is allowed, or wanted. */
    reader->settings->selection_in_doubt |= is_about_selection(key);
    *list = (struct string_list){.is_set = false};
    return 0;
}

static int set_value(struct settings_reader *reader, const struct setting *setting,
                     const struct yaml_pair *pair, struct err *e)
{
    const struct yaml_node *value = pair->value;
    struct settings checked_only = *reader->settings;
    bool is_taken = !reader->already_set(reader->context, setting->name);
    struct settings *settings = is_taken ? reader->settings : &checked_only;
    struct setting_origin *origin = &settings->origins[setting - settings_table];
    *origin = (struct setting_origin){.kind = ORIGIN_FILE, .line = pair->key->line};
    if (setting->type == SETTING_LIST)
        return set_list(reader, settings, setting, value, e);
    return settings_set_one(reader, settings, setting, value, e);
}

int settings_second_time(struct settings_reader *reader, const struct yaml_node *key,
                         const struct yaml_node *first, struct err *e)
{
    char shown[SHOWN_BYTES];
    return diagnose_at(reader->load, RULE_REPEATED_KEY, key, "only one of them can hold: remove the other", e,
                       "\"%s\" stands there twice: in line %d too", diagnose_value(key, shown), first->line);
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

/* What all spellings of one rule have in common: of a team's name, a URL or a package file. NULL where that
 * can't be said, which is told when the rule is read. */
static int comparable(struct load *load, const struct yaml_node *node, bool is_name, const char **out,
                      struct err *e)
{
    const char *reason = NULL;
    const char *text = NULL;
    if (variables_expand(load, node, &text, e) < 0)
        return -1;
    if (text == NULL)
        return 0;
    if (is_name)
        return name_normalise(load->arena, text, out, e);
    *out = strstr(text, "://") != NULL ? claims_url(load, text, e)
                                       : reference_resolve(load, "", text, &reason, e);
    return *out != NULL || reason != NULL ? 0 : -1;
}

int settings_earlier(struct settings_reader *reader, struct map *seen, const struct yaml_node *node,
                     bool is_name, const struct yaml_node **first, struct err *e)
{
    const char *text = NULL;
    *first = NULL;
    if (node == NULL || node->kind != YAML_SCALAR || yaml_is_null(node))
        return 0;
    if (comparable(reader->load, node, is_name, &text, e) < 0)
        return -1;
    if (text == NULL)
        return 0;
    struct map_slot *slot = map_slot(seen, reader->load->arena, text, e);
    if (slot == NULL)
        return -1;
    *first = slot->value;
    if (slot->value == NULL)
        slot->value = node;
    return 0;
}

int settings_read_text(struct settings_reader *reader, const struct yaml_node *node, const char *key,
                       bool may_be_empty, const char **out, struct err *e)
{
    if (node->kind != YAML_SCALAR)
        return diagnose_at(reader->load, RULE_TYPE, node, NULL, e, "\"%s\" must be a text, not %s", key,
                           yaml_kind_text(node));
    const char *text;
    if (variables_expand(reader->load, node, &text, e) < 0)
        return -1;
    if (text == NULL || (text[0] == '\0' && may_be_empty))
        return 0;
    if (text[0] == '\0' || yaml_is_null(node))
        return diagnose_at(reader->load, RULE_TEXT, node, NULL, e, "\"%s\": an empty text", key);
    *out = text;
    return 0;
}

static const struct setting_origin *origin_of(const struct settings *settings, const char *name)
{
    return &settings->origins[settings_find(name) - settings_table];
}

struct place settings_item_place(const struct load *load, const struct string_list *list, const char *setting,
                                 size_t index)
{
    static const struct place nowhere = {.file = NULL};
    const struct settings *settings = load->options->settings;
    if (settings == NULL || index >= list->count)
        return nowhere;
    const struct setting_origin *origin = origin_of(settings, setting);
    return origin->kind == ORIGIN_FILE && origin->items != NULL ? origin->items[index] : nowhere;
}

bool settings_name_files(const struct load *load)
{
    const struct settings *settings = load->options->settings;
    return !settings->selection_in_doubt &&
           (!load->options->files.is_set || origin_of(settings, "file")->kind == ORIGIN_FILE);
}

bool settings_name_teams(const struct load *load)
{
    const struct manifest_options *options = load->options;
    const struct settings *settings = options->settings;
    return settings_name_files(load) && !options->changed.is_set &&
           (!options->teams.is_set || origin_of(settings, "team")->kind == ORIGIN_FILE) &&
           (options->exclude_teams.count == 0 || origin_of(settings, "exclude-team")->kind == ORIGIN_FILE);
}

int settings_reopen(struct load *load, struct yaml_file **out, struct err *e)
{
    struct file_problem unreadable;
    size_t files = load->file_count;
    if (load->settings_file == NULL) {
        load->settings_file = arena_alloc(load->arena, sizeof *load->settings_file, e);
        if (load->settings_file == NULL ||
            reference_read(load, SETTINGS_FILE, load->settings_file, &unreadable, e) < 0)
            return -1;
        load->file_count = files; /* it was counted */
        yaml_skip_mark(load->settings_file);
    }
    *out = load->settings_file->text == NULL ? NULL : load->settings_file;
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
    const struct yaml_node *first = settings_earlier_key(root, at);
    const struct setting *setting = key->kind == YAML_SCALAR ? settings_find_key(key->text) : NULL;
    bool is_rules = key->kind == YAML_SCALAR && find_rules(key->text) != NULL;
    if (setting == NULL && !is_rules)
        return settings_unknown_key(reader, key, NULL, e);
    if (first != NULL) {
        reader->settings->selection_in_doubt |= is_about_selection(key->text);
        return settings_second_time(reader, key, first, e);
    }
    if (is_rules)
        return 0; /* when the general settings are known */
    if (!setting->in_file)
        return diagnose_at(reader->load, RULE_MISPLACED_KEY, key, NULL, e,
                           "\"%s\" can't be set in %s: use %s or --%s", key->text, SETTINGS_FILE,
                           setting->environment, setting->name);
    return yaml_is_null(root->pairs[at].value) ? 0 : set_value(reader, setting, &root->pairs[at], e);
}

/* Those of lists, mappings and empty values; a text's are told where it is read. */
static int check_decorations(struct settings_reader *reader, const struct yaml_node *node, struct err *e)
{
    if (yaml_is_decorated(node) && (node->kind != YAML_SCALAR || node->length == 0)) {
        reader->settings->selection_in_doubt = true; /* whatever it was to say */
        if (diagnose_decoration(reader->load, node, e) < 0)
            return -1;
    }
    for (size_t i = 0; node->kind == YAML_SEQUENCE && i < node->count; i++)
        if (check_decorations(reader, node->items[i], e) < 0)
            return -1;
    for (size_t i = 0; node->kind == YAML_MAPPING && i < node->count; i++)
        if (check_decorations(reader, node->pairs[i].value, e) < 0)
            return -1;
    return 0;
}

static int read_root(struct settings_reader *reader, const struct yaml_node *root, struct err *e)
{
    if (check_decorations(reader, root, e) < 0)
        return -1;
    if (root->kind != YAML_MAPPING) {
        reader->settings->selection_in_doubt = true;
        return diagnose_at(reader->load, RULE_TYPE, root, NULL, e, "%s must be a mapping, not %s",
                           SETTINGS_FILE, yaml_kind_text(root));
    }
    for (size_t i = 0; i < root->count; i++)
        if (read_pair(reader, root, i, e) < 0)
            return -1;
    for (size_t i = 0; i < settings_rules_count; i++) {
        const struct yaml_node *value = yaml_get(root, settings_rules_table[i].key);
        bool is_given = !yaml_is_null(value) && !yaml_is_decorated(value);
        if (is_given && settings_rules_table[i].read(reader, value, e) < 0)
            return -1;
    }
    return 0;
}

/* `root` is NULL where there is nothing to read; what is wrong is told. */
static int open_file(struct settings_reader *reader, const struct yaml_node **root, struct err *e)
{
    struct load *load = reader->load;
    struct yaml_file *file = arena_alloc(load->arena, sizeof *file, e);
    struct file_problem unreadable;
    struct err problem = {.class = ERR_NONE};
    *root = NULL;
    if (file == NULL || reference_read(load, SETTINGS_FILE, file, &unreadable, e) < 0 ||
        settings_check_places(reader, !unreadable.is_missing, e) < 0)
        return -1;
    if (unreadable.is_missing)
        return 0;
    if (unreadable.text == NULL && yaml_parse(file, load->arena, root, &problem) == 0)
        return 0;
    *root = NULL;
    reader->settings->selection_in_doubt = true;
    if (unreadable.text == NULL)
        return diagnose_problem(load, file, &problem, e);
    return diagnose(load, RULE_SETTINGS_FILE, NULL, (struct place){.file = SETTINGS_FILE}, NULL, e, "%s",
                    unreadable.text);
}

/* Patterns are compared with names as those are kept: trimmed, in the form NFC. */
static int normalise_list(struct arena *arena, struct string_list *list, struct err *e)
{
    const char **items = arena_alloc_array(arena, list->count, sizeof *items, e);
    if (items == NULL)
        return -1;
    for (size_t i = 0; i < list->count; i++) {
        if (name_normalise(arena, list->items[i], &items[i], e) < 0)
            return -1;
        items[i] = items[i] == NULL ? list->items[i] : items[i];
    }
    list->items = items;
    return 0;
}

static int normalise_patterns(struct settings *settings, struct arena *arena, struct err *e)
{
    struct string_list *const lists[] = {&settings->teams, &settings->exclude_teams, &settings->prune_teams};
    for (size_t i = 0; i < ARRAY_LENGTH(lists); i++)
        if (lists[i]->count > 0 && normalise_list(arena, lists[i], e) < 0)
            return -1;
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
    const struct yaml_node *root;
    if (open_file(&reader, &root, e) < 0 || (root != NULL && read_root(&reader, root, e) < 0) ||
        normalise_patterns(&changed, arena, e) < 0 || diagnose_finish(&load, &result, e) < 0)
        return -1;
    result.file_count += load.file_count;
    *settings = changed;
    *out = result;
    return 0;
}
