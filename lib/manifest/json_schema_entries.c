/* The JSON Schemas of team files and package files: the field table, context by context, and the rules over
 * several keys that a schema can say. */
#include "base/text.h"
#include "manifest/json_schema_types.h"
#include "manifest/schema_values.h"
#include <stdio.h>

static const char *const descriptions[ENTRY_KEY_COUNT] = {
    [KEY_PATH] =
        ("A package file (.yml, .yaml) or a script that is the package (.sh, .ps1, .py), relative to "
         "this file"),
    [KEY_PATHS] =
        "A glob for such files, relative to this file: *, ? and [...] in a part, ** for any folders",
    [KEY_URL] = "Where the package is downloaded from: http:// or https://",
    [KEY_HASH_SHA256] = "The package's SHA-256; without a URL, Fleet must have these bytes",
    [KEY_BACKUP_URLS] = "Tender's own: where else the same bytes lie",
    [KEY_INSTALL_SCRIPT] = "The script that installs it; needed for .exe and .tar.gz",
    [KEY_UNINSTALL_SCRIPT] = "The script that removes it; needed for .exe and .tar.gz",
    [KEY_POST_INSTALL_SCRIPT] = "A script that runs behind the installation",
    [KEY_PRE_INSTALL_QUERY] = "A file with one query: the package is installed where it answers",
    [KEY_SELF_SERVICE] = "Whether people may install it themselves",
    [KEY_LABELS_INCLUDE_ANY] = "Only computers with one of these labels",
    [KEY_LABELS_EXCLUDE_ANY] = "Only computers with none of these labels",
    [KEY_LABELS_INCLUDE_ALL] = "Only computers with all of these labels",
    [KEY_CATEGORIES] = "Where self-service shows it",
    [KEY_SETUP_EXPERIENCE] = "Whether it is installed during set-up; absent: as Fleet has it",
    [KEY_SETUP_EXPERIENCE_PLATFORM] = "On which platforms it is installed during set-up",
    [KEY_ICON] = "A square PNG picture of 120 to 1024 pixels a side",
    [KEY_DISPLAY_NAME] = "What Fleet calls it",
    [KEY_ALWAYS_DOWNLOAD] = "Download it in every run; not with hash_sha256",
    [KEY_CONFIGURATION] = "A file with the app's configuration",
    [KEY_SLUG] = "The app in Fleet's catalogue, like google-chrome/darwin",
    [KEY_VERSION] = "The version that stays",
    [KEY_APP_STORE_ID] = "The app's id in the store",
    [KEY_PLATFORM] = "Which platform's app: darwin, ios, ipados or android",
    [KEY_AUTO_UPDATE_ENABLED] = "Whether the app is updated by itself",
    [KEY_AUTO_UPDATE_WINDOW_START] = "When updates may begin",
    [KEY_AUTO_UPDATE_WINDOW_END] = "When updates must have begun",
};

static const struct {
    enum entry_context context;
    const char *name;
} contexts[] = {
    {IN_TEAM, "ownPackage"},          {BESIDE_FILE, "besidePackageFile"}, {BESIDE_SCRIPT, "besideScript"},
    {IN_PACKAGE_FILE, "packageFile"}, {IN_MAINTAINED, "maintainedApp"},   {IN_APP_STORE, "appStoreApp"},
};

static const char script_path[] = "\\.([sS][hH]|[pP][sS]1|[pP][yY])$";
static const char package_path[] = "\\.([yY][aA]?[mM][lL]|[sS][hH]|[pP][sS]1|[pP][yY])$";
static const char *const label_keys[] = {"labels_include_any", "labels_exclude_any", "labels_include_all"};
static const char *const platforms[] = {"darwin", "ios", "ipados", "android", NULL};
static const char *const sections[] = {"macos_setup", "setup_experience"};
static const char *const lists[][3] = {
    {"packages", "package", "Packages by URL, by digest, by package file or as scripts"},
    {"fleet_maintained_apps", "maintainedApp", "Apps of Fleet's catalogue"},
    {"app_store_apps", "appStoreApp", "Apps of the App Store and of Google Play"},
};

/* {path: f} */
static void define_file(struct json_writer *writer)
{
    write_open(writer, "file", '{');
    write_text(writer, "type", "object");
    write_open(writer, "properties", '{');
    write_open(writer, "path", '{');
    write_text(writer, "description", "Relative to this file");
    write_text(writer, "$ref", "#/$defs/word");
    write_close(writer, '}');
    write_close(writer, '}');
    write_texts(writer, "required", (const char *const[]){"path", NULL});
    write_truth(writer, "additionalProperties", false);
    write_close(writer, '}');
}

/* A text of at most `most` characters, unless a variable stands in it. */
static void write_limited(struct json_writer *writer, const char *type, size_t most)
{
    char path[64];
    snprintf(path, sizeof path, "#/$defs/%s", type);
    types_refer(writer, NULL, "variable");
    write_open(writer, NULL, '{');
    write_text(writer, "$ref", path);
    write_number(writer, "maxLength", (int64_t)most);
    write_close(writer, '}');
}

static void write_limited_pattern(struct json_writer *writer, const char *pattern, size_t most)
{
    types_refer(writer, NULL, "variable");
    write_open(writer, NULL, '{');
    write_text(writer, "type", "string");
    write_text(writer, "pattern", pattern);
    write_number(writer, "maxLength", (int64_t)most);
    write_close(writer, '}');
}

static void write_limited_list(struct json_writer *writer, const char *type, size_t most)
{
    write_open(writer, NULL, '{');
    write_text(writer, "type", "array");
    write_open(writer, "items", '{');
    write_open(writer, "anyOf", '[');
    write_limited(writer, type, most);
    write_close(writer, ']');
    write_close(writer, '}');
    write_close(writer, '}');
}

static void write_words(struct json_writer *writer, const char *const *words)
{
    types_refer(writer, NULL, "variable");
    write_open(writer, NULL, '{');
    write_texts(writer, "enum", words);
    write_close(writer, '}');
}

static void write_field(struct json_writer *writer, enum entry_key key)
{
    const struct field *field = schema_field(key);
    types_property_begin(writer, field->key, descriptions[key]);
    switch (field->type) {
    case TYPE_PATH:
        if (key == KEY_PATH)
            write_limited_pattern(writer, package_path, field->max);
        else
            write_limited(writer, "word", field->max);
        break;
    case TYPE_TEXT:
        if (key == KEY_PLATFORM)
            write_words(writer, platforms);
        else if (key == KEY_SLUG)
            write_limited_pattern(writer, "/", field->max);
        else
            write_limited(writer, key == KEY_APP_STORE_ID ? "word" : "text", field->max);
        break;
    case TYPE_URL:
        write_limited(writer, "url", field->max);
        break;
    case TYPE_URLS:
        write_limited_list(writer, "url", field->max);
        break;
    case TYPE_DIGEST:
        types_refer(writer, NULL, "digest");
        break;
    case TYPE_SCRIPT:
    case TYPE_QUERY:
    case TYPE_ICON:
    case TYPE_BYTES:
        types_refer(writer, NULL, "file");
        break;
    case TYPE_SWITCH:
    case TYPE_TRISTATE:
        types_refer(writer, NULL, "switch");
        break;
    case TYPE_TEXT_OR_TEXTS:
        types_refer(writer, NULL, "word");
        types_list(writer, NULL, "word");
        break;
    case TYPE_TEXTS:
    case TYPE_LABELS:
        types_list(writer, NULL, "word");
        break;
    }
    types_property_end(writer);
}

/* Two of the keys, both given. */
static void write_both(struct json_writer *writer, const char *a, const char *b)
{
    write_open(writer, NULL, '{');
    write_open(writer, "allOf", '[');
    types_given(writer, NULL, a);
    types_given(writer, NULL, b);
    write_close(writer, ']');
    write_close(writer, '}');
}

/* always_download: true beside a digest. */
static void write_useless_download(struct json_writer *writer)
{
    write_open(writer, NULL, '{');
    write_open(writer, "allOf", '[');
    types_given(writer, NULL, "hash_sha256");
    types_given(writer, NULL, "always_download");
    write_open(writer, NULL, '{');
    write_open(writer, "properties", '{');
    write_open(writer, "always_download", '{');
    write_open(writer, "anyOf", '[');
    write_open(writer, NULL, '{');
    write_truth(writer, "const", true);
    write_close(writer, '}');
    types_pattern(writer, NULL, "^([tT][rR][uU][eE]|[yY][eE][sS]|[oO][nN])$");
    write_close(writer, ']');
    write_close(writer, '}');
    write_close(writer, '}');
    write_close(writer, '}');
    write_close(writer, ']');
    write_close(writer, '}');
}

/* What may not stand together. */
static void write_conflicts(struct json_writer *writer, enum entry_context context)
{
    write_open(writer, "not", '{');
    write_open(writer, "anyOf", '[');
    write_both(writer, label_keys[0], label_keys[1]);
    write_both(writer, label_keys[0], label_keys[2]);
    write_both(writer, label_keys[1], label_keys[2]);
    if ((context & (BESIDE_FILE | BESIDE_SCRIPT)) != 0)
        write_both(writer, "path", "paths");
    if (context == IN_PACKAGE_FILE)
        write_useless_download(writer);
    write_close(writer, ']');
    write_close(writer, '}');
}

static void define_entry(struct json_writer *writer, enum entry_context context, const char *name)
{
    write_open(writer, name, '{');
    write_text(writer, "type", "object");
    write_open(writer, "properties", '{');
    for (int key = 0; key < ENTRY_KEY_COUNT; key++)
        if (schema_allows((enum entry_key)key, context))
            write_field(writer, (enum entry_key)key);
    write_close(writer, '}');
    write_truth(writer, "additionalProperties", false);
    write_conflicts(writer, context);
    if (context == IN_TEAM || context == IN_PACKAGE_FILE) {
        write_open(writer, "anyOf", '[');
        types_given(writer, NULL, "url");
        types_given(writer, NULL, "hash_sha256");
        write_close(writer, ']');
    }
    if (context == IN_MAINTAINED || context == IN_APP_STORE) {
        write_open(writer, "allOf", '[');
        types_given(writer, NULL, context == IN_MAINTAINED ? "slug" : "app_store_id");
        write_close(writer, ']');
    }
    write_close(writer, '}');
}

/* {"required": [key], "properties": {…}}, whose inner object stays open. */
static void begin_having(struct json_writer *writer, const char *key)
{
    const char *const keys[] = {key, NULL};
    write_open(writer, NULL, '{');
    write_texts(writer, "required", keys);
    write_open(writer, "properties", '{');
}

static void end_having(struct json_writer *writer)
{
    write_close(writer, '}');
    write_close(writer, '}');
}

static void write_is_script(struct json_writer *writer, const char *key)
{
    begin_having(writer, key);
    types_pattern(writer, key, script_path);
    end_having(writer);
}

/* `path` decides what else may stand in an entry of `packages`. */
static void define_package(struct json_writer *writer)
{
    write_open(writer, "package", '{');
    write_text(writer, "type", "object");
    write_open(writer, "if", '{');
    write_open(writer, "anyOf", '[');
    types_given(writer, NULL, "path");
    types_given(writer, NULL, "paths");
    write_close(writer, ']');
    write_close(writer, '}');
    write_open(writer, "then", '{');
    write_open(writer, "if", '{');
    write_open(writer, "anyOf", '[');
    write_is_script(writer, "path");
    write_is_script(writer, "paths");
    write_close(writer, ']');
    write_close(writer, '}');
    types_refer(writer, "then", "besideScript");
    types_refer(writer, "else", "besidePackageFile");
    write_close(writer, '}');
    types_refer(writer, "else", "ownPackage");
    write_close(writer, '}');
}

/* One entry of the set-up software in `controls`, and the section that holds them, of which the rest is not
 * Tender's. */
static void define_setup(struct json_writer *writer)
{
    write_open(writer, "setupSoftware", '{');
    write_text(writer, "type", "object");
    write_open(writer, "properties", '{');
    types_property(writer, "package_path", "A package file or a script of the team's software", "word");
    types_property(writer, "app_store_id", "An App Store app of the team's software", "word");
    types_property(writer, "platform", "Beside app_store_id: that platform's app only", "word");
    write_close(writer, '}');
    write_truth(writer, "additionalProperties", false);
    write_open(writer, "oneOf", '[');
    types_given(writer, NULL, "package_path");
    types_given(writer, NULL, "app_store_id");
    write_close(writer, ']');
    write_close(writer, '}');
    write_open(writer, "setup", '{');
    write_open(writer, "properties", '{');
    types_property_begin(writer, "software", "What is installed while a computer is set up");
    types_list(writer, NULL, "setupSoftware");
    types_property_end(writer);
    write_close(writer, '}');
    write_close(writer, '}');
}

static void write_has_setup(struct json_writer *writer, const char *section)
{
    begin_having(writer, section);
    write_open(writer, section, '{');
    write_text(writer, "type", "object");
    write_open(writer, "allOf", '[');
    types_given(writer, NULL, "software");
    write_close(writer, ']');
    write_close(writer, '}');
    end_having(writer);
}

/* Two names of one section: software in one of them. */
static void write_controls(struct json_writer *writer)
{
    write_open(writer, "controls", '{');
    write_text(writer, "description", "Tender reads the set-up software in it");
    write_open(writer, "properties", '{');
    for (size_t i = 0; i < ARRAY_LENGTH(sections); i++)
        types_refer(writer, sections[i], "setup");
    write_close(writer, '}');
    write_open(writer, "not", '{');
    write_text(writer, "type", "object");
    write_open(writer, "allOf", '[');
    for (size_t i = 0; i < ARRAY_LENGTH(sections); i++)
        write_has_setup(writer, sections[i]);
    write_close(writer, ']');
    write_close(writer, '}');
    write_close(writer, '}');
}

static void begin(struct json_writer *writer, const char *title, const char *description)
{
    types_begin(writer, title, description);
    define_file(writer);
    for (size_t i = 0; i < ARRAY_LENGTH(contexts); i++)
        define_entry(writer, contexts[i].context, contexts[i].name);
}

static void write_software(struct json_writer *writer)
{
    types_property_begin(writer, "software", "What the team's computers get; an absent list is not managed");
    write_open(writer, NULL, '{');
    write_text(writer, "type", "object");
    write_open(writer, "properties", '{');
    for (size_t i = 0; i < ARRAY_LENGTH(lists); i++) {
        types_property_begin(writer, lists[i][0], lists[i][2]);
        types_list(writer, NULL, lists[i][1]);
        types_property_end(writer);
    }
    write_close(writer, '}');
    write_truth(writer, "additionalProperties", false);
    write_close(writer, '}');
    types_property_end(writer);
}

int types_write_team(struct buf *out, struct err *e)
{
    struct json_writer writer = {.out = out, .e = e};
    begin(&writer, "A team's file",
          "teams/*.yml or fleets/*.yml of a Fleet GitOps repository: the parts that Tender reads");
    define_package(&writer);
    define_setup(&writer);
    write_close(&writer, '}');
    write_text(&writer, "type", "object");
    write_open(&writer, "properties", '{');
    write_open(&writer, "name", '{');
    write_text(&writer, "description", "The team's name in Fleet");
    write_open(&writer, "anyOf", '[');
    types_refer(&writer, NULL, "word");
    write_open(&writer, NULL, '{');
    write_text(&writer, "type", "null");
    write_close(&writer, '}');
    write_close(&writer, ']');
    write_close(&writer, '}');
    write_controls(&writer);
    write_software(&writer);
    for (size_t i = 0; i < ARRAY_LENGTH(lists); i++) /* they belong below `software` */
        write_truth(&writer, lists[i][0], false);
    write_close(&writer, '}');
    write_open(&writer, "anyOf", '[');
    types_given(&writer, NULL, "name");
    write_open(&writer, NULL, '{'); /* the organisation's file */
    write_texts(&writer, "required", (const char *const[]){"org_settings", NULL});
    write_open(&writer, "properties", '{');
    write_open(&writer, "software", '{');
    write_text(&writer, "type", "null");
    write_close(&writer, '}');
    write_close(&writer, '}');
    write_close(&writer, '}');
    write_close(&writer, ']');
    write_close(&writer, '}');
    return write_end(&writer);
}

int types_write_package(struct buf *out, struct err *e)
{
    struct json_writer writer = {.out = out, .e = e};
    begin(&writer, "A package file",
          "What a team's file refers to with `path`: one package, or a list of them");
    write_close(&writer, '}');
    write_open(&writer, "if", '{');
    write_text(&writer, "type", "array");
    write_close(&writer, '}');
    write_open(&writer, "then", '{');
    write_number(&writer, "minItems", 1);
    types_refer(&writer, "items", "packageFile");
    write_open(&writer, "if", '{');
    write_number(&writer, "minItems", 2);
    write_close(&writer, '}');
    write_open(&writer, "then", '{'); /* of several, the team's file says it */
    write_open(&writer, "items", '{');
    write_open(&writer, "properties", '{');
    write_open(&writer, "setup_experience", '{');
    write_text(&writer, "type", "null");
    write_close(&writer, '}');
    write_close(&writer, '}');
    write_close(&writer, '}');
    write_close(&writer, '}');
    write_close(&writer, '}');
    types_refer(&writer, "else", "packageFile");
    write_close(&writer, '}');
    return write_end(&writer);
}
