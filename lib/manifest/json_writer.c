/* The paper that JSON Schemas are written on. */
#include "manifest/json_writer.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void put(struct json_writer *writer, const char *bytes, size_t length)
{
    if (!writer->failed && buf_add(writer->out, bytes, length, writer->e) < 0)
        writer->failed = true;
}

static void put_quoted(struct json_writer *writer, const char *text)
{
    put(writer, "\"", 1);
    for (; *text != '\0'; text++) {
        char escaped[8];
        if (*text == '"' || *text == '\\')
            put(writer, "\\", 1);
        if ((unsigned char)*text >= 0x20) {
            put(writer, text, 1);
            continue;
        }
        int length = snprintf(escaped, sizeof escaped, "\\u%04x", (unsigned char)*text);
        put(writer, escaped, (size_t)length);
    }
    put(writer, "\"", 1);
}

/* What stands before a value: comma, line end, indentation, name. */
static void begin(struct json_writer *writer, const char *name)
{
    if (writer->has_sibling)
        put(writer, ",", 1);
    if (writer->depth > 0)
        put(writer, "\n", 1);
    for (int i = 0; i < writer->depth; i++)
        put(writer, "  ", 2);
    if (name != NULL) {
        put_quoted(writer, name);
        put(writer, ": ", 2);
    }
    writer->has_sibling = true;
}

void write_open(struct json_writer *writer, const char *name, char bracket)
{
    begin(writer, name);
    put(writer, &bracket, 1);
    writer->depth++;
    writer->has_sibling = false;
}

void write_close(struct json_writer *writer, char bracket)
{
    writer->depth--;
    if (writer->has_sibling) {
        put(writer, "\n", 1);
        for (int i = 0; i < writer->depth; i++)
            put(writer, "  ", 2);
    }
    put(writer, &bracket, 1);
    writer->has_sibling = true;
}

void write_text(struct json_writer *writer, const char *name, const char *text)
{
    begin(writer, name);
    put_quoted(writer, text);
}

void write_number(struct json_writer *writer, const char *name, int64_t number)
{
    char text[32];
    begin(writer, name);
    put(writer, text, (size_t)snprintf(text, sizeof text, "%" PRId64, number));
}

void write_fraction(struct json_writer *writer, const char *name, double number)
{
    char text[64];
    begin(writer, name);
    put(writer, text, (size_t)snprintf(text, sizeof text, "%.15g", number));
}

void write_truth(struct json_writer *writer, const char *name, bool is_true)
{
    begin(writer, name);
    put(writer, is_true ? "true" : "false", is_true ? 4 : 5);
}

void write_texts(struct json_writer *writer, const char *name, const char *const *texts)
{
    write_open(writer, name, '[');
    for (size_t i = 0; texts[i] != NULL; i++)
        write_text(writer, NULL, texts[i]);
    write_close(writer, ']');
}

int write_end(struct json_writer *writer)
{
    put(writer, "\n", 1);
    return writer->failed ? -1 : 0;
}
