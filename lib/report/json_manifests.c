/* What the manifests say, and what is wrong with them, for programs: docs/report.md names every field. */
#include "base/text.h"
#include "report/page.h"
#include <stdlib.h>
#include <string.h>

static json_t *shown_url(const char *url)
{
    if (url == NULL)
        return json_text("");
    char *shown = url_without_userinfo(url);
    json_t *value = shown == NULL ? NULL : json_text(shown);
    free(shown);
    return value;
}

static json_t *shown_urls(const struct string_list *list, bool *failed)
{
    json_t *array = json_array();
    for (size_t i = 0; i < list->count; i++)
        json_add(array, shown_url(list->items[i]), failed);
    return array;
}

static json_t *tristate_value(enum tristate value)
{
    return value == TRISTATE_ABSENT ? json_null() : json_boolean(value == TRISTATE_TRUE);
}

/* Fields of all kinds of software. */
static void put_common(json_t *value, const struct software_item *item, bool *failed)
{
    json_put(value, "install_script", json_text_or_null(item->install_script.path), failed);
    json_put(value, "uninstall_script", json_text_or_null(item->uninstall_script.path), failed);
    json_put(value, "post_install_script", json_text_or_null(item->post_install_script.path), failed);
    json_put(value, "pre_install_query", json_text_or_null(item->pre_install_query.path), failed);
    json_put(value, "icon", json_text_or_null(item->icon.path), failed);
    json_put(value, "configuration", json_text_or_null(item->configuration.path), failed);
    json_put(value, "self_service", json_boolean(item->self_service), failed);
    json_put(value, "setup_experience", tristate_value(item->setup_experience), failed);
    json_put(value, "label_mode", json_text(label_mode_name(item->label_mode)), failed);
    json_put(value, "labels", item->labels.is_set ? json_texts(&item->labels) : json_null(), failed);
    json_put(value, "categories", item->categories.is_set ? json_texts(&item->categories) : json_null(),
             failed);
    json_put(value, "display_name", json_text_or_null(item->display_name), failed);
    json_put(value, "file", json_text(item->place.file), failed);
    json_put(value, "line", json_integer(item->place.line), failed);
    json_put(value, "column", json_integer(item->place.column), failed);
}

static json_t *package_value(const struct software_item *item, bool *failed)
{
    json_t *value = json_object();
    json_put(value, "url", shown_url(item->url), failed);
    json_put(value, "sha256", json_text(item->sha256), failed);
    json_put(value, "package_file", json_text(item->package_file), failed);
    json_put(value, "script", json_text_or_null(item->script.path), failed);
    json_put(value, "backup_urls", shown_urls(&item->backup_urls, failed), failed);
    json_put(value, "always_download", json_boolean(item->always_download), failed);
    put_common(value, item, failed);
    return value;
}

static json_t *maintained_app_value(const struct software_item *item, bool *failed)
{
    json_t *value = json_object();
    json_put(value, "slug", json_text(item->slug), failed);
    json_put(value, "version", json_text_or_null(item->version), failed);
    put_common(value, item, failed);
    return value;
}

static json_t *app_store_app_value(const struct software_item *item, bool *failed)
{
    json_t *value = json_object();
    json_put(value, "app_store_id", json_text(item->app_store_id), failed);
    json_put(value, "platform", json_text_or_null(item->platform), failed);
    json_put(value, "auto_update_enabled", tristate_value(item->auto_update_enabled), failed);
    json_put(value, "auto_update_window_start", json_text_or_null(item->auto_update_window_start), failed);
    json_put(value, "auto_update_window_end", json_text_or_null(item->auto_update_window_end), failed);
    put_common(value, item, failed);
    return value;
}

static json_t *list_value(const struct software_list *list,
                          json_t *(*item_value)(const struct software_item *, bool *), bool *failed)
{
    json_t *array = json_array();
    for (size_t i = 0; i < list->count; i++)
        json_add(array, item_value(&list->items[i], failed), failed);
    return array;
}

static json_t *managed_value(const struct desired_team *team, bool *failed)
{
    json_t *value = json_object();
    json_put(value, "packages", json_boolean(team->packages.state != LIST_ABSENT), failed);
    json_put(value, "fleet_maintained_apps", json_boolean(team->maintained_apps.state != LIST_ABSENT),
             failed);
    json_put(value, "app_store_apps", json_boolean(team->app_store_apps.state != LIST_ABSENT), failed);
    return value;
}

static json_t *team_value(const struct desired_team *team, bool *failed)
{
    json_t *value = json_object();
    json_put(value, "name", json_text(team->name), failed);
    json_put(value, "file", json_text(team->place.file), failed);
    json_put(value, "valid", json_boolean(!team->is_invalid), failed);
    json_put(value, "managed", managed_value(team, failed), failed);
    json_put(value, "packages", list_value(&team->packages, package_value, failed), failed);
    json_put(value, "fleet_maintained_apps", list_value(&team->maintained_apps, maintained_app_value, failed),
             failed);
    json_put(value, "app_store_apps", list_value(&team->app_store_apps, app_store_app_value, failed), failed);
    return value;
}

int json_show(const struct desired *desired, const struct report_style *style, struct buf *out, struct err *e)
{
    (void)style;
    bool failed = false;
    json_t *document = json_object();
    json_t *teams = json_array();
    for (size_t i = 0; i < desired->team_count; i++)
        json_add(teams, team_value(&desired->teams[i], &failed), &failed);
    json_put(document, "format_version", json_integer(REPORT_FORMAT_VERSION), &failed);
    json_put(document, "revision", json_text(desired->revision), &failed);
    json_put(document, "teams", teams, &failed);
    json_put(document, "errors", json_diagnostic_list(desired->diagnostics, desired->diagnostic_count, true),
             &failed);
    return json_write(document, failed, out, e);
}

int json_diagnostics(const struct desired *desired, const struct report_style *style, struct buf *out,
                     struct err *e)
{
    (void)style;
    bool failed = false;
    json_t *document = json_object();
    size_t warnings = desired->diagnostic_count - desired->error_count;
    json_put(document, "format_version", json_integer(REPORT_FORMAT_VERSION), &failed);
    json_put(document, "revision", json_text(desired->revision), &failed);
    json_put(document, "files", json_integer((json_int_t)desired->file_count), &failed);
    json_put(document, "teams", json_integer((json_int_t)desired->team_count), &failed);
    json_put(document, "error_count", json_integer((json_int_t)desired->error_count), &failed);
    json_put(document, "warning_count", json_integer((json_int_t)warnings), &failed);
    json_put(document, "diagnostics",
             json_diagnostic_list(desired->diagnostics, desired->diagnostic_count, false), &failed);
    return json_write(document, failed, out, e);
}
