/* The team as a whole: what Fleet lacks is uploaded, then one batch call names every title that the team will
 * have, by digest, so that the server downloads nothing. The call replaces the team's set: what stays must be
 * in it, with all that it has. Where the batch is refused the caller goes on item by item. */
#include "base/text.h"
#include "deliver/work.h"
#include <string.h>

enum {
    FIRST_POLL_MS = 100,
    LONGEST_POLL_MS = 5000,
    STUCK_AFTER_MS = 30 * 1000, /* a batch of digests alone takes about a second */
};

static bool is_pending(const struct item_delivery *item)
{
    return item->stage == STAGE_PENDING;
}

/* Whether a batch is still needed once the uploads are done. */
static bool is_batch_needed(const struct team_delivery *team)
{
    for (size_t i = 0; i < team->item_count; i++)
        if (is_pending(&team->items[i]) || (team->items[i].stage == STAGE_SENT && team->items[i].wants_setup))
            return true;
    return false;
}

static int upload_missing(struct team_delivery *team, struct err *e)
{
    for (size_t i = 0; i < team->item_count; i++) {
        struct item_delivery *item = &team->items[i];
        const struct plan_item *plan = item->plan;
        bool needs_bytes = is_pending(item) && plan->action != PLAN_REMOVE &&
                           (plan->action == PLAN_CREATE || (plan->changed_fields & FIELD_BYTES)) &&
                           bytes_title(team->run, plan->sha256) == 0;
        if (needs_bytes && commit_item(team, item, e) < 0)
            return -1;
    }
    return 0;
}

static int prepare_secrets(struct team_delivery *team, struct err *e)
{
    bool failed;
    for (size_t i = 0; i < team->item_count; i++)
        if (is_pending(&team->items[i]) && secrets_prepare(team, &team->items[i], &failed, e) < 0)
            return -1;
    return 0;
}

/* The batch under construction. */
struct batch {
    struct package_fields *items;
    size_t count;
    const char *obstacle; /* why it can't be sent; NULL if it can */
};

static bool is_in(const struct batch *batch, const char *sha256)
{
    for (size_t i = 0; i < batch->count; i++)
        if (text_equal(batch->items[i].sha256, sha256))
            return true;
    return false;
}

static void add(struct team_delivery *team, struct batch *batch, struct package_fields fields)
{
    if (text_is_empty(fields.sha256))
        batch->obstacle = "Fleet does not tell the digest of a title that stays";
    else if (bytes_title(team->run, fields.sha256) == 0)
        batch->obstacle = "no team in Fleet has the bytes of an item";
    else if (is_in(batch, fields.sha256))
        batch->obstacle = "two titles have the same digest";
    else
        batch->items[batch->count++] = fields;
}

/* The item that stands for a title of the team and is to be as it wishes; NULL: the title stays as it is. */
static struct item_delivery *item_of(const struct team_delivery *team, const struct observed_title *title)
{
    for (size_t i = 0; i < team->item_count; i++) {
        struct item_delivery *item = &team->items[i];
        bool counts = is_pending(item) || item->stage == STAGE_SENT || item->plan->action == PLAN_UNCHANGED;
        if (counts && item->title_id == title->title_id && (item->plan->wish != NULL || is_pending(item)))
            return item;
    }
    return NULL;
}

static void add_title(struct team_delivery *team, struct batch *batch, const struct observed_title *title)
{
    const struct item_delivery *item = item_of(team, title);
    unsigned ignored = 0;
    if (title->kind == SOFTWARE_APP_STORE_APP)
        return; /* they have a call of their own */
    if (title->kind == SOFTWARE_MAINTAINED_APP)
        batch->obstacle = "the team has Fleet-maintained apps";
    else if (!title->has_details)
        batch->obstacle = "the details of a title that stays are not known";
    else if (item == NULL || item->plan->action == PLAN_UNCHANGED)
        add(team, batch, fields_carried_over(title));
    else if (item->plan->action != PLAN_REMOVE)
        add(team, batch, fields_for_batch(item->plan, title, &ignored));
}

/* Every title that the team has and keeps, then what is new in it. */
static int build(struct team_delivery *team, struct batch *batch, struct err *e)
{
    batch->items = arena_alloc_array(team->run->arena, team->now->title_count + team->item_count,
                                     sizeof *batch->items, e);
    if (batch->items == NULL)
        return -1;
    for (size_t i = 0; i < team->now->title_count; i++)
        add_title(team, batch, &team->now->titles[i]);
    for (size_t i = 0; i < team->item_count; i++) {
        const struct item_delivery *item = &team->items[i];
        unsigned ignored = 0;
        if (item->plan->wish == NULL ||
            (item->title_id != 0 && team_find_title(team, item->title_id) != NULL))
            continue;
        if (is_pending(item) || item->stage == STAGE_SENT)
            add(team, batch, fields_wished(item->plan, &ignored));
    }
    return 0;
}

/* Details of all that stays: hand-made fields must not be lost by a call that replaces everything. */
static int read_all_details(struct team_delivery *team, struct err *e)
{
    bool *wanted = arena_alloc_array(team->run->arena, team->now->title_count, sizeof *wanted, e);
    if (wanted == NULL)
        return -1;
    for (size_t i = 0; i < team->now->title_count; i++)
        wanted[i] = true;
    return team_read_missing_details(team, wanted, e);
}

static void mark_sent(struct team_delivery *team)
{
    for (size_t i = 0; i < team->item_count; i++) {
        struct item_delivery *item = &team->items[i];
        item->wants_setup = false;
        if (!is_pending(item))
            continue;
        item->stage = STAGE_SENT;
        if (item->plan->action == PLAN_REMOVE)
            continue;
        const struct observed_title *title =
            item->title_id != 0 ? team_find_title(team, item->title_id) : NULL;
        (void)fields_for_batch(item->plan, title, &item->defaults);
    }
}

enum poll_result { POLL_COMPLETED, POLL_FAILED, POLL_LOST };

/* Asks how the batch stands, less and less often. Lost: the server does not know it any more, can't be asked,
 * or it does not move. */
static int poll(struct team_delivery *team, const char *id, enum poll_result *result,
                struct batch_answer *answer, struct err *e)
{
    struct delivery *run = team->run;
    int64_t limit = run->options->settings->limits.batch_timeout_ms;
    if (limit <= 0 || limit > STUCK_AFTER_MS)
        limit = STUCK_AFTER_MS;
    int64_t until = delivery_now_ms(run) + limit;
    *result = POLL_LOST;
    for (int64_t wait = FIRST_POLL_MS; delivery_now_ms(run) < until;
         wait = wait * 2 < LONGEST_POLL_MS ? wait * 2 : LONGEST_POLL_MS) {
        struct err trouble;
        err_init(&trouble);
        if (fleet_wait(run->options->fleet, wait, e) < 0)
            return -1;
        if (fleet_get_batch(run->options->fleet, team->api_name, id, answer, &trouble) < 0) {
            log_warning(run->options->log, "batch", "%s: %s", team->plan->desired->name, trouble.text);
            return delivery_is_fatal(run, &trouble) ? err_set(e, trouble.class, "%s", trouble.text) : 0;
        }
        if (answer->state == BATCH_PROCESSING)
            continue;
        *result = answer->state == BATCH_COMPLETED ? POLL_COMPLETED : POLL_FAILED;
        return 0;
    }
    return 0;
}

/* One sending of the batch. POLL_LOST also where the answer to the call itself was lost. */
static int send_batch(struct team_delivery *team, const struct batch *batch, enum poll_result *result,
                      struct batch_answer *answer, struct err *e)
{
    struct delivery *run = team->run;
    char id[BATCH_ID_BYTES];
    struct err trouble;
    err_init(&trouble);
    log_info(run->options->log, "commit", "%s: setting its packages by digest (%zu)",
             team->plan->desired->name, batch->count);
    if (fleet_start_batch(run->options->fleet, team->api_name, batch->items, batch->count, id, &trouble) == 0)
        return poll(team, id, result, answer, e);
    if (delivery_is_fatal(run, &trouble))
        return err_set(e, trouble.class, "%s", trouble.text);
    *result = trouble.class == ERR_NETWORK ? POLL_LOST : POLL_FAILED;
    text_first_line(trouble.text, strlen(trouble.text), answer->message, sizeof answer->message);
    return 0;
}

/* Sent; where it got lost the team is looked at, and it is sent once more if it is not there. */
static int send_until_known(struct team_delivery *team, const struct batch *batch, enum whole_result *result,
                            struct err *e)
{
    struct delivery *run = team->run;
    struct batch_answer answer = {.state = BATCH_PROCESSING};
    enum poll_result polled = POLL_LOST;
    for (int attempt = 0; attempt < 2; attempt++) {
        bool is_there = false;
        if (send_batch(team, batch, &polled, &answer, e) < 0)
            return -1;
        if (polled == POLL_LOST && read_back_is_there(team, &is_there, e) < 0)
            return -1;
        if (is_there || polled == POLL_COMPLETED) {
            mark_sent(team);
            *result = WHOLE_DONE;
            return 0;
        }
        if (polled == POLL_FAILED) {
            log_warning(run->options->log, "batch-refused",
                        "%s: the batch was refused, so each item is sent by itself: %s",
                        team->plan->desired->name, answer.message);
            *result = WHOLE_REFUSED;
            return 0;
        }
    }
    /* It may still be working on it: to write anything else now could be undone by it. */
    *result = WHOLE_DONE;
    return team_fail_pending(
        team,
        "the server took the team's batch, but did not say in time that it is done; it may "
        "still be working on it",
        "run again in a few minutes: what is done by then stays done", e);
}

int commit_whole(struct team_delivery *team, enum whole_result *result, struct err *e)
{
    struct delivery *run = team->run;
    struct batch batch = {.items = NULL};
    *result = WHOLE_DONE;
    if (read_all_details(team, e) < 0 || upload_missing(team, e) < 0)
        return -1;
    if (!is_batch_needed(team))
        return 0;
    if (removals_check(team, e) < 0 || prepare_secrets(team, e) < 0)
        return -1;
    if (!is_batch_needed(team))
        return 0;
    const char *stop = delivery_stop_reason(run);
    if (stop != NULL)
        return team_fail_pending(team, stop, "run again: what is done stays done", e);
    /* What was uploaded is in the list now, and its digest can be named. */
    if (team_read_list(team, e) < 0 || read_all_details(team, e) < 0 || build(team, &batch, e) < 0)
        return -1;
    if (batch.obstacle != NULL) {
        log_info(run->options->log, "item-by-item", "%s: each item is sent by itself: %s",
                 team->plan->desired->name, batch.obstacle);
        *result = WHOLE_REFUSED;
        return 0;
    }
    return send_until_known(team, &batch, result, e);
}
