/* What is to be done: the plan stage's value. Printing it is the dry run. Borrows from desired, observed and
 * memory. */
#ifndef TENDER_MODEL_PLAN_H
#define TENDER_MODEL_PLAN_H

#include "model/desired.h"
#include "model/observed.h"

enum plan_action {
    PLAN_UNCHANGED, /* Fleet has exactly this */
    PLAN_CREATE,    /* the team does not have it yet */
    PLAN_UPDATE,    /* `changed_fields` differ */
    PLAN_REMOVE,    /* undeclared, pruning is on, all guards passed */
    PLAN_CHECK,     /* an unpinned URL whose bytes are not known yet: the fetch will tell */
    PLAN_KEEP,      /* undeclared and kept, or last good kept because the fetch failed */
    PLAN_WAITING,   /* needs a team or a label that Fleet does not have yet */
    PLAN_BLOCKED,   /* can't be done: `reason` says why */
};
enum { PLAN_ACTION_COUNT = 8 };

/* Why an item is kept, waiting, blocked or withheld. Each has a sentence in plan_item.explanation. */
enum plan_reason {
    REASON_NONE,
    REASON_UNDECLARED,       /* keep: pruning is off or the list is not managed */
    REASON_FETCH_FAILED,     /* keep or blocked: the bytes could not be got or verified */
    REASON_REMOVAL_WITHHELD, /* keep: pruning is on, but a guard tripped */
    REASON_TEAM_MISSING,     /* waiting */
    REASON_LABEL_MISSING,    /* waiting */
    REASON_TEAM_INVALID,     /* blocked: the team's files have errors */
    REASON_TEAM_UNREADABLE,  /* blocked: Fleet did not tell what the team has */
    REASON_NOT_SUPPORTED,    /* blocked: maintained and App Store apps, for now */
    REASON_BYTES_MISSING,    /* blocked: only a digest is given and no team in Fleet has these bytes */
    REASON_AMBIGUOUS,        /* blocked: two items of the team are the same title */
    REASON_SECRET_MISSING,   /* blocked: a script uses a secret that nobody gave */
};

struct plan_item {
    enum plan_action action;
    enum plan_reason reason;
    const char *explanation;          /* a sentence for people; "" if the action says it all */
    const char *name;                 /* for people */
    const struct software_item *wish; /* NULL: undeclared */
    const struct observed_title
        *title; /* NULL: the team does not have it, or which one it is is not known yet */
    const struct observed_title
        *likely_title;       /* create: an undeclared title of the team whose URL differs from the wish's in
                                numbers only: worth a try before adding, but no more; NULL: none */
    const char *sha256;      /* the digest that it is to have; NULL: not known yet, or an app */
    unsigned changed_fields; /* set of software_field */
    unsigned assumed_fields; /* left out in the manifest, not known to be Fleet's default, counted as equal */
    bool needs_fetch;        /* its bytes are to be fetched or checked before it can be delivered */
    bool needs_bytes;        /* no team that the token may write has the bytes: they must be uploaded */
};

enum plan_delivery {
    DELIVERY_NONE,         /* nothing differs: no write */
    DELIVERY_WHOLE,        /* one batch call by digest */
    DELIVERY_ITEM_BY_ITEM, /* each changed item by its own call */
};

struct plan_team {
    const struct desired_team *desired;
    const struct observed_team *observed; /* NULL: Fleet does not have the team */
    bool create_team;                     /* it is to be created first */
    enum plan_delivery delivery;
    const char *delivery_reason;   /* why item by item; "" otherwise */
    const char *removals_withheld; /* which guard tripped; "" if none */
    size_t item_count;
    struct plan_item *items; /* declared ones in file order, then undeclared ones in the server's order */
};

struct plan {
    size_t team_count;
    struct plan_team *teams; /* in the order of `desired` */
    size_t counts[PLAN_ACTION_COUNT];
    size_t change_count; /* creates, updates, removals, checks, teams to create */
};

const char *plan_action_name(enum plan_action action); /* "unchanged", "create", … */
const char *plan_reason_name(enum plan_reason reason); /* "undeclared", "fetch-failed", … */

#endif
