/* Between the files that read tender.yml: what the reading of one carries along, and the table of its rules,
 * from which the JSON Schema is made too. */
#ifndef TENDER_MANIFEST_SETTINGS_FILE_H
#define TENDER_MANIFEST_SETTINGS_FILE_H

#include "manifest/load.h"

enum { SETTINGS_KEY_BYTES = 64 };
#define SETTINGS_FILE "tender.yml"

struct settings_reader {
    struct load *load;
    bool (*already_set)(void *context, const char *name);
    void *context;
    struct settings *settings;
    size_t unknown_count; /* keys */
};

/* A text of one rule. The first one of a rule is required. */
struct rule_text {
    const char *key;
    const char *help;
};

/* A key of tender.yml that holds rules instead of one setting's value. */
struct settings_rules {
    const char *key; /* "sources" */
    const char *one; /* "source" */
    const char *help;
    /* A list of mappings with these texts and the settings that `takes` names; no texts: a mapping from a
     * text to a list of URLs. */
    size_t text_count;
    const struct rule_text *texts;
    bool (*takes)(const struct setting *setting);
    bool are_prefixes; /* its URLs; of a list of mappings, the first text */
    int (*read)(struct settings_reader *reader, const struct yaml_node *value, struct err *e);
};
enum { RULES_SOURCES, RULES_MIRRORS, RULES_BACKUPS, RULES_GUARDS, RULES_COUNT };
extern const struct settings_rules settings_rules_table[RULES_COUNT];
extern const size_t settings_rules_count;

/* "retry-initial" as it stands in the file: "retry_initial"; "file", which is a list, as "files". */
void settings_key_of(const struct setting *setting, char out[SETTINGS_KEY_BYTES]);
/* By its key in the file; NULL if there is none. */
const struct setting *settings_find_key(const char *key);
/* `rules`: those whose key it is; NULL: the root's. */
int settings_unknown_key(struct settings_reader *reader, const struct yaml_node *key,
                         const struct settings_rules *rules, struct err *e) MUST_CHECK;
/* settings_set with a diagnostic in place of its error. */
int settings_set_one(struct settings_reader *reader, struct settings *settings, const struct setting *setting,
                     const struct yaml_node *node, struct err *e) MUST_CHECK;
/* The first key of the mapping with the same text, if `at` is not it. */
const struct yaml_node *settings_earlier_key(const struct yaml_node *mapping, size_t at);
/* The first of those in `seen` that means the same team (`is_name`), URL or package file, however it is
 * spelt; NULL if it is the first, or no text. For many of them. */
int settings_earlier(struct settings_reader *reader, struct map *seen, const struct yaml_node *node,
                     bool is_name, const struct yaml_node **first, struct err *e) MUST_CHECK;
int settings_second_time(struct settings_reader *reader, const struct yaml_node *key,
                         const struct yaml_node *first, struct err *e) MUST_CHECK;
/* A text with variables replaced; *out stays as it was where a diagnostic was written, or where it is empty
 * and may be. */
int settings_read_text(struct settings_reader *reader, const struct yaml_node *node, const char *key,
                       bool may_be_empty, const char **out, struct err *e) MUST_CHECK;

/* settings_rules.c, settings_urls.c: read when all other settings are known. */
int settings_read_sources(struct settings_reader *reader, const struct yaml_node *value,
                          struct err *e) MUST_CHECK;
int settings_read_mirrors(struct settings_reader *reader, const struct yaml_node *value,
                          struct err *e) MUST_CHECK;
int settings_read_backups(struct settings_reader *reader, const struct yaml_node *value,
                          struct err *e) MUST_CHECK;
int settings_read_guards(struct settings_reader *reader, const struct yaml_node *value,
                         struct err *e) MUST_CHECK;
/* settings_places.c: complains of files that are meant as tender.yml and are not read. `is_there`: there is
 * one that is. */
int settings_check_places(struct settings_reader *reader, bool is_there, struct err *e) MUST_CHECK;
/* The pairs of a rule that is a mapping: texts go to `targets` (as many as `rules` has), settings to
 * `settings`. */
int settings_read_rule(struct settings_reader *reader, const struct yaml_node *mapping,
                       const struct settings_rules *rules, const char **const targets[],
                       struct settings *settings, struct err *e) MUST_CHECK;

#endif
