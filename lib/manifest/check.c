/* Rules over several keys of an entry: they are checked after everything was read, so that its mistakes are
 * all told at once. */
#include "base/text.h"
#include "base/url.h"
#include "manifest/schema.h"
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { ICON_LEAST = 120, ICON_MOST = 1024, ICON_HEADER_BYTES = 24 };

/* What the URL's file name ends with decides about its type, whatever the query says. */
static bool url_names(const char *url, const char *suffix)
{
    char name[URL_TEXT_BYTES];
    return url != NULL && text_ends_with_ignoring_case(url_file_name(url, name, sizeof name), suffix);
}

/* Fleet makes no default scripts for these. */
static int check_scripts(struct load *load, struct entry *entry, struct err *e)
{
    static const char *const suffixes[] = {".exe", ".tar.gz", ".tgz"};
    static const enum entry_key needed[] = {KEY_INSTALL_SCRIPT, KEY_UNINSTALL_SCRIPT};
    for (size_t i = 0; i < ARRAY_LENGTH(suffixes); i++) {
        if (!url_names(entry->item.url, suffixes[i]))
            continue;
        for (size_t k = 0; k < ARRAY_LENGTH(needed); k++) {
            if (entry->values[needed[k]] != NULL)
                continue;
            entry->has_errors = true;
            if (diagnose_at(load, RULE_MISSING_SCRIPT, entry->node,
                            "name a script under the key, as `path: …`", e,
                            "a %s package needs \"%s\": Fleet has no default for it", suffixes[i],
                            schema_key_name(needed[k])) < 0)
                return -1;
        }
    }
    return 0;
}

int check_configuration(struct load *load, const struct software_item *item, const struct yaml_node *key,
                        bool *has_errors, struct err *e)
{
    if (item->url == NULL || url_names(item->url, ".ipa"))
        return 0;
    *has_errors = true;
    return diagnose_at(load, RULE_MISPLACED_KEY, key, NULL, e, "\"configuration\" is for .ipa packages only");
}

/* A backup that is tried already brings nothing. */
static int check_backups(struct load *load, const struct entry *entry, struct err *e)
{
    const struct yaml_node *node = entry->values[KEY_BACKUP_URLS];
    const struct string_list *urls = &entry->item.backup_urls;
    char shown[SHOWN_BYTES];
    if (node == NULL || urls->count != node->count) /* a mistake was told */
        return 0;
    for (size_t i = 0; i < urls->count; i++) {
        bool is_twice = text_equal(entry->item.url, urls->items[i]);
        for (size_t k = 0; k < i && k < 1000 && !is_twice; k++)
            is_twice = strcmp(urls->items[i], urls->items[k]) == 0;
        if (is_twice && diagnose_at(load, RULE_REPEATED_BACKUP, node->items[i], "remove it", e,
                                    "the backup URL %s is tried before already",
                                    diagnose_value(node->items[i], shown)) < 0)
            return -1;
    }
    return 0;
}

int check_package(struct load *load, struct entry *entry, struct err *e)
{
    const struct yaml_node *always = entry->values[KEY_ALWAYS_DOWNLOAD];
    const struct yaml_node *configuration = entry->values[KEY_CONFIGURATION];
    if (entry->node->kind != YAML_MAPPING)
        return 0;
    if (always != NULL && entry->item.always_download && entry->values[KEY_HASH_SHA256] != NULL) {
        entry->has_errors = true;
        if (diagnose_at(load, RULE_CONFLICTING_KEYS, entry->keys[KEY_ALWAYS_DOWNLOAD], "remove one of them",
                        e, "\"always_download\" makes no sense with \"hash_sha256\"") < 0)
            return -1;
    }
    if (configuration != NULL && entry->item.configuration.path != NULL &&
        check_configuration(load, &entry->item, entry->keys[KEY_CONFIGURATION], &entry->has_errors, e) < 0)
        return -1;
    return check_backups(load, entry, e) < 0 ? -1 : check_scripts(load, entry, e);
}

/* What people write for the two platforms of Fleet's catalogue; NULL: something else. */
static const char *slug_platform(const char *text)
{
    static const char *const meant[][2] = {{"mac", "darwin"},    {"macos", "darwin"}, {"osx", "darwin"},
                                           {"darwin", "darwin"}, {"win", "windows"},  {"windows", "windows"}};
    for (size_t i = 0; i < ARRAY_LENGTH(meant); i++)
        if (strcasecmp(text, meant[i][0]) == 0)
            return meant[i][1];
    return NULL;
}

/* What is wrong with the slug: constant or in the arena; *out is NULL if nothing is that can be seen. */
static int slug_fault(struct load *load, const char *slug, const char **out, struct err *e)
{
    const char *slash = strchr(slug, '/');
    *out = NULL;
    if (slash == NULL || slash == slug || slash[1] == '\0')
        *out = " has no platform: it reads like google-chrome/darwin";
    else if (strchr(slug, ' ') != NULL)
        *out = " holds a blank";
    else if (strchr(slash + 1, '/') != NULL)
        *out = " has more than one \"/\": it reads like google-chrome/darwin";
    if (*out != NULL)
        return 0;
    const char *platform = slug_platform(slash + 1);
    if (platform == NULL) {
        *out = " must end with /darwin or /windows: Fleet's catalogue has no other platforms";
        return 0;
    }
    char *right = arena_printf(load->arena, e, "%.*s/%s", (int)(slash - slug), slug, platform);
    if (right == NULL)
        return -1;
    for (char *byte = right; *byte != '\0'; byte++)
        *byte = (char)(*byte >= 'A' && *byte <= 'Z' ? *byte - 'A' + 'a' : *byte);
    if (strcmp(right, slug) == 0)
        return 0;
    *out = arena_printf(load->arena, e, ": did you mean \"%s\"?", right);
    return *out == NULL ? -1 : 0;
}

/* A slug that can't be right: what it is for is the catalogue's affair. */
static int check_slug(struct load *load, struct entry *entry, struct err *e)
{
    char shown[SHOWN_BYTES];
    const struct yaml_node *node = entry->values[KEY_SLUG];
    const char *fault;
    if (slug_fault(load, entry->item.slug, &fault, e) < 0)
        return -1;
    if (fault == NULL)
        return 0;
    entry->has_errors = true;
    return diagnose_at(load, RULE_SLUG, node, NULL, e, "the slug \"%s\"%s", diagnose_value(node, shown),
                       fault);
}

static bool is_time(const char *text)
{
    return strlen(text) == 5 && isdigit((unsigned char)text[0]) && isdigit((unsigned char)text[1]) &&
           text[2] == ':' && isdigit((unsigned char)text[3]) && isdigit((unsigned char)text[4]) &&
           strncmp(text, "24", 2) < 0 && text[3] < '6';
}

static int check_window(struct load *load, struct entry *entry, struct err *e)
{
    const struct {
        enum entry_key key;
        const char *text;
    } ends[] = {{KEY_AUTO_UPDATE_WINDOW_START, entry->item.auto_update_window_start},
                {KEY_AUTO_UPDATE_WINDOW_END, entry->item.auto_update_window_end}};
    char shown[SHOWN_BYTES];
    for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
        if (ends[i].text == NULL || is_time(ends[i].text))
            continue;
        entry->has_errors = true;
        if (diagnose_at(load, RULE_TIME, entry->values[ends[i].key], NULL, e,
                        "\"%s\" must be a time of day like 02:30, not \"%s\"", schema_key_name(ends[i].key),
                        diagnose_value(entry->values[ends[i].key], shown)) < 0)
            return -1;
    }
    bool has_start = entry->values[KEY_AUTO_UPDATE_WINDOW_START] != NULL;
    if (has_start == (entry->values[KEY_AUTO_UPDATE_WINDOW_END] != NULL))
        return 0;
    entry->has_errors = true;
    return diagnose_at(load, RULE_MISSING_KEY, entry->keys[has_start ? ends[0].key : ends[1].key], NULL, e,
                       "\"%s\" needs \"%s\" beside it", schema_key_name(ends[has_start ? 0 : 1].key),
                       schema_key_name(ends[has_start ? 1 : 0].key));
}

/* Apple's ids are numbers, Google's are names like com.example.app. Fleet decides. */
static int check_store_id(struct load *load, const struct entry *entry, struct err *e)
{
    char shown[SHOWN_BYTES];
    const struct software_item *item = &entry->item;
    const struct yaml_node *node = entry->values[KEY_APP_STORE_ID];
    bool is_number = item->app_store_id[strspn(item->app_store_id, "0123456789")] == '\0';
    bool is_android = text_equal(item->platform, "android");
    if (is_number != is_android)
        return 0;
    return diagnose_at(load, RULE_STORE_ID, node,
                       is_android ? NULL : "an app of Google Play needs `platform: android`", e,
                       is_android ? "the id \"%s\" is a number: apps of Google Play have names like "
                                    "com.example.app"
                                  : "the id \"%s\" is no number, as apps of the App Store have",
                       diagnose_value(node, shown));
}

int check_platform(struct load *load, const char *platform, const struct yaml_node *node, bool *has_errors,
                   struct err *e)
{
    static const char *const platforms[] = {"darwin", "ios", "ipados", "android"};
    char shown[SHOWN_BYTES];
    for (size_t i = 0; i < ARRAY_LENGTH(platforms); i++)
        if (strcmp(platform, platforms[i]) == 0)
            return 0;
    *has_errors = true;
    const char *advice = text_starts_with(platform, "mac") ? "for macOS it is darwin" : NULL;
    return diagnose_at(load, RULE_PLATFORM, node, advice, e,
                       "\"platform\" must be darwin, ios, ipados or android, not \"%s\"",
                       diagnose_value(node, shown));
}

int check_app(struct load *load, struct entry *entry, struct err *e)
{
    const struct software_item *item = &entry->item;
    if (item->slug != NULL && check_slug(load, entry, e) < 0)
        return -1;
    if (check_window(load, entry, e) < 0 ||
        (item->app_store_id != NULL && check_store_id(load, entry, e) < 0))
        return -1;
    return item->platform == NULL
               ? 0
               : check_platform(load, item->platform, entry->values[KEY_PLATFORM], &entry->has_errors, e);
}

static uint32_t big_endian(const char *bytes)
{
    const unsigned char *byte = (const unsigned char *)bytes;
    return (uint32_t)byte[0] << 24 | (uint32_t)byte[1] << 16 | (uint32_t)byte[2] << 8 | byte[3];
}

int check_icon(struct load *load, const struct text_file *icon, const struct yaml_node *node,
               bool *has_errors, struct err *e)
{
    static const char signature[] = "\x89PNG\r\n\x1a\n";
    const char *problem;
    if (icon->length < ICON_HEADER_BYTES || memcmp(icon->text, signature, sizeof signature - 1) != 0) {
        problem = arena_printf(load->arena, e, "%s is no PNG picture", icon->path);
    } else {
        uint32_t width = big_endian(icon->text + 16);
        uint32_t height = big_endian(icon->text + 20);
        if (width == height && width >= ICON_LEAST && width <= ICON_MOST)
            return 0;
        problem = arena_printf(load->arena, e,
                               "%s has %u × %u pixels: it must be square, with 120 to 1024 pixels a side",
                               icon->path, width, height);
    }
    *has_errors = true;
    return problem == NULL ? -1
                           : reference_blame(load, RULE_UNUSABLE_FILE, node, "icon", icon->path, problem, e);
}
