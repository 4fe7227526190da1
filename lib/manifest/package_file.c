/* A package file (one mapping or a list of them) is read once, whichever teams use it; each team lays its own
 * flags over it. */
#include "base/text.h"
#include "manifest/schema.h"
#include <stdio.h>
#include <string.h>

static int read_entry(struct load *load, const struct yaml_node *node, const struct package_file *file,
                      struct claims *claims, struct entry *entry, struct err *e)
{
    load->entry = yaml_use_place(node);
    if (schema_read_entry(load, node, IN_PACKAGE_FILE, entry, e) < 0 || check_package(load, entry, e) < 0 ||
        claims_add(load, claims, &entry->item, node, &entry->has_errors, e) < 0)
        return -1;
    entry->item.package_file = file->path;
    const struct yaml_node *setup = entry->keys[KEY_SETUP_EXPERIENCE];
    if (setup == NULL || file->count == 1)
        return 0;
    entry->has_errors = true;
    return diagnose_at(load, RULE_MISPLACED_KEY, setup, "write it beside \"path\" in the team's file", e,
                       "\"setup_experience\" can't stand in a file with several packages");
}

static int read_entries(struct load *load, const struct yaml_node *root, struct package_file *file,
                        struct err *e)
{
    bool is_list = root->kind == YAML_SEQUENCE;
    struct claims claims = {{{.count = 0}}};
    file->count = is_list ? root->count : 1;
    file->entries = arena_alloc_array(load->arena, file->count, sizeof *file->entries, e);
    if (file->entries == NULL)
        return -1;
    for (size_t i = 0; i < file->count; i++) {
        struct entry *entry = &file->entries[i];
        if (read_entry(load, is_list ? root->items[i] : root, file, &claims, entry, e) < 0)
            return -1;
        file->has_errors = file->has_errors || entry->has_errors;
    }
    return 0;
}

static int parse(struct load *load, struct yaml_file *text, struct package_file *file, struct err *e)
{
    const struct yaml_node *root = NULL;
    struct err problem = {.class = ERR_NONE};
    const struct place place = {.file = file->path};
    if (yaml_parse(text, load->arena, &root, &problem) < 0) {
        file->has_errors = true;
        return diagnose_problem(load, text, &problem, e);
    }
    if (root == NULL || (root->kind == YAML_SEQUENCE && root->count == 0)) {
        file->has_errors = true;
        return diagnose(load, RULE_UNUSABLE_FILE, text, place, NULL, e, "the package file is empty");
    }
    if (yaml_get(root, "software") != NULL) {
        file->has_errors = true;
        return diagnose_at(
            load, RULE_UNUSABLE_FILE, root, "a package file holds one package, or a list of them", e,
            "this file has \"software\", as a team's file has, and is named as a package file");
    }
    return read_entries(load, root, file, e);
}

/* Whoever refers to the file refers to what it refers to. */
static int record(struct load *load, const struct package_file *file, struct err *e)
{
    if (selection_record(load, file->path, e) < 0)
        return -1;
    return selection_record_all(load, &file->files, e);
}

/* `at` names the file. */
static int take(struct load *load, const struct package_file *file, const struct yaml_node *at, struct err *e)
{
    if (record(load, file, e) < 0)
        return -1;
    return file->has_findings ? trail_add(load, file->path, yaml_place(at), e) : 0;
}

int package_file_get(struct load *load, const char *path, const struct yaml_node *at,
                     const struct package_file **out, struct err *e)
{
    struct map_slot *slot = map_slot(&load->packages, load->arena, path, e);
    if (slot == NULL)
        return -1;
    *out = slot->value;
    if (*out != NULL)
        return take(load, *out, at, e);
    struct yaml_file *text = arena_alloc(load->arena, sizeof *text, e);
    struct package_file *file = arena_alloc(load->arena, sizeof *file, e);
    if (text == NULL || file == NULL)
        return -1;
    file->path = path;
    struct file_problem problem;
    if (reference_read(load, path, text, &problem, e) < 0)
        return -1;
    file->problem = problem.text;
    file->is_missing = problem.is_missing;
    struct file_list *outer = load->files;
    const struct place outer_entry = load->entry;
    size_t met = load->met_count;
    load->files = outer == NULL ? NULL : &file->files;
    if (file->problem == NULL && parse(load, text, file, e) < 0)
        return -1;
    load->files = outer;
    load->entry = outer_entry;
    file->has_findings = load->met_count > met;
    slot->value = file;
    *out = file;
    return take(load, file, at, e);
}

static int both_places(struct load *load, const struct yaml_node *team, const struct yaml_node *package,
                       bool *has_errors, struct err *e)
{
    *has_errors = true;
    return diagnose_at(load, RULE_CONFLICTING_KEYS, team, "keep one of the two", e,
                       "\"%s\" is set here and in %s:%d", team->text, package->file->path, package->line);
}

/* Labels of either mode, if there are any. */
static const struct yaml_node *label_key(const struct entry *entry)
{
    for (int key = KEY_LABELS_INCLUDE_ANY; key <= KEY_LABELS_INCLUDE_ALL; key++)
        if (schema_has_labels(entry, (enum entry_key)key))
            return entry->keys[key];
    return NULL;
}

static int overlay_labels(struct load *load, const struct entry *team, const struct package_file *file,
                          const struct entry *package, struct software_item *out, bool *has_errors,
                          struct err *e)
{
    const struct yaml_node *key = label_key(team);
    if (key == NULL)
        return 0;
    if (file->count > 1) {
        *has_errors = true;
        if (package != file->entries)
            return 0; /* told at the first package */
        return diagnose_at(load, RULE_MISPLACED_KEY, key,
                           "write the labels into the package file, or split it", e,
                           "\"%s\" can't stand beside a file with several packages (%s has %zu)", key->text,
                           file->path, file->count);
    }
    const struct yaml_node *packages_own = label_key(package);
    if (packages_own != NULL)
        return both_places(load, key, packages_own, has_errors, e);
    out->labels = team->item.labels;
    out->label_mode = team->item.label_mode;
    return 0;
}

static int overlay_self_service(struct load *load, const struct entry *team, const struct entry *package,
                                struct software_item *out, bool *has_errors, struct err *e)
{
    const struct yaml_node *key = team->keys[KEY_SELF_SERVICE];
    if (key == NULL)
        return 0;
    if (package->item.self_service && team->item.self_service)
        return both_places(load, key, package->keys[KEY_SELF_SERVICE], has_errors, e);
    out->self_service = team->item.self_service;
    if (!package->item.self_service)
        return 0;
    return diagnose_at(load, RULE_OVERRIDDEN, key, NULL, e,
                       "\"self_service: false\" here wins over the true of %s:%d",
                       package->keys[KEY_SELF_SERVICE]->file->path, package->keys[KEY_SELF_SERVICE]->line);
}

int package_file_overlay(struct load *load, const struct entry *team, const struct package_file *file,
                         const struct entry *package, struct software_item *out, bool *has_errors,
                         struct err *e)
{
    *out = package->item;
    out->kind = SOFTWARE_PACKAGE;
    out->place = team->item.place;
    if (overlay_labels(load, team, file, package, out, has_errors, e) < 0 ||
        overlay_self_service(load, team, package, out, has_errors, e) < 0)
        return -1;
    if (team->keys[KEY_CATEGORIES] != NULL) {
        if (package->keys[KEY_CATEGORIES] != NULL &&
            both_places(load, team->keys[KEY_CATEGORIES], package->keys[KEY_CATEGORIES], has_errors, e) < 0)
            return -1;
        out->categories = team->item.categories;
    }
    if (team->keys[KEY_SETUP_EXPERIENCE] != NULL)
        out->setup_experience = team->item.setup_experience;
    if (team->keys[KEY_SETUP_EXPERIENCE_PLATFORM] != NULL)
        out->setup_experience_platforms = team->item.setup_experience_platforms;
    if (team->keys[KEY_CONFIGURATION] != NULL) {
        out->configuration = team->item.configuration;
        if (check_configuration(load, out, team->keys[KEY_CONFIGURATION], has_errors, e) < 0)
            return -1;
    }
    if (team->item.display_name != NULL)
        out->display_name = team->item.display_name;
    return 0;
}
