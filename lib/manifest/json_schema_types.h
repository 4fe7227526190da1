/* Between the files that write JSON Schemas: the types that all three share. */
#ifndef TENDER_MANIFEST_JSON_SCHEMA_TYPES_H
#define TENDER_MANIFEST_JSON_SCHEMA_TYPES_H

#include "manifest/json_writer.h"

/* The head of a document and its `$defs`, whose object stays open for more. */
void types_begin(struct json_writer *writer, const char *title, const char *description);
/* A property that may be null as well as what `#/$defs/type` says; null is as if the key were absent. */
void types_property(struct json_writer *writer, const char *key, const char *description, const char *type);
/* The same, opened: the caller writes the alternatives to null, then types_property_end. */
void types_property_begin(struct json_writer *writer, const char *key, const char *description);
void types_property_end(struct json_writer *writer);
/* {"$ref": "#/$defs/type"} */
void types_refer(struct json_writer *writer, const char *name, const char *type);
/* {"type": "string", "pattern": …} */
void types_pattern(struct json_writer *writer, const char *name, const char *pattern);
/* {"type": "array", "items": {"$ref": …}} */
void types_list(struct json_writer *writer, const char *name, const char *type);
/* {"required": [key], "properties": {…}}, whose inner object stays open for the key's own. */
void types_begin_having(struct json_writer *writer, const char *name, const char *key);
void types_end_having(struct json_writer *writer);
/* {"required": [key], "properties": {key: {"not": {"type": "null"}}}} */
void types_given(struct json_writer *writer, const char *name, const char *key);

/* json_schema_entries.c: types_begin, and the definitions of all kinds of entries. */
void types_begin_entries(struct json_writer *writer, const char *title, const char *description);

/* The platforms of a store's app, as alternatives. */
void types_platform(struct json_writer *writer);

int types_write_team(struct buf *out, struct err *e) MUST_CHECK;
int types_write_package(struct buf *out, struct err *e) MUST_CHECK;
int types_write_settings(struct buf *out, struct err *e) MUST_CHECK;

#endif
