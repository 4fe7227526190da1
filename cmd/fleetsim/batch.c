/* The batch worker: serial downloads without a retry, then one replacement of the team's set, as Fleet 4.69.
 */
#include "batch.h"
#include "access.h"
#include "base/text.h"
#include "catalogue.h"
#include "json.h"
#include "parameters.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void batch_job_free(struct batch_job *job)
{
    if (job == NULL)
        return;
    json_decref(job->items);
    free(job);
}

void resolved_done(struct resolved *resolved)
{
    download_done(&resolved->download);
    json_decref(resolved->wish);
    *resolved = (struct resolved){.setup = -1};
}

/* An installer with these bytes in a team that the caller may write; with `url` (not NULL) only one of that
 * url. `any_team`: the caller's rights do not count, as for maintained apps. */
static const json_t *find_bytes(struct sim *sim, const struct caller *caller, const char *sha256,
                                const char *url, bool any_team)
{
    size_t i;
    json_t *row;
    json_array_foreach(store_list(&sim->store, "installers"), i, row)
    {
        if (sha256[0] != '\0' && !text_equal(text_at(row, "hash_sha256"), sha256))
            continue;
        if (url != NULL && !text_equal(text_at(row, "url"), url))
            continue;
        if (any_team || may_write_software(caller, number_at(row, "team_id")))
            return row;
    }
    return NULL;
}

/* True: *out is what the server has. */
static bool reuse(struct sim *sim, const struct caller *caller, const char *sha256, const char *url,
                  bool any_team, struct package_bytes *out)
{
    store_lock(&sim->store);
    const json_t *row = find_bytes(sim, caller, sha256, url, any_team);
    if (row != NULL)
        package_of_installer(&sim->store, row, out);
    store_unlock(&sim->store);
    return row != NULL;
}

static int check_digest(const char *wanted, const char *got, const char *url, struct err *e)
{
    if (wanted[0] == '\0' || text_equal(wanted, got))
        return 0;
    return err_set(e, ERR_SERVER,
                   "downloaded installer hash does not match provided hash for installer with url %s", url);
}

static int resolve_maintained(struct sim *sim, const struct caller *caller, const json_t *app,
                              struct resolved *out, struct err *e)
{
    struct package_bytes known;
    const char *url = text_at(app, "url");
    const char *sha256 = text_equal(text_at(app, "sha256"), "no_check") ? "" : text_at(app, "sha256");
    wish_of_maintained(app, out->wish);
    if (reuse(sim, caller, sha256, url, true, &known)) {
        package_of_maintained(app, known.sha256, &out->package);
        return 0;
    }
    if (download_fetch(sim, url, &out->download, e) < 0 ||
        check_digest(sha256, out->download.sha256, url, e) < 0)
        return -1;
    package_of_maintained(app, out->download.sha256, &out->package);
    return 0;
}

static int resolve_package(struct sim *sim, const struct caller *caller, const json_t *item,
                           struct resolved *out, struct err *e)
{
    const char *sha256 = text_at(item, "sha256"), *url = text_at(item, "url");
    if (sha256[0] != '\0' && reuse(sim, caller, sha256, url[0] != '\0' ? url : NULL, false, &out->package))
        return 0;
    if (url[0] == '\0')
        return err_set(e, ERR_SERVER, "package not found with hash %s", sha256);
    if (download_fetch(sim, url, &out->download, e) < 0 ||
        check_digest(sha256, out->download.sha256, url, e) < 0 ||
        package_meta_read(out->download.path, out->download.file_name, sim_version_from(sim, 4, 80),
                          &out->package.meta, e) < 0)
        return -1;
    struct package_bytes *package = &out->package;
    package->bundle_identifier = "";
    store_lock(&sim->store);
    package_name_title(&sim->store, package);
    store_unlock(&sim->store);
    snprintf(package->file_name, sizeof package->file_name, "%s", out->download.file_name);
    snprintf(package->sha256, sizeof package->sha256, "%s", out->download.sha256);
    return 0;
}

static int take_categories(const json_t *item, json_t *wish, struct err *e)
{
    size_t i;
    json_t *name;
    const json_t *names = list_at(item, "categories");
    json_array_foreach(names, i, name)
    {
        if (!category_is_known(json_string_value(name)))
            return err_set(e, ERR_SERVER, "some or all of the categories provided don't exist");
    }
    if (json_array_size(names) > 0)
        put(wish, "categories", categories_in_order(names));
    return 0;
}

/* A field that is left out goes back to its default: so each wish begins empty. */
static json_t *wish_of_item(const json_t *item)
{
    static const char *const texts[] = {"install_script", "uninstall_script", "post_install_script",
                                        "pre_install_query", "url"};
    json_t *wish = wish_new();
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++)
        put_text(wish, texts[i], text_at(item, texts[i]));
    put_flag(wish, "self_service", flag_at(item, "self_service"));
    put(wish, "labels_include_any", json_incref(json_object_get(item, "label_ids_include")));
    put(wish, "labels_exclude_any", json_incref(json_object_get(item, "label_ids_exclude")));
    return wish;
}

static int check_needed_scripts(const struct resolved *resolved, struct err *e)
{
    static const char *const keys[] = {"install_script", "uninstall_script"};
    static const char *const names[] = {"Install", "Uninstall"};
    for (size_t i = 0; resolved->package.meta.needs_scripts && i < ARRAY_LENGTH(keys); i++)
        if (text_at(resolved->wish, keys[i])[0] == '\0')
            return err_set(e, ERR_SERVER, "Couldn't add. %s script is required for %s packages.", names[i],
                           resolved->package.meta.extension);
    return 0;
}

int batch_resolve(struct sim *sim, const struct caller *caller, const json_t *item, struct resolved *out,
                  struct err *e)
{
    const char *slug = text_at(item, "slug");
    const json_t *setup = json_object_get(item, "install_during_setup");
    *out = (struct resolved){.setup = json_is_boolean(setup) ? json_is_true(setup) : -1};
    out->wish = wish_of_item(item);
    if (take_categories(item, out->wish, e) < 0)
        return -1;
    int result = slug[0] != '\0' ? resolve_maintained(sim, caller, maintained_by_slug(sim, slug), out, e)
                                 : resolve_package(sim, caller, item, out, e);
    if (result < 0 || check_needed_scripts(out, e) < 0)
        return -1;
    wish_fill_scripts(out->wish, &out->package.meta);
    return 0;
}

int batch_keep_bytes(struct sim *sim, struct resolved *resolved, struct err *e)
{
    if (resolved->download.path != NULL) {
        if (store_blob_keep(&sim->store, resolved->download.path, resolved->package.sha256, e) < 0)
            return -1;
        free(TAKE(resolved->download.path));
        return 0;
    }
    char *path = store_blob_path(&sim->store, resolved->package.sha256);
    bool is_there = access(path, R_OK) == 0;
    free(path);
    return is_there ? 0 : err_set(e, ERR_SERVER, "package not found with hash %s", resolved->package.sha256);
}

/* The team's set, while a batch replaces it. */
struct replacement {
    struct batch_job *job;
    struct resolved *items;
    size_t count;
    json_t *packages; /* of the answer */
};

static bool has_later_twin(const struct replacement *set, size_t index)
{
    const struct package_bytes *package = &set->items[index].package;
    for (size_t i = index + 1; i < set->count; i++)
        if (text_equal(set->items[i].package.title_name, package->title_name) &&
            text_equal(set->items[i].package.meta.source, package->meta.source))
            return true;
    return false;
}

static bool is_in_set(const struct replacement *set, const json_t *title)
{
    for (size_t i = 0; i < set->count; i++)
        if (text_equal(set->items[i].package.title_name, text_at(title, "name")) &&
            text_equal(set->items[i].package.meta.source, text_at(title, "source")))
            return true;
    return false;
}

/* The team's installers that the set does not have: a new list of borrowed rows. */
static json_t *leftovers(const struct replacement *set)
{
    struct store *store = &set->job->sim->store;
    size_t i;
    json_t *row;
    json_t *found = new_array();
    json_array_foreach(store_list(store, "installers"), i, row)
    {
        if (number_at(row, "team_id") == set->job->team_id &&
            !is_in_set(set, store_title(store, number_at(row, "title_id"))))
            append(found, json_incref(row));
    }
    return found;
}

/* Software of the set-up can't be left out, unless some item of the batch speaks of the set-up: then the
 * server takes the batch's word for all of it. */
static int guard_setup(const struct replacement *set, const json_t *leaving, struct err *e)
{
    size_t i;
    json_t *row;
    for (size_t k = 0; k < set->count; k++)
        if (set->items[k].setup >= 0)
            return 0;
    json_array_foreach(leaving, i, row)
    {
        if (flag_at(row, "install_during_setup"))
            return err_set(
                e, ERR_SERVER,
                "batch set software installers: Couldn't delete. This software is installed when new Macs "
                "boot. Please remove software in Controls > Setup experience and try again.");
    }
    return 0;
}

static json_t *package_row(const struct replacement *set, const json_t *installer)
{
    json_t *row = new_object();
    json_int_t app_id = number_at(installer, "fleet_maintained_app_id");
    put(row, "team_id", set->job->team_id != 0 ? new_number(set->job->team_id) : json_null());
    put_number(row, "title_id", number_at(installer, "title_id"));
    put_text(row, "url", text_at(installer, "url"));
    put_text(row, "hash_sha256", text_at(installer, "hash_sha256"));
    put(row, "fleet_maintained_app_id", app_id != 0 ? new_number(app_id) : json_null());
    return row;
}

/* In the order of title ids, not as sent. */
static void insert_by_title(json_t *packages, json_t *row)
{
    size_t at = 0;
    while (at < json_array_size(packages) &&
           number_at(json_array_get(packages, at), "title_id") < number_at(row, "title_id"))
        at++;
    if (json_array_insert_new(packages, at, row) < 0)
        abort();
}

static int replace(struct replacement *set, struct err *e)
{
    struct sim *sim = set->job->sim;
    size_t i;
    json_t *row;
    CLEANUP(json_cleanup) json_t *leaving = leftovers(set);
    if (guard_setup(set, leaving, e) < 0)
        return -1;
    /* All bytes first: after this nothing can fail. */
    for (size_t k = 0; k < set->count; k++)
        if (!has_later_twin(set, k) && batch_keep_bytes(sim, &set->items[k], e) < 0)
            return -1;
    for (size_t k = 0; k < set->count; k++) {
        if (has_later_twin(set, k))
            continue;
        row = installer_set(&sim->store, set->job->team_id, &set->items[k].package, set->items[k].wish);
        /* The flag of other platforms is taken without a word, and lost. */
        if (set->items[k].setup >= 0 && text_equal(text_at(row, "platform"), "darwin"))
            put_flag(row, "install_during_setup", set->items[k].setup == 1);
        insert_by_title(set->packages, package_row(set, row));
    }
    json_array_foreach(leaving, i, row)
    {
        store_remove(&sim->store, "installers", row);
    }
    return 0;
}

static json_t *batch_row(struct store *store, const char *uuid)
{
    size_t i;
    json_t *row;
    json_array_foreach(store_list(store, "batches"), i, row)
    {
        if (text_equal(text_at(row, "uuid"), uuid))
            return row;
    }
    return NULL;
}

static void finish(const struct replacement *set, const struct err *e)
{
    const struct batch_job *job = set->job;
    json_t *row = batch_row(&job->sim->store, job->uuid);
    if (row != NULL && !job->stays_processing) {
        bool failed = err_is_set(e);
        put_text(row, "status", failed ? "failed" : "completed");
        put_text(row, "message", e->text);
        if (!failed && json_array_size(set->packages) > 0)
            put(row, "packages", copy_of(set->packages));
        /* A success is said to the second poll only, a failure to the first: so the recordings. */
        put_number(row, "polls_before", failed ? 0 : 1);
    }
    store_save(&job->sim->store);
}

/* Every item is tried, whatever became of the ones before: the first error is the batch's. */
static void resolve_all(struct replacement *set, struct err *e)
{
    size_t i;
    json_t *item;
    json_array_foreach(set->job->items, i, item)
    {
        struct err own;
        err_init(&own);
        if (batch_resolve(set->job->sim, &set->job->caller, item, &set->items[i], &own) < 0 && !err_is_set(e))
            *e = own;
        set->count++;
    }
}

static void *batch_thread(void *argument)
{
    struct batch_job *job = argument;
    struct sim *sim = job->sim;
    struct err e;
    err_init(&e);
    struct replacement set = {.job = job,
                              .items = allocate(json_array_size(job->items) * sizeof(struct resolved)),
                              .packages = new_array()};
    resolve_all(&set, &e);
    /* A server that is stopped in mid-batch leaves the id at "processing". */
    if (!sim_stopping(sim)) {
        store_lock(&sim->store);
        if (!err_is_set(&e) && !job->dry_run && replace(&set, &e) < 0)
            json_array_clear(set.packages);
        finish(&set, &e);
        store_unlock(&sim->store);
    }
    for (size_t i = 0; i < set.count; i++)
        resolved_done(&set.items[i]);
    free(set.items);
    json_decref(set.packages);
    batch_job_free(job);
    __atomic_sub_fetch(&sim->workers, 1, __ATOMIC_RELEASE);
    return NULL;
}

int batch_start(struct batch_job *job, struct err *e)
{
    pthread_t thread;
    __atomic_add_fetch(&job->sim->workers, 1, __ATOMIC_RELAXED);
    if (pthread_create(&thread, NULL, batch_thread, job) != 0) {
        __atomic_sub_fetch(&job->sim->workers, 1, __ATOMIC_RELEASE);
        batch_job_free(job);
        return err_set(e, ERR_SYSTEM, "can't start the batch worker");
    }
    pthread_detach(thread);
    return 0;
}
