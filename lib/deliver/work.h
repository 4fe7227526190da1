/* What the files of deliver/ share while plans are carried out. Not for other stages.
 *
 * deliver.c    the order of the teams, the end of the run
 * team.c       one team: create, look again, plan again, commit, read back
 * refresh.c    the look before the commit
 * bytes.c      where a digest's bytes are
 * fields.c     an item as the API takes it
 * commit_whole.c commit_items.c removals.c setup_experience.c secrets.c   the writes
 * read_back.c  what Fleet has afterwards, compared
 * outcomes.c   the sentences
 * describe.c   the outcomes of a plan that is not carried out */
#ifndef TENDER_DELIVER_WORK_H
#define TENDER_DELIVER_WORK_H

#include "deliver/deliver.h"
#include "fleet/client.h"

struct delivery;

enum item_stage {
    STAGE_SETTLED, /* its outcome stands */
    STAGE_PENDING, /* to be sent */
    STAGE_SENT,    /* sent; to be read back */
};

struct item_delivery {
    const struct plan_item *plan;
    struct outcome *outcome;
    enum item_stage stage;
    int64_t title_id;  /* 0: not known yet */
    unsigned defaults; /* fields that our write set to the server's default: its text is to be learned */
    bool wants_setup;  /* its set-up experience flag is still to be written */
    const char *setup_error; /* why that failed; NULL if it did not */
};

struct team_delivery {
    struct delivery *run;
    const struct plan_team *plan;
    struct team_outcome *result;
    int64_t team_id;            /* -1: not in Fleet yet */
    const char *api_name;       /* as Fleet has it; NULL: no team */
    size_t index;               /* in the plan */
    struct observed_team *now;  /* as read last; an entry of run->observed */
    struct observed_team basis; /* what the plan was made from */
    struct item_delivery *items;
    size_t item_count;
    bool is_over; /* delivered, or given up */
};

/* A package's bytes in a file here. */
struct local_bytes {
    const char *sha256;
    const char *path;
    const char *file_name;
    uint64_t size_bytes;
};

/* Bytes that the server refused for good, whichever team they are for. */
struct refused_bytes {
    const char *sha256;
    const char *why;
};

struct delivery {
    const struct deliver_options *options;
    const struct deliver_input *input;
    struct arena *arena;
    struct observed observed; /* our own copy of what Fleet has, kept up with what we wrote */
    struct team_delivery *teams;
    size_t team_count;
    struct local_bytes *fetched; /* downloaded from Fleet in this run */
    size_t fetched_count, fetched_capacity;
    struct refused_bytes *refused;
    size_t refused_count, refused_capacity;
    const char *temporary_folder; /* NULL: not made */
    bool secrets_are_sent;
    const char *secrets_error; /* NULL: none */
};

/* Whether `e` ends the run (out of memory, 401) or the rest of the team's work (a stop), rather than one
 * item. */
bool delivery_is_fatal(const struct delivery *run, const struct err *e);
/* Why nothing more may be sent: a stop, the deadline, a 401; NULL while all is well. */
const char *delivery_stop_reason(const struct delivery *run);
int64_t delivery_now_ms(const struct delivery *run);

/* outcomes.c. -1 only for lack of memory. */
int outcome_of_plan(const struct plan_team *team, const struct plan_item *item,
                    const struct known_package *packages, size_t package_count, struct arena *arena,
                    struct outcome *out, struct err *e) MUST_CHECK;
int outcomes_of_team(const struct plan_team *team, const struct known_package *packages, size_t package_count,
                     struct arena *arena, struct team_outcome *out, struct err *e) MUST_CHECK;
int item_failed(struct team_delivery *team, struct item_delivery *item, const struct err *cause,
                struct err *e) MUST_CHECK;
int item_failed_because(struct team_delivery *team, struct item_delivery *item, const char *what,
                        const char *advice, struct err *e) MUST_CHECK;
int item_withheld(struct team_delivery *team, struct item_delivery *item, const char *what,
                  struct err *e) MUST_CHECK;
/* All pending ones. */
int team_fail_pending(struct team_delivery *team, const char *what, const char *advice,
                      struct err *e) MUST_CHECK;
/* "1.0 (sha256 9634fb7b…)"; "" if `title` is NULL. NULL when out of memory. */
const char *title_text(const struct observed_title *title, struct arena *arena, struct err *e) MUST_CHECK;

/* bytes.c */
/* Which title these bytes are, by a team that has them; 0: unknown. */
int64_t bytes_title(const struct delivery *run, const char *sha256);
const struct local_bytes *bytes_local(struct delivery *run, const struct plan_item *item,
                                      struct local_bytes *out);
/* Makes sure that the bytes are in a file here: from the cache, or out of Fleet. */
int bytes_ensure_local(struct delivery *run, const struct plan_item *item, struct local_bytes *out,
                       struct err *e) MUST_CHECK;
/* Keeps a copy of bytes that this team is about to drop, no other team has, and a later team wants. */
int bytes_save_endangered(struct team_delivery *team, struct err *e) MUST_CHECK;
const char *bytes_refusal(const struct delivery *run, const char *sha256);
int bytes_note_refusal(struct delivery *run, const char *sha256, const char *why, struct err *e) MUST_CHECK;

/* fields.c */
/* All fields as wished; what the manifest leaves out as NULL: Fleet's default. `defaults` gets those whose
 * default the server makes up. */
struct package_fields fields_wished(const struct plan_item *item, unsigned *defaults);
/* For an edit: only `changed`; a script that is left out as "". */
struct package_fields fields_changed(const struct plan_item *item, unsigned changed, unsigned *defaults);
/* For the batch: a title that stays, with all that it has. */
struct package_fields fields_carried_over(const struct observed_title *title);
/* For the batch: a declared item; what does not change is sent as Fleet has it. */
struct package_fields fields_for_batch(const struct plan_item *item, const struct observed_title *title,
                                       unsigned *defaults);
/* Which fields of the title differ from what is wished. Scripts that are left out count only if in
 * `defaults`: then nothing is known against them, else they are not looked at. */
unsigned fields_differing(const struct software_item *wish, const struct observed_title *title);
/* Fields that this version can't bring to Fleet. */
unsigned fields_undeliverable(const struct software_item *wish);
bool fields_use_secrets(const struct software_item *wish);

/* refresh.c */
/* Reads the team's list; details that still hold are taken over from what was read before. */
int team_read_list(struct team_delivery *team, struct err *e) MUST_CHECK;
int team_read_missing_details(struct team_delivery *team, const bool *wanted, struct err *e) MUST_CHECK;
const struct observed_title *team_find_title(const struct team_delivery *team, int64_t title_id);
/* Looks once more; plans the team again where its list changed under us. */
int team_look_again(struct team_delivery *team, struct err *e) MUST_CHECK;
/* Builds the items and outcomes anew from team->plan. */
int team_set_plan(struct team_delivery *team, const struct plan_team *plan, struct err *e) MUST_CHECK;

/* team.c */
int team_deliver(struct team_delivery *team, struct err *e) MUST_CHECK;

/* The writes. -1 only for what delivery_is_fatal() or a stop; items carry their own failures. */
enum whole_result { WHOLE_DONE, WHOLE_REFUSED };
int commit_whole(struct team_delivery *team, enum whole_result *result, struct err *e) MUST_CHECK;
int commit_items(struct team_delivery *team, struct err *e) MUST_CHECK;
/* One item by its own call. Its failure is its own. */
int commit_item(struct team_delivery *team, struct item_delivery *item, struct err *e) MUST_CHECK;
int commit_setup_flags(struct team_delivery *team, struct err *e) MUST_CHECK;
/* Looks afresh at what is to be removed; what is in use, or may be a declared item, is withheld. */
int removals_check(struct team_delivery *team, struct err *e) MUST_CHECK;
int removals_commit(struct team_delivery *team, struct err *e) MUST_CHECK;
/* Sends the secret variables once, if the item's scripts use any. *failed: they could not be, and the item is
 * settled. */
int secrets_prepare(struct team_delivery *team, struct item_delivery *item, bool *failed,
                    struct err *e) MUST_CHECK;

/* read_back.c */
int read_back(struct team_delivery *team, struct err *e) MUST_CHECK;
/* Whether all that is pending is in Fleet already (a batch whose answer was lost). */
int read_back_is_there(struct team_delivery *team, bool *is_there, struct err *e) MUST_CHECK;
/* Tells memory about an item that is as wished. */
int remember_item(struct team_delivery *team, const struct plan_item *plan,
                  const struct observed_title *title, unsigned ignored, unsigned defaults,
                  struct err *e) MUST_CHECK;

bool action_writes(enum plan_action action);

#endif
