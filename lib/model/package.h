/* A package on its way from a vendor to the cache: what is asked of the fetch stage, and what it answers. */
#ifndef TENDER_MODEL_PACKAGE_H
#define TENDER_MODEL_PACKAGE_H

#include "model/memory.h"

struct package_request {
    const char *name;      /* for people: "firefox.pkg" */
    const char *wanted_by; /* for people: "Workstations, Servers" */
    const char *url;
    struct string_list backup_urls;
    const char *sha256;                       /* pinned digest; NULL: not pinned */
    const struct remembered_validator *known; /* for a conditional request; NULL: nothing is remembered */
    bool known_bytes_are_held; /* a 304 counts: the remembered bytes are in Fleet (or must be in the cache) */
    bool bytes_needed; /* the body must end up in the cache, even where a 304 says that it is the remembered
                          one */
    bool probe_only;   /* ask whether it changed, but read no body (tender plan) */
};

enum package_state {
    PACKAGE_FETCHED,      /* downloaded in this run, verified, in the cache */
    PACKAGE_CACHED,       /* was in the cache, verified */
    PACKAGE_NOT_MODIFIED, /* 304: the remembered digest still holds; no bytes here */
    PACKAGE_CHANGED,      /* probe: the URL has other bytes now, digest unknown */
    PACKAGE_UNKNOWN,      /* probe: can't be told without a body */
    PACKAGE_FAILED,       /* `err` says why */
    PACKAGE_INTERRUPTED,  /* the run was asked to stop; what arrived is kept */
};

/* How far a request came by when, from its start; -1: not so far. On a connection that was open already the
 * first three are 0 (no TLS: -1). */
struct request_times {
    int64_t resolve_ms; /* the name (the proxy's, where there is one) is known */
    int64_t connect_ms; /* TCP is connected */
    int64_t tls_ms;     /* TLS is agreed on */
    int64_t first_byte_ms;
};
#define REQUEST_TIMES_NONE ((struct request_times){-1, -1, -1, -1})

/* One attempt at a download, for the report. */
struct attempt {
    int number; /* 1-based, over all sources */
    int64_t started_wall_ms;
    int64_t duration_ms;
    const char *url;            /* redacted */
    const char *remote_address; /* "" if never connected */
    int status;                 /* HTTP status, 0 if none came */
    uint64_t bytes;             /* body bytes of this attempt */
    uint64_t resumed_from;      /* offset it began at */
    const char *cause;          /* "" if it succeeded; else in plain words */
    int64_t waited_ms;          /* the wait before it */
    struct request_times times; /* of its last request */
};

struct package {
    enum package_state state;
    const char *sha256;    /* NULL unless known */
    const char *path;      /* in the cache; NULL unless fetched or cached */
    const char *file_name; /* RFC 6266, else final URL, else original URL; no folders, no control bytes */
    uint64_t size_bytes;
    uint64_t received_bytes; /* body bytes over all attempts */
    int64_t waited_ms;
    size_t attempt_count;
    struct attempt *attempts;
    struct err err; /* set when failed: what, where, why, what to do next */
};

const char *package_state_name(enum package_state state);

#endif
