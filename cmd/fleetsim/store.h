/* What the simulated server has: one JSON document (state.json) and the packages' bytes (blobs/sha256/).
 *
 * One mutex guards it all: take it around every other call here and as long as a borrowed row is used. A
 * row's reference belongs to the store. Lists: teams, labels, titles, installers, apps (App Store), policies,
 * batches, secrets. An installer has team_id 0 for no team. */
#ifndef FLEETSIM_STORE_H
#define FLEETSIM_STORE_H

#include "base/err.h"
#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>

struct store {
    pthread_mutex_t mutex;
    json_t *state;
    char *folder;
    char *state_path;
};

enum { STORE_BATCHES_KEPT = 100 };

int store_open(struct store *store, const char *folder, bool empty_start, struct err *e) MUST_CHECK;
void store_close(struct store *store);
void store_lock(struct store *store);
void store_unlock(struct store *store);
/* Writes state.json beside the old one and renames it. Failure is said on standard error: the server goes on.
 */
void store_save(struct store *store);

json_t *store_list(struct store *store, const char *name);
/* The next id of a kind, from 1. */
json_int_t store_next_id(struct store *store, const char *kind);

/* NULL where there is none. Team names: the exact one first, then without regard to case. */
json_t *store_team(struct store *store, json_int_t id);
json_t *store_team_named(struct store *store, const char *name);
json_t *store_team_add(struct store *store, const char *name);
json_t *store_label_named(struct store *store, const char *name); /* without regard to case */
json_t *store_label(struct store *store, json_int_t id);
json_t *store_label_add(struct store *store, const char *name);
json_t *store_title(struct store *store, json_int_t id);
/* Finds or makes it. `bundle_identifier` may be "". */
json_t *store_title_of(struct store *store, const char *name, const char *source,
                       const char *bundle_identifier);
json_t *store_installer(struct store *store, json_int_t team_id, json_int_t title_id);
json_t *store_app(struct store *store, json_int_t team_id, json_int_t title_id);
bool store_title_is_used(struct store *store, json_int_t title_id);
/* Removes a row from a list and, for an installer, its bytes if no other one has them. */
void store_remove(struct store *store, const char *list, const json_t *row);
/* The policies of a team that install a title: a new list of {id, name}, or null. */
json_t *store_policies_of(struct store *store, json_int_t team_id, json_int_t title_id);

/* Paths are malloc'ed. */
char *store_blob_path(const struct store *store, const char *sha256);
char *store_temporary_path(struct store *store);
/* Moves a received file to its place. */
int store_blob_keep(struct store *store, const char *temporary, const char *sha256, struct err *e) MUST_CHECK;
/* Removes the bytes if no installer has this digest. */
void store_blob_release(struct store *store, const char *sha256);

enum { TIME_TEXT_BYTES = 40 };
/* Now, as Fleet writes it: whole seconds, or with microseconds. */
const char *time_text(bool with_fraction, char out[TIME_TEXT_BYTES]);

#endif
