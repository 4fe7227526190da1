/* The heart of the simulated server: rows of the store on one side, the shapes of Fleet's answers on the
 * other. */
#include "software.h"
#include "base/text.h"
#include "json.h"
#include "parameters.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The keys of an installer that its owner decides; the rest comes with the bytes. */
static const char *const wish_keys[] = {"install_script",         "uninstall_script", "post_install_script",
                                        "pre_install_query",      "self_service",     "labels_include_any",
                                        "labels_exclude_any",     "categories",       "url",
                                        "fleet_maintained_app_id"};

json_t *wish_new(void)
{
    json_t *wish = new_object();
    put_text(wish, "install_script", "");
    put_text(wish, "uninstall_script", "");
    put_text(wish, "post_install_script", "");
    put_text(wish, "pre_install_query", "");
    put_flag(wish, "self_service", false);
    put_null(wish, "labels_include_any");
    put_null(wish, "labels_exclude_any");
    put_null(wish, "categories");
    put_text(wish, "url", "");
    put_null(wish, "fleet_maintained_app_id");
    return wish;
}

void wish_fill_scripts(json_t *wish, const struct package_meta *meta)
{
    char *install = default_install_script(meta->extension);
    char *uninstall = default_uninstall_script(meta->extension, meta->name);
    if (text_at(wish, "install_script")[0] == '\0')
        put_text(wish, "install_script", install);
    if (text_at(wish, "uninstall_script")[0] == '\0')
        put_text(wish, "uninstall_script", uninstall);
    free(install);
    free(uninstall);
}

static bool differ_in_separators_only(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (*a != '\0' && !isalnum((unsigned char)*a))
            a++;
        while (*b != '\0' && !isalnum((unsigned char)*b))
            b++;
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
        if (*a == '\0')
            return true;
    }
}

void package_name_title(struct store *store, struct package_bytes *package)
{
    size_t i;
    json_t *title;
    const struct package_meta *meta = &package->meta;
    snprintf(package->title_name, sizeof package->title_name, "%s", meta->name);
    if (!text_equal(meta->source, "programs") && !text_equal(meta->source, "apps"))
        return;
    json_array_foreach(store_list(store, "titles"), i, title)
    {
        if (text_equal(text_at(title, "source"), meta->source) &&
            differ_in_separators_only(text_at(title, "name"), meta->name))
            snprintf(package->title_name, sizeof package->title_name, "%s", text_at(title, "name"));
    }
}

json_t *installer_set(struct store *store, json_int_t team_id, const struct package_bytes *package,
                      const json_t *wish)
{
    char now[TIME_TEXT_BYTES];
    const json_t *title =
        store_title_of(store, package->title_name, package->meta.source, package->bundle_identifier);
    json_t *row = store_installer(store, team_id, number_at(title, "id"));
    bool is_new = row == NULL;
    char *old_digest = copy_text(text_at(row, "hash_sha256"));
    if (is_new) {
        row = new_object();
        put_number(row, "id", store_next_id(store, "installers"));
        put_number(row, "team_id", team_id);
        put_number(row, "title_id", number_at(title, "id"));
        put_flag(row, "install_during_setup", false);
        append(store_list(store, "installers"), row);
    }
    /* A new row's time has microseconds, a changed one's has not: so the recordings. */
    if (!text_equal(old_digest, package->sha256))
        put_text(row, "uploaded_at", time_text(is_new, now));
    put_text(row, "name", package->file_name);
    put_text(row, "version", package->meta.version);
    put_text(row, "platform", package->meta.platform);
    put_text(row, "extension", package->meta.extension);
    put_text(row, "package_name", package->meta.name);
    put_text(row, "hash_sha256", package->sha256);
    for (size_t i = 0; i < ARRAY_LENGTH(wish_keys); i++)
        put(row, wish_keys[i], copy_of(json_object_get(wish, wish_keys[i])));
    if (old_digest[0] != '\0' && !text_equal(old_digest, package->sha256))
        store_blob_release(store, old_digest);
    free(old_digest);
    return row;
}

const char *extension_of_file(const char *file_name)
{
    static const char *const known[] = {".deb", ".rpm", ".tar.gz", ".tgz", ".msi", ".exe",
                                        ".pkg", ".dmg", ".zip",    ".sh",  ".ps1"};
    for (size_t i = 0; i < ARRAY_LENGTH(known); i++)
        if (text_ends_with_ignoring_case(file_name, known[i]))
            return known[i];
    return "";
}

/* A row may go while a batch works with its bytes: static texts outlive it, and titles are never removed. */
static const char *static_platform(const char *platform)
{
    static const char *const known[] = {"linux", "darwin", "windows", "ios", "ipados"};
    for (size_t i = 0; i < ARRAY_LENGTH(known); i++)
        if (text_equal(known[i], platform))
            return known[i];
    return "";
}

void package_of_installer(struct store *store, const json_t *installer, struct package_bytes *out)
{
    const json_t *title = store_title(store, number_at(installer, "title_id"));
    const char *extension = extension_of_file(text_at(installer, "extension"));
    *out = (struct package_bytes){
        .meta = {.extension = extension,
                 .source = text_at(title, "source"),
                 .platform = static_platform(text_at(installer, "platform")),
                 .needs_scripts = text_equal(extension, ".tar.gz") || text_equal(extension, ".tgz") ||
                                  text_equal(extension, ".exe")},
        .bundle_identifier = text_at(title, "bundle_identifier"),
    };
    snprintf(out->meta.name, sizeof out->meta.name, "%s", text_at(installer, "package_name"));
    snprintf(out->meta.version, sizeof out->meta.version, "%s", text_at(installer, "version"));
    snprintf(out->title_name, sizeof out->title_name, "%s", text_at(title, "name"));
    snprintf(out->file_name, sizeof out->file_name, "%s", text_at(installer, "name"));
    snprintf(out->sha256, sizeof out->sha256, "%s", text_at(installer, "hash_sha256"));
}

static json_t *status_row(const char *const *keys, size_t count)
{
    json_t *status = new_object();
    for (size_t i = 0; i < count; i++)
        put_number(status, keys[i], 0);
    return status;
}

static json_t *number_or_null(json_int_t number)
{
    return number != 0 ? new_number(number) : json_null();
}

json_t *installer_shown(struct store *store, const json_t *installer, bool with_status)
{
    static const char *const copied[] = {"title_id",
                                         "name",
                                         "version",
                                         "platform",
                                         "uploaded_at",
                                         "install_script",
                                         "pre_install_query",
                                         "post_install_script",
                                         "uninstall_script",
                                         "hash_sha256",
                                         "self_service",
                                         "url",
                                         "fleet_maintained_app_id",
                                         "categories"};
    static const char *const states[] = {"installed", "pending_install", "failed_install",
                                         "pending_uninstall", "failed_uninstall"};
    json_int_t team_id = number_at(installer, "team_id");
    json_t *shown = new_object();
    put(shown, "team_id", number_or_null(team_id));
    put_number(shown, "installer_id", number_at(installer, "id"));
    for (size_t i = 0; i < ARRAY_LENGTH(copied); i++)
        put(shown, copied[i], json_incref(json_object_get(installer, copied[i])));
    if (with_status)
        put(shown, "status", status_row(states, ARRAY_LENGTH(states)));
    put(shown, "automatic_install_policies",
        store_policies_of(store, team_id, number_at(installer, "title_id")));
    put(shown, "labels_include_any", labels_shown(store, json_object_get(installer, "labels_include_any")));
    put(shown, "labels_exclude_any", labels_shown(store, json_object_get(installer, "labels_exclude_any")));
    return shown;
}

json_t *app_shown(struct store *store, const json_t *app, bool with_status)
{
    static const char *const copied[] = {"app_store_id", "platform",     "name",       "latest_version",
                                         "icon_url",     "self_service", "created_at", "categories"};
    static const char *const states[] = {"installed", "pending", "failed"};
    json_t *shown = new_object();
    for (size_t i = 0; i < ARRAY_LENGTH(copied); i++)
        put(shown, copied[i], json_incref(json_object_get(app, copied[i])));
    put(shown, "status", with_status ? status_row(states, ARRAY_LENGTH(states)) : json_null());
    put(shown, "automatic_install_policies",
        store_policies_of(store, number_at(app, "team_id"), number_at(app, "title_id")));
    put(shown, "labels_include_any", labels_shown(store, json_object_get(app, "labels_include_any")));
    put(shown, "labels_exclude_any", labels_shown(store, json_object_get(app, "labels_exclude_any")));
    return shown;
}

static json_t *listed_installer(struct store *store, const json_t *installer, bool with_setup)
{
    static const char *const copied[] = {"name", "version", "platform", "self_service"};
    json_t *row = new_object();
    for (size_t i = 0; i < ARRAY_LENGTH(copied); i++)
        put(row, copied[i], json_incref(json_object_get(installer, copied[i])));
    put(row, "automatic_install_policies",
        store_policies_of(store, number_at(installer, "team_id"), number_at(installer, "title_id")));
    put_null(row, "icon_url");
    put_null(row, "last_install");
    put_null(row, "last_uninstall");
    put_text(row, "package_url", text_at(installer, "url"));
    if (with_setup)
        put_flag(row, "install_during_setup", flag_at(installer, "install_during_setup"));
    if (number_at(installer, "fleet_maintained_app_id") != 0)
        put_number(row, "fleet_maintained_app_id", number_at(installer, "fleet_maintained_app_id"));
    return row;
}

static json_t *listed_app(struct store *store, const json_t *app, bool with_setup)
{
    static const char *const copied[] = {"app_store_id", "platform", "self_service", "icon_url"};
    json_t *row = new_object();
    for (size_t i = 0; i < ARRAY_LENGTH(copied); i++)
        put(row, copied[i], json_incref(json_object_get(app, copied[i])));
    put(row, "automatic_install_policies",
        store_policies_of(store, number_at(app, "team_id"), number_at(app, "title_id")));
    put_text(row, "version", text_at(app, "latest_version"));
    put_null(row, "last_install");
    put_null(row, "last_uninstall");
    put_null(row, "package_url");
    if (with_setup)
        put_flag(row, "install_during_setup", flag_at(app, "install_during_setup"));
    return row;
}

json_t *title_listed(struct store *store, const json_t *title, const json_t *installer, const json_t *app,
                     bool with_setup)
{
    json_t *row = new_object();
    put_number(row, "id", number_at(title, "id"));
    put_text(row, "name", text_at(title, "name"));
    put_text(row, "source", text_at(title, "source"));
    put_number(row, "hosts_count", 0);
    put_number(row, "versions_count", 0);
    put_null(row, "versions");
    put(row, "software_package",
        installer != NULL ? listed_installer(store, installer, with_setup) : json_null());
    put(row, "app_store_app", app != NULL ? listed_app(store, app, with_setup) : json_null());
    if (text_at(title, "bundle_identifier")[0] != '\0')
        put_text(row, "bundle_identifier", text_at(title, "bundle_identifier"));
    if (installer != NULL)
        put_text(row, "hash_sha256", text_at(installer, "hash_sha256"));
    return row;
}

/* By name without regard to case, then by source, then by id. */
static int compare_titles(const void *a, const void *b)
{
    const json_t *left = *(json_t *const *)a, *right = *(json_t *const *)b;
    int order = strcasecmp(text_at(left, "name"), text_at(right, "name"));
    if (order == 0)
        order = strcmp(text_at(left, "source"), text_at(right, "source"));
    if (order == 0)
        order = number_at(left, "id") < number_at(right, "id") ? -1 : 1;
    return order;
}

static void sort_titles(json_t *rows)
{
    size_t count = json_array_size(rows);
    json_t **order = allocate(count * sizeof(json_t *));
    for (size_t i = 0; i < count; i++)
        order[i] = json_incref(json_array_get(rows, i));
    qsort(order, count, sizeof(json_t *), compare_titles);
    json_array_clear(rows);
    for (size_t i = 0; i < count; i++)
        append(rows, order[i]);
    free(order);
}

json_t *titles_of_team(struct store *store, json_int_t team_id, const char *only_platform, bool with_setup)
{
    static const char *const lists[] = {"installers", "apps"};
    size_t i;
    json_t *item;
    json_t *rows = new_array();
    for (size_t k = 0; k < ARRAY_LENGTH(lists); k++) {
        json_array_foreach(store_list(store, lists[k]), i, item)
        {
            if (number_at(item, "team_id") != team_id ||
                (only_platform != NULL && !text_equal(only_platform, text_at(item, "platform"))))
                continue;
            const json_t *title = store_title(store, number_at(item, "title_id"));
            append(rows, title_listed(store, title, k == 0 ? item : NULL, k == 1 ? item : NULL, with_setup));
        }
    }
    sort_titles(rows);
    return rows;
}
