/* The thin layer between fleetsim and jansson: values are built and read by the hundred in the API's
 * handlers, and a failing allocation has one answer everywhere: say so and end. */
#include "json.h"
#include "base/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void out_of_memory(void)
{
    fputs("fleetsim: out of memory\n", stderr);
    abort();
}

void json_cleanup(json_t **value)
{
    json_decref(*value);
    *value = NULL;
}

void *allocate(size_t bytes)
{
    void *memory = calloc(1, bytes > 0 ? bytes : 1);
    if (memory == NULL)
        out_of_memory();
    return memory;
}

char *copy_text(const char *text)
{
    char *copy = strdup(text);
    if (copy == NULL)
        out_of_memory();
    return copy;
}

static json_t *need(json_t *value)
{
    if (value == NULL)
        out_of_memory();
    return value;
}

json_t *new_object(void)
{
    return need(json_object());
}

json_t *new_array(void)
{
    return need(json_array());
}

json_t *new_number(json_int_t number)
{
    return need(json_integer(number));
}

json_t *copy_of(const json_t *value)
{
    return need(json_deep_copy(value));
}

/* A copy with '?' for what is no UTF-8. */
static char *clean_copy(const char *text)
{
    size_t bad;
    char *clean = copy_text(text);
    while (!text_is_utf8(clean, strlen(clean), &bad))
        clean[bad] = '?';
    return clean;
}

json_t *new_text(const char *text)
{
    if (text_is_utf8(text, strlen(text), NULL))
        return need(json_string(text));
    char *clean = clean_copy(text);
    json_t *value = need(json_string(clean));
    free(clean);
    return value;
}

void put(json_t *object, const char *key, json_t *value)
{
    /* Header names come from outside too. */
    char *clean = text_is_utf8(key, strlen(key), NULL) ? NULL : clean_copy(key);
    if (json_object_set_new(object, clean != NULL ? clean : key, value) < 0)
        out_of_memory();
    free(clean);
}

void put_text(json_t *object, const char *key, const char *text)
{
    put(object, key, new_text(text));
}

void put_number(json_t *object, const char *key, json_int_t number)
{
    put(object, key, new_number(number));
}

void put_flag(json_t *object, const char *key, bool flag)
{
    put(object, key, json_boolean(flag));
}

void put_null(json_t *object, const char *key)
{
    put(object, key, json_null());
}

void append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) < 0)
        out_of_memory();
}

const char *text_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

json_int_t number_at(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

bool flag_at(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

const json_t *list_at(const json_t *object, const char *key)
{
    const json_t *list = json_object_get(object, key);
    return json_is_array(list) ? list : NULL;
}

bool is_null_at(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return value == NULL || json_is_null(value);
}

char *json_text(const json_t *value, size_t *length)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    if (text == NULL)
        out_of_memory();
    if (length != NULL)
        *length = strlen(text);
    return text;
}
