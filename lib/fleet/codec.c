/* From Fleet's answers to the model: teams, lists of titles, their details, what a write answered. The client
 * asks, this file reads. It is lenient towards versions of the server and strict where a wrong guess would
 * make the planner wrong. */
#include "fleet/codec.h"
#include "base/text.h"
#include "fleet/json_read.h"
#include <ctype.h>
#include <string.h>

/* The root object of an answer; NULL with ERR_SERVER if the body is not one. Freed by json_decref. */
static json_t *parse(const char *body, size_t length, struct err *e)
{
    json_error_t error;
    json_t *root = json_loadb(body == NULL ? "" : body, length, 0, &error);
    if (json_is_object(root))
        return root;
    json_decref(root);
    char line[120];
    err_fill(e, ERR_SERVER, "the server answered with something that is not its JSON: \"%s\"",
             codec_redact_text(body, length, line, sizeof line));
    return NULL;
}

/* The list behind the first of the names that is there; NULL for null or none: an empty list. */
static const json_t *list_of(const json_t *root, const char *const names[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const json_t *list = json_object_get(root, names[i]);
        if (json_is_array(list))
            return list;
    }
    return NULL;
}

#define LIST_OF(root, ...)                                                                                   \
    list_of((root), (const char *const[]){__VA_ARGS__},                                                      \
            sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static int copy(struct arena *arena, const char *text, const char **out, struct err *e)
{
    if (text == NULL) {
        *out = NULL;
        return 0;
    }
    *out = arena_strdup(arena, text, e);
    return *out == NULL ? -1 : 0;
}

static int copy_lower(struct arena *arena, const char *text, const char **out, struct err *e)
{
    if (text_is_empty(text))
        return 0;
    char *lower = arena_strdup(arena, text, e);
    if (lower == NULL)
        return -1;
    for (char *at = lower; *at != '\0'; at++)
        *at = (char)tolower((unsigned char)*at);
    *out = lower;
    return 0;
}

static void read_page(const json_t *root, size_t row_count, struct page *page)
{
    const json_t *meta = json_object_get(root, "meta");
    const json_t *total = json_object_get(root, "count");
    *page = (struct page){
        .row_count = row_count,
        .has_meta = json_is_object(meta),
        .has_next = json_is_true(json_object_get(meta, "has_next_results")),
        .total = json_is_integer(total) ? (int64_t)json_integer_value(total) : -1,
    };
}

int codec_version(const char *body, size_t length, struct arena *arena, const char **version, struct err *e)
{
    CLEANUP(json_cleanup) json_t *root = parse(body, length, e);
    return root == NULL ? -1 : copy(arena, json_text(root, "version", ""), version, e);
}

int codec_user(const char *body, size_t length, struct arena *arena, struct fleet_user *out, struct err *e)
{
    CLEANUP(json_cleanup) json_t *root = parse(body, length, e);
    if (root == NULL)
        return -1;
    const json_t *user = json_object_get(root, "user");
    const json_t *teams = LIST_OF(user, "teams", "fleets");
    struct fleet_user result = {.team_count = json_array_size(teams)};
    if (copy(arena, json_text(user, "global_role", ""), &result.global_role, e) < 0)
        return -1;
    result.teams = arena_alloc_array(arena, result.team_count, sizeof *result.teams, e);
    if (result.teams == NULL)
        return -1;
    for (size_t i = 0; i < result.team_count; i++) {
        const json_t *team = json_array_get(teams, i);
        result.teams[i].team_id = json_number(team, "id");
        if (copy(arena, json_text(team, "name", ""), &result.teams[i].name, e) < 0 ||
            copy(arena, json_text(team, "role", ""), &result.teams[i].role, e) < 0)
            return -1;
    }
    *out = result;
    return 0;
}

static int read_team(const json_t *value, struct arena *arena, struct fleet_team *out, struct err *e)
{
    const char *name = json_text(value, "name", NULL);
    if (name == NULL || json_number(value, "id") <= 0)
        return err_set(e, ERR_SERVER, "the server names a team without an id or a name");
    out->id = json_number(value, "id");
    return copy(arena, name, &out->name, e);
}

int codec_teams(const char *body, size_t length, struct arena *arena, struct team_rows *rows,
                struct page *page, struct err *e)
{
    CLEANUP(json_cleanup) json_t *root = parse(body, length, e);
    if (root == NULL)
        return -1;
    const json_t *teams = LIST_OF(root, "teams", "fleets");
    for (size_t i = 0; i < json_array_size(teams); i++) {
        struct fleet_team *team = ARENA_PUSH(arena, &rows->items, &rows->count, &rows->capacity, e);
        if (team == NULL || read_team(json_array_get(teams, i), arena, team, e) < 0)
            return -1;
    }
    read_page(root, json_array_size(teams), page);
    return 0;
}

int codec_team(const char *body, size_t length, struct arena *arena, struct fleet_team *out, struct err *e)
{
    CLEANUP(json_cleanup) json_t *root = parse(body, length, e);
    if (root == NULL)
        return -1;
    const json_t *team = json_object_get(root, "team");
    return read_team(team != NULL ? team : json_object_get(root, "fleet"), arena, out, e);
}

int codec_labels(const char *body, size_t length, struct arena *arena, struct name_rows *rows, struct err *e)
{
    CLEANUP(json_cleanup) json_t *root = parse(body, length, e);
    if (root == NULL)
        return -1;
    const json_t *labels = LIST_OF(root, "labels");
    for (size_t i = 0; i < json_array_size(labels); i++) {
        const char **name = ARENA_PUSH(arena, &rows->items, &rows->count, &rows->capacity, e);
        if (name == NULL || copy(arena, json_text(json_array_get(labels, i), "name", ""), name, e) < 0)
            return -1;
    }
    return 0;
}

/* Names out of a list of texts or of {name, id} objects; null is an empty list. */
static int read_names(const json_t *list, struct arena *arena, struct string_list *out, struct err *e)
{
    size_t count = json_array_size(list);
    const char **items = arena_alloc_array(arena, count, sizeof *items, e);
    if (items == NULL)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const json_t *entry = json_array_get(list, i);
        const char *name = json_is_string(entry) ? json_string_value(entry) : json_text(entry, "name", "");
        if (copy(arena, name, &items[i], e) < 0)
            return -1;
    }
    *out = (struct string_list){.is_set = true, .count = count, .items = items};
    return 0;
}

/* Newer servers (4.90) may hold up to ten packages in one title. The first is as good as the only one; more
 * than one is beyond what the model can say, and to guess would lose the others. */
static int one_package(const json_t *title, const json_t **out, struct err *e)
{
    const json_t *packages = json_object_get(title, "packages");
    const json_t *package = json_object_get(title, "software_package");
    if (json_array_size(packages) > 1)
        return err_set(e, ERR_SERVER,
                       "the title \"%s\" has %zu packages in this team, which Tender can't tell apart: leave "
                       "one of them in Fleet",
                       json_text(title, "name", "?"), json_array_size(packages));
    if (!json_is_object(package) && json_array_size(packages) == 1)
        package = json_array_get(packages, 0);
    *out = json_is_object(package) ? package : NULL;
    return 0;
}

static bool is_script_file(const char *file_name)
{
    static const char *const endings[] = {".sh", ".ps1", ".py"};
    for (size_t i = 0; i < ARRAY_LENGTH(endings); i++)
        if (file_name != NULL && text_ends_with_ignoring_case(file_name, endings[i]))
            return true;
    return false;
}

static enum software_kind kind_of(const json_t *package, const json_t *app)
{
    if (app != NULL)
        return SOFTWARE_APP_STORE_APP;
    if (json_number(package, "fleet_maintained_app_id") > 0)
        return SOFTWARE_MAINTAINED_APP;
    return is_script_file(json_text(package, "name", NULL)) ? SOFTWARE_SCRIPT_PACKAGE : SOFTWARE_PACKAGE;
}

static int read_row(const json_t *row, const json_t *package, const json_t *app, struct arena *arena,
                    struct observed_title *title, struct err *e)
{
    const json_t *held = package != NULL ? package : app;
    *title = (struct observed_title){
        .title_id = json_number(row, "id"),
        .kind = kind_of(package, app),
        .self_service = json_is_true(json_object_get(held, "self_service")),
        .maintained_app_id = json_number(package, "fleet_maintained_app_id"),
    };
    if (title->title_id <= 0)
        return err_set(e, ERR_SERVER, "the server lists a software title without an id");
    const char *sha256 = json_text(row, "hash_sha256", json_text(package, "hash_sha256", NULL));
    if (copy(arena, json_text(row, "name", ""), &title->name, e) < 0 ||
        copy(arena, json_text(row, "source", ""), &title->source, e) < 0 ||
        copy(arena, json_text(held, "version", ""), &title->version, e) < 0 ||
        copy(arena, json_text(held, "platform", ""), &title->platform, e) < 0 ||
        copy(arena, json_text(package, "name", ""), &title->file_name, e) < 0 ||
        copy(arena, json_text(package, "package_url", json_text(package, "url", "")), &title->url, e) < 0 ||
        copy(arena, json_text(app, "app_store_id", NULL), &title->app_store_id, e) < 0 ||
        copy_lower(arena, sha256, &title->sha256, e) < 0)
        return -1;
    return read_names(json_object_get(held, "automatic_install_policies"), arena, &title->policies, e);
}

int codec_titles(const char *body, size_t length, struct arena *arena, struct title_rows *rows,
                 struct page *page, struct err *e)
{
    CLEANUP(json_cleanup) json_t *root = parse(body, length, e);
    if (root == NULL)
        return -1;
    const json_t *list = LIST_OF(root, "software_titles");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        const json_t *app = json_object_get(row, "app_store_app");
        const json_t *package;
        if (one_package(row, &package, e) < 0)
            return -1;
        app = json_is_object(app) ? app : NULL;
        rows->row_count++;
        /* The filter "available for install" has been seen to be ignored: look at the rows. */
        if (package == NULL && app == NULL) {
            rows->unclear_count++;
            continue;
        }
        struct observed_title *title = ARENA_PUSH(arena, &rows->items, &rows->count, &rows->capacity, e);
        if (title == NULL || read_row(row, package, app, arena, title, e) < 0)
            return -1;
    }
    read_page(root, json_array_size(list), page);
    return 0;
}

static int read_script(const json_t *object, const char *key, struct arena *arena, struct text_file *out,
                       struct err *e)
{
    const json_t *value = json_object_get(object, key);
    size_t size = json_is_string(value) ? json_string_length(value) : 0;
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    char *held = arena_strndup(arena, text, size, e);
    if (held == NULL)
        return -1;
    *out = (struct text_file){.text = held, .length = size};
    return 0;
}

static int read_labels(const json_t *object, struct arena *arena, struct observed_title *title, struct err *e)
{
    static const struct {
        const char *key;
        enum label_mode mode;
    } lists[] = {
        {"labels_include_any", LABELS_INCLUDE_ANY},
        {"labels_exclude_any", LABELS_EXCLUDE_ANY},
        {"labels_include_all", LABELS_INCLUDE_ALL},
    };
    title->label_mode = LABELS_NONE;
    title->labels = (struct string_list){.is_set = true};
    for (size_t i = 0; i < ARRAY_LENGTH(lists); i++) {
        const json_t *list = json_object_get(object, lists[i].key);
        if (json_array_size(list) == 0)
            continue;
        title->label_mode = lists[i].mode;
        return read_names(list, arena, &title->labels, e);
    }
    return 0;
}

int codec_title_details(const char *body, size_t length, struct arena *arena, struct observed_title *title,
                        struct err *e)
{
    CLEANUP(json_cleanup) json_t *root = parse(body, length, e);
    if (root == NULL)
        return -1;
    const json_t *outer = json_object_get(root, "software_title");
    const json_t *package;
    if (one_package(outer, &package, e) < 0)
        return -1;
    const json_t *app = json_object_get(outer, "app_store_app");
    const json_t *held = package != NULL ? package : json_is_object(app) ? app : NULL;
    if (held == NULL)
        return err_set(e, ERR_NOT_FOUND, "the team does not have it any more");
    struct observed_title result = *title;
    result.installer_id = json_number(package, "installer_id");
    const json_t *display = json_object_get(held, "display_name");
    if (display == NULL)
        display = json_object_get(outer, "display_name");
    const char *shown = display == NULL ? NULL : json_is_string(display) ? json_string_value(display) : "";
    if (read_script(package, "install_script", arena, &result.install_script, e) < 0 ||
        read_script(package, "uninstall_script", arena, &result.uninstall_script, e) < 0 ||
        read_script(package, "post_install_script", arena, &result.post_install_script, e) < 0 ||
        read_script(package, "pre_install_query", arena, &result.pre_install_query, e) < 0 ||
        read_labels(held, arena, &result, e) < 0 ||
        read_names(json_object_get(held, "categories"), arena, &result.categories, e) < 0 ||
        read_names(json_object_get(held, "automatic_install_policies"), arena, &result.policies, e) < 0 ||
        copy(arena, shown, &result.display_name, e) < 0)
        return -1;
    if (result.sha256 == NULL &&
        copy_lower(arena, json_text(package, "hash_sha256", NULL), &result.sha256, e) < 0)
        return -1;
    result.has_details = true;
    *title = result;
    return 0;
}

static int read_catalogue_app(const json_t *value, struct arena *arena, struct catalogue_app *app,
                              struct err *e)
{
    app->id = json_number(value, "id");
    app->title_id = json_number(value, "software_title_id");
    if (copy(arena, json_text(value, "version", NULL), &app->version, e) < 0)
        return -1;
    return copy(arena, json_text(value, "slug", ""), &app->slug, e);
}

int codec_catalogue(const char *body, size_t length, struct arena *arena, struct catalogue_rows *rows,
                    struct page *page, struct err *e)
{
    CLEANUP(json_cleanup) json_t *root = parse(body, length, e);
    if (root == NULL)
        return -1;
    const json_t *list = LIST_OF(root, "fleet_maintained_apps");
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct catalogue_app *app = ARENA_PUSH(arena, &rows->items, &rows->count, &rows->capacity, e);
        if (app == NULL || read_catalogue_app(json_array_get(list, i), arena, app, e) < 0)
            return -1;
    }
    read_page(root, json_array_size(list), page);
    return 0;
}

int codec_catalogue_app(const char *body, size_t length, struct arena *arena, struct catalogue_app *app,
                        struct err *e)
{
    CLEANUP(json_cleanup) json_t *root = parse(body, length, e);
    if (root == NULL)
        return -1;
    return read_catalogue_app(json_object_get(root, "fleet_maintained_app"), arena, app, e);
}

int codec_setup_experience(const char *body, size_t length, struct arena *arena, struct setup_rows *rows,
                           struct page *page, struct err *e)
{
    CLEANUP(json_cleanup) json_t *root = parse(body, length, e);
    if (root == NULL)
        return -1;
    const json_t *list = LIST_OF(root, "software_titles");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        const json_t *package = json_object_get(row, "software_package");
        const json_t *held = json_is_object(package) ? package : json_object_get(row, "app_store_app");
        const json_t *flag = json_object_get(held, "install_during_setup");
        if (!json_is_boolean(flag))
            continue;
        struct setup_flag *entry = ARENA_PUSH(arena, &rows->items, &rows->count, &rows->capacity, e);
        if (entry == NULL)
            return -1;
        *entry = (struct setup_flag){json_number(row, "id"), json_is_true(flag)};
    }
    read_page(root, json_array_size(list), page);
    return 0;
}
