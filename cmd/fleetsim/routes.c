/* From a method and a path to its handler. */
#include "routes.h"
#include "base/text.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct route routes[] = {
    {"GET", "/version", BODY_NONE, get_version, false},
    {"GET", "/me", BODY_NONE, get_me, false},
    {"GET", "/teams", BODY_NONE, list_teams, false},
    {"POST", "/teams", BODY_JSON, create_team, false},
    {"POST", "/teams/{id}/policies", BODY_JSON, create_team_policy, false},
    {"GET", "/labels", BODY_NONE, list_labels, false},
    {"GET", "/labels/summary", BODY_NONE, list_labels_summary, false},
    {"PUT", "/spec/secret_variables", BODY_JSON, put_secret_variables, false},
    {"GET", "/software/titles", BODY_NONE, list_titles, false},
    {"GET", "/software/titles/{id}", BODY_NONE, get_title, false},
    {"GET", "/software/titles/{id}/package", BODY_NONE, get_package_bytes, false},
    {"PATCH", "/software/titles/{id}/package", BODY_FORM, edit_package, false},
    {"PATCH", "/software/titles/{id}/app_store_app", BODY_JSON, edit_app_store_app, false},
    {"DELETE", "/software/titles/{id}/available_for_install", BODY_NONE, delete_available_for_install, false},
    {"POST", "/software/package", BODY_FORM, create_package, false},
    {"POST", "/software/batch", BODY_JSON, start_batch, false},
    {"GET", "/software/batch/{word}", BODY_NONE, poll_batch, false},
    {"GET", "/software/fleet_maintained_apps", BODY_NONE, list_maintained_apps, false},
    {"POST", "/software/fleet_maintained_apps", BODY_JSON, add_maintained_app, true},
    {"GET", "/software/fleet_maintained_apps/{id}", BODY_NONE, get_maintained_app, false},
    {"GET", "/software/app_store_apps", BODY_NONE, list_app_store_apps, false},
    {"POST", "/software/app_store_apps", BODY_JSON, add_app_store_app, false},
    {"POST", "/software/app_store_apps/batch", BODY_JSON, batch_app_store_apps, false},
    {"GET", "/setup_experience/software", BODY_NONE, list_setup_software, false},
    {"PUT", "/setup_experience/software", BODY_JSON, put_setup_software, false},
};

/* Not Fleet's: for tests, without a token and without a line in the log. */
static const struct route hooks[] = {
    {"POST", "/policies", BODY_JSON, hook_policy, false},
    {"POST", "/labels", BODY_JSON, hook_label, false},
    {"GET", "/open-requests", BODY_NONE, hook_open_requests, false},
};

static bool segment_matches(const char *pattern, size_t pattern_length, const char *path, size_t length,
                            json_int_t ids[], size_t *id_count, const char **word)
{
    if (pattern_length == 4 && memcmp(pattern, "{id}", 4) == 0) {
        for (size_t i = 0; i < length; i++)
            if (!isdigit((unsigned char)path[i]))
                return false;
        if (length == 0 || *id_count == ROUTE_IDS)
            return false;
        ids[(*id_count)++] = strtoll(path, NULL, 10);
        return true;
    }
    if (pattern_length == 6 && memcmp(pattern, "{word}", 6) == 0) {
        *word = path;
        return length > 0;
    }
    return pattern_length == length && memcmp(pattern, path, length) == 0;
}

static bool matches(const char *pattern, const char *path, json_int_t ids[], const char **word)
{
    size_t id_count = 0;
    while (*pattern == '/' && *path == '/') {
        size_t pattern_length = strcspn(++pattern, "/");
        size_t length = strcspn(++path, "/");
        if (!segment_matches(pattern, pattern_length, path, length, ids, &id_count, word))
            return false;
        pattern += pattern_length;
        path += length;
    }
    return *pattern == '\0' && *path == '\0';
}

enum route_result route_find(const char *method, const char *path, const struct route **route,
                             json_int_t ids[], const char **word, const char **api_path)
{
    static const char *const prefixes[] = {"/api/v1/fleet", "/api/latest/fleet"};
    const struct route *table = routes;
    size_t count = ARRAY_LENGTH(routes);
    const char *rest = NULL;
    for (size_t i = 0; i < ARRAY_LENGTH(prefixes); i++)
        if (text_starts_with(path, prefixes[i]))
            rest = path + strlen(prefixes[i]);
    *api_path = rest != NULL ? rest : "";
    if (text_starts_with(path, "/fleetsim/")) {
        rest = path + strlen("/fleetsim");
        table = hooks;
        count = ARRAY_LENGTH(hooks);
    }
    enum route_result result = ROUTE_UNKNOWN_PATH;
    for (size_t i = 0; rest != NULL && i < count; i++) {
        if (!matches(table[i].pattern, rest, ids, word))
            continue;
        *route = &table[i];
        if (text_equal(table[i].method, method))
            return ROUTE_FOUND;
        result = ROUTE_OTHER_METHOD;
    }
    return result;
}
