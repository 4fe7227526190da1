/* Where the bytes of a digest are: in a team of Fleet, in the cache, or nowhere. A team that has no batch
 * can't take bytes by digest, so what only Fleet has is fetched back from it. */
#include "base/files.h"
#include "base/text.h"
#include "deliver/work.h"
#include <stdio.h>
#include <string.h>

static bool title_holds(const struct observed_title *title, const char *sha256)
{
    return title->kind != SOFTWARE_APP_STORE_APP && text_equal(title->sha256, sha256);
}

/* The title and team that hold the bytes; NULL if none does. */
static const struct observed_title *find_holder(const struct delivery *run, const char *sha256,
                                                const struct observed_team *but, int64_t *team_id)
{
    for (size_t i = 0; i < run->observed.team_count; i++) {
        const struct observed_team *team = &run->observed.teams[i];
        for (size_t k = 0; k < team->title_count && team != but; k++)
            if (title_holds(&team->titles[k], sha256)) {
                *team_id = team->id;
                return &team->titles[k];
            }
    }
    return NULL;
}

int64_t bytes_title(const struct delivery *run, const char *sha256)
{
    int64_t team_id;
    const struct observed_title *title = sha256 == NULL ? NULL : find_holder(run, sha256, NULL, &team_id);
    return title == NULL ? 0 : title->title_id;
}

/* A script package is sent under the name that its file has in the repository. */
static const char *name_of(const struct plan_item *item, const char *otherwise)
{
    if (item->wish == NULL || item->wish->kind != SOFTWARE_SCRIPT_PACKAGE || item->wish->script.path == NULL)
        return otherwise;
    const char *slash = strrchr(item->wish->script.path, '/');
    return slash == NULL ? item->wish->script.path : slash + 1;
}

const struct local_bytes *bytes_local(struct delivery *run, const struct plan_item *item,
                                      struct local_bytes *out)
{
    for (size_t i = 0; i < run->input->package_count; i++) {
        const struct package *package = run->input->packages[i].package;
        if (package == NULL || package->path == NULL || !text_equal(package->sha256, item->sha256))
            continue;
        *out = (struct local_bytes){
            package->sha256, package->path,
            name_of(item, text_is_empty(package->file_name) ? item->name : package->file_name),
            package->size_bytes};
        return out;
    }
    for (size_t i = 0; i < run->fetched_count; i++)
        if (text_equal(run->fetched[i].sha256, item->sha256)) {
            *out = run->fetched[i];
            out->file_name = name_of(item, out->file_name);
            return out;
        }
    return NULL;
}

static int make_folder(struct delivery *run, struct err *e)
{
    const struct settings *settings = run->options->settings;
    if (run->temporary_folder != NULL)
        return 0;
    const char *cache = settings->cache_dir;
    const char *folder = cache != NULL
                             ? arena_printf(run->arena, e, "%s/from-fleet", cache)
                             : arena_printf(run->arena, e, "%s/cache/from-fleet", settings->state_dir);
    if (folder == NULL || folder_make(folder, e) < 0)
        return -1;
    run->temporary_folder = folder;
    return 0;
}

static int fetch_back(struct delivery *run, const char *sha256, const struct observed_title *title,
                      int64_t team_id, struct err *e)
{
    char got[DIGEST_HEX_BYTES];
    struct local_bytes bytes = {.sha256 = sha256};
    if (make_folder(run, e) < 0)
        return -1;
    bytes.path = arena_printf(run->arena, e, "%s/%s", run->temporary_folder, sha256);
    bytes.file_name =
        arena_strdup(run->arena, text_is_empty(title->file_name) ? title->name : title->file_name, e);
    if (bytes.path == NULL || bytes.file_name == NULL ||
        fleet_download_package(run->options->fleet, team_id, title->title_id, bytes.path, got,
                               &bytes.size_bytes, e) < 0)
        return -1;
    if (strcmp(got, sha256) != 0)
        return err_set(e, ERR_SERVER,
                       "Fleet gave other bytes for %s than it says it has: sha256 %s was expected, %s came",
                       title->name, sha256, got);
    struct local_bytes *slot =
        ARENA_PUSH(run->arena, &run->fetched, &run->fetched_count, &run->fetched_capacity, e);
    if (slot == NULL)
        return -1;
    *slot = bytes;
    return 0;
}

int bytes_ensure_local(struct delivery *run, const struct plan_item *item, struct local_bytes *out,
                       struct err *e)
{
    int64_t team_id = 0;
    if (bytes_local(run, item, out) != NULL)
        return 0;
    const struct observed_title *holder = find_holder(run, item->sha256, NULL, &team_id);
    if (holder == NULL)
        return err_set(e, ERR_SYSTEM,
                       "its bytes (sha256 %.8s…) are neither here nor in a team of Fleet any more",
                       item->sha256 != NULL ? item->sha256 : "unknown");
    if (fetch_back(run, item->sha256, holder, team_id, e) < 0)
        return -1;
    return bytes_local(run, item, out) == NULL ? err_set(e, ERR_SYSTEM, "its bytes got lost here") : 0;
}

static bool keeps_digest(const struct team_delivery *team, const char *sha256)
{
    for (size_t i = 0; i < team->item_count; i++) {
        const struct plan_item *item = team->items[i].plan;
        if (item->action != PLAN_REMOVE && text_equal(item->sha256, sha256))
            return true;
    }
    return false;
}

/* The pending item of a later team that wants these bytes from Fleet. */
static const struct plan_item *find_wanting(const struct delivery *run, const struct team_delivery *but,
                                            const char *sha256)
{
    for (size_t i = 0; i < run->team_count; i++) {
        const struct team_delivery *team = &run->teams[i];
        for (size_t k = 0; k < team->item_count && team != but && !team->is_over; k++)
            if (team->items[k].stage == STAGE_PENDING && text_equal(team->items[k].plan->sha256, sha256))
                return team->items[k].plan;
    }
    return NULL;
}

int bytes_save_endangered(struct team_delivery *team, struct err *e)
{
    struct delivery *run = team->run;
    for (size_t i = 0; i < team->now->title_count; i++) {
        const char *sha256 = team->now->titles[i].sha256;
        int64_t other_id;
        struct local_bytes ignored;
        if (text_is_empty(sha256) || keeps_digest(team, sha256) ||
            find_holder(run, sha256, team->now, &other_id) != NULL)
            continue;
        const struct plan_item *wanting = find_wanting(run, team, sha256);
        struct err trouble;
        err_init(&trouble);
        if (wanting == NULL || bytes_ensure_local(run, wanting, &ignored, &trouble) == 0)
            continue;
        if (delivery_is_fatal(run, &trouble))
            return err_set(e, trouble.class, "%s", trouble.text);
        log_warning(run->options->log, "bytes", "%s could not be kept for another team: %s",
                    team->now->titles[i].name, trouble.text);
    }
    return 0;
}

const char *bytes_refusal(const struct delivery *run, const char *sha256)
{
    for (size_t i = 0; i < run->refused_count; i++)
        if (text_equal(run->refused[i].sha256, sha256))
            return run->refused[i].why;
    return NULL;
}

int bytes_note_refusal(struct delivery *run, const char *sha256, const char *why, struct err *e)
{
    struct refused_bytes *slot =
        ARENA_PUSH(run->arena, &run->refused, &run->refused_count, &run->refused_capacity, e);
    if (slot == NULL)
        return -1;
    *slot = (struct refused_bytes){sha256, arena_strdup(run->arena, why, e)};
    return slot->why == NULL ? -1 : 0;
}
