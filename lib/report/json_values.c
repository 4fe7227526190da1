/* The pieces that the JSON writers put together, with one place where running out of memory is noticed. */
#include "base/text.h"
#include "report/page.h"
#include <stdlib.h>
#include <string.h>

/* Names and messages come from files and servers: what is no UTF-8 must not cost the report. */
static json_t *repaired_text(const char *text)
{
    static const char replacement[] = "\xEF\xBF\xBD";
    size_t length = strlen(text);
    char *repaired = malloc(length * 3 + 1);
    size_t used = 0;
    if (repaired == NULL)
        return NULL;
    while (length > 0) {
        size_t bad = length;
        if (text_is_utf8(text, length, &bad))
            bad = length;
        memcpy(repaired + used, text, bad);
        used += bad;
        text += bad;
        length -= bad;
        if (length == 0)
            break;
        memcpy(repaired + used, replacement, 3);
        used += 3;
        text++;
        length--;
    }
    json_t *value = json_stringn(repaired, used);
    free(repaired);
    return value;
}

json_t *json_text(const char *text)
{
    if (text == NULL)
        text = "";
    if (text_is_utf8(text, strlen(text), NULL))
        return json_string(text);
    return repaired_text(text);
}

json_t *json_text_or_null(const char *text)
{
    return text == NULL ? json_null() : json_text(text);
}

json_t *json_texts(const struct string_list *list)
{
    bool failed = false;
    json_t *array = json_array();
    for (size_t i = 0; i < list->count; i++)
        json_add(array, json_text(list->items[i]), &failed);
    if (!failed)
        return array;
    json_decref(array);
    return NULL;
}

void json_put(json_t *object, const char *name, json_t *value, bool *failed)
{
    if (json_object_set_new(object, name, value) != 0)
        *failed = true;
}

void json_add(json_t *array, json_t *value, bool *failed)
{
    if (json_array_append_new(array, value) != 0)
        *failed = true;
}

static json_t *related_values(const struct diagnostic *diagnostic, bool *failed)
{
    json_t *array = json_array();
    for (size_t i = 0; i < diagnostic->related_count && i < RELATED_MOST; i++) {
        json_t *value = json_object();
        json_put(value, "file", json_text(diagnostic->related[i].file), failed);
        json_put(value, "line", json_integer(diagnostic->related[i].line), failed);
        json_add(array, value, failed);
    }
    return array;
}

static json_t *diagnostic_value(const struct diagnostic *diagnostic, bool *failed)
{
    json_t *value = json_object();
    json_put(value, "rule", json_string(rule_name(diagnostic->rule)), failed);
    json_put(value, "severity", json_text(diagnostic->severity == DIAGNOSTIC_ERROR ? "error" : "warning"),
             failed);
    json_put(value, "file", json_text(diagnostic->place.file), failed);
    json_put(value, "line", json_integer(diagnostic->place.line), failed);
    json_put(value, "column", json_integer(diagnostic->place.column), failed);
    json_put(value, "text", json_text(diagnostic->text), failed);
    json_put(value, "trail", json_text(diagnostic->trail), failed);
    json_put(value, "related", related_values(diagnostic, failed), failed);
    json_put(value, "advice", json_text(diagnostic->advice), failed);
    json_put(value, "excerpt", json_text(diagnostic->excerpt), failed);
    return value;
}

json_t *json_diagnostic_list(const struct diagnostic *diagnostics, size_t count, bool errors_only)
{
    bool failed = false;
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        if (!errors_only || diagnostics[i].severity == DIAGNOSTIC_ERROR)
            json_add(array, diagnostic_value(&diagnostics[i], &failed), &failed);
    if (!failed)
        return array;
    json_decref(array);
    return NULL;
}

struct dump {
    struct buf *out;
    struct err *e;
    bool failed; /* jansson 2.14 drops the callback's answer in places */
};

static int add_to_buf(const char *bytes, size_t size, void *context)
{
    struct dump *dump = context;
    if (!dump->failed && buf_add(dump->out, bytes, size, dump->e) < 0)
        dump->failed = true;
    return dump->failed ? -1 : 0;
}

int json_write(json_t *document, bool failed, struct buf *out, struct err *e)
{
    struct dump dump = {.out = out, .e = e, .failed = failed || document == NULL};
    if (!dump.failed &&
        json_dump_callback(document, add_to_buf, &dump, JSON_INDENT(2) | JSON_PRESERVE_ORDER) != 0)
        dump.failed = true;
    json_decref(document);
    if (dump.failed)
        return err_set(e, ERR_MEMORY, "the report does not fit into memory");
    return buf_add(out, "\n", 1, e);
}
