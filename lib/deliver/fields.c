/* A declared item, or a title that stays, as the API takes it, and the comparison of what was wished with
 * what is there. The manifest's "left out" is Fleet's default: in a batch and an upload by leaving it out, in
 * an edit by an empty script. */
#include "base/text.h"
#include "deliver/work.h"
#include <string.h>
#include <strings.h>

/* NULL where the file leaves it out; Fleet's default then. */
static const char *wished_text(const struct text_file *file)
{
    return file->path == NULL || text_is_empty(file->text) ? NULL : file->text;
}

static const char *observed_text(const struct text_file *file)
{
    return text_is_empty(file->text) ? NULL : file->text;
}

/* The four texts of a package, in one order. */
struct text_field {
    enum software_field field;
    size_t wish_offset, title_offset, out_offset;
    bool has_default; /* the server makes one up where it is left out */
};

#define TEXT_FIELD(field_, member, has_default_)                                                             \
    {                                                                                                        \
        (field_), offsetof(struct software_item, member), offsetof(struct observed_title, member),           \
            offsetof(struct package_fields, member), (has_default_)                                          \
    }

static const struct text_field text_fields[] = {
    TEXT_FIELD(FIELD_INSTALL_SCRIPT, install_script, true),
    TEXT_FIELD(FIELD_UNINSTALL_SCRIPT, uninstall_script, true),
    TEXT_FIELD(FIELD_POST_INSTALL_SCRIPT, post_install_script, false),
    TEXT_FIELD(FIELD_PRE_INSTALL_QUERY, pre_install_query, false),
};

static const struct text_file *of_wish(const struct software_item *wish, const struct text_field *field)
{
    return (const struct text_file *)((const char *)wish + field->wish_offset);
}

static const struct text_file *of_title(const struct observed_title *title, const struct text_field *field)
{
    return (const struct text_file *)((const char *)title + field->title_offset);
}

static const char **of_fields(struct package_fields *fields, const struct text_field *field)
{
    return (const char **)((char *)fields + field->out_offset);
}

static enum label_mode wished_labels(const struct software_item *wish)
{
    return wish->labels.count == 0 ? LABELS_NONE : wish->label_mode;
}

struct package_fields fields_wished(const struct plan_item *item, unsigned *defaults)
{
    const struct software_item *wish = item->wish;
    struct package_fields fields = {
        .sha256 = item->sha256,
        .self_service = wish->self_service ? TRISTATE_TRUE : TRISTATE_FALSE,
        .send_labels = true,
        .label_mode = wished_labels(wish),
        .labels = wish->labels,
        .categories = {.is_set = true, .count = wish->categories.count, .items = wish->categories.items},
        .display_name = wish->display_name,
        .install_during_setup = wish->setup_experience,
    };
    for (size_t i = 0; i < ARRAY_LENGTH(text_fields); i++) {
        const char *text = wished_text(of_wish(wish, &text_fields[i]));
        *of_fields(&fields, &text_fields[i]) = text;
        if (text == NULL && text_fields[i].has_default && wish->kind == SOFTWARE_PACKAGE)
            *defaults |= text_fields[i].field;
    }
    return fields;
}

struct package_fields fields_changed(const struct plan_item *item, unsigned changed, unsigned *defaults)
{
    const struct software_item *wish = item->wish;
    struct package_fields fields = {.sha256 = NULL};
    for (size_t i = 0; i < ARRAY_LENGTH(text_fields); i++) {
        if (!(changed & text_fields[i].field))
            continue;
        const char *text = wished_text(of_wish(wish, &text_fields[i]));
        *of_fields(&fields, &text_fields[i]) = text == NULL ? "" : text;
        if (text == NULL && text_fields[i].has_default && wish->kind == SOFTWARE_PACKAGE)
            *defaults |= text_fields[i].field;
    }
    if (changed & FIELD_SELF_SERVICE)
        fields.self_service = wish->self_service ? TRISTATE_TRUE : TRISTATE_FALSE;
    if (changed & FIELD_LABELS) {
        fields.send_labels = true;
        fields.label_mode = wished_labels(wish);
        fields.labels = wish->labels;
    }
    if (changed & FIELD_CATEGORIES)
        fields.categories = (struct string_list){true, wish->categories.count, wish->categories.items};
    if (changed & FIELD_DISPLAY_NAME)
        fields.display_name = wish->display_name == NULL ? "" : wish->display_name;
    return fields;
}

struct package_fields fields_carried_over(const struct observed_title *title)
{
    struct package_fields fields = {
        .sha256 = title->sha256,
        /* The team holds these bytes under this url, so that nothing is downloaded; a policy may refer to it.
         */
        .url = text_is_empty(title->url) ? NULL : title->url,
        .self_service = title->self_service ? TRISTATE_TRUE : TRISTATE_FALSE,
        .send_labels = true,
        .label_mode = title->label_mode,
        .labels = title->labels,
        .categories = title->categories,
        .display_name = text_is_empty(title->display_name) ? NULL : title->display_name,
    };
    /* A script package is its own install script. */
    for (size_t i = 0; i < ARRAY_LENGTH(text_fields) && title->kind == SOFTWARE_PACKAGE; i++)
        *of_fields(&fields, &text_fields[i]) = observed_text(of_title(title, &text_fields[i]));
    return fields;
}

struct package_fields fields_for_batch(const struct plan_item *item, const struct observed_title *title,
                                       unsigned *defaults)
{
    if (title == NULL || !text_equal(title->sha256, item->sha256))
        return fields_wished(item, defaults);
    unsigned changed = item->changed_fields;
    unsigned reset = 0;
    struct package_fields wished = fields_wished(item, &reset);
    struct package_fields fields = fields_carried_over(title);
    for (size_t i = 0; i < ARRAY_LENGTH(text_fields); i++)
        if (changed & text_fields[i].field)
            *of_fields(&fields, &text_fields[i]) = *of_fields(&wished, &text_fields[i]);
    if (changed & FIELD_SELF_SERVICE)
        fields.self_service = wished.self_service;
    if (changed & FIELD_LABELS) {
        fields.label_mode = wished.label_mode;
        fields.labels = wished.labels;
    }
    if (changed & FIELD_CATEGORIES)
        fields.categories = wished.categories;
    if (changed & FIELD_DISPLAY_NAME)
        fields.display_name = wished.display_name;
    fields.install_during_setup = wished.install_during_setup;
    *defaults |= reset & changed;
    return fields;
}

static bool contains(const struct string_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcasecmp(list->items[i], name) == 0)
            return true;
    return false;
}

static bool same_set(const struct string_list *a, const struct string_list *b)
{
    for (size_t i = 0; i < a->count; i++)
        if (!contains(b, a->items[i]))
            return false;
    for (size_t i = 0; i < b->count; i++)
        if (!contains(a, b->items[i]))
            return false;
    return true;
}

unsigned fields_differing(const struct software_item *wish, const struct observed_title *title)
{
    unsigned differing = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(text_fields) && wish->kind == SOFTWARE_PACKAGE; i++) {
        const char *text = wished_text(of_wish(wish, &text_fields[i]));
        if (text == NULL && text_fields[i].has_default)
            continue;
        if (!text_equal(text == NULL ? "" : text, of_title(title, &text_fields[i])->text))
            differing |= text_fields[i].field;
    }
    enum label_mode mode = wished_labels(wish);
    if (mode != title->label_mode || (mode != LABELS_NONE && !same_set(&wish->labels, &title->labels)))
        differing |= FIELD_LABELS;
    if (!same_set(&wish->categories, &title->categories))
        differing |= FIELD_CATEGORIES;
    if (wish->self_service != title->self_service)
        differing |= FIELD_SELF_SERVICE;
    if (!text_equal(wish->display_name == NULL ? "" : wish->display_name,
                    title->display_name == NULL ? "" : title->display_name))
        differing |= FIELD_DISPLAY_NAME;
    bool in_setup = title->install_during_setup == TRISTATE_TRUE;
    if (wish->setup_experience != TRISTATE_ABSENT && in_setup != (wish->setup_experience == TRISTATE_TRUE))
        differing |= FIELD_SETUP_EXPERIENCE;
    return differing;
}

unsigned fields_undeliverable(const struct software_item *wish)
{
    return (wish->icon.path != NULL ? FIELD_ICON : 0u) |
           (wish->configuration.path != NULL ? FIELD_CONFIGURATION : 0u);
}

bool fields_use_secrets(const struct software_item *wish)
{
    for (size_t i = 0; i < ARRAY_LENGTH(text_fields); i++) {
        const char *text = wished_text(of_wish(wish, &text_fields[i]));
        if (text != NULL &&
            (strstr(text, "$FLEET_SECRET_") != NULL || strstr(text, "${FLEET_SECRET_") != NULL))
            return true;
    }
    return wish->kind == SOFTWARE_SCRIPT_PACKAGE && wish->script.text != NULL &&
           memmem(wish->script.text, wish->script.length, "FLEET_SECRET_", 13) != NULL;
}
