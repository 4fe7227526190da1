/* Any bytes as one entry of a list of software, read by the field tables: what comes out without an error
 * keeps the rules of the format; what has errors was told. The first byte chooses where the entry stands. */
#include "base/text.h"
#include "base/url.h"
#include "manifest/schema.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const enum entry_context contexts[] = {IN_TEAM, IN_PACKAGE_FILE, IN_MAINTAINED, IN_APP_STORE};

static const char picture[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x78\0\0\0\x78\x08\6\0\0\0"; /* 120 × 120 */
static const char script[] = "#!/bin/sh\r\necho $FLEET_SECRET_KEY $HOME\n";

/* Every path whose name says what it is exists. */
static int read_any(void *context, const char *path, struct buf *out, struct err *e)
{
    (void)context;
    if (text_ends_with(path, ".png"))
        return buf_add(out, picture, sizeof picture - 1, e);
    if (text_ends_with(path, ".yml"))
        return buf_add_text(out, "- query: SELECT 1;\n", e);
    if (text_ends_with(path, ".sh"))
        return buf_add_text(out, script, e);
    return err_set(e, ERR_NOT_FOUND, "%s does not exist", path);
}

static int list_none(void *context, const char *folder,
                     void (*each)(void *user, const char *name, bool is_folder), void *user, struct err *e)
{
    (void)context;
    (void)folder;
    (void)e;
    each(user, "a.sh", false);
    each(user, "a.yml", false);
    return 0;
}

static const char *variable(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "UNSET") == 0 ? NULL : "https://packages.example.com";
}

/* An entry that is free of errors. */
static void check_entry(const struct entry *entry, enum entry_context context)
{
    const struct software_item *item = &entry->item;
    if (item->url != NULL && !url_is_http(item->url))
        abort();
    if (item->sha256 != NULL && !digest_is_hex(item->sha256))
        abort();
    if ((context == IN_MAINTAINED && item->slug == NULL && entry->values[KEY_SLUG] == NULL) ||
        (context == IN_APP_STORE && item->app_store_id == NULL && entry->values[KEY_APP_STORE_ID] == NULL))
        abort();
    if (item->labels.is_set && item->labels.count > 0 && item->label_mode == LABELS_NONE)
        abort();
    for (int key = 0; key < ENTRY_KEY_COUNT; key++)
        if (entry->values[key] != NULL && context != IN_TEAM && !schema_allows((enum entry_key)key, context))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct err e;
    struct entry entry;
    const struct yaml_node *root = NULL;
    const struct manifest_source source = {.list = list_none, .read = read_any};
    const struct manifest_options options = {
        .subdir = "", .max_document_bytes = 1024 * 1024, .variable = variable};
    struct arena *arena = arena_new(256 * 1024 * 1024);
    err_init(&e);
    if (arena == NULL)
        abort();
    if (size > 0) {
        enum entry_context context = contexts[bytes[0] % ARRAY_LENGTH(contexts)];
        struct load load = {
            .source = &source, .options = &options, .arena = arena, .referrer = "teams/a.yml"};
        struct yaml_file file = {.path = "teams/a.yml", .text = (const char *)bytes + 1, .length = size - 1};
        if (yaml_parse(&file, arena, &root, &e) == 0 && root != NULL &&
            schema_read_entry(&load, root, context, &entry, &e) == 0 &&
            (entry.path != NULL || context >= IN_MAINTAINED || check_package(&load, &entry, &e) == 0)) {
            if (entry.has_errors != (load.error_count > 0))
                abort();
            if (!entry.has_errors)
                check_entry(&entry, context);
        }
    }
    arena_free(arena);
    return 0;
}
