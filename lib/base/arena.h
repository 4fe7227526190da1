/* A bump allocator: parsed data of one lifetime, freed all at once. Strings in it are NUL-terminated. Not
 * thread-safe. */
#ifndef TENDER_BASE_ARENA_H
#define TENDER_BASE_ARENA_H

#include "base/err.h"
#include <stddef.h>

struct arena;

/* `max_bytes` bounds everything the arena ever gives out. NULL when out of memory. Freed by arena_free. */
struct arena *arena_new(size_t max_bytes) MUST_CHECK;
void arena_free(struct arena *arena);
void arena_cleanup(struct arena **arena);

/* All return NULL and fill `e` (ERR_MEMORY) when out of memory or over the maximum. Memory is zeroed and
 * aligned for any type; copies of texts are not aligned. */
void *arena_alloc(struct arena *arena, size_t size, struct err *e) MUST_CHECK;
void *arena_alloc_array(struct arena *arena, size_t count, size_t size, struct err *e) MUST_CHECK;
/* Grows an array that lives in the arena: returns room for one more element, doubling `*capacity` and copying
 * as needed.
 * `*items` is updated; the old array stays in the arena until it is freed. */
void *arena_push(struct arena *arena, void **items, size_t *count, size_t *capacity, size_t size,
                 struct err *e) MUST_CHECK;
char *arena_strdup(struct arena *arena, const char *text, struct err *e) MUST_CHECK;
char *arena_strndup(struct arena *arena, const char *text, size_t length, struct err *e) MUST_CHECK;
void *arena_memdup(struct arena *arena, const void *bytes, size_t length, struct err *e) MUST_CHECK;
char *arena_printf(struct arena *arena, struct err *e, const char *format, ...) PRINTF_LIKE(3, 4) MUST_CHECK;

/* arena_push with the types' casts: ARENA_PUSH(arena, &items, &count, &capacity, e), items being of type T *.
 */
#define ARENA_PUSH(arena, items, count, capacity, e)                                                         \
    ((__typeof__(*(items)))arena_push((arena), (void **)(items), (count), (capacity), sizeof(**(items)), (e)))

#endif
