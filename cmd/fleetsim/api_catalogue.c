/* The calls on Fleet-maintained apps: the catalogue as a team sees it, and adding one of them. */
#include "access.h"
#include "base/text.h"
#include "batch.h"
#include "catalogue.h"
#include "json.h"
#include "parameters.h"
#include "routes.h"

/* The title that a team has from an app; 0 if none. */
static json_int_t title_in_team(struct store *store, json_int_t app_id, json_int_t team_id)
{
    size_t i;
    json_t *row;
    json_array_foreach(store_list(store, "installers"), i, row)
    {
        if (number_at(row, "fleet_maintained_app_id") == app_id && number_at(row, "team_id") == team_id)
            return number_at(row, "title_id");
    }
    return 0;
}

static json_t *app_row(const struct request *request, const json_t *app, json_int_t team_id, bool team_given)
{
    json_int_t title_id = team_given ? title_in_team(&request->sim->store, number_at(app, "id"), team_id) : 0;
    json_t *row = new_object();
    put_number(row, "id", number_at(app, "id"));
    put_text(row, "name", text_at(app, "name"));
    put_text(row, "slug", text_at(app, "slug"));
    put_text(row, "platform", text_at(app, "platform"));
    put(row, "software_title_id", title_id != 0 ? new_number(title_id) : json_null());
    put_null(row, "categories");
    return row;
}

static bool may_read(const struct request *request, json_int_t *team_id, bool *given, struct answer *answer)
{
    if (!query_number(request, "team_id", team_id, given, answer))
        return false;
    if (may_read_software(request->sim, &request->caller, *team_id))
        return true;
    refuse(answer, REFUSE_FORBIDDEN, "base", "forbidden");
    return false;
}

void list_maintained_apps(struct request *request, struct answer *answer)
{
    size_t i;
    json_int_t team_id;
    bool given;
    json_t *app, *page;
    if (!may_read(request, &team_id, &given, answer))
        return;
    if (maintained_apps(request->sim) == NULL) {
        refuse(answer, REFUSE_NO_CATALOGUE, "base",
               "Fleet was unable to ingest the maintained apps list. Run fleetctl trigger "
               "name=maintained_apps to try "
               "repopulating the apps list.");
        return;
    }
    CLEANUP(json_cleanup) json_t *rows = new_array();
    CLEANUP(json_cleanup) json_t *body = new_object();
    json_array_foreach(maintained_apps(request->sim), i, app)
    {
        append(rows, app_row(request, app, team_id, given));
    }
    if (!take_page(request, rows, &page, body, answer))
        return;
    put(body, "fleet_maintained_apps", page);
    answer_json(answer, 200, TAKE(body));
}

static void no_such_app(struct answer *answer)
{
    refuse(answer, REFUSE_NOT_FOUND, "base", "MaintainedApp was not found in the datastore");
}

void get_maintained_app(struct request *request, struct answer *answer)
{
    static const char *const copied[] = {"version", "url", "install_script", "uninstall_script"};
    json_int_t team_id;
    bool given;
    if (!may_read(request, &team_id, &given, answer))
        return;
    const json_t *app = maintained_by_id(request->sim, request->ids[0]);
    if (app == NULL) {
        no_such_app(answer);
        return;
    }
    json_t *row = app_row(request, app, team_id, given);
    for (size_t i = 0; i < ARRAY_LENGTH(copied); i++)
        put_text(row, copied[i], text_at(app, copied[i]));
    if (list_at(app, "categories") != NULL)
        put(row, "categories", copy_of(list_at(app, "categories")));
    json_t *body = new_object();
    put(body, "fleet_maintained_app", row);
    answer_json(answer, 200, body);
}

/* The wish of the call as a batch's item, so that both ways resolve an app alike. NULL: refused. */
static json_t *item_of_call(const struct request *request, const json_t *app, struct answer *answer)
{
    json_t *include = NULL, *exclude = NULL;
    if (!labels_by_name(request, list_at(request->json, "labels_include_any"),
                        list_at(request->json, "labels_exclude_any"), &include, &exclude, answer))
        return NULL;
    json_t *item = copy_of(request->json);
    put_text(item, "slug", text_at(app, "slug"));
    put(item, "label_ids_include", include);
    put(item, "label_ids_exclude", exclude);
    return item;
}

/* What can be said before the download. NULL: refused. */
static json_t *check_call(const struct request *request, json_int_t team_id, struct answer *answer)
{
    const json_t *app = maintained_by_id(request->sim, number_at(request->json, "fleet_maintained_app_id"));
    if (!may_write_software(&request->caller, team_id)) {
        refuse(answer, REFUSE_FORBIDDEN, "base", "forbidden");
        return NULL;
    }
    if (app == NULL) {
        no_such_app(answer);
        return NULL;
    }
    if (team_id != 0 && store_team(&request->sim->store, team_id) == NULL) {
        refuse(answer, REFUSE_NOT_FOUND, "base", "Team %lld was not found in the datastore",
               (long long)team_id);
        return NULL;
    }
    if (title_in_team(&request->sim->store, number_at(app, "id"), team_id) != 0) {
        refuse(answer, REFUSE_EXISTS, "base", "SoftwareInstaller \"%s\" already exists",
               text_at(app, "name"));
        return NULL;
    }
    return item_of_call(request, app, answer);
}

/* The download lies between two locked parts: other requests go on meanwhile. */
void add_maintained_app(struct request *request, struct answer *answer)
{
    struct sim *sim = request->sim;
    struct err e;
    err_init(&e);
    CLEANUP(resolved_done) struct resolved resolved = {.setup = -1};
    json_int_t team_id = number_at(request->json, "team_id");
    store_lock(&sim->store);
    CLEANUP(json_cleanup) json_t *item = check_call(request, team_id, answer);
    store_unlock(&sim->store);
    if (item == NULL)
        return;
    if (batch_resolve(sim, &request->caller, item, &resolved, &e) < 0) {
        refuse(answer, REFUSE_INTERNAL, "base", "%s", e.text);
        return;
    }
    store_lock(&sim->store);
    if (batch_keep_bytes(sim, &resolved, &e) < 0) {
        refuse(answer, REFUSE_INTERNAL, "base", "%s", e.text);
    } else {
        const json_t *row = installer_set(&sim->store, team_id, &resolved.package, resolved.wish);
        json_t *body = new_object();
        put_number(body, "software_title_id", number_at(row, "title_id"));
        answer_json(answer, 200, body);
        store_save(&sim->store);
    }
    store_unlock(&sim->store);
}
