/* Fleet's REST API, one function per endpoint. All return -1 with a sentence that says which call failed and
 * why; e->class tells: ERR_UNAUTHORISED (401, then fleet_is_locked_out(), or 403), ERR_NOT_FOUND (404),
 * ERR_CONFLICT (409), ERR_SERVER (other refusals), ERR_NETWORK (given up), ERR_INTERRUPTED.
 *
 * Reads repeat themselves by settings.retry. Writes repeat themselves only after a look at what is there. The
 * portable old names (teams, team_id) are used throughout. */
#ifndef TENDER_FLEET_CLIENT_H
#define TENDER_FLEET_CLIENT_H

#include "fleet/codec.h"
#include "fleet/fleet.h"

/* From here on a stop lets the calls that are made end, within limits.shutdown_grace_ms. */
void fleet_begin_commit(struct fleet *fleet);
void fleet_end_commit(struct fleet *fleet);
/* A 401 was seen: no further call can succeed. */
bool fleet_is_locked_out(const struct fleet *fleet);
uint64_t fleet_uploaded_bytes(const struct fleet *fleet);
/* Waits on the loop, a stop ends it with ERR_INTERRUPTED. */
int fleet_wait(struct fleet *fleet, int64_t duration_ms, struct err *e) MUST_CHECK;

int fleet_get_version(struct fleet *fleet, struct arena *arena, const char **version,
                      struct err *e) MUST_CHECK;
int fleet_get_user(struct fleet *fleet, struct arena *arena, struct fleet_user *out,
                   struct err *e) MUST_CHECK;
int fleet_list_teams(struct fleet *fleet, struct arena *arena, struct team_rows *rows,
                     struct err *e) MUST_CHECK;
int fleet_list_labels(struct fleet *fleet, struct arena *arena, struct name_rows *rows,
                      struct err *e) MUST_CHECK;
/* All pages; a list that changes while it is read is read again, then ERR_SERVER. */
int fleet_list_titles(struct fleet *fleet, int64_t team_id, struct arena *arena, struct title_rows *rows,
                      struct err *e) MUST_CHECK;
int fleet_get_title(struct fleet *fleet, int64_t team_id, struct observed_title *title, struct arena *arena,
                    struct err *e) MUST_CHECK;
/* The catalogue of maintained apps as this team sees it; empty where the server has none. */
int fleet_list_catalogue(struct fleet *fleet, int64_t team_id, struct arena *arena,
                         struct catalogue_rows *rows, struct err *e) MUST_CHECK;
int fleet_get_catalogue_app(struct fleet *fleet, struct catalogue_app *app, struct arena *arena,
                            struct err *e) MUST_CHECK;
/* `platform` as titles have it: "darwin", "windows", "linux". Empty where the server has none. */
int fleet_list_setup_experience(struct fleet *fleet, int64_t team_id, const char *platform,
                                struct arena *arena, struct setup_rows *rows, struct err *e) MUST_CHECK;
/* Replaces the platform's list. */
int fleet_put_setup_experience(struct fleet *fleet, int64_t team_id, const char *platform,
                               const int64_t *title_ids, size_t count, struct err *e) MUST_CHECK;

/* Creates the team, or finds it where the answer was lost or the name is taken. */
int fleet_create_team(struct fleet *fleet, const char *name, struct arena *arena, struct fleet_team *out,
                      struct err *e) MUST_CHECK;
/* Values that must not come out in messages, whatever the server answers. Borrowed for the connection's life.
 */
void fleet_know_secrets(struct fleet *fleet, const struct secret_value *secrets, size_t count);
int fleet_put_secrets(struct fleet *fleet, const struct secret_value *secrets, size_t count,
                      struct err *e) MUST_CHECK;

/* The bytes of an upload: streamed from the file and hashed on the way. */
struct upload_file {
    const char *path;
    const char *file_name; /* its extension decides the type */
    const char *sha256;    /* what was verified before; other bytes are never called a success */
    uint64_t size_bytes;
};
struct upload_result {
    int64_t title_id;
    bool existed; /* the title was in the team already, and was edited */
};
/* What the caller knows of the team's titles. */
struct upload_titles {
    int64_t likely; /* the title that these bytes are probably for: a PATCH of it is tried first, which the
                     * server refuses if they are for another; it saves sending the bytes twice. 0: none */
    const int64_t *others; /* titles that stand for something else: never edited */
    size_t other_count;
};
/* POST, or where the title is there already a PATCH of it, with all of `fields`. The server's digest of what
 * it got is compared with ours. */
int fleet_upload_package(struct fleet *fleet, int64_t team_id, const struct upload_file *file,
                         const struct package_fields *fields, const struct upload_titles *titles,
                         struct upload_result *out, struct err *e) MUST_CHECK;
/* `file` may be NULL: fields only. NULL and absent fields stay as they are; an empty script means the
 * server's default. */
int fleet_edit_package(struct fleet *fleet, int64_t team_id, int64_t title_id, const struct upload_file *file,
                       const struct package_fields *fields, struct err *e) MUST_CHECK;
/* Fine if it is not there. ERR_CONFLICT while a policy or the set-up experience uses it. */
int fleet_delete_package(struct fleet *fleet, int64_t team_id, int64_t title_id, struct err *e) MUST_CHECK;
/* Streams the package's bytes from the server into the file, which is made, and hashes them. */
int fleet_download_package(struct fleet *fleet, int64_t team_id, int64_t title_id, const char *path,
                           char sha256[DIGEST_HEX_BYTES], uint64_t *size_bytes, struct err *e) MUST_CHECK;

/* The batch call. `team_name` NULL: no team. It replaces the team's whole set. */
int fleet_start_batch(struct fleet *fleet, const char *team_name, const struct package_fields *items,
                      size_t count, char id[BATCH_ID_BYTES], struct err *e) MUST_CHECK;
/* Asked once. ERR_NOT_FOUND: the server does not know the id any more, which says nothing about the batch. */
int fleet_get_batch(struct fleet *fleet, const char *team_name, const char *id, struct batch_answer *out,
                    struct err *e) MUST_CHECK;

/* "Team names are looked up without regard to case": ASCII letters. */
bool fleet_same_team_name(const char *a, const char *b);

#endif
