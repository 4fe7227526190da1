/* Open addressing over a power of two, at most half full. */
#include "manifest/map.h"
#include <stdint.h>
#include <string.h>

enum { FIRST_CAPACITY = 32 };

/* Keys are paths, URLs and digests: eight bytes at a time. */
static uint64_t hash(const char *key)
{
    const uint64_t factor = 0x9E3779B97F4A7C15u;
    size_t length = strlen(key);
    uint64_t value = length * factor;
    uint64_t word = 0;
    for (; length >= sizeof word; length -= sizeof word, key += sizeof word) {
        memcpy(&word, key, sizeof word);
        value = (value ^ word) * factor;
        value ^= value >> 29;
    }
    word = 0;
    memcpy(&word, key, length);
    value = (value ^ word) * factor;
    return value ^ (value >> 32);
}

static struct map_slot *find(const struct map *map, const char *key, uint64_t hashed)
{
    size_t mask = map->capacity - 1;
    size_t i = (size_t)hashed & mask;
    while (map->slots[i].key != NULL && (map->slots[i].hash != hashed || strcmp(map->slots[i].key, key) != 0))
        i = (i + 1) & mask;
    return &map->slots[i];
}

const void *map_get(const struct map *map, const char *key)
{
    return map->capacity == 0 ? NULL : find(map, key, hash(key))->value;
}

static int grow(struct map *map, struct arena *arena, struct err *e)
{
    struct map bigger = {.count = map->count,
                         .capacity = map->capacity == 0 ? FIRST_CAPACITY : map->capacity * 2};
    bigger.slots = arena_alloc_array(arena, bigger.capacity, sizeof *bigger.slots, e);
    if (bigger.slots == NULL)
        return -1;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].key != NULL)
            *find(&bigger, map->slots[i].key, map->slots[i].hash) = map->slots[i];
    *map = bigger;
    return 0;
}

struct map_slot *map_slot(struct map *map, struct arena *arena, const char *key, struct err *e)
{
    uint64_t hashed = hash(key);
    if (map->count * 2 >= map->capacity && grow(map, arena, e) < 0)
        return NULL;
    struct map_slot *slot = find(map, key, hashed);
    if (slot->key == NULL) {
        slot->key = key;
        slot->hash = hashed;
        map->count++;
    }
    return slot;
}

int map_put(struct map *map, struct arena *arena, const char *key, const void *value, struct err *e)
{
    struct map_slot *slot = map_slot(map, arena, key, e);
    if (slot == NULL)
        return -1;
    slot->value = value;
    return 0;
}

void map_clear(struct map *map)
{
    if (map->count > 0)
        memset(map->slots, 0, map->capacity * sizeof *map->slots);
    map->count = 0;
}
