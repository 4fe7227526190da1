/* The entries of a team's lists become items: packages with what the team lays over them, scripts, apps. */
#include "manifest/team_lists.h"
#include "base/text.h"
#include "base/url.h"
#include "manifest/schema.h"
#include <string.h>

static const struct {
    enum software_kind kind;
    enum entry_context context;
    const char *name;
} lists[] = {
    [LIST_PACKAGES] = {SOFTWARE_PACKAGE, IN_TEAM, "packages"},
    [LIST_MAINTAINED_APPS] = {SOFTWARE_MAINTAINED_APP, IN_MAINTAINED, "fleet_maintained_apps"},
    [LIST_APP_STORE_APPS] = {SOFTWARE_APP_STORE_APP, IN_APP_STORE, "app_store_apps"},
};

/* Room for one more; NULL when out of memory. */
static struct software_item *new_item(struct team_reader *reader, struct software_list *list, struct err *e)
{
    return ARENA_PUSH(reader->load->arena, &list->items, &list->count, &reader->capacity, e);
}

static int add_item(struct team_reader *reader, struct software_list *list, const struct software_item *item,
                    const struct yaml_node *node, struct err *e)
{
    struct software_item *slot = new_item(reader, list, e);
    if (slot == NULL)
        return -1;
    *slot = *item;
    return claims_add(reader->load, reader->load->claims, item, node, &reader->has_errors, e);
}

static const struct yaml_node *path_node(const struct entry *entry)
{
    return entry->values[KEY_PATH] != NULL ? entry->values[KEY_PATH] : entry->values[KEY_PATHS];
}

/* What `path` names can't be used: told, and the item appears all the same. */
static int refer_in_vain(struct team_reader *reader, enum rule rule, const struct entry *entry,
                         const char *path, const char *problem, struct err *e)
{
    reader->has_errors = true;
    return reference_blame(reader->load, rule, path_node(entry), NULL, path, problem, e);
}

static int add_script(struct team_reader *reader, const struct entry *entry, const char *path,
                      struct software_list *list, struct err *e)
{
    struct load *load = reader->load;
    const struct text_reference *text;
    const struct yaml_node *at = path_node(entry);
    if (reference_text(load, path, TEXT_SCRIPT_PACKAGE, at, &text, e) < 0)
        return -1;
    struct software_item item = entry->item;
    item.kind = SOFTWARE_SCRIPT_PACKAGE;
    item.script = text->file;
    item.sha256 = text->sha256;
    if (text->problem != NULL &&
        refer_in_vain(reader, text->is_missing ? RULE_MISSING_FILE : RULE_UNUSABLE_FILE, entry, path,
                      text->problem, e) < 0)
        return -1;
    if (text->has_carriage_returns &&
        diagnose_at(load, RULE_LINE_ENDS, at, "save the script with LF line ends", e,
                    "%s has CRLF line ends: its \"#!\" line will name a program that does not exist",
                    path) < 0)
        return -1;
    return add_item(reader, list, &item, entry->node, e);
}

static int add_package_file(struct team_reader *reader, const struct entry *entry, const char *path,
                            struct software_list *list, struct err *e)
{
    const struct package_file *file;
    bool is_twice;
    if (package_file_get(reader->load, path, path_node(entry), &file, e) < 0 ||
        claims_add_file(reader->load, path, entry->node, &is_twice, e) < 0)
        return -1;
    reader->has_errors = reader->has_errors || is_twice;
    reader->has_errors = reader->has_errors || file->has_errors;
    if (file->problem != NULL &&
        refer_in_vain(reader, file->is_missing ? RULE_MISSING_FILE : RULE_UNUSABLE_FILE, entry, path,
                      file->problem, e) < 0)
        return -1;
    if (file->count == 0) { /* it can't be read: what is known of it is its name */
        struct software_item item = entry->item;
        item.kind = SOFTWARE_PACKAGE;
        item.package_file = path;
        return add_item(reader, list, &item, entry->node, e);
    }
    for (size_t i = 0; i < file->count; i++) {
        /* The same file twice was told already: its URLs are then the same as well. */
        struct software_item twice;
        struct software_item *item = is_twice ? &twice : new_item(reader, list, e);
        if (item == NULL || package_file_overlay(reader->load, entry, file, &file->entries[i], item,
                                                 &reader->has_errors, e) < 0)
            return -1;
        if (!is_twice &&
            claims_add(reader->load, reader->load->claims, item, entry->node, &reader->has_errors, e) < 0)
            return -1;
    }
    return 0;
}

static int add_path(struct team_reader *reader, const struct entry *entry, const char *path,
                    struct software_list *list, struct err *e)
{
    if (schema_is_script(path))
        return add_script(reader, entry, path, list, e);
    if (schema_is_yaml(path))
        return add_package_file(reader, entry, path, list, e);
    const char *problem =
        arena_printf(reader->load->arena, e,
                     "%s is no package: its name must end in .yml or .yaml (a package file), "
                     "or in .sh, .ps1 or .py (a script that is the package)",
                     path);
    return problem == NULL ? -1 : refer_in_vain(reader, RULE_PATH, entry, path, problem, e);
}

/* Nothing may be meant, or a folder was renamed: the plan takes no chances with removals. */
static int note_empty_pattern(struct team_reader *reader, const struct yaml_node *node, const char *pattern,
                              struct software_list *list, struct err *e)
{
    list->empty_pattern = arena_printf(reader->load->arena, e, "%s (%s:%d:%d)", pattern, node->file->path,
                                       node->line, node->column);
    return list->empty_pattern == NULL
               ? -1
               : diagnose_at(reader->load, RULE_EMPTY_PATTERN, node, reference_spelling(pattern), e,
                             "no file matches %s", pattern);
}

static int add_paths(struct team_reader *reader, const struct entry *entry, const char *pattern,
                     struct software_list *list, struct err *e)
{
    struct string_list found;
    const char *problem;
    if (reference_glob(reader->load, pattern, &found, &problem, e) < 0 ||
        selection_record_matches(reader->load, pattern, e) < 0)
        return -1;
    if (problem != NULL) {
        reader->has_errors = true;
        return diagnose_at(reader->load, RULE_PATH, entry->values[KEY_PATHS], NULL, e, "%s: %s", pattern,
                           problem);
    }
    if (found.count == 0)
        return note_empty_pattern(reader, entry->values[KEY_PATHS], pattern, list, e);
    for (size_t i = 0; i < found.count; i++)
        if (add_path(reader, entry, found.items[i], list, e) < 0)
            return -1;
    return 0;
}

static int add_referred(struct team_reader *reader, struct entry *entry, struct software_list *list,
                        struct err *e)
{
    struct load *load = reader->load;
    const char *reason;
    const struct yaml_node *path_key = entry->keys[KEY_PATH];
    if (path_key != NULL && entry->keys[KEY_PATHS] != NULL) {
        reader->has_errors = true;
        return diagnose_at(load, RULE_CONFLICTING_KEYS, entry->keys[KEY_PATHS], "make two entries of it", e,
                           "\"path\" and \"paths\" can't stand in one entry");
    }
    const char *path = reference_resolve(load, entry->node->file->path, entry->path, &reason, e);
    if (path != NULL)
        return path_key != NULL ? add_path(reader, entry, path, list, e)
                                : add_paths(reader, entry, path, list, e);
    if (reason == NULL)
        return -1;
    reader->has_errors = true;
    return diagnose_at(load, RULE_PATH, path_node(entry), NULL, e, "%s", reason);
}

static int add_entry(struct team_reader *reader, enum team_list which, const struct yaml_node *node,
                     struct software_list *list, struct err *e)
{
    struct entry entry;
    if (yaml_is_null(node)) {
        reader->has_errors = true;
        return diagnose_at(reader->load, RULE_TYPE, node, NULL, e, "an empty entry in \"%s\"",
                           lists[which].name);
    }
    if (schema_read_entry(reader->load, node, lists[which].context, &entry, e) < 0)
        return -1;
    entry.item.kind = lists[which].kind;
    if (which == LIST_PACKAGES && entry.path == NULL && check_package(reader->load, &entry, e) < 0)
        return -1;
    if (which != LIST_PACKAGES && check_app(reader->load, &entry, e) < 0)
        return -1;
    reader->has_errors = reader->has_errors || entry.has_errors;
    if (node->kind != YAML_MAPPING)
        return 0;
    if (entry.path != NULL)
        return add_referred(reader, &entry, list, e);
    return add_item(reader, list, &entry.item, node, e);
}

static int add_entries(struct team_reader *reader, enum team_list which, const struct yaml_node *sequence,
                       struct software_list *list, struct err *e)
{
    int result = 0;
    for (size_t i = 0; i < sequence->count && result == 0; i++) {
        reader->load->entry = yaml_use_place(sequence->items[i]);
        result = add_entry(reader, which, sequence->items[i], list, e);
    }
    reader->load->entry = (struct place){.file = NULL};
    return result;
}

int team_lists_read(struct team_reader *reader, enum team_list which, const struct yaml_node *value,
                    struct software_list *out, struct err *e)
{
    reader->capacity = 0;
    if (value != NULL && yaml_is_decorated(value)) {
        reader->has_errors = true;
        return diagnose_decoration(reader->load, value, e);
    }
    out->state = LIST_NULL;
    if (value == NULL || yaml_is_null(value))
        return 0;
    out->state = LIST_GIVEN;
    if (value->kind != YAML_SEQUENCE) {
        reader->has_errors = true;
        return diagnose_at(reader->load, RULE_TYPE, value, "begin each entry with \"- \"", e,
                           "\"%s\" must be a list, not %s", lists[which].name, yaml_kind_text(value));
    }
    /* Most entries are one item each: room for them at once. */
    out->items = arena_alloc_array(reader->load->arena, value->count, sizeof *out->items, e);
    if (out->items == NULL)
        return -1;
    reader->capacity = value->count;
    return add_entries(reader, which, value, out, e);
}
