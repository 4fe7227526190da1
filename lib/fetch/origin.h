/* Scheme, host and port: the line that credentials never cross. Pure. */
#ifndef TENDER_FETCH_ORIGIN_H
#define TENDER_FETCH_ORIGIN_H

#include <stdbool.h>

bool origin_is_same(const char *a, const char *b);
bool origin_is_https(const char *url);
bool origin_has_userinfo(const char *url);
/* `target` with the userinfo of `from`, where both have the same origin and target brings none; a copy of
 * `target` otherwise. malloc'ed; NULL when out of memory. */
char *origin_carry_userinfo(const char *from, const char *target);

#endif
