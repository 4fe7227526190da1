/* Bytes that nobody has to fetch (scripts that are packages) go into the same cache, so that delivery knows
 * one kind of file only. */
#include "base/files.h"
#include "fetch/cache.h"
#include "fetch/disposition.h"
#include "fetch/fetch.h"
#include <string.h>

static int put(const struct fetch_options *options, const void *bytes, size_t length, const char *hex,
               const char *path, struct err *e)
{
    char found[DIGEST_HEX_BYTES], folder[PATH_MAX];
    struct err ignored;
    err_init(&ignored);
    if (digest_file(path, found, NULL, &ignored) == 0 && strcmp(found, hex) == 0) {
        cache_touch(options->cache_dir, hex);
        return 0;
    }
    memcpy(folder, path, strlen(path) + 1);
    *strrchr(folder, '/') = '\0';
    if (folder_make(folder, e) < 0)
        return -1;
    return file_write_atomically(path, bytes, length, 0600, e);
}

int fetch_store(const struct fetch_options *options, const void *bytes, size_t length, const char *file_name,
                struct arena *arena, struct package *out, struct err *e)
{
    char hex[DIGEST_HEX_BYTES], path[PATH_MAX];
    struct package package = {.state = PACKAGE_CACHED, .size_bytes = length};
    err_init(&package.err);
    if (length == 0)
        return err_set(e, ERR_MANIFEST, "%s is empty", file_name);
    if (cache_prepare(options->cache_dir, e) < 0 || digest_bytes(bytes, length, hex, e) < 0 ||
        cache_path(options->cache_dir, hex, path, e) < 0 || put(options, bytes, length, hex, path, e) < 0)
        return -1;
    package.sha256 = arena_strdup(arena, hex, e);
    package.path = arena_strdup(arena, path, e);
    package.file_name = arena_strdup(arena, file_name, e);
    if (package.sha256 == NULL || package.path == NULL || package.file_name == NULL)
        return -1;
    *out = package;
    return 0;
}
