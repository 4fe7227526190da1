/* Inside lib/manifest: a YAML document as a tree of nodes that know where they stand. Scalars keep their
 * text: what type they have is the field's affair (schema.h). The only user of libyaml. */
#ifndef TENDER_MANIFEST_YAML_H
#define TENDER_MANIFEST_YAML_H

#include "base/arena.h"
#include "model/place.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    YAML_MAX_DEPTH = 64,
    YAML_MAX_NODES = 1000000, /* aliases and merges count as what they stand for */
};

/* One file's text and where its lines begin; for excerpts. */
struct yaml_file {
    const char *path; /* from the repository's root */
    const char *text;
    size_t length;
    size_t line_count;
    const size_t *line_starts; /* made when the first excerpt is asked for */
};

enum yaml_kind { YAML_SCALAR, YAML_SEQUENCE, YAML_MAPPING };

struct yaml_pair {
    const struct yaml_node *key;
    const struct yaml_node *value;
};

/* Large repositories have hundreds of thousands of these: kept small. */
struct yaml_node {
    enum yaml_kind kind;
    bool is_plain;       /* a scalar without quotes and not a block: may be null */
    bool is_quoted;      /* a scalar in quotes */
    bool is_block;       /* a scalar behind "|" or ">" */
    bool is_folded;      /* a scalar without them that goes over several lines */
    bool is_tagged;      /* by a tag that is none of YAML's own for its kind ("!name", "!!binary") */
    bool is_bare_anchor; /* nothing but an anchor, and no alias stands for it: "&name" */
    bool is_alias; /* a copy of what the alias stands for, and with its place; yaml_use_place has its own */
    int line, column;
    uint32_t size;   /* nodes in it, aliases counted as what they stand for */
    uint32_t length; /* scalars: bytes */
    uint32_t count;  /* items or pairs; 0 for a scalar */
    struct yaml_file *file;
    union {
        const char *text; /* scalars; NUL-terminated */
        const struct yaml_node **items;
        struct yaml_pair *pairs; /* in the file's order, duplicates included, merged ones behind */
    };
};

/* Parses file->text, behind a byte order mark if there is one (file->text is moved on then). `*root` is NULL
 * where the file holds no value (empty, comments only). What is wrong with the text comes as ERR_MANIFEST
 * with its place; otherwise only ERR_MEMORY. More than one document is an error. */
int yaml_parse(struct yaml_file *file, struct arena *arena, const struct yaml_node **root,
               struct err *e) MUST_CHECK;

/* Moves the text on behind a byte order mark, if it begins with one. */
void yaml_skip_mark(struct yaml_file *file);

/* What libyaml said, and where; for yaml_fault.c. */
struct yaml_fault {
    const struct yaml_file *file;
    const char *problem; /* libyaml's words; NULL: unknown */
    const char *context; /* NULL: none */
    size_t line, column; /* 0-based */
    size_t context_line, context_column;
    size_t quote_line, quote_column; /* of the last quoted text that goes over several lines, … */
    size_t quote_end_line;           /* … and where it ends; 0: there is none */
};
/* yaml_fault.c: fills `e` (ERR_MANIFEST) with what is wrong in the words of who wrote the file, and with the
 * place to look at. Returns -1. */
int yaml_fault_explain(const struct yaml_fault *fault, struct err *e);
/* yaml_words.c: the same by libyaml's words alone. */
int yaml_fault_by_words(const struct yaml_fault *fault, const char *problem, struct err *e);
/* yaml_bytes.c: text that can't be read at all: not UTF-8, UTF-16, control characters. `offset` is where
 * libyaml stopped. */
int yaml_fault_bytes(const struct yaml_file *file, size_t offset, struct err *e);

/* A missing value, null or ~; never a quoted text. NULL counts as null. */
bool yaml_is_null(const struct yaml_node *node);
/* By a tag or an anchor that means nothing here, so that the value is not what it seems to be. */
static inline bool yaml_is_decorated(const struct yaml_node *node)
{
    return node->is_tagged || node->is_bare_anchor;
}
/* The value of the first pair with this key; NULL if there is none, or if it is no mapping. */
const struct yaml_node *yaml_get(const struct yaml_node *mapping, const char *key);
struct place yaml_place(const struct yaml_node *node);
/* Where an alias stands; as yaml_place for all others. */
struct place yaml_use_place(const struct yaml_node *node);
const char *yaml_kind_text(const struct yaml_node *node); /* "a list", "a mapping", "a text" */

#endif
