/* How package hosts misbehave, one row each: what the server does by script, and what must become of the
 * download. Each row names the row of the field reports (A1, B20, C9 …) or the section of an RFC that it
 * stands for. Played row by row in test_fetch_behaviours.c, and mixed at random in test_fetch_mix.c. */
#ifndef TENDER_TESTS_BEHAVIOURS_H
#define TENDER_TESTS_BEHAVIOURS_H

#include "fetch_fixture.h"
#include "scripted_server.h"

enum { BEHAVIOUR_BYTES = 41152 };
/* The package, and what a vendor might put in its place under the same URL. */
extern unsigned char behaviour_package[BEHAVIOUR_BYTES], behaviour_other[BEHAVIOUR_BYTES];
void behaviours_init(void); /* fills them */

/* The host, another host, and one request. */
struct behaviour_scene {
    struct fetch_fixture fixture;
    struct scripted_server *server, *elsewhere;
    struct package_request request;
    struct package result;
    struct err e;
};

struct behaviour {
    const char *name;
    const char *stands_for; /* ids with ", " between them */
    /* What the host does at `path` (NULL: "/a.pkg"), and at further paths; what another host does.
     * "{here}" and "{elsewhere}" in headers, URLs and words are the hosts' addresses. */
    const char *path;
    const struct script_step *steps;
    size_t step_count;
    const struct script_path *more, *elsewhere;
    size_t more_count, elsewhere_count;
    const char *url;                                /* instead of http://{here}path */
    const char *backup;                             /* one backup URL; NULL: none */
    bool is_pinned;                                 /* to behaviour_package */
    int64_t stall_ms;                               /* 0: so long that no busy machine reaches it */
    void (*arrange)(struct behaviour_scene *scene); /* whatever else is different; may be NULL */
    /* What must come of it. */
    enum package_state state;
    size_t requests, requests_elsewhere;
    uint64_t least_bytes,
        most_bytes;          /* body bytes taken; both 0: the package's size if it was fetched, else none */
    size_t partials;         /* files left in the cache's partial/ */
    const char *words;       /* in the error where it fails, else in the log; NULL: not looked at */
    const char *request_has; /* in the last request's head */
    const char *request_lacks;
    const char *file_name;
    uint64_t resumed_from; /* of the last attempt */
    bool is_other;         /* what arrives is behaviour_other */
};

extern const struct behaviour behaviours[];
extern const size_t behaviour_count;

#endif
