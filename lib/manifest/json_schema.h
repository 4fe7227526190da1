/* JSON Schemas (draft 2020-12) of the files that Tender reads, for editors: made from the tables that the
 * parser reads by, so that both accept the same keys and types. */
#ifndef TENDER_MANIFEST_JSON_SCHEMA_H
#define TENDER_MANIFEST_JSON_SCHEMA_H

#include "base/buf.h"

struct json_schema {
    const char *name; /* "team", "package", "settings" */
    int (*write)(struct buf *out, struct err *e);
};
extern const struct json_schema json_schemas[]; /* ends with name NULL */

#endif
