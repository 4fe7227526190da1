/* What a wished item is called, what identifies it, and what its wish amounts to: asked by every stage behind
 * the manifest. */
#include "model/software.h"
#include "base/digest.h"
#include "base/text.h"
#include "base/url.h"
#include <stdio.h>
#include <string.h>

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static int print_name(const struct software_item *item, char *out, size_t size)
{
    if (!text_is_empty(item->display_name))
        return snprintf(out, size, "%s", item->display_name);
    if (item->kind == SOFTWARE_MAINTAINED_APP)
        return snprintf(out, size, "%s", item->slug != NULL ? item->slug : "(no slug)");
    if (item->kind == SOFTWARE_APP_STORE_APP)
        return snprintf(out, size, "App Store %s%s%s",
                        item->app_store_id != NULL ? item->app_store_id : "(no id)",
                        item->platform != NULL ? "/" : "", item->platform != NULL ? item->platform : "");
    if (item->script.path != NULL)
        return snprintf(out, size, "%s", base_name(item->script.path));
    if (item->url != NULL && url_file_name(item->url, out, size)[0] != '\0')
        return 0;
    if (!text_is_empty(item->package_file))
        return snprintf(out, size, "%s", base_name(item->package_file));
    if (item->url != NULL) {
        url_redact(item->url, out, size);
        return 0;
    }
    return snprintf(out, size, "sha256 %.12s", item->sha256 != NULL ? item->sha256 : "(none)");
}

const char *software_name(const struct software_item *item, char *out, size_t size)
{
    int length = print_name(item, out, size);
    if (length >= 0 && (size_t)length >= size)
        text_mark_cut(out, size);
    return out;
}

/* As snprintf("%s%s"), for what is asked of each item of each team. */
static int print_two(char *out, size_t size, const char *first, const char *second)
{
    size_t length = strlen(first);
    size_t more = strlen(second);
    if (length + more < size) {
        memcpy(out, first, length);
        memcpy(out + length, second, more + 1);
    }
    return length + more < size ? (int)(length + more) : -1;
}

static const char package_prefix[] = "package:";

int software_key(const struct software_item *item, char *out, size_t size, struct err *e)
{
    int length = 0;
    char hex[DIGEST_HEX_BYTES], shown[URL_TEXT_BYTES];
    switch (item->kind) {
    case SOFTWARE_PACKAGE:
        if (item->url == NULL) {
            length = print_two(out, size, "digest:", item->sha256 != NULL ? item->sha256 : "");
            break;
        }
        url_redact(item->url, shown, sizeof shown);
        bool hides_something = strcmp(shown, item->url) != 0;
        if (hides_something && digest_bytes(item->url, strlen(item->url), hex, e) < 0)
            return -1;
        length = snprintf(out, size, "%s%s %s", package_prefix, hides_something ? hex : "", shown);
        break;
    case SOFTWARE_SCRIPT_PACKAGE:
        length = snprintf(out, size, "script:%s", item->script.path != NULL ? item->script.path : "");
        break;
    case SOFTWARE_MAINTAINED_APP:
        length = snprintf(out, size, "maintained:%s", item->slug != NULL ? item->slug : "");
        break;
    case SOFTWARE_APP_STORE_APP:
        length = snprintf(out, size, "store:%s/%s", item->app_store_id != NULL ? item->app_store_id : "",
                          item->platform != NULL ? item->platform : "");
        break;
    }
    if (length < 0 || (size_t)length >= size)
        return err_set(e, ERR_MEMORY, "what identifies an item is longer than %zu bytes", size);
    return 0;
}

const char *software_key_url(const char *key)
{
    const char *blank = text_starts_with(key, package_prefix) ? strchr(key, ' ') : NULL;
    return blank == NULL ? NULL : blank + 1;
}

/* Each value goes into the digest with its length before it, so that no two wishes run into the same bytes.
 */
struct fingerprint {
    struct digest *digest;
    struct err *e;
    int result;
};

static void add_bytes(struct fingerprint *print, const char *name, const void *bytes, size_t length)
{
    char head[64];
    int head_length = snprintf(head, sizeof head, "%s=%zu:", name, bytes == NULL ? 0 : length);
    if (print->result == 0)
        print->result = digest_update(print->digest, head, (size_t)head_length, print->e);
    if (print->result == 0 && bytes != NULL)
        print->result = digest_update(print->digest, bytes, length, print->e);
}

static void add_text(struct fingerprint *print, const char *name, const char *text)
{
    if (text != NULL)
        add_bytes(print, name, text, strlen(text));
}

static void add_number(struct fingerprint *print, const char *name, int number)
{
    char text[16];
    snprintf(text, sizeof text, "%d", number);
    add_text(print, name, text);
}

static void add_file(struct fingerprint *print, const char *name, const struct text_file *file)
{
    if (file->path != NULL)
        add_bytes(print, name, file->text, file->length);
}

static void add_list(struct fingerprint *print, const char *name, const struct string_list *list)
{
    if (!list->is_set)
        return;
    add_number(print, name, (int)list->count);
    for (size_t i = 0; i < list->count; i++)
        add_text(print, "item", list->items[i]);
}

int software_fingerprint(const struct software_item *item, char hex[DIGEST_HEX_BYTES], struct err *e)
{
    CLEANUP(digest_cleanup) struct digest *digest = digest_new(e);
    if (digest == NULL)
        return -1;
    struct fingerprint print = {.digest = digest, .e = e};
    add_number(&print, "kind", (int)item->kind);
    add_text(&print, "url", item->url);
    add_text(&print, "sha256", item->sha256);
    add_text(&print, "slug", item->slug);
    add_text(&print, "version", item->version);
    add_text(&print, "app_store_id", item->app_store_id);
    add_text(&print, "platform", item->platform);
    add_number(&print, "auto_update_enabled", (int)item->auto_update_enabled);
    add_text(&print, "auto_update_window_start", item->auto_update_window_start);
    add_text(&print, "auto_update_window_end", item->auto_update_window_end);
    add_file(&print, "install_script", &item->install_script);
    add_file(&print, "uninstall_script", &item->uninstall_script);
    add_file(&print, "post_install_script", &item->post_install_script);
    add_file(&print, "pre_install_query", &item->pre_install_query);
    add_file(&print, "icon", &item->icon);
    add_file(&print, "configuration", &item->configuration);
    add_number(&print, "self_service", item->self_service);
    add_number(&print, "label_mode", (int)item->label_mode);
    add_list(&print, "labels", &item->labels);
    add_list(&print, "categories", &item->categories);
    add_number(&print, "setup_experience", (int)item->setup_experience);
    add_list(&print, "setup_experience_platforms", &item->setup_experience_platforms);
    add_text(&print, "display_name", item->display_name);
    if (print.result < 0)
        return -1;
    return digest_finish(digest, hex, e);
}

const char *software_kind_name(enum software_kind kind)
{
    switch (kind) {
    case SOFTWARE_PACKAGE:
        return "package";
    case SOFTWARE_SCRIPT_PACKAGE:
        return "script package";
    case SOFTWARE_MAINTAINED_APP:
        return "maintained app";
    case SOFTWARE_APP_STORE_APP:
        return "App Store app";
    }
    return "software";
}

static const char *const field_names[SOFTWARE_FIELD_COUNT] = {
    "package",
    "install_script",
    "uninstall_script",
    "post_install_script",
    "pre_install_query",
    "self_service",
    "labels",
    "categories",
    "display_name",
    "setup_experience",
    "icon",
    "configuration",
    "auto_update",
    "version",
};

const char *software_field_name(enum software_field field)
{
    for (size_t i = 0; i < SOFTWARE_FIELD_COUNT; i++)
        if ((unsigned)field == 1U << i)
            return field_names[i];
    return "unknown field";
}

const char *label_mode_name(enum label_mode mode)
{
    switch (mode) {
    case LABELS_NONE:
        return "";
    case LABELS_INCLUDE_ANY:
        return "labels_include_any";
    case LABELS_EXCLUDE_ANY:
        return "labels_exclude_any";
    case LABELS_INCLUDE_ALL:
        return "labels_include_all";
    }
    return "";
}

const char *software_fields_text(unsigned fields, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < SOFTWARE_FIELD_COUNT; i++) {
        if ((fields & 1U << i) == 0)
            continue;
        int length = snprintf(out + used, size - used, "%s%s", used > 0 ? ", " : "", field_names[i]);
        if (length < 0 || (size_t)length >= size - used)
            break;
        used += (size_t)length;
    }
    return out;
}
