/* The source of big packages for benchmarks and tests: package_host serves it, --digest prints its SHA-256.
 */
#include "generated.h"
#include "json.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AR_HEADER_BYTES = 60, TAR_BYTES = 2048, TAR_BLOCK_BYTES = 512, SEEDS_PER_VERSION = 1000000 };

static void ar_header(char *out, const char *name, uint64_t size)
{
    char header[AR_HEADER_BYTES + 32];
    snprintf(header, sizeof header, "%-16s%-12s%-6s%-6s%-8s%-10" PRIu64 "`\n", name, "0", "0", "0", "100644",
             size);
    memcpy(out, header, AR_HEADER_BYTES);
}

/* A tar archive of one file, ./control. */
static void control_tar(char *out, uint64_t seed)
{
    char control[TAR_BLOCK_BYTES];
    int length = snprintf(control, sizeof control,
                          "Package: simulated-%" PRIu64 "\nVersion: 1.%" PRIu64
                          "\nArchitecture: all\nMaintainer: fleetsim <fleetsim@example.com>\n"
                          "Description: a generated package\n",
                          seed % SEEDS_PER_VERSION, seed / SEEDS_PER_VERSION);
    memset(out, 0, TAR_BYTES);
    memcpy(out, "./control", 9);
    memcpy(out + 100, "0000644", 7);
    memcpy(out + 108, "0000000", 7);
    memcpy(out + 116, "0000000", 7);
    snprintf(out + 124, 12, "%011o", (unsigned)length);
    memcpy(out + 136, "00000000000", 11);
    memset(out + 148, ' ', 8);
    out[156] = '0';
    memcpy(out + 257, "ustar\00000", 8);
    unsigned sum = 0;
    for (int i = 0; i < TAR_BLOCK_BYTES; i++)
        sum += (unsigned char)out[i];
    snprintf(out + 148, 8, "%06o", sum);
    memcpy(out + TAR_BLOCK_BYTES, control, (size_t)length);
}

static void fill_head(struct generated *generated)
{
    char *at = generated->head;
    memcpy(at, "!<arch>\n", 8);
    ar_header(at + 8, "debian-binary", 4);
    memcpy(at + 68, "2.0\n", 4);
    ar_header(at + 72, "control.tar", TAR_BYTES);
    control_tar(at + 132, generated->seed);
    ar_header(at + 132 + TAR_BYTES, "data.tar", generated->size - GENERATED_HEAD_BYTES);
}

int generated_init(struct generated *generated, uint64_t size, uint64_t seed, struct err *e)
{
    if (size < GENERATED_HEAD_BYTES)
        return err_set(e, ERR_CONFIG, "a generated body has at least %d bytes", GENERATED_HEAD_BYTES);
    *generated = (struct generated){.size = size, .seed = seed, .block = allocate(GENERATED_BLOCK_BYTES + 8)};
    uint64_t word = (seed + 1) * UINT64_C(0x9E3779B97F4A7C15);
    for (size_t i = 0; i < GENERATED_BLOCK_BYTES; i += sizeof word) {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        memcpy(generated->block + i, &word, sizeof word);
    }
    fill_head(generated);
    return 0;
}

void generated_done(struct generated *generated)
{
    free(generated->block);
    *generated = (struct generated){.size = 0};
}

size_t generated_view(const struct generated *generated, uint64_t offset, const char **bytes)
{
    uint64_t rest = generated->size - offset;
    size_t piece;
    if (offset < GENERATED_HEAD_BYTES) {
        *bytes = generated->head + offset;
        piece = (size_t)(GENERATED_HEAD_BYTES - offset);
    } else {
        size_t at = (size_t)((offset - GENERATED_HEAD_BYTES) % GENERATED_BLOCK_BYTES);
        *bytes = generated->block + at;
        piece = GENERATED_BLOCK_BYTES - at;
    }
    return piece < rest ? piece : (size_t)rest;
}

int generated_digest(const struct generated *generated, char hex[DIGEST_HEX_BYTES], struct err *e)
{
    CLEANUP(digest_cleanup) struct digest *digest = digest_new(e);
    if (digest == NULL)
        return -1;
    const char *bytes;
    for (uint64_t offset = 0; offset < generated->size;) {
        size_t length = generated_view(generated, offset, &bytes);
        if (digest_update(digest, bytes, length, e) < 0)
            return -1;
        offset += length;
    }
    return digest_finish(digest, hex, e);
}
