/* base/arena.h: memory of one lifetime, bounded, and honest about every failing allocation. */
#include "base/arena.h"
#include "base/text.h"
#include "failing_alloc.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

#include <cmocka.h>

static void test_alloc(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(1 << 20);
    assert_non_null(arena);
    static const size_t sizes[] = {0, 1, 7, 16, 17, 4096, 32 * 1024, 32 * 1024 + 1, 100000, 3};
    unsigned char *blocks[ARRAY_LENGTH(sizes)];
    for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
        blocks[i] = arena_alloc(arena, sizes[i], &e);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(blocks[i][k], 0);
        memset(blocks[i], (int)i + 1, sizes[i]);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++)
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(blocks[i][k], i + 1); /* none overlaps another */
}

static void test_maximum(void **state)
{
    (void)state;
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(64);
    struct err e;
    err_init(&e);
    assert_non_null(arena_alloc(arena, 48, &e));
    assert_null(arena_alloc(arena, 17, &e));
    assert_int_equal(e.class, ERR_MEMORY);
    assert_non_null(strstr(e.text, "the limit is 64 bytes"));
    err_init(&e);
    assert_non_null(arena_alloc(arena, 16, &e)); /* what fits still comes */
    assert_false(err_is_set(&e));
    assert_null(arena_alloc(arena, 0, &e));
}

/* Sizes that no machine has: the sanitizer is to answer as malloc() does. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void test_overflows(void **state)
{
    (void)state;
    static const size_t maxima[] = {1 << 20, SIZE_MAX};
    for (size_t i = 0; i < ARRAY_LENGTH(maxima); i++) {
        CLEANUP(arena_cleanup) struct arena *arena = arena_new(maxima[i]);
        static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 15, SIZE_MAX - 16, SIZE_MAX - 31, SIZE_MAX - 64};
        for (size_t k = 0; k < ARRAY_LENGTH(sizes); k++) {
            struct err e;
            err_init(&e);
            assert_null(arena_alloc(arena, sizes[k], &e));
            assert_int_equal(e.class, ERR_MEMORY);
        }
        struct err e;
        err_init(&e);
        assert_null(arena_alloc_array(arena, SIZE_MAX / 2, 3, &e));
        assert_int_equal(e.class, ERR_MEMORY);
        err_init(&e);
        assert_null(arena_strndup(arena, "a", SIZE_MAX, &e));
        assert_int_equal(e.class, ERR_MEMORY);
    }
}

static void test_text(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(1 << 20);
    assert_string_equal(arena_strdup(arena, "abc", &e), "abc");
    assert_string_equal(arena_strdup(arena, "", &e), "");
    assert_string_equal(arena_strndup(arena, "abcdef", 3, &e), "abc");
    assert_memory_equal(arena_memdup(arena, "a\0b", 3, &e), "a\0b", 3);
    assert_non_null(arena_memdup(arena, NULL, 0, &e));
    assert_string_equal(arena_printf(arena, &e, "%s-%d", "a", 7), "a-7");
    assert_string_equal(arena_printf(arena, &e, "%s", ""), "");
    assert_false(err_is_set(&e));
    static const wchar_t not_a_character[] = {0x7fffffff, 0};
    /* What printf can't make is an error too, not a silent NULL. */
    assert_null(arena_printf(arena, &e, "%ls", not_a_character));
    assert_int_equal(e.class, ERR_MEMORY);
}

static void test_push(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(1 << 20);
    int *items = NULL;
    size_t count = 0, capacity = 0;
    for (int i = 0; i < 1000; i++) {
        int *item = ARENA_PUSH(arena, &items, &count, &capacity, &e);
        assert_non_null(item);
        *item = i;
    }
    assert_int_equal(count, 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(items[i], i);
    /* A push that fails leaves array and count as they were. */
    CLEANUP(arena_cleanup) struct arena *small = arena_new(8 * sizeof(int) + 16);
    int *few = NULL;
    count = capacity = 0;
    for (int i = 0; i < 8; i++) {
        int *item = ARENA_PUSH(small, &few, &count, &capacity, &e);
        assert_non_null(item);
        *item = i;
    }
    assert_null(ARENA_PUSH(small, &few, &count, &capacity, &e));
    assert_int_equal(count, 8);
    assert_int_equal(few[7], 7);
}

static int use_everything(struct err *e)
{
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(1 << 23);
    if (arena == NULL)
        return err_set(e, ERR_MEMORY, "out of memory");
    int *items = NULL;
    size_t count = 0, capacity = 0;
    for (int i = 0; i < 20000; i++) {
        int *item = ARENA_PUSH(arena, &items, &count, &capacity, e);
        if (item == NULL)
            return -1;
        *item = i;
    }
    for (int i = 0; i < 5000; i++) { /* up to blocks of huge pages */
        char *text = arena_alloc(arena, 1000, e);
        if (text == NULL)
            return -1;
        memset(text, i, 1000);
    }
    return arena_printf(arena, e, "%0*d", 50000, 1) == NULL ? -1 : 0;
}

static void test_each_allocation_fails(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    failing_alloc_start(0, false);
    assert_int_equal(use_everything(&e), 0);
    long count = failing_alloc_stop();
    assert_true(count > 3);
    for (long nth = 1; nth <= count; nth++) {
        err_init(&e);
        failing_alloc_start(nth, false);
        int result = use_everything(&e);
        failing_alloc_stop();
        assert_int_equal(result, -1);
        assert_int_equal(e.class, ERR_MEMORY);
    }
    arena_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alloc),     cmocka_unit_test(test_maximum),
        cmocka_unit_test(test_overflows), cmocka_unit_test(test_text),
        cmocka_unit_test(test_push),      cmocka_unit_test(test_each_allocation_fails),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
