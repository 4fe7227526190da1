/* Building and reading JSON values without a check on each line. fleetsim ends with a message when memory
 * runs out (a simulator has nothing to save then), so none of these fail. Text that is not UTF-8 has its bad
 * bytes replaced by '?'. */
#ifndef FLEETSIM_JSON_H
#define FLEETSIM_JSON_H

#include "base/attributes.h"
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

void json_cleanup(json_t **value); /* for CLEANUP */

/* New references. */
json_t *new_object(void);
json_t *new_array(void);
json_t *new_text(const char *text);
json_t *new_number(json_int_t number);
json_t *copy_of(const json_t *value); /* deep */

/* Sets a key. put() and append() take over the reference. */
void put(json_t *object, const char *key, json_t *value);
void put_text(json_t *object, const char *key, const char *text);
void put_number(json_t *object, const char *key, json_int_t number);
void put_flag(json_t *object, const char *key, bool flag);
void put_null(json_t *object, const char *key);
void append(json_t *array, json_t *value);

/* What stands at a key; "" / 0 / false / an empty list where it is missing or of another type. Borrowed. */
const char *text_at(const json_t *object, const char *key);
json_int_t number_at(const json_t *object, const char *key);
bool flag_at(const json_t *object, const char *key);
const json_t *list_at(const json_t *object, const char *key);
bool is_null_at(const json_t *object, const char *key); /* missing or null */

/* The value as text: malloc'ed, compact. */
char *json_text(const json_t *value, size_t *length);
/* strdup and malloc that end the program when memory is out. */
char *copy_text(const char *text);
void *allocate(size_t bytes); /* zeroed */

#endif
