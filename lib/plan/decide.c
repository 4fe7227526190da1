/* One declared package's action, from its match, its digest and its differences. The order of the questions
 * is the order of the functions: can it be told apart, can it be there at all, are its bytes known, what
 * differs, where are the bytes. */
#include "base/text.h"
#include "plan/work.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { PLACE_BYTES = 600 };

static int settle(struct plan_item *item, enum plan_action action, enum plan_reason reason,
                  const char *explanation)
{
    item->action = action;
    item->reason = reason;
    item->explanation = explanation == NULL ? "" : explanation;
    item->needs_fetch = false;
    item->needs_bytes = false;
    return explanation == NULL ? -1 : 0;
}

void decide_all(struct plan_team *team, enum plan_action action, enum plan_reason reason,
                const char *explanation)
{
    for (size_t i = 0; i < team->item_count; i++)
        (void)settle(&team->items[i], action, reason, explanation);
}

static const char *place_text(const struct place *place, char *out, size_t size)
{
    if (place->file == NULL)
        snprintf(out, size, "(nowhere)");
    else if (place->line == 0)
        snprintf(out, size, "%s", place->file);
    else
        snprintf(out, size, "%s:%d", place->file, place->line);
    return out;
}

/* Where an item is described: its package file or script, else its entry in the team's file. */
static const char *origin_text(const struct software_item *wish, bool by_entry, char *out, size_t size)
{
    if (!by_entry && wish->kind == SOFTWARE_SCRIPT_PACKAGE && wish->script.path != NULL)
        snprintf(out, size, "%s", wish->script.path);
    else
        place_text(by_entry ? &wish->place : &wish->origin, out, size);
    return out;
}

static int decide_ambiguous(const struct planner *planner, const struct candidate *candidate, struct err *e)
{
    char own[PLACE_BYTES], other[PLACE_BYTES];
    origin_text(candidate->wish, false, own, sizeof own);
    origin_text(candidate->conflicting->wish, false, other, sizeof other);
    if (strcmp(own, other) == 0) {
        origin_text(candidate->wish, true, own, sizeof own);
        origin_text(candidate->conflicting->wish, true, other, sizeof other);
    }
    const char *title = candidate->title == NULL ? "" : candidate->title->name;
    const char *explanation =
        arena_printf(planner->arena, e,
                     "%s and %s are the same title%s%s%s; a team has one package of a title: remove one", own,
                     other, title[0] == '\0' ? "" : " (“", title, title[0] == '\0' ? "" : "”)");
    return settle(candidate->item, PLAN_BLOCKED, REASON_AMBIGUOUS, explanation);
}

static const char *missing_label(const struct observed *observed, const struct software_item *wish)
{
    for (size_t i = 0; observed->labels.is_set && i < wish->labels.count; i++) {
        bool known = false;
        for (size_t j = 0; !known && j < observed->labels.count; j++)
            known = strcasecmp(observed->labels.items[j], wish->labels.items[i]) == 0;
        if (!known)
            return wish->labels.items[i];
    }
    return NULL;
}

static int decide_missing_label(const struct planner *planner, struct plan_item *item, const char *label,
                                struct err *e)
{
    const struct string_list *labels = &planner->input->observed->labels;
    const char *nearest = text_nearest(label, labels->items, labels->count);
    const char *explanation =
        nearest == NULL
            ? arena_printf(planner->arena, e, "Fleet has no label “%s”", label)
            : arena_printf(planner->arena, e, "Fleet has no label “%s”; did you mean “%s”?", label, nearest);
    return settle(item, PLAN_WAITING, REASON_LABEL_MISSING, explanation);
}

static bool has_unmatched_package(const struct team_work *work)
{
    const struct observed_team *observed = work->team->observed;
    for (size_t i = 0; observed != NULL && i < observed->title_count; i++)
        if (title_is_package(&observed->titles[i]) && !work->claimed[i])
            return true;
    return false;
}

int decide_fetch_failed(const struct planner *planner, const struct team_work *work,
                        struct candidate *candidate, struct err *e)
{
    const struct package *package = candidate->package;
    const char *cause = package == NULL || text_is_empty(package->err.text)
                            ? "the package could not be fetched"
                            : package->err.text;
    if (package != NULL && package->state == PACKAGE_INTERRUPTED)
        cause = "the run was stopped before the package was complete; what arrived is kept";
    const char *explanation = arena_strdup(planner->arena, cause, e);
    bool may_be_there = candidate->title != NULL || has_unmatched_package(work);
    return settle(candidate->item, may_be_there ? PLAN_KEEP : PLAN_BLOCKED, REASON_FETCH_FAILED, explanation);
}

/* An unpinned URL. If what it answered last still holds, are the bytes at hand in Fleet? */
static int decide_check(const struct planner *planner, struct candidate *candidate, struct err *e)
{
    const struct software_item *wish = candidate->wish;
    const struct remembered_validator *last = memory_find_validator(planner->input->memory, wish->url);
    bool changed = candidate->package != NULL && candidate->package->state == PACKAGE_CHANGED;
    const char *explanation = candidate->title == NULL && last == NULL
                                  ? "new, or not known yet: its bytes tell; no digest is pinned"
                              : changed ? "its URL has other bytes than last time; no digest is pinned"
                              : candidate->package != NULL
                                  ? "its URL does not tell whether its bytes changed; no digest is pinned"
                                  : "no digest is pinned; its URL is asked whether the bytes changed";
    if (settle(candidate->item, PLAN_CHECK, REASON_NONE, explanation) < 0)
        return -1;
    if (candidate->title != NULL) {
        struct field_diff diff;
        if (diff_package(planner, candidate, &diff, e) < 0)
            return -1;
        candidate->item->changed_fields = diff.changed;
        candidate->item->assumed_fields = diff.assumed;
        candidate->wants_details = diff.wants_details;
    }
    candidate->item->needs_fetch = true;
    candidate->item->needs_bytes = last == NULL || held_digests_find(&planner->held, last->sha256) == NULL;
    return 0;
}

/* The item is created or gets new bytes: from Fleet itself, from the script in the repository, from the cache
 * or by a fetch. */
static int find_bytes(const struct planner *planner, const struct team_work *work,
                      struct candidate *candidate, struct err *e)
{
    struct plan_item *item = candidate->item;
    if (held_digests_find(&planner->held, candidate->sha256) != NULL)
        return 0;
    item->needs_bytes = true;
    if (candidate->wish->kind == SOFTWARE_SCRIPT_PACKAGE)
        return 0;
    if (text_is_empty(candidate->wish->url))
        return settle(item, PLAN_BLOCKED, REASON_BYTES_MISSING,
                      "only a digest is given, and no team in Fleet that was read has these bytes");
    const struct package *package = candidate->package;
    if (package != NULL && (package->state == PACKAGE_FAILED || package->state == PACKAGE_INTERRUPTED))
        return decide_fetch_failed(planner, work, candidate, e);
    item->needs_fetch = package == NULL || package->path == NULL;
    return 0;
}

static int decide_known(const struct planner *planner, const struct team_work *work,
                        struct candidate *candidate, struct err *e)
{
    struct plan_item *item = candidate->item;
    if (candidate->title == NULL) {
        item->action = PLAN_CREATE;
        return find_bytes(planner, work, candidate, e);
    }
    struct field_diff diff;
    if (diff_package(planner, candidate, &diff, e) < 0)
        return -1;
    item->changed_fields = diff.changed;
    item->assumed_fields = diff.assumed;
    candidate->wants_details = diff.wants_details;
    item->action = diff.changed == 0 ? PLAN_UNCHANGED : PLAN_UPDATE;
    return diff.changed & FIELD_BYTES ? find_bytes(planner, work, candidate, e) : 0;
}

/* No server was asked (tender fetch): the plan is only about bytes. */
static int decide_without_server(const struct planner *planner, const struct team_work *work,
                                 struct candidate *candidate, struct err *e)
{
    const struct package *package = candidate->package;
    if (candidate->wish->kind == SOFTWARE_SCRIPT_PACKAGE)
        return settle(candidate->item, PLAN_UNCHANGED, REASON_NONE, "");
    if (text_is_empty(candidate->wish->url))
        return settle(candidate->item, PLAN_BLOCKED, REASON_BYTES_MISSING,
                      "only a digest is given: there is no URL to fetch it from");
    if (package != NULL && (package->state == PACKAGE_FAILED || package->state == PACKAGE_INTERRUPTED))
        return decide_fetch_failed(planner, work, candidate, e);
    if (package != NULL && package->sha256 != NULL)
        return settle(candidate->item, PLAN_UNCHANGED, REASON_NONE, "");
    if (settle(candidate->item, PLAN_CHECK, REASON_NONE, "to be fetched") < 0)
        return -1;
    candidate->item->needs_fetch = true;
    candidate->item->needs_bytes = true;
    return 0;
}

static int decide_labels_unread(const struct planner *planner, struct plan_item *item, struct err *e)
{
    const char *why = arena_printf(planner->arena, e, "it names labels, and Fleet's could not be read: %s",
                                   planner->input->observed->labels_error);
    return why == NULL ? -1 : settle(item, PLAN_WAITING, REASON_LABEL_MISSING, why);
}

int decide_package(const struct planner *planner, const struct team_work *work, struct candidate *candidate,
                   struct err *e)
{
    candidate->item->explanation = "";
    if (!planner->input->observed->is_read)
        return decide_without_server(planner, work, candidate, e);
    if (candidate->conflicting != NULL)
        return decide_ambiguous(planner, candidate, e);
    if (candidate->app != NULL)
        return settle(candidate->item, PLAN_BLOCKED, REASON_NOT_SUPPORTED,
                      "the team has this title as a Fleet-maintained app; putting a package in its place is "
                      "not supported yet");
    if (candidate->wish->labels.count > 0 && planner->input->observed->labels_error != NULL)
        return decide_labels_unread(planner, candidate->item, e);
    const char *label = missing_label(planner->input->observed, candidate->wish);
    if (label != NULL)
        return decide_missing_label(planner, candidate->item, label, e);
    switch (candidate->bytes) {
    case BYTES_UNKNOWN:
        return decide_check(planner, candidate, e);
    case BYTES_FAILED:
        return decide_fetch_failed(planner, work, candidate, e);
    case BYTES_KNOWN:
        return decide_known(planner, work, candidate, e);
    }
    return 0;
}
