/* A team's whole set, worked on in the background: resolving each item, then replacing all or nothing. */
#ifndef FLEETSIM_BATCH_H
#define FLEETSIM_BATCH_H

#include "download.h"
#include "sim.h"
#include "software.h"

struct batch_job {
    struct sim *sim;
    struct caller caller;
    json_int_t team_id;
    bool dry_run;
    bool stays_processing; /* of the script: applied, and never said */
    char uuid[UUID_BYTES];
    json_t *items; /* owned: as sent, with label names looked up (label_ids_include, label_ids_exclude) */
};

/* Takes over the job and starts its thread, which waits for the store's lock. */
int batch_start(struct batch_job *job, struct err *e) MUST_CHECK;
void batch_job_free(struct batch_job *job);

/* One item, resolved to bytes that are stored or downloaded. Also used to add a single maintained app. */
struct resolved {
    struct package_bytes package;
    struct download download; /* path NULL: the server has the bytes */
    json_t *wish;             /* owned */
    int setup;                /* install_during_setup: 1, 0, -1: as it is */
};

void resolved_done(struct resolved *resolved);
/* Reads or downloads. The store must not be locked. Errors are what the poll shows. */
int batch_resolve(struct sim *sim, const struct caller *caller, const json_t *item, struct resolved *out,
                  struct err *e) MUST_CHECK;
/* Moves downloaded bytes to their place; -1 if bytes that should be there are gone. The store must be locked.
 */
int batch_keep_bytes(struct sim *sim, struct resolved *resolved, struct err *e) MUST_CHECK;

#endif
