/* What is not software: the version, users, teams, labels, secret variables, policies, and the tests' hooks.
 */
#include "access.h"
#include "base/text.h"
#include "json.h"
#include "parameters.h"
#include "routes.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char no_time[] = "0001-01-01T00:00:00Z";

void get_version(struct request *request, struct answer *answer)
{
    json_t *body = new_object();
    put_text(body, "version", request->sim->options->fleet_version);
    put_text(body, "branch", "fleetsim");
    put_text(body, "revision", "unknown");
    put_text(body, "go_version", "unknown");
    put_text(body, "build_date", "unknown");
    put_text(body, "build_user", "unknown");
    answer_json(answer, 200, body);
}

static json_int_t users_of_team(const struct request *request, const json_t *team)
{
    json_int_t count = 0;
    for (size_t i = 0; i < request->sim->options->token_count; i++)
        if (text_equal(request->sim->options->tokens[i].team, text_at(team, "name")))
            count++;
    return count;
}

static json_int_t user_id(const struct request *request)
{
    const struct options *options = request->sim->options;
    for (size_t i = 0; i < options->token_count; i++)
        if (options->tokens[i].role == request->caller.role)
            return (json_int_t)i + 1;
    return 0;
}

static json_t *user_row(const struct request *request, const json_t *team)
{
    const struct caller *caller = &request->caller;
    bool is_admin = text_equal(caller->role, "admin");
    char now[TIME_TEXT_BYTES], email[128];
    if (team != NULL)
        snprintf(email, sizeof email, "%s%lld@example.com", caller->role, (long long)caller->team_id);
    else
        snprintf(email, sizeof email, "%s@example.com", caller->role);
    json_t *user = new_object();
    put_text(user, "created_at", time_text(false, now));
    put_text(user, "updated_at", now);
    put_number(user, "id", user_id(request));
    put_text(user, "name", is_admin ? "Admin" : caller->role);
    put_text(user, "email", email);
    put_flag(user, "force_password_reset", false);
    put_text(user, "gravatar_url", "");
    put_flag(user, "sso_enabled", false);
    put_flag(user, "mfa_enabled", false);
    put(user, "global_role", caller->global_role != NULL ? new_text(caller->global_role) : json_null());
    put_flag(user, "api_only", strstr(caller->role, "gitops") != NULL);
    json_t *teams = new_array();
    if (team != NULL) {
        json_t *row = new_object();
        put_number(row, "id", caller->team_id);
        put_text(row, "created_at", no_time);
        put_text(row, "name", text_at(team, "name"));
        put_text(row, "description", "");
        put_number(row, "user_count", 0);
        put_number(row, "host_count", 0);
        put_text(row, "role", caller->team_role);
        append(teams, row);
    }
    put(user, "teams", teams);
    return user;
}

void get_me(struct request *request, struct answer *answer)
{
    const json_t *team = store_team(&request->sim->store, request->caller.team_id);
    json_t *available = new_array();
    if (team != NULL) {
        json_t *row = new_object();
        put_number(row, "id", number_at(team, "id"));
        put_text(row, "name", text_at(team, "name"));
        put_text(row, "description", "");
        append(available, row);
    }
    json_t *body = new_object();
    put(body, "user", user_row(request, team));
    put(body, "available_teams", available);
    answer_json(answer, 200, body);
}

static json_t *team_row(const struct request *request, const json_t *team, bool is_new)
{
    bool masked = text_equal(request->caller.global_role, "observer");
    const char *created_at = is_new ? no_time : text_at(team, "created_at");
    json_t *secret = new_object();
    put_text(secret, "secret", masked ? "********" : "(an enroll secret)");
    put_text(secret, "created_at", created_at);
    if (!is_new)
        put_number(secret, "team_id", number_at(team, "id"));
    json_t *secrets = new_array();
    append(secrets, secret);
    json_t *row = new_object();
    put_number(row, "id", number_at(team, "id"));
    put_text(row, "created_at", created_at);
    put_text(row, "name", text_at(team, "name"));
    put_text(row, "description", "");
    put_number(row, "user_count", users_of_team(request, team));
    put_number(row, "host_count", 0);
    put(row, "secrets", secrets);
    return row;
}

void list_teams(struct request *request, struct answer *answer)
{
    size_t i;
    json_t *team, *page;
    CLEANUP(json_cleanup) json_t *rows = new_array();
    CLEANUP(json_cleanup) json_t *meta = new_object();
    json_array_foreach(store_list(&request->sim->store, "teams"), i, team)
    {
        if (may_see_team(&request->caller, number_at(team, "id")))
            append(rows, team_row(request, team, false));
    }
    /* This list alone says nothing of further pages. */
    if (!take_page(request, rows, &page, meta, answer))
        return;
    json_t *body = new_object();
    put(body, "teams", page);
    answer_json(answer, 200, body);
}

void create_team(struct request *request, struct answer *answer)
{
    const char *name = text_at(request->json, "name");
    if (!may_create_teams(&request->caller)) {
        refuse(answer, REFUSE_FORBIDDEN, "base", "forbidden");
        return;
    }
    if (name[0] == '\0') {
        refuse(answer, REFUSE_INVALID, "name", "may not be empty");
        return;
    }
    const json_t *existing = store_team_named(&request->sim->store, name);
    if (existing != NULL && text_equal(text_at(existing, "name"), name)) {
        refuse(answer, REFUSE_DUPLICATE, "base",
               "Error 1062 (23000): Duplicate entry '%s' for key 'idx_name_bin'", name);
        return;
    }
    json_t *body = new_object();
    put(body, "team", team_row(request, store_team_add(&request->sim->store, name), true));
    store_save(&request->sim->store);
    answer_json(answer, 200, body);
}

void list_labels(struct request *request, struct answer *answer)
{
    json_t *body = new_object();
    put(body, "labels", copy_of(store_list(&request->sim->store, "labels")));
    answer_json(answer, 200, body);
}

void list_labels_summary(struct request *request, struct answer *answer)
{
    static const char *const keys[] = {"id", "name", "description", "label_type"};
    size_t i;
    json_t *label;
    json_t *rows = new_array();
    json_array_foreach(store_list(&request->sim->store, "labels"), i, label)
    {
        json_t *row = new_object();
        for (size_t k = 0; k < ARRAY_LENGTH(keys); k++)
            put(row, keys[k], json_incref(json_object_get(label, keys[k])));
        append(rows, row);
    }
    json_t *body = new_object();
    put(body, "labels", rows);
    answer_json(answer, 200, body);
}

/* Names are kept, values never: they can't be read back from a real server either. */
void put_secret_variables(struct request *request, struct answer *answer)
{
    static const char prefix[] = "FLEET_SECRET_";
    size_t i;
    json_t *secret;
    if (!may_write_secrets(&request->caller)) {
        refuse(answer, REFUSE_FORBIDDEN, "base", "forbidden");
        return;
    }
    json_t *known = store_list(&request->sim->store, "secrets");
    json_array_foreach(list_at(request->json, "secrets"), i, secret)
    {
        const char *name = text_at(secret, "name");
        char script[256];
        name += text_starts_with(name, prefix) ? strlen(prefix) : 0;
        snprintf(script, sizeof script, "$%s%s", prefix, name);
        char *missing = unknown_secret(&request->sim->store, script);
        if (missing != NULL && !query_flag(request, "dry_run"))
            append(known, new_text(name));
        free(missing);
    }
    store_save(&request->sim->store);
    answer_json(answer, 200, new_object());
}

static json_t *add_policy(struct store *store, json_int_t team_id, json_int_t title_id, const json_t *wish)
{
    char now[TIME_TEXT_BYTES];
    json_t *row = new_object();
    put_number(row, "id", store_next_id(store, "policies"));
    put_text(row, "name", text_at(wish, "name"));
    put_text(row, "query", text_at(wish, "query"));
    put_text(row, "platform", text_at(wish, "platform"));
    put_number(row, "team_id", team_id);
    put(row, "software_title_id", title_id > 0 ? new_number(title_id) : json_null());
    put_text(row, "created_at", time_text(false, now));
    append(store_list(store, "policies"), row);
    store_save(store);
    return row;
}

static json_t *policy_shown(struct store *store, const json_t *policy)
{
    json_int_t title_id = number_at(policy, "software_title_id");
    json_t *row = new_object();
    put_number(row, "id", number_at(policy, "id"));
    put_text(row, "name", text_at(policy, "name"));
    put_text(row, "query", text_at(policy, "query"));
    put_flag(row, "critical", false);
    put_text(row, "description", "");
    put_number(row, "author_id", 1);
    put_text(row, "author_name", "Admin");
    put_text(row, "author_email", "admin@example.com");
    put_number(row, "team_id", number_at(policy, "team_id"));
    put_text(row, "resolution", "");
    put_text(row, "platform", text_at(policy, "platform"));
    put_flag(row, "calendar_events_enabled", false);
    put_flag(row, "conditional_access_enabled", false);
    put_text(row, "created_at", text_at(policy, "created_at"));
    put_text(row, "updated_at", text_at(policy, "created_at"));
    put_number(row, "passing_host_count", 0);
    put_number(row, "failing_host_count", 0);
    put_null(row, "host_count_updated_at");
    if (title_id > 0) {
        json_t *software = new_object();
        put_number(software, "software_title_id", title_id);
        put_text(software, "name", text_at(store_title(store, title_id), "name"));
        put(row, "install_software", software);
    }
    json_t *body = new_object();
    put(body, "policy", row);
    return body;
}

void create_team_policy(struct request *request, struct answer *answer)
{
    struct store *store = &request->sim->store;
    json_int_t team_id = request->ids[0];
    json_int_t title_id = number_at(request->json, "software_title_id");
    if (!may_write_policies(&request->caller, team_id)) {
        refuse(answer, REFUSE_FORBIDDEN, "base", "forbidden");
        return;
    }
    if (title_id > 0 && store_installer(store, team_id, title_id) == NULL) {
        refuse(answer, REFUSE_NOT_FOUND, "base", "SoftwareTitle %lld was not found in the datastore",
               (long long)title_id);
        return;
    }
    answer_json(answer, 200, policy_shown(store, add_policy(store, team_id, title_id, request->json)));
}

/* A team's installer by its title's name. */
static json_int_t title_named(struct store *store, json_int_t team_id, const char *name)
{
    size_t i;
    json_t *installer;
    json_array_foreach(store_list(store, "installers"), i, installer)
    {
        json_int_t title_id = number_at(installer, "title_id");
        if (number_at(installer, "team_id") == team_id &&
            text_equal(text_at(store_title(store, title_id), "name"), name))
            return title_id;
    }
    return 0;
}

/* {"team": NAME, "title": NAME, "name": POLICY}: names in the place of ids, for tests. */
void hook_policy(struct request *request, struct answer *answer)
{
    struct store *store = &request->sim->store;
    const json_t *team = store_team_named(store, text_at(request->json, "team"));
    json_int_t team_id = number_at(team, "id");
    json_int_t title_id = title_named(store, team_id, text_at(request->json, "title"));
    if (team == NULL || title_id == 0) {
        refuse(answer, REFUSE_BAD_REQUEST, "base", "fleetsim: no such team, or the team has no such title");
        return;
    }
    answer_json(answer, 200, policy_shown(store, add_policy(store, team_id, title_id, request->json)));
}

void hook_label(struct request *request, struct answer *answer)
{
    struct store *store = &request->sim->store;
    const char *name = text_at(request->json, "name");
    if (name[0] == '\0' || store_label_named(store, name) != NULL) {
        refuse(answer, REFUSE_BAD_REQUEST, "base", "fleetsim: no name, or a label that is there");
        return;
    }
    answer_json(answer, 200, copy_of(store_label_add(store, name)));
    store_save(store);
}

void hook_open_requests(struct request *request, struct answer *answer)
{
    json_t *body = new_object();
    put_number(body, "open", request_log_open_count(&request->sim->log));
    answer_json(answer, 200, body);
}
