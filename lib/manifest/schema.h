/* Inside lib/manifest: the accepted keys of a software entry. The table in schema.c is the format: key, type,
 * where it may stand, what is required. */
#ifndef TENDER_MANIFEST_SCHEMA_H
#define TENDER_MANIFEST_SCHEMA_H

#include "manifest/load.h"

enum entry_key {
    KEY_PATH,
    KEY_PATHS,
    KEY_URL,
    KEY_HASH_SHA256,
    KEY_BACKUP_URLS,
    KEY_INSTALL_SCRIPT,
    KEY_UNINSTALL_SCRIPT,
    KEY_POST_INSTALL_SCRIPT,
    KEY_PRE_INSTALL_QUERY,
    KEY_SELF_SERVICE,
    KEY_LABELS_INCLUDE_ANY,
    KEY_LABELS_EXCLUDE_ANY,
    KEY_LABELS_INCLUDE_ALL,
    KEY_CATEGORIES,
    KEY_SETUP_EXPERIENCE,
    KEY_SETUP_EXPERIENCE_PLATFORM,
    KEY_ICON,
    KEY_DISPLAY_NAME,
    KEY_ALWAYS_DOWNLOAD,
    KEY_CONFIGURATION,
    KEY_SLUG,
    KEY_VERSION,
    KEY_APP_STORE_ID,
    KEY_PLATFORM,
    KEY_AUTO_UPDATE_ENABLED,
    KEY_AUTO_UPDATE_WINDOW_START,
    KEY_AUTO_UPDATE_WINDOW_END,
    ENTRY_KEY_COUNT
};

/* Where an entry stands; bits of a set. */
enum entry_context {
    IN_TEAM = 1 << 0,         /* packages[] with the package itself */
    BESIDE_FILE = 1 << 1,     /* packages[] with `path` (or `paths`) of package files */
    BESIDE_SCRIPT = 1 << 2,   /* packages[] with `path` (or `paths`) of scripts */
    IN_PACKAGE_FILE = 1 << 3, /* a package file's mapping */
    IN_MAINTAINED = 1 << 4,   /* fleet_maintained_apps[] */
    IN_APP_STORE = 1 << 5,    /* app_store_apps[] */
};

/* One entry as it was written: the item, and which keys it has. */
struct entry {
    struct software_item item;
    const struct yaml_node *node;
    const struct yaml_node *keys[ENTRY_KEY_COUNT];   /* NULL: absent or null */
    const struct yaml_node *values[ENTRY_KEY_COUNT]; /* the same */
    const char *path;                                /* `path` or `paths`, variables replaced; NULL: none */
    bool has_errors;
};

/* Reads one entry; its context follows from `path` for the packages of a team (`context` IN_TEAM). Mistakes
 * become diagnostics and entry->has_errors. */
int schema_read_entry(struct load *load, const struct yaml_node *node, enum entry_context context,
                      struct entry *out, struct err *e) MUST_CHECK;
const char *schema_key_name(enum entry_key key);
bool schema_allows(enum entry_key key, unsigned contexts); /* in one of the set */
/* A list of labels with something in it: an empty one restricts nothing. */
bool schema_has_labels(const struct entry *entry, enum entry_key key);
/* A list of texts with variables replaced. */
int schema_read_texts(struct load *load, const struct yaml_node *node, struct string_list *out,
                      bool *has_errors, struct err *e) MUST_CHECK;
bool schema_is_script(const char *path); /* .sh .ps1 .py */
bool schema_is_yaml(const char *path);   /* .yml .yaml */

/* check.c: rules over several keys of one package, wherever it is described. */
int check_package(struct load *load, struct entry *entry, struct err *e) MUST_CHECK;
/* `configuration` of a package whose type is known must be one of an .ipa. */
int check_configuration(struct load *load, const struct software_item *item, const struct yaml_node *key,
                        bool *has_errors, struct err *e) MUST_CHECK;
/* As check_package, for an app of a store or of the catalogue. */
int check_app(struct load *load, struct entry *entry, struct err *e) MUST_CHECK;
/* The platform of an app of a store, which `node` says. */
int check_platform(struct load *load, const char *platform, const struct yaml_node *node, bool *has_errors,
                   struct err *e) MUST_CHECK;
int check_icon(struct load *load, const struct text_file *icon, const struct yaml_node *node,
               bool *has_errors, struct err *e) MUST_CHECK;

/* claims.c: nothing may be there twice, in a team or in a package file. */

enum claim { CLAIM_FILE, CLAIM_URL, CLAIM_DIGEST, CLAIM_SLUG, CLAIM_STORE, CLAIM_COUNT };
struct claims {
    struct map holders[CLAIM_COUNT]; /* what identifies an item → struct claimant, the first that has it */
};
/* All that the item is known by. An error where another one has it, told once per pair of entries; `node` is
 * the item's entry. */
int claims_add(struct load *load, struct claims *claims, const struct software_item *item,
               const struct yaml_node *node, bool *has_errors, struct err *e) MUST_CHECK;
/* A package file in load->claims. */
/* What the spellings of one URL have in common: scheme and host in small letters, no default port. The URL
 * itself where it is written so. NULL when out of memory. */
const char *claims_url(struct load *load, const char *url, struct err *e);
int claims_add_file(struct load *load, const char *path, const struct yaml_node *node, bool *is_twice,
                    struct err *e) MUST_CHECK;

/* package_file.c */

struct package_file {
    const char *path;
    const char *problem; /* why it can't be read; NULL if it was */
    bool is_missing;     /* that is why */
    bool has_errors;     /* in it: its diagnostics are written */
    bool has_findings;   /* these, or warnings */
    size_t count;
    struct entry *entries;
    struct file_list files; /* what it refers to; only with options->changed */
};
/* Each file is read once. `at` names it. */
int package_file_get(struct load *load, const char *path, const struct yaml_node *at,
                     const struct package_file **out, struct err *e) MUST_CHECK;
/* The package with what the team's entry lays over it. Set in both places: an error. */
int package_file_overlay(struct load *load, const struct entry *team, const struct package_file *file,
                         const struct entry *package, struct software_item *out, bool *has_errors,
                         struct err *e) MUST_CHECK;

#endif
