/* `{path: f}`: the scripts, queries, pictures and configurations that an entry names. */
#include "manifest/schema_values.h"
#include <string.h>

/* The value of "path" in `{path: f}`, *at; every other key is told. */
static int find_path(const struct value *value, const struct yaml_node **at, struct err *e)
{
    const struct yaml_node *node = value->node;
    for (size_t i = 0; i < node->count; i++) {
        const struct yaml_node *key = node->pairs[i].key;
        bool is_path = key->kind == YAML_SCALAR && strcmp(key->text, "path") == 0;
        if (is_path && *at == NULL) {
            *at = node->pairs[i].value;
            continue;
        }
        char shown[SHOWN_BYTES];
        value->entry->has_errors = true;
        if (diagnose_at(value->load, RULE_UNKNOWN_KEY, key, NULL, e,
                        "%s \"%s\" in \"%s\": it takes one \"path\" only",
                        is_path ? "a second" : "unknown key", diagnose_value(key, shown),
                        value->field->key) < 0)
            return -1;
    }
    return 0;
}

/* `{path: f}`: the file's path from the root; NULL where a diagnostic was written. */
static int read_reference(const struct value *value, const struct yaml_node **at, const char **path,
                          struct err *e)
{
    const struct yaml_node *node = value->node;
    const char *text = NULL;
    const char *reason;
    *path = NULL;
    if (node->kind != YAML_MAPPING)
        return schema_wrong_kind(value, "a mapping with \"path\"", e);
    if (find_path(value, at, e) < 0)
        return -1;
    if (*at == NULL || yaml_is_null(*at) || ((*at)->kind == YAML_SCALAR && (*at)->length == 0)) {
        value->entry->has_errors = true;
        if (*at == NULL && node->count > 0)
            return 0; /* the key that stands there instead was told */
        return diagnose_at(value->load, RULE_MISSING_KEY, *at != NULL ? *at : node,
                           "name the file, or remove the key", e, "\"%s\" has no \"path\"",
                           value->field->key);
    }
    if (schema_read_scalar(value, *at, "a path", &text, e) < 0)
        return -1;
    if (text == NULL)
        return 0;
    *path = reference_resolve(value->load, node->file->path, text, &reason, e);
    if (*path != NULL)
        return 0;
    value->entry->has_errors = true;
    return reason == NULL ? -1 : diagnose_at(value->load, RULE_PATH, *at, NULL, e, "%s", reason);
}

int schema_read_file(const struct value *value, struct err *e)
{
    struct text_file *target = value->target;
    const struct yaml_node *at = NULL;
    const struct text_reference *text;
    const char *path;
    enum text_use use = value->field->type == TYPE_SCRIPT  ? TEXT_SCRIPT
                        : value->field->type == TYPE_QUERY ? TEXT_QUERY
                                                           : TEXT_BYTES;
    if (read_reference(value, &at, &path, e) < 0)
        return -1;
    if (path == NULL)
        return 0;
    if (reference_text(value->load, path, use, at, &text, e) < 0)
        return -1;
    *target = text->file;
    if (text->problem == NULL)
        return value->field->type == TYPE_ICON
                   ? check_icon(value->load, target, at, &value->entry->has_errors, e)
                   : 0;
    value->entry->has_errors = true;
    if (text->is_reported)
        return trail_add(value->load, path, yaml_place(at), e);
    return reference_blame(value->load, text->is_missing ? RULE_MISSING_FILE : RULE_UNUSABLE_FILE, at,
                           value->field->key, path, text->problem, e);
}
