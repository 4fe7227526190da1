/* One outcome per item: what happened, what Fleet still has, what to do next, in sentences for people. A
 * plan's outcomes are made first; the writes then change those of their items. */
#include "base/text.h"
#include "base/url.h"
#include "deliver/work.h"
#include <stdio.h>
#include <string.h>

bool action_writes(enum plan_action action)
{
    return action == PLAN_CREATE || action == PLAN_UPDATE || action == PLAN_REMOVE || action == PLAN_CHECK;
}

static enum outcome_kind kind_of(const struct plan_item *item)
{
    bool fetch_failed = item->reason == REASON_FETCH_FAILED;
    switch (item->action) {
    case PLAN_UNCHANGED:
        return OUTCOME_UNCHANGED;
    case PLAN_CREATE:
        return OUTCOME_CREATED;
    case PLAN_UPDATE:
        return OUTCOME_UPDATED;
    case PLAN_REMOVE:
        return OUTCOME_REMOVED;
    case PLAN_CHECK:
        return OUTCOME_CHECKED;
    case PLAN_KEEP:
        return fetch_failed                              ? OUTCOME_FAILED
               : item->reason == REASON_REMOVAL_WITHHELD ? OUTCOME_WITHHELD
                                                         : OUTCOME_KEPT;
    case PLAN_WAITING:
        return OUTCOME_WAITING;
    case PLAN_BLOCKED:
        return fetch_failed ? OUTCOME_FAILED : OUTCOME_BLOCKED;
    }
    return OUTCOME_FAILED;
}

/* What helps depends on how the last attempt ended. */
static const char *advice_of_fetch(const struct package *package)
{
    if (package == NULL)
        return "run again";
    if (package->state == PACKAGE_INTERRUPTED)
        return "run again: what arrived is kept";
    if (strstr(package->err.text, "no disk space") != NULL)
        return "make room on the cache's volume, or name a folder on a larger one with --cache-dir: what "
               "manifests "
               "name is never removed from the cache to make room, only what they no longer name; then run "
               "again";
    if (package->err.class == ERR_SYSTEM)
        return "see what is wrong with the cache's folder, or name another one with --cache-dir, and run "
               "again";
    if (strstr(package->err.text, "upstream changed") != NULL)
        return "see with the vendor what changed; then correct hash_sha256, or the url";
    switch (package->attempt_count == 0 ? 0 : package->attempts[package->attempt_count - 1].status) {
    case 401:
    case 403:
        return "see whether the url still stands, needs credentials (`sources` in tender.yml) or another "
               "user agent; or add backup_urls";
    case 404:
    case 410:
        return "correct the url, or add backup_urls";
    case 200:
    case 206:
        return "see what the url serves; correct it, or add backup_urls";
    default:
        return "run again once the source answers; or add backup_urls";
    }
}

static const char *advice_of(enum plan_reason reason, const struct package *package)
{
    switch (reason) {
    case REASON_TEAM_MISSING:
        return "create the team in Fleet, correct its name in the file, or run with --create-teams";
    case REASON_LABEL_MISSING:
        return "create the label in Fleet, or correct its name in the file";
    case REASON_TEAM_INVALID:
        return "correct the errors that are listed for the team's files";
    case REASON_TEAM_UNREADABLE:
        return "see that the token may read this team's software, and run again";
    case REASON_BYTES_MISSING:
        return "give a url beside the digest, or upload the package to a team in Fleet";
    case REASON_SECRET_MISSING:
        return "set the environment variable FLEET_SECRET_… that the script names";
    case REASON_FETCH_FAILED:
        return advice_of_fetch(package);
    case REASON_NONE:
    case REASON_UNDECLARED:
    case REASON_REMOVAL_WITHHELD:
    case REASON_NOT_SUPPORTED:
    case REASON_AMBIGUOUS:
        break;
    }
    return "";
}

const char *title_text(const struct observed_title *title, struct arena *arena, struct err *e)
{
    if (title == NULL)
        return "";
    const char *version = text_is_empty(title->version) ? "a version without a number" : title->version;
    if (text_is_empty(title->sha256))
        return arena_strdup(arena, version, e);
    return arena_printf(arena, e, "%s (sha256 %.8s…)", version, title->sha256);
}

static const struct package *package_of(const struct plan_item *item, const struct known_package *packages,
                                        size_t count)
{
    for (size_t i = 0; i < count && item->wish != NULL; i++) {
        const struct software_item *other = packages[i].item;
        if (other == item->wish ||
            (other->kind == item->wish->kind && other->kind == SOFTWARE_PACKAGE &&
             text_equal(other->url, item->wish->url) && text_equal(other->sha256, item->wish->sha256)))
            return packages[i].package;
    }
    return NULL;
}

static int shown_url(const struct plan_item *item, struct arena *arena, const char **out, struct err *e)
{
    const char *url = item->wish != NULL ? item->wish->url : item->title != NULL ? item->title->url : NULL;
    char shown[URL_TEXT_BYTES];
    *out = text_is_empty(url) ? "" : arena_strdup(arena, url_redact(url, shown, sizeof shown), e);
    return *out == NULL ? -1 : 0;
}

int outcome_of_plan(const struct plan_team *team, const struct plan_item *item,
                    const struct known_package *packages, size_t package_count, struct arena *arena,
                    struct outcome *out, struct err *e)
{
    const struct software_item *wish = item->wish;
    const struct observed_title *title = item->title;
    const struct package *package = package_of(item, packages, package_count);
    *out = (struct outcome){
        .kind = kind_of(item),
        .team = team->desired->name,
        .name = item->name,
        .software_kind = wish != NULL    ? wish->kind
                         : title != NULL ? title->kind
                                         : SOFTWARE_PACKAGE,
        .package_file = wish != NULL && wish->package_file != NULL ? wish->package_file : "",
        .title_id = title != NULL ? title->title_id : 0,
        .sha256 = item->sha256 != NULL                     ? item->sha256
                  : title != NULL && title->sha256 != NULL ? title->sha256
                                                           : "",
        .version = title != NULL && title->version != NULL ? title->version : "",
        .changed_fields = item->changed_fields,
        .assumed_fields = item->assumed_fields,
        .what = item->explanation != NULL ? item->explanation : "",
        .kept = "",
        .advice = advice_of(item->reason, package),
        .package = package,
    };
    if (wish != NULL)
        out->place = wish->place;
    if (shown_url(item, arena, &out->url, e) < 0)
        return -1;
    bool keeps = title != NULL && !action_writes(item->action) && item->action != PLAN_UNCHANGED;
    out->kept = title_text(keeps ? title : NULL, arena, e);
    return out->kept == NULL ? -1 : 0;
}

int outcomes_of_team(const struct plan_team *team, const struct known_package *packages, size_t package_count,
                     struct arena *arena, struct team_outcome *out, struct err *e)
{
    struct outcome *outcomes = arena_alloc_array(arena, team->item_count, sizeof *outcomes, e);
    if (outcomes == NULL)
        return -1;
    for (size_t i = 0; i < team->item_count; i++)
        if (outcome_of_plan(team, &team->items[i], packages, package_count, arena, &outcomes[i], e) < 0)
            return -1;
    const struct observed_team *observed = team->observed;
    *out = (struct team_outcome){
        .name = team->desired->name,
        .file = team->desired->place.file != NULL ? team->desired->place.file : "",
        .team_id = observed != NULL ? observed->id : -1,
        .delivery = team->delivery,
        .error = observed != NULL && observed->error != NULL ? observed->error : "",
        .removals_withheld = team->removals_withheld != NULL ? team->removals_withheld : "",
        .outcome_count = team->item_count,
        .outcomes = outcomes,
    };
    return 0;
}

/* What the team has for the item now; before we ever read it: what the plan saw. */
static const struct observed_title *current_title(const struct team_delivery *team,
                                                  const struct item_delivery *item)
{
    int64_t id = item->title_id != 0         ? item->title_id
                 : item->plan->title != NULL ? item->plan->title->title_id
                                             : 0;
    const struct observed_title *now = id != 0 ? team_find_title(team, id) : NULL;
    return now != NULL ? now : item->plan->title;
}

int item_failed_because(struct team_delivery *team, struct item_delivery *item, const char *what,
                        const char *advice, struct err *e)
{
    struct arena *arena = team->run->arena;
    item->stage = STAGE_SETTLED;
    item->outcome->kind = OUTCOME_FAILED;
    item->outcome->what = arena_strdup(arena, what, e);
    item->outcome->advice = arena_strdup(arena, advice, e);
    item->outcome->kept = title_text(current_title(team, item), arena, e);
    if (item->outcome->what == NULL || item->outcome->advice == NULL || item->outcome->kept == NULL)
        return -1;
    log_warning(team->run->options->log, "item-failed", "%s: %s: %s", team->plan->desired->name,
                item->outcome->name, what);
    return 0;
}

static const char *advice_for(const struct err *cause)
{
    switch (cause->class) {
    case ERR_NETWORK:
    case ERR_INTERRUPTED:
    case ERR_SYSTEM:
        return "run again: what is done stays done";
    case ERR_UNAUTHORISED:
        return "give the token's user the missing right, and run again";
    case ERR_CONFLICT:
        return "see in Fleet what stands against it, and run again";
    case ERR_NOT_FOUND:
        return "something else changed the team meanwhile; run again";
    case ERR_MANIFEST:
        return "correct the file";
    default:
        return "correct what the server names, in the file or in Fleet, and run again";
    }
}

int item_failed(struct team_delivery *team, struct item_delivery *item, const struct err *cause,
                struct err *e)
{
    return item_failed_because(team, item, cause->text, advice_for(cause), e);
}

int item_withheld(struct team_delivery *team, struct item_delivery *item, const char *what, struct err *e)
{
    struct arena *arena = team->run->arena;
    item->stage = STAGE_SETTLED;
    item->outcome->kind = OUTCOME_WITHHELD;
    item->outcome->what = arena_strdup(arena, what, e);
    item->outcome->kept = title_text(current_title(team, item), arena, e);
    item->outcome->advice = "take away what needs it in Fleet, or declare it in the team's file";
    return item->outcome->what == NULL || item->outcome->kept == NULL ? -1 : 0;
}

int team_fail_pending(struct team_delivery *team, const char *what, const char *advice, struct err *e)
{
    for (size_t i = 0; i < team->item_count; i++)
        if (team->items[i].stage == STAGE_PENDING &&
            item_failed_because(team, &team->items[i], what, advice, e) < 0)
            return -1;
    return 0;
}
