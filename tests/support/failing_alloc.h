/* Makes the n-th allocation of the code under test fail. Works at link time (--wrap), so also under ASan.
 * Allocations inside shared libraries are not counted. */
#ifndef TENDER_TESTS_FAILING_ALLOC_H
#define TENDER_TESTS_FAILING_ALLOC_H

#include <stdbool.h>

/* From now on, allocation number `nth` (1-based) fails, and all behind it if `all_behind`. 0: none fails, but
 * they are counted. */
void failing_alloc_start(long nth, bool all_behind);
/* Back to normal. Returns how many allocations were asked for since the start. */
long failing_alloc_stop(void);

#endif
