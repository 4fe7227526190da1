/* The fingerprint of a list row: as long as it stays the same, nothing that the list shows has changed since
 * the title's details were read. */
#include "model/observed.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int add(struct digest *digest, const char *text, struct err *e)
{
    /* The NUL goes in too: it separates the values. */
    const char *value = text == NULL ? "\001" : text;
    return digest_update(digest, value, strlen(value) + 1, e);
}

int observed_row_fingerprint(const struct observed_title *title, char hex[DIGEST_HEX_BYTES], struct err *e)
{
    CLEANUP(digest_cleanup) struct digest *digest = digest_new(e);
    if (digest == NULL)
        return -1;
    char numbers[128];
    snprintf(numbers, sizeof numbers, "%" PRId64 " %d %d %" PRId64 " %zu", title->title_id, (int)title->kind,
             title->self_service, title->maintained_app_id, title->policies.count);
    const char *const values[] = {numbers,        title->name,     title->source,
                                  title->version, title->platform, title->file_name,
                                  title->sha256,  title->url,      title->app_store_id};
    for (size_t i = 0; i < ARRAY_LENGTH(values); i++)
        if (add(digest, values[i], e) < 0)
            return -1;
    for (size_t i = 0; i < title->policies.count; i++)
        if (add(digest, title->policies.items[i], e) < 0)
            return -1;
    return digest_finish(digest, hex, e);
}
