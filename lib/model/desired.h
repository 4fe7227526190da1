/* What the repository at one revision wishes: the manifest stage's value. */
#ifndef TENDER_MODEL_DESIRED_H
#define TENDER_MODEL_DESIRED_H

#include "model/rule.h"
#include "model/software.h"

/* Absent: not managed. Null: the key stands there without a value. Given: a list, maybe empty. Null and
 * empty: managed and empty. */
enum list_state { LIST_ABSENT, LIST_NULL, LIST_GIVEN };

struct software_list {
    enum list_state state;
    size_t count;
    struct software_item *items; /* in the file's order */
    const char *empty_pattern;   /* one of `paths` that no file matches, with its place; NULL: none */
};

struct desired_team {
    const char *name;   /* trimmed, NFC */
    struct place place; /* of its name */
    bool is_no_team;    /* "No team" / "Unassigned": team id 0 */
    bool is_invalid;    /* its file, or one that it refers to, has errors: nothing of the team is changed */
    struct software_list packages; /* packages and script packages */
    struct software_list maintained_apps;
    struct software_list app_store_apps;
};

/* One finding in the user's files. */
struct diagnostic {
    enum rule rule;
    enum diagnostic_severity severity; /* the rule's */
    struct place place;
    const char *text;  /* what and why, in one sentence or two */
    const char *trail; /* the files that led there, and who else is concerned; NULL: the place says it */
    const struct place *related; /* all places that name the file; `trail` lists the first ones only */
    size_t related_count;
    const char *advice;  /* what to do next; NULL if the text says it */
    const char *excerpt; /* the source line, what is secret in it hidden; NULL if there is none */
    int caret;           /* the character of the excerpt that the place's column is, from 1 */
};

/* A $FLEET_SECRET_NAME that the scripts use. Its value is secret: never shown. */
struct secret_variable {
    const char *name;  /* without "$FLEET_SECRET_" */
    const char *value; /* from the environment FLEET_SECRET_NAME; NULL: not set (Fleet may know it) */
    struct place used_at;
};

struct desired {
    const char *revision; /* commit id, or "folder D" */
    size_t team_count;
    struct desired_team *teams; /* in file order */
    size_t diagnostic_count;
    struct diagnostic *diagnostics; /* in file order, each once */
    size_t error_count;             /* of them, severity error */
    size_t secret_count;
    struct secret_variable *secrets;
    size_t file_count;      /* files read */
    const char *idle_guard; /* one of tender.yml that is for no team, with its place; NULL: none */
};

#endif
