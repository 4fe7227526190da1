/* The batch call: what is refused at once, and the poll. The work itself is in batch.c. */
#include "access.h"
#include "base/text.h"
#include "batch.h"
#include "catalogue.h"
#include "json.h"
#include "parameters.h"
#include "routes.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { URL_MAX = 4000, STALE_SECONDS = 180 };

struct key_row {
    const char *key;
    bool (*fits)(const json_t *value);
};

static bool fits_text(const json_t *value)
{
    return json_is_string(value);
}

static bool fits_flag(const json_t *value)
{
    return json_is_boolean(value);
}

static bool fits_texts(const json_t *value)
{
    size_t i;
    json_t *text;
    if (!json_is_array(value))
        return false;
    json_array_foreach(value, i, text)
    {
        if (!json_is_string(text))
            return false;
    }
    return true;
}

/* The types of an item's keys; null goes with any, and unknown keys are passed over, as Go's decoder does. */
static const struct key_row item_keys[] = {
    {"url", fits_text},
    {"sha256", fits_text},
    {"slug", fits_text},
    {"display_name", fits_text},
    {"install_script", fits_text},
    {"uninstall_script", fits_text},
    {"post_install_script", fits_text},
    {"pre_install_query", fits_text},
    {"self_service", fits_flag},
    {"install_during_setup", fits_flag},
    {"labels_include_any", fits_texts},
    {"labels_exclude_any", fits_texts},
    {"categories", fits_texts},
};

static bool item_fits(const json_t *item)
{
    if (!json_is_object(item))
        return false;
    for (size_t i = 0; i < ARRAY_LENGTH(item_keys); i++) {
        const json_t *value = json_object_get(item, item_keys[i].key);
        if (value != NULL && !json_is_null(value) && !item_keys[i].fits(value))
            return false;
    }
    return true;
}

static bool types_fit(const json_t *body)
{
    size_t i;
    json_t *item;
    const json_t *items = json_object_get(body, "software");
    if (items == NULL || json_is_null(items))
        return true;
    if (!json_is_array(items))
        return false;
    json_array_foreach(items, i, item)
    {
        if (!item_fits(item))
            return false;
    }
    return true;
}

static bool scripts_are_fine(const struct request *request, const json_t *item, struct answer *answer)
{
    static const char *const scripts[] = {"install_script", "uninstall_script", "post_install_script"};
    for (size_t i = 0; i < ARRAY_LENGTH(scripts); i++) {
        char *missing = unknown_secret(&request->sim->store, text_at(item, scripts[i]));
        if (missing == NULL)
            continue;
        refuse(answer, REFUSE_INVALID, "script",
               "Couldn't add. Secret variable \"$FLEET_SECRET_%s\" missing from database", missing);
        free(missing);
        return false;
    }
    return true;
}

/* One item, as far as it can be judged at once. */
static bool item_is_fine(const struct request *request, json_t *item, struct answer *answer)
{
    json_t *include = NULL, *exclude = NULL;
    const char *slug = text_at(item, "slug"), *url = text_at(item, "url");
    if (slug[0] == '\0' && url[0] == '\0' && text_at(item, "sha256")[0] == '\0') {
        refuse(answer, REFUSE_INVALID, "software",
               "Couldn't edit software. One or more software packages is missing url or hash_sha256 fields.");
        return false;
    }
    if (strlen(url) > URL_MAX) {
        refuse(answer, REFUSE_INVALID, "software.url",
               "software URL is too long, must be %d characters or less", URL_MAX);
        return false;
    }
    if (slug[0] != '\0' && maintained_by_slug(request->sim, slug) == NULL) {
        refuse(answer, REFUSE_NOT_FOUND, "base", "MaintainedApp was not found in the datastore");
        return false;
    }
    if (!labels_by_name(request, list_at(item, "labels_include_any"), list_at(item, "labels_exclude_any"),
                        &include, &exclude, answer))
        return false;
    put(item, "label_ids_include", include);
    put(item, "label_ids_exclude", exclude);
    return scripts_are_fine(request, item, answer);
}

/* The new batch's row; old ones go. */
static void add_row(struct store *store, const struct batch_job *job)
{
    json_t *rows = store_list(store, "batches");
    json_t *row = new_object();
    put_text(row, "uuid", job->uuid);
    put_number(row, "team_id", job->team_id);
    put_number(row, "started", (json_int_t)time(NULL));
    put_text(row, "status", "processing");
    put_text(row, "message", "");
    put_null(row, "packages");
    append(rows, row);
    while (json_array_size(rows) > STORE_BATCHES_KEPT)
        json_array_remove(rows, 0);
    store_save(store);
}

void start_batch(struct request *request, struct answer *answer)
{
    size_t i;
    json_t *item;
    json_int_t team_id;
    if (!types_fit(request->json)) {
        refuse(answer, REFUSE_UNDECODABLE, "base", "json decoder error");
        return;
    }
    if (!query_team_to_write(request, &team_id, answer))
        return;
    const json_t *sent = list_at(request->json, "software");
    CLEANUP(json_cleanup) json_t *items = sent != NULL ? copy_of(sent) : new_array();
    json_array_foreach(items, i, item)
    {
        if (!item_is_fine(request, item, answer))
            return;
    }
    struct batch_job *job = allocate(sizeof *job);
    *job = (struct batch_job){.sim = request->sim,
                              .caller = request->caller,
                              .team_id = team_id,
                              .dry_run = query_flag(request, "dry_run"),
                              .stays_processing = request->fault.kind == FAULT_APPLY_THEN_STUCK,
                              .items = TAKE(items)};
    uuid_make(job->uuid);
    add_row(&request->sim->store, job);
    json_t *body = new_object();
    put_text(body, "request_uuid", job->uuid);
    answer_json(answer, 202, body);
    struct err e;
    err_init(&e);
    if (request->fault.kind == FAULT_STUCK)
        batch_job_free(job);
    else if (batch_start(job, &e) < 0)
        refuse(answer, REFUSE_INTERNAL, "base", "%s", e.text);
}

/* What a stopped server left at "processing" is forgotten after some minutes. */
static bool is_stale(const json_t *row)
{
    return text_equal(text_at(row, "status"), "processing") && number_at(row, "polls_before") < 0 &&
           time(NULL) - number_at(row, "started") > STALE_SECONDS;
}

void poll_batch(struct request *request, struct answer *answer)
{
    size_t i;
    json_t *candidate, *row = NULL;
    json_array_foreach(store_list(&request->sim->store, "batches"), i, candidate)
    {
        if (text_equal(text_at(candidate, "uuid"), request->word))
            row = candidate;
    }
    if (text_equal(request->caller.global_role, "observer")) {
        refuse(answer, REFUSE_FORBIDDEN, "base", "forbidden");
        return;
    }
    if (row == NULL || is_stale(row)) {
        refuse(answer, REFUSE_NOT_FOUND, "base", "not found");
        return;
    }
    json_int_t polls = number_at(row, "polls_before");
    bool is_held = polls > 0;
    if (is_held)
        put_number(row, "polls_before", polls - 1);
    json_t *body = new_object();
    put_text(body, "status", is_held ? "processing" : text_at(row, "status"));
    put_text(body, "message", is_held ? "" : text_at(row, "message"));
    put(body, "packages", is_held ? json_null() : json_incref(json_object_get(row, "packages")));
    answer_json(answer, 200, body);
}
