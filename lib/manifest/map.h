/* Inside lib/manifest: from text to a pointer, in an arena. What was read once is found again, and what
 * stands twice is seen, in linear time. */
#ifndef TENDER_MANIFEST_MAP_H
#define TENDER_MANIFEST_MAP_H

#include "base/arena.h"
#include <stdint.h>

struct map_slot {
    const char *key; /* NULL: free */
    uint64_t hash;
    const void *value;
};

struct map {
    struct map_slot *slots;
    size_t count, capacity;
};

/* NULL if it is not there. */
const void *map_get(const struct map *map, const char *key);
/* The key's slot, whose value is NULL if it was not there: looked up and added in one go. NULL when out of
 * memory. */
struct map_slot *map_slot(struct map *map, struct arena *arena, const char *key, struct err *e) MUST_CHECK;
/* Empty, for new keys; its memory is kept. */
void map_clear(struct map *map);
/* Adds or replaces; the key is borrowed: it lives as long as the map. */
int map_put(struct map *map, struct arena *arena, const char *key, const void *value,
            struct err *e) MUST_CHECK;

#endif
