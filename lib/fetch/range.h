/* Content-Range, and which validators are strong enough to splice by (RFC 9110, sections 8.8, 13.1.5, 14.4).
 * Pure. */
#ifndef TENDER_FETCH_RANGE_H
#define TENDER_FETCH_RANGE_H

#include "net/http.h"
#include <stdbool.h>
#include <stdint.h>

struct content_range {
    bool is_unsatisfied; /* "bytes *" and a total: of a 416 */
    uint64_t first, last;
    bool total_is_known;
    uint64_t total;
};

/* False if the value is none of ours: other units, last before first, total not beyond last. */
bool range_parse(const char *value, struct content_range *out);
/* The announced length of the body; -1: none, or nonsense. */
int64_t range_content_length(const struct http_answer *answer);
/* What tells where a body ends (RFC 9112 section 6.3). */
enum body_end {
    BODY_END_LENGTH,    /* a Content-Length */
    BODY_END_CHUNKS,    /* its own last chunk */
    BODY_END_CLOSE,     /* nothing but the connection's end: a cut body looks like a whole one */
    BODY_END_ODD,       /* a Content-Length that is no number, or several that differ */
    BODY_END_TOO_LARGE, /* a length beyond all that we can count */
};
/* *length: of BODY_END_LENGTH and, where a length comes along with chunks, of these; else -1. */
enum body_end range_body_end(const struct http_answer *answer, int64_t *length);

enum { VALIDATOR_BYTES = 2048 }; /* a longer one is not sent back: it counts as none */
/* What may stand in If-Range for this answer: a strong ETag; without any ETag a Last-Modified that is at
 * least 60 s older than the answer's Date. NULL: none. Borrowed from the answer. */
const char *range_strong_validator(const struct http_answer *answer);
/* Weak comparison, as If-None-Match does it. */
bool range_etags_match(const char *a, const char *b);

#endif
