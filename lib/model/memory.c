/* Look-ups in what former runs remembered. The arrays come sorted from lib/state: items by team and key,
 * validators by their URL's digest, defaults by digest. */
#include "model/memory.h"
#include "base/digest.h"
#include <stdlib.h>
#include <string.h>

static int compare_items(const void *a, const void *b)
{
    const struct remembered_item *left = a;
    const struct remembered_item *right = b;
    if (left->team_id != right->team_id)
        return left->team_id < right->team_id ? -1 : 1;
    return strcmp(left->key, right->key);
}

const struct remembered_item *memory_find_item(const struct memory *memory, int64_t team_id, const char *key)
{
    if (memory == NULL || memory->item_count == 0)
        return NULL;
    const struct remembered_item wanted = {.team_id = team_id, .key = key};
    return bsearch(&wanted, memory->items, memory->item_count, sizeof *memory->items, compare_items);
}

static int compare_validators(const void *a, const void *b)
{
    const struct remembered_validator *left = a;
    const struct remembered_validator *right = b;
    return strcmp(left->url_sha256, right->url_sha256);
}

const struct remembered_validator *memory_find_validator(const struct memory *memory, const char *url)
{
    if (memory == NULL || memory->validator_count == 0)
        return NULL;
    char hex[DIGEST_HEX_BYTES];
    struct err ignored;
    err_init(&ignored);
    if (digest_bytes(url, strlen(url), hex, &ignored) < 0)
        return NULL; /* what is not remembered costs a request */
    const struct remembered_validator wanted = {.url_sha256 = hex};
    return bsearch(&wanted, memory->validators, memory->validator_count, sizeof *memory->validators,
                   compare_validators);
}

static int compare_defaults(const void *a, const void *b)
{
    const struct remembered_default *left = a;
    const struct remembered_default *right = b;
    int by_package = strcmp(left->package_sha256, right->package_sha256);
    if (by_package != 0)
        return by_package;
    return left->field != right->field ? (left->field < right->field ? -1 : 1)
                                       : strcmp(left->text_sha256, right->text_sha256);
}

bool memory_is_default(const struct memory *memory, const char *package_sha256, enum software_field field,
                       const char *text_sha256)
{
    if (memory == NULL || memory->default_count == 0)
        return false;
    const struct remembered_default wanted = {
        .package_sha256 = package_sha256, .field = field, .text_sha256 = text_sha256};
    return bsearch(&wanted, memory->defaults, memory->default_count, sizeof *memory->defaults,
                   compare_defaults) != NULL;
}

void memory_sort(struct memory *memory)
{
    if (memory->item_count > 0)
        qsort(memory->items, memory->item_count, sizeof *memory->items, compare_items);
    if (memory->validator_count > 0)
        qsort(memory->validators, memory->validator_count, sizeof *memory->validators, compare_validators);
    if (memory->default_count > 0)
        qsort(memory->defaults, memory->default_count, sizeof *memory->defaults, compare_defaults);
}
