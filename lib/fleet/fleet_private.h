/* The connection to one Fleet server, between the files of fleet/ only. */
#ifndef TENDER_FLEET_FLEET_PRIVATE_H
#define TENDER_FLEET_FLEET_PRIVATE_H

#include "fleet/codec.h"
#include "fleet/fleet.h"

enum { MAX_CALL_NAMES = 40, API_BASE_BYTES = 2048 };

struct fleet {
    struct fleet_options options;
    char base[API_BASE_BYTES]; /* "https://fleet.example.com/api/v1/fleet" */
    char *authorisation;       /* the header line; secret */
    bool is_locked_out;        /* a 401 was seen: nothing more can succeed */
    bool in_commit;            /* a stop lets what is under way end */
    int64_t grace_until_ms;    /* monotonic; 0: no stop seen yet */
    struct call_statistics statistics[MAX_CALL_NAMES];
    size_t statistics_count;
    uint64_t uploaded_bytes;
    const struct secret_value *secrets; /* their values never come out in what the server says; borrowed */
    size_t secret_count;
};

/* A server, or a proxy before it, may repeat what it was sent: the token and the secret variables' values
 * become "***". */
void fleet_hide_secrets(const struct fleet *fleet, char *text);
/* Adds one exchange's time to its kind of call. */
void fleet_count_call(struct fleet *fleet, const char *name, int64_t duration_ms);

static inline int64_t fleet_now_ms(const struct fleet *fleet)
{
    const struct clock *clock = fleet->options.clock;
    return clock->monotonic_ms(clock->context);
}

#endif
