/* What makes the package host a good server where the script does not say otherwise: conditions and ranges.
 */
#include "validators.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/text.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { ETAG_DIGITS = 16, KNOWN_FILES = 256 };

const char *http_date(time_t when, char out[HTTP_DATE_BYTES])
{
    struct tm parts;
    gmtime_r(&when, &parts);
    strftime(out, HTTP_DATE_BYTES, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    return out;
}

/* Digests of files that were served before, so that a big file is read once only. */
struct known_file {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec changed;
    char hex[DIGEST_HEX_BYTES];
};

static struct known_file known[KNOWN_FILES];
static size_t known_next;
static pthread_mutex_t known_mutex = PTHREAD_MUTEX_INITIALIZER;

static bool is_same(const struct known_file *file, const struct stat *status)
{
    return file->hex[0] != '\0' && file->device == status->st_dev && file->inode == status->st_ino &&
           file->size == status->st_size && file->changed.tv_sec == status->st_mtim.tv_sec &&
           file->changed.tv_nsec == status->st_mtim.tv_nsec;
}

static bool digest_of(const char *path, const struct stat *status, char hex[DIGEST_HEX_BYTES])
{
    struct err e;
    err_init(&e);
    bool found = false;
    pthread_mutex_lock(&known_mutex);
    for (size_t i = 0; i < KNOWN_FILES && !found; i++) {
        found = is_same(&known[i], status);
        if (found)
            memcpy(hex, known[i].hex, DIGEST_HEX_BYTES);
    }
    pthread_mutex_unlock(&known_mutex);
    if (found)
        return true;
    if (digest_file(path, hex, NULL, &e) < 0)
        return false;
    pthread_mutex_lock(&known_mutex);
    struct known_file *slot = &known[known_next++ % KNOWN_FILES];
    *slot = (struct known_file){.device = status->st_dev,
                                .inode = status->st_ino,
                                .size = status->st_size,
                                .changed = status->st_mtim};
    memcpy(slot->hex, hex, DIGEST_HEX_BYTES);
    pthread_mutex_unlock(&known_mutex);
    return true;
}

void validators_of_file(const char *path, struct validators *out)
{
    struct stat status;
    char hex[DIGEST_HEX_BYTES], date[HTTP_DATE_BYTES];
    *out = (struct validators){.etag = ""};
    if (stat(path, &status) < 0 || !digest_of(path, &status, hex))
        return;
    snprintf(out->etag, sizeof out->etag, "\"%.*s\"", ETAG_DIGITS, hex);
    snprintf(out->last_modified, sizeof out->last_modified, "%s", http_date(status.st_mtime, date));
}

/* Weak comparison: W/ does not count. */
static bool etag_in_list(const char *etag, const char *list)
{
    if (etag[0] == '\0')
        return false;
    const char *bare = text_starts_with(etag, "W/") ? etag + 2 : etag;
    return strcmp(list, "*") == 0 || strstr(list, bare) != NULL;
}

bool validators_match(const struct validators *validators, const char *if_none_match,
                      const char *if_modified_since)
{
    if (if_none_match != NULL)
        return etag_in_list(validators->etag, if_none_match);
    if (if_modified_since == NULL || validators->last_modified[0] == '\0')
        return false;
    int64_t since = clock_parse_http_date(if_modified_since);
    return since >= 0 && clock_parse_http_date(validators->last_modified) <= since;
}

bool validators_allow_range(const struct validators *validators, const char *if_range)
{
    if (if_range == NULL)
        return true;
    if (text_starts_with(if_range, "W/") || text_starts_with(validators->etag, "W/"))
        return false;
    return if_range[0] == '"'
               ? text_equal(if_range, validators->etag)
               : validators->last_modified[0] != '\0' && text_equal(if_range, validators->last_modified);
}

enum range_result range_parse(const char *header, uint64_t size, uint64_t *from, uint64_t *length)
{
    if (!text_starts_with(header, "bytes=") || strchr(header, ',') != NULL)
        return RANGE_IGNORED;
    const char *spec = header + strlen("bytes=");
    char *end;
    if (*spec == '-') {
        uint64_t last = strtoull(spec + 1, &end, 10);
        if (last == 0 || *end != '\0')
            return RANGE_UNSATISFIABLE;
        *length = last < size ? last : size;
        *from = size - *length;
        return size > 0 ? RANGE_OK : RANGE_UNSATISFIABLE;
    }
    uint64_t first = strtoull(spec, &end, 10);
    if (*end != '-' || end == spec)
        return RANGE_IGNORED;
    uint64_t last = end[1] != '\0' ? strtoull(end + 1, NULL, 10) : UINT64_MAX;
    if (first >= size)
        return RANGE_UNSATISFIABLE;
    if (last < first)
        return RANGE_IGNORED;
    *from = first;
    *length = (last < size - 1 ? last : size - 1) - first + 1;
    return RANGE_OK;
}
