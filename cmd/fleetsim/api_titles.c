/* Reading a team's titles, their bytes, and taking one away. */
#include "access.h"
#include "base/text.h"
#include "json.h"
#include "parameters.h"
#include "routes.h"
#include "software.h"
#include <string.h>

/* Team, and whether the caller may read there. Without team_id: *given is false, and only global roles pass.
 */
static bool team_to_read(const struct request *request, json_int_t *team_id, bool *given,
                         struct answer *answer)
{
    if (!query_number(request, "team_id", team_id, given, answer))
        return false;
    if (may_read_software(request->sim, &request->caller, *team_id))
        return true;
    refuse(answer, REFUSE_FORBIDDEN, "base", "forbidden");
    return false;
}

/* ?query=: part of the name. */
static json_t *only_named(const json_t *rows, const char *part)
{
    size_t i;
    json_t *row;
    json_t *found = new_array();
    json_array_foreach(rows, i, row)
    {
        if (text_is_empty(part) || strcasestr(text_at(row, "name"), part) != NULL)
            append(found, json_incref(row));
    }
    return found;
}

static json_t *reversed(const json_t *rows)
{
    json_t *order = new_array();
    for (size_t i = json_array_size(rows); i-- > 0;)
        append(order, json_incref(json_array_get(rows, i)));
    return order;
}

void list_titles(struct request *request, struct answer *answer)
{
    struct store *store = &request->sim->store;
    json_int_t team_id;
    bool given;
    json_t *page;
    if (!team_to_read(request, &team_id, &given, answer))
        return;
    /* Without a team the list is of what hosts have, and there are no hosts. */
    CLEANUP(json_cleanup) json_t *all = given ? titles_of_team(store, team_id, NULL, false) : new_array();
    CLEANUP(json_cleanup) json_t *found = only_named(all, request->query(request, "query"));
    CLEANUP(json_cleanup)
    json_t *order =
        text_equal(request->query(request, "order_direction"), "desc") ? reversed(found) : json_incref(found);
    CLEANUP(json_cleanup) json_t *body = new_object();
    if (!take_page(request, order, &page, body, answer))
        return;
    put_number(body, "count", (json_int_t)json_array_size(order));
    put_null(body, "counts_updated_at");
    put(body, "software_titles", page);
    answer_json(answer, 200, TAKE(body));
}

static void no_such_title(json_int_t title_id, struct answer *answer)
{
    refuse(answer, REFUSE_NOT_FOUND, "base", "SoftwareTitle %lld was not found in the datastore",
           (long long)title_id);
}

void get_title(struct request *request, struct answer *answer)
{
    struct store *store = &request->sim->store;
    json_int_t team_id, title_id = request->ids[0];
    bool given;
    if (!team_to_read(request, &team_id, &given, answer))
        return;
    const json_t *title = store_title(store, title_id);
    const json_t *installer = given ? store_installer(store, team_id, title_id) : NULL;
    const json_t *app = given ? store_app(store, team_id, title_id) : NULL;
    bool is_there = given ? installer != NULL || app != NULL : store_title_is_used(store, title_id);
    if (title == NULL || !is_there) {
        no_such_title(title_id, answer);
        return;
    }
    json_t *row = new_object();
    put_number(row, "id", title_id);
    put_text(row, "name", text_at(title, "name"));
    put_text(row, "source", text_at(title, "source"));
    put_number(row, "hosts_count", 0);
    put_number(row, "versions_count", 0);
    put_null(row, "versions");
    put_null(row, "counts_updated_at");
    put(row, "software_package", installer != NULL ? installer_shown(store, installer, true) : json_null());
    put(row, "app_store_app", app != NULL ? app_shown(store, app, true) : json_null());
    if (text_at(title, "bundle_identifier")[0] != '\0')
        put_text(row, "bundle_identifier", text_at(title, "bundle_identifier"));
    json_t *body = new_object();
    put(body, "software_title", row);
    answer_json(answer, 200, body);
}

void get_package_bytes(struct request *request, struct answer *answer)
{
    struct store *store = &request->sim->store;
    json_int_t team_id;
    bool given;
    if (!team_to_read(request, &team_id, &given, answer))
        return;
    if (!text_equal(request->query(request, "alt"), "media")) {
        refuse(answer, REFUSE_BAD_REQUEST, "base", "only alt=media is supported");
        return;
    }
    const json_t *installer = store_installer(store, team_id, request->ids[0]);
    if (installer == NULL) {
        refuse(answer, REFUSE_NOT_FOUND, "base", "SoftwareInstaller was not found in the datastore");
        return;
    }
    answer_nothing(answer, 200, "application/octet-stream");
    answer->file = store_blob_path(store, text_at(installer, "hash_sha256"));
    answer->file_name = copy_text(text_at(installer, "name"));
}

/* What keeps a title in its team: NULL if nothing does. */
static const char *reason_to_stay(struct store *store, json_int_t team_id, json_int_t title_id,
                                  const json_t *item)
{
    CLEANUP(json_cleanup) json_t *policies = store_policies_of(store, team_id, title_id);
    if (json_array_size(policies) > 0)
        return "Couldn't delete. Policy automation uses this software. Please disable policy automation for "
               "this "
               "software and try again.";
    if (flag_at(item, "install_during_setup"))
        return "Couldn't delete. This software is installed when new Macs boot. Please remove software in "
               "Controls "
               "> Setup experience and try again.";
    return NULL;
}

void delete_available_for_install(struct request *request, struct answer *answer)
{
    struct store *store = &request->sim->store;
    json_int_t team_id, title_id = request->ids[0];
    bool given;
    if (!query_number(request, "team_id", &team_id, &given, answer))
        return;
    if (!given) {
        refuse(answer, REFUSE_INVALID, "team_id", "is required");
        return;
    }
    if (!may_write_software(&request->caller, team_id)) {
        refuse(answer, REFUSE_FORBIDDEN, "base", "forbidden");
        return;
    }
    const json_t *installer = store_installer(store, team_id, title_id);
    const json_t *item = installer != NULL ? installer : store_app(store, team_id, title_id);
    if (item == NULL) {
        refuse(answer, REFUSE_NOT_FOUND, "base", "VPPApp was not found in the datastore");
        return;
    }
    const char *reason = reason_to_stay(store, team_id, title_id, item);
    if (reason != NULL) {
        refuse(answer, REFUSE_IN_USE, "base", "%s", reason);
        return;
    }
    store_remove(store, installer != NULL ? "installers" : "apps", item);
    store_save(store);
    answer_nothing(answer, 204, content_type_json);
}
