/* The gate that each handler passes after its request was decoded. */
#include "access.h"
#include "base/text.h"
#include "json.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

bool access_identify(struct sim *sim, const char *authorization, struct caller *out)
{
    static const char bearer[] = "Bearer ";
    *out = (struct caller){.role = "bad"};
    if (strncasecmp(authorization, bearer, strlen(bearer)) != 0)
        return false;
    for (size_t i = 0; i < sim->options->token_count; i++) {
        const struct token_option *token = &sim->options->tokens[i];
        if (!text_equal(token->token, authorization + strlen(bearer)))
            continue;
        out->role = token->role;
        if (token->team[0] == '\0') {
            out->global_role = token->role;
            return true;
        }
        const json_t *team = store_team_named(&sim->store, token->team);
        out->team_role = text_equal(token->role, "teammaint") ? "maintainer" : "gitops";
        out->team_id = team != NULL ? number_at(team, "id") : -1;
        return true;
    }
    return false;
}

static bool has_global(const struct caller *caller, const char *role)
{
    return text_equal(caller->global_role, role);
}

static bool has_in_team(const struct caller *caller, const char *role, json_int_t team_id)
{
    return team_id > 0 && caller->team_id == team_id && text_equal(caller->team_role, role);
}

bool may_read_software(const struct sim *sim, const struct caller *caller, json_int_t team_id)
{
    /* The gitops role could write only, until it was let read. */
    if (sim_version_from(sim, 4, 85) &&
        (has_global(caller, "gitops") || has_in_team(caller, "gitops", team_id)))
        return true;
    return has_global(caller, "admin") || has_global(caller, "maintainer") ||
           has_global(caller, "observer") || has_in_team(caller, "maintainer", team_id);
}

bool may_write_software(const struct caller *caller, json_int_t team_id)
{
    return has_global(caller, "admin") || has_global(caller, "maintainer") || has_global(caller, "gitops") ||
           has_in_team(caller, "maintainer", team_id) || has_in_team(caller, "gitops", team_id);
}

bool may_create_teams(const struct caller *caller)
{
    return has_global(caller, "admin") || has_global(caller, "gitops");
}

bool may_see_team(const struct caller *caller, json_int_t team_id)
{
    return caller->global_role != NULL || caller->team_id == team_id;
}

bool may_write_secrets(const struct caller *caller)
{
    return has_global(caller, "admin") || has_global(caller, "maintainer") || has_global(caller, "gitops");
}

bool may_write_policies(const struct caller *caller, json_int_t team_id)
{
    return may_write_software(caller, team_id);
}

bool sim_stopping(const struct sim *sim)
{
    return __atomic_load_n(&sim->stopping, __ATOMIC_RELAXED) != 0;
}

void sim_sleep(struct sim *sim, int64_t ms)
{
    enum { SLICE_MS = 50 };
    while (ms > 0 && !sim_stopping(sim)) {
        int64_t slice = ms < SLICE_MS ? ms : SLICE_MS;
        struct timespec nap = {.tv_sec = 0, .tv_nsec = slice * 1000000};
        nanosleep(&nap, NULL);
        ms -= slice;
    }
}

bool sim_version_from(const struct sim *sim, int major, int minor)
{
    char *rest;
    long have_major = strtol(sim->options->fleet_version, &rest, 10);
    long have_minor = *rest == '.' ? strtol(rest + 1, NULL, 10) : 0;
    return have_major > major || (have_major == major && have_minor >= minor);
}
