/* Digests decide what is pushed: computed while bytes arrive, and again over what a former run left behind.
 */
#include "base/digest.h"
#include "base/files.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLICE_BYTES = 256 * 1024 };

struct digest {
    EVP_MD_CTX *context;
};

struct digest *digest_new(struct err *e)
{
    CLEANUP(digest_cleanup) struct digest *digest = calloc(1, sizeof *digest);
    if (digest == NULL || (digest->context = EVP_MD_CTX_new()) == NULL) {
        err_fill(e, ERR_MEMORY, "out of memory");
        return NULL;
    }
    if (digest_restart(digest, e) < 0)
        return NULL;
    return TAKE(digest);
}

void digest_free(struct digest *digest)
{
    if (digest == NULL)
        return;
    EVP_MD_CTX_free(digest->context);
    free(digest);
}

void digest_cleanup(struct digest **digest)
{
    digest_free(*digest);
    *digest = NULL;
}

int digest_restart(struct digest *digest, struct err *e)
{
    if (EVP_DigestInit_ex(digest->context, EVP_sha256(), NULL) != 1)
        return err_set(e, ERR_SYSTEM, "libcrypto has no SHA-256");
    return 0;
}

int digest_update(struct digest *digest, const void *bytes, size_t length, struct err *e)
{
    if (EVP_DigestUpdate(digest->context, bytes, length) != 1)
        return err_set(e, ERR_SYSTEM, "libcrypto can't go on with a SHA-256");
    return 0;
}

int digest_finish(struct digest *digest, char hex[DIGEST_HEX_BYTES], struct err *e)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char raw[EVP_MAX_MD_SIZE];
    unsigned int length = 0;
    if (EVP_DigestFinal_ex(digest->context, raw, &length) != 1 || length != 32)
        return err_set(e, ERR_SYSTEM, "libcrypto can't finish a SHA-256");
    for (size_t i = 0; i < 32; i++) {
        hex[2 * i] = digits[raw[i] >> 4];
        hex[2 * i + 1] = digits[raw[i] & 15];
    }
    hex[64] = '\0';
    return 0;
}

int digest_bytes(const void *bytes, size_t length, char hex[DIGEST_HEX_BYTES], struct err *e)
{
    CLEANUP(digest_cleanup) struct digest *digest = digest_new(e);
    if (digest == NULL || digest_update(digest, bytes, length, e) < 0)
        return -1;
    return digest_finish(digest, hex, e);
}

int digest_file(const char *path, char hex[DIGEST_HEX_BYTES], uint64_t *size, struct err *e)
{
    CLEANUP(file_close_cleanup) int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return err_set_errno(e, "can't open %s", path);
    CLEANUP(digest_cleanup) struct digest *digest = digest_new(e);
    CLEANUP(file_free_cleanup) char *slice = malloc(SLICE_BYTES);
    if (slice == NULL)
        err_fill(e, ERR_MEMORY, "out of memory");
    if (digest == NULL || slice == NULL)
        return -1;
    uint64_t total = 0;
    for (;;) {
        ssize_t got = read(file, slice, SLICE_BYTES);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set_errno(e, "can't read %s", path);
        if (got == 0)
            break;
        if (digest_update(digest, slice, (size_t)got, e) < 0)
            return -1;
        total += (uint64_t)got;
    }
    if (size != NULL)
        *size = total;
    return digest_finish(digest, hex, e);
}

bool digest_is_hex(const char *text)
{
    size_t length = 0;
    while (isxdigit((unsigned char)text[length]))
        length++;
    return length == 64 && text[64] == '\0';
}
