/* Blocks of memory that the stages' values live in: manifest, observed state and plan each have one arena. */
#include "base/arena.h"
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 32 * 1024 };

struct block {
    struct block *next;
    size_t used;
    size_t size;
    alignas(max_align_t) unsigned char bytes[];
};

struct arena {
    struct block *blocks; /* the newest first */
    size_t used;
    size_t max_bytes;
};

struct arena *arena_new(size_t max_bytes)
{
    struct arena *arena = malloc(sizeof *arena);
    if (arena != NULL)
        *arena = (struct arena){.max_bytes = max_bytes};
    return arena;
}

void arena_free(struct arena *arena)
{
    if (arena == NULL)
        return;
    for (struct block *block = arena->blocks; block != NULL;) {
        struct block *next = block->next;
        free(block);
        block = next;
    }
    free(arena);
}

void arena_cleanup(struct arena **arena)
{
    arena_free(*arena);
    *arena = NULL;
}

/* A large request gets a block of its own behind the current one, so that the current one's rest is not
 * wasted. */
static struct block *block_add(struct arena *arena, size_t size)
{
    size_t block_size = size > BLOCK_BYTES ? size : BLOCK_BYTES;
    if (block_size > SIZE_MAX - sizeof(struct block))
        return NULL;
    struct block *block = malloc(sizeof *block + block_size);
    if (block == NULL)
        return NULL;
    block->used = 0;
    block->size = block_size;
    if (size > BLOCK_BYTES && arena->blocks != NULL) {
        block->next = arena->blocks->next;
        arena->blocks->next = block;
    } else {
        block->next = arena->blocks;
        arena->blocks = block;
    }
    return block;
}

void *arena_alloc(struct arena *arena, size_t size, struct err *e)
{
    const size_t align = alignof(max_align_t);
    size_t rounded = size == 0 ? align : (size + align - 1) & ~(align - 1);
    if (rounded < size || rounded > arena->max_bytes - arena->used) {
        err_fill(e, ERR_MEMORY, "%zu bytes more are needed where %zu are in use; the limit is %zu bytes",
                 size, arena->used, arena->max_bytes);
        return NULL;
    }
    struct block *block = arena->blocks;
    if (block == NULL || block->size - block->used < rounded) {
        block = block_add(arena, rounded);
        if (block == NULL) {
            err_fill(e, ERR_MEMORY, "out of memory");
            return NULL;
        }
    }
    void *bytes = block->bytes + block->used;
    block->used += rounded;
    arena->used += rounded;
    return memset(bytes, 0, rounded);
}

void *arena_alloc_array(struct arena *arena, size_t count, size_t size, struct err *e)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        bytes = SIZE_MAX;
    return arena_alloc(arena, bytes, e);
}

void *arena_push(struct arena *arena, void **items, size_t *count, size_t *capacity, size_t size,
                 struct err *e)
{
    if (*count == *capacity) {
        size_t grown = *capacity == 0 ? 8 : *capacity * 2;
        void *bigger = arena_alloc_array(arena, grown, size, e);
        if (bigger == NULL)
            return NULL;
        if (*count > 0)
            memcpy(bigger, *items, *count * size);
        *items = bigger;
        *capacity = grown;
    }
    return (unsigned char *)*items + size * (*count)++;
}

void *arena_memdup(struct arena *arena, const void *bytes, size_t length, struct err *e)
{
    void *copy = arena_alloc(arena, length, e);
    if (copy != NULL && length > 0)
        memcpy(copy, bytes, length);
    return copy;
}

char *arena_strndup(struct arena *arena, const char *text, size_t length, struct err *e)
{
    char *copy = arena_alloc(arena, length < SIZE_MAX ? length + 1 : length, e);
    if (copy != NULL && length > 0)
        memcpy(copy, text, length);
    return copy;
}

char *arena_strdup(struct arena *arena, const char *text, struct err *e)
{
    return arena_strndup(arena, text, strlen(text), e);
}

char *arena_printf(struct arena *arena, struct err *e, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0)
        err_fill(e, ERR_MEMORY, "text can't be formatted");
    char *text = length < 0 ? NULL : arena_alloc(arena, (size_t)length + 1, e);
    if (text != NULL)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

size_t arena_used(const struct arena *arena)
{
    return arena->used;
}
