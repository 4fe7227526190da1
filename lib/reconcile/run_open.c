/* What a run needs before it can plan: settings complete, manifests read, connections open, memory loaded,
 * Fleet observed. */
#include "base/files.h"
#include "base/text.h"
#include "reconcile/run.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKEN_FILE_BYTES = 64 * 1024 };

static int source_list(void *context, const char *folder,
                       void (*each)(void *user, const char *name, bool is_folder), void *user, struct err *e)
{
    const struct repository_entry *entries = NULL;
    size_t count = 0;
    if (repository_list(context, folder, &entries, &count, e) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        each(user, entries[i].name, entries[i].type == ENTRY_FOLDER);
    return 0;
}

static int source_read(void *context, const char *path, struct buf *out, struct err *e)
{
    return repository_read(context, path, out, e);
}

static int source_resolve(void *context, const char *path, struct arena *arena, const char **out,
                          struct string_list *links, struct err *e)
{
    return repository_resolve(context, path, arena, out, links, e);
}

static int open_repository(struct run *run, struct err *e)
{
    const struct settings *settings = run->settings;
    if (settings->repository == NULL && settings->directory == NULL)
        return err_set(e, ERR_USAGE,
                       "no repository: give --repository URL (or TENDER_REPOSITORY), or --dir DIR for a "
                       "folder's files as they lie");
    const char *home = run->world->variable(run->world->variable_context, "HOME");
    const char *ssh_folder = text_is_empty(home) ? NULL : arena_printf(run->arena, e, "%s/.ssh", home);
    bool is_folder = settings->directory != NULL;
    const struct repository_options options = {
        .url = is_folder ? NULL : settings->repository,
        .revision = is_folder ? settings->commit : settings->revision,
        .directory = settings->directory,
        .username = settings->git_username,
        .password = settings->git_password,
        .ssh_folder = ssh_folder,
        .state_dir = settings->state_dir,
        .ca_file = settings->ca_file,
        .timeout_ms = settings->limits.repository_timeout_ms,
        .deadline_monotonic_ms = run->deadline_monotonic_ms,
        .max_file_bytes = settings->limits.max_document_bytes,
        .stop = loop_stop_flag(run->world->loop),
        .retry = &settings->retry,
        .jitter = run->world->jitter,
        .clock = run->world->clock,
        .log = run->world->log,
    };
    run->repository = repository_open(&options, e);
    if (run->repository == NULL)
        return -1;
    run->source = (struct manifest_source){
        .list = source_list, .read = source_read, .resolve = source_resolve, .context = run->repository};
    const char *warning = arena_strdup(run->arena, repository_warning(run->repository), e);
    const char *revision = arena_strdup(run->arena, repository_revision(run->repository), e);
    if (warning == NULL || revision == NULL)
        return -1;
    run->report->warning = warning;
    run->report->revision = revision;
    run->desired->revision = revision;
    return 0;
}

int64_t run_deadline_ms(int64_t started_ms, int64_t limit_ms)
{
    enum { LONGEST_MARGIN_MS = 2000, MARGINS_PER_DEADLINE = 10 };
    int64_t margin = limit_ms / MARGINS_PER_DEADLINE;
    if (limit_ms <= 0)
        return 0;
    return started_ms + limit_ms - (margin < LONGEST_MARGIN_MS ? margin : LONGEST_MARGIN_MS);
}

/* With settings that nobody meant nothing is done; the manifests were read to tell their mistakes in the same
 * pass. */
static int refuse_all(struct run *run, struct err *e)
{
    for (size_t i = 0; i < run->desired->team_count; i++)
        run->desired->teams[i].is_invalid = true;
    return run->until == RECONCILE_MANIFESTS ? 0
                                             : err_set(e, ERR_CONFIG,
                                                       "there are mistakes in the settings (tender.yml): "
                                                       "nothing is done until they are mended");
}

int run_read_manifests(struct run *run, struct err *e)
{
    const struct clock *clock = run->world->clock;
    int64_t started_ms = clock->monotonic_ms(clock->context);
    const struct settings *settings = run->settings;
    if (run->until == RECONCILE_SETTINGS && settings->repository == NULL && settings->directory == NULL)
        return 0; /* what flags, the environment and the defaults say */
    /* As far as flags and the environment say; tender.yml may say more. */
    run->deadline_monotonic_ms = run_deadline_ms(started_ms, settings->limits.deadline_ms);
    if (open_repository(run, e) < 0)
        return -1;
    struct manifest_options options = {
        .subdir = run->settings->subdir,
        .max_document_bytes = run->settings->limits.max_document_bytes,
        .variable = run->world->variable,
        .variable_context = run->world->variable_context,
    };
    if (manifest_load_settings(&run->source, &options, run->world->setting_is_given,
                               run->world->setting_context, run->settings, run->arena, run->desired, e) < 0)
        return -1;
    bool are_settings_broken = run->desired->error_count > 0;
    if (run->until == RECONCILE_SETTINGS)
        return 0;
    options.files = run->settings->files;
    options.teams = run->settings->teams;
    options.exclude_teams = run->settings->exclude_teams;
    options.settings = run->settings;
    options.max_document_bytes = run->settings->limits.max_document_bytes;
    const char *since = run->settings->changed_since;
    if (since != NULL && repository_changes(run->repository, since, run->arena, &options.changed, e) < 0)
        return -1;
    if (manifest_load(&run->source, &options, run->arena, run->desired, e) < 0)
        return -1;
    run->desired->revision = run->report->revision;
    if (are_settings_broken)
        return refuse_all(run, e);
    if (since != NULL)
        log_info(run->world->log, "selection", "%zu team%s of the repository differ%s from %s",
                 run->desired->team_count, run->desired->team_count == 1 ? "" : "s",
                 run->desired->team_count == 1 ? "s" : "", since);
    run->deadline_monotonic_ms = run_deadline_ms(started_ms, settings->limits.deadline_ms);
    return 0;
}

/* The token file is read anew in each run, so a rotated token is taken without a restart. */
static int read_token_file(struct run *run, struct err *e)
{
    struct settings *settings = run->settings;
    if (settings->token_file == NULL)
        return 0;
    CLEANUP(buf_done) struct buf text = BUF_INIT(TOKEN_FILE_BYTES);
    if (file_read(settings->token_file, &text, e) < 0) {
        e->class = ERR_CONFIG;
        return err_prefix(e, "the token file");
    }
    const char *start = buf_text(&text);
    while (isspace((unsigned char)*start))
        start++;
    size_t length = strlen(start);
    while (length > 0 && isspace((unsigned char)start[length - 1]))
        length--;
    if (length == 0)
        return err_set(e, ERR_CONFIG, "the token file %s is empty", settings->token_file);
    settings->fleet_token = arena_strndup(run->arena, start, length, e);
    memset(text.bytes, 0, text.length);
    return settings->fleet_token == NULL ? -1 : 0;
}

static struct http *open_http(struct run *run, struct err *e)
{
    const struct http_options options = {
        .loop = run->world->loop,
        .user_agent = run->settings->user_agent,
        .ca_file = run->settings->ca_file,
        .clock = run->world->clock,
        .log = run->world->log,
    };
    return http_new(&options, e);
}

int run_open_connections(struct run *run, struct err *e)
{
    if (run->settings->user_agent == NULL) {
        run->settings->user_agent = arena_printf(run->arena, e, "tender/%s", run->world->tender_version);
        if (run->settings->user_agent == NULL)
            return -1;
    }
    run->package_http = open_http(run, e);
    if (run->package_http == NULL)
        return -1;
    if (run->until == RECONCILE_FETCH)
        return 0;
    run->api_http = open_http(run, e);
    if (run->api_http == NULL || read_token_file(run, e) < 0)
        return -1;
    const struct fleet_options options = {
        .loop = run->world->loop,
        .http = run->api_http,
        .settings = run->settings,
        .clock = run->world->clock,
        .jitter = run->world->jitter,
        .log = run->world->log,
        .deadline_monotonic_ms = run->deadline_monotonic_ms,
    };
    run->fleet = fleet_new(&options, e);
    return run->fleet == NULL ? -1 : 0;
}

/* Set-up experience flags cost a request per team: asked only where a wish names them or something may be
 * removed. */
static bool needs_setup_experience(const struct run *run, const struct desired_team *team)
{
    if (run->settings->prune || run->settings->prune_teams.count > 0 || run->settings->guard_count > 0)
        return true;
    for (size_t i = 0; i < team->packages.count; i++)
        if (team->packages.items[i].setup_experience != TRISTATE_ABSENT)
            return true;
    return false;
}

static const struct desired_team *desired_for(const struct run *run, const struct observed_team *team)
{
    for (size_t i = 0; i < run->desired->team_count; i++) {
        const struct desired_team *desired = &run->desired->teams[i];
        if (desired->is_no_team ? team->id == 0 : team->id != 0 && strcmp(desired->name, team->name) == 0)
            return desired;
    }
    return NULL;
}

static int read_details(struct run *run, struct err *e)
{
    for (size_t i = 0; i < run->observed.team_count; i++) {
        struct observed_team *team = &run->observed.teams[i];
        const struct desired_team *desired = desired_for(run, team);
        if (desired != NULL && team->error == NULL && team->title_count > 0 &&
            needs_setup_experience(run, desired) &&
            fleet_observe_setup_experience(run->fleet, team, run->arena, e) < 0)
            return -1;
    }
    struct wanted_details *wanted = NULL;
    size_t count = 0;
    if (plan_wanted_details(run->desired, &run->observed, &run->memory, &run->plan_options, run->arena,
                            &wanted, &count, e) < 0)
        return -1;
    struct fleet_title_request *requests = arena_alloc_array(run->arena, count, sizeof *requests, e);
    if (requests == NULL)
        return -1;
    for (size_t i = 0; i < count; i++)
        requests[i] = (struct fleet_title_request){.team = wanted[i].team, .title = wanted[i].title};
    return count == 0 ? 0 : fleet_read_details(run->fleet, requests, count, run->arena, e);
}

static void set_plan_options(struct run *run)
{
    const struct settings *settings = run->settings;
    const struct clock *clock = run->world->clock;
    run->plan_options = (struct plan_options){
        .prune = settings->prune,
        .allow_empty = settings->allow_empty,
        .create_teams = settings->create_teams,
        .relearn = settings->relearn,
        .full = settings->full,
        .prune_teams = settings->prune_teams,
        .max_removals = settings->max_removals,
        .max_removals_run = settings->max_removals_run,
        .guard_count = settings->guard_count,
        .guards = settings->guards,
        .now_wall_ms = clock->wall_ms(clock->context),
    };
}

int run_observe(struct run *run, struct err *e)
{
    set_plan_options(run);
    const char **names = arena_alloc_array(run->arena, run->desired->team_count, sizeof *names, e);
    if (names == NULL)
        return -1;
    for (size_t i = 0; i < run->desired->team_count; i++)
        names[i] = run->desired->teams[i].name;
    if (fleet_observe(run->fleet, names, run->desired->team_count, run->arena, &run->observed, e) < 0)
        return -1;
    run->report->server_version = run->observed.server_version;
    return read_details(run, e);
}

static size_t count_labels(const struct desired *desired)
{
    size_t count = 0;
    for (size_t i = 0; i < desired->team_count; i++)
        for (size_t k = 0; k < desired->teams[i].packages.count; k++)
            count += desired->teams[i].packages.items[k].labels.count;
    return count;
}

int run_observe_nothing(struct run *run, struct err *e)
{
    set_plan_options(run);
    const struct desired *desired = run->desired;
    struct observed_team *teams = arena_alloc_array(run->arena, desired->team_count, sizeof *teams, e);
    const char **labels = arena_alloc_array(run->arena, count_labels(desired), sizeof *labels, e);
    if (teams == NULL || labels == NULL)
        return -1;
    size_t label_count = 0;
    for (size_t i = 0; i < desired->team_count; i++) {
        const struct desired_team *team = &desired->teams[i];
        teams[i] = (struct observed_team){.id = team->is_no_team ? 0 : (int64_t)i + 1, .name = team->name};
        for (size_t k = 0; k < team->packages.count; k++)
            for (size_t l = 0; l < team->packages.items[k].labels.count; l++)
                labels[label_count++] = team->packages.items[k].labels.items[l];
    }
    run->observed = (struct observed){
        .server_version = "",
        .role = "",
        .team_count = desired->team_count,
        .teams = teams,
        .labels = {.is_set = true, .count = label_count, .items = labels},
    };
    return 0;
}

void run_done(struct run *run)
{
    run_release_cache(run);
    state_close(run->state);
    fleet_free(run->fleet);
    http_free(run->api_http);
    http_free(run->package_http);
    repository_close(run->repository);
}
