/* Where the maintained apps of batches and of the catalogue's own calls come from. */
#include "catalogue.h"
#include "base/files.h"
#include "base/text.h"
#include "base/url.h"
#include "json.h"
#include <stdio.h>
#include <string.h>

enum { CATALOGUE_MAX_BYTES = 16 * 1024 * 1024, KEYS_MANY = 12 };

struct list_row {
    const char *list;
    const char *needed[5];
    const char *known[KEYS_MANY];
};

static const struct list_row lists[] = {
    {"maintained_apps",
     {"name", "slug", "platform", "version", "url"},
     {"id", "name", "slug", "platform", "bundle_identifier", "version", "url", "sha256", "install_script",
      "uninstall_script", "categories", NULL}},
    {"app_store_apps",
     {"app_store_id", "name", "bundle_identifier", "latest_version", NULL},
     {"app_store_id", "name", "bundle_identifier", "latest_version", "icon_url", "platforms", NULL}},
};

static bool is_among(const char *word, const char *const *words)
{
    for (size_t i = 0; i < KEYS_MANY && words[i] != NULL; i++)
        if (text_equal(words[i], word))
            return true;
    return false;
}

static int check_app(const struct list_row *row, const json_t *app, struct err *e)
{
    const char *key;
    json_t *value;
    for (size_t i = 0; i < ARRAY_LENGTH(row->needed) && row->needed[i] != NULL; i++)
        if (text_at(app, row->needed[i])[0] == '\0')
            return err_set(e, ERR_CONFIG, "an app of \"%s\" needs \"%s\" (a text)", row->list,
                           row->needed[i]);
    json_object_foreach((json_t *)(uintptr_t)app, key, value)
    {
        if (!is_among(key, row->known))
            return err_set(e, ERR_CONFIG, "an app of \"%s\" has an unknown key \"%s\"", row->list, key);
    }
    return 0;
}

/* Apps without an id get their place in the list, counted from 1. */
static int check_lists(json_t *catalogue, struct err *e)
{
    size_t i;
    json_t *app;
    for (size_t k = 0; k < ARRAY_LENGTH(lists); k++) {
        json_array_foreach(json_object_get(catalogue, lists[k].list), i, app)
        {
            if (check_app(&lists[k], app, e) < 0)
                return -1;
            if (k == 0 && number_at(app, "id") == 0)
                put_number(app, "id", (json_int_t)i + 1);
        }
    }
    return 0;
}

static int check_top(const json_t *catalogue, struct err *e)
{
    static const char *const known[KEYS_MANY] = {"maintained_apps", "app_store_apps", "app_store_teams",
                                                 NULL};
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)catalogue, key, value)
    {
        if (!is_among(key, known))
            return err_set(e, ERR_CONFIG, "unknown key \"%s\"", key);
        if (!json_is_array(value))
            return err_set(e, ERR_CONFIG, "\"%s\" is no list", key);
    }
    return 0;
}

int catalogue_load(struct sim *sim, const char *path, struct err *e)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT(CATALOGUE_MAX_BYTES);
    sim->catalogue = NULL;
    if (path == NULL)
        return 0;
    if (file_read(path, &text, e) < 0)
        return -1;
    json_error_t where;
    sim->catalogue = json_loadb(text.bytes, text.length, JSON_REJECT_DUPLICATES, &where);
    if (sim->catalogue == NULL)
        return err_set(e, ERR_CONFIG, "%s:%d:%d: %s", path, where.line, where.column, where.text);
    if (check_top(sim->catalogue, e) < 0 || check_lists(sim->catalogue, e) < 0)
        return err_prefix(e, "%s", path);
    return 0;
}

const json_t *maintained_apps(const struct sim *sim)
{
    return list_at(sim->catalogue, "maintained_apps");
}

const json_t *app_store_catalogue(const struct sim *sim)
{
    return list_at(sim->catalogue, "app_store_apps");
}

const json_t *maintained_by_slug(const struct sim *sim, const char *slug)
{
    size_t i;
    json_t *app;
    json_array_foreach(maintained_apps(sim), i, app)
    {
        if (text_equal(text_at(app, "slug"), slug))
            return app;
    }
    return NULL;
}

const json_t *maintained_by_id(const struct sim *sim, json_int_t id)
{
    size_t i;
    json_t *app;
    json_array_foreach(maintained_apps(sim), i, app)
    {
        if (number_at(app, "id") == id)
            return app;
    }
    return NULL;
}

bool app_store_has_token(struct sim *sim, json_int_t team_id)
{
    size_t i;
    json_t *name;
    if (app_store_catalogue(sim) == NULL)
        return false;
    const json_t *teams = list_at(sim->catalogue, "app_store_teams");
    if (teams == NULL)
        return true;
    const json_t *team = store_team(&sim->store, team_id);
    json_array_foreach(teams, i, name)
    {
        if (team != NULL && text_equal(json_string_value(name), text_at(team, "name")))
            return true;
    }
    return false;
}

void package_of_maintained(const json_t *app, const char *sha256, struct package_bytes *out)
{
    bool is_windows = text_equal(text_at(app, "platform"), "windows");
    *out = (struct package_bytes){
        .meta = {.source = is_windows ? "programs" : "apps", .platform = is_windows ? "windows" : "darwin"},
        .bundle_identifier = text_at(app, "bundle_identifier"),
    };
    url_file_name(text_at(app, "url"), out->file_name, sizeof out->file_name);
    out->meta.extension = extension_of_file(out->file_name);
    snprintf(out->meta.name, sizeof out->meta.name, "%s", text_at(app, "name"));
    snprintf(out->meta.version, sizeof out->meta.version, "%s", text_at(app, "version"));
    snprintf(out->title_name, sizeof out->title_name, "%s", text_at(app, "name"));
    snprintf(out->sha256, sizeof out->sha256, "%s", sha256);
}

void wish_of_maintained(const json_t *app, json_t *wish)
{
    static const char *const from_catalogue[] = {"install_script", "uninstall_script", "url"};
    for (size_t i = 0; i < ARRAY_LENGTH(from_catalogue); i++)
        put_text(wish, from_catalogue[i], text_at(app, from_catalogue[i]));
    put_number(wish, "fleet_maintained_app_id", number_at(app, "id"));
    if (is_null_at(wish, "categories") && list_at(app, "categories") != NULL)
        put(wish, "categories", copy_of(list_at(app, "categories")));
}
