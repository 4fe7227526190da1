/* The system's clock and random source behind the two interfaces that every stage takes as arguments. */
#include "base/clock.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

static int64_t read_clock_ms(clockid_t id)
{
    struct timespec now;
    if (clock_gettime(id, &now) != 0)
        return 0;
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t system_monotonic_ms(void *context)
{
    (void)context;
    return read_clock_ms(CLOCK_MONOTONIC);
}

static int64_t system_wall_ms(void *context)
{
    (void)context;
    return read_clock_ms(CLOCK_REALTIME);
}

const struct clock *clock_system(void)
{
    static const struct clock system_clock = {.monotonic_ms = system_monotonic_ms, .wall_ms = system_wall_ms};
    return &system_clock;
}

static double system_jitter(void *context)
{
    (void)context;
    uint64_t bits = 0;
    if (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits)
        bits = (uint64_t)read_clock_ms(CLOCK_MONOTONIC) * UINT64_C(0x9E3779B97F4A7C15);
    return (double)(bits >> 11) / 9007199254740992.0; /* 53 bits over 2^53 */
}

const struct jitter *jitter_system(void)
{
    static const struct jitter source = {.next = system_jitter};
    return &source;
}

const char *clock_iso8601(int64_t wall_ms, char out[CLOCK_TEXT_BYTES])
{
    int64_t ms = wall_ms % 1000;
    int64_t second = wall_ms / 1000;
    if (ms < 0) { /* before 1970 the remainder still counts forward */
        ms += 1000;
        second--;
    }
    time_t seconds = (time_t)second;
    struct tm utc;
    char date[24];
    if (gmtime_r(&seconds, &utc) == NULL || strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc) == 0)
        snprintf(out, CLOCK_TEXT_BYTES, "(no date)");
    else
        snprintf(out, CLOCK_TEXT_BYTES, "%s.%03dZ", date, (int)ms);
    return out;
}

/* timegm() turns February 31 into March 3: such a date is none. */
static int64_t ms_of_date(struct tm *utc)
{
    int day = utc->tm_mday;
    bool is_leap_second = utc->tm_sec == 60;
    time_t seconds = timegm(utc);
    if (seconds < 0 || (utc->tm_mday != day && !is_leap_second))
        return -1;
    return (int64_t)seconds * 1000;
}

int64_t clock_parse_http_date(const char *text)
{
    static const char *const formats[] = {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT",
                                          "%a %b %e %H:%M:%S %Y"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        struct tm utc = {0};
        const char *end = strptime(text, formats[i], &utc);
        if (end != NULL && end[strspn(end, " \t\r\n")] == '\0')
            return ms_of_date(&utc);
    }
    return -1;
}

const char *clock_duration_text(int64_t duration_ms, char out[CLOCK_TEXT_BYTES])
{
    long long ms = duration_ms < 0 ? 0 : duration_ms;
    long long seconds = ms / 1000 + (ms % 1000 >= 500 ? 1 : 0);
    if (ms < 1000)
        snprintf(out, CLOCK_TEXT_BYTES, "%lld ms", ms);
    else if (seconds < 60 && ms % 1000 != 0 && ms < 10000)
        snprintf(out, CLOCK_TEXT_BYTES, "%lld.%lld s", ms / 1000, ms % 1000 / 100);
    else if (seconds < 60)
        snprintf(out, CLOCK_TEXT_BYTES, "%lld s", seconds);
    else if (seconds < 3600 && seconds % 60 == 0)
        snprintf(out, CLOCK_TEXT_BYTES, "%lld min", seconds / 60);
    else if (seconds < 3600)
        snprintf(out, CLOCK_TEXT_BYTES, "%lld min %lld s", seconds / 60, seconds % 60);
    else
        snprintf(out, CLOCK_TEXT_BYTES, "%lld h %lld min", seconds / 3600, seconds % 3600 / 60);
    return out;
}
