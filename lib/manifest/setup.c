/* The set-up experience that `controls` declares: its entries name software of the team, whose items get the
 * mark. The rest of `controls` is left to others. */
#include "base/text.h"
#include "manifest/schema.h"
#include "manifest/team_lists.h"
#include <string.h>

/* What one entry means, and what was found for it. */
struct wanted {
    const struct yaml_node *node; /* the path or the id, for messages */
    const char *path;
    const char *app_store_id;
    const char *platform; /* NULL: not said */
    size_t found;
    const struct software_item *refusing; /* it says `setup_experience: false` itself */
};

static bool is_wanted(const struct wanted *wanted, const struct software_item *item)
{
    if (wanted->path != NULL)
        return text_equal(item->package_file, wanted->path) || text_equal(item->script.path, wanted->path);
    return wanted->app_store_id != NULL && text_equal(item->app_store_id, wanted->app_store_id) &&
           (wanted->platform == NULL || text_equal(item->platform, wanted->platform));
}

static void mark(struct software_list *list, struct wanted *wanted)
{
    for (size_t i = 0; i < list->count; i++) {
        struct software_item *item = &list->items[i];
        if (!is_wanted(wanted, item))
            continue;
        wanted->found++;
        if (item->setup_experience == TRISTATE_FALSE)
            wanted->refusing = item;
        else
            item->setup_experience = TRISTATE_TRUE;
    }
}

static int tell(struct team_reader *reader, const struct wanted *wanted, struct err *e)
{
    char shown[SHOWN_BYTES];
    if (wanted->refusing != NULL) {
        reader->has_errors = true;
        return diagnose_error(
            reader->load, wanted->node, "keep one of the two", e,
            "the set-up software \"%s\" has \"setup_experience: false\" in the entry of line %d",
            diagnose_value(wanted->node, shown), wanted->refusing->place.line);
    }
    if (wanted->found == 0)
        return diagnose_warning(
            reader->load, wanted->node, "add it to the team's software, or remove it here", e,
            "the set-up software \"%s\" is not in the team's software", diagnose_value(wanted->node, shown));
    if (wanted->found > 1 && wanted->path != NULL)
        return diagnose_warning(
            reader->load, wanted->node, "a file of its own for each package says which one is meant", e,
            "the set-up software \"%s\" is a file with %zu packages: all of them are marked",
            diagnose_value(wanted->node, shown), wanted->found);
    return 0;
}

/* NULL where it is not set; *is_bad where a diagnostic was written. */
static int read_scalar(struct team_reader *reader, const struct yaml_node *node, const char **out,
                       struct err *e)
{
    *out = NULL;
    if (yaml_is_null(node) || node->kind != YAML_SCALAR)
        return 0; /* a form that is not ours to judge */
    if (variables_expand(reader->load, node, out, e) < 0)
        return -1;
    reader->has_errors = reader->has_errors || *out == NULL;
    return 0;
}

static int read_setup_entry(struct team_reader *reader, const struct yaml_node *entry, struct err *e)
{
    struct load *load = reader->load;
    const struct yaml_node *path = yaml_get(entry, "package_path");
    const char *text = NULL;
    const char *reason = NULL;
    struct wanted wanted = {.node = path != NULL ? path : yaml_get(entry, "app_store_id")};
    if (read_scalar(reader, wanted.node, &text, e) < 0 ||
        read_scalar(reader, yaml_get(entry, "platform"), &wanted.platform, e) < 0)
        return -1;
    if (text == NULL)
        return 0;
    if (path == NULL) {
        wanted.app_store_id = text;
        mark(&reader->team->app_store_apps, &wanted);
        return tell(reader, &wanted, e);
    }
    wanted.path = reference_resolve(load, path->file->path, text, &reason, e);
    if (wanted.path == NULL && reason == NULL)
        return -1;
    if (wanted.path != NULL && selection_record(load, wanted.path, e) < 0)
        return -1;
    if (wanted.path != NULL)
        mark(&reader->team->packages, &wanted);
    return tell(reader, &wanted, e);
}

/* `controls: {path: f}` stands for the mapping in that file. One that can't be read is fleetctl's affair, but
 * what it may say of the set-up is not known then. */
static int open_controls(struct team_reader *reader, const struct yaml_node **controls, struct err *e)
{
    struct load *load = reader->load;
    const struct yaml_node *path = yaml_get(*controls, "path");
    const char *text;
    const char *reason;
    struct file_problem unreadable = {.text = "it is not YAML"};
    struct err problem = {.class = ERR_NONE};
    if (read_scalar(reader, path, &text, e) < 0)
        return -1;
    if (text == NULL)
        return 0;
    const char *resolved = reference_resolve(load, path->file->path, text, &reason, e);
    struct yaml_file *file = arena_alloc(load->arena, sizeof *file, e);
    if (file == NULL || (resolved == NULL && reason == NULL))
        return -1;
    if (resolved != NULL && selection_record(load, resolved, e) < 0)
        return -1;
    if (resolved == NULL)
        unreadable.text = reason;
    else if (reference_read(load, resolved, file, &unreadable, e) < 0)
        return -1;
    *controls = NULL;
    if (unreadable.text == NULL && yaml_parse(file, load->arena, controls, &problem) < 0) {
        if (problem.class != ERR_MANIFEST)
            return err_set(e, problem.class, "%s", problem.text);
        unreadable.text = "it is not YAML";
    }
    if (unreadable.text == NULL)
        return 0;
    return diagnose_warning(load, path, NULL, e, "the set-up software in \"controls\" is not known: %s",
                            unreadable.text);
}

int team_lists_read_setup(struct team_reader *reader, struct err *e)
{
    static const char *const names[] = {"macos_setup", "setup_experience"};
    const struct yaml_node *controls = reader->controls;
    if (open_controls(reader, &controls, e) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        const struct yaml_node *software = yaml_get(yaml_get(controls, names[i]), "software");
        if (software == NULL || software->kind != YAML_SEQUENCE)
            continue;
        for (size_t k = 0; k < software->count; k++)
            if (read_setup_entry(reader, software->items[k], e) < 0)
                return -1;
    }
    return 0;
}
