/* Inside lib/manifest: from text to a pointer, in an arena. What was read once is found again, and what
 * stands twice is seen, in linear time. */
#ifndef TENDER_MANIFEST_MAP_H
#define TENDER_MANIFEST_MAP_H

#include "base/arena.h"

struct map_slot {
    const char *key; /* NULL: free */
    const void *value;
};

struct map {
    struct map_slot *slots;
    size_t count, capacity;
};

/* NULL if it is not there. */
const void *map_get(const struct map *map, const char *key);
/* Adds or replaces; the key is borrowed: it lives as long as the map. */
int map_put(struct map *map, struct arena *arena, const char *key, const void *value,
            struct err *e) MUST_CHECK;

#endif
