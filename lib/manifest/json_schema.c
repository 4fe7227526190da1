/* What all JSON Schemas share. Types come from the field, not from how a scalar looks, so a text may look
 * like a number to an editor; and a text with a "$" may become anything, for a variable stands in it. */
#include "manifest/json_schema.h"
#include "manifest/json_schema_types.h"
#include <stddef.h>
#include <stdio.h>

const struct json_schema json_schemas[] = {
    {"team", types_write_team},
    {"package", types_write_package},
    {"settings", types_write_settings},
    {NULL, NULL},
};

static const char printable[] = "^[^\\u0000-\\u001f\\u007f]*$";
static const char scalar_words[] = "^([tT][rR][uU][eE]|[yY][eE][sS]|[oO][nN]|[fF][aA][lL][sS][eE]|[nN][oO]|"
                                   "[oO][fF][fF])$";
static const char url[] = "^[hH][tT][tT][pP][sS]?://[^ \\t\\r\\n/?#]+[^ \\t\\r\\n]*$";
static const char url_prefix[] = "^[hH][tT][tT][pP][sS]?://[^ \\t\\r\\n/?#]+[^ \\t\\r\\n?#]*$";
static const char digest[] = "^[0-9a-fA-F]{64}$";

void types_refer(struct json_writer *writer, const char *name, const char *type)
{
    char path[64];
    snprintf(path, sizeof path, "#/$defs/%s", type);
    write_open(writer, name, '{');
    write_text(writer, "$ref", path);
    write_close(writer, '}');
}

void types_pattern(struct json_writer *writer, const char *name, const char *pattern)
{
    write_open(writer, name, '{');
    write_text(writer, "type", "string");
    write_text(writer, "pattern", pattern);
    write_close(writer, '}');
}

void types_list(struct json_writer *writer, const char *name, const char *type)
{
    write_open(writer, name, '{');
    write_text(writer, "type", "array");
    types_refer(writer, "items", type);
    write_close(writer, '}');
}

void types_begin_having(struct json_writer *writer, const char *name, const char *key)
{
    const char *const keys[] = {key, NULL};
    write_open(writer, name, '{');
    write_texts(writer, "required", keys);
    write_open(writer, "properties", '{');
}

void types_end_having(struct json_writer *writer)
{
    write_close(writer, '}');
    write_close(writer, '}');
}

void types_given(struct json_writer *writer, const char *name, const char *key)
{
    types_begin_having(writer, name, key);
    write_open(writer, key, '{');
    write_open(writer, "not", '{');
    write_text(writer, "type", "null");
    write_close(writer, '}');
    write_close(writer, '}');
    types_end_having(writer);
}

void types_property_begin(struct json_writer *writer, const char *key, const char *description)
{
    write_open(writer, key, '{');
    write_text(writer, "description", description);
    write_open(writer, "anyOf", '[');
    write_open(writer, NULL, '{');
    write_text(writer, "type", "null");
    write_close(writer, '}');
}

void types_property_end(struct json_writer *writer)
{
    write_close(writer, ']');
    write_close(writer, '}');
}

void types_property(struct json_writer *writer, const char *key, const char *description, const char *type)
{
    types_property_begin(writer, key, description);
    types_refer(writer, NULL, type);
    types_property_end(writer);
}

/* A string of the pattern, a variable, and what an editor may take for the type `also` (NULL: nothing). */
static void define(struct json_writer *writer, const char *name, const char *pattern, const char *also,
                   bool is_empty_fine)
{
    write_open(writer, name, '{');
    write_open(writer, "anyOf", '[');
    types_refer(writer, NULL, "variable");
    if (also != NULL) {
        const char *const both[] = {also, "boolean", NULL};
        write_open(writer, NULL, '{');
        write_texts(writer, "type", both);
        write_close(writer, '}');
    }
    write_open(writer, NULL, '{');
    write_text(writer, "type", "string");
    if (!is_empty_fine)
        write_number(writer, "minLength", 1);
    write_text(writer, "pattern", pattern);
    write_close(writer, '}');
    write_close(writer, ']');
    write_close(writer, '}');
}

void types_begin(struct json_writer *writer, const char *title, const char *description)
{
    write_open(writer, NULL, '{');
    write_text(writer, "$schema", "https://json-schema.org/draft/2020-12/schema");
    write_text(writer, "title", title);
    write_text(writer, "description", description);
    write_open(writer, "$defs", '{');
    write_open(writer, "variable", '{');
    write_text(writer, "description", "$NAME or ${NAME}: replaced from the environment");
    write_text(writer, "type", "string");
    write_text(writer, "pattern", "\\$");
    write_close(writer, '}');
    define(writer, "text", printable, "number", true);
    define(writer, "word", printable, "number", false);
    define(writer, "digest", digest, "number", false);
    define(writer, "url", url, NULL, false);
    define(writer, "urlPrefix", url_prefix, NULL, false);
    write_open(writer, "switch", '{');
    write_open(writer, "anyOf", '[');
    types_refer(writer, NULL, "variable");
    write_open(writer, NULL, '{');
    write_text(writer, "type", "boolean");
    write_close(writer, '}');
    types_pattern(writer, NULL, scalar_words);
    write_close(writer, ']');
    write_close(writer, '}');
}
