/* The table itself: see the header. */
#include "behaviours.h"
#include "base/files.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned char behaviour_package[BEHAVIOUR_BYTES], behaviour_other[BEHAVIOUR_BYTES];

void behaviours_init(void)
{
    unsigned char *bytes = fixture_bytes(".pkg", BEHAVIOUR_BYTES, 1);
    memcpy(behaviour_package, bytes, BEHAVIOUR_BYTES);
    free(bytes);
    bytes = fixture_bytes(".pkg", BEHAVIOUR_BYTES, 2);
    memcpy(behaviour_other, bytes, BEHAVIOUR_BYTES);
    free(bytes);
}

static const char html[] = "<!DOCTYPE html>\n<html><body>This domain is for sale</body></html>";
static const char lfs[] = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n";
static const char sentence[] = "Error: upstream request timeout\n";
static const char not_found[] = "404 page not found\n";
static const char json_error[] = "{\"message\": \"Not Found\", \"status\": 404}";
static const char elf[700] = "\x7F"
                             "ELF\2\1\1";
static const char gzip[600] = "\x1F\x8B\x08";
static char long_html[5000] = "<html><body>"; /* zero bytes behind it */

#define ROOM_FOR(array) .body = (array), .body_length = sizeof(array)
#define TEXT(array) .body = (array), .body_length = sizeof(array) - 1
#define WHOLE ROOM_FOR(behaviour_package)
#define OTHER ROOM_FOR(behaviour_other)
#define V1 .etag = "\"v1\"", .ranges = true
/* A body that ends with the connection, long before it should. */
#define CUT .send_at_most = 20000, .end = SCRIPT_CLOSE
#define MORE(...)                                                                                            \
    .more = (const struct script_path[]){__VA_ARGS__},                                                       \
    .more_count = sizeof((const struct script_path[]){__VA_ARGS__}) / sizeof(struct script_path)
#define ELSEWHERE(...)                                                                                       \
    .elsewhere = (const struct script_path[]){__VA_ARGS__},                                                  \
    .elsewhere_count = sizeof((const struct script_path[]){__VA_ARGS__}) / sizeof(struct script_path)
#define FETCHED .state = PACKAGE_FETCHED
#define FAILED .state = PACKAGE_FAILED
#define BYTES(least, most) .least_bytes = (least), .most_bytes = (most)
#define TWICE_CUT BYTES(20000 + BEHAVIOUR_BYTES, 20000 + BEHAVIOUR_BYTES)
#define MODIFIED .modified = "Mon, 30 Nov 2015 10:00:00 GMT", .ranges = true
#define LATER "Date: Mon, 30 Nov 2015 10:05:00 GMT\r\n"
#define SOON "Date: Mon, 30 Nov 2015 10:00:30 GMT\r\n"

static void put(const struct behaviour_scene *scene, const char *folder, const char *name, const void *bytes,
                size_t length)
{
    char path[PATH_MAX];
    struct err e;
    err_init(&e);
    snprintf(path, sizeof path, "%s/%s", scene->fixture.folder, folder);
    if (folder_make(path, &e) == 0)
        snprintf(path, sizeof path, "%s/%s/%s", scene->fixture.folder, folder, name);
    if (file_write_atomically(path, bytes, length, 0600, &e) < 0) {
        fprintf(stderr, "behaviours: %s\n", e.text);
        exit(70);
    }
}

/* What a former run left: bytes, and a sidecar that knows the whole length or doesn't. */
static void leave(const struct behaviour_scene *scene, const void *bytes, size_t length, const char *size)
{
    char name[128], about[512];
    snprintf(name, sizeof name, "%s.part", scene->request.sha256);
    put(scene, "partial", name, bytes, length);
    snprintf(name, sizeof name, "%s.about", scene->request.sha256);
    snprintf(about, sizeof about, "tender partial 1\nboot x\nsource %s\n%send\n", scene->request.sha256,
             size);
    put(scene, "partial", name, about, strlen(about));
}

static void leave_part(struct behaviour_scene *scene)
{
    leave(scene, behaviour_package, 1000, "size 41152\n");
}

static void leave_all(struct behaviour_scene *scene)
{
    leave(scene, behaviour_package, BEHAVIOUR_BYTES, "size 41152\n");
}

static void leave_all_unsized(struct behaviour_scene *scene)
{
    leave(scene, behaviour_package, BEHAVIOUR_BYTES, "");
}

static void leave_corrupt(struct behaviour_scene *scene)
{
    leave(scene, behaviour_other, 1000, "size 41152\n");
}

static void leave_corrupt_all(struct behaviour_scene *scene)
{
    leave(scene, behaviour_other, BEHAVIOUR_BYTES, "size 41152\n");
}

static void leave_cut_sidecar(struct behaviour_scene *scene)
{
    char name[128];
    leave_part(scene);
    snprintf(name, sizeof name, "%s.about", scene->request.sha256);
    put(scene, "partial", name, "tender partial 1\nboo", 20);
}

static void cache_entry(const struct behaviour_scene *scene, const void *bytes, size_t length)
{
    char folder[64];
    snprintf(folder, sizeof folder, "sha256/%.2s", scene->request.sha256);
    put(scene, folder, scene->request.sha256, bytes, length);
}

static void cache_good(struct behaviour_scene *scene)
{
    cache_entry(scene, behaviour_package, BEHAVIOUR_BYTES);
}

static void cache_flipped(struct behaviour_scene *scene)
{
    unsigned char *bytes = malloc(BEHAVIOUR_BYTES);
    if (bytes == NULL)
        exit(70);
    memcpy(bytes, behaviour_package, BEHAVIOUR_BYTES);
    bytes[30000] ^= 1;
    cache_entry(scene, bytes, BEHAVIOUR_BYTES);
    free(bytes);
}

static void cache_truncated(struct behaviour_scene *scene)
{
    cache_entry(scene, behaviour_package, 30000);
}

static void limit_size(struct behaviour_scene *scene)
{
    scene->fixture.settings.limits.max_package_bytes = 30000;
}

static void limit_redirects(struct behaviour_scene *scene)
{
    scene->fixture.settings.limits.max_redirects = 2;
}

static void three_rounds(struct behaviour_scene *scene)
{
    scene->fixture.settings.retry.rounds = 3;
}

static void limit_requests(struct behaviour_scene *scene)
{
    scene->fixture.settings.limits.max_requests_per_item = 3;
}

const struct behaviour behaviours[] = {
    /* Bodies, as servers may send them. */
    {"plain", "RFC 9110 9.3.1", STEPS({WHOLE}), FETCHED, .requests = 1,
     .request_has = "Accept-Encoding: identity\r\n", .request_lacks = "Range"},
    {"plain, pinned", "B1, B5", STEPS({WHOLE}), .is_pinned = true, FETCHED, .requests = 1},
    {"chunked", "RFC 9112 7.1", STEPS({WHOLE, .chunked = true}), FETCHED, .requests = 1},
    {"until the connection's end, pinned", "RFC 9112 6.3", STEPS({WHOLE, .until_close = true}),
     .is_pinned = true, FETCHED, .requests = 1},
    {"until the connection's end: nothing tells a cut", "RFC 9112 8", STEPS({WHOLE, .until_close = true}),
     FAILED, .requests = 1, .words = "pin it with hash_sha256"},
    {"until the connection's end, cut, then whole", "RFC 9112 8",
     STEPS({WHOLE, .until_close = true, .send_at_most = 20000}, {WHOLE}), .is_pinned = true, FETCHED,
     .requests = 2, BYTES(20000 + BEHAVIOUR_BYTES, 20000 + BEHAVIOUR_BYTES), .words = "without a length"},
    {"HTTP/1.0", "RFC 9110 2.5", STEPS({.raw = "HTTP/1.0 200 OK\r\n\r\n", WHOLE, .end = SCRIPT_CLOSE}),
     .is_pinned = true, FETCHED, .requests = 1},
    {"HTTP/1.0 with a length", "RFC 9110 2.5",
     STEPS({.raw = "HTTP/1.0 200 OK\r\nContent-Length: 41152\r\n\r\n", WHOLE, .end = SCRIPT_CLOSE}), FETCHED,
     .requests = 1},
    {"a length beyond all numbers", "RFC 9110 8.6",
     STEPS({.raw = "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
            WHOLE,
            .send_at_most = 20000,
            .end = SCRIPT_CLOSE}),
     FAILED, .requests = 1, .words = "too large: "},
    {"the same length twice", "RFC 9110 8.6",
     STEPS({.raw = "HTTP/1.1 200 OK\r\nContent-Length: 41152\r\nContent-Length: 41152\r\n\r\n", WHOLE}),
     FETCHED, .requests = 1},
    {"bare line feeds", "RFC 9112 2.2", STEPS({.raw = "HTTP/1.1 200 OK\nContent-Length: 41152\n\n", WHOLE}),
     FETCHED, .requests = 1},
    {"names of headers in any case", "RFC 9110 5.1",
     STEPS({.raw = "HTTP/1.1 200 OK\r\ncontent-LENGTH: 41152\r\neTaG: \"v1\"\r\n\r\n", WHOLE, CUT},
           {WHOLE, V1}),
     FETCHED, .requests = 2, .request_has = "If-Range: \"v1\"\r\n", .resumed_from = 20000},
    {"103 and 100 before the answer", "RFC 9110 15.2",
     STEPS({.raw = "HTTP/1.1 103 Early Hints\r\nETag: \"no\"\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
                   "HTTP/1.1 200 OK\r\nContent-Length: 41152\r\n\r\n",
            WHOLE}),
     FETCHED, .requests = 1},
    {"203", "RFC 9110 15.3.4", STEPS({.status = 203, WHOLE}), FETCHED, .requests = 1},
    {"slow, but within the limit", "A39", STEPS({WHOLE, .delay_ms = 300, .pace_ms = 100}), FETCHED,
     .requests = 1},
    {"the file itself, labelled with an encoding: its first bytes tell", "RFC 9110 8.4",
     STEPS({WHOLE, .headers = "Content-Encoding: gzip\r\n"}), FETCHED, .requests = 1},
    {"the same, pinned: the digest tells", "RFC 9110 8.4", .path = "/x",
     STEPS({WHOLE, .headers = "Content-Encoding: x-gzip\r\n"}), .is_pinned = true, FETCHED, .requests = 1},
    {"the same behind a redirect to a name without extension", "RFC 9110 8.4",
     STEPS({.status = 302, .headers = "Location: /blob\r\n"}),
     MORE(PATH("/blob", {WHOLE, .headers = "Content-Encoding: gzip\r\n"})), FETCHED, .requests = 2,
     .file_name = "blob"},
    {"encoded as nothing", "RFC 9110 12.5.3", .path = "/latest",
     STEPS({WHOLE, .headers = "Content-Encoding: identity\r\n"}), FETCHED, .requests = 1},

    /* Cut, and continued. */
    {"reset before the answer", "A1", STEPS({.send_at_most = SCRIPT_NOTHING, .end = SCRIPT_RESET}, {WHOLE}),
     FETCHED, .requests = 2, .words = "wait: a.pkg: connection reset by peer"},
    {"closed without an answer", "A3", STEPS({.send_at_most = SCRIPT_NOTHING, .end = SCRIPT_CLOSE}, {WHOLE}),
     FETCHED, .requests = 2, .words = "connection closed without an answer (127.0.0.1:"},
    {"always closed without an answer", "A3, A32",
     STEPS({.send_at_most = SCRIPT_NOTHING, .end = SCRIPT_CLOSE}), FAILED, .requests = 8,
     .words = "given up after 8 attempts: connection closed without an answer"},
    {"closed in the middle of the head", "RFC 9112 8",
     STEPS({.raw = "HTTP/1.1 200 OK\r\nContent-Le", .end = SCRIPT_CLOSE}, {WHOLE}), FETCHED, .requests = 2},
    {"reset in mid-body, resumed by If-Range", "A1, A13, A25, A29, A34, A43, RFC 9110 13.1.5",
     STEPS({WHOLE, V1, .send_at_most = 20000, .end = SCRIPT_RESET}, {WHOLE, V1}), FETCHED, .requests = 2,
     .words = "connection reset by peer after 20000 of 41152 bytes from 127.0.0.1:",
     .request_has = "Range: bytes=20000-\r\n", .resumed_from = 20000},
    {"short body, resumed", "A15, A43",
     STEPS({WHOLE, V1, .send_at_most = 40, .end = SCRIPT_CLOSE}, {WHOLE, V1}), FETCHED, .requests = 2,
     .words = "attempt 2 of 8), 40 bytes kept", .request_has = "If-Range: \"v1\"\r\n", .resumed_from = 40},
    {"short again and again, each time continued", "A14, A28",
     STEPS({WHOLE, V1, CUT}, {WHOLE, V1, .send_at_most = 10000, .end = SCRIPT_CLOSE},
           {WHOLE, V1, .send_at_most = 10000, .end = SCRIPT_CLOSE}, {WHOLE, V1}),
     FETCHED, .requests = 4, .request_has = "Range: bytes=40000-\r\n", .resumed_from = 40000},
    {"pinned, no validator: resumed without If-Range", "RFC 9110 14.2",
     STEPS({WHOLE, .ranges = true, CUT}, {WHOLE, .ranges = true}), .is_pinned = true, FETCHED, .requests = 2,
     .request_lacks = "If-Range", .resumed_from = 20000},
    {"unpinned, no validator: from the start", "B17, RFC 9110 13.1.5",
     STEPS({WHOLE, .ranges = true, CUT}, {WHOLE, .ranges = true}), FETCHED, .requests = 2, TWICE_CUT,
     .request_lacks = "Range"},
    {"a weak validator splices nothing", "RFC 9110 8.8.1",
     STEPS({WHOLE, .etag = "W/\"v1\"", .ranges = true, CUT}, {WHOLE}), FETCHED, .requests = 2, TWICE_CUT,
     .request_lacks = "Range"},
    {"a date that is old enough is a validator", "RFC 9110 8.8.2.2",
     STEPS({WHOLE, MODIFIED, .headers = LATER, CUT}, {WHOLE, MODIFIED}), FETCHED, .requests = 2,
     .request_has = "If-Range: Mon, 30 Nov 2015 10:00:00 GMT\r\n", .resumed_from = 20000},
    {"a date that is too fresh is none", "RFC 9110 8.8.2.2",
     STEPS({WHOLE, MODIFIED, .headers = SOON, CUT}, {WHOLE, MODIFIED}), FETCHED, .requests = 2, TWICE_CUT,
     .request_lacks = "Range"},
    {"no date beside a weak ETag", "RFC 9110 13.1.5",
     STEPS({WHOLE, MODIFIED, .etag = "W/\"v1\"", .headers = LATER, CUT}, {WHOLE, MODIFIED}), FETCHED,
     .requests = 2, TWICE_CUT, .request_lacks = "Range"},
    {"chunks broken off", "A7", STEPS({WHOLE, V1, .chunked = true, CUT}, {WHOLE, V1}), FETCHED, .requests = 2,
     .resumed_from = 20000},
    {"a chunk's size that is none", "RFC 9112 7.1",
     STEPS({.raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", .end = SCRIPT_CLOSE},
           {WHOLE}),
     FETCHED, .requests = 2},
    {"stall in mid-body", "A6", STEPS({WHOLE, V1, .send_at_most = 20000, .end = SCRIPT_STALL}, {WHOLE, V1}),
     .stall_ms = 2000, FETCHED, .requests = 2,
     .words = "stalled: under 1.0 KiB/s for 2 s (stall limit) after 20000 of 41152 bytes",
     .resumed_from = 20000},
    {"silence", "A6", STEPS({.send_at_most = SCRIPT_NOTHING, .end = SCRIPT_STALL}, {WHOLE}), .stall_ms = 2000,
     FETCHED, .requests = 2, .words = "no answer within 2 s (first-byte timeout)"},

    /* Answers to a range that must not be spliced. */
    {"200 to a range starts clean", "A18, RFC 9110 14.2",
     STEPS({WHOLE, .etag = "\"v1\"", CUT}, {WHOLE, .etag = "\"v1\""}), .is_pinned = true, FETCHED,
     .requests = 2, TWICE_CUT},
    {"changed in between: If-Range gives the new one whole", "RFC 9110 13.1.5",
     STEPS({OTHER, V1, CUT}, {WHOLE, .etag = "\"v2\"", .ranges = true}), FETCHED, .requests = 2, TWICE_CUT},
    {"changed in between, and If-Range is ignored", "RFC 9110 15.3.7",
     STEPS({OTHER, V1, CUT}, {WHOLE, .etag = "\"v2\"", .ranges = true, .ignores_if_range = true}), FETCHED,
     .requests = 3, TWICE_CUT},
    {"a 206 that starts early", "A20", STEPS({WHOLE, V1, CUT}, {WHOLE, V1, .range_shift = -8}, {WHOLE, V1}),
     FETCHED, .requests = 3, TWICE_CUT},
    {"a 206 that starts late", "RFC 9110 14.4",
     STEPS({WHOLE, V1, CUT}, {WHOLE, V1, .range_shift = 8}, {WHOLE}), .is_pinned = true, FETCHED,
     .requests = 3, TWICE_CUT},
    {"a 206 of another total", "RFC 9110 14.4",
     STEPS({WHOLE, V1, CUT}, {WHOLE, V1, .total_shift = 5}, {WHOLE}), .is_pinned = true, FETCHED,
     .requests = 3, TWICE_CUT},
    {"a 206 in another unit", "RFC 9110 14.1",
     STEPS({WHOLE, V1, CUT}, {WHOLE, V1, .content_range = "Content-Range: items 20000-41151/41152\r\n"},
           {WHOLE}),
     FETCHED, .requests = 3, TWICE_CUT},
    {"a 206 without a Content-Range", "RFC 9110 15.3.7",
     STEPS({WHOLE, V1, CUT}, {WHOLE, V1, .content_range = ""}, {WHOLE}), FETCHED, .requests = 3, TWICE_CUT},
    {"a 206 in several parts", "RFC 9110 14.6",
     STEPS({WHOLE, V1, CUT},
           {WHOLE, V1, .content_range = "Content-Type: multipart/byteranges; boundary=x\r\n"}, {WHOLE}),
     FETCHED, .requests = 3, TWICE_CUT},
    {"a 206 of an unknown total", "RFC 9110 14.4",
     STEPS({WHOLE, V1, CUT}, {WHOLE, V1, .content_range = "Content-Range: bytes 20000-41151/*\r\n"}, {WHOLE}),
     FETCHED, .requests = 3, TWICE_CUT},
    {"a 206 whose end is before its start", "RFC 9110 14.4",
     STEPS({WHOLE, V1, CUT}, {WHOLE, V1, .content_range = "Content-Range: bytes 20000-19999/41152\r\n"},
           {WHOLE}),
     FETCHED, .requests = 3, TWICE_CUT},
    {"a 206 whose end contradicts its length", "RFC 9110 14.4",
     STEPS({WHOLE, V1, CUT}, {WHOLE, V1, .content_range = "Content-Range: bytes 20000-29999/41152\r\n"},
           {WHOLE}),
     FETCHED, .requests = 3, TWICE_CUT},
    {"a 206 in chunks that goes on behind its end", "RFC 9110 14.4",
     STEPS({WHOLE, V1, CUT},
           {WHOLE, V1, .chunked = true, .content_range = "Content-Range: bytes 20000-29999/41152\r\n"},
           {WHOLE}),
     FETCHED, .requests = 3, BYTES(61152, 61152 + 21152)},
    {"a 206 of less than was asked for is continued", "RFC 9110 15.3.7",
     STEPS({WHOLE, V1, CUT}, {WHOLE, V1, .part_at_most = 10000}, {WHOLE, V1}), FETCHED, .requests = 3,
     .request_has = "Range: bytes=30000-\r\n", .resumed_from = 30000},
    {"a 206 with Content-Encoding", "RFC 9110 8.4",
     STEPS({WHOLE, V1, CUT}, {WHOLE, V1, .headers = "Content-Encoding: gzip\r\n"}, {WHOLE}),
     .is_pinned = true, FETCHED, .requests = 3, TWICE_CUT},
    {"412 to a range", "RFC 9110 15.5.13", STEPS({WHOLE, V1, CUT}, {.status = 412}, {WHOLE}), FETCHED,
     .requests = 3, TWICE_CUT},
    {"416 with a page to a range", "A16, RFC 9110 15.5.17",
     STEPS({WHOLE, V1, CUT}, {.status = 416, TEXT(html)}, {WHOLE}), FETCHED, .requests = 3, TWICE_CUT},
    {"416 to every range, and every body cut", "A26",
     STEPS({WHOLE, V1, CUT}, {.status = 416}, {WHOLE, V1, CUT}), FAILED, .requests = 9,
     BYTES(8 * 20000, 8 * 20000), .partials = 2, .words = "given up after 8 rounds"},
    {"a 206 that nobody asked for", "RFC 9110 15.3.7",
     STEPS({.status = 206, WHOLE, .headers = "Content-Range: bytes 0-41151/41152\r\n"}, {WHOLE}), FETCHED,
     .requests = 2},
    {"a 206 that nobody asked for, again and again", "A26, RFC 9110 15.3.7",
     STEPS({.status = 206, WHOLE, .headers = "Content-Range: bytes 0-41151/41152\r\n"}), FAILED,
     .requests = 8},
    {"a 304 that nobody asked for", "RFC 9110 15.4.5", STEPS({.status = 304}), FAILED, .requests = 1,
     .words = "304"},

    /* Statuses. */
    {"fails twice", "A2", STEPS({.status = 503}, {.status = 502}, {WHOLE}), FETCHED, .requests = 3,
     .words = "attempt 3 of 8"},
    {"each transient status once", "A46",
     STEPS({.status = 408}, {.status = 425}, {.status = 500}, {.status = 502}, {.status = 503},
           {.status = 504}, {WHOLE}),
     FETCHED, .requests = 7},
    {"a page of 5 kB with the 503", "A41", STEPS({.status = 503, ROOM_FOR(long_html)}),
     .arrange = three_rounds, FAILED, .requests = 3, .words = "HTTP 503 (service unavailable)"},
    {"503 for ever", "A42", STEPS({.status = 503}), FAILED, .requests = 8,
     .words = "given up after 8 attempts: HTTP 503"},
    {"the cap on requests", "A26", STEPS({.status = 503}), .arrange = limit_requests, FAILED, .requests = 3,
     .words = "given up after 3 requests"},
    {"429 with Retry-After in seconds", "A8",
     STEPS({.status = 429, .headers = "Retry-After: 7\r\n"}, {WHOLE}), FETCHED, .requests = 2,
     .words = "Retry-After 7 s"},
    {"429 without Retry-After", "A8", STEPS({.status = 429}, {WHOLE}), FETCHED, .requests = 2,
     .words = "HTTP 429 (too many requests)"},
    {"Retry-After as a date against the answer's own", "A8, RFC 9110 10.2.3",
     STEPS(
         {.status = 503,
          .headers = "Date: Mon, 30 Nov 2015 10:00:00 GMT\r\nRetry-After: Mon, 30 Nov 2015 10:01:30 GMT\r\n"},
         {WHOLE}),
     FETCHED, .requests = 2, .words = "trying again in 1 min 32 s"},
    {"Retry-After that says nothing", "RFC 9110 10.2.3",
     STEPS({.status = 503, .headers = "Retry-After: soon\r\n"}, {WHOLE}), FETCHED, .requests = 2},
    {"Retry-After beyond the limit", "A8", STEPS({.status = 503, .headers = "Retry-After: 86400\r\n"}),
     FAILED, .requests = 1, .words = "more than --retry-after-max (10 min)"},
    {"403 with rate-limit headers", "A8",
     STEPS({.status = 403, .headers = "X-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: 5\r\n"}, {WHOLE}),
     FETCHED, .requests = 2},
    {"403 for good", "A4, A11", STEPS({.status = 403}), FAILED, .requests = 1,
     .words = "HTTP 403 (forbidden) from {here} for User-Agent \"tender-test/1\" with no credentials"},
    {"401 from a private store", "C9", STEPS({.status = 401}), FAILED, .requests = 1,
     .words = "HTTP 401 (not authorised)"},
    {"404", "A32, RFC 9110 15.5.5", STEPS({.status = 404, TEXT(html)}), FAILED, .requests = 1,
     .words = "HTTP 404 (not found)"},
    {"410", "A46", STEPS({.status = 410}), FAILED, .requests = 1, .words = "HTTP 410 (gone)"},
    {"400", "A46", STEPS({.status = 400}), FAILED, .requests = 1, .words = "HTTP 400 (bad request)"},
    {"501 is permanent", "RFC 9110 15.6.2", STEPS({.status = 501}), FAILED, .requests = 1,
     .words = "HTTP 501"},
    {"204", "RFC 9110 15.3.5", STEPS({.status = 204}), FAILED, .requests = 1, .words = "empty"},
    {"205", "RFC 9110 15.3.6", STEPS({.status = 205}), FAILED, .requests = 1, .words = "empty"},

    /* What came is not the package. */
    {"empty", "A36", STEPS({.status = 200}), FAILED, .requests = 1, .words = "empty"},
    {"empty without a length", "A36", STEPS({.chunked = true}), FAILED, .requests = 1, .words = "empty"},
    {"a page instead of a package", "A37", STEPS({TEXT(html), .headers = "Content-Type: text/html\r\n"}),
     FAILED, .requests = 1, BYTES(0, sizeof html), .words = "an HTML page came instead of a pkg"},
    {"a page where the URL has no extension", "A37", .path = "/latest?os=mac", STEPS({TEXT(html)}), FAILED,
     .requests = 1, BYTES(0, sizeof html), .words = "an HTML page"},
    {"no extension, binary", "C1", .path = "/latest?os=mac", STEPS({WHOLE}), FETCHED, .requests = 1,
     .file_name = "latest"},
    {"an error in one sentence, with 200", "A12",
     STEPS({TEXT(sentence), .headers = "Content-Type: text/plain\r\n"}), FAILED, .requests = 1,
     BYTES(0, sizeof sentence), .words = "an error message came instead of a pkg"},
    {"a Git LFS pointer", "A37", STEPS({TEXT(lfs)}), FAILED, .requests = 1, BYTES(0, sizeof lfs),
     .words = "a Git LFS pointer"},
    {"wrong magic", "A12", .path = "/a.deb", STEPS({WHOLE}), FAILED, .requests = 1,
     BYTES(512, BEHAVIOUR_BYTES), .words = "a xar archive (pkg) came instead of a deb"},
    {"pinned: the digest decides, not the magic", "B1", .path = "/a.deb", STEPS({WHOLE}), .is_pinned = true,
     FETCHED, .requests = 1},
    {"a content encoding of an unknown type", "RFC 9110 8.4", .path = "/x",
     STEPS({WHOLE, .headers = "Content-Encoding: gzip\r\n"}), FAILED, .requests = 1,
     .words = "Content-Encoding gzip"},
    {"really encoded, though that was not asked for", "RFC 9110 8.4",
     STEPS({ROOM_FOR(gzip), .headers = "Content-Encoding: gzip\r\n"}), FAILED, .requests = 1,
     BYTES(512, sizeof gzip),
     .words = "a gzip stream came instead of a pkg (from http://{here}/a.pkg, Content-Type not given, "
              "Content-Encoding gzip)"},
    {"a disk image under an encoding: its first bytes tell nothing", "RFC 9110 8.4", .path = "/a.dmg",
     STEPS({WHOLE, .headers = "Content-Encoding: br\r\n"}), FAILED, .requests = 1,
     .words = "sent with Content-Encoding br"},
    {"a script's place holds an error in words", "A12", .path = "/a.sh", STEPS({TEXT(not_found)}), FAILED,
     .requests = 1, BYTES(0, sizeof not_found), .words = "an error message came instead of a script"},
    {"a script's place holds an error in JSON", "A12", .path = "/a.py", STEPS({TEXT(json_error)}), FAILED,
     .requests = 1, BYTES(0, sizeof json_error), .words = "a JSON text came instead of a script"},
    {"a script's place holds a program", "A37", .path = "/a.ps1", STEPS({ROOM_FOR(elf)}), FAILED,
     .requests = 1, BYTES(512, sizeof elf), .words = "an ELF program came instead of a script"},
    {"a disk image's place holds a program", "A37", .path = "/a.dmg", STEPS({ROOM_FOR(elf)}), FAILED,
     .requests = 1, BYTES(512, sizeof elf), .words = "an ELF program came instead of a dmg"},
    {"a disk image's place holds another package", "A37", .path = "/a.dmg", STEPS({WHOLE}), FAILED,
     .requests = 1, BYTES(512, BEHAVIOUR_BYTES), .words = "a xar archive (pkg) came instead of a dmg"},
    {"no extension, and an error in words", "A12", .path = "/latest", STEPS({TEXT(not_found)}), FAILED,
     .requests = 1, BYTES(0, sizeof not_found), .words = "an error message came instead of a package"},
    {"upstream changed", "B20, B21", STEPS({OTHER}), .is_pinned = true, FAILED, .requests = 1,
     BYTES(BEHAVIOUR_BYTES, BEHAVIOUR_BYTES), .words = "upstream changed: expected "},
    {"a parking page on another host behind a pin", "B22",
     STEPS({.status = 301, .headers = "Location: http://{elsewhere}/parked\r\n"}),
     ELSEWHERE(PATH("/parked", {TEXT(html), .headers = "Content-Type: text/html\r\n"})), .is_pinned = true,
     FAILED, .requests = 1, .requests_elsewhere = 1, BYTES(sizeof html - 1, sizeof html - 1),
     .words = "which is an HTML page (from http://{elsewhere}/parked, Content-Type text/html)"},
    {"a mixed body with the wrong digest: once more, clean", "B20, A23",
     STEPS({OTHER, .ranges = true, CUT}, {WHOLE, .ranges = true}), .is_pinned = true, FETCHED, .requests = 3,
     BYTES(2 * BEHAVIOUR_BYTES, 2 * BEHAVIOUR_BYTES), .words = "restart: a.pkg: the resumed file"},
    {"a mixed body, and wrong when it is clean too", "B20, B21",
     STEPS({OTHER, .ranges = true, CUT}, {OTHER, .ranges = true}), .is_pinned = true, FAILED, .requests = 3,
     BYTES(2 * BEHAVIOUR_BYTES, 2 * BEHAVIOUR_BYTES), .words = "upstream changed"},
    {"too large, as announced", "RFC 9110 8.6", STEPS({WHOLE}), .arrange = limit_size, FAILED, .requests = 1,
     .words = "too large: "},
    {"too large, unannounced", "RFC 9112 7.1", STEPS({WHOLE, .chunked = true}), .arrange = limit_size, FAILED,
     .requests = 1, BYTES(1, 30000), .words = "too large: more than"},
    {"more bytes than announced", "RFC 9112 6.3",
     STEPS({.raw = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", WHOLE, .end = SCRIPT_CLOSE}),
     .is_pinned = true, FAILED, .requests = 1, BYTES(1000, 1000), .words = "upstream changed"},
    {"two lengths that differ", "RFC 9110 8.6",
     STEPS({.raw = "HTTP/1.1 200 OK\r\nContent-Length: 41152\r\nContent-Length: 1000\r\n\r\n",
            WHOLE,
            .send_at_most = 1000}),
     FAILED, .requests = 8, .words = "contradicts itself"},
    {"a length that is no number", "RFC 9110 8.6",
     STEPS({.raw = "HTTP/1.1 200 OK\r\nContent-Length: -7\r\n\r\n", WHOLE, .end = SCRIPT_CLOSE}), FAILED,
     .requests = 8},
    {"no HTTP at all: once more only", "RFC 9112 2.3",
     STEPS({.raw = "hello, what?\r\n", .end = SCRIPT_CLOSE}), FAILED, .requests = 2, .words = "HTTP/0.9"},

    /* Redirects and names. */
    {"redirect to itself", "A35", STEPS({.status = 302, .headers = "Location: /a.pkg\r\n"}), FAILED,
     .requests = 1, .words = "redirect loop"},
    {"redirect in a circle", "A35", STEPS({.status = 302, .headers = "Location: /b.pkg\r\n"}),
     MORE(PATH("/b.pkg", {.status = 302, .headers = "Location: /a.pkg\r\n"})), FAILED, .requests = 2,
     .words = "redirect loop: back to http://{here}/a.pkg"},
    {"redirects without end", "A35", STEPS({.status = 302, .headers = "Location: /1\r\n"}),
     MORE(PATH("/1", {.status = 302, .headers = "Location: /2\r\n"}),
          PATH("/2", {.status = 302, .headers = "Location: /3\r\n"})),
     .arrange = limit_redirects, FAILED, .requests = 3, .words = "more than 2 redirects"},
    {"307 and 308", "RFC 9110 15.4.8", STEPS({.status = 307, .headers = "Location: /b\r\n"}),
     MORE(PATH("/b", {.status = 308, .headers = "Location: http://{elsewhere}/c.pkg\r\n"})),
     ELSEWHERE(PATH("/c.pkg", {WHOLE})), FETCHED, .requests = 2, .requests_elsewhere = 1,
     .file_name = "c.pkg"},
    {"redirect without a target", "RFC 9110 10.2.2", STEPS({.status = 302}), FAILED, .requests = 1,
     .words = "HTTP 302 without a target"},
    {"300 without a target", "RFC 9110 15.4.1", STEPS({.status = 300, TEXT(html)}), FAILED, .requests = 1,
     .words = "HTTP 300 without a target"},
    {"redirect to another scheme", "RFC 9110 10.2.2",
     STEPS({.status = 302, .headers = "Location: ftp://example.com/a.pkg\r\n"}), FAILED, .requests = 1,
     .words = "only http and https are followed"},
    {"resumed behind a redirect", "A13",
     STEPS({.status = 302, .headers = "Location: http://{elsewhere}/x.pkg\r\n"}),
     ELSEWHERE(PATH("/x.pkg", {WHOLE, V1, CUT}, {WHOLE, V1})), FETCHED, .requests = 2,
     .requests_elsewhere = 2, .resumed_from = 20000},
    {"a signed URL that expired: once more from the original", "C9, RFC 9110 15.5.4",
     STEPS({.status = 302, .headers = "Location: /old\r\n"},
           {.status = 302, .headers = "Location: /new.pkg\r\n"}),
     MORE(PATH("/old", {.status = 403}), PATH("/new.pkg", {WHOLE})), FETCHED, .requests = 4,
     .file_name = "new.pkg"},
    {"no Content-Disposition: the final URL's name", "C1",
     STEPS({.status = 302, .headers = "Location: /fleetd-base.pkg?sig=x\r\n"}),
     MORE(PATH("/fleetd-base.pkg?sig=x", {WHOLE})), FETCHED, .requests = 2, .file_name = "fleetd-base.pkg"},
    {"the header's name, without its folders", "C13, RFC 6266",
     STEPS({WHOLE, .headers = "Content-Disposition: attachment; filename=\"../x/Real Name.pkg\"\r\n"}),
     FETCHED, .requests = 1, .file_name = "Real Name.pkg"},
    {"a long path with %2520 in it, as it is", "C3",
     .path = "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
             "aaaaaaaaaaaaaaaaaaaaaaa/%2520%2F%7e/../x%2520y/"
             "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
             "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
             "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc/a.pkg?q=%2520",
     STEPS({WHOLE}), FETCHED, .requests = 1, .file_name = "a.pkg"},
    {"user info in the URL", "C10", STEPS({WHOLE}), .url = "http://bob:s3cret@{here}/a.pkg", FETCHED,
     .requests = 1, .request_has = "Authorization: Basic Ym9iOnMzY3JldA==\r\n"},
    {"a scheme that we don't speak", "C8", STEPS({WHOLE}), .url = "s3://bucket/key?token=s3cret", FAILED,
     .words = "only http:// and https:// URLs are fetched"},

    /* More than one source. */
    {"a mirror with bad bytes does not spoil the next", "A30", STEPS({OTHER}),
     .backup = "http://{elsewhere}/a.pkg", ELSEWHERE(PATH("/a.pkg", {WHOLE})), .is_pinned = true, FETCHED,
     .requests = 1, .requests_elsewhere = 1, BYTES(2 * BEHAVIOUR_BYTES, 2 * BEHAVIOUR_BYTES),
     .words = "upstream changed"},
    {"every source fails in its own way", "A31", STEPS({.status = 404}), .backup = "http://{elsewhere}/b.pkg",
     ELSEWHERE(PATH("/b.pkg", {.status = 410})), FAILED, .requests = 1, .requests_elsewhere = 1,
     .words = "http://{here}/a.pkg: HTTP 404 (not found) from {here}; http://{elsewhere}/b.pkg: HTTP 410"},
    {"rotate first, wait second", "A1", STEPS({.status = 503}), .backup = "http://{elsewhere}/a.pkg",
     ELSEWHERE(PATH("/a.pkg", {WHOLE})), FETCHED, .requests = 1, .requests_elsewhere = 1},
    {"nobody listens at the primary", "A1", STEPS({WHOLE}), .url = "http://127.0.0.1:1/dead.pkg",
     .backup = "http://{here}/a.pkg", FETCHED, .requests = 1, .words = "connection refused"},
    {"pinned: one partial, continued from another source", "A13, RFC 9110 13.1.5", STEPS({WHOLE, V1, CUT}),
     .backup = "http://{elsewhere}/a.pkg",
     ELSEWHERE(PATH("/a.pkg", {WHOLE, .etag = "\"else\"", .ranges = true})), .is_pinned = true, FETCHED,
     .requests = 1, .requests_elsewhere = 1, .resumed_from = 20000},
    {"unpinned: another source starts from the start", "RFC 9110 13.1.5", STEPS({WHOLE, V1, CUT}),
     .backup = "http://{elsewhere}/a.pkg", ELSEWHERE(PATH("/a.pkg", {WHOLE, V1})), FETCHED, .requests = 1,
     .requests_elsewhere = 1, TWICE_CUT},

    /* What a former run left. */
    {"a partial of a former run", "A28, A33", STEPS({WHOLE, .ranges = true}), .arrange = leave_part,
     .is_pinned = true, FETCHED, .requests = 1, BYTES(BEHAVIOUR_BYTES - 1000, BEHAVIOUR_BYTES - 1000),
     .resumed_from = 1000},
    {"complete already", "A17", STEPS({WHOLE, .ranges = true}), .arrange = leave_all, .is_pinned = true,
     FETCHED, BYTES(0, 1)},
    {"complete already, length unknown: the 416 says so", "A16, A17", STEPS({WHOLE, .ranges = true}),
     .arrange = leave_all_unsized, .is_pinned = true, FETCHED, .requests = 1, BYTES(0, 1)},
    {"corrupt and partial", "A23", STEPS({WHOLE, .ranges = true}), .arrange = leave_corrupt,
     .is_pinned = true, FETCHED, .requests = 2,
     BYTES(2 * BEHAVIOUR_BYTES - 1000, 2 * BEHAVIOUR_BYTES - 1000)},
    {"corrupt and complete", "A23", STEPS({WHOLE, .ranges = true}), .arrange = leave_corrupt_all,
     .is_pinned = true, FETCHED, .requests = 1},
    {"a sidecar that was cut", "A25", STEPS({WHOLE, .ranges = true}), .arrange = leave_cut_sidecar,
     .is_pinned = true, FETCHED, .requests = 1, BYTES(BEHAVIOUR_BYTES - 1000, BEHAVIOUR_BYTES)},
    {"in the cache", "B6", STEPS({WHOLE}), .arrange = cache_good, .is_pinned = true, .state = PACKAGE_CACHED},
    {"in the cache with a flipped byte", "A24", STEPS({WHOLE}), .arrange = cache_flipped, .is_pinned = true,
     FETCHED, .requests = 1, .words = "damaged"},
    {"in the cache, but cut", "A44", STEPS({WHOLE}), .arrange = cache_truncated, .is_pinned = true, FETCHED,
     .requests = 1, .words = "damaged"},
};

const size_t behaviour_count = sizeof behaviours / sizeof behaviours[0];
