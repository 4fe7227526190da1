/* A package of any size that is never stored: the head of a .deb (package "simulated-SEED", so that a Fleet
 * server takes it), then a pseudo-random block over and over. The block's length is a prime, so a body that
 * was spliced at a wrong offset has another digest. Fast enough to never be what a benchmark measures.
 *
 * A seed of 1,000,000 · n + s is version 1.n of the package simulated-s. */
#ifndef FLEETSIM_GENERATED_H
#define FLEETSIM_GENERATED_H

#include "base/digest.h"
#include "base/err.h"
#include <stdint.h>

enum { GENERATED_HEAD_BYTES = 2240, GENERATED_BLOCK_BYTES = 1048583 };

struct generated {
    uint64_t size; /* at least GENERATED_HEAD_BYTES */
    uint64_t seed;
    char head[GENERATED_HEAD_BYTES];
    char *block; /* owned */
};

int generated_init(struct generated *generated, uint64_t size, uint64_t seed, struct err *e) MUST_CHECK;
void generated_done(struct generated *generated);
/* The bytes from `offset` on that lie in one piece: *bytes is borrowed, at least 1 long below the size. */
size_t generated_view(const struct generated *generated, uint64_t offset, const char **bytes);
int generated_digest(const struct generated *generated, char hex[DIGEST_HEX_BYTES], struct err *e) MUST_CHECK;

#endif
