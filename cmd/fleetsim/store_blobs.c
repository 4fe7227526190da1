/* The packages' bytes beside state.json: received under a name of their own, kept under their digest, removed
 * when no installer has them any more, for a real server forgets them at once too. */
#include "base/files.h"
#include "base/text.h"
#include "json.h"
#include "store.h"
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *time_text(bool with_fraction, char out[TIME_TEXT_BYTES])
{
    struct timespec now;
    struct tm parts;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    size_t length = strftime(out, TIME_TEXT_BYTES, "%Y-%m-%dT%H:%M:%S", &parts);
    if (with_fraction)
        snprintf(out + length, TIME_TEXT_BYTES - length, ".%06ldZ", now.tv_nsec / 1000);
    else
        snprintf(out + length, TIME_TEXT_BYTES - length, "Z");
    return out;
}

char *store_blob_path(const struct store *store, const char *sha256)
{
    char name[128];
    snprintf(name, sizeof name, "blobs/sha256/%.64s", sha256);
    char *path = path_join(store->folder, name);
    return path != NULL ? path : copy_text("");
}

char *store_temporary_path(struct store *store)
{
    static unsigned long sequence;
    char name[64];
    snprintf(name, sizeof name, "incoming/%lu", __atomic_add_fetch(&sequence, 1, __ATOMIC_RELAXED));
    char *path = path_join(store->folder, name);
    return path != NULL ? path : copy_text("");
}

int store_blob_keep(struct store *store, const char *temporary, const char *sha256, struct err *e)
{
    CLEANUP(file_free_cleanup) char *path = store_blob_path(store, sha256);
    if (rename(temporary, path) < 0)
        return err_set_errno(e, "can't keep a package as %s", path);
    return 0;
}

void store_blob_release(struct store *store, const char *sha256)
{
    size_t i;
    json_t *row;
    json_array_foreach(store_list(store, "installers"), i, row)
    {
        if (text_equal(text_at(row, "hash_sha256"), sha256))
            return;
    }
    CLEANUP(file_free_cleanup) char *path = store_blob_path(store, sha256);
    unlink(path);
}
