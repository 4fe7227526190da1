/* After the commit: what Fleet has now, compared field by field with what was wished. "Completed" is no proof
 * of the bytes, so the digest decides; a field that the server did not keep is reported and remembered, not
 * sent again and again. What is right is told to memory. */
#include "base/text.h"
#include "deliver/work.h"
#include <string.h>

enum { ATTEMPTS = 3 };
static const int64_t waits_ms[ATTEMPTS - 1] = {500, 2000}; /* a read replica may lag behind */

static const struct observed_title *find_sent(const struct team_delivery *team,
                                              const struct item_delivery *item)
{
    if (item->title_id != 0)
        return team_find_title(team, item->title_id);
    for (size_t i = 0; i < team->now->title_count; i++)
        if (team->now->titles[i].kind != SOFTWARE_APP_STORE_APP &&
            text_equal(team->now->titles[i].sha256, item->plan->sha256))
            return &team->now->titles[i];
    return NULL;
}

static const char *wished_digest(const struct item_delivery *item)
{
    if (item->plan->sha256 != NULL)
        return item->plan->sha256;
    return item->plan->title != NULL ? item->plan->title->sha256 : NULL;
}

/* Whether the list shows what was sent: the title with its digest, or its absence. */
static bool list_agrees(const struct team_delivery *team, const struct item_delivery *item)
{
    const struct observed_title *title = find_sent(team, item);
    if (item->plan->action == PLAN_REMOVE)
        return title == NULL;
    return title != NULL && text_equal(title->sha256, wished_digest(item));
}

static int read_until_agreed(struct team_delivery *team, enum item_stage stage, int attempts, bool *agrees,
                             struct err *e)
{
    for (int attempt = 0;; attempt++) {
        *agrees = true;
        if (team_read_list(team, e) < 0)
            return -1;
        for (size_t i = 0; i < team->item_count; i++)
            if (team->items[i].stage == stage && !list_agrees(team, &team->items[i]))
                *agrees = false;
        if (*agrees || attempt + 1 >= attempts)
            return 0;
        if (fleet_wait(team->run->options->fleet, waits_ms[attempt], e) < 0)
            return -1;
    }
}

/* Details of what was sent, read anew whatever is known of them: the list does not show scripts. */
static int read_details(struct team_delivery *team, enum item_stage stage, struct err *e)
{
    struct observed_team *now = team->now;
    bool *wanted = arena_alloc_array(team->run->arena, now->title_count, sizeof *wanted, e);
    bool wants_setup = false;
    if (wanted == NULL)
        return -1;
    for (size_t i = 0; i < team->item_count; i++) {
        const struct item_delivery *item = &team->items[i];
        const struct observed_title *title =
            item->stage == stage && item->plan->action != PLAN_REMOVE ? find_sent(team, item) : NULL;
        if (title == NULL)
            continue;
        wanted[title - now->titles] = true;
        now->titles[title - now->titles].has_details = false;
        wants_setup = wants_setup || item->plan->wish->setup_experience != TRISTATE_ABSENT;
    }
    if (team_read_missing_details(team, wanted, e) < 0)
        return -1;
    return wants_setup ? fleet_read_setup_experience(team->run->options->fleet, now, team->run->arena, e) : 0;
}

/* What the server ignored when the same was wished before, it still ignores. */
static unsigned ignored_before(const struct team_delivery *team, const char *key, const char *fingerprint)
{
    const struct memory *memory = team->run->input->plan_input->memory;
    const struct remembered_item *old = memory != NULL ? memory_find_item(memory, team->team_id, key) : NULL;
    return old != NULL && text_equal(old->wish_fingerprint, fingerprint) ? old->ignored_fields : 0;
}

int remember_item(struct team_delivery *team, const struct plan_item *plan,
                  const struct observed_title *title, unsigned ignored, unsigned defaults, struct err *e)
{
    const struct memory_sink *sink = team->run->options->memory;
    const struct clock *clock = team->run->options->clock;
    char key[8192], wish[DIGEST_HEX_BYTES], row[DIGEST_HEX_BYTES];
    if (sink == NULL || sink->item == NULL)
        return 0;
    if (software_key(plan->wish, key, sizeof key, e) < 0 || software_fingerprint(plan->wish, wish, e) < 0 ||
        observed_row_fingerprint(title, row, e) < 0)
        return -1;
    if (plan->action == PLAN_UNCHANGED)
        ignored |= ignored_before(team, key, wish);
    const struct remembered_item item = {
        .team_id = team->team_id,
        .key = key,
        .title_id = title->title_id,
        .sha256 = title->sha256 != NULL ? title->sha256 : "",
        .wish_fingerprint = wish,
        .row_fingerprint = row,
        .ignored_fields = ignored,
        .assumed_fields = plan->assumed_fields & ~defaults,
        .details_read_wall_ms = clock->wall_ms(clock->context),
    };
    sink->item(sink->context, &item);
    return 0;
}

/* The texts that the server filled in where we left a script out: what its default is for this package. */
static int learn_defaults(struct team_delivery *team, const struct item_delivery *item,
                          const struct observed_title *title, struct err *e)
{
    const struct memory_sink *sink = team->run->options->memory;
    const struct {
        enum software_field field;
        const struct text_file *text;
    } scripts[] = {
        {FIELD_INSTALL_SCRIPT, &title->install_script},
        {FIELD_UNINSTALL_SCRIPT, &title->uninstall_script},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(scripts) && sink != NULL && sink->script_default != NULL; i++) {
        char digest[DIGEST_HEX_BYTES];
        if (!(item->defaults & scripts[i].field) || text_is_empty(scripts[i].text->text) ||
            text_is_empty(title->sha256))
            continue;
        if (digest_bytes(scripts[i].text->text, scripts[i].text->length, digest, e) < 0)
            return -1;
        const struct remembered_default learned = {title->sha256, scripts[i].field, digest};
        sink->script_default(sink->context, &learned);
    }
    return 0;
}

static int settle_removal(struct team_delivery *team, struct item_delivery *item, struct err *e)
{
    const struct delivery *run = team->run;
    const struct memory *memory = run->input->plan_input->memory;
    const struct memory_sink *sink = run->options->memory;
    if (find_sent(team, item) != NULL)
        return item_failed_because(team, item,
                                   "the server said that it is removed, but the team still has it",
                                   "run again; if it stays, remove it in Fleet", e);
    item->stage = STAGE_SETTLED;
    for (size_t i = 0; memory != NULL && i < memory->item_count; i++)
        if (memory->items[i].team_id == team->team_id && memory->items[i].title_id == item->title_id &&
            sink != NULL && sink->forget_item != NULL)
            sink->forget_item(sink->context, team->team_id, memory->items[i].key);
    return 0;
}

/* One sentence about what the server did not keep; "" if it kept all. */
static const char *ignored_text(const struct delivery *run, const struct item_delivery *item,
                                unsigned ignored, unsigned undeliverable, struct err *e)
{
    char fields[256], others[256];
    software_fields_text(ignored & ~undeliverable, fields, sizeof fields);
    software_fields_text(undeliverable, others, sizeof others);
    if (item->setup_error != NULL)
        return arena_printf(run->arena, e, "the set-up experience could not be set: %s", item->setup_error);
    if (ignored & ~undeliverable)
        return arena_printf(run->arena, e,
                            "the server did not keep %s as it was sent (this version may not know it, or a "
                            "name in it)%s%s",
                            fields, undeliverable ? "; not delivered yet: " : "",
                            undeliverable ? others : "");
    return undeliverable ? arena_printf(run->arena, e, "not delivered yet: %s", others) : item->outcome->what;
}

static int settle_change(struct team_delivery *team, struct item_delivery *item, struct err *e)
{
    struct delivery *run = team->run;
    const struct software_item *wish = item->plan->wish;
    const struct observed_title *title = find_sent(team, item);
    if (title == NULL || !text_equal(title->sha256, wished_digest(item)))
        return item_failed_because(team, item,
                                   title == NULL ? "the server took it, but the team does not have it"
                                                 : "the server took it, but has other bytes than were sent",
                                   "see the server's log (its storage may have failed), and run again", e);
    unsigned undeliverable = fields_undeliverable(wish);
    unsigned ignored = fields_differing(wish, title) | undeliverable;
    item->title_id = title->title_id;
    if (learn_defaults(team, item, title, e) < 0)
        return -1;
    struct outcome *outcome = item->outcome;
    item->stage = STAGE_SETTLED;
    outcome->title_id = title->title_id;
    outcome->sha256 = title->sha256;
    outcome->version = title->version;
    outcome->ignored_fields = ignored;
    outcome->assumed_fields = item->plan->assumed_fields & ~item->defaults;
    outcome->what = ignored_text(run, item, ignored, undeliverable, e);
    if (outcome->what == NULL)
        return -1;
    if (item->setup_error != NULL)
        return item_failed_because(team, item, outcome->what, "set it in Fleet, or take it out of the file",
                                   e);
    return remember_item(team, item->plan, title, ignored, item->defaults, e);
}

/* A replacing call must have left the rest of the team alone. */
static int check_unchanged(struct team_delivery *team, struct err *e)
{
    for (size_t i = 0; i < team->item_count; i++) {
        struct item_delivery *item = &team->items[i];
        const struct observed_title *before = item->plan->title;
        if (item->stage != STAGE_SETTLED || before == NULL || before->kind == SOFTWARE_APP_STORE_APP ||
            item->plan->action == PLAN_REMOVE || item->outcome->kind == OUTCOME_FAILED)
            continue;
        const struct observed_title *now = team_find_title(team, before->title_id);
        if (now != NULL)
            continue;
        if (item_failed_because(team, item, "the team had it before the commit and does not have it now",
                                "something else removed it meanwhile; run again", e) < 0)
            return -1;
    }
    return 0;
}

int read_back(struct team_delivery *team, struct err *e)
{
    bool agrees = false;
    if (read_until_agreed(team, STAGE_SENT, ATTEMPTS, &agrees, e) < 0 ||
        read_details(team, STAGE_SENT, e) < 0 || check_unchanged(team, e) < 0)
        return -1;
    for (size_t i = 0; i < team->item_count; i++) {
        struct item_delivery *item = &team->items[i];
        if (item->stage != STAGE_SENT)
            continue;
        if ((item->plan->action == PLAN_REMOVE ? settle_removal(team, item, e)
                                               : settle_change(team, item, e)) < 0)
            return -1;
    }
    return 0;
}

int read_back_is_there(struct team_delivery *team, bool *is_there, struct err *e)
{
    *is_there = false;
    bool agrees = false;
    /* The server works on a batch behind its answer: it may only be about to store it. */
    if (fleet_wait(team->run->options->fleet, waits_ms[0], e) < 0 ||
        read_until_agreed(team, STAGE_PENDING, ATTEMPTS, &agrees, e) < 0)
        return -1;
    if (!agrees)
        return 0;
    if (read_details(team, STAGE_PENDING, e) < 0)
        return -1;
    for (size_t i = 0; i < team->item_count; i++) {
        const struct item_delivery *item = &team->items[i];
        if (item->stage != STAGE_PENDING || item->plan->action == PLAN_REMOVE)
            continue;
        const struct observed_title *title = find_sent(team, item);
        unsigned resets = 0;
        (void)fields_for_batch(item->plan, title, &resets);
        /* Whether a script was reset to the server's default can't be seen. */
        if (title == NULL || resets != 0 ||
            (item->plan->changed_fields & fields_differing(item->plan->wish, title)))
            return 0;
    }
    *is_there = true;
    return 0;
}
