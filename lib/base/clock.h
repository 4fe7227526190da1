/* Time and randomness as arguments: a test runs an hour of back-off in a millisecond with a clock of its own.
 */
#ifndef TENDER_BASE_CLOCK_H
#define TENDER_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

struct clock {
    int64_t (*monotonic_ms)(void *context); /* never goes back; for waits and durations */
    int64_t (*wall_ms)(void *context);      /* since 1970-01-01 UTC; for what people and headers say */
    void *context;
    /* For tests; may be NULL. The loop calls it instead of waiting while nothing is under way on the network:
     * it moves the clock ahead by that much. */
    void (*skip)(void *context, int64_t duration_ms);
};

/* A source of jitter: uniform in [0, 1). */
struct jitter {
    double (*next)(void *context);
    void *context;
};

const struct clock *clock_system(void);
/* From the system's random source. */
const struct jitter *jitter_system(void);

enum { CLOCK_TEXT_BYTES = 32 };
/* "2026-11-30T17:50:08.678Z" */
const char *clock_iso8601(int64_t wall_ms, char out[CLOCK_TEXT_BYTES]);
/* An IMF-fixdate, RFC 850 or asctime date (RFC 9110 section 5.6.7) as ms since 1970; -1 if it is none. */
int64_t clock_parse_http_date(const char *text);
/* "850 ms", "12 s", "3 min 20 s", "1 h 5 min" */
const char *clock_duration_text(int64_t duration_ms, char out[CLOCK_TEXT_BYTES]);

#endif
