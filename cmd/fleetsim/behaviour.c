/* The package host's behaviours as a table: the script is checked against it at start, before anybody waits
 * for a fault that was misspelt. */
#include "behaviour.h"
#include "base/text.h"
#include "json.h"
#include <stdio.h>
#include <string.h>

enum { KEYS_MANY = 5 };

struct behaviour_row {
    const char *name;
    enum behaviour_kind kind;
    unsigned status;             /* where the script gives none */
    const char *keys[KEYS_MANY]; /* that it takes beside do, times, delay_ms */
    int needed;                  /* how many of them, from the first, must be there */
};

static const struct behaviour_row rows[] = {
    {"serve", DO_SERVE, 0, {NULL}, 0},
    {"reset", DO_RESET, 0, {"after_bytes", "before_headers"}, 0},
    {"close", DO_CLOSE, 0, {"after_bytes"}, 1},
    {"eof", DO_EOF, 0, {NULL}, 0},
    {"status", DO_STATUS, 0, {"status", "headers", "body"}, 1},
    {"redirect", DO_REDIRECT, 302, {"location", "status"}, 1},
    {"ignore-range", DO_IGNORE_RANGE, 0, {NULL}, 0},
    {"wrong-range", DO_WRONG_RANGE, 0, {"offset"}, 0},
    {"416", DO_RANGE_REFUSED, 416, {NULL}, 0},
    {"stall", DO_STALL, 0, {"ms", "after_bytes"}, 1},
    {"slow", DO_SLOW, 0, {"bytes_per_second"}, 1},
    {"retry-after", DO_RETRY_AFTER, 503, {"retry_after", "status"}, 1},
    {"html", DO_HTML, 200, {"body"}, 0},
    {"empty", DO_EMPTY, 200, {NULL}, 0},
    {"wrong-bytes", DO_WRONG_BYTES, 0, {NULL}, 0},
    {"no-validators", DO_NO_VALIDATORS, 0, {NULL}, 0},
    {"random-etag", DO_RANDOM_ETAG, 0, {NULL}, 0},
    {"chunked", DO_CHUNKED, 0, {NULL}, 0},
    {"lying-length", DO_LYING_LENGTH, 0, {"length"}, 0},
    {"gzip-encoded", DO_GZIP_HEADER, 0, {NULL}, 0},
    {"304-always", DO_ALWAYS_304, 304, {NULL}, 0},
    {"require-user-agent", DO_REQUIRE_USER_AGENT, 403, {"prefix", "status"}, 1},
    {"require-header", DO_REQUIRE_HEADER, 401, {"header", "value", "status"}, 2},
    {"huge-announce", DO_HUGE_ANNOUNCE, 0, {"length"}, 0},
    {"not-found", DO_STATUS, 404, {"body"}, 0},
    {"gone", DO_STATUS, 410, {"body"}, 0},
    {"forbidden", DO_STATUS, 403, {"body"}, 0},
    {"close-keepalive", DO_CLOSE_KEEPALIVE, 0, {NULL}, 0},
};

const char *behaviour_names(char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < ARRAY_LENGTH(rows) && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i > 0 ? ", " : "", rows[i].name);
    return out;
}

struct behaviour behaviour_serve(void)
{
    return (struct behaviour){.kind = DO_SERVE, .name = "serve", .length = -1};
}

static const struct behaviour_row *find_row(const char *name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
        if (text_equal(rows[i].name, name))
            return &rows[i];
    return NULL;
}

static bool takes_key(const struct behaviour_row *row, const char *key)
{
    static const char *const common[] = {"do", "times", "delay_ms"};
    for (size_t i = 0; i < ARRAY_LENGTH(common); i++)
        if (text_equal(common[i], key))
            return true;
    for (size_t i = 0; i < KEYS_MANY && row->keys[i] != NULL; i++)
        if (text_equal(row->keys[i], key))
            return true;
    return false;
}

static int check_keys(const struct behaviour_row *row, const json_t *object, struct err *e)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        if (!takes_key(row, key))
            return err_set(e, ERR_CONFIG, "behaviour \"%s\" takes no \"%s\"", row->name, key);
    }
    for (int i = 0; i < row->needed; i++)
        if (json_object_get(object, row->keys[i]) == NULL)
            return err_set(e, ERR_CONFIG, "behaviour \"%s\" needs \"%s\"", row->name, row->keys[i]);
    return 0;
}

static const char *optional_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static int64_t optional_number(const json_t *object, const char *key, int64_t otherwise)
{
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

int behaviour_parse(const json_t *object, struct behaviour *out, struct err *e)
{
    const char *name = text_at(object, "do");
    const struct behaviour_row *row = find_row(name);
    char known[1024];
    if (row == NULL)
        return err_set(e, ERR_CONFIG, "unknown behaviour \"%s\"; known: %s", name,
                       behaviour_names(known, sizeof known));
    if (check_keys(row, object, e) < 0)
        return -1;
    *out = (struct behaviour){
        .kind = row->kind,
        .name = row->name,
        .after_bytes = optional_number(object, "after_bytes", 0),
        .before_headers = flag_at(object, "before_headers"),
        .status = (unsigned)optional_number(object, "status", row->status),
        .delay_ms = optional_number(object, "delay_ms", 0),
        .silence_ms = optional_number(object, "ms", 0),
        .bytes_per_second = optional_number(object, "bytes_per_second", 0),
        .length = optional_number(object, "length", -1),
        .offset = optional_number(object, "offset", 0),
        .times = optional_number(object, "times", 1),
        .location = optional_text(object, "location"),
        .retry_after = optional_text(object, "retry_after"),
        .header = optional_text(object, "header"),
        .value = optional_text(object, "value"),
        .prefix = optional_text(object, "prefix"),
        .body = optional_text(object, "body"),
        .headers = json_object_get(object, "headers"),
    };
    if (out->kind == DO_SLOW && out->bytes_per_second <= 0)
        return err_set(e, ERR_CONFIG, "behaviour \"slow\": bytes_per_second is a number above 0");
    if (out->kind == DO_RETRY_AFTER && out->retry_after == NULL)
        return err_set(e, ERR_CONFIG,
                       "behaviour \"retry-after\": retry_after is a text (\"120\" or \"date+2\")");
    if (out->kind == DO_STATUS && (out->status < 200 || out->status > 599))
        return err_set(e, ERR_CONFIG, "behaviour \"status\": status is a number from 200 to 599");
    if (out->times < 1)
        return err_set(e, ERR_CONFIG, "behaviour \"%s\": times is at least 1", row->name);
    return 0;
}
