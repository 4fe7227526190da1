/* The JSON Schema of tender.yml: the table of settings, and the table of its rules. */
#include "base/text.h"
#include "manifest/json_schema_types.h"
#include "manifest/settings_file.h"
#include <stdio.h>

static const char duration[] =
    "^[0-9]+(\\.[0-9]+)? *([mM][sS]|[sS]|[sS][eE][cC]|[mM]|[mM][iI][nN]|[hH]|[dD])?$";
static const char size[] = "^[0-9]+(\\.[0-9]+)? *([bB]|[kKmMgG]([iI]?[bB])?)?$";
static const char factor[] = "^[0-9]+(\\.[0-9]+)?$";
static const char switch_words[] = "^([tT][rR][uU][eE]|[yY][eE][sS]|[oO][nN]|[fF][aA][lL][sS][eE]|[nN][oO]|"
                                   "[oO][fF][fF]|[01])$";
static const char strategy[] = "^([eE][xX][pP][oO][nN][eE][nN][tT][iI][aA][lL]|[lL][iI][nN][eE][aA][rR]|"
                               "[cC][oO][nN][sS][tT][aA][nN][tT])$";
static const char jitter[] = "^([fF][uU][lL][lL]|[nN][oO][nN][eE])$";

/* A number in the setting's range, in the file's unit, which has `parts` of the setting's. */
static void write_range(struct json_writer *writer, const struct setting *setting, const char *type,
                        int parts)
{
    write_open(writer, NULL, '{');
    write_text(writer, "type", type);
    write_fraction(writer, "minimum", (double)setting->least / parts);
    if (setting->most < INT64_MAX)
        write_fraction(writer, "maximum", (double)setting->most / parts);
    write_close(writer, '}');
}

static void write_switch(struct json_writer *writer)
{
    write_open(writer, NULL, '{');
    write_text(writer, "type", "boolean");
    write_close(writer, '}');
    write_open(writer, NULL, '{');
    write_open(writer, "enum", '[');
    write_number(writer, NULL, 0);
    write_number(writer, NULL, 1);
    write_close(writer, ']');
    write_close(writer, '}');
    types_pattern(writer, NULL, switch_words);
}

static void write_values(struct json_writer *writer, const struct setting *setting)
{
    enum { MILLISECONDS = 1000 };
    const char *item = text_equal(setting->value_name, "URL") ? "urlPrefix" : "text";
    if (setting->type != SETTING_TEXT && setting->type != SETTING_LIST)
        types_refer(writer, NULL, "variable");
    switch (setting->type) {
    case SETTING_TEXT:
    case SETTING_SECRET:
        types_refer(writer, NULL, "text");
        break;
    case SETTING_LIST:
        types_refer(writer, NULL, item);
        types_list(writer, NULL, item);
        break;
    case SETTING_SWITCH:
        write_switch(writer);
        break;
    case SETTING_NUMBER:
        write_range(writer, setting, "integer", 1);
        types_pattern(writer, NULL, "^[0-9]+$");
        break;
    case SETTING_FACTOR:
        write_range(writer, setting, "number", 1);
        types_pattern(writer, NULL, factor);
        break;
    case SETTING_DURATION:
        write_range(writer, setting, "number", MILLISECONDS);
        types_pattern(writer, NULL, duration);
        break;
    case SETTING_SIZE:
        write_range(writer, setting, "number", 1);
        types_pattern(writer, NULL, size);
        break;
    case SETTING_STRATEGY:
        types_pattern(writer, NULL, strategy);
        break;
    case SETTING_JITTER:
        types_pattern(writer, NULL, jitter);
        break;
    }
}

static void write_setting(struct json_writer *writer, const struct setting *setting)
{
    char key[SETTINGS_KEY_BYTES];
    char help[256];
    settings_key_of(setting, key);
    bool has_default = setting->default_text != NULL && setting->default_text[0] != '\0';
    snprintf(help, sizeof help, "%s%s%s", setting->help, has_default ? "; default: " : "",
             has_default ? setting->default_text : "");
    types_property_begin(writer, key, help);
    write_values(writer, setting);
    types_property_end(writer);
}

/* A list of mappings: texts, the first of them required, and settings. */
static void write_list_rules(struct json_writer *writer, const struct settings_rules *rules)
{
    write_open(writer, NULL, '{');
    write_text(writer, "type", "array");
    write_open(writer, "items", '{');
    write_text(writer, "type", "object");
    write_open(writer, "properties", '{');
    for (size_t i = 0; i < rules->text_count; i++)
        types_property(writer, rules->texts[i].key, rules->texts[i].help,
                       i == 0 && rules->are_prefixes ? "urlPrefix" : "text");
    for (size_t i = 0; i < settings_count; i++)
        if (settings_table[i].in_file && rules->takes(&settings_table[i]))
            write_setting(writer, &settings_table[i]);
    write_close(writer, '}');
    write_open(writer, "allOf", '[');
    types_given(writer, NULL, rules->texts[0].key);
    write_close(writer, ']');
    write_truth(writer, "additionalProperties", false);
    write_close(writer, '}');
    write_close(writer, '}');
}

/* A mapping from a text to a URL or a list of them. */
static void write_url_rules(struct json_writer *writer, const char *type)
{
    write_open(writer, NULL, '{');
    write_text(writer, "type", "object");
    write_open(writer, "additionalProperties", '{');
    write_open(writer, "anyOf", '[');
    types_refer(writer, NULL, type);
    types_list(writer, NULL, type);
    write_close(writer, ']');
    write_close(writer, '}');
    write_close(writer, '}');
}

int types_write_settings(struct buf *out, struct err *e)
{
    struct json_writer writer = {.out = out, .e = e};
    types_begin(&writer, "tender.yml", "Settings of Tender for a repository, at its root");
    write_close(&writer, '}');
    write_texts(&writer, "type", (const char *const[]){"object", "null", NULL});
    write_open(&writer, "properties", '{');
    for (size_t i = 0; i < settings_count; i++)
        if (settings_table[i].in_file)
            write_setting(&writer, &settings_table[i]);
    for (size_t i = 0; i < settings_rules_count; i++) {
        const struct settings_rules *rules = &settings_rules_table[i];
        types_property_begin(&writer, rules->key, rules->help);
        if (rules->text_count > 0)
            write_list_rules(&writer, rules);
        else
            write_url_rules(&writer, rules->are_prefixes ? "urlPrefix" : "url");
        types_property_end(&writer);
    }
    write_close(&writer, '}');
    write_truth(&writer, "additionalProperties", false);
    write_close(&writer, '}');
    return write_end(&writer);
}
