/* The guarantees of the fetch stage, told from outside: nothing here asks lib/fetch how it decided. */
#include "base/digest.h"
#include "base/text.h"
#include "fetch_mix.h"
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char violation[8192];

#define VIOLATED(...) (snprintf(violation, sizeof violation, __VA_ARGS__), violation)

/* Exactly one state, its explanation, and the right bytes behind it. */
static const char *check_file(const struct mix *mix, size_t number)
{
    const struct mix_item *item = &mix->items[number];
    const struct package *result = &mix->results[number];
    for (size_t version = 0; version < (item->is_pinned ? 1U : 2U); version++) {
        char hex[DIGEST_HEX_BYTES];
        struct err e;
        err_init(&e);
        if (digest_bytes(item->versions[version], item->length, hex, &e) < 0)
            return VIOLATED("%s", e.text);
        if (result->sha256 != NULL && strcmp(hex, result->sha256) == 0 &&
            result->size_bytes == item->length &&
            fixture_file_is(result->path, item->versions[version], item->length))
            return version > 0 && mix->is_second_run ? VIOLATED("%s: the old version", item->name) : NULL;
    }
    return VIOLATED("%s: wrong bytes, or a wrong digest of them: %s", item->name,
                    result->path == NULL ? "no file" : result->path);
}

static const char *check_attempts(const struct mix_item *item, const struct package *result)
{
    uint64_t received = 0;
    for (size_t i = 0; i < result->attempt_count; i++) {
        const struct attempt *attempt = &result->attempts[i];
        bool must_be_good = i + 1 == result->attempt_count && result->state == PACKAGE_FETCHED;
        received += attempt->bytes;
        if ((attempt->cause[0] == '\0') != must_be_good)
            return VIOLATED("%s: attempt %zu of %zu has the cause \"%s\"", item->name, i + 1,
                            result->attempt_count, attempt->cause);
    }
    if (received != result->received_bytes)
        return VIOLATED("%s: the attempts' bytes are not those of the item", item->name);
    return NULL;
}

static const char *check_result(const struct mix *mix, size_t number)
{
    const struct mix_item *item = &mix->items[number];
    const struct package *result = &mix->results[number];
    bool has_text = result->err.text[0] != '\0';
    switch (result->state) {
    case PACKAGE_FETCHED:
    case PACKAGE_CACHED:
        if (has_text)
            return VIOLATED("%s: arrived, yet says: %s", item->name, result->err.text);
        if (result->state == PACKAGE_CACHED && !(mix->is_second_run && item->is_pinned))
            return VIOLATED("%s: nobody has put it into the cache", item->name);
        const char *wrong = check_file(mix, number);
        return wrong != NULL ? wrong : check_attempts(item, result);
    case PACKAGE_FAILED:
        if (mix->is_second_run)
            return VIOLATED("%s: failed though all hosts are well: %s", item->name, result->err.text);
        if (!has_text || result->path != NULL)
            return VIOLATED("%s: failed without a word, or with a file", item->name);
        return check_attempts(item, result);
    case PACKAGE_NOT_MODIFIED:
    case PACKAGE_CHANGED:
    case PACKAGE_UNKNOWN:
    case PACKAGE_INTERRUPTED:
        break;
    }
    return VIOLATED("%s: %s is no end for it", item->name, package_state_name(result->state));
}

/* Each file in the cache has the digest of its name. */
static const char *check_entry(const char *folder, const char *name)
{
    char path[PATH_MAX], hex[DIGEST_HEX_BYTES];
    struct err e;
    err_init(&e);
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return VIOLATED("%s: the path is too long", name);
    if (text_ends_with(name, ".name"))
        return NULL;
    if (!digest_is_hex(name) || digest_file(path, hex, NULL, &e) < 0 || strcmp(hex, name) != 0)
        return VIOLATED("%s is not what its name says", path);
    return NULL;
}

static const char *each_name(const char *folder, const char *(*check)(const char *folder, const char *name))
{
    const char *wrong = NULL;
    DIR *names = opendir(folder);
    if (names == NULL)
        return NULL;
    for (const struct dirent *entry; wrong == NULL && (entry = readdir(names)) != NULL;)
        if (entry->d_name[0] != '.')
            wrong = check(folder, entry->d_name);
    closedir(names);
    return wrong;
}

static const char *check_folder(const char *folder, const char *name)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return VIOLATED("%s: the path is too long", name);
    return each_name(path, check_entry);
}

/* A partial and its sidecar, never one without the other, and nothing else. */
static const char *check_partial(const char *folder, const char *name)
{
    char other[PATH_MAX];
    bool is_part = text_ends_with(name, ".part"), is_about = text_ends_with(name, ".about");
    if (snprintf(other, sizeof other, "%s/%.*s%s", folder,
                 (int)(strlen(name) - (is_part    ? 5
                                       : is_about ? 6
                                                  : 0)),
                 name, is_part ? ".about" : ".part") >= (int)sizeof other)
        return VIOLATED("%s: the path is too long", name);
    FILE *file = is_part || is_about ? fopen(other, "r") : NULL;
    if (file == NULL)
        return VIOLATED("%s is left behind", name);
    fclose(file);
    return NULL;
}

static const char *check_disk(const struct mix *mix)
{
    char folder[PATH_MAX];
    size_t failed = 0;
    for (size_t i = 0; i < mix->item_count; i++)
        failed += mix->results[i].state == PACKAGE_FAILED;
    snprintf(folder, sizeof folder, "%s/sha256", mix->fixture.folder);
    const char *wrong = each_name(folder, check_folder);
    snprintf(folder, sizeof folder, "%s/partial", mix->fixture.folder);
    if (wrong == NULL)
        wrong = each_name(folder, check_partial);
    if (wrong == NULL && fixture_count_files(&mix->fixture, "partial") > 2 * failed)
        return VIOLATED("more partials are left than items failed");
    return wrong;
}

/* Rounds over all sources, one refetch, one clean restart and one unknown error for each, one restart of a
 * mixed body, what brought progress; twice for the redirects; and the second run's. */
static const char *check_request_count(const struct mix *mix, size_t number)
{
    const struct mix_item *item = &mix->items[number];
    size_t count = 0;
    size_t attempts = ((size_t)mix->fixture.settings.retry.rounds + 3) * item->source_count + 1 +
                      item->length / (1024 * 1024);
    for (size_t i = 0; i < mix->record_count; i++)
        count += mix->records[i].item == number;
    size_t most = 2 * attempts * (mix->is_second_run ? 2 : 1);
    if (count > most)
        return VIOLATED("%s: %zu requests, at most %zu are called for", item->name, count, most);
    return NULL;
}

static int64_t date_ms(const char *headers, const char *name)
{
    struct tm parts = {0};
    const char *at = strstr(headers, name);
    if (at == NULL || strptime(at + strlen(name), "%a, %d %b %Y %H:%M:%S GMT", &parts) == NULL)
        return -1;
    return (int64_t)timegm(&parts) * 1000;
}

/* What the answer asked for, as its script has it; -1: nothing. */
static int64_t asked_pause_ms(const struct script_record *record)
{
    const char *headers = record->step == NULL ? NULL : record->step->headers;
    int status = record->status;
    bool counts = status == 403 || status == 429 || status == 503;
    if (headers == NULL || !counts || !record->was_sent_whole || record->step->end == SCRIPT_RESET)
        return -1;
    const char *after = strstr(headers, "Retry-After: ");
    if (after != NULL && isdigit((unsigned char)after[13]))
        return strtoll(after + 13, NULL, 10) * 1000;
    int64_t until = date_ms(headers, "Retry-After: "), now = date_ms(headers, "Date: ");
    if (until >= 0 && now >= 0)
        return until - now;
    const char *reset = strstr(headers, "X-RateLimit-Reset: ");
    return reset == NULL ? -1 : strtoll(reset + 19, NULL, 10) * 1000;
}

/* Nobody asks the host before its time; what was on its way already can't be more than may be at once. */
static const char *check_pause(const struct mix *mix, size_t number)
{
    const struct mix_record *record = &mix->records[number];
    int64_t pause = asked_pause_ms(&record->is);
    int64_t early = 0, most = mix->fixture.settings.limits.parallel_per_host - 1;
    if (pause < 0 || mix->has_stalls)
        return NULL;
    for (size_t i = number + 1; i < mix->record_count && !mix->is_second_run; i++) {
        const struct mix_record *later = &mix->records[i];
        early += later->host == record->host && later->is.asked_ms < record->is.answered_ms + pause;
    }
    if (early > most)
        return VIOLATED("host %zu: %lld requests came before its Retry-After of %lld ms was over",
                        record->host, (long long)early, (long long)pause);
    return NULL;
}

static bool is_encoded(const struct script_record *record)
{
    return record->step->headers != NULL && strstr(record->step->headers, "Content-Encoding") != NULL;
}

/* What may stand in If-Range for a body that this answer began; NULL: nothing may. */
static const char *strong_validator(const struct script_record *record)
{
    const struct script_step *step = record->step;
    if (is_encoded(record) || step->raw != NULL)
        return NULL;
    if (step->etag != NULL)
        return step->etag[0] == '"' ? step->etag : NULL;
    int64_t date = step->headers == NULL ? -1 : date_ms(step->headers, "Date: ");
    struct tm parts = {0};
    if (step->modified == NULL || date < 0 ||
        strptime(step->modified, "%a, %d %b %Y %H:%M:%S GMT", &parts) == NULL)
        return NULL;
    return date - (int64_t)timegm(&parts) * 1000 >= 60 * 1000 ? step->modified : NULL;
}

static bool brings_body(const struct script_record *record)
{
    if (record->step == NULL || record->sent_bytes == 0)
        return false;
    return record->status == 200 || record->status == 203 || record->status == 206 ||
           record->step->raw != NULL;
}

/* Whether the range of `asked` may be meant to continue what `earlier` brought. */
static bool fits(const struct mix *mix, const struct mix_record *asked, const struct mix_record *earlier,
                 const char *if_range)
{
    const char *validator = strong_validator(&earlier->is);
    bool is_pinned = mix->items[asked->item].is_pinned;
    bool is_same_source = earlier->source == asked->source;
    if (is_same_source && validator != NULL)
        return if_range != NULL && strcmp(if_range, validator) == 0;
    return if_range == NULL && is_pinned;
}

/* A range is asked for only where it can be spliced: behind a body of this item, with the strong validator
 * that this very source gave it, without any from elsewhere. */
static const char *check_range(const struct mix *mix, size_t number)
{
    const struct mix_record *record = &mix->records[number];
    char range[128], text[128];
    if (scripted_server_header(record->is.head, "Range", range, sizeof range) == NULL)
        return scripted_server_header(record->is.head, "If-Range", range, sizeof range) == NULL
                   ? NULL
                   : VIOLATED("If-Range without Range");
    const char *if_range = scripted_server_header(record->is.head, "If-Range", text, sizeof text);
    char *end;
    uint64_t start = strncmp(range, "bytes=", 6) == 0 ? strtoull(range + 6, &end, 10) : 0;
    if (start == 0 || strcmp(end, "-") != 0 || start > mix->items[record->item].length)
        return VIOLATED("%s: Range: %s", mix->items[record->item].name, range);
    for (size_t i = number; i > 0; i--) {
        const struct mix_record *earlier = &mix->records[i - 1];
        if (earlier->item != record->item || !brings_body(&earlier->is))
            continue;
        if (fits(mix, record, earlier, if_range))
            return NULL;
        /* Behind a whole body that surely began to arrive, nothing older can be what is continued. One
         * without a length is refused at its head where nothing is pinned: what was kept stays. */
        bool is_refused = earlier->is.step->until_close && !mix->items[record->item].is_pinned;
        bool is_sure = earlier->is.status == 200 && earlier->is.was_sent_whole && !mix->has_stalls &&
                       earlier->is.step->end != SCRIPT_RESET && !is_encoded(&earlier->is) && !is_refused;
        if (is_sure)
            break;
    }
    return VIOLATED("%s: Range: %s with If-Range %s continues nothing that came before",
                    mix->items[record->item].name, range, if_range == NULL ? "(none)" : if_range);
}

const char *mix_check(const struct mix *mix)
{
    const char *wrong = mix->status == 0 ? check_disk(mix) : VIOLATED("the run failed: %s", mix->e.text);
    for (size_t i = 0; wrong == NULL && i < mix->item_count; i++)
        if ((wrong = check_result(mix, i)) == NULL)
            wrong = check_request_count(mix, i);
    for (size_t i = 0; wrong == NULL && i < mix->record_count; i++)
        if ((wrong = check_pause(mix, i)) == NULL)
            wrong = check_range(mix, i);
    return wrong;
}
