/* SHA-256 by libcrypto's EVP. */
#ifndef TENDER_BASE_DIGEST_H
#define TENDER_BASE_DIGEST_H

#include "base/err.h"
#include <stddef.h>
#include <stdint.h>

enum { DIGEST_HEX_BYTES = 65 }; /* 64 lower-case hex digits and NUL */

struct digest; /* a running SHA-256 */

struct digest *digest_new(struct err *e) MUST_CHECK; /* freed by digest_free */
void digest_free(struct digest *digest);
void digest_cleanup(struct digest **digest);
int digest_restart(struct digest *digest, struct err *e) MUST_CHECK;
int digest_update(struct digest *digest, const void *bytes, size_t length, struct err *e) MUST_CHECK;
/* Ends it; the digest must be restarted before it is used again. */
int digest_finish(struct digest *digest, char hex[DIGEST_HEX_BYTES], struct err *e) MUST_CHECK;

int digest_bytes(const void *bytes, size_t length, char hex[DIGEST_HEX_BYTES], struct err *e) MUST_CHECK;
/* Reads the file in slices. `size` (may be NULL) gets its length. */
int digest_file(const char *path, char hex[DIGEST_HEX_BYTES], uint64_t *size, struct err *e) MUST_CHECK;
/* 64 hex digits, either case. */
bool digest_is_hex(const char *text);

#endif
