/* The words for the model's enumerations, as reports, logs and golden plans have them. */
#include "base/attributes.h"
#include "model/outcome.h"

#define WORD(table, value) ((size_t)(value) < ARRAY_LENGTH(table) ? (table)[(size_t)(value)] : "unknown")

const char *package_state_name(enum package_state state)
{
    static const char *const words[] = {
        [PACKAGE_FETCHED] = "fetched",           [PACKAGE_CACHED] = "cached",
        [PACKAGE_NOT_MODIFIED] = "not-modified", [PACKAGE_CHANGED] = "changed",
        [PACKAGE_UNKNOWN] = "unknown",           [PACKAGE_FAILED] = "failed",
        [PACKAGE_INTERRUPTED] = "interrupted",
    };
    return WORD(words, state);
}

const char *plan_action_name(enum plan_action action)
{
    static const char *const words[PLAN_ACTION_COUNT] = {
        [PLAN_UNCHANGED] = "unchanged", [PLAN_CREATE] = "create",   [PLAN_UPDATE] = "update",
        [PLAN_REMOVE] = "remove",       [PLAN_CHECK] = "check",     [PLAN_KEEP] = "keep",
        [PLAN_WAITING] = "waiting",     [PLAN_BLOCKED] = "blocked",
    };
    return WORD(words, action);
}

const char *plan_reason_name(enum plan_reason reason)
{
    static const char *const words[] = {
        [REASON_NONE] = "none",
        [REASON_UNDECLARED] = "undeclared",
        [REASON_FETCH_FAILED] = "fetch-failed",
        [REASON_REMOVAL_WITHHELD] = "removal-withheld",
        [REASON_TEAM_MISSING] = "team-missing",
        [REASON_LABEL_MISSING] = "label-missing",
        [REASON_TEAM_INVALID] = "team-invalid",
        [REASON_TEAM_UNREADABLE] = "team-unreadable",
        [REASON_NOT_SUPPORTED] = "not-supported",
        [REASON_BYTES_MISSING] = "bytes-missing",
        [REASON_AMBIGUOUS] = "ambiguous",
        [REASON_SECRET_MISSING] = "secret-missing",
    };
    return WORD(words, reason);
}

const char *outcome_kind_name(enum outcome_kind kind)
{
    static const char *const words[OUTCOME_KIND_COUNT] = {
        [OUTCOME_UNCHANGED] = "unchanged", [OUTCOME_CREATED] = "created", [OUTCOME_UPDATED] = "updated",
        [OUTCOME_REMOVED] = "removed",     [OUTCOME_KEPT] = "kept",       [OUTCOME_CHECKED] = "checked",
        [OUTCOME_WAITING] = "waiting",     [OUTCOME_BLOCKED] = "blocked", [OUTCOME_WITHHELD] = "withheld",
        [OUTCOME_FAILED] = "failed",       [OUTCOME_FETCHED] = "fetched",
    };
    return WORD(words, kind);
}
