/* The kinds of findings in the user's files: a name of each that stays, for programs that group or silence
 * them, and for people who look one up (docs/rules.md). */
#ifndef TENDER_MODEL_RULE_H
#define TENDER_MODEL_RULE_H

enum diagnostic_severity { DIAGNOSTIC_ERROR, DIAGNOSTIC_WARNING };

enum rule {
    /* the document and its keys */
    RULE_YAML,
    RULE_TAG,
    RULE_UNKNOWN_KEY,
    RULE_MISPLACED_KEY,
    RULE_REPEATED_KEY,
    RULE_MERGE_KEY,
    RULE_MISSING_KEY,
    RULE_CONFLICTING_KEYS,
    RULE_INDENTATION,
    RULE_REPEATED_CONTROLS,
    /* values */
    RULE_TYPE,
    RULE_TEXT,
    RULE_BOOLEAN,
    RULE_QUOTED_BOOLEAN,
    RULE_DIGEST,
    RULE_URL,
    RULE_SOURCE,
    RULE_SLUG,
    RULE_PLATFORM,
    RULE_TIME,
    RULE_STORE_ID,
    RULE_REPEATED_LABEL,
    RULE_EMPTY_LABELS,
    RULE_OVERRIDDEN,
    RULE_VARIABLE,
    RULE_SECRET_VARIABLE,
    RULE_ODD_VARIABLE,
    /* files that are referred to */
    RULE_PATH,
    RULE_MISSING_FILE,
    RULE_UNUSABLE_FILE,
    RULE_NESTED_FILE,
    RULE_EMPTY_PATTERN,
    RULE_LINE_ENDS,
    /* a team and its software */
    RULE_MISSING_SCRIPT,
    RULE_REPEATED_SOFTWARE,
    RULE_REPEATED_BACKUP,
    RULE_TEAM_FILE,
    RULE_TEAM_NAME,
    RULE_TEAM_COLLISION,
    RULE_TEAM_FOLDER,
    RULE_NO_TEAMS,
    RULE_UNREAD_FOLDER,
    RULE_TEAM_PATTERN,
    RULE_ORGANISATION_SOFTWARE,
    RULE_ORGANISATION_FILE,
    RULE_SETUP_REFUSED,
    RULE_SETUP_UNKNOWN,
    RULE_SETUP_SEVERAL,
    RULE_SETUP_REPEATED,
    RULE_CONTROLS_FILE,
    /* tender.yml */
    RULE_UNKNOWN_SETTING,
    RULE_SETTING,
    RULE_SETTINGS_FILE,
    RULE_SECOND_SETTINGS_FILE,
    RULE_BACKUP_URLS,
    RULE_UNUSED_SETTING,
    RULE_COUNT
};

const char *rule_name(enum rule rule);        /* "unknown-key" */
const char *rule_description(enum rule rule); /* one sentence */
enum diagnostic_severity rule_severity(enum rule rule);

#endif
