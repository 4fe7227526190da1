/* The end of a run: what became of the items is counted, and the exit status follows from it. */
#include "base/text.h"
#include "report/report.h"
#include <string.h>

int report_exit_status_of(const struct err *e)
{
    switch (e->class) {
    case ERR_NONE:
        return EXIT_STATUS_DONE;
    case ERR_USAGE:
        return EXIT_STATUS_USAGE;
    case ERR_MANIFEST:
        return EXIT_STATUS_MANIFESTS;
    case ERR_UNAUTHORISED:
        return EXIT_STATUS_UNAUTHORISED;
    case ERR_LOCKED:
        return EXIT_STATUS_LOCKED;
    case ERR_MEMORY:
    case ERR_SYSTEM:
    case ERR_CONFIG:
    case ERR_REPOSITORY:
    case ERR_NETWORK:
    case ERR_SERVER:
    case ERR_NOT_FOUND:
    case ERR_CONFLICT:
    case ERR_INTERRUPTED:
        return EXIT_STATUS_FAILED;
    }
    return EXIT_STATUS_FAILED;
}

static size_t count_errors(const struct run_report *report, const char *file)
{
    size_t count = 0;
    for (size_t i = 0; i < report->diagnostic_count; i++)
        if (report->diagnostics[i].severity == DIAGNOSTIC_ERROR &&
            (file == NULL || text_equal(report->diagnostics[i].place.file, file)))
            count++;
    return count;
}

/* A team ran if something of it could be judged; one without any software, if its own file has no error. */
static bool team_ran(const struct run_report *report, const struct team_outcome *team)
{
    for (size_t i = 0; i < team->outcome_count; i++)
        if (team->outcomes[i].kind != OUTCOME_BLOCKED)
            return true;
    return team->outcome_count == 0 && count_errors(report, team->file == NULL ? "" : team->file) == 0;
}

static bool any_team_ran(const struct run_report *report)
{
    for (size_t i = 0; i < report->team_count; i++)
        if (team_ran(report, &report->teams[i]))
            return true;
    return false;
}

/* A warning about the run as a whole (an old commit was used) is a partial success too. */
static bool is_partial(const struct run_report *report)
{
    if (!text_is_empty(report->warning))
        return true;
    static const enum outcome_kind troubles[] = {OUTCOME_FAILED, OUTCOME_WAITING, OUTCOME_BLOCKED,
                                                 OUTCOME_WITHHELD};
    for (size_t i = 0; i < ARRAY_LENGTH(troubles); i++)
        if (report->counts[troubles[i]] > 0)
            return true;
    for (size_t i = 0; i < report->team_count; i++)
        if (!text_is_empty(report->teams[i].error) || !text_is_empty(report->teams[i].removals_withheld))
            return true;
    return report->was_interrupted || count_errors(report, NULL) > 0;
}

static bool has_changes(const struct run_report *report)
{
    for (size_t i = 0; i < report->team_count; i++)
        if (report->teams[i].delivery != DELIVERY_NONE)
            return true;
    return report->counts[OUTCOME_CREATED] + report->counts[OUTCOME_UPDATED] +
               report->counts[OUTCOME_REMOVED] + report->counts[OUTCOME_CHECKED] >
           0;
}

static int exit_status(const struct run_report *report, bool detailed)
{
    if (err_is_set(&report->failure))
        return report_exit_status_of(&report->failure);
    if (count_errors(report, NULL) > 0 && !any_team_ran(report))
        return EXIT_STATUS_MANIFESTS;
    if (is_partial(report))
        return EXIT_STATUS_PARTIAL;
    return detailed && report->is_plan && has_changes(report) ? EXIT_STATUS_CHANGES : EXIT_STATUS_DONE;
}

void report_finish(struct run_report *report, bool detailed)
{
    memset(report->counts, 0, sizeof report->counts);
    for (size_t i = 0; i < report->team_count; i++)
        for (size_t j = 0; j < report->teams[i].outcome_count; j++)
            report->counts[report->teams[i].outcomes[j].kind]++;
    report->exit_status = exit_status(report, detailed);
}
