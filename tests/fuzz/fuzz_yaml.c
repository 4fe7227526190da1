/* Any bytes as a YAML document: a tree within its limits, or one error with its place; never a crash, an
 * endless loop or a tree that says something else than its parts. */
#include "base/text.h"
#include "manifest/yaml.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { ARENA_MAX_BYTES = 256 * 1024 * 1024, VISITED_MAX = 4 * YAML_MAX_NODES };

struct walk {
    const struct yaml_file *file;
    size_t visited;
};

static void check_node(struct walk *walk, const struct yaml_node *node, int depth);

/* An alias stands behind what it stands for, everything else is used where it is. */
static void check_use(const struct yaml_node *node)
{
    const struct place use = yaml_use_place(node);
    bool is_behind = use.line > node->line || (use.line == node->line && use.column > node->column);
    bool is_same = use.line == node->line && use.column == node->column;
    if (node->is_alias ? !is_behind : !is_same)
        abort();
}

static void check_scalar(const struct yaml_node *node)
{
    if (node->text == NULL || strlen(node->text) != node->length || node->size != 1)
        abort();
    if (!text_is_utf8(node->text, node->length, NULL))
        abort();
}

static void check_children(struct walk *walk, const struct yaml_node *node, int depth)
{
    size_t total = 1;
    for (size_t i = 0; i < node->count; i++) {
        if (node->kind == YAML_SEQUENCE) {
            check_node(walk, node->items[i], depth + 1);
            total += node->items[i]->size;
            continue;
        }
        const struct yaml_pair *pair = &node->pairs[i];
        check_node(walk, pair->key, depth + 1);
        check_node(walk, pair->value, depth + 1);
        total += pair->key->size + pair->value->size;
        if (pair->key->kind == YAML_SCALAR && yaml_get(node, pair->key->text) == NULL)
            abort();
    }
    if (node->size < total)
        abort();
}

static void check_node(struct walk *walk, const struct yaml_node *node, int depth)
{
    /* An alias adds the depth of what it stands for, once each: no deeper than twice the limit per level. */
    if (node == NULL || node->file != walk->file || node->line < 1 || node->column < 1)
        abort();
    if (depth > YAML_MAX_DEPTH * YAML_MAX_DEPTH || ++walk->visited > VISITED_MAX)
        abort();
    if (yaml_kind_text(node)[0] == '\0')
        abort();
    check_use(node);
    if (node->kind == YAML_SCALAR)
        check_scalar(node);
    else
        check_children(walk, node, depth);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct err e;
    struct yaml_file file = {.path = "fuzz.yml", .text = (const char *)bytes, .length = size};
    const struct yaml_node *root = NULL;
    struct arena *arena = arena_new(ARENA_MAX_BYTES);
    err_init(&e);
    if (arena == NULL)
        abort();
    if (yaml_parse(&file, arena, &root, &e) == 0) {
        struct walk walk = {.file = &file};
        if (err_is_set(&e))
            abort();
        if (root != NULL)
            check_node(&walk, root, 0);
    } else if (e.class == ERR_MANIFEST) {
        if (e.line < 1 || e.column < 1 || e.text[0] == '\0')
            abort();
    } else if (e.class != ERR_MEMORY) {
        abort();
    }
    arena_free(arena);
    return 0;
}
