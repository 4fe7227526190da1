/* Field by field: does the title have what its item wishes? A field that the manifest leaves out means
 * Fleet's default; whether what Fleet has is the default is told by memory and by its known default scripts,
 * else it is assumed. */
#include "base/text.h"
#include "plan/work.h"
#include <string.h>
#include <strings.h>

static const int64_t day_ms = INT64_C(24) * 60 * 60 * 1000;

/* Fleet 4.69's default install scripts for deb, rpm and msi. */
static const char *const default_install_scripts[] = {
    "2e41092d158b20eaddd99cf914dff4915f328841f389d3162e39a7427f85f266",
    "cf0ec516d4cee5704560a16aa90286a7d7d2dc4321df46ea9b53b5051a0b5f48",
    "8959087bbbdc79f0818042336e795e1d366e54609284a0aadf50bf1f935c660d",
};

static bool contains_ignoring_case(const struct string_list *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcasecmp(list->items[i], text) == 0)
            return true;
    return false;
}

static bool is_same_set(const struct string_list *a, const struct string_list *b)
{
    for (size_t i = 0; i < a->count; i++)
        if (!contains_ignoring_case(b, a->items[i]))
            return false;
    for (size_t i = 0; i < b->count; i++)
        if (!contains_ignoring_case(a, b->items[i]))
            return false;
    return true;
}

static bool labels_differ(const struct software_item *wish, const struct observed_title *title)
{
    enum label_mode wished = wish->labels.count == 0 ? LABELS_NONE : wish->label_mode;
    enum label_mode present = title->labels.count == 0 ? LABELS_NONE : title->label_mode;
    return wished != present || (wished != LABELS_NONE && !is_same_set(&wish->labels, &title->labels));
}

static bool knows_a_default(const struct memory *memory, const char *package_sha256,
                            enum software_field field)
{
    for (size_t i = 0; memory != NULL && i < memory->default_count; i++)
        if (memory->defaults[i].field == field &&
            text_equal(memory->defaults[i].package_sha256, package_sha256))
            return true;
    return false;
}

static bool is_known_default_script(const char *text_sha256)
{
    for (size_t i = 0; i < ARRAY_LENGTH(default_install_scripts); i++)
        if (strcmp(default_install_scripts[i], text_sha256) == 0)
            return true;
    return false;
}

/* A script that is left out. It differs for sure where this package's default is known and is another one,
 * and where the last apply left these bytes with a script that was not just assumed to be the default. */
static int diff_default_script(const struct planner *planner, const struct candidate *candidate,
                               enum software_field field, const char *text, struct field_diff *out,
                               struct err *e)
{
    const struct memory *memory = planner->input->memory;
    const struct observed_title *title = candidate->title;
    const struct remembered_item *remembered = candidate->remembered;
    char digest[DIGEST_HEX_BYTES];
    if (text_is_empty(text))
        return 0;
    if (digest_bytes(text, strlen(text), digest, e) < 0)
        return -1;
    if (field == FIELD_INSTALL_SCRIPT && is_known_default_script(digest))
        return 0;
    if (title->sha256 != NULL && memory_is_default(memory, title->sha256, field, digest))
        return 0;
    bool was_set = remembered != NULL && remembered->title_id == title->title_id &&
                   text_equal(remembered->sha256, title->sha256) && !(remembered->assumed_fields & field);
    if (was_set || (title->sha256 != NULL && knows_a_default(memory, title->sha256, field)))
        out->changed |= field;
    else
        out->assumed |= field;
    return 0;
}

static int diff_scripts(const struct planner *planner, const struct candidate *candidate,
                        struct field_diff *out, struct err *e)
{
    const struct software_item *wish = candidate->wish;
    const struct observed_title *title = candidate->title;
    const struct {
        enum software_field field;
        const struct text_file *wished, *present;
        bool has_default; /* the server fills it in where it is left out; otherwise it is empty then */
    } scripts[] = {
        {FIELD_INSTALL_SCRIPT, &wish->install_script, &title->install_script, true},
        {FIELD_UNINSTALL_SCRIPT, &wish->uninstall_script, &title->uninstall_script, true},
        {FIELD_POST_INSTALL_SCRIPT, &wish->post_install_script, &title->post_install_script, false},
        {FIELD_PRE_INSTALL_QUERY, &wish->pre_install_query, &title->pre_install_query, false},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(scripts); i++) {
        const char *wished = scripts[i].wished->path == NULL ? "" : scripts[i].wished->text;
        const char *present = scripts[i].present->text == NULL ? "" : scripts[i].present->text;
        /* A script package's install script is the package itself. */
        if (wish->kind == SOFTWARE_SCRIPT_PACKAGE && text_is_empty(wished))
            continue;
        if (!text_is_empty(wished) || !scripts[i].has_default)
            out->changed |= text_equal(wished == NULL ? "" : wished, present) ? 0u : scripts[i].field;
        else if (diff_default_script(planner, candidate, scripts[i].field, present, out, e) < 0)
            return -1;
    }
    return 0;
}

/* What the details say beside the scripts. */
static void diff_details(const struct software_item *wish, const struct observed_title *title,
                         struct field_diff *out)
{
    if (labels_differ(wish, title))
        out->changed |= FIELD_LABELS;
    if (!is_same_set(&wish->categories, &title->categories))
        out->changed |= FIELD_CATEGORIES;
    const char *name = wish->display_name == NULL ? "" : wish->display_name;
    if (title->display_name != NULL && strcmp(name, title->display_name) != 0)
        out->changed |= FIELD_DISPLAY_NAME;
    else if (title->display_name == NULL && wish->display_name != NULL)
        out->assumed |= FIELD_DISPLAY_NAME;
}

/* What neither list nor details tell: settled only by having been applied as it is wished now. */
static unsigned untold_fields(const struct software_item *wish)
{
    unsigned fields = 0;
    if (wish->icon.path != NULL)
        fields |= FIELD_ICON;
    if (wish->configuration.path != NULL)
        fields |= FIELD_CONFIGURATION;
    return fields;
}

static void diff_list(const struct candidate *candidate, struct field_diff *out)
{
    const struct software_item *wish = candidate->wish;
    const struct observed_title *title = candidate->title;
    if (candidate->sha256 != NULL && !text_equal(candidate->sha256, title->sha256))
        out->changed |= FIELD_BYTES;
    if (wish->self_service != title->self_service)
        out->changed |= FIELD_SELF_SERVICE;
    if (wish->setup_experience == TRISTATE_ABSENT || wish->setup_experience == title->install_during_setup)
        return;
    if (title->install_during_setup != TRISTATE_ABSENT)
        out->changed |= FIELD_SETUP_EXPERIENCE;
    else if (wish->setup_experience == TRISTATE_TRUE)
        out->assumed |= FIELD_SETUP_EXPERIENCE;
}

static int wish_is_remembered(const struct candidate *candidate, bool *out, struct err *e)
{
    char fingerprint[DIGEST_HEX_BYTES];
    *out = false;
    if (candidate->remembered == NULL || candidate->remembered->title_id != candidate->title->title_id)
        return 0;
    if (software_fingerprint(candidate->wish, fingerprint, e) < 0)
        return -1;
    *out = text_equal(candidate->remembered->wish_fingerprint, fingerprint);
    return 0;
}

/* Whether what was compared last still holds, so that the details need not be read again. */
static int details_are_current(const struct planner *planner, const struct candidate *candidate,
                               bool same_wish, bool *out, struct err *e)
{
    const struct plan_options *options = planner->input->options;
    const struct remembered_item *remembered = candidate->remembered;
    char fingerprint[DIGEST_HEX_BYTES];
    *out = false;
    if (!same_wish || options->full || (options->relearn && remembered->assumed_fields != 0))
        return 0;
    int64_t age_ms = options->now_wall_ms - remembered->details_read_wall_ms;
    if (age_ms < 0 || age_ms >= day_ms)
        return 0;
    if (observed_row_fingerprint(candidate->title, fingerprint, e) < 0)
        return -1;
    *out = text_equal(remembered->row_fingerprint, fingerprint);
    return 0;
}

int diff_package(const struct planner *planner, const struct candidate *candidate, struct field_diff *out,
                 struct err *e)
{
    struct field_diff diff = {0};
    bool same_wish = false;
    bool current = false;
    if (wish_is_remembered(candidate, &same_wish, e) < 0)
        return -1;
    diff_list(candidate, &diff);
    if (candidate->title->has_details) {
        if (diff_scripts(planner, candidate, &diff, e) < 0)
            return -1;
        diff_details(candidate->wish, candidate->title, &diff);
    } else if (details_are_current(planner, candidate, same_wish, &current, e) < 0) {
        return -1;
    }
    diff.wants_details = !candidate->title->has_details && !current;
    if (current)
        diff.assumed |= candidate->remembered->assumed_fields;
    if (!same_wish)
        diff.assumed |= untold_fields(candidate->wish);
    if (planner->input->options->relearn) {
        diff.changed |= diff.assumed;
        diff.assumed = 0;
    }
    if (same_wish) /* the server did not keep these last time: they are not sent again and again */
        diff.changed &= ~(candidate->remembered->ignored_fields & ~(unsigned)FIELD_BYTES);
    diff.assumed &= ~diff.changed;
    *out = diff;
    return 0;
}
