/* The endpoints that are written, but for the bytes of packages (upload.c). Each knows how to look whether a
 * write whose answer was lost has been carried out. */
#include "base/text.h"
#include "fleet/call.h"
#include "fleet/client.h"
#include "fleet/fleet_private.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 4096, MAX_BODY_BYTES = 64 * 1024 * 1024, LOOKUP_ARENA_BYTES = 64 * 1024 * 1024 };

static void call_cleanup(struct call *call)
{
    call_done(call);
}

/* Bodies may hold secret variables. */
static void body_cleanup(struct buf *body)
{
    if (body->bytes != NULL)
        explicit_bzero(body->bytes, body->length);
    buf_done(body);
}

struct team_lookup {
    struct fleet *fleet;
    struct arena *arena;
    const char *name;
    struct fleet_team *found;
};

static int find_team(void *context, bool *is_there, struct err *e)
{
    struct team_lookup *lookup = context;
    struct team_rows rows = {.items = NULL};
    if (fleet_list_teams(lookup->fleet, lookup->arena, &rows, e) < 0)
        return -1;
    for (size_t i = 0; i < rows.count; i++)
        if (fleet_same_team_name(rows.items[i].name, lookup->name)) {
            *lookup->found = rows.items[i];
            *is_there = true;
        }
    return 0;
}

int fleet_create_team(struct fleet *fleet, const char *name, struct arena *arena, struct fleet_team *out,
                      struct err *e)
{
    CLEANUP(body_cleanup) struct buf body = BUF_INIT(MAX_BODY_BYTES);
    if (codec_write_team(name, &body, e) < 0)
        return -1;
    CLEANUP(call_cleanup)
    struct call call = {.name = "POST /teams",
                        .method = "POST",
                        .path = "/teams",
                        .right = "create teams",
                        .is_write = true,
                        .body = body.bytes,
                        .body_length = body.length};
    struct fleet_team found = {.id = 0};
    struct team_lookup lookup = {fleet, arena, name, &found};
    struct err trouble;
    err_init(&trouble);
    if (call_write(fleet, &call, find_team, &lookup, &trouble) < 0) {
        bool is_there = false;
        if (call.status != 409 || find_team(&lookup, &is_there, e) < 0 || !is_there)
            return err_set(e, trouble.class, "%s", trouble.text);
    }
    if (found.id > 0)
        *out = found;
    else if (codec_team(call.answer.bytes, call.answer.length, arena, out, e) < 0)
        return -1;
    return 0;
}

/* Writes that may simply be sent again: the second time changes nothing. */
static int never_there(void *context, bool *is_there, struct err *e)
{
    (void)context;
    (void)e;
    *is_there = false;
    return 0;
}

int fleet_put_secrets(struct fleet *fleet, const struct secret_value *secrets, size_t count, struct err *e)
{
    CLEANUP(body_cleanup) struct buf body = BUF_INIT(MAX_BODY_BYTES);
    if (codec_write_secrets(secrets, count, &body, e) < 0)
        return -1;
    CLEANUP(call_cleanup)
    struct call call = {.name = "PUT /spec/secret_variables",
                        .method = "PUT",
                        .path = "/spec/secret_variables",
                        .right = "write secret variables",
                        .is_write = true,
                        .body = body.bytes,
                        .body_length = body.length};
    return call_write(fleet, &call, never_there, NULL, e);
}

int fleet_put_setup_experience(struct fleet *fleet, int64_t team_id, const char *platform,
                               const int64_t *title_ids, size_t count, struct err *e)
{
    CLEANUP(body_cleanup) struct buf body = BUF_INIT(MAX_BODY_BYTES);
    const char *name = text_equal(platform, "darwin") ? "macos" : platform;
    if (codec_write_setup_experience(name, team_id, title_ids, count, &body, e) < 0)
        return -1;
    CLEANUP(call_cleanup)
    struct call call = {.name = "PUT /setup_experience/software",
                        .method = "PUT",
                        .path = "/setup_experience/software",
                        .right = "write the set-up experience of this team",
                        .is_write = true,
                        .body = body.bytes,
                        .body_length = body.length};
    return call_write(fleet, &call, never_there, NULL, e);
}

struct title_lookup {
    struct fleet *fleet;
    int64_t team_id, title_id;
};

static int is_gone(void *context, bool *is_there, struct err *e)
{
    const struct title_lookup *lookup = context;
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(LOOKUP_ARENA_BYTES);
    if (arena == NULL)
        return err_set(e, ERR_MEMORY, "out of memory");
    struct title_rows rows = {.items = NULL};
    if (fleet_list_titles(lookup->fleet, lookup->team_id, arena, &rows, e) < 0)
        return -1;
    *is_there = true;
    for (size_t i = 0; i < rows.count; i++)
        if (rows.items[i].title_id == lookup->title_id)
            *is_there = false;
    return 0;
}

int fleet_delete_package(struct fleet *fleet, int64_t team_id, int64_t title_id, struct err *e)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/software/titles/%" PRId64 "/available_for_install?team_id=%" PRId64,
             title_id, team_id);
    CLEANUP(call_cleanup)
    struct call call = {.name = "DELETE /software/titles/{id}/available_for_install",
                        .method = "DELETE",
                        .path = path,
                        .right = "remove software from this team",
                        .is_write = true};
    struct title_lookup lookup = {fleet, team_id, title_id};
    struct err trouble;
    err_init(&trouble);
    if (call_write(fleet, &call, is_gone, &lookup, &trouble) == 0)
        return 0;
    /* 404: it is gone already, which is what was wanted; but only if it says so in Fleet's words. */
    if (call.status == 404 && call.refusal.is_fleet_json)
        return 0;
    return err_set(e, trouble.class, "%s", trouble.text);
}

/* Percent-encodes all but RFC 3986's unreserved characters. */
static int encode(const char *text, char *out, size_t size, struct err *e)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    size_t used = 0;
    for (const char *at = text; *at != '\0'; at++) {
        if (used + 4 > size)
            return err_set(e, ERR_SERVER, "the team's name is too long");
        if (strchr(plain, *at) != NULL)
            out[used++] = *at;
        else
            used += (size_t)snprintf(out + used, size - used, "%%%02X", (unsigned char)*at);
    }
    out[used] = '\0';
    return 0;
}

static int batch_path(const char *team_name, const char *id, char *path, struct err *e)
{
    char name[PATH_BYTES / 2] = "";
    if (team_name != NULL && encode(team_name, name, sizeof name, e) < 0)
        return -1;
    snprintf(path, PATH_BYTES, "/software/batch%s%s?%s%s%sdry_run=false", id != NULL ? "/" : "",
             id != NULL ? id : "", team_name != NULL ? "team_name=" : "", name, team_name != NULL ? "&" : "");
    return 0;
}

int fleet_start_batch(struct fleet *fleet, const char *team_name, const struct package_fields *items,
                      size_t count, char id[BATCH_ID_BYTES], struct err *e)
{
    char path[PATH_BYTES];
    CLEANUP(body_cleanup) struct buf body = BUF_INIT(MAX_BODY_BYTES);
    if (batch_path(team_name, NULL, path, e) < 0 || codec_write_batch(items, count, &body, e) < 0)
        return -1;
    CLEANUP(call_cleanup)
    struct call call = {.name = "POST /software/batch",
                        .method = "POST",
                        .path = path,
                        .right = "write the software of this team",
                        .is_write = true,
                        .body = body.bytes,
                        .body_length = body.length};
    /* Whether a lost one was carried out is the caller's to see: it knows what the team was to have. */
    if (call_run_all(fleet, &call, 1, e) < 0)
        return -1;
    if (call.end != CALL_DONE)
        return err_set(e, call.end == CALL_UNKNOWN ? ERR_NETWORK : call.err.class, "%s", call.err.text);
    return codec_batch_started(call.answer.bytes, call.answer.length, id, e);
}

int fleet_get_batch(struct fleet *fleet, const char *team_name, const char *id, struct batch_answer *out,
                    struct err *e)
{
    char path[PATH_BYTES];
    if (batch_path(team_name, id, path, e) < 0)
        return -1;
    CLEANUP(call_cleanup)
    struct call call = {
        .name = "GET /software/batch/{id}", .method = "GET", .path = path, .right = "see how a batch stands"};
    if (call_read(fleet, &call, e) < 0)
        return -1;
    if (codec_batch_answer(call.answer.bytes, call.answer.length, out, e) < 0)
        return -1;
    fleet_hide_secrets(fleet, out->message);
    return 0;
}
