/* Field tables that are the accepted YAML: an entry's keys are read by the table, each by its type, and what
 * the table does not have is an error that names the nearest key. */
#include "manifest/schema.h"
#include "base/text.h"
#include "base/url.h"
#include "manifest/schema_values.h"
#include <string.h>
#include <strings.h>

#define AT(member) offsetof(struct software_item, member)
enum {
    PACKAGE = IN_TEAM | IN_PACKAGE_FILE,
    LAID_OVER = BESIDE_FILE | BESIDE_SCRIPT,
    APPS = IN_MAINTAINED | IN_APP_STORE,
    ALL = PACKAGE | LAID_OVER | APPS,
};

static const struct field fields[ENTRY_KEY_COUNT] = {
    [KEY_PATH] = {"path", TYPE_PATH, LAID_OVER, .max = TEXT_MAX},
    [KEY_PATHS] = {"paths", TYPE_PATH, LAID_OVER, .max = TEXT_MAX},
    [KEY_URL] = {"url", TYPE_URL, PACKAGE, .offset = AT(url), .max = URL_MAX},
    [KEY_HASH_SHA256] = {"hash_sha256", TYPE_DIGEST, PACKAGE, .offset = AT(sha256), .max = 0},
    [KEY_BACKUP_URLS] = {"backup_urls", TYPE_URLS, PACKAGE, .offset = AT(backup_urls), .max = URL_MAX},
    [KEY_INSTALL_SCRIPT] = {"install_script", TYPE_SCRIPT, PACKAGE | IN_MAINTAINED,
                            .offset = AT(install_script), .max = 0},
    [KEY_UNINSTALL_SCRIPT] = {"uninstall_script", TYPE_SCRIPT, PACKAGE | IN_MAINTAINED,
                              .offset = AT(uninstall_script), .max = 0},
    [KEY_POST_INSTALL_SCRIPT] = {"post_install_script", TYPE_SCRIPT, PACKAGE | IN_MAINTAINED,
                                 .offset = AT(post_install_script), .max = 0},
    [KEY_PRE_INSTALL_QUERY] = {"pre_install_query", TYPE_QUERY, PACKAGE | IN_MAINTAINED,
                               .offset = AT(pre_install_query), .max = 0},
    [KEY_SELF_SERVICE] = {"self_service", TYPE_SWITCH, ALL, .offset = AT(self_service), .max = 0},
    [KEY_LABELS_INCLUDE_ANY] = {"labels_include_any", TYPE_LABELS, ALL, .labels = LABELS_INCLUDE_ANY},
    [KEY_LABELS_EXCLUDE_ANY] = {"labels_exclude_any", TYPE_LABELS, ALL, .labels = LABELS_EXCLUDE_ANY},
    [KEY_LABELS_INCLUDE_ALL] = {"labels_include_all", TYPE_LABELS, ALL, .labels = LABELS_INCLUDE_ALL},
    [KEY_CATEGORIES] = {"categories", TYPE_TEXTS, ALL, .offset = AT(categories), .max = 0},
    [KEY_SETUP_EXPERIENCE] = {"setup_experience", TYPE_TRISTATE, ALL, .offset = AT(setup_experience),
                              .max = 0},
    [KEY_SETUP_EXPERIENCE_PLATFORM] = {"setup_experience_platform", TYPE_TEXT_OR_TEXTS, ALL,
                                       .offset = AT(setup_experience_platforms), .max = 0},
    [KEY_ICON] = {"icon", TYPE_ICON, PACKAGE | BESIDE_SCRIPT | APPS, .offset = AT(icon), .max = 0},
    [KEY_DISPLAY_NAME] = {"display_name", TYPE_TEXT, ALL, .offset = AT(display_name),
                          .max = NAME_MAX_CHARACTERS},
    [KEY_ALWAYS_DOWNLOAD] = {"always_download", TYPE_SWITCH, IN_PACKAGE_FILE, .offset = AT(always_download),
                             .max = 0},
    [KEY_CONFIGURATION] = {"configuration", TYPE_BYTES, PACKAGE | BESIDE_FILE | IN_APP_STORE,
                           .offset = AT(configuration), .max = 0},
    [KEY_SLUG] = {"slug", TYPE_TEXT, IN_MAINTAINED, .offset = AT(slug), .max = TEXT_MAX},
    [KEY_VERSION] = {"version", TYPE_TEXT, IN_MAINTAINED, .offset = AT(version), .max = TEXT_MAX},
    [KEY_APP_STORE_ID] = {"app_store_id", TYPE_TEXT, IN_APP_STORE, .offset = AT(app_store_id),
                          .max = TEXT_MAX},
    [KEY_PLATFORM] = {"platform", TYPE_TEXT, IN_APP_STORE, .offset = AT(platform), .max = TEXT_MAX},
    [KEY_AUTO_UPDATE_ENABLED] = {"auto_update_enabled", TYPE_TRISTATE, IN_APP_STORE,
                                 .offset = AT(auto_update_enabled), .max = 0},
    [KEY_AUTO_UPDATE_WINDOW_START] = {"auto_update_window_start", TYPE_TEXT, IN_APP_STORE,
                                      .offset = AT(auto_update_window_start), .max = TEXT_MAX},
    [KEY_AUTO_UPDATE_WINDOW_END] = {"auto_update_window_end", TYPE_TEXT, IN_APP_STORE,
                                    .offset = AT(auto_update_window_end), .max = TEXT_MAX},
};

/* What an entry is known by: one of the keys must be there. Beside a path nothing more is needed. */
static const struct required {
    unsigned where;
    enum entry_key keys[2];
    const char *text;
} required[] = {
    {PACKAGE,
     {KEY_URL, KEY_HASH_SHA256},
     "a package needs \"url\" or \"hash_sha256\" (or, in a team's file, \"path\")"},
    {IN_MAINTAINED, {KEY_SLUG, KEY_SLUG}, "a maintained app needs \"slug\", like google-chrome/darwin"},
    {IN_APP_STORE, {KEY_APP_STORE_ID, KEY_APP_STORE_ID}, "an App Store app needs \"app_store_id\""},
};

/* One entry while its keys are read. */
struct reading {
    struct load *load;
    enum entry_context context;
    struct entry *entry;
    const struct yaml_node *seen[ENTRY_KEY_COUNT];
    const struct yaml_node *stranger; /* the first key that is like none: told at the end */
    bool has_source; /* what it is known by is there: in a wrong place, or under a misspelt key */
};

const struct field *schema_field(enum entry_key key)
{
    return &fields[key];
}

const char *schema_key_name(enum entry_key key)
{
    return fields[key].key;
}

bool schema_allows(enum entry_key key, unsigned contexts)
{
    return (fields[key].where & contexts) != 0;
}

bool schema_has_labels(const struct entry *entry, enum entry_key key)
{
    const struct yaml_node *labels = entry->values[key];
    return labels != NULL && labels->kind == YAML_SEQUENCE && labels->count > 0;
}

/* Where the last part of a path has its last ".", "" if nowhere. */
static const char *suffix_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot == NULL || strchr(dot, '/') != NULL ? "" : dot;
}

bool schema_is_script(const char *path)
{
    const char *suffix = suffix_of(path);
    size_t length = strlen(suffix);
    return (length == 3 && (strcasecmp(suffix, ".sh") == 0 || strcasecmp(suffix, ".py") == 0)) ||
           (length == 4 && strcasecmp(suffix, ".ps1") == 0);
}

bool schema_is_yaml(const char *path)
{
    const char *suffix = suffix_of(path);
    return strcasecmp(suffix, ".yml") == 0 || strcasecmp(suffix, ".yaml") == 0;
}

static int find_key(const char *text)
{
    for (int i = 0; i < ENTRY_KEY_COUNT; i++)
        if (fields[i].key[0] == text[0] && strcmp(fields[i].key, text) == 0)
            return i;
    return -1;
}

/* Whether an entry can be known by it, here or in another list. */
static bool is_source(enum entry_key key)
{
    return key == KEY_PATH || key == KEY_PATHS || key == KEY_URL || key == KEY_HASH_SHA256 ||
           key == KEY_SLUG || key == KEY_APP_STORE_ID;
}

/* Why a key that exists can't stand here. */
static const char *misplaced_text(enum entry_key key, enum entry_context context)
{
    switch (context) {
    case BESIDE_FILE:
        return key == KEY_ALWAYS_DOWNLOAD || schema_allows(key, IN_PACKAGE_FILE)
                   ? "can't stand beside \"path\": it belongs in the package file"
                   : "is no key of a package";
    case BESIDE_SCRIPT:
        return "can't stand beside the path of a script: the script itself is the package";
    case IN_TEAM:
        return key == KEY_ALWAYS_DOWNLOAD ? "is allowed in a package file only" : "is no key of a package";
    case IN_PACKAGE_FILE:
        return "is no key of a package";
    case IN_MAINTAINED:
        return "is no key of a maintained app";
    case IN_APP_STORE:
        return "is no key of an App Store app";
    }
    return "is not allowed here";
}

/* The row of what is required; NULL: nothing is. */
static const struct required *required_of(const struct reading *reading)
{
    for (size_t i = 0; i < ARRAY_LENGTH(required); i++)
        if ((required[i].where & reading->context) != 0)
            return &required[i];
    return NULL;
}

/* An entry of one list in another one. */
static const char *misplaced_advice(const struct reading *reading, enum entry_key key)
{
    const struct required *needed = required_of(reading);
    if (!is_source(key) || needed == NULL)
        return NULL;
    for (size_t i = 0; i < ARRAY_LENGTH(needed->keys); i++)
        if (yaml_get(reading->entry->node, fields[needed->keys[i]].key) != NULL)
            return NULL;
    return key == KEY_SLUG           ? "the entry belongs under \"fleet_maintained_apps\""
           : key == KEY_APP_STORE_ID ? "the entry belongs under \"app_store_apps\""
                                     : "the entry belongs under \"packages\"";
}

/* The way to the other file is told as well. */
static int nested_file(struct load *load, const struct yaml_pair *pair, struct err *e)
{
    const char *reason;
    if (diagnose_at(load, RULE_NESTED_FILE, pair->key,
                    "describe the package here, or name the other file in the team's file", e,
                    "a package file can't refer to another one") < 0)
        return -1;
    if (pair->value->kind != YAML_SCALAR)
        return 0;
    const char *path = reference_resolve(load, pair->key->file->path, pair->value->text, &reason, e);
    if (path == NULL)
        return reason == NULL ? -1 : 0;
    const char *about = arena_printf(load->arena, e, "%s\nnested", path);
    return about == NULL ? -1 : trail_about(load, about, yaml_place(pair->key), e);
}

static int misplaced_key(const struct reading *reading, const struct yaml_pair *pair, enum entry_key known,
                         struct err *e)
{
    if (reading->context == IN_PACKAGE_FILE && (known == KEY_PATH || known == KEY_PATHS))
        return nested_file(reading->load, pair, e);
    return diagnose_at(reading->load, RULE_MISPLACED_KEY, pair->key, misplaced_advice(reading, known), e,
                       "\"%s\" %s", pair->key->text, misplaced_text(known, reading->context));
}

/* The key that was meant; -1 if it is like none. */
static int nearest_key(const struct reading *reading, const char *text)
{
    const char *names[ENTRY_KEY_COUNT];
    unsigned where = reading->context == IN_TEAM ? IN_TEAM | LAID_OVER : reading->context;
    size_t count = 0;
    for (int i = 0; i < ENTRY_KEY_COUNT; i++)
        if (schema_allows((enum entry_key)i, where))
            names[count++] = fields[i].key;
    const char *nearest = text_nearest(text, names, count);
    return nearest == NULL ? -1 : find_key(nearest);
}

static int unknown_key(struct reading *reading, const struct yaml_pair *pair, struct err *e)
{
    const struct yaml_node *key = pair->key;
    char shown[SHOWN_BYTES];
    if (key->kind == YAML_SCALAR && strcmp(key->text, "<<") == 0) {
        reading->has_source = true; /* who knows */
        return diagnose_merge_key(reading->load, pair, e);
    }
    int nearest = key->kind == YAML_SCALAR ? nearest_key(reading, key->text) : -1;
    if (nearest >= 0) {
        reading->has_source = reading->has_source || is_source((enum entry_key)nearest);
        return diagnose_at(reading->load, RULE_UNKNOWN_KEY, key, NULL, e,
                           "unknown key \"%s\": did you mean \"%s\"?", diagnose_value(key, shown),
                           fields[nearest].key);
    }
    if (reading->stranger != NULL)
        return diagnose_at(reading->load, RULE_UNKNOWN_KEY, key, NULL, e, "unknown key \"%s\"",
                           diagnose_value(key, shown));
    reading->stranger = key;
    return 0;
}

static int read_pair(struct reading *reading, const struct yaml_pair *pair, struct err *e)
{
    struct entry *entry = reading->entry;
    int known = pair->key->kind == YAML_SCALAR ? find_key(pair->key->text) : -1;
    if (known < 0) {
        entry->has_errors = true;
        return unknown_key(reading, pair, e);
    }
    if (reading->seen[known] != NULL) {
        entry->has_errors = true;
        return diagnose_twice(reading->load, pair->key, reading->seen[known], NULL, e);
    }
    reading->seen[known] = pair->key;
    /* Without a value it did not tell that the entry refers to a file. */
    if (reading->context == IN_TEAM && (known == KEY_PATH || known == KEY_PATHS) && yaml_is_null(pair->value))
        return 0;
    if (!schema_allows((enum entry_key)known, reading->context)) {
        entry->has_errors = true;
        reading->has_source = reading->has_source || is_source((enum entry_key)known);
        return misplaced_key(reading, pair, (enum entry_key)known, e);
    }
    if (yaml_is_null(pair->value) && !yaml_is_decorated(pair->value))
        return 0;
    entry->keys[known] = pair->key;
    entry->values[known] = pair->value;
    if (yaml_is_decorated(pair->value)) {
        entry->has_errors = true;
        return diagnose_decoration(reading->load, pair->value, e);
    }
    struct value value = {.load = reading->load,
                          .entry = entry,
                          .field = &fields[known],
                          .key = pair->key,
                          .node = pair->value};
    value.target = (char *)&entry->item + fields[known].offset;
    return schema_read_value(&value, e);
}

/* What the entry lacks; NULL if it has what it is known by. */
static const char *missing_text(const struct reading *reading)
{
    const struct required *needed = required_of(reading);
    if (needed == NULL || reading->has_source)
        return NULL;
    for (size_t i = 0; i < ARRAY_LENGTH(needed->keys); i++)
        if (reading->entry->values[needed->keys[i]] != NULL)
            return NULL;
    return needed->text;
}

/* What the entry would be known by, had it a value. */
static const struct yaml_node *valueless_source(const struct reading *reading)
{
    for (int key = 0; key < ENTRY_KEY_COUNT; key++)
        if (reading->seen[key] != NULL && is_source((enum entry_key)key))
            return reading->seen[key];
    return NULL;
}

/* A list of a team's file in a package file. */
static const char *stranger_advice(const struct reading *reading)
{
    const struct yaml_node *key = reading->stranger;
    bool is_list = key->kind == YAML_SCALAR && strcmp(key->text, "packages") == 0;
    return reading->context == IN_PACKAGE_FILE && is_list
               ? "a package file holds one package, or a list of them, without this key"
               : NULL;
}

/* A key that is like none, in an entry that has nothing to be known by, is one mistake. */
static int tell_missing(const struct reading *reading, struct err *e)
{
    char shown[SHOWN_BYTES];
    const char *missing = missing_text(reading);
    if (missing == NULL && reading->stranger == NULL)
        return 0;
    reading->entry->has_errors = true;
    const struct yaml_node *valueless = valueless_source(reading);
    if (reading->stranger == NULL && valueless != NULL)
        return diagnose_at(reading->load, RULE_MISSING_KEY, valueless, NULL, e, "\"%s\" has no value",
                           valueless->text);
    if (reading->stranger == NULL)
        return diagnose_at(reading->load, RULE_MISSING_KEY, reading->entry->node, NULL, e, "%s", missing);
    const char *advice = stranger_advice(reading);
    return diagnose_at(reading->load, RULE_UNKNOWN_KEY, reading->stranger, advice, e,
                       "unknown key \"%s\"%s%s", diagnose_value(reading->stranger, shown),
                       missing == NULL || advice != NULL ? "" : ": ",
                       missing == NULL || advice != NULL ? "" : missing);
}

/* `path` decides what else may stand there. */
static enum entry_context context_of(const struct yaml_node *node)
{
    const struct yaml_node *path = yaml_get(node, "path");
    path = path != NULL ? path : yaml_get(node, "paths");
    if (yaml_is_null(path) || path->kind != YAML_SCALAR)
        return path == NULL || yaml_is_null(path) ? IN_TEAM : BESIDE_FILE;
    return schema_is_script(path->text) ? BESIDE_SCRIPT : BESIDE_FILE;
}

/* A bare text for an entry: its key was forgotten, or the blank behind it. */
static const char *text_entry_advice(const struct yaml_node *node, enum entry_context context)
{
    if (node->kind == YAML_SEQUENCE)
        return node->count == 1 ? "one \"- \" begins an entry" : NULL;
    for (size_t i = 0; i < ENTRY_KEY_COUNT; i++) {
        size_t length = strlen(fields[i].key);
        if (strncmp(node->text, fields[i].key, length) == 0 && node->text[length] == ':')
            return "behind the \":\" of a key stands a blank";
    }
    if (context == IN_MAINTAINED || context == IN_APP_STORE)
        return context == IN_MAINTAINED ? "write \"slug: \" before it" : "write \"app_store_id: \" before it";
    if (url_is_http(node->text))
        return "write \"url: \" before it";
    return context == IN_TEAM && (schema_is_yaml(node->text) || schema_is_script(node->text))
               ? "write \"path: \" before it"
               : NULL;
}

int schema_read_entry(struct load *load, const struct yaml_node *node, enum entry_context context,
                      struct entry *out, struct err *e)
{
    *out = (struct entry){.node = node};
    out->item.place = yaml_use_place(node);
    out->item.origin = out->item.place;
    out->item.package_file = "";
    if (yaml_is_decorated(node)) {
        out->has_errors = true;
        return diagnose_decoration(load, node, e);
    }
    if (node->kind != YAML_MAPPING) {
        out->has_errors = true;
        return diagnose_at(load, RULE_TYPE, node, text_entry_advice(node, context), e,
                           "an entry must be a mapping, not %s", yaml_kind_text(node));
    }
    struct reading reading = {
        .load = load, .context = context == IN_TEAM ? context_of(node) : context, .entry = out};
    for (size_t i = 0; i < node->count; i++)
        if (read_pair(&reading, &node->pairs[i], e) < 0)
            return -1;
    return tell_missing(&reading, e);
}
