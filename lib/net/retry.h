/* What the end of an attempt means, and how long to wait before the next: pure functions over one table
 * (design, "Retry, in one place"). */
#ifndef TENDER_NET_RETRY_H
#define TENDER_NET_RETRY_H

#include "base/clock.h"
#include "model/settings.h"
#include "net/http.h"

enum retry_class {
    RETRY_SUCCESS,
    RETRY_TRANSIENT,      /* trying again may help */
    RETRY_TRANSIENT_ONCE, /* we don't know this one: once more, then permanent */
    RETRY_PERMANENT,      /* this source will not get better */
    RETRY_FATAL,          /* nothing in this run will */
};

/* What only the caller sees: the line was fine, the content is not. */
enum retry_cause {
    CAUSE_SHORT_BODY,       /* fewer bytes than announced */
    CAUSE_BAD_RANGE,        /* an answer to a range that can't be spliced: next time clean */
    CAUSE_RESUMED_MISMATCH, /* a resumed or mixed body with the wrong digest: once more, clean */
    CAUSE_DIGEST_MISMATCH,  /* of one whole fresh body */
    CAUSE_EMPTY,
    CAUSE_WRONG_TYPE,
    CAUSE_TOO_LARGE,
    CAUSE_REDIRECT_LOOP,
    CAUSE_BAD_REDIRECT,         /* to another scheme, from https to http, without a target */
    CAUSE_ENCODED,              /* a Content-Encoding that was not asked for */
    CAUSE_RETRY_AFTER_TOO_LONG, /* the server asked for more patience than we have */
    CAUSE_BAD_LENGTH,           /* a Content-Length that can't be meant */
    CAUSE_NO_LENGTH,            /* nothing but the connection's end would tell where the body ends */
    CAUSE_NO_SPACE,             /* the disk: fails the item, other sources don't help */
};
enum { RETRY_CAUSE_COUNT = CAUSE_NO_SPACE + 1 };

enum retry_class retry_of_curl(int curl_code);
/* In plain words: "connection reset by peer". Never NULL; a constant. */
const char *retry_curl_words(int curl_code);
/* `is_rate_limited`: a 403 with rate-limit headers. 1xx and unknown ones are permanent. 2xx and 304 are
 * success. 3xx are permanent: whoever follows redirects does not ask. */
enum retry_class retry_of_status(int status, bool is_rate_limited);
enum retry_class retry_of_cause(enum retry_cause cause);
/* A whole answer's class: of its curl code where it failed, of its status otherwise. A proxy's 407 is fatal:
 * everybody else needs that proxy too. */
enum retry_class retry_classify(const struct http_answer *answer);
/* The error class of an answer that is fatal for the run. */
enum err_class retry_fatal_class(const struct http_answer *answer);

/* How long the answer asks us to stay away: Retry-After (seconds, or a date against the answer's own Date,
 * `now_wall_ms` where it has none; of several the longest), or the reset time of exhausted rate-limit
 * headers. -1: it does not ask. */
int64_t retry_after_ms(const struct http_answer *answer, int64_t now_wall_ms);
bool retry_is_rate_limited(const struct http_answer *answer);

/* The wait before round `round` + 1, after `round` (0-based) rounds of failures: min(max, initial · factor^n)
 * with full jitter, uniform in [0, that]; linear: initial · (n + 1); constant: initial. */
int64_t retry_delay_ms(const struct retry_policy *policy, int64_t round, const struct jitter *jitter);
/* How much later than the end of a pause that a server asked for (Retry-After) one of those who wait for it
 * comes back, so that they do not all come at once: uniform in [0, initial]; 0 without jitter. */
int64_t retry_spread_ms(const struct retry_policy *policy, const struct jitter *jitter);
/* Both for one who is alone with its host: the wait after `round` rounds, and not before the pause of
 * `asked_ms` (-1: none) is over. */
int64_t retry_wait_ms(const struct retry_policy *policy, int64_t round, int64_t asked_ms,
                      const struct jitter *jitter);

#endif
