/* Open addressing over a power of two, at most half full. */
#include "manifest/map.h"
#include <stdint.h>
#include <string.h>

enum { FIRST_CAPACITY = 32 };

static uint64_t hash(const char *key)
{
    uint64_t value = 14695981039346656037u; /* FNV-1a */
    for (; *key != '\0'; key++)
        value = (value ^ (unsigned char)*key) * 1099511628211u;
    return value ^ (value >> 32);
}

static struct map_slot *find(const struct map *map, const char *key)
{
    size_t mask = map->capacity - 1;
    size_t i = (size_t)hash(key) & mask;
    while (map->slots[i].key != NULL && strcmp(map->slots[i].key, key) != 0)
        i = (i + 1) & mask;
    return &map->slots[i];
}

const void *map_get(const struct map *map, const char *key)
{
    return map->capacity == 0 ? NULL : find(map, key)->value;
}

static int grow(struct map *map, struct arena *arena, struct err *e)
{
    struct map bigger = {.capacity = map->capacity == 0 ? FIRST_CAPACITY : map->capacity * 2};
    bigger.slots = arena_alloc_array(arena, bigger.capacity, sizeof *bigger.slots, e);
    if (bigger.slots == NULL)
        return -1;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].key != NULL)
            *find(&bigger, map->slots[i].key) = map->slots[i];
    bigger.count = map->count;
    *map = bigger;
    return 0;
}

int map_put(struct map *map, struct arena *arena, const char *key, const void *value, struct err *e)
{
    if (map->count * 2 >= map->capacity && grow(map, arena, e) < 0)
        return -1;
    struct map_slot *slot = find(map, key);
    if (slot->key == NULL) {
        slot->key = key;
        map->count++;
    }
    slot->value = value;
    return 0;
}
