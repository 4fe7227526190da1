/* Lenient access to jansson values, for codec*.c only. */
#ifndef TENDER_FLEET_JSON_READ_H
#define TENDER_FLEET_JSON_READ_H

#include "base/arena.h"
#include "model/software.h"
#include <jansson.h>

static inline void json_cleanup(json_t **value)
{
    json_decref(*value);
}

/* The text behind `key`; `otherwise` where it is missing, null or no text. Borrowed from `object`. */
static inline const char *json_text(const json_t *object, const char *key, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : otherwise;
}

/* The number behind `key`, 0 where there is none. */
static inline int64_t json_number(const json_t *object, const char *key)
{
    return (int64_t)json_integer_value(json_object_get(object, key));
}

#endif
