/* The rules that a manifest can break, so that each has a case: those of the field table follow from the
 * table itself. */
#include "rules.h"
#include "base/attributes.h"
#include "manifest/schema_values.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* docs/manifests.md, and the rows F of the reports from the field. Rows that no manifest can show stand in
 * `elsewhere`. */
static const char *const listed[] = {
    "F1", "F2", "F3", "F4", "F5", "F6", "F7", "F10", "F11", "F12", "F16", "F18", "F21", "F22", "F23", "F24",
    "F26", "F27", "F28", "E17", "B1", "B4", "B23", "C8", "C11",
    /* keys */
    "unknown/team", "unknown/beside-file", "unknown/beside-script", "unknown/package-file",
    "unknown/maintained", "unknown/app-store", "twice/entry", "twice/package-file", "twice/list",
    "twice/software", "twice/name", "twice/reference", "slug/required", "app_store_id/required",
    "app_store_id/odd", "package/source", "path/paths", "path/kind", "labels/one-of-three",
    "always_download/hash", "configuration/ipa", "scripts/exe", "scripts/archive",
    /* values */
    "hash_sha256/digits", "url/scheme", "url/blank", "backup_urls/scheme", "backup_urls/again",
    "variable/odd", "value/block", "value/folded", "value/empty", "file/none", "value/control",
    "value/quoted-boolean", "self_service/word", "labels/empty-list", "labels/twice", "labels/item",
    "categories/item", "icon/png", "icon/size", "icon/square", "slug/platform", "platform/word",
    "window/time", "window/both",
    /* files */
    "both/labels", "both/self_service", "both/categories", "list-file/labels", "list-file/setup_experience",
    "package-file/kind", "package-file/empty", "package-file/yaml", "reference/missing", "reference/case",
    "reference/absolute", "reference/outside", "reference/base", "reference/chain", "reference/referrers",
    "reference/empty", "reference/lfs", "reference/text", "reference/crlf", "reference/too-large",
    "reference/key", "reference/kind", "paths/nothing", "paths/overlap", "query/one", "query/kind",
    "query/yaml",
    /* a team */
    "same/URL", "same/digest", "same/file", "same/script", "same/app", "software/kind", "software/misspelt",
    "software/unknown-list", "software/list-at-top", "list/kind", "entry/kind", "entry/empty",
    "organisation/software", "team/name", "team/empty", "team/kind", "team/collide", "team/suffixes",
    "team/none", "no-team/name", "no-team/file", "no-team/twice", "variable/unset", "variable/secret",
    "variable/value", "setup/unknown", "setup/refused", "setup/list", "setup/controls", "setup/key",
    "setup/kind", "setup/type", "setup/path", "setup/misspelt", "setup/both", "setup/either", "setup/twice",
    "setup/again",
    /* YAML */
    "yaml/tab", "yaml/colon", "yaml/below-value", "yaml/quote", "yaml/fence", "yaml/character",
    "yaml/indentation", "yaml/missing-colon", "yaml/behind-value", "yaml/flow", "yaml/escape", "yaml/alias",
    "yaml/bomb", "yaml/depth", "yaml/documents", "yaml/merge", "yaml/tag", "yaml/block", "yaml/utf8",
    "yaml/utf16", "yaml/nul", "yaml/control", "yaml/size", "yaml/content", "yaml/directive", "yaml/conflict"};

/* Rows of which the right behaviour is no complaint: the test that shows it, which names the row. */
static const struct {
    const char *row;
    const char *test;
} elsewhere[] = {
    {"F8", "manifest/cases/scripts-opaque.case"},
    {"F15", "plan/team-missing/case.json"},
    {"F17", "manifest/cases/comment-dashes.case"},
    {"F20", "manifest/cases/many-errors.case"},
};

static void add(struct rules *rules, const char *first, const char *second)
{
    if (rules->count == RULES_MAX)
        abort();
    snprintf(rules->names[rules->count++], RULE_BYTES, "%s%s%s", first, second[0] == '\0' ? "" : "/", second);
}

void rules_collect(struct rules *rules)
{
    const unsigned everywhere =
        IN_TEAM | BESIDE_FILE | BESIDE_SCRIPT | IN_PACKAGE_FILE | IN_MAINTAINED | IN_APP_STORE;
    *rules = (struct rules){.count = 0};
    for (int key = 0; key < ENTRY_KEY_COUNT; key++) {
        const struct field *field = schema_field((enum entry_key)key);
        add(rules, field->key, "type");
        if (field->max > 0)
            add(rules, field->key, "length");
        if (field->where != everywhere)
            add(rules, field->key, "place");
    }
    for (size_t i = 0; i < ARRAY_LENGTH(listed); i++)
        add(rules, listed[i], "");
}

static bool note_word(struct rules *rules, const char *word, size_t length)
{
    for (size_t i = 0; i < rules->count; i++)
        if (strlen(rules->names[i]) == length && memcmp(rules->names[i], word, length) == 0) {
            rules->has_case[i] = true;
            return true;
        }
    return false;
}

bool rules_note(struct rules *rules, const char *name, const char *text, size_t length)
{
    static const char marker[] = "\n# breaks: ";
    const char *at = memmem(text, length, marker, sizeof marker - 1);
    size_t words = 0;
    if (at == NULL) {
        printf("FAILED %s names no rule\n", name);
        return false;
    }
    at += sizeof marker - 1;
    const char *end = memchr(at, '\n', length - (size_t)(at - text));
    while (end != NULL && at < end) {
        size_t word = strcspn(at, " \n");
        if (word > 0 && !note_word(rules, at, word)) {
            printf("FAILED %s: %.*s is no rule\n", name, (int)word, at);
            return false;
        }
        words += word > 0;
        at += word + 1;
    }
    return words > 0;
}

/* Whether the file says the row's name. */
static bool names_row(const char *path, const char *row)
{
    char full[1024];
    char text[256 * 1024];
    snprintf(full, sizeof full, "%s/%s", TEST_SOURCE_DIR, path);
    FILE *file = fopen(full, "r");
    if (file == NULL)
        return false;
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    for (const char *at = strstr(text, row); at != NULL; at = strstr(at + 1, row))
        if (at[strlen(row)] < '0' || at[strlen(row)] > '9')
            return true;
    return false;
}

size_t rules_missing(const struct rules *rules)
{
    size_t missing = 0;
    for (size_t i = 0; i < rules->count; i++) {
        if (rules->has_case[i])
            continue;
        printf("FAILED: the rule %s has no case in invalid/\n", rules->names[i]);
        missing++;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(elsewhere); i++) {
        if (names_row(elsewhere[i].test, elsewhere[i].row))
            continue;
        printf("FAILED: %s does not name the row %s\n", elsewhere[i].test, elsewhere[i].row);
        missing++;
    }
    return missing;
}
