/* The calls on App Store apps. One id of the store may be several titles, one for each platform. */
#include "access.h"
#include "base/text.h"
#include "catalogue.h"
#include "json.h"
#include "parameters.h"
#include "routes.h"
#include "software.h"
#include <stdio.h>
#include <string.h>

struct platform_row {
    const char *platform, *source;
};

static const struct platform_row platforms[] = {
    {"darwin", "apps"}, {"ios", "ios_apps"}, {"ipados", "ipados_apps"}};

static const json_t *store_app_of_id(const struct sim *sim, const char *app_store_id)
{
    size_t i;
    json_t *app;
    json_array_foreach(app_store_catalogue(sim), i, app)
    {
        if (text_equal(text_at(app, "app_store_id"), app_store_id))
            return app;
    }
    return NULL;
}

/* Without a list in the catalogue an app is for the Mac. */
static bool is_for(const json_t *app, const char *platform)
{
    size_t i;
    json_t *name;
    const json_t *list = list_at(app, "platforms");
    if (list == NULL)
        return text_equal(platform, "darwin");
    json_array_foreach(list, i, name)
    {
        if (text_equal(json_string_value(name), platform))
            return true;
    }
    return false;
}

static json_t *offered_row(const json_t *app, const char *platform)
{
    static const char *const copied[] = {"app_store_id", "bundle_identifier", "icon_url", "name",
                                         "latest_version"};
    json_t *row = new_object();
    for (size_t i = 0; i < ARRAY_LENGTH(copied); i++)
        put_text(row, copied[i], text_at(app, copied[i]));
    put_text(row, "platform", platform);
    put_flag(row, "self_service", false);
    put_null(row, "labels_include_any");
    put_null(row, "labels_exclude_any");
    put_null(row, "categories");
    put_text(row, "created_at", "0001-01-01T00:00:00Z");
    return row;
}

static json_t *row_in_team(struct store *store, json_int_t team_id, const char *app_store_id,
                           const char *platform)
{
    size_t i;
    json_t *row;
    json_array_foreach(store_list(store, "apps"), i, row)
    {
        if (number_at(row, "team_id") == team_id && text_equal(text_at(row, "app_store_id"), app_store_id) &&
            text_equal(text_at(row, "platform"), platform))
            return row;
    }
    return NULL;
}

/* By name, then platform. */
static void insert_by_name(json_t *rows, json_t *row)
{
    size_t at = 0;
    while (at < json_array_size(rows) &&
           strcmp(text_at(json_array_get(rows, at), "name"), text_at(row, "name")) <= 0)
        at++;
    json_array_insert_new(rows, at, row);
}

void list_app_store_apps(struct request *request, struct answer *answer)
{
    size_t i;
    json_t *app;
    json_int_t team_id;
    bool given;
    if (!query_number(request, "team_id", &team_id, &given, answer))
        return;
    if (!may_read_software(request->sim, &request->caller, team_id)) {
        refuse(answer, REFUSE_FORBIDDEN, "base", "forbidden");
        return;
    }
    if (!app_store_has_token(request->sim, team_id)) {
        refuse(answer, REFUSE_UNPROCESSABLE, "base", "No available VPP Token");
        return;
    }
    json_t *rows = new_array();
    json_array_foreach(app_store_catalogue(request->sim), i, app)
    {
        for (size_t k = 0; k < ARRAY_LENGTH(platforms); k++)
            if (is_for(app, platforms[k].platform) &&
                row_in_team(&request->sim->store, team_id, text_at(app, "app_store_id"),
                            platforms[k].platform) == NULL)
                insert_by_name(rows, offered_row(app, platforms[k].platform));
    }
    json_t *body = new_object();
    put(body, "app_store_apps", rows);
    answer_json(answer, 200, body);
}

static const char *type_name(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_INTEGER:
    case JSON_REAL:
        return "number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "bool";
    case JSON_ARRAY:
        return "array";
    case JSON_OBJECT:
        return "object";
    case JSON_STRING:
    case JSON_NULL:
        break;
    }
    return "string";
}

/* False: refused. */
static bool types_fit(const json_t *items, struct answer *answer)
{
    size_t i;
    json_t *item;
    json_array_foreach(items, i, item)
    {
        const json_t *id = json_object_get(item, "app_store_id");
        if (json_is_string(id))
            continue;
        refuse(answer, REFUSE_BAD_TYPE, "base",
               "Couldn't edit software. \"app_store_apps.app_store_id\" must be a string, found %s",
               id != NULL ? type_name(id) : "nothing");
        return false;
    }
    return true;
}

/* The wish for one title: which app, on which platform, with which fields. */
static json_t *wished_row(const struct request *request, const json_t *item, const json_t *app,
                          const char *platform, struct answer *answer)
{
    json_t *include = NULL, *exclude = NULL;
    if (!labels_by_name(request, list_at(item, "labels_include_any"), list_at(item, "labels_exclude_any"),
                        &include, &exclude, answer))
        return NULL;
    json_t *row = offered_row(app, platform);
    put_flag(row, "self_service", flag_at(item, "self_service"));
    put(row, "labels_include_any", include);
    put(row, "labels_exclude_any", exclude);
    put(row, "categories", categories_in_order(list_at(item, "categories")));
    const json_t *setup = json_object_get(item, "install_during_setup");
    put(row, "install_during_setup", json_is_boolean(setup) ? copy_of(setup) : json_null());
    return row;
}

/* Adds the titles of one item to `wished`; ids that the organisation has no licence for go to `missing`.
 * False: refused. */
static bool expand(const struct request *request, const json_t *item, json_t *wished, char *missing,
                   size_t size, struct answer *answer)
{
    const char *id = text_at(item, "app_store_id"), *only = text_at(item, "platform");
    const json_t *app = store_app_of_id(request->sim, id);
    size_t found = 0;
    for (size_t k = 0; k < ARRAY_LENGTH(platforms); k++) {
        if ((only[0] != '\0' && !text_equal(only, platforms[k].platform)) || app == NULL ||
            !is_for(app, platforms[k].platform))
            continue;
        json_t *row = wished_row(request, item, app, platforms[k].platform, answer);
        if (row == NULL)
            return false;
        append(wished, row);
        found++;
    }
    /* The server asks for each platform, and names the id as often. */
    for (size_t k = 0; found == 0 && k < (only[0] != '\0' ? 1 : ARRAY_LENGTH(platforms)); k++) {
        size_t used = strlen(missing);
        snprintf(missing + used, size - used, "%s%s", used > 0 ? "," : "", id);
    }
    return true;
}

static const char *source_of(const char *platform)
{
    for (size_t k = 0; k < ARRAY_LENGTH(platforms); k++)
        if (text_equal(platforms[k].platform, platform))
            return platforms[k].source;
    return "apps";
}

static json_t *app_set(struct store *store, json_int_t team_id, json_t *wished)
{
    char now[TIME_TEXT_BYTES];
    json_t *row = row_in_team(store, team_id, text_at(wished, "app_store_id"), text_at(wished, "platform"));
    bool keeps_setup = is_null_at(wished, "install_during_setup");
    if (row == NULL) {
        const json_t *title =
            store_title_of(store, text_at(wished, "name"), source_of(text_at(wished, "platform")),
                           text_at(wished, "bundle_identifier"));
        row = copy_of(wished);
        put_number(row, "team_id", team_id);
        put_number(row, "title_id", number_at(title, "id"));
        put_text(row, "created_at", time_text(true, now));
        if (keeps_setup)
            put_flag(row, "install_during_setup", false);
        append(store_list(store, "apps"), row);
        return row;
    }
    json_object_del(wished, "created_at");
    if (keeps_setup)
        json_object_del(wished, "install_during_setup");
    json_object_update(row, wished);
    return row;
}

static bool is_wished(const json_t *wished, const json_t *row)
{
    size_t i;
    json_t *wish;
    json_array_foreach(wished, i, wish)
    {
        if (text_equal(text_at(wish, "app_store_id"), text_at(row, "app_store_id")) &&
            text_equal(text_at(wish, "platform"), text_at(row, "platform")))
            return true;
    }
    return false;
}

static void remove_others(struct store *store, json_int_t team_id, const json_t *wished)
{
    json_t *rows = store_list(store, "apps");
    for (size_t i = json_array_size(rows); i-- > 0;) {
        const json_t *row = json_array_get(rows, i);
        if (number_at(row, "team_id") == team_id && !is_wished(wished, row))
            store_remove(store, "apps", row);
    }
}

static json_t *replaced(struct store *store, json_int_t team_id, const json_t *wished)
{
    size_t i;
    json_t *wish;
    json_t *rows = new_array();
    remove_others(store, team_id, wished);
    json_array_foreach(wished, i, wish)
    {
        const json_t *app = app_set(store, team_id, wish);
        json_t *row = new_object();
        put_number(row, "team_id", team_id);
        put_number(row, "title_id", number_at(app, "title_id"));
        put_text(row, "app_store_id", text_at(app, "app_store_id"));
        put_text(row, "platform", text_at(app, "platform"));
        append(rows, row);
    }
    store_save(store);
    return rows;
}

/* All items to titles. NULL: refused. */
static json_t *expand_all(const struct request *request, const json_t *items, json_int_t team_id,
                          struct answer *answer)
{
    size_t i;
    json_t *item;
    char missing[1024] = "";
    CLEANUP(json_cleanup) json_t *wished = new_array();
    if (json_array_size(items) > 0 && !app_store_has_token(request->sim, team_id)) {
        refuse(answer, REFUSE_UNPROCESSABLE, "base", "could not retrieve vpp token: No available VPP Token");
        return NULL;
    }
    json_array_foreach(items, i, item)
    {
        if (!expand(request, item, wished, missing, sizeof missing, answer))
            return NULL;
    }
    if (missing[0] != '\0') {
        refuse(answer, REFUSE_UNPROCESSABLE, "base", "requested app not available on vpp account: %s",
               missing);
        return NULL;
    }
    return TAKE(wished);
}

void batch_app_store_apps(struct request *request, struct answer *answer)
{
    json_int_t team_id;
    const json_t *items = list_at(request->json, "app_store_apps");
    if (!types_fit(items, answer) || !query_team_to_write(request, &team_id, answer))
        return;
    CLEANUP(json_cleanup) json_t *wished = expand_all(request, items, team_id, answer);
    if (wished == NULL)
        return;
    json_t *body = new_object();
    put(body, "app_store_apps",
        query_flag(request, "dry_run") ? json_null() : replaced(&request->sim->store, team_id, wished));
    answer_json(answer, 200, body);
}

void add_app_store_app(struct request *request, struct answer *answer)
{
    struct store *store = &request->sim->store;
    json_int_t team_id = number_at(request->json, "team_id");
    if (!may_write_software(&request->caller, team_id)) {
        refuse(answer, REFUSE_FORBIDDEN, "base", "forbidden");
        return;
    }
    CLEANUP(json_cleanup) json_t *item = copy_of(request->json);
    if (text_at(item, "platform")[0] == '\0')
        put_text(item, "platform", "darwin");
    CLEANUP(json_cleanup) json_t *items = new_array();
    append(items, json_incref(item));
    if (!types_fit(items, answer))
        return;
    CLEANUP(json_cleanup) json_t *wished = expand_all(request, items, team_id, answer);
    if (wished == NULL)
        return;
    json_t *wish = json_array_get(wished, 0);
    if (row_in_team(store, team_id, text_at(wish, "app_store_id"), text_at(wish, "platform")) != NULL) {
        refuse(answer, REFUSE_EXISTS, "base", "VPPApp \"%s\" already exists", text_at(wish, "name"));
        return;
    }
    json_t *body = new_object();
    put_number(body, "software_title_id", number_at(app_set(store, team_id, wish), "title_id"));
    store_save(store);
    answer_json(answer, 200, body);
}

void edit_app_store_app(struct request *request, struct answer *answer)
{
    struct store *store = &request->sim->store;
    json_t *include = NULL, *exclude = NULL;
    json_int_t team_id = number_at(request->json, "team_id");
    if (!may_write_software(&request->caller, team_id)) {
        refuse(answer, REFUSE_FORBIDDEN, "base", "forbidden");
        return;
    }
    json_t *app = store_app(store, team_id, request->ids[0]);
    if (app == NULL) {
        refuse(answer, REFUSE_NOT_FOUND, "base", "VPPApp was not found in the datastore");
        return;
    }
    const json_t *include_names = list_at(request->json, "labels_include_any");
    const json_t *exclude_names = list_at(request->json, "labels_exclude_any");
    if (!labels_by_name(request, include_names, exclude_names, &include, &exclude, answer))
        return;
    CLEANUP(json_cleanup) json_t *include_ids = include;
    CLEANUP(json_cleanup) json_t *exclude_ids = exclude;
    if (include_names != NULL || exclude_names != NULL) {
        put(app, "labels_include_any", json_incref(include_ids));
        put(app, "labels_exclude_any", json_incref(exclude_ids));
    }
    if (json_is_boolean(json_object_get(request->json, "self_service")))
        put_flag(app, "self_service", flag_at(request->json, "self_service"));
    if (list_at(request->json, "categories") != NULL)
        put(app, "categories", categories_in_order(list_at(request->json, "categories")));
    store_save(store);
    json_t *body = new_object();
    put(body, "app_store_app", app_shown(store, app, false));
    answer_json(answer, 200, body);
}
