/* Entries in JSON Schemas: the field table, context by context, and the rules over several keys that a schema
 * can say. */
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

/* "x/darwin": in small letters, and the platforms of Fleet's catalogue. */
static const char slug[] = "^[^ /A-Z]+/(darwin|windows)$";
static const char time_of_day[] = "^([01][0-9]|2[0-3]):[0-5][0-9]$";
/* Fleet has no default scripts for these. */
static const char bare_url[] =
    "^[^?#]*//[^/?#]+/[^?#]*\\.([eE][xX][eE]|[tT][gG][zZ]|[tT][aA][rR]\\.[gG][zZ])([?#]|$)";
static const char package_path[] = "\\.([yY][aA]?[mM][lL]|[sS][hH]|[pP][sS]1|[pP][yY])$";
static const char *const label_keys[] = {"labels_include_any", "labels_exclude_any", "labels_include_all"};
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

void types_platform(struct json_writer *writer)
{
    static const char *const platforms[] = {"darwin", "ios", "ipados", "android", NULL};
    types_refer(writer, NULL, "variable");
    write_open(writer, NULL, '{');
    write_texts(writer, "enum", platforms);
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
            types_platform(writer);
        else if (key == KEY_SLUG)
            write_limited_pattern(writer, slug, field->max);
        else if (key == KEY_AUTO_UPDATE_WINDOW_START || key == KEY_AUTO_UPDATE_WINDOW_END)
            write_limited_pattern(writer, time_of_day, field->max);
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
        types_list(writer, NULL, "word");
        break;
    case TYPE_LABELS:
        write_open(writer, NULL, '{');
        write_text(writer, "type", "array");
        types_refer(writer, "items", "word");
        write_truth(writer, "uniqueItems", true);
        write_close(writer, '}');
        break;
    }
    types_property_end(writer);
}

/* Two lists of labels, both with something in them. */
static void write_both_labels(struct json_writer *writer, const char *a, const char *b)
{
    const char *const keys[] = {a, b};
    write_open(writer, NULL, '{');
    write_open(writer, "allOf", '[');
    for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) {
        types_begin_having(writer, NULL, keys[i]);
        write_open(writer, keys[i], '{');
        write_text(writer, "type", "array");
        write_number(writer, "minItems", 1);
        write_close(writer, '}');
        types_end_having(writer);
    }
    write_close(writer, ']');
    write_close(writer, '}');
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
    write_both_labels(writer, label_keys[0], label_keys[1]);
    write_both_labels(writer, label_keys[0], label_keys[2]);
    write_both_labels(writer, label_keys[1], label_keys[2]);
    if ((context & (BESIDE_FILE | BESIDE_SCRIPT)) != 0)
        write_both(writer, "path", "paths");
    if (context == IN_PACKAGE_FILE)
        write_useless_download(writer);
    write_close(writer, ']');
    write_close(writer, '}');
}

/* A key that another one, or a value, asks for. */
static void begin_asking(struct json_writer *writer)
{
    write_open(writer, NULL, '{');
    write_open(writer, "if", '{');
    write_open(writer, "allOf", '[');
}

static void end_asking(struct json_writer *writer, const char *key)
{
    write_close(writer, ']');
    write_close(writer, '}');
    types_given(writer, "then", key);
    write_close(writer, '}');
}

static void write_asked(struct json_writer *writer, enum entry_key asking, enum entry_key asked)
{
    begin_asking(writer);
    types_given(writer, NULL, schema_key_name(asking));
    end_asking(writer, schema_key_name(asked));
}

static void write_script_asked(struct json_writer *writer, enum entry_key asked)
{
    begin_asking(writer);
    types_begin_having(writer, NULL, "url");
    types_pattern(writer, "url", bare_url);
    types_end_having(writer);
    end_asking(writer, schema_key_name(asked));
}

/* What must be there, by the entry's kind. */
static void write_needs(struct json_writer *writer, enum entry_context context)
{
    if ((context & (BESIDE_FILE | BESIDE_SCRIPT)) != 0)
        return;
    write_open(writer, "allOf", '[');
    if (context == IN_MAINTAINED || context == IN_APP_STORE)
        types_given(writer, NULL, schema_key_name(context == IN_MAINTAINED ? KEY_SLUG : KEY_APP_STORE_ID));
    if (context == IN_APP_STORE) {
        write_asked(writer, KEY_AUTO_UPDATE_WINDOW_START, KEY_AUTO_UPDATE_WINDOW_END);
        write_asked(writer, KEY_AUTO_UPDATE_WINDOW_END, KEY_AUTO_UPDATE_WINDOW_START);
    }
    if (context == IN_TEAM || context == IN_PACKAGE_FILE) {
        write_open(writer, NULL, '{');
        write_open(writer, "anyOf", '[');
        types_given(writer, NULL, "url");
        types_given(writer, NULL, "hash_sha256");
        write_close(writer, ']');
        write_close(writer, '}');
        write_script_asked(writer, KEY_INSTALL_SCRIPT);
        write_script_asked(writer, KEY_UNINSTALL_SCRIPT);
    }
    write_close(writer, ']');
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
    write_needs(writer, context);
    write_close(writer, '}');
}

void types_begin_entries(struct json_writer *writer, const char *title, const char *description)
{
    types_begin(writer, title, description);
    define_file(writer);
    for (size_t i = 0; i < ARRAY_LENGTH(contexts); i++)
        define_entry(writer, contexts[i].context, contexts[i].name);
}
