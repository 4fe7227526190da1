/* One team's file: its name, and what of it is a team's software. Every other section is left to others, and
 * not complained of. */
#include "base/text.h"
#include "manifest/lines.h"
#include "manifest/names.h"
#include "manifest/schema.h"
#include "manifest/team_lists.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *const list_names[] = {"packages", "fleet_maintained_apps", "app_store_apps"};

static struct place file_place(const struct team_source *source)
{
    return (struct place){.file = source->file.path};
}

static int invalid(struct load *load, enum rule rule, struct team_source *source, const char *advice,
                   const char *text, struct err *e)
{
    source->is_invalid = true;
    return diagnose(load, rule, &source->file, file_place(source), advice, e, "%s", text);
}

static bool is_no_team_name(const char *name)
{
    return strcasecmp(name, "No team") == 0 || strcasecmp(name, "Unassigned") == 0;
}

static bool is_no_team_file(const char *path)
{
    static const char *const names[] = {"no-team.yml", "no-team.yaml", "unassigned.yml", "unassigned.yaml"};
    const char *slash = strrchr(path, '/');
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        if (strcmp(slash == NULL ? path : slash + 1, names[i]) == 0)
            return true;
    return false;
}

/* The special names belong to the special files, and the other way round. */
static int check_special_name(struct load *load, struct team_source *source, struct err *e)
{
    bool by_file = is_no_team_file(source->file.path);
    bool by_name = is_no_team_name(source->name);
    source->is_no_team = by_file;
    if (by_file == by_name)
        return 0;
    source->is_invalid = true;
    source->is_misnamed = true;
    if (by_file)
        return diagnose(load, RULE_TEAM_NAME, &source->file, source->name_place,
                        "write `name: No team`, or give the file another name", e,
                        "this file is for the computers without a team: its name must be \"No team\" or "
                        "\"Unassigned\", not \"%s\"",
                        source->name);
    return diagnose(
        load, RULE_TEAM_NAME, &source->file, source->name_place, NULL, e,
        "\"%s\" is the name of the computers without a team: their file is no-team.yml or unassigned.yml",
        source->name);
}

static int take_name(struct load *load, struct team_source *source, const struct yaml_node *node,
                     struct err *e)
{
    const char *text;
    source->name_place = yaml_place(node);
    if (node->kind != YAML_SCALAR) {
        source->is_invalid = true;
        return diagnose_at(load, RULE_TYPE, node, NULL, e, "\"name\" must be a text, not %s",
                           yaml_kind_text(node));
    }
    size_t errors = load->error_count;
    if (variables_expand(load, node, &text, e) < 0)
        return -1;
    source->is_invalid = source->is_invalid || load->error_count > errors;
    if (text == NULL)
        return 0;
    const char *name;
    if (name_normalise(load->arena, text, &name, e) < 0)
        return -1;
    if (name == NULL || name[0] == '\0' || name_find_control(name) >= 0) {
        source->is_invalid = true;
        return diagnose_at(load, RULE_TEAM_NAME, node, NULL, e, "\"name\" %s",
                           name == NULL      ? "is not UTF-8 text"
                           : name[0] == '\0' ? "is empty"
                                             : "holds a line break or a control character");
    }
    source->name = name;
    return check_special_name(load, source, e);
}

/* The line "name: …" of a file that is not YAML as a whole, and its number; 0 if there is none. */
static int find_name_line(const struct yaml_file *file, const char **line, size_t *length)
{
    const char *end = file->text + file->length;
    int number = 1;
    for (*line = file->text; *line < end; *line = line_next(*line, end), number++) {
        *length = line_at(*line, end).length;
        if (*length > strlen("name:") && strncmp(*line, "name:", strlen("name:")) == 0)
            return number;
    }
    return 0;
}

/* Such a file may still tell whose it is: the line is read alone. */
static int rescue_name(struct load *load, struct team_source *source, struct err *e)
{
    struct yaml_file alone = {.path = source->file.path};
    struct err ignored = {.class = ERR_NONE};
    const struct yaml_node *root = NULL;
    int number = find_name_line(&source->file, &alone.text, &alone.length);
    if (number == 0)
        return 0;
    if (yaml_parse(&alone, load->arena, &root, &ignored) < 0)
        return ignored.class == ERR_MANIFEST ? 0 : err_set(e, ignored.class, "%s", ignored.text);
    const struct yaml_node *name = yaml_get(root, "name");
    if (yaml_is_null(name) || name->kind != YAML_SCALAR)
        return 0;
    size_t errors = load->error_count;
    size_t findings = load->finding_count;
    int result = take_name(load, source, name, e);
    /* What is wrong with the name is told once the file can be read. */
    load->error_count = errors;
    load->finding_count = findings;
    source->name_place.line = number;
    return result;
}

/* A key at the top level that is almost "name"; NULL if there is none. */
static const struct yaml_node *misspelt_name(const struct yaml_node *root)
{
    static const char *const name[] = {"name"};
    for (size_t i = 0; i < root->count; i++) {
        const struct yaml_node *key = root->pairs[i].key;
        if (key->kind == YAML_SCALAR && strcmp(key->text, "name") != 0 &&
            text_nearest(key->text, name, ARRAY_LENGTH(name)) != NULL)
            return key;
    }
    return NULL;
}

static int find_name(struct load *load, struct team_source *source, struct err *e)
{
    const struct yaml_node *name = NULL;
    const struct yaml_node *root = source->root;
    for (size_t i = 0; i < root->count; i++) {
        const struct yaml_node *key = root->pairs[i].key;
        if (key->kind != YAML_SCALAR || strcmp(key->text, "name") != 0)
            continue;
        if (name != NULL) {
            source->is_invalid = true;
            if (diagnose_twice(load, key, name, NULL, e) < 0)
                return -1;
            continue;
        }
        name = root->pairs[i].value;
    }
    if (name != NULL && !yaml_is_null(name))
        return take_name(load, source, name, e);
    if (name != NULL && yaml_get(root, "org_settings") == NULL) {
        source->is_invalid = true;
        return diagnose_at(load, RULE_MISSING_KEY, name, "write the team's name in Fleet behind it", e,
                           "\"name\" has no value");
    }
    if (yaml_get(root, "org_settings") != NULL) {
        source->is_organisation = true;
        return 0;
    }
    const struct yaml_node *meant = misspelt_name(root);
    if (meant != NULL) {
        source->is_invalid = true;
        return diagnose_at(load, RULE_UNKNOWN_KEY, meant, NULL, e,
                           "a team's file needs \"name\": did you mean it by \"%s\"?", meant->text);
    }
    return invalid(load, RULE_MISSING_KEY, source,
                   "write `name: …` with the team's name in Fleet, or move the file elsewhere",
                   "a team's file needs \"name\"", e);
}

int team_file_open(struct load *load, const char *path, struct team_source *out, struct err *e)
{
    struct file_problem unreadable;
    struct err problem = {.class = ERR_NONE};
    *out = (struct team_source){.file = {.path = path}};
    if (reference_read(load, path, &out->file, &unreadable, e) < 0)
        return -1;
    if (unreadable.text != NULL)
        return invalid(load, RULE_UNUSABLE_FILE, out, NULL, unreadable.text, e);
    if (yaml_parse(&out->file, load->arena, &out->root, &problem) < 0) {
        out->root = NULL;
        out->is_invalid = true;
        if (diagnose_problem(load, &out->file, &problem, e) < 0)
            return -1;
        return rescue_name(load, out, e);
    }
    if (out->root == NULL)
        return invalid(load, RULE_TEAM_FILE, out,
                       "write `name: …` with the team's name in Fleet, or remove the file",
                       "the file is empty: a team's file needs \"name\"", e);
    if (out->root->kind != YAML_MAPPING) {
        out->is_invalid = true;
        return diagnose_at(load, RULE_TEAM_FILE, out->root, NULL, e,
                           "a team's file must be a mapping with \"name\", not %s",
                           yaml_kind_text(out->root));
    }
    return find_name(load, out, e);
}

/* A blank of another kind (U+00A0, U+2000 to U+200B, U+202F, U+3000, U+FEFF) does not indent: it becomes part
 * of the key, which then stands at the top level while it looks indented. */
static bool begins_with_odd_blank(const char *text)
{
    static const char *const blanks[] = {"\u00a0", "\u2007", "\u2009", "\u200b", "\u202f",
                                         "\u3000", "\ufeff", "\u2002", "\u2003"};
    for (size_t i = 0; i < ARRAY_LENGTH(blanks); i++)
        if (text_starts_with(text, blanks[i]))
            return true;
    return false;
}

/* What slid out of an entry: a key of its own, or its "- " behind some stray character. */
static int check_slid_key(struct team_reader *reader, const struct yaml_node *key, struct err *e)
{
    /* The others (`version`, `platform`, …) are words that a section of Fleet's may have. */
    static const enum entry_key certain[] = {KEY_PATH,
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
                                             KEY_SLUG,
                                             KEY_APP_STORE_ID};
    if (strstr(key->text, "- ") != NULL) {
        reader->has_errors = true;
        return diagnose_at(reader->load, RULE_INDENTATION, key, "indent it as the other entries", e,
                           "an entry (\"- …\") at the top level");
    }
    for (size_t i = 0; i < ARRAY_LENGTH(certain); i++) {
        if (strcmp(key->text, schema_key_name(certain[i])) != 0)
            continue;
        reader->has_errors = true;
        return diagnose_at(reader->load, RULE_MISPLACED_KEY, key, "indent it as the other keys of its entry",
                           e, "\"%s\" belongs to an entry of \"software\"", key->text);
    }
    return 0;
}

/* Two lines in the wrong order put the lists under the section above. */
static int check_section(struct team_reader *reader, const struct yaml_node *section, const char *name,
                         struct err *e)
{
    for (size_t i = 0; section->kind == YAML_MAPPING && i < section->count; i++)
        for (size_t k = 0; k < ARRAY_LENGTH(list_names); k++) {
            const struct yaml_node *key = section->pairs[i].key;
            if (key->kind != YAML_SCALAR || strcmp(key->text, list_names[k]) != 0)
                continue;
            reader->has_errors = true;
            if (diagnose_at(reader->load, RULE_MISPLACED_KEY, key, NULL, e,
                            "\"%s\" belongs under \"software\", not under \"%s\"", key->text, name) < 0)
                return -1;
        }
    return 0;
}

/* A key at the top level that was meant to be `software`, or to stand in it, would unmanage the team in
 * silence. */
static int check_top_key(struct team_reader *reader, const struct yaml_pair *pair, struct err *e)
{
    const struct yaml_node *key = pair->key;
    static const char *const known[] = {
        "name",    "team_settings", "settings", "agent_options", "controls",           "policies",
        "queries", "reports",       "software", "labels",        "custom_host_vitals", "org_settings"};
    static const char *const ours[] = {"software"};
    if (key->kind != YAML_SCALAR) {
        reader->has_errors = true;
        return diagnose_at(reader->load, RULE_TYPE, key, NULL, e, "a key must be a text, not %s",
                           yaml_kind_text(key));
    }
    for (size_t i = 0; i < ARRAY_LENGTH(known); i++)
        if (strcmp(key->text, known[i]) == 0)
            return strcmp(key->text, "software") == 0 ? 0 : check_section(reader, pair->value, key->text, e);
    if (begins_with_odd_blank(key->text)) {
        reader->has_errors = true;
        return diagnose_at(
            reader->load, RULE_INDENTATION, key, "indent with the space bar's blanks", e,
            "the line begins with a character that looks like a blank and is none (like U+00A0): "
            "the key stands at the top level");
    }
    const char *nearest_list = text_nearest(key->text, list_names, ARRAY_LENGTH(list_names));
    for (size_t i = 0; i < ARRAY_LENGTH(list_names); i++)
        if (nearest_list != NULL && strcmp(nearest_list, list_names[i]) == 0) {
            reader->has_errors = true;
            return diagnose_at(reader->load, RULE_MISPLACED_KEY, key, "indent it below `software:`", e,
                               "\"%s\" belongs under \"software\"", key->text);
        }
    bool is_merge = strcmp(key->text, "<<") == 0; /* one that was not merged: it may have held software */
    if (!is_merge && text_nearest(key->text, ours, ARRAY_LENGTH(ours)) == NULL)
        return check_slid_key(reader, key, e);
    reader->has_errors = true;
    if (is_merge)
        return diagnose_merge_key(reader->load, pair, e);
    return diagnose_at(reader->load, RULE_UNKNOWN_KEY, key, NULL, e,
                       "unknown key \"%s\": did you mean \"software\"?", key->text);
}

static int read_software(struct team_reader *reader, const struct yaml_node *software, struct err *e)
{
    struct load *load = reader->load;
    struct software_list *const lists[] = {&reader->team->packages, &reader->team->maintained_apps,
                                           &reader->team->app_store_apps};
    if (yaml_is_decorated(software)) {
        reader->has_errors = true;
        return diagnose_decoration(load, software, e);
    }
    if (yaml_is_null(software)) {
        for (size_t i = 0; i < ARRAY_LENGTH(lists); i++)
            lists[i]->state = LIST_NULL;
        return 0;
    }
    if (software->kind != YAML_MAPPING) {
        reader->has_errors = true;
        return diagnose_at(load, RULE_TYPE, software, NULL, e,
                           "\"software\" must be a mapping with packages, fleet_maintained_apps and "
                           "app_store_apps, not %s",
                           yaml_kind_text(software));
    }
    const struct yaml_node *keys[ARRAY_LENGTH(list_names)] = {NULL};
    const struct yaml_node *values[ARRAY_LENGTH(list_names)] = {NULL};
    struct mapping mapping = {"\"software\"", "only one of them can hold: join the two lists",
                              list_names,     ARRAY_LENGTH(list_names),
                              keys,           values,
                              false};
    if (mapping_read(load, software, &mapping, e) < 0)
        return -1;
    reader->has_errors = reader->has_errors || mapping.has_errors;
    for (size_t i = 0; i < ARRAY_LENGTH(list_names); i++)
        if (keys[i] != NULL && team_lists_read(reader, (enum team_list)i, values[i], lists[i], e) < 0)
            return -1;
    return 0;
}

static int check_organisation_key(struct load *load, const struct yaml_pair *pair, struct err *e)
{
    static const char *const ours[] = {"software"};
    const struct yaml_node *key = pair->key;
    if (key->kind != YAML_SCALAR)
        return 0;
    if (strcmp(key->text, ours[0]) != 0)
        return text_nearest(key->text, ours, ARRAY_LENGTH(ours)) == NULL
                   ? 0
                   : diagnose_at(load, RULE_ORGANISATION_FILE, key, NULL, e,
                                 "unknown key \"%s\": did you mean \"software\"?", key->text);
    if (yaml_is_null(pair->value))
        return 0;
    return diagnose_at(load, RULE_ORGANISATION_SOFTWARE, pair->value,
                       "write the software into a team's file (no-team.yml for computers without one)", e,
                       "\"software\" in the organisation's file must be empty");
}

int team_file_check_organisation(struct load *load, const struct yaml_node *root, struct err *e)
{
    if (yaml_is_null(root))
        return 0;
    if (root->kind != YAML_MAPPING)
        return diagnose_at(load, RULE_ORGANISATION_FILE, root, NULL, e,
                           "the organisation's file must be a mapping, not %s", yaml_kind_text(root));
    for (size_t i = 0; i < root->count; i++)
        if (check_organisation_key(load, &root->pairs[i], e) < 0)
            return -1;
    return 0;
}

static int read_top_level(struct team_reader *reader, const struct yaml_node *root, struct err *e)
{
    const struct yaml_node *software = NULL;
    const struct yaml_node *controls = NULL;
    for (size_t i = 0; i < root->count; i++) {
        const struct yaml_pair *pair = &root->pairs[i];
        bool is_software = pair->key->kind == YAML_SCALAR && strcmp(pair->key->text, "software") == 0;
        bool is_controls = pair->key->kind == YAML_SCALAR && strcmp(pair->key->text, "controls") == 0;
        if (check_top_key(reader, pair, e) < 0)
            return -1;
        if (is_software && software != NULL) {
            reader->has_errors = true;
            if (diagnose_twice(reader->load, pair->key, software, "only one of them can hold: join the two",
                               e) < 0)
                return -1;
        } else if (is_software) {
            software = pair->key;
            if (read_software(reader, pair->value, e) < 0)
                return -1;
        }
        if (is_controls && controls != NULL &&
            diagnose_at(reader->load, RULE_REPEATED_CONTROLS, pair->key, "join the two blocks", e,
                        "\"controls\" stands there twice: in line %d too; the last one counts",
                        controls->line) < 0)
            return -1;
        controls = is_controls ? pair->key : controls;
        reader->controls = is_controls ? pair->value : reader->controls;
    }
    return team_lists_read_setup(reader, e);
}

int team_file_read(struct load *load, struct team_source *source, struct desired_team *out, struct err *e)
{
    *out = (struct desired_team){
        .name = source->name, .place = source->name_place, .is_no_team = source->is_no_team};
    struct team_reader reader = {.load = load, .team = out};
    load->referrer = source->file.path;
    if (load->claims == NULL)
        load->claims = arena_alloc(load->arena, sizeof *load->claims, e);
    if (load->claims == NULL)
        return -1;
    for (size_t i = 0; i < CLAIM_COUNT; i++)
        map_clear(&load->claims->holders[i]);
    if (source->root != NULL && read_top_level(&reader, source->root, e) < 0)
        return -1;
    out->is_invalid = source->is_invalid || reader.has_errors;
    return 0;
}
