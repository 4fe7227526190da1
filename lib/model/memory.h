/* What former runs learned: saves work, never needed for correctness. Loaded by lib/state before planning;
 * what a run learns goes back through a `struct memory_sink` at once, so that a killed run has not learned in
 * vain. Strings are borrowed for the call. */
#ifndef TENDER_MODEL_MEMORY_H
#define TENDER_MODEL_MEMORY_H

#include "model/software.h"
#include <stdint.h>

/* One item that was brought to its team, and found right when it was read back. */
struct remembered_item {
    int64_t team_id;
    const char *key; /* software_key() */
    int64_t title_id;
    const char *sha256;           /* what Fleet had afterwards; "" for apps */
    const char *wish_fingerprint; /* software_fingerprint() of what was applied */
    const char *row_fingerprint;  /* observed_row_fingerprint() after it */
    unsigned ignored_fields;      /* set of software_field: sent, but the server did not keep them */
    unsigned assumed_fields;      /* set of software_field: left out in the manifest and counted as equal */
    int64_t details_read_wall_ms; /* when the title's details were last compared */
};

/* The text that the server filled in where a script was left out. */
struct remembered_default {
    const char *package_sha256; /* of the package the default was made from */
    enum software_field field;
    const char *text_sha256;
};

/* What a URL answered last. */
struct remembered_validator {
    const char *url_sha256;    /* of the URL: it may hold secrets, and this is written to the disk */
    const char *etag;          /* as sent, quotes and W/ included; "" if none */
    const char *last_modified; /* as sent; "" if none */
    const char *sha256;        /* of the whole body */
    const char *file_name;
    uint64_t size_bytes;
};

struct memory {
    size_t item_count;
    struct remembered_item *items;
    size_t default_count;
    struct remembered_default *defaults;
    size_t validator_count;
    struct remembered_validator *validators;
};

/* Where a stage tells what it learned. Any function may be NULL. */
struct memory_sink {
    void (*item)(void *context, const struct remembered_item *item);
    void (*forget_item)(void *context, int64_t team_id, const char *key);
    void (*script_default)(void *context, const struct remembered_default *script_default);
    void (*validator)(void *context, const struct remembered_validator *validator);
    void *context;
};

/* Sorts the arrays for the look-ups below; whoever fills a memory calls it once behind that. */
void memory_sort(struct memory *memory);
const struct remembered_item *memory_find_item(const struct memory *memory, int64_t team_id, const char *key);
const struct remembered_validator *memory_find_validator(const struct memory *memory, const char *url);
/* Whether `text_sha256` is known as the server's default of this field for this package. */
bool memory_is_default(const struct memory *memory, const char *package_sha256, enum software_field field,
                       const char *text_sha256);

#endif
