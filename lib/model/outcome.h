/* What became of each item: one record each, from which every report is written. Strings live in the run's
 * arena. */
#ifndef TENDER_MODEL_OUTCOME_H
#define TENDER_MODEL_OUTCOME_H

#include "model/desired.h"
#include "model/package.h"
#include "model/plan.h"

enum outcome_kind {
    OUTCOME_UNCHANGED,
    OUTCOME_CREATED,
    OUTCOME_UPDATED,
    OUTCOME_REMOVED,
    OUTCOME_KEPT,    /* undeclared, kept: no failure */
    OUTCOME_CHECKED, /* plan only: can't be told without reading the body */
    OUTCOME_WAITING,
    OUTCOME_BLOCKED,
    OUTCOME_WITHHELD, /* a removal that a guard stopped */
    OUTCOME_FAILED,   /* the last good state is kept */
    OUTCOME_FETCHED,  /* tender fetch only: verified and in the cache */
};
enum { OUTCOME_KIND_COUNT = 11 };

/* In a dry run the kinds mean "would be": run_report.is_plan tells. */
struct outcome {
    enum outcome_kind kind;
    const char *team;
    const char *name; /* for people */
    enum software_kind software_kind;
    struct place place;       /* where it is declared; nowhere for undeclared software */
    const char *package_file; /* "" if none */
    const char *url;          /* redacted; "" if none */
    int64_t title_id;         /* 0: unknown */
    const char *sha256;       /* "" if unknown */
    const char *version;      /* as Fleet says; "" if unknown */
    unsigned changed_fields;
    unsigned assumed_fields;
    unsigned ignored_fields; /* sent, but the server did not keep them */
    const char *what;        /* what happened, why: a sentence; "" where the kind says it all */
    const char *kept;   /* what Fleet still has: "1.0 (sha256 9634fb7b…)"; "" if nothing or not relevant */
    const char *advice; /* what to do next; "" if nothing */
    const struct package *package; /* attempts, waits, bytes; NULL if nothing was fetched for it */
    uint64_t uploaded_bytes;
};

struct team_outcome {
    const char *name;
    const char *file;
    int64_t team_id; /* -1: not in Fleet */
    enum plan_delivery delivery;
    const char *error;             /* what failed for the team as a whole; "" if nothing */
    const char *removals_withheld; /* "" if none */
    size_t outcome_count;
    struct outcome *outcomes;
};

/* Time spent per kind of API call, so that blame is visible. */
struct call_statistics {
    const char *call; /* "GET /software/titles" */
    size_t count;
    int64_t total_ms;
    int64_t longest_ms;
};

struct run_report {
    const char *command; /* "plan", "apply", … */
    bool is_plan;        /* nothing was written */
    const char *tender_version;
    const char *repository; /* redacted URL or folder */
    const char *revision;
    const char *fleet_url; /* redacted */
    const char *server_version;
    int64_t started_wall_ms;
    int64_t duration_ms;
    bool was_interrupted;
    struct err failure;  /* why nothing could be reconciled; none if it could */
    const char *warning; /* about the run as a whole: "the repository can't be reached; the commit of 3 h ago
                            is used"; "" */
    size_t diagnostic_count;
    const struct diagnostic *diagnostics;
    size_t team_count;
    struct team_outcome *teams;
    size_t counts[OUTCOME_KIND_COUNT];
    size_t call_count;
    const struct call_statistics *calls;
    uint64_t received_bytes, uploaded_bytes;
    int exit_status; /* report_exit_status() */
};

const char *outcome_kind_name(enum outcome_kind kind); /* "unchanged", "created", … */

#endif
