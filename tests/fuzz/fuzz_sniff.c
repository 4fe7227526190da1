/* Any bytes, first as a name's extension and then as a file: no look beyond what is given, and what is
 * refused while it comes is refused when it is whole, too. */
#include "fetch/sniff.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* A copy of exactly that length, so that a sanitizer sees a look beyond it. */
static void *copy(const uint8_t *bytes, size_t length)
{
    void *kept = malloc(length == 0 ? 1 : length);
    if (kept == NULL)
        abort();
    memcpy(kept, bytes, length);
    return kept;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const names[] = {"a.pkg", "a.msi", "a.exe", "a.deb", "a.rpm", "a.zip", "a.tar.gz",
                                        "a.dmg", "a.sh",  "a.ps1", "a.py",  "a",     "a.ipa", "a.msix"};
    size_t piece = size < SNIFF_BYTES ? size : SNIFF_BYTES;
    void *head = copy(bytes, piece), *tail = copy(bytes + size - piece, piece);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct sniff_refusal early_why, late_why;
        const struct sniff_sample early = {.head = head, .head_length = piece};
        const struct sniff_sample late = {
            .head = head, .head_length = piece, .tail = tail, .tail_length = piece, .size_bytes = size};
        bool is_refused_early = sniff_refuses(names[i], &early, &early_why);
        bool is_refused_late = sniff_refuses(names[i], &late, &late_why);
        bool has_trailer = i == 7; /* only a disk image's end redeems its beginning */
        if ((is_refused_early && !is_refused_late && !has_trailer) || late_why.declared == NULL)
            abort();
    }
    free(head);
    free(tail);
    return 0;
}
