/* What Fleet has: version, user, teams, labels and each wanted team's list, as one value for the planner;
 * then the details and set-up flags that the planner asks for. Lists of several teams and details of several
 * titles are read at once. */
#include "base/text.h"
#include "fleet/call.h"
#include "fleet/client.h"
#include "fleet/fleet_private.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char no_team_name[] = "No team";

static bool is_wanted(const struct observed_team *team, const char *const *wanted, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fleet_same_team_name(team->name, wanted[i]) ||
            (team->id == 0 && fleet_same_team_name(wanted[i], "Unassigned")))
            return true;
    return false;
}

/* The server looks teams up without regard to case, and yet can have two that differ in nothing else. */
static int refuse_twins(struct observed *observed, struct arena *arena, struct err *e)
{
    for (size_t i = 0; i < observed->team_count; i++)
        for (size_t k = 0; k < observed->team_count; k++) {
            struct observed_team *team = &observed->teams[i];
            const struct observed_team *twin = &observed->teams[k];
            if (i == k || team->error != NULL || !fleet_same_team_name(team->name, twin->name))
                continue;
            team->error = arena_printf(
                arena, e,
                "Fleet has two teams whose names differ only in case, \"%s\" (id %" PRId64
                ") and \"%s\" (id %" PRId64 "), and can't tell them apart itself: rename one of them",
                team->name, team->id, twin->name, twin->id);
            if (team->error == NULL)
                return -1;
        }
    return 0;
}

static int make_teams(const struct team_rows *rows, struct arena *arena, struct observed *out, struct err *e)
{
    struct observed_team *teams = arena_alloc_array(arena, rows->count + 1, sizeof *teams, e);
    if (teams == NULL)
        return -1;
    for (size_t i = 0; i < rows->count; i++)
        teams[i] = (struct observed_team){.id = rows->items[i].id, .name = rows->items[i].name};
    teams[rows->count] = (struct observed_team){.id = 0, .name = no_team_name};
    out->teams = teams;
    out->team_count = rows->count + 1;
    return refuse_twins(out, arena, e);
}

/* Versions without GET /version, or with one that says "unknown", are as good as others. */
static int read_version(struct fleet *fleet, struct arena *arena, const char **version, struct err *e)
{
    struct err trouble;
    err_init(&trouble);
    *version = "";
    if (fleet_get_version(fleet, arena, version, &trouble) == 0) {
        if (text_equal(*version, "unknown"))
            *version = "";
        return 0;
    }
    if (trouble.class == ERR_NETWORK || trouble.class == ERR_MEMORY || trouble.class == ERR_INTERRUPTED ||
        fleet_is_locked_out(fleet))
        return err_set(e, trouble.class, "%s", trouble.text);
    return 0;
}

/* What is fatal for the run is returned; else `*out` says why something could not be read. */
static int note(struct fleet *fleet, const struct err *trouble, const char **out, struct arena *arena,
                struct err *e)
{
    if (trouble->class == ERR_MEMORY || trouble->class == ERR_INTERRUPTED || fleet_is_locked_out(fleet))
        return err_set(e, trouble->class, "%s", trouble->text);
    *out = arena_strdup(arena, trouble->text, e);
    return *out == NULL ? -1 : 0;
}

/* A team whose list can't be read has an error. */
static int note_trouble(struct fleet *fleet, struct observed_team *team, const struct err *trouble,
                        struct arena *arena, struct err *e)
{
    return note(fleet, trouble, &team->error, arena, e);
}

/* The first page says it all for most teams; where it does not, the list is read again in its pages. */
static int take_list(struct fleet *fleet, struct observed_team *team, const struct call *call,
                     struct arena *arena, struct err *e)
{
    struct title_rows rows = {.items = NULL};
    struct page page = {.total = -1};
    struct err trouble;
    err_init(&trouble);
    int result = call->end == CALL_DONE
                     ? codec_titles(call->answer.bytes, call->answer.length, arena, &rows, &page, &trouble)
                     : err_set(&trouble, call->err.class, "%s", call->err.text);
    bool is_whole =
        page.has_meta && !page.has_next && (page.total < 0 || page.total == (int64_t)rows.row_count);
    if (result == 0 && !is_whole) {
        rows = (struct title_rows){.items = NULL};
        result = fleet_list_titles(fleet, team->id, arena, &rows, &trouble);
    }
    if (result < 0)
        return note_trouble(fleet, team, &trouble, arena, e);
    team->titles = rows.items;
    team->title_count = rows.count;
    team->unclear_count = rows.unclear_count;
    return 0;
}

static bool has_maintained_app(const struct observed_team *team)
{
    for (size_t i = 0; i < team->title_count; i++)
        if (team->titles[i].kind == SOFTWARE_MAINTAINED_APP)
            return true;
    return false;
}

/* Slug and newest version of each maintained app that the team has. What can't be read stays unknown. */
static int read_catalogue(struct fleet *fleet, struct observed_team *team, struct catalogue_rows *known,
                          struct arena *arena, struct err *e)
{
    if (known->items == NULL && fleet_list_catalogue(fleet, team->id, arena, known, e) < 0)
        return -1;
    for (size_t i = 0; i < team->title_count; i++) {
        struct observed_title *title = &team->titles[i];
        for (size_t k = 0; k < known->count && title->kind == SOFTWARE_MAINTAINED_APP; k++) {
            struct catalogue_app *app = &known->items[k];
            if (app->id != title->maintained_app_id)
                continue;
            if (app->version == NULL && fleet_get_catalogue_app(fleet, app, arena, e) < 0)
                return -1;
            title->slug = app->slug;
            title->catalogue_version = app->version;
        }
    }
    return 0;
}

static int read_catalogues(struct fleet *fleet, struct observed *observed, struct arena *arena, struct err *e)
{
    struct catalogue_rows known = {.items = NULL};
    for (size_t i = 0; i < observed->team_count; i++) {
        struct observed_team *team = &observed->teams[i];
        struct err trouble;
        err_init(&trouble);
        if (!has_maintained_app(team) || read_catalogue(fleet, team, &known, arena, &trouble) == 0)
            continue;
        if (trouble.class == ERR_MEMORY || trouble.class == ERR_INTERRUPTED || fleet_is_locked_out(fleet))
            return err_set(e, trouble.class, "%s", trouble.text);
        log_warning(fleet->options.log, "catalogue", "the catalogue of maintained apps can't be read: %s",
                    trouble.text);
        return 0;
    }
    return 0;
}

enum { LISTS_AT_ONCE = 16, LIST_PATH_BYTES = 128, LIST_ROWS = 500 };

struct list_window {
    struct call calls[LISTS_AT_ONCE];
    char paths[LISTS_AT_ONCE][LIST_PATH_BYTES];
    struct observed_team *teams[LISTS_AT_ONCE];
    size_t count;
};

static int read_window(struct fleet *fleet, struct list_window *window, struct arena *arena,
                       size_t *forbidden, struct err *e)
{
    for (size_t i = 0; i < window->count; i++) {
        snprintf(window->paths[i], LIST_PATH_BYTES,
                 "/software/titles?team_id=%" PRId64 "&available_for_install=true&page=0&per_page=%d",
                 window->teams[i]->id, LIST_ROWS);
        window->calls[i] = (struct call){.name = "GET /software/titles",
                                         .method = "GET",
                                         .path = window->paths[i],
                                         .right = "read the software of this team"};
    }
    int result = call_run_all(fleet, window->calls, window->count, e);
    for (size_t i = 0; i < window->count; i++) {
        if (result == 0)
            result = take_list(fleet, window->teams[i], &window->calls[i], arena, e);
        *forbidden += window->calls[i].status == 403;
        call_done(&window->calls[i]);
    }
    window->count = 0;
    return result;
}

static int read_lists(struct fleet *fleet, const char *const *wanted, size_t count, struct observed *observed,
                      struct arena *arena, struct err *e)
{
    struct list_window *window = calloc(1, sizeof *window);
    size_t tried = 0, forbidden = 0;
    int result = window == NULL ? err_set(e, ERR_MEMORY, "out of memory") : 0;
    const struct observed_team *last = NULL;
    for (size_t i = 0; i < observed->team_count && result == 0; i++) {
        struct observed_team *team = &observed->teams[i];
        if (team->error != NULL || !is_wanted(team, wanted, count))
            continue;
        tried++;
        last = team;
        window->teams[window->count++] = team;
        if (window->count == LISTS_AT_ONCE)
            result = read_window(fleet, window, arena, &forbidden, e);
    }
    if (result == 0 && window->count > 0)
        result = read_window(fleet, window, arena, &forbidden, e);
    free(window);
    if (result == 0 && tried > 0 && forbidden == tried)
        return err_set(e, ERR_UNAUTHORISED, "%s", last->error);
    return result;
}

/* Without the labels, only what names one has to wait. */
static int read_labels(struct fleet *fleet, struct observed *out, struct arena *arena, struct err *e)
{
    struct name_rows labels = {.items = NULL};
    struct err trouble;
    err_init(&trouble);
    if (fleet_list_labels(fleet, arena, &labels, &trouble) == 0) {
        out->labels = (struct string_list){.is_set = true, .count = labels.count, .items = labels.items};
        return 0;
    }
    return note(fleet, &trouble, &out->labels_error, arena, e);
}

int fleet_observe(struct fleet *fleet, const char *const *wanted_teams, size_t wanted_count,
                  struct arena *arena, struct observed *out, struct err *e)
{
    struct observed result = {.server_version = "", .role = "", .is_read = true};
    struct fleet_user user;
    struct team_rows teams = {.items = NULL};
    if (fleet_get_user(fleet, arena, &user, e) < 0 ||
        read_version(fleet, arena, &result.server_version, e) < 0 ||
        fleet_list_teams(fleet, arena, &teams, e) < 0)
        return -1;
    result.role = user.global_role;
    if (read_labels(fleet, &result, arena, e) < 0 || make_teams(&teams, arena, &result, e) < 0 ||
        read_lists(fleet, wanted_teams, wanted_count, &result, arena, e) < 0 ||
        read_catalogues(fleet, &result, arena, e) < 0)
        return -1;
    *out = result;
    return 0;
}

/* A window of details under way: bounded, whatever the number of titles. */
enum { DETAILS_AT_ONCE = 64, DETAIL_PATH_BYTES = 96 };

static int take_details(const struct fleet_title_request *request, const struct call *call,
                        struct arena *arena, struct err *e)
{
    struct err trouble;
    err_init(&trouble);
    if (call->end == CALL_DONE) {
        if (codec_title_details(call->answer.bytes, call->answer.length, arena, request->title, &trouble) ==
            0)
            return 0;
    } else {
        err_fill(&trouble, call->err.class, "%s", call->err.text);
    }
    if (trouble.class == ERR_MEMORY)
        return err_set(e, ERR_MEMORY, "%s", trouble.text);
    if (request->team->error != NULL)
        return 0;
    request->team->error = arena_printf(arena, e, "%s can't be read: %s", request->title->name, trouble.text);
    return request->team->error == NULL ? -1 : 0;
}

static int read_details_window(struct fleet *fleet, const struct fleet_title_request *requests, size_t count,
                               struct call *calls, char (*paths)[DETAIL_PATH_BYTES], struct arena *arena,
                               struct err *e)
{
    for (size_t i = 0; i < count; i++) {
        snprintf(paths[i], DETAIL_PATH_BYTES, "/software/titles/%" PRId64 "?team_id=%" PRId64,
                 requests[i].title->title_id, requests[i].team->id);
        calls[i] = (struct call){.name = "GET /software/titles/{id}",
                                 .method = "GET",
                                 .path = paths[i],
                                 .right = "read the software of this team"};
    }
    int result = call_run_all(fleet, calls, count, e);
    for (size_t i = 0; i < count; i++) {
        if (result == 0)
            result = take_details(&requests[i], &calls[i], arena, e);
        call_done(&calls[i]);
    }
    return result;
}

int fleet_read_details(struct fleet *fleet, const struct fleet_title_request *requests, size_t count,
                       struct arena *arena, struct err *e)
{
    struct call *calls = calloc(DETAILS_AT_ONCE, sizeof *calls);
    char(*paths)[DETAIL_PATH_BYTES] = calloc(DETAILS_AT_ONCE, sizeof *paths);
    int result = calls == NULL || paths == NULL ? err_set(e, ERR_MEMORY, "out of memory") : 0;
    for (size_t done = 0; done < count && result == 0; done += DETAILS_AT_ONCE) {
        size_t window = count - done < DETAILS_AT_ONCE ? count - done : DETAILS_AT_ONCE;
        result = read_details_window(fleet, requests + done, window, calls, paths, arena, e);
    }
    free(calls);
    free(paths);
    return result;
}

static bool has_platform(const struct observed_team *team, const char *platform)
{
    for (size_t i = 0; i < team->title_count; i++)
        if (text_equal(team->titles[i].platform, platform))
            return true;
    return false;
}

int fleet_observe_setup_experience(struct fleet *fleet, struct observed_team *team, struct arena *arena,
                                   struct err *e)
{
    struct err trouble;
    err_init(&trouble);
    if (fleet_read_setup_experience(fleet, team, arena, &trouble) == 0)
        return 0;
    return note(fleet, &trouble, &team->setup_error, arena, e);
}

int fleet_read_setup_experience(struct fleet *fleet, struct observed_team *team, struct arena *arena,
                                struct err *e)
{
    static const char *const platforms[] = {"darwin", "windows", "linux"};
    for (size_t p = 0; p < ARRAY_LENGTH(platforms); p++) {
        struct setup_rows rows = {.items = NULL};
        if (!has_platform(team, platforms[p]))
            continue;
        if (fleet_list_setup_experience(fleet, team->id, platforms[p], arena, &rows, e) < 0)
            return -1;
        for (size_t i = 0; i < rows.count; i++)
            for (size_t k = 0; k < team->title_count; k++)
                if (team->titles[k].title_id == rows.items[i].title_id)
                    team->titles[k].install_during_setup =
                        rows.items[i].install_during_setup ? TRISTATE_TRUE : TRISTATE_FALSE;
    }
    return 0;
}
