/* What Fleet has: the fleet stage's value. Strings live in the arena that the reader was given. */
#ifndef TENDER_MODEL_OBSERVED_H
#define TENDER_MODEL_OBSERVED_H

#include "model/software.h"
#include <stdint.h>

struct observed_title {
    /* from the team's list (GET /software/titles) */
    int64_t title_id;
    enum software_kind kind;
    const char *name;
    const char *source; /* "deb_packages", … */
    const char *version;
    const char *platform;
    const char *file_name; /* software_package.name */
    const char *sha256;    /* NULL if the server does not say */
    const char *url;       /* "" where uploaded */
    bool self_service;
    int64_t maintained_app_id;   /* 0: none */
    const char *app_store_id;    /* NULL: none */
    struct string_list policies; /* names of those that install it */

    /* from the maintained apps' catalogue, where it was read */
    const char *slug;              /* NULL: unknown */
    const char *catalogue_version; /* NULL: unknown */

    /* from the title's details (GET /software/titles/{id}), where they were read */
    bool has_details;
    int64_t installer_id;
    struct text_file install_script, uninstall_script, post_install_script,
        pre_install_query; /* path is NULL; text "" if empty */
    enum label_mode label_mode;
    struct string_list labels; /* names */
    struct string_list categories;
    const char *display_name; /* NULL: the server does not tell, "" if none */

    enum tristate install_during_setup; /* absent: not looked up */
};

struct observed_team {
    int64_t id; /* 0: no team */
    const char *name;
    const char *error; /* why its software could not be read; NULL if it was */
    size_t title_count;
    struct observed_title *titles;
    /* Rows of its list that are neither a package nor an app: maybe software that this version does not
     * understand, so no call that replaces the team's set may be sent. */
    size_t unclear_count;
    const char
        *setup_error; /* why its set-up experience could not be looked up; NULL: it was, or was not asked */
};

struct observed {
    const char *server_version; /* "" if unknown */
    const char *role;           /* the token's global role, "" if it has roles in teams only */
    bool is_read;               /* false: no server was asked (show, validate, fetch) */
    size_t team_count;
    struct observed_team *teams; /* those that /teams named, and no team */
    struct string_list labels;   /* not set: not read */
    const char *labels_error;    /* why; NULL if they were read */
};

/* The row of the list as one digest: differs if anything in the list about this title changed. */
int observed_row_fingerprint(const struct observed_title *title, char hex[DIGEST_HEX_BYTES],
                             struct err *e) MUST_CHECK;

#endif
