/* The JSON Schemas of team files and package files, around the entries: the lists of `software`, the set-up
 * software in `controls`, and what a file is as a whole. */
#include "base/text.h"
#include "manifest/json_schema_types.h"

static const char script_path[] = "\\.([sS][hH]|[pP][sS]1|[pP][yY])$";
static const char *const sections[] = {"macos_setup", "setup_experience"};
static const char *const lists[][3] = {
    {"packages", "package", "Packages by URL, by digest, by package file or as scripts"},
    {"fleet_maintained_apps", "maintainedApp", "Apps of Fleet's catalogue"},
    {"app_store_apps", "appStoreApp", "Apps of the App Store and of Google Play"},
};

static void write_is_script(struct json_writer *writer, const char *key)
{
    types_begin_having(writer, NULL, key);
    types_pattern(writer, key, script_path);
    types_end_having(writer);
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
    types_property_begin(writer, "platform", "Beside app_store_id: that platform's app only");
    types_platform(writer);
    types_property_end(writer);
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
    types_begin_having(writer, NULL, section);
    write_open(writer, section, '{');
    write_text(writer, "type", "object");
    write_open(writer, "allOf", '[');
    types_given(writer, NULL, "software");
    write_close(writer, ']');
    write_close(writer, '}');
    types_end_having(writer);
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
    types_begin_entries(
        &writer, "A team's file",
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
    types_begin_entries(&writer, "A package file",
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
