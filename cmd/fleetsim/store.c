/* The simulated server's memory: loaded at start, changed by the handlers, written after each change, so that
 * a restart goes on where the last run ended. */
#include "store.h"
#include "base/buf.h"
#include "base/files.h"
#include "base/text.h"
#include "json.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STATE_MAX_BYTES = 512 * 1024 * 1024 };

static const char *const lists[] = {"teams", "labels",   "titles",  "installers",
                                    "apps",  "policies", "batches", "secrets"};

struct builtin_label {
    const char *name, *description, *query, *platform, *membership, *created_at;
};

/* The labels that a 4.69 server comes with. */
static const struct builtin_label builtin_labels[] = {
    {"macOS 14+ (Sonoma+)", "macOS hosts with version 14 and above",
     "select 1 from os_version where platform = 'darwin' and major >= 14;", "darwin", "dynamic",
     "2024-04-03T00:00:00Z"},
    {"iOS", "All iOS hosts", "", "ios", "manual", "2024-06-28T00:00:00Z"},
    {"iPadOS", "All iPadOS hosts", "", "ipados", "manual", "2024-06-28T00:00:00Z"},
    {"Fedora Linux", "All Fedora hosts", "select 1 from os_version where name = 'Fedora Linux';", "rhel",
     "dynamic", "2024-09-27T00:00:00Z"},
    {"Android", "All Android hosts", "", "android", "manual", "2025-02-25T00:00:00Z"},
};

static json_t *label_row(struct store *store, const struct builtin_label *label, bool builtin)
{
    json_t *row = new_object();
    put_text(row, "created_at", label->created_at);
    put_text(row, "updated_at", label->created_at);
    put_number(row, "id", store_next_id(store, "labels"));
    put(row, "author_id", builtin ? json_null() : new_number(1));
    put_text(row, "name", label->name);
    put_text(row, "description", label->description);
    put_text(row, "query", label->query);
    put_text(row, "platform", label->platform);
    put_text(row, "label_type", builtin ? "builtin" : "regular");
    put_text(row, "label_membership_type", label->membership);
    put_text(row, "display_text", label->name);
    put_number(row, "count", 0);
    append(store_list(store, "labels"), row);
    return row;
}

static void begin_empty(struct store *store)
{
    json_decref(store->state);
    store->state = new_object();
    put(store->state, "next_ids", new_object());
    for (size_t i = 0; i < ARRAY_LENGTH(lists); i++)
        put(store->state, lists[i], new_array());
    for (size_t i = 0; i < ARRAY_LENGTH(builtin_labels); i++)
        label_row(store, &builtin_labels[i], true);
}

static int load(struct store *store, struct err *e)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT(STATE_MAX_BYTES);
    if (file_read(store->state_path, &text, e) < 0) {
        if (e->class != ERR_NOT_FOUND)
            return -1;
        err_init(e);
        begin_empty(store);
        return 0;
    }
    json_error_t where;
    store->state = json_loadb(text.bytes, text.length, JSON_REJECT_DUPLICATES, &where);
    if (store->state == NULL)
        return err_set(e, ERR_CONFIG, "%s: line %d: %s", store->state_path, where.line, where.text);
    if (!json_is_object(json_object_get(store->state, "next_ids")))
        return err_set(e, ERR_CONFIG, "%s: not written by fleetsim", store->state_path);
    for (size_t i = 0; i < ARRAY_LENGTH(lists); i++)
        if (!json_is_array(json_object_get(store->state, lists[i])))
            return err_set(e, ERR_CONFIG, "%s: no list \"%s\"", store->state_path, lists[i]);
    return 0;
}

/* Whoever worked on these batches is gone: their ids stay at "processing" for a while, then they are unknown.
 */
static void mark_interrupted(struct store *store)
{
    size_t i;
    json_t *row;
    json_array_foreach(store_list(store, "batches"), i, row)
    {
        if (!text_equal(text_at(row, "status"), "processing"))
            continue;
        put_number(row, "polls_before", -1);
        put_number(row, "started", (json_int_t)time(NULL));
    }
}

static int make_folders(struct store *store, bool empty_start, struct err *e)
{
    CLEANUP(file_free_cleanup) char *blobs = path_join(store->folder, "blobs/sha256");
    CLEANUP(file_free_cleanup) char *incoming = path_join(store->folder, "incoming");
    if (blobs == NULL || incoming == NULL)
        return err_set(e, ERR_MEMORY, "out of memory");
    if (empty_start && (folder_remove(blobs, e) < 0 || (unlink(store->state_path) < 0 && errno != ENOENT)))
        return -1;
    if (folder_remove(incoming, e) < 0)
        return -1;
    return folder_make(blobs, e) < 0 || folder_make(incoming, e) < 0 ? -1 : 0;
}

int store_open(struct store *store, const char *folder, bool empty_start, struct err *e)
{
    *store = (struct store){.folder = copy_text(folder), .state_path = path_join(folder, "state.json")};
    pthread_mutex_init(&store->mutex, NULL);
    if (store->state_path == NULL)
        return err_set(e, ERR_MEMORY, "out of memory");
    if (make_folders(store, empty_start, e) < 0 || load(store, e) < 0)
        return -1;
    mark_interrupted(store);
    return 0;
}

void store_close(struct store *store)
{
    json_decref(store->state);
    free(store->folder);
    free(store->state_path);
    pthread_mutex_destroy(&store->mutex);
    *store = (struct store){.state = NULL};
}

void store_lock(struct store *store)
{
    pthread_mutex_lock(&store->mutex);
}

void store_unlock(struct store *store)
{
    pthread_mutex_unlock(&store->mutex);
}

/* No fsync: it would cost a disk's flush per request, and what is lost with the power is a rehearsal. */
static int write_state(struct store *store, const char *text, size_t length, struct err *e)
{
    CLEANUP(file_free_cleanup) char *temporary = path_join(store->folder, "state.json.new");
    if (temporary == NULL)
        return err_set(e, ERR_MEMORY, "out of memory");
    CLEANUP(file_close_cleanup) int file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        return err_set_errno(e, "can't create %s", temporary);
    if (file_write_all(file, text, length, e) < 0)
        return -1;
    if (rename(temporary, store->state_path) < 0)
        return err_set_errno(e, "can't rename %s", temporary);
    return 0;
}

void store_save(struct store *store)
{
    struct err e;
    err_init(&e);
    size_t length;
    CLEANUP(file_free_cleanup) char *text = json_text(store->state, &length);
    if (write_state(store, text, length, &e) < 0)
        fprintf(stderr, "fleetsim: the state is not saved: %s\n", e.text);
}

json_t *store_list(struct store *store, const char *name)
{
    return json_object_get(store->state, name);
}

json_int_t store_next_id(struct store *store, const char *kind)
{
    json_t *next = json_object_get(store->state, "next_ids");
    json_int_t id = number_at(next, kind) + 1;
    put_number(next, kind, id);
    return id;
}

static json_t *row_with_id(struct store *store, const char *list, json_int_t id)
{
    size_t i;
    json_t *row;
    json_array_foreach(store_list(store, list), i, row)
    {
        if (number_at(row, "id") == id)
            return row;
    }
    return NULL;
}

json_t *store_team(struct store *store, json_int_t id)
{
    return row_with_id(store, "teams", id);
}

json_t *store_team_named(struct store *store, const char *name)
{
    size_t i;
    json_t *row, *near = NULL;
    json_array_foreach(store_list(store, "teams"), i, row)
    {
        if (text_equal(text_at(row, "name"), name))
            return row;
        if (near == NULL && strcasecmp(text_at(row, "name"), name) == 0)
            near = row;
    }
    return near;
}

json_t *store_team_add(struct store *store, const char *name)
{
    char now[TIME_TEXT_BYTES];
    json_t *row = new_object();
    put_number(row, "id", store_next_id(store, "teams"));
    put_text(row, "created_at", time_text(false, now));
    put_text(row, "name", name);
    append(store_list(store, "teams"), row);
    return row;
}

json_t *store_label_named(struct store *store, const char *name)
{
    size_t i;
    json_t *row;
    json_array_foreach(store_list(store, "labels"), i, row)
    {
        if (strcasecmp(text_at(row, "name"), name) == 0)
            return row;
    }
    return NULL;
}

json_t *store_label(struct store *store, json_int_t id)
{
    return row_with_id(store, "labels", id);
}

json_t *store_label_add(struct store *store, const char *name)
{
    char now[TIME_TEXT_BYTES];
    struct builtin_label label = {name, "", "select 1", "", "dynamic", time_text(false, now)};
    return label_row(store, &label, false);
}

json_t *store_title(struct store *store, json_int_t id)
{
    return row_with_id(store, "titles", id);
}

json_t *store_title_of(struct store *store, const char *name, const char *source,
                       const char *bundle_identifier)
{
    size_t i;
    json_t *row;
    json_array_foreach(store_list(store, "titles"), i, row)
    {
        if (text_equal(text_at(row, "name"), name) && text_equal(text_at(row, "source"), source))
            return row;
    }
    row = new_object();
    put_number(row, "id", store_next_id(store, "titles"));
    put_text(row, "name", name);
    put_text(row, "source", source);
    if (bundle_identifier[0] != '\0')
        put_text(row, "bundle_identifier", bundle_identifier);
    append(store_list(store, "titles"), row);
    return row;
}

static json_t *row_of_team(struct store *store, const char *list, json_int_t team_id, json_int_t title_id)
{
    size_t i;
    json_t *row;
    json_array_foreach(store_list(store, list), i, row)
    {
        if (number_at(row, "title_id") == title_id && number_at(row, "team_id") == team_id)
            return row;
    }
    return NULL;
}

json_t *store_installer(struct store *store, json_int_t team_id, json_int_t title_id)
{
    return row_of_team(store, "installers", team_id, title_id);
}

json_t *store_app(struct store *store, json_int_t team_id, json_int_t title_id)
{
    return row_of_team(store, "apps", team_id, title_id);
}

bool store_title_is_used(struct store *store, json_int_t title_id)
{
    size_t i;
    json_t *row;
    json_array_foreach(store_list(store, "installers"), i, row)
    {
        if (number_at(row, "title_id") == title_id)
            return true;
    }
    json_array_foreach(store_list(store, "apps"), i, row)
    {
        if (number_at(row, "title_id") == title_id)
            return true;
    }
    return false;
}

json_t *store_policies_of(struct store *store, json_int_t team_id, json_int_t title_id)
{
    size_t i;
    json_t *row, *found = NULL;
    json_array_foreach(store_list(store, "policies"), i, row)
    {
        if (number_at(row, "team_id") != team_id || number_at(row, "software_title_id") != title_id)
            continue;
        if (found == NULL)
            found = new_array();
        json_t *policy = new_object();
        put_number(policy, "id", number_at(row, "id"));
        put_text(policy, "name", text_at(row, "name"));
        append(found, policy);
    }
    return found != NULL ? found : json_null();
}

/* A policy whose installer goes keeps running, but installs nothing any more. */
static void forget_in_policies(struct store *store, json_int_t team_id, json_int_t title_id)
{
    size_t i;
    json_t *row;
    json_array_foreach(store_list(store, "policies"), i, row)
    {
        if (number_at(row, "team_id") == team_id && number_at(row, "software_title_id") == title_id)
            put_null(row, "software_title_id");
    }
}

void store_remove(struct store *store, const char *list, const json_t *row)
{
    size_t i;
    json_t *candidate;
    json_t *rows = store_list(store, list);
    json_array_foreach(rows, i, candidate)
    {
        if (candidate != row)
            continue;
        char *digest = copy_text(text_at(row, "hash_sha256"));
        if (number_at(row, "title_id") != 0)
            forget_in_policies(store, number_at(row, "team_id"), number_at(row, "title_id"));
        json_array_remove(rows, i);
        if (digest[0] != '\0')
            store_blob_release(store, digest);
        free(digest);
        return;
    }
}
