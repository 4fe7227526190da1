/* Item by item: each changed item by its own call, so that each gets its own answer and none stops another.
 * Adding and editing come first, removing last. */
#include "base/text.h"
#include "deliver/work.h"
#include <ctype.h>
#include <string.h>

/* The titles that the team's other items stand for. */
static int other_titles(const struct team_delivery *team, const struct item_delivery *but, int64_t **out,
                        size_t *count, struct err *e)
{
    int64_t *ids = arena_alloc_array(team->run->arena, team->item_count, sizeof *ids, e);
    if (ids == NULL)
        return -1;
    *count = 0;
    for (size_t i = 0; i < team->item_count; i++)
        if (&team->items[i] != but && team->items[i].title_id != 0 && team->items[i].plan->wish != NULL)
            ids[(*count)++] = team->items[i].title_id;
    *out = ids;
    return 0;
}

/* What goes with new bytes: what differs, and the scripts that are left out, for the old package's defaults
 * would stay behind. Without a look at the details: everything. */
static unsigned fields_with_bytes(const struct plan_item *item)
{
    const struct software_item *wish = item->wish;
    unsigned fields = item->title != NULL && item->title->has_details ? item->changed_fields
                                                                      : ~(unsigned)FIELD_DISPLAY_NAME;
    if (wish->kind == SOFTWARE_SCRIPT_PACKAGE)
        return fields & ~(unsigned)(FIELD_INSTALL_SCRIPT | FIELD_UNINSTALL_SCRIPT |
                                    FIELD_POST_INSTALL_SCRIPT | FIELD_PRE_INSTALL_QUERY);
    return fields | (wish->install_script.path == NULL ? FIELD_INSTALL_SCRIPT : 0u) |
           (wish->uninstall_script.path == NULL ? FIELD_UNINSTALL_SCRIPT : 0u) |
           (wish->display_name != NULL ? FIELD_DISPLAY_NAME : 0u);
}

/* "alpha_1.0_amd64.deb" and "alpha_1.10_amd64.deb" are alike: the same but for digits and what joins them. */
static bool names_are_alike(const char *a, const char *b)
{
    static const char varying[] = "0123456789.-_+~";
    while (*a != '\0' || *b != '\0') {
        a += strspn(a, varying);
        b += strspn(b, varying);
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
        a += *a != '\0';
        b += *b != '\0';
    }
    return true;
}

/* The one title that nobody else stands for and whose file's name is like this one; 0 if there is none, or
 * several. */
static int64_t likely_title(const struct team_delivery *team, const struct upload_titles *titles,
                            const char *file_name)
{
    int64_t found = 0;
    for (size_t i = 0; i < team->now->title_count; i++) {
        const struct observed_title *title = &team->now->titles[i];
        bool is_taken = title->kind != SOFTWARE_PACKAGE || title->file_name == NULL;
        for (size_t k = 0; k < titles->other_count && !is_taken; k++)
            is_taken = titles->others[k] == title->title_id;
        if (is_taken || !names_are_alike(title->file_name, file_name))
            continue;
        if (found != 0)
            return 0;
        found = title->title_id;
    }
    return found;
}

static int upload_new(struct team_delivery *team, struct item_delivery *item, const struct upload_file *file,
                      const struct package_fields *fields, struct err *e)
{
    struct upload_result uploaded = {.title_id = 0};
    int64_t *others = NULL;
    struct upload_titles titles = {.likely = 0};
    if (other_titles(team, item, &others, &titles.other_count, e) < 0)
        return -1;
    titles.others = others;
    const struct observed_title *planned = item->plan->likely_title;
    titles.likely = planned != NULL ? planned->title_id : likely_title(team, &titles, file->file_name);
    if (fleet_upload_package(team->run->options->fleet, team->team_id, file, fields, &titles, &uploaded, e) <
        0)
        return -1;
    item->title_id = uploaded.title_id;
    return 0;
}

static int upload(struct team_delivery *team, struct item_delivery *item, const struct local_bytes *bytes,
                  struct err *e)
{
    struct delivery *run = team->run;
    struct fleet *fleet = run->options->fleet;
    const struct upload_file file = {bytes->path, bytes->file_name, bytes->sha256, bytes->size_bytes};
    char size[TEXT_SIZE_BYTES];
    log_info(run->options->log, "upload", "%s: uploading %s (%s)", team->plan->desired->name,
             bytes->file_name, text_size(bytes->size_bytes, size));
    uint64_t sent_before = fleet_uploaded_bytes(fleet);
    unsigned defaults = 0;
    int result;
    if (item->plan->action == PLAN_UPDATE) {
        struct package_fields fields = fields_changed(item->plan, fields_with_bytes(item->plan), &defaults);
        result = fleet_edit_package(fleet, team->team_id, item->title_id, &file, &fields, e);
    } else {
        struct package_fields fields = fields_wished(item->plan, &defaults);
        result = upload_new(team, item, &file, &fields, e);
    }
    item->outcome->uploaded_bytes += fleet_uploaded_bytes(fleet) - sent_before;
    if (result == 0)
        item->defaults |= defaults;
    return result;
}

/* 413 and "not a package" are about the bytes, whichever team they are for. */
static int note_refusal(struct team_delivery *team, const struct item_delivery *item, const struct err *cause,
                        struct err *e)
{
    bool is_about_bytes = cause->class == ERR_SERVER && (strstr(cause->text, "(413") != NULL ||
                                                         strstr(cause->text, "File type not supported"));
    return is_about_bytes ? bytes_note_refusal(team->run, item->plan->sha256, cause->text, e) : 0;
}

static int send_bytes(struct team_delivery *team, struct item_delivery *item, struct err *e)
{
    struct local_bytes bytes;
    const char *refusal = bytes_refusal(team->run, item->plan->sha256);
    if (refusal != NULL)
        return err_set(e, ERR_SERVER, "%s", refusal);
    if (bytes_ensure_local(team->run, item->plan, &bytes, e) < 0)
        return -1;
    return upload(team, item, &bytes, e);
}

/* Fields that a PATCH takes. Set-up flags have a call of their own. */
static const unsigned patched_fields =
    FIELD_INSTALL_SCRIPT | FIELD_UNINSTALL_SCRIPT | FIELD_POST_INSTALL_SCRIPT | FIELD_PRE_INSTALL_QUERY |
    FIELD_SELF_SERVICE | FIELD_LABELS | FIELD_CATEGORIES | FIELD_DISPLAY_NAME;

static int send_item(struct team_delivery *team, struct item_delivery *item, struct err *e)
{
    const struct plan_item *plan = item->plan;
    if (plan->action == PLAN_CREATE || (plan->changed_fields & FIELD_BYTES))
        return send_bytes(team, item, e);
    unsigned changed = plan->changed_fields & patched_fields;
    if (changed == 0) /* a PATCH that changes nothing would cancel pending installs */
        return 0;
    unsigned defaults = 0;
    struct package_fields fields = fields_changed(plan, changed, &defaults);
    if (fleet_edit_package(team->run->options->fleet, team->team_id, item->title_id, NULL, &fields, e) < 0)
        return -1;
    item->defaults |= defaults;
    return 0;
}

int commit_item(struct team_delivery *team, struct item_delivery *item, struct err *e)
{
    struct delivery *run = team->run;
    bool failed = false;
    const char *stop = delivery_stop_reason(run);
    if (stop != NULL)
        return item_failed_because(team, item, stop, "run again: what is done stays done", e);
    if (secrets_prepare(team, item, &failed, e) < 0)
        return -1;
    if (failed)
        return 0;
    struct err trouble;
    err_init(&trouble);
    if (send_item(team, item, &trouble) == 0) {
        item->stage = STAGE_SENT;
        return 0;
    }
    if (trouble.class == ERR_INTERRUPTED || delivery_is_fatal(run, &trouble)) {
        /* It may have been carried out: the read-back will tell where there is one. */
        return err_set(e, trouble.class, "%s", trouble.text);
    }
    if (note_refusal(team, item, &trouble, e) < 0)
        return -1;
    return item_failed(team, item, &trouble, e);
}

int commit_items(struct team_delivery *team, struct err *e)
{
    for (size_t i = 0; i < team->item_count; i++) {
        struct item_delivery *item = &team->items[i];
        if (item->stage == STAGE_PENDING && item->plan->action != PLAN_REMOVE &&
            commit_item(team, item, e) < 0)
            return -1;
    }
    if (commit_setup_flags(team, e) < 0 || removals_check(team, e) < 0)
        return -1;
    return removals_commit(team, e);
}
