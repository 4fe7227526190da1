/* Between the files that read values by the field table, or are generated from it: a row of the table, and
 * what a reader of one value is given. */
#ifndef TENDER_MANIFEST_SCHEMA_VALUES_H
#define TENDER_MANIFEST_SCHEMA_VALUES_H

#include "manifest/schema.h"

enum { URL_MAX = 4000, NAME_MAX_CHARACTERS = 255, TEXT_MAX = 4000 };

enum field_type {
    TYPE_PATH,
    TYPE_TEXT,
    TYPE_URL,
    TYPE_URLS,
    TYPE_DIGEST,
    TYPE_SCRIPT, /* {path: f} */
    TYPE_QUERY,  /* {path: f} */
    TYPE_ICON,   /* {path: f} */
    TYPE_BYTES,  /* {path: f} */
    TYPE_SWITCH,
    TYPE_TRISTATE,
    TYPE_TEXTS,
    TYPE_TEXT_OR_TEXTS,
    TYPE_LABELS,
};

struct field {
    const char *key;
    enum field_type type;
    unsigned where; /* set of entry_context */
    size_t offset;  /* in struct software_item */
    size_t max;     /* characters of a text */
    enum label_mode labels;
};

/* The table's row of a key: for what is generated from the table, and for the tests. */
const struct field *schema_field(enum entry_key key);

/* What a reader of one value is given. */
struct value {
    struct load *load;
    struct entry *entry;
    const struct field *field;
    const struct yaml_node *key; /* NULL: not of an entry */
    const struct yaml_node *node;
    void *target; /* in entry->item */
};

/* Reads the value by its field's type into `target`. Mistakes become diagnostics and entry->has_errors. */
int schema_read_value(const struct value *value, struct err *e) MUST_CHECK;
/* "must be EXPECTED, not a list". `expected` is NULL for an entry of a list of texts. */
int schema_wrong_kind(const struct value *value, const char *expected, struct err *e) MUST_CHECK;
/* A scalar with its variables replaced; *out is NULL where a diagnostic was written, or where it is empty. */
int schema_read_scalar(const struct value *value, const struct yaml_node *node, const char *expected,
                       const char **out, struct err *e) MUST_CHECK;
/* schema_files.c: the file of `{path: f}`, in the form that the field takes. */
int schema_read_file(const struct value *value, struct err *e) MUST_CHECK;

#endif
