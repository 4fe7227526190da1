/* Fleet's JSON ↔ the model. The only part of this folder that knows jansson (codec.c reads, codec_write.c
 * writes).
 *
 * Reading is lenient where Fleet's versions differ: unknown keys are skipped, null and absent are alike, old
 * and new names are accepted. Where something is missing that no sense can be made without (a team without
 * id), it fails with ERR_SERVER. Decoded strings live in the arena. */
#ifndef TENDER_FLEET_CODEC_H
#define TENDER_FLEET_CODEC_H

#include "base/arena.h"
#include "base/buf.h"
#include "model/observed.h"
#include <stdint.h>

enum { REFUSAL_TEXT_BYTES = 700, BATCH_ID_BYTES = 128 };

/* What an answer that is not 2xx says, fit for people: URLs redacted, one line, cut with "…". */
struct refusal {
    bool is_fleet_json; /* Fleet's own error JSON: it was the server that refused, not something on the way */
    char reason[REFUSAL_TEXT_BYTES]; /* errors[0].reason, else message, else the body's first line; "" if none
                                      */
};
void codec_refusal(const char *body, size_t length, struct refusal *out);
/* Copies text with every URL in it redacted, as one line. Returns out. */
const char *codec_redact_text(const char *text, size_t length, char *out, size_t size);

struct fleet_role {
    int64_t team_id;
    const char *name; /* the team's */
    const char *role;
};
struct fleet_user {
    const char *global_role; /* "" if none */
    size_t team_count;
    struct fleet_role *teams;
};
struct fleet_team {
    int64_t id;
    const char *name;
};

/* A growing list in an arena; pages are appended. */
struct team_rows {
    struct fleet_team *items;
    size_t count, capacity;
};
struct name_rows {
    const char **items;
    size_t count, capacity;
};
struct title_rows {
    struct observed_title *items; /* those that the team can install */
    size_t count, capacity;
    size_t row_count;     /* rows read, with those that were left out */
    size_t unclear_count; /* left out: neither a package nor an app */
};
struct catalogue_app {
    int64_t id;
    const char *slug;
    int64_t title_id;    /* 0: not in this team */
    const char *version; /* NULL: the list does not say */
};
struct catalogue_rows {
    struct catalogue_app *items;
    size_t count, capacity;
};
struct setup_flag {
    int64_t title_id;
    bool install_during_setup;
};
struct setup_rows {
    struct setup_flag *items;
    size_t count, capacity;
};

/* One page's shape. */
struct page {
    size_t row_count;
    bool has_meta; /* false: the endpoint has none; ask until a page is short */
    bool has_next;
    int64_t total; /* "count"; -1 if it does not say */
};

int codec_version(const char *body, size_t length, struct arena *arena, const char **version,
                  struct err *e) MUST_CHECK;
int codec_user(const char *body, size_t length, struct arena *arena, struct fleet_user *out,
               struct err *e) MUST_CHECK;
int codec_teams(const char *body, size_t length, struct arena *arena, struct team_rows *rows,
                struct page *page, struct err *e) MUST_CHECK;
int codec_team(const char *body, size_t length, struct arena *arena, struct fleet_team *out,
               struct err *e) MUST_CHECK;
int codec_labels(const char *body, size_t length, struct arena *arena, struct name_rows *rows,
                 struct err *e) MUST_CHECK;
int codec_titles(const char *body, size_t length, struct arena *arena, struct title_rows *rows,
                 struct page *page, struct err *e) MUST_CHECK;
/* Fills the fields that only details have; those of the list stay as they are, but for an unknown digest. */
int codec_title_details(const char *body, size_t length, struct arena *arena, struct observed_title *title,
                        struct err *e) MUST_CHECK;
int codec_catalogue(const char *body, size_t length, struct arena *arena, struct catalogue_rows *rows,
                    struct page *page, struct err *e) MUST_CHECK;
int codec_catalogue_app(const char *body, size_t length, struct arena *arena, struct catalogue_app *app,
                        struct err *e) MUST_CHECK;
int codec_setup_experience(const char *body, size_t length, struct arena *arena, struct setup_rows *rows,
                           struct page *page, struct err *e) MUST_CHECK;

/* What an upload or a PATCH answers. */
struct package_answer {
    int64_t title_id;              /* 0: the server does not say */
    char sha256[DIGEST_HEX_BYTES]; /* "" if it does not say */
};
int codec_package_answer(const char *body, size_t length, struct package_answer *out,
                         struct err *e) MUST_CHECK;

enum batch_state { BATCH_PROCESSING, BATCH_COMPLETED, BATCH_FAILED };
struct batch_answer {
    enum batch_state state;
    char message[REFUSAL_TEXT_BYTES]; /* redacted */
};
int codec_batch_started(const char *body, size_t length, char id[BATCH_ID_BYTES], struct err *e) MUST_CHECK;
int codec_batch_answer(const char *body, size_t length, struct batch_answer *out, struct err *e) MUST_CHECK;

/* A package as it is to be written: the batch's item, an upload's and a PATCH's form. NULL means "not sent":
 * Fleet's default in a batch and an upload, "keep" in a PATCH. */
struct package_fields {
    const char *sha256;
    const char *url; /* only where the server holds these bytes under this url, else it downloads */
    const char *install_script, *uninstall_script, *post_install_script, *pre_install_query;
    enum tristate self_service;
    bool send_labels; /* LABELS_NONE then clears them */
    enum label_mode label_mode;
    struct string_list labels;
    struct string_list categories; /* sent where is_set */
    const char *display_name;
    enum tristate install_during_setup; /* batch only; absent: keep */
};

int codec_write_batch(const struct package_fields *items, size_t count, struct buf *out,
                      struct err *e) MUST_CHECK;
int codec_write_team(const char *name, struct buf *out, struct err *e) MUST_CHECK;
int codec_write_setup_experience(const char *platform, int64_t team_id, const int64_t *title_ids,
                                 size_t count, struct buf *out, struct err *e) MUST_CHECK;
struct secret_value {
    const char *name;  /* without FLEET_SECRET_ */
    const char *value; /* secret */
};
int codec_write_secrets(const struct secret_value *secrets, size_t count, struct buf *out,
                        struct err *e) MUST_CHECK;

#endif
