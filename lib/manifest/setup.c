/* The set-up experience that `controls` declares: its entries name software of the team, whose items get the
 * mark. These lists are Tender's, and as strict as `software`; the rest of `controls` is left to others. */
#include "base/text.h"
#include "manifest/schema_values.h"
#include "manifest/team_lists.h"
#include <string.h>

enum setup_key { SETUP_PACKAGE_PATH, SETUP_APP_STORE_ID, SETUP_PLATFORM, SETUP_KEY_COUNT };

static const char *const key_names[SETUP_KEY_COUNT] = {
    [SETUP_PACKAGE_PATH] = "package_path",
    [SETUP_APP_STORE_ID] = "app_store_id",
    [SETUP_PLATFORM] = "platform",
};

/* An id and a platform are those of `app_store_apps`, and a path is as good as there. */
static const struct field path_field = {"package_path", TYPE_PATH, .max = TEXT_MAX};

/* The old and the new name of one section. */
static const char *const section_names[] = {"macos_setup", "setup_experience"};

/* What one entry means, and what was found for it. */
struct wanted {
    const struct yaml_node *node; /* the path or the id, for messages */
    const char *path;
    const char *app_store_id;
    const char *platform; /* NULL: not said */
    size_t found;
    const struct software_item *refusing; /* it says `setup_experience: false` itself */
};

static bool is_wanted(const struct wanted *wanted, const struct software_item *item)
{
    if (wanted->path != NULL)
        return text_equal(item->package_file, wanted->path) || text_equal(item->script.path, wanted->path);
    return wanted->app_store_id != NULL && text_equal(item->app_store_id, wanted->app_store_id) &&
           (wanted->platform == NULL || text_equal(item->platform, wanted->platform));
}

static void mark(struct software_list *list, struct wanted *wanted)
{
    for (size_t i = 0; i < list->count; i++) {
        struct software_item *item = &list->items[i];
        if (!is_wanted(wanted, item))
            continue;
        wanted->found++;
        if (item->setup_experience == TRISTATE_FALSE)
            wanted->refusing = item;
        else
            item->setup_experience = TRISTATE_TRUE;
    }
}

/* A path that is there in another spelling was meant. */
static int tell_not_found(struct team_reader *reader, const struct wanted *wanted, struct err *e)
{
    char shown[SHOWN_BYTES];
    const char *advice = wanted->path != NULL ? reference_spelling(wanted->node->text) : NULL;
    if (wanted->path != NULL && advice == NULL &&
        reference_advice(reader->load, wanted->path, &advice, e) < 0)
        return -1;
    return diagnose_at(reader->load, RULE_SETUP_UNKNOWN, wanted->node,
                       advice != NULL ? advice : "add it to the team's software, or remove it here", e,
                       "the set-up software \"%s\" is not in the team's software",
                       diagnose_value(wanted->node, shown));
}

static int tell(struct team_reader *reader, const struct wanted *wanted, struct err *e)
{
    char shown[SHOWN_BYTES];
    if (wanted->refusing != NULL) {
        reader->has_errors = true;
        return diagnose_at(reader->load, RULE_SETUP_REFUSED, wanted->node, "keep one of the two", e,
                           "the set-up software \"%s\" has \"setup_experience: false\" in the entry of %s:%d",
                           diagnose_value(wanted->node, shown), wanted->refusing->place.file,
                           wanted->refusing->place.line);
    }
    if (wanted->found == 0)
        return tell_not_found(reader, wanted, e);
    if (wanted->found > 1 && wanted->path != NULL)
        return diagnose_at(reader->load, RULE_SETUP_SEVERAL, wanted->node,
                           "a file of its own for each package says which one is meant", e,
                           "the set-up software \"%s\" is a file with %zu packages: all of them are marked",
                           diagnose_value(wanted->node, shown), wanted->found);
    return 0;
}

/* A value as strict as that of an entry in `software`; *out is NULL where a diagnostic was written. */
static int read_text(struct team_reader *reader, const struct yaml_node *node, const struct field *field,
                     const char **out, struct err *e)
{
    struct entry entry = {.node = node};
    const struct value value = {reader->load, &entry, field, NULL, node, NULL};
    int result = schema_read_scalar(&value, node, field->type == TYPE_PATH ? "a path" : "a text", out, e);
    reader->has_errors = reader->has_errors || entry.has_errors;
    return result;
}

/* Where the entry's path leads to, NULL where it leads nowhere (told). */
static int read_path(struct team_reader *reader, const struct yaml_node *node, const char **path,
                     struct err *e)
{
    struct load *load = reader->load;
    const char *text;
    const char *reason = NULL;
    *path = NULL;
    if (read_text(reader, node, &path_field, &text, e) < 0)
        return -1;
    if (text == NULL)
        return 0;
    *path = reference_resolve(load, node->file->path, text, &reason, e);
    if (*path != NULL)
        return selection_record(load, *path, e);
    reader->has_errors = true;
    return reason == NULL ? -1 : diagnose_at(load, RULE_PATH, node, NULL, e, "%s", reason);
}

/* The same software twice does no harm, and no good. */
static int check_twice(struct team_reader *reader, const struct wanted *wanted, const struct yaml_node *entry,
                       struct err *e)
{
    struct load *load = reader->load;
    char shown[SHOWN_BYTES];
    const char *key = wanted->path != NULL ? wanted->path
                                           : arena_printf(load->arena, e, "%s\n%s", wanted->app_store_id,
                                                          wanted->platform == NULL ? "" : wanted->platform);
    if (key == NULL)
        return -1;
    const struct yaml_node *first = map_get(&reader->setup, key);
    if (first == NULL)
        return map_put(&reader->setup, load->arena, key, entry, e);
    return diagnose(load, RULE_SETUP_REPEATED, entry->file, yaml_use_place(entry), "remove one of the two", e,
                    "the set-up software \"%s\" stands there twice: in line %d too",
                    diagnose_value(wanted->node, shown), yaml_use_place(first).line);
}

static int read_wanted(struct team_reader *reader, const struct yaml_node *entry,
                       const struct yaml_node *const values[SETUP_KEY_COUNT], struct err *e)
{
    const struct yaml_node *path = values[SETUP_PACKAGE_PATH];
    const struct yaml_node *id = values[SETUP_APP_STORE_ID];
    const struct yaml_node *platform = values[SETUP_PLATFORM];
    struct wanted wanted = {.node = path != NULL ? path : id};
    bool is_wrong = false;
    if (path != NULL ? read_path(reader, path, &wanted.path, e) < 0
                     : read_text(reader, id, schema_field(KEY_APP_STORE_ID), &wanted.app_store_id, e) < 0)
        return -1;
    if (platform != NULL && read_text(reader, platform, schema_field(KEY_PLATFORM), &wanted.platform, e) < 0)
        return -1;
    if (wanted.platform != NULL && check_platform(reader->load, wanted.platform, platform, &is_wrong, e) < 0)
        return -1;
    reader->has_errors = reader->has_errors || is_wrong;
    if (is_wrong || (wanted.path == NULL && wanted.app_store_id == NULL))
        return 0;
    bool is_known = platform == NULL || wanted.platform != NULL;
    if (is_known && check_twice(reader, &wanted, entry, e) < 0)
        return -1;
    mark(path != NULL ? &reader->team->packages : &reader->team->app_store_apps, &wanted);
    return tell(reader, &wanted, e);
}

static int read_entry(struct team_reader *reader, const struct yaml_node *entry, struct err *e)
{
    static const char needed[] = "set-up software needs \"package_path\" or \"app_store_id\"";
    const struct yaml_node *keys[SETUP_KEY_COUNT] = {NULL};
    const struct yaml_node *values[SETUP_KEY_COUNT] = {NULL};
    struct mapping mapping = {"set-up software", NULL, key_names, SETUP_KEY_COUNT, keys, values, false};
    if (entry->kind != YAML_MAPPING) {
        reader->has_errors = true;
        return diagnose_at(reader->load, RULE_TYPE, entry, NULL, e, "%s: it must be a mapping, not %s",
                           needed, yaml_kind_text(entry));
    }
    if (mapping_read(reader->load, entry, &mapping, e) < 0)
        return -1;
    reader->has_errors = reader->has_errors || mapping.has_errors;
    bool has_path = values[SETUP_PACKAGE_PATH] != NULL;
    if (has_path != (values[SETUP_APP_STORE_ID] != NULL))
        return read_wanted(reader, entry, values, e);
    reader->has_errors = true;
    if (has_path)
        return diagnose_at(reader->load, RULE_CONFLICTING_KEYS, keys[SETUP_APP_STORE_ID],
                           "make two entries of it", e,
                           "\"package_path\" and \"app_store_id\" can't stand in one entry");
    /* A misspelt key was told. */
    return mapping.has_errors ? 0 : diagnose_at(reader->load, RULE_MISSING_KEY, entry, NULL, e, "%s", needed);
}

static int read_list(struct team_reader *reader, const struct yaml_node *list, const char *section,
                     struct err *e)
{
    if (yaml_is_decorated(list)) {
        reader->has_errors = true;
        return diagnose_decoration(reader->load, list, e);
    }
    if (list->kind != YAML_SEQUENCE) {
        reader->has_errors = true;
        return diagnose_at(reader->load, RULE_TYPE, list, "begin each entry with \"- \"", e,
                           "\"software\" in \"%s\" must be a list, not %s", section, yaml_kind_text(list));
    }
    int result = 0;
    for (size_t i = 0; i < list->count && result == 0; i++) {
        reader->load->entry = yaml_use_place(list->items[i]);
        result = read_entry(reader, list->items[i], e);
    }
    reader->load->entry = (struct place){.file = NULL};
    return result;
}

/* Of a section's keys only `software` is Tender's; one that is almost it would drop the list in silence. */
static int find_software(struct team_reader *reader, const struct yaml_node *section, const char *name,
                         const struct yaml_node **key, const struct yaml_node **list, struct err *e)
{
    static const char *const ours[] = {"software"};
    for (size_t i = 0; i < section->count; i++) {
        const struct yaml_pair *pair = &section->pairs[i];
        const char *text = pair->key->kind == YAML_SCALAR ? pair->key->text : "";
        bool is_merge = strcmp(text, "<<") == 0;
        bool is_software = strcmp(text, ours[0]) == 0;
        if (is_software && *key == NULL) {
            *key = pair->key;
            *list = yaml_is_null(pair->value) && !yaml_is_decorated(pair->value) ? NULL : pair->value;
            continue;
        }
        if (!is_software && !is_merge && text_nearest(text, ours, ARRAY_LENGTH(ours)) == NULL)
            continue;
        reader->has_errors = true;
        int result = is_merge      ? diagnose_merge_key(reader->load, pair, e)
                     : is_software ? diagnose_twice(reader->load, pair->key, *key, "join the two lists", e)
                                   : diagnose_at(reader->load, RULE_UNKNOWN_KEY, pair->key, NULL, e,
                                                 "unknown key \"%s\" in \"%s\": did you mean \"software\"?",
                                                 text, name);
        if (result < 0)
            return -1;
    }
    return 0;
}

/* A section under a name that is almost one of ours, with software in it. */
static int check_name(struct team_reader *reader, const struct yaml_pair *pair, struct err *e)
{
    char shown[SHOWN_BYTES];
    const char *nearest = pair->key->kind != YAML_SCALAR || yaml_get(pair->value, "software") == NULL
                              ? NULL
                              : text_nearest(pair->key->text, section_names, ARRAY_LENGTH(section_names));
    if (nearest == NULL)
        return 0;
    reader->has_errors = true;
    return diagnose_at(reader->load, RULE_UNKNOWN_KEY, pair->key, NULL, e,
                       "unknown key \"%s\" in \"controls\": did you mean \"%s\"?",
                       diagnose_value(pair->key, shown), nearest);
}

static int read_controls(struct team_reader *reader, const struct yaml_node *controls, struct err *e)
{
    const struct yaml_node *seen[ARRAY_LENGTH(section_names)] = {NULL};
    const struct yaml_node *first = NULL; /* the key of the list that counts */
    for (size_t i = 0; i < controls->count; i++) {
        const struct yaml_pair *pair = &controls->pairs[i];
        const struct yaml_node *key = NULL;
        const struct yaml_node *list = NULL;
        int which = mapping_find(section_names, ARRAY_LENGTH(section_names), pair->key);
        if (which < 0) {
            if (check_name(reader, pair, e) < 0)
                return -1;
            continue;
        }
        if (pair->value->kind != YAML_MAPPING)
            continue;
        if (seen[which] != NULL) {
            reader->has_errors = true;
            if (diagnose_twice(reader->load, pair->key, seen[which], "join the two blocks", e) < 0)
                return -1;
            continue;
        }
        seen[which] = pair->key;
        if (find_software(reader, pair->value, section_names[which], &key, &list, e) < 0)
            return -1;
        if (list == NULL)
            continue;
        if (first != NULL) {
            reader->has_errors = true;
            return diagnose_at(reader->load, RULE_CONFLICTING_KEYS, key, "keep one of the two lists", e,
                               "\"macos_setup\" and \"setup_experience\" are the old and the new name of "
                               "one section, and both have \"software\": in line %d too",
                               first->line);
        }
        first = key;
        if (read_list(reader, list, section_names[which], e) < 0)
            return -1;
    }
    return 0;
}

/* Why the file can't be read; *problem is NULL if it was. */
static int parse_controls(struct load *load, const char *path, const struct yaml_node **controls,
                          const char **problem, struct err *e)
{
    struct file_problem unreadable;
    struct err fault = {.class = ERR_NONE};
    struct yaml_file *file = arena_alloc(load->arena, sizeof *file, e);
    if (file == NULL || reference_read(load, path, file, &unreadable, e) < 0)
        return -1;
    *problem = unreadable.text;
    if (*problem != NULL || yaml_parse(file, load->arena, controls, &fault) == 0)
        return 0;
    if (fault.class != ERR_MANIFEST)
        return err_set(e, fault.class, "%s", fault.text);
    *problem = arena_printf(load->arena, e, "%s:%d: %s", path, fault.line, fault.text);
    return *problem == NULL ? -1 : 0;
}

/* `controls: {path: f}` stands for the mapping in that file. One that can't be read is fleetctl's affair, but
 * what it may say of the set-up is not known then. */
static int open_controls(struct team_reader *reader, const struct yaml_node *at, const char *text,
                         const struct yaml_node **controls, struct err *e)
{
    static const char unknown[] = "the set-up software in \"controls\" is not known";
    struct load *load = reader->load;
    const char *problem = NULL;
    const char *path = reference_resolve(load, at->file->path, text, &problem, e);
    *controls = NULL;
    if (path == NULL)
        return problem == NULL
                   ? -1
                   : diagnose_at(load, RULE_CONTROLS_FILE, at, NULL, e, "%s: %s", unknown, problem);
    if (selection_record(load, path, e) < 0 || parse_controls(load, path, controls, &problem, e) < 0)
        return -1;
    if (problem == NULL)
        return 0;
    problem = arena_printf(load->arena, e, "%s: %s", unknown, problem);
    return problem == NULL ? -1 : reference_blame(load, RULE_CONTROLS_FILE, at, NULL, path, problem, e);
}

int team_lists_read_setup(struct team_reader *reader, struct err *e)
{
    struct load *load = reader->load;
    const struct yaml_node *controls = reader->controls;
    const struct yaml_node *path = yaml_get(controls, "path");
    const char *text = NULL;
    bool is_elsewhere = !yaml_is_null(path) && path->kind == YAML_SCALAR;
    if (is_elsewhere && (variables_expand(load, path, &text, e) < 0 ||
                         (text != NULL && open_controls(reader, path, text, &controls, e) < 0)))
        return -1;
    reader->has_errors = reader->has_errors || (is_elsewhere && text == NULL);
    size_t met = load->met_count;
    if (controls == NULL || controls->kind != YAML_MAPPING)
        return 0;
    if (read_controls(reader, controls, e) < 0)
        return -1;
    return controls->file == reader->controls->file || load->met_count == met
               ? 0
               : trail_add(load, controls->file->path, yaml_place(path), e);
}
