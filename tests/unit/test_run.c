/* What a run keeps to itself. */
#include "reconcile/run.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* The report has the rest of the time; that it comes is seen end to end. */
static void test_deadline(void **state)
{
    (void)state;
    static const struct {
        int64_t started_ms, limit_ms, deadline_ms;
    } cases[] = {
        {5000, 0, 0},         {5000, 1, 5001},      {5000, 100, 5090},        {5000, 4000, 8600},
        {5000, 20000, 23000}, {5000, 20010, 23010}, {5000, 3600000, 3603000},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_int_equal(run_deadline_ms(cases[i].started_ms, cases[i].limit_ms), cases[i].deadline_ms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_deadline)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
