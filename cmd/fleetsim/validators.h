/* ETag, Last-Modified, conditions and ranges (RFC 9110 sections 8.8, 13, 14). */
#ifndef FLEETSIM_VALIDATORS_H
#define FLEETSIM_VALIDATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum { HTTP_DATE_BYTES = 40 };

struct validators {
    char etag[256];          /* quoted; "" if none */
    char last_modified[128]; /* "" if none */
};

const char *http_date(time_t when, char out[HTTP_DATE_BYTES]);
/* The ETag is the head of the file's SHA-256. Empty ones where the file can't be read. */
void validators_of_file(const char *path, struct validators *out);
/* Would If-None-Match, or else If-Modified-Since, be answered with 304? Either may be NULL. */
bool validators_match(const struct validators *validators, const char *if_none_match,
                      const char *if_modified_since);
/* Does If-Range (NULL: not sent) let a part be sent? Weak ETags never do. */
bool validators_allow_range(const struct validators *validators, const char *if_range);

enum range_result { RANGE_OK, RANGE_IGNORED, RANGE_UNSATISFIABLE };
/* One range; several are ignored. */
enum range_result range_parse(const char *header, uint64_t size, uint64_t *from, uint64_t *length);

#endif
