/* The speed that is shown of a package: what the time left is reckoned from. */
#include "fetch/progress.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static const struct rate_case {
    const char *name;
    int64_t step_ms;
    size_t count;
    struct {
        bool is_receiving;
        uint64_t received, per_second;
    } looks[10];
} cases[] = {
    {"not before a second has been seen",
     400,
     5,
     {{true, 5000, 0}, {true, 5400, 0}, {true, 5800, 0}, {true, 6200, 1000}, {true, 6600, 1000}}},
    {"what came before the first look, and waiting for it, count for nothing",
     1000,
     6,
     {{false, 0, 0}, {false, 0, 0}, {false, 0, 0}, {true, 0, 0}, {true, 8000, 8000}, {true, 16000, 8000}}},
    {"one slow second is a quarter of what is shown",
     1000,
     4,
     {{true, 0, 0}, {true, 8000, 8000}, {true, 8000, 6000}, {true, 8000, 4500}}},
    {"a new attempt begins anew",
     1000,
     5,
     {{true, 0, 0}, {true, 8000, 8000}, {false, 8000, 0}, {true, 8000, 0}, {true, 9000, 1000}}},
    {"long between two looks", 30000, 3, {{true, 0, 0}, {true, 30000, 1000}, {true, 180000, 2000}}},
};

static void test_rates(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct rate rate = {.since_ms = 0};
        for (size_t k = 0; k < cases[i].count; k++) {
            rate_measure(&rate, cases[i].looks[k].is_receiving, cases[i].looks[k].received,
                         1000 + (int64_t)k * cases[i].step_ms);
            if (rate.per_second != cases[i].looks[k].per_second)
                fail_msg("%s: look %zu: %llu", cases[i].name, k, (unsigned long long)rate.per_second);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rates)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
