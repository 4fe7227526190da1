/* Shared by the tests of lib/fetch: see the header. */
#include "fetch_fixture.h"
#include "base/files.h"
#include "base/text.h"
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void must(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "fetch fixture: %s\n", what);
    exit(70);
}

static int64_t skipping_monotonic_ms(void *context)
{
    const struct fetch_fixture *fixture = context;
    return clock_system()->monotonic_ms(NULL) + __atomic_load_n(&fixture->skipped_ms, __ATOMIC_SEQ_CST);
}

static int64_t skipping_wall_ms(void *context)
{
    const struct fetch_fixture *fixture = context;
    return clock_system()->wall_ms(NULL) + __atomic_load_n(&fixture->skipped_ms, __ATOMIC_SEQ_CST);
}

static void skip(void *context, int64_t duration_ms)
{
    struct fetch_fixture *fixture = context;
    /* A server's threads may read the same clock. */
    __atomic_fetch_add(&fixture->skipped_ms, duration_ms, __ATOMIC_SEQ_CST);
}

static double fixed_jitter(void *context)
{
    const struct fetch_fixture *fixture = context;
    return fixture->jitter_value;
}

static void keep_log(void *context, enum log_level level, const char *event, const char *message,
                     const struct log_field *fields, size_t field_count)
{
    struct fetch_fixture *fixture = context;
    struct err e;
    (void)level;
    (void)fields;
    (void)field_count;
    err_init(&e);
    must(buf_printf(&fixture->log_text, &e, "%s: %s\n", event, message) == 0, "log");
}

static const char *keep_text(struct fetch_fixture *fixture, const char *text)
{
    struct err e;
    err_init(&e);
    const char *kept = arena_strdup(fixture->arena, text, &e);
    must(kept != NULL, "memory");
    return kept;
}

static void keep_validator(void *context, const struct remembered_validator *validator)
{
    struct fetch_fixture *fixture = context;
    fixture->told_count++;
    fixture->told = (struct remembered_validator){
        .url_sha256 = keep_text(fixture, validator->url_sha256),
        .etag = keep_text(fixture, validator->etag),
        .last_modified = keep_text(fixture, validator->last_modified),
        .sha256 = keep_text(fixture, validator->sha256),
        .file_name = keep_text(fixture, validator->file_name),
        .size_bytes = validator->size_bytes,
    };
}

static void start_run(struct fetch_fixture *fixture)
{
    struct err e;
    err_init(&e);
    fixture->loop = loop_new(&fixture->clock, &e);
    must(fixture->loop != NULL, "loop");
    struct http_options options = {
        .loop = fixture->loop, .user_agent = "tender-test/1", .clock = &fixture->clock};
    fixture->http = http_new(&options, &e);
    must(fixture->http != NULL, "http");
    fixture->options = (struct fetch_options){
        .loop = fixture->loop,
        .http = fixture->http,
        .cache_dir = fixture->folder,
        .settings = &fixture->settings,
        .clock = &fixture->clock,
        .jitter = &fixture->jitter,
        .log = &fixture->log,
        .memory = &fixture->memory,
    };
}

void fetch_fixture_init(struct fetch_fixture *fixture)
{
    struct err e;
    err_init(&e);
    *fixture = (struct fetch_fixture){.jitter_value = 1.0};
    /* In memory where the system has such a place: a real disk takes its time for each sync. */
    snprintf(fixture->folder, sizeof fixture->folder, "%s/tender-fetch-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    must(mkdtemp(fixture->folder) != NULL, "temporary folder");
    fixture->arena = arena_new(64 * 1024 * 1024);
    must(fixture->arena != NULL, "memory");
    must(settings_init(&fixture->settings, &e) == 0, "settings");
    fixture->settings.limits.stall_ms = 1500;
    fixture->settings.limits.connect_timeout_ms = 2000;
    fixture->settings.retry.retry_after_max_ms = 600 * 1000;
    fixture->clock = (struct clock){
        .monotonic_ms = skipping_monotonic_ms, .wall_ms = skipping_wall_ms, .context = fixture, .skip = skip};
    fixture->jitter = (struct jitter){.next = fixed_jitter, .context = fixture};
    fixture->log = (struct log){.write = keep_log, .context = fixture};
    fixture->log_text = BUF_INIT(16 * 1024 * 1024);
    fixture->memory = (struct memory_sink){.validator = keep_validator, .context = fixture};
    start_run(fixture);
}

void fetch_fixture_next_run(struct fetch_fixture *fixture)
{
    http_free(fixture->http);
    loop_free(fixture->loop);
    buf_clear(&fixture->log_text);
    start_run(fixture);
}

void fetch_fixture_done(struct fetch_fixture *fixture)
{
    struct err e;
    err_init(&e);
    http_free(fixture->http);
    loop_free(fixture->loop);
    arena_free(fixture->arena);
    buf_done(&fixture->log_text);
    must(folder_remove(fixture->folder, &e) == 0, "removing the temporary folder");
}

unsigned char *fixture_bytes(const char *extension, size_t size, unsigned seed)
{
    unsigned char *bytes = malloc(size + 1);
    must(bytes != NULL, "memory");
    unsigned state = seed * 2654435761U + 12345;
    for (size_t i = 0; i < size; i++) {
        state = state * 1664525U + 1013904223U;
        bytes[i] = (unsigned char)(state >> 24);
    }
    const char *magic = strcmp(extension, ".pkg") == 0   ? "xar!"
                        : strcmp(extension, ".exe") == 0 ? "MZ"
                        : strcmp(extension, ".deb") == 0 ? "!<arch>\ndebian-binary   "
                                                         : "";
    if (size >= strlen(magic))
        memcpy(bytes, magic, strlen(magic));
    return bytes;
}

const char *fixture_url(struct fetch_fixture *fixture, int port, const char *path)
{
    struct err e;
    err_init(&e);
    const char *url = arena_printf(fixture->arena, &e, "http://127.0.0.1:%d%s", port, path);
    must(url != NULL, "memory");
    return url;
}

const char *fixture_digest(struct fetch_fixture *fixture, const void *bytes, size_t length)
{
    char hex[DIGEST_HEX_BYTES];
    struct err e;
    err_init(&e);
    must(digest_bytes(bytes, length, hex, &e) == 0, "digest");
    return keep_text(fixture, hex);
}

bool fixture_file_is(const char *path, const void *bytes, size_t length)
{
    struct buf found = BUF_INIT(256 * 1024 * 1024);
    struct err e;
    err_init(&e);
    bool is_same =
        file_read(path, &found, &e) == 0 && found.length == length && memcmp(found.bytes, bytes, length) == 0;
    buf_done(&found);
    return is_same;
}

static size_t files_seen;

static int count_file(const char *path, const struct stat *status, int flag, struct FTW *position)
{
    (void)path;
    (void)status;
    (void)position;
    files_seen += flag == FTW_F;
    return 0;
}

size_t fixture_count_files(const struct fetch_fixture *fixture, const char *folder)
{
    char path[PATH_MAX];
    files_seen = 0;
    snprintf(path, sizeof path, "%s/%s", fixture->folder, folder);
    nftw(path, count_file, 8, FTW_PHYS);
    return files_seen;
}
