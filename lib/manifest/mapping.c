/* A mapping with a handful of keys, as strict as the field tables: what is unknown, or there twice, is told.
 */
#include "base/text.h"
#include "manifest/load.h"
#include <string.h>

int mapping_find(const char *const *names, size_t count, const struct yaml_node *key)
{
    for (size_t i = 0; key->kind == YAML_SCALAR && i < count; i++)
        if (strcmp(names[i], key->text) == 0)
            return (int)i;
    return -1;
}

static int tell_unknown(struct load *load, const struct mapping *mapping, const struct yaml_pair *pair,
                        struct err *e)
{
    const struct yaml_node *key = pair->key;
    char shown[SHOWN_BYTES];
    if (key->kind == YAML_SCALAR && strcmp(key->text, "<<") == 0)
        return diagnose_merge_key(load, pair, e);
    const char *nearest =
        key->kind == YAML_SCALAR ? text_nearest(key->text, mapping->names, mapping->count) : NULL;
    if (nearest == NULL)
        return diagnose_at(load, RULE_UNKNOWN_KEY, key, NULL, e, "unknown key \"%s\" in %s",
                           diagnose_value(key, shown), mapping->what);
    return diagnose_at(load, RULE_UNKNOWN_KEY, key, NULL, e, "unknown key \"%s\" in %s: did you mean \"%s\"?",
                       diagnose_value(key, shown), mapping->what, nearest);
}

int mapping_read(struct load *load, const struct yaml_node *node, struct mapping *mapping, struct err *e)
{
    for (size_t i = 0; i < node->count; i++) {
        const struct yaml_pair *pair = &node->pairs[i];
        int index = mapping_find(mapping->names, mapping->count, pair->key);
        if (index >= 0 && mapping->keys[index] == NULL) {
            mapping->keys[index] = pair->key;
            mapping->values[index] = yaml_is_null(pair->value) ? NULL : pair->value;
            continue;
        }
        mapping->has_errors = true;
        int result = index < 0 ? tell_unknown(load, mapping, pair, e)
                               : diagnose_twice(load, pair->key, mapping->keys[index], mapping->advice, e);
        if (result < 0)
            return -1;
    }
    return 0;
}
