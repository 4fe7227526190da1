/* The allocator as the linker sees it (--wrap): counts, and fails the one that a test chose. */
#include "failing_alloc.h"
#include <errno.h>
#include <stddef.h>

void *__real_malloc(size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t length);
void *__wrap_malloc(size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t length);

static bool is_counting;
static long asked;
static long failing_number;
static bool fails_all_behind;

void failing_alloc_start(long nth, bool all_behind)
{
    asked = 0;
    failing_number = nth;
    fails_all_behind = all_behind;
    is_counting = true;
}

long failing_alloc_stop(void)
{
    is_counting = false;
    return asked;
}

static bool must_fail(void)
{
    if (!is_counting)
        return false;
    asked++;
    bool fails =
        failing_number > 0 && (asked == failing_number || (fails_all_behind && asked > failing_number));
    if (fails)
        errno = ENOMEM;
    return fails;
}

void *__wrap_malloc(size_t size)
{
    return must_fail() ? NULL : __real_malloc(size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return must_fail() ? NULL : __real_aligned_alloc(alignment, size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return must_fail() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return must_fail() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
    return must_fail() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t length)
{
    return must_fail() ? NULL : __real_strndup(text, length);
}
