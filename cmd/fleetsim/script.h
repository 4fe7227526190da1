/* The script file: faults of the API, and what the package host does at each path. Read whole and checked at
 * start; it lives as long as the servers. Counters inside are guarded by the script's own mutex. */
#ifndef FLEETSIM_SCRIPT_H
#define FLEETSIM_SCRIPT_H

#include "base/err.h"
#include "behaviour.h"
#include "generated.h"
#include <jansson.h>
#include <pthread.h>
#include <stdint.h>

enum fault_kind {
    FAULT_NONE,
    FAULT_STATUS,            /* answered so, not applied */
    FAULT_CLOSE,             /* FIN, not applied */
    FAULT_RESET,             /* RST, not applied */
    FAULT_DELAY,             /* only later */
    FAULT_APPLY_THEN_STATUS, /* applied, answered otherwise */
    FAULT_APPLY_THEN_CLOSE,  /* applied, FIN without an answer */
    FAULT_APPLY_THEN_RESET,  /* applied, RST without an answer */
    FAULT_APPLY_THEN_CUT,    /* applied, the answer ends in its middle */
    FAULT_CORRUPT,           /* the upload is stored with other bytes than were sent */
    FAULT_STUCK,             /* a batch that is accepted and never worked on */
    FAULT_APPLY_THEN_STUCK,  /* a batch that is applied, and stays at processing */
};

struct fault {
    enum fault_kind kind;
    const char *name;   /* of the table */
    const char *method; /* NULL: any */
    const char *path;   /* behind /api/X/fleet, '*' stands for any text */
    const json_t *nth;  /* NULL: each; else a number or a list of numbers */
    json_int_t seen;
    unsigned status;
    const json_t *headers;
    const json_t *body; /* text, or a JSON value */
    const char *content_type;
    int64_t delay_ms;
    bool early; /* answer before the body was read, as proxies do */
    int reused; /* 1: only on a kept connection, 0: only on a fresh one, -1: either */
};

struct package_entry {
    const char *path; /* as in the script */
    const char *file; /* in the packages folder; NULL: generated or none */
    bool is_generated;
    struct generated generated;
    const json_t *etag, *last_modified; /* NULL: the host's own; JSON null: none */
    const char *content_type, *content_disposition;
    struct behaviour *behaviours; /* owned */
    size_t behaviour_count;
    size_t at;       /* the next request's */
    json_int_t used; /* requests that behaviours[at] had */
};

struct script {
    pthread_mutex_t mutex;
    json_t *document; /* owned; what the others point into */
    struct fault *faults;
    size_t fault_count;
    struct package_entry *entries;
    size_t entry_count;
};

/* `path` NULL: an empty script. */
int script_load(struct script *script, const char *path, struct err *e) MUST_CHECK;
void script_done(struct script *script);

/* Counts the request at every fault that matches it; the first one whose turn it is goes to *out (FAULT_NONE
 * if none). `path` is behind /api/X/fleet. */
void script_fault(struct script *script, const char *method, const char *path, bool reused,
                  struct fault *out);
/* The entry of a path, NULL if the script says nothing of it; *behaviour is this request's. */
struct package_entry *script_package(struct script *script, const char *path, struct behaviour *behaviour);

#endif
