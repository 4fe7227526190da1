/* The bridge between what a test or a demo wants to go wrong and the two servers that make it so. */
#include "script.h"
#include "base/buf.h"
#include "base/files.h"
#include "base/text.h"
#include "json.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCRIPT_MAX_BYTES = 16 * 1024 * 1024 };

struct fault_row {
    const char *name;
    enum fault_kind kind;
    bool needs_status;
};

static const struct fault_row fault_rows[] = {
    {"status", FAULT_STATUS, true},
    {"close", FAULT_CLOSE, false},
    {"reset", FAULT_RESET, false},
    {"delay_ms", FAULT_DELAY, false},
    {"apply-then-status", FAULT_APPLY_THEN_STATUS, true},
    {"apply-then-close", FAULT_APPLY_THEN_CLOSE, false},
    {"apply-then-reset", FAULT_APPLY_THEN_RESET, false},
    {"apply-then-cut", FAULT_APPLY_THEN_CUT, false},
    {"corrupt-stored-bytes", FAULT_CORRUPT, false},
    {"stuck", FAULT_STUCK, false},
    {"apply-then-stuck", FAULT_APPLY_THEN_STUCK, false},
};

/* Every key of `object` is in `known` (ended by NULL). */
static int check_keys(const json_t *object, const char *what, const char *const *known, struct err *e)
{
    const char *key;
    json_t *value;
    if (!json_is_object(object))
        return err_set(e, ERR_CONFIG, "%s is no object", what);
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        bool found = false;
        for (size_t i = 0; known[i] != NULL; i++)
            found = found || text_equal(known[i], key);
        if (!found)
            return err_set(e, ERR_CONFIG, "%s: unknown key \"%s\"", what, key);
    }
    return 0;
}

static const struct fault_row *find_fault_row(const char *name, struct err *e)
{
    char known[512];
    size_t used = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(fault_rows); i++) {
        if (text_equal(fault_rows[i].name, name))
            return &fault_rows[i];
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "",
                                 fault_rows[i].name);
    }
    err_fill(e, ERR_CONFIG, "unknown fault \"%s\"; known: %s", name, known);
    return NULL;
}

static int parse_fault(const json_t *object, struct fault *out, struct err *e)
{
    static const char *const keys[] = {"method", "path",         "nth",      "do",    "status", "headers",
                                       "body",   "content_type", "delay_ms", "early", "reused", NULL};
    if (check_keys(object, "a fault of \"api\"", keys, e) < 0)
        return -1;
    const struct fault_row *row = find_fault_row(text_at(object, "do"), e);
    if (row == NULL)
        return -1;
    const json_t *nth = json_object_get(object, "nth");
    const json_t *reused = json_object_get(object, "reused");
    *out = (struct fault){
        .kind = row->kind,
        .name = row->name,
        .method = json_string_value(json_object_get(object, "method")),
        .path = json_string_value(json_object_get(object, "path")),
        .nth = nth,
        .status = (unsigned)number_at(object, "status"),
        .headers = json_object_get(object, "headers"),
        .body = json_object_get(object, "body"),
        .content_type = json_string_value(json_object_get(object, "content_type")),
        .delay_ms = number_at(object, "delay_ms"),
        .early = flag_at(object, "early"),
        .reused = reused == NULL ? -1 : json_is_true(reused),
    };
    if (out->path == NULL)
        return err_set(e, ERR_CONFIG, "fault \"%s\" needs \"path\"", row->name);
    if (row->needs_status && (out->status < 200 || out->status > 599))
        return err_set(e, ERR_CONFIG, "fault \"%s\" needs \"status\" from 200 to 599", row->name);
    if (nth != NULL && !json_is_integer(nth) && !json_is_array(nth))
        return err_set(e, ERR_CONFIG, "fault \"%s\": \"nth\" is a number or a list of numbers", row->name);
    if (out->kind == FAULT_DELAY && out->delay_ms <= 0)
        return err_set(e, ERR_CONFIG, "fault \"delay_ms\" needs \"delay_ms\" above 0");
    return 0;
}

static int parse_faults(struct script *script, const json_t *list, struct err *e)
{
    size_t i;
    json_t *object;
    if (list == NULL)
        return 0;
    if (!json_is_array(list))
        return err_set(e, ERR_CONFIG, "\"api\" is no list");
    script->faults = allocate(json_array_size(list) * sizeof *script->faults);
    json_array_foreach(list, i, object)
    {
        if (parse_fault(object, &script->faults[i], e) < 0)
            return -1;
        script->fault_count++;
    }
    return 0;
}

static int parse_behaviours(struct package_entry *entry, const json_t *list, struct err *e)
{
    size_t i;
    json_t *object;
    if (list != NULL && !json_is_array(list))
        return err_set(e, ERR_CONFIG, "\"behaviours\" is no list");
    size_t count = json_array_size(list);
    entry->behaviours = allocate((count > 0 ? count : 1) * sizeof *entry->behaviours);
    entry->behaviours[0] = behaviour_serve();
    entry->behaviour_count = 1;
    json_array_foreach(list, i, object)
    {
        if (behaviour_parse(object, &entry->behaviours[i], e) < 0)
            return -1;
        entry->behaviour_count = i + 1;
    }
    return 0;
}

static int parse_entry(const char *path, const json_t *object, struct package_entry *entry, struct err *e)
{
    static const char *const keys[] = {
        "file",       "size", "seed", "etag", "last_modified", "content_type", "content_disposition",
        "behaviours", NULL};
    if (check_keys(object, "an entry of \"packages\"", keys, e) < 0)
        return -1;
    *entry = (struct package_entry){
        .path = path,
        .file = json_string_value(json_object_get(object, "file")),
        .is_generated = json_object_get(object, "size") != NULL,
        .etag = json_object_get(object, "etag"),
        .last_modified = json_object_get(object, "last_modified"),
        .content_type = json_string_value(json_object_get(object, "content_type")),
        .content_disposition = json_string_value(json_object_get(object, "content_disposition")),
    };
    if (path[0] != '/')
        return err_set(e, ERR_CONFIG, "the path begins with a slash");
    if (entry->file != NULL && entry->is_generated)
        return err_set(e, ERR_CONFIG, "\"file\" and \"size\" exclude each other");
    if (entry->file != NULL && (entry->file[0] == '/' || strstr(entry->file, "..") != NULL))
        return err_set(e, ERR_CONFIG, "\"file\" is a name in the packages folder");
    if (entry->is_generated && generated_init(&entry->generated, (uint64_t)number_at(object, "size"),
                                              (uint64_t)number_at(object, "seed"), e) < 0)
        return -1;
    return parse_behaviours(entry, json_object_get(object, "behaviours"), e);
}

static int parse_entries(struct script *script, const json_t *object, struct err *e)
{
    const char *path;
    json_t *value;
    if (object == NULL)
        return 0;
    if (!json_is_object(object))
        return err_set(e, ERR_CONFIG, "\"packages\" is no object");
    script->entries = allocate(json_object_size(object) * sizeof *script->entries);
    json_object_foreach((json_t *)(uintptr_t)object, path, value)
    {
        if (parse_entry(path, value, &script->entries[script->entry_count++], e) < 0)
            return err_prefix(e, "packages, %s", path);
    }
    return 0;
}

static int parse(struct script *script, const char *path, struct err *e)
{
    static const char *const keys[] = {"api", "packages", "comment", NULL};
    CLEANUP(buf_done) struct buf text = BUF_INIT(SCRIPT_MAX_BYTES);
    if (file_read(path, &text, e) < 0)
        return -1;
    json_error_t where;
    script->document = json_loadb(text.bytes, text.length, JSON_REJECT_DUPLICATES, &where);
    if (script->document == NULL)
        return err_set(e, ERR_CONFIG, "%s:%d:%d: %s", path, where.line, where.column, where.text);
    if (check_keys(script->document, "the script", keys, e) < 0 ||
        parse_faults(script, json_object_get(script->document, "api"), e) < 0 ||
        parse_entries(script, json_object_get(script->document, "packages"), e) < 0)
        return err_prefix(e, "%s", path);
    return 0;
}

int script_load(struct script *script, const char *path, struct err *e)
{
    *script = (struct script){.document = NULL};
    pthread_mutex_init(&script->mutex, NULL);
    return path == NULL ? 0 : parse(script, path, e);
}

void script_done(struct script *script)
{
    for (size_t i = 0; i < script->entry_count; i++) {
        generated_done(&script->entries[i].generated);
        free(script->entries[i].behaviours);
    }
    free(script->entries);
    free(script->faults);
    json_decref(script->document);
    pthread_mutex_destroy(&script->mutex);
    *script = (struct script){.document = NULL};
}

/* '*' stands for any text, slashes too. */
static bool path_matches(const char *pattern, const char *path)
{
    const char *star = strchr(pattern, '*');
    if (star == NULL)
        return text_equal(pattern, path);
    size_t before = (size_t)(star - pattern);
    if (strncmp(pattern, path, before) != 0)
        return false;
    for (const char *rest = path + before;; rest++) {
        if (path_matches(star + 1, rest))
            return true;
        if (*rest == '\0')
            return false;
    }
}

static bool is_its_turn(const struct fault *fault)
{
    size_t i;
    json_t *number;
    if (fault->nth == NULL)
        return true;
    if (json_is_integer(fault->nth))
        return json_integer_value(fault->nth) == fault->seen;
    json_array_foreach(fault->nth, i, number)
    {
        if (json_integer_value(number) == fault->seen)
            return true;
    }
    return false;
}

void script_fault(struct script *script, const char *method, const char *path, bool reused, struct fault *out)
{
    *out = (struct fault){.kind = FAULT_NONE};
    pthread_mutex_lock(&script->mutex);
    for (size_t i = 0; i < script->fault_count; i++) {
        struct fault *fault = &script->faults[i];
        if ((fault->method != NULL && !text_equal(fault->method, method)) ||
            !path_matches(fault->path, path) || (fault->reused >= 0 && fault->reused != (int)reused))
            continue;
        fault->seen++;
        if (out->kind == FAULT_NONE && is_its_turn(fault))
            *out = *fault;
    }
    pthread_mutex_unlock(&script->mutex);
}

struct package_entry *script_package(struct script *script, const char *path, struct behaviour *behaviour)
{
    struct package_entry *found = NULL;
    pthread_mutex_lock(&script->mutex);
    for (size_t i = 0; i < script->entry_count && found == NULL; i++) {
        struct package_entry *entry = &script->entries[i];
        if (!text_equal(entry->path, path))
            continue;
        found = entry;
        *behaviour = entry->behaviours[entry->at];
        entry->used++;
        if (entry->used >= behaviour->times && entry->at + 1 < entry->behaviour_count) {
            entry->at++;
            entry->used = 0;
        }
    }
    pthread_mutex_unlock(&script->mutex);
    return found;
}
