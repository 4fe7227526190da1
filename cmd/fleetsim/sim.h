/* What all parts of the simulated server share, and one request on its way through it. */
#ifndef FLEETSIM_SIM_H
#define FLEETSIM_SIM_H

#include "answer.h"
#include "base/buf.h"
#include "base/err.h"
#include "multipart.h"
#include "options.h"
#include "request_log.h"
#include "script.h"
#include "store.h"
#include <jansson.h>
#include <stdbool.h>

struct sim {
    const struct options *options;
    struct store store;
    struct request_log log;
    struct script script;
    json_t *catalogue; /* owned; NULL: none was given */
    int stopping;      /* atomic: the program ends */
    int workers;       /* atomic: batches that are being worked on */
};

/* Who asks. */
struct caller {
    const char *role;        /* as in the log: admin, teamgitops, …; "bad"; NULL: no token */
    const char *global_role; /* NULL: none */
    const char *team_role;   /* maintainer or gitops, in team_id; NULL: none */
    json_int_t team_id;
};

struct route;

enum { ROUTE_IDS = 2 };

/* One request, whole: its body has been read and decoded when a handler sees it. */
struct request {
    struct sim *sim;
    const struct route *route;
    json_int_t ids[ROUTE_IDS]; /* the numbers in its path */
    const char *word;          /* the text in its path (a batch's uuid) */
    struct caller caller;
    json_t *json;           /* owned; the body of a BODY_JSON route */
    struct multipart *form; /* owned; of a BODY_FORM route */
    struct fault fault;
    const char *(*query)(const struct request *request, const char *key); /* NULL if it was not sent */
    void *connection;                                                     /* of query */
};

/* Waits, but not past the program's end. */
void sim_sleep(struct sim *sim, int64_t ms);
bool sim_stopping(const struct sim *sim);
/* At least this Fleet version ("4.85")? */
bool sim_version_from(const struct sim *sim, int major, int minor);

#endif
