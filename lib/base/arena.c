/* Blocks of memory that the stages' values live in: manifest, observed state and plan each have one arena. */
#include "base/arena.h"
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Small at first. With much in use, a block is a huge page: for each small one that is touched first, the
 * kernel is entered once. */
enum {
    BLOCK_BYTES = 32 * 1024,
    HUGE_PAGE_BYTES = 2 * 1024 * 1024,
    HUGE_FROM_BYTES = 2 * 1024 * 1024,
};

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
    bool is_huge = arena->used >= HUGE_FROM_BYTES;
    size_t usual_size = is_huge ? HUGE_PAGE_BYTES - sizeof(struct block) : BLOCK_BYTES;
    bool is_large = size > usual_size / 4;
    size_t block_size = is_large ? size : usual_size;
    if (block_size > SIZE_MAX - sizeof(struct block))
        return NULL;
    struct block *block = is_huge && !is_large ? aligned_alloc(HUGE_PAGE_BYTES, HUGE_PAGE_BYTES)
                                               : malloc(sizeof *block + block_size);
    if (block != NULL && is_huge && !is_large)
        (void)madvise(block, HUGE_PAGE_BYTES, MADV_HUGEPAGE); /* a wish */
    if (block == NULL)
        return NULL;
    block->used = 0;
    block->size = block_size;
    if (is_large && arena->blocks != NULL) {
        block->next = arena->blocks->next;
        arena->blocks->next = block;
    } else {
        block->next = arena->blocks;
        arena->blocks = block;
    }
    return block;
}

/* `align` is a power of two. Not zeroed. */
static void *take(struct arena *arena, size_t size, size_t align, struct err *e)
{
    struct block *block = arena->blocks;
    size_t padding = block == NULL ? 0 : -block->used & (align - 1);
    size_t needed = size == 0 ? 1 : size;
    if (needed > arena->max_bytes - arena->used || padding > arena->max_bytes - arena->used - needed) {
        err_fill(e, ERR_MEMORY, "%zu bytes more are needed where %zu are in use; the limit is %zu bytes",
                 size, arena->used, arena->max_bytes);
        return NULL;
    }
    if (block == NULL || block->size - block->used < padding ||
        block->size - block->used - padding < needed) {
        padding = 0;
        block = block_add(arena, needed);
        if (block == NULL) {
            err_fill(e, ERR_MEMORY, "out of memory");
            return NULL;
        }
    }
    void *bytes = block->bytes + block->used + padding;
    block->used += padding + needed;
    arena->used += padding + needed;
    return bytes;
}

void *arena_alloc(struct arena *arena, size_t size, struct err *e)
{
    void *bytes = take(arena, size, alignof(max_align_t), e);
    return bytes == NULL ? NULL : memset(bytes, 0, size == 0 ? 1 : size);
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
    void *copy = take(arena, length, alignof(max_align_t), e);
    if (copy != NULL && length > 0)
        memcpy(copy, bytes, length);
    return copy;
}

char *arena_strndup(struct arena *arena, const char *text, size_t length, struct err *e)
{
    char *copy = take(arena, length < SIZE_MAX ? length + 1 : length, 1, e);
    if (copy == NULL)
        return NULL;
    if (length > 0)
        memcpy(copy, text, length);
    copy[length] = '\0';
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
    char *text = length < 0 ? NULL : take(arena, (size_t)length + 1, 1, e);
    if (text != NULL)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}
