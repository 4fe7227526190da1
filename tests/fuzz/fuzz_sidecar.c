/* Any bytes as the sidecar of a partial file: believed or not, never more than the file holds, and what is
 * believed comes back when it is written and read again. The first byte says whether a digest is pinned, and
 * whether the head of this start of the machine stands before the rest. */
#include "base/files.h"
#include "base/text.h"
#include "fetch/cache.h"
#include "fetch/partial.h"
#include "fetch/partial_about.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static char folder[64];
static char this_boot[128]; /* the first lines of a sidecar that was written since the machine started */

static void remove_folder(void)
{
    struct err ignored;
    err_init(&ignored);
    (void)!folder_remove(folder, &ignored);
}

static void make_folder(void)
{
    struct err e;
    err_init(&e);
    snprintf(folder, sizeof folder, "%s/tender-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(folder) == NULL || cache_prepare(folder, &e) < 0 || atexit(remove_folder) != 0)
        abort();
}

static void put(const char *name, const char *head, const void *bytes, size_t size)
{
    char path[128];
    snprintf(path, sizeof path, "%s/partial/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(head, file) < 0 || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        abort();
}

static void learn_boot(void)
{
    char id[64] = "unknown";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (file != NULL) {
        if (fgets(id, sizeof id, file) != NULL)
            id[strcspn(id, "\n")] = '\0';
        fclose(file);
    }
    snprintf(this_boot, sizeof this_boot, "tender partial 1\nboot %s\n", id);
}

static void check_again(struct partial *partial)
{
    struct partial again;
    struct err e;
    err_init(&e);
    partial_init(&again);
    again.about = strdup(partial->about);
    if (again.about == NULL || about_write(partial, &e) < 0 || about_read(&again, false, &e) < 0)
        abort();
    if (strcmp(again.source, partial->source) != 0 || again.expected_bytes != partial->expected_bytes ||
        !text_equal(again.validator, partial->validator) || !text_equal(again.file_name, partial->file_name))
        abort();
    partial_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char kept[] = "xar!0123456789";
    struct partial partial;
    struct err e;
    if (size == 0 || size > 15000)
        return 0;
    if (folder[0] == '\0') {
        make_folder();
        learn_boot();
    }
    bool is_pinned = bytes[0] % 2 == 1;
    put("k.part", "", kept, sizeof kept - 1);
    put("k.about", bytes[0] & 2 ? this_boot : "", bytes + 1, size - 1);
    err_init(&e);
    partial_init(&partial);
    if (partial_open(&partial, folder, "k", is_pinned, &e) < 0)
        abort();
    if (partial.size_bytes != 0 && partial.size_bytes != sizeof kept - 1)
        abort();
    if (partial.expected_bytes >= 0 && partial.size_bytes > (uint64_t)partial.expected_bytes)
        abort();
    if (partial.size_bytes > 0 && !is_pinned && memmem(bytes, size, "end", 3) == NULL)
        abort();
    if (partial.source[0] != '\0' && !digest_is_hex(partial.source))
        abort();
    if (partial.size_bytes > 0)
        check_again(&partial);
    partial_discard(&partial);
    return 0;
}
