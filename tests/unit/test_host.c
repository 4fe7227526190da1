/* net/host.h: the gate in front of a host. */
#include "net/host.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct host_limits limits = {.parallel = 4, .retry_base = 3, .retry_per_item = 2};

static struct host *open_table(struct host_table **table)
{
    struct err e;
    err_init(&e);
    *table = host_table_new(&limits, &e);
    assert_non_null(*table);
    struct host *host = host_of_url(*table, "https://example.com/a", &e);
    assert_non_null(host);
    return host;
}

static void test_identity(void **state)
{
    (void)state;
    struct host_table *table;
    struct err e;
    err_init(&e);
    struct host *host = open_table(&table);
    assert_ptr_equal(host, host_of_url(table, "https://user:x@EXAMPLE.com:443/b?c", &e));
    assert_ptr_not_equal(host, host_of_url(table, "http://example.com/a", &e));
    assert_ptr_not_equal(host, host_of_url(table, "https://example.com:8443/a", &e));
    assert_string_equal(host_name(host), "example.com:443");
    host_table_free(table);
}

/* Each step: a letter for what happens, and the concurrency behind it. */
static void test_concurrency(void **state)
{
    (void)state;
    static const struct {
        char what; /* b begin, s success, t trouble, n neutral */
        int64_t concurrency;
        int64_t running;
    } steps[] = {
        {'b', 4, 1}, {'b', 4, 2}, {'b', 4, 3}, {'b', 4, 4}, {'t', 2, 3}, /* halves … */
        {'t', 2, 2}, {'t', 2, 1}, /* … once for all that were under way */
        {'s', 3, 0},              /* and grows by one */
        {'b', 3, 1}, {'t', 1, 0}, {'b', 1, 1}, {'t', 1, 0}, {'b', 1, 1},
        {'n', 1, 0}, {'b', 1, 1}, {'s', 2, 0}, {'b', 2, 1}, {'s', 3, 0},
        {'b', 3, 1}, {'s', 4, 0}, {'b', 4, 1}, {'s', 4, 0}, /* never beyond the cap */
    };
    struct host_table *table;
    struct host *host = open_table(&table);
    for (size_t i = 0; i < ARRAY_LENGTH(steps); i++) {
        if (steps[i].what == 'b')
            host_begin(host);
        else
            host_end(host, steps[i].what == 's'   ? HOST_SUCCESS
                           : steps[i].what == 't' ? HOST_TROUBLE
                                                  : HOST_NEUTRAL);
        assert_int_equal(host_concurrency(host), steps[i].concurrency);
        assert_int_equal(host_running(host), steps[i].running);
        assert_int_equal(host_is_open(host, 0), steps[i].running < steps[i].concurrency);
    }
    host_table_free(table);
}

static void test_parking(void **state)
{
    (void)state;
    struct host_table *table;
    struct host *host = open_table(&table);
    assert_true(host_is_open(host, 0));
    host_park(host, 1000);
    host_park(host, 500);
    assert_int_equal(host_parked_until(host), 1000);
    assert_false(host_is_open(host, 999));
    assert_true(host_is_open(host, 1000));
    host_table_free(table);
}

static void test_budget(void **state)
{
    (void)state;
    struct host_table *table;
    struct host *host = open_table(&table);
    for (int i = 0; i < 3; i++)
        assert_true(host_take_retry(host));
    assert_false(host_take_retry(host));
    host_grant_item(host);
    assert_true(host_take_retry(host));
    assert_true(host_take_retry(host));
    assert_false(host_take_retry(host));
    host_table_free(table);
    host_table_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_concurrency),
        cmocka_unit_test(test_parking),
        cmocka_unit_test(test_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
