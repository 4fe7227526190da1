/* Carries out a plan: the teams one after the other, in an order in which no team drops bytes that a later
 * one wants from Fleet. One team's failure is its own; only a refused token or lack of memory ends the run.
 */
#include "base/files.h"
#include "base/text.h"
#include "deliver/work.h"
#include <string.h>

int64_t delivery_now_ms(const struct delivery *run)
{
    return run->options->clock->monotonic_ms(run->options->clock->context);
}

bool delivery_is_fatal(const struct delivery *run, const struct err *e)
{
    return e->class == ERR_MEMORY || e->class == ERR_INTERRUPTED || fleet_is_locked_out(run->options->fleet);
}

const char *delivery_stop_reason(const struct delivery *run)
{
    if (fleet_is_locked_out(run->options->fleet))
        return "not tried: the server no longer accepts the API token";
    if (loop_stop_requested(run->options->loop) != LOOP_GO_ON)
        return "not tried: the run was stopped by a signal";
    if (run->options->deadline_monotonic_ms > 0 &&
        delivery_now_ms(run) >= run->options->deadline_monotonic_ms)
        return "not tried: the run's deadline has passed";
    return NULL;
}

/* A copy of what Fleet has, with room for the teams that are created. */
static int copy_observed(struct delivery *run, struct err *e)
{
    const struct observed *source = run->input->plan_input->observed;
    run->observed = *source;
    run->observed.teams =
        arena_alloc_array(run->arena, source->team_count + run->team_count, sizeof *run->observed.teams, e);
    if (run->observed.teams == NULL)
        return -1;
    if (source->team_count > 0)
        memcpy(run->observed.teams, source->teams, source->team_count * sizeof *source->teams);
    return 0;
}

static void start_team(struct delivery *run, size_t index)
{
    struct team_delivery *team = &run->teams[index];
    const struct plan_team *plan = &run->input->plan->teams[index];
    *team = (struct team_delivery){.run = run, .index = index, .result = NULL, .team_id = -1, .plan = plan};
    if (plan->observed != NULL) {
        size_t at = (size_t)(plan->observed - run->input->plan_input->observed->teams);
        team->now = &run->observed.teams[at];
        team->team_id = plan->observed->id;
        team->api_name = plan->observed->id == 0 ? NULL : plan->observed->name;
    }
}

/* Bytes that the team gives up by its commit: digests it has now and will not have. */
static bool drops(const struct team_delivery *team, const char *sha256)
{
    bool has = false;
    for (size_t i = 0; team->now != NULL && i < team->now->title_count; i++)
        has = has || text_equal(team->now->titles[i].sha256, sha256);
    for (size_t i = 0; i < team->item_count && has; i++) {
        const struct plan_item *item = team->items[i].plan;
        if (item->action != PLAN_REMOVE && text_equal(item->sha256, sha256))
            return false;
    }
    return has;
}

/* Whether another team, not yet delivered, takes bytes that this one drops. */
static bool is_needed_first(const struct delivery *run, const struct team_delivery *team)
{
    for (size_t i = 0; i < run->team_count; i++) {
        const struct team_delivery *other = &run->teams[i];
        for (size_t k = 0; k < other->item_count && other != team && !other->is_over; k++) {
            const struct item_delivery *item = &other->items[k];
            bool takes = item->stage == STAGE_PENDING && item->plan->sha256 != NULL &&
                         item->plan->action != PLAN_REMOVE && !item->plan->needs_bytes;
            if (takes && drops(team, item->plan->sha256) && !drops(other, item->plan->sha256))
                return true;
        }
    }
    return false;
}

static bool changes_something(const struct team_delivery *team)
{
    for (size_t i = 0; i < team->item_count; i++)
        if (team->items[i].stage == STAGE_PENDING)
            return true;
    return team->plan->create_team;
}

/* The next team: the first whose bytes nobody else waits for; in a circle the first of all. */
static struct team_delivery *next_team(struct delivery *run)
{
    struct team_delivery *first = NULL;
    for (size_t i = 0; i < run->team_count; i++) {
        struct team_delivery *team = &run->teams[i];
        if (team->is_over)
            continue;
        if (!changes_something(team) || !is_needed_first(run, team))
            return team;
        first = first == NULL ? team : first;
    }
    return first;
}

/* What a team's delivery was ended by: a stop or a 401 leaves the rest of its items failed, with that reason.
 */
static int end_team(struct team_delivery *team, const struct err *cause, struct err *e)
{
    const char *what =
        cause->class == ERR_INTERRUPTED ? "stopped by a signal before it was done" : cause->text;
    team->result->error = arena_strdup(team->run->arena, cause->text, e);
    if (team->result->error == NULL)
        return -1;
    for (size_t i = 0; i < team->item_count; i++)
        if (team->items[i].stage != STAGE_SETTLED &&
            item_failed_because(team, &team->items[i], what, "run again: what is done stays done", e) < 0)
            return -1;
    return 0;
}

static int deliver_one(struct team_delivery *team, struct err *fatal, struct err *e)
{
    struct delivery *run = team->run;
    const char *stop = delivery_stop_reason(run);
    team->is_over = true;
    if (stop != NULL)
        return team_fail_pending(team, stop, "run again: what is done stays done", e);
    struct err trouble;
    err_init(&trouble);
    if (team_deliver(team, &trouble) == 0)
        return 0;
    if (trouble.class == ERR_MEMORY)
        return err_set(e, trouble.class, "%s", trouble.text);
    if (fleet_is_locked_out(run->options->fleet) && !err_is_set(fatal))
        err_fill(fatal, ERR_UNAUTHORISED, "%s", trouble.text);
    return end_team(team, &trouble, e);
}

static int run_teams(struct delivery *run, struct err *e)
{
    struct err fatal;
    err_init(&fatal);
    for (size_t done = 0; done < run->team_count; done++)
        if (deliver_one(next_team(run), &fatal, e) < 0)
            return -1;
    if (err_is_set(&fatal))
        return err_set(e, fatal.class, "%s", fatal.text);
    return 0;
}

int deliver_run(const struct deliver_options *options, const struct deliver_input *input, struct arena *arena,
                struct team_outcome *results, struct err *e)
{
    struct delivery run = {
        .options = options, .input = input, .arena = arena, .team_count = input->plan->team_count};
    run.teams = arena_alloc_array(arena, run.team_count, sizeof *run.teams, e);
    if (run.teams == NULL || copy_observed(&run, e) < 0)
        return -1;
    for (size_t i = 0; i < run.team_count; i++) {
        start_team(&run, i);
        run.teams[i].result = &results[i];
        if (team_set_plan(&run.teams[i], run.teams[i].plan, e) < 0)
            return -1;
    }
    int result = run_teams(&run, e);
    struct err ignored;
    err_init(&ignored);
    if (run.temporary_folder != NULL && folder_remove(run.temporary_folder, &ignored) < 0)
        log_warning(options->log, "cleanup", "%s", ignored.text);
    return result;
}
