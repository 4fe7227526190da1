/* The command line of fleetsim: the first thing that main reads. */
#include "options.h"
#include "base/text.h"
#include "json.h"
#include <stdlib.h>
#include <string.h>

struct option_row {
    const char *name;
    const char *argument; /* NULL: takes none */
    const char *help;
    int (*take)(struct options *options, char **arguments, struct err *e);
    int argument_count;
};

static int take_token(struct options *options, char **arguments, struct err *e)
{
    static const char *const roles[] = {"admin",  "maintainer", "observer",
                                        "gitops", "teammaint",  "teamgitops"};
    struct token_option *token = &options->tokens[options->token_count];
    if (options->token_count == OPTIONS_MANY)
        return err_set(e, ERR_USAGE, "more than %d tokens", OPTIONS_MANY);
    const char *equals = strchr(arguments[0], '=');
    if (equals == NULL || equals[1] == '\0')
        return err_set(e, ERR_USAGE, "--token: want ROLE=TOKEN or ROLE:TEAM=TOKEN");
    const char *colon = memchr(arguments[0], ':', (size_t)(equals - arguments[0]));
    const char *role_end = colon != NULL ? colon : equals;
    *token = (struct token_option){.role = ""};
    snprintf(token->role, sizeof token->role, "%.*s", (int)(role_end - arguments[0]), arguments[0]);
    if (colon != NULL)
        snprintf(token->team, sizeof token->team, "%.*s", (int)(equals - colon - 1), colon + 1);
    snprintf(token->token, sizeof token->token, "%s", equals + 1);
    bool known = false;
    for (size_t i = 0; i < ARRAY_LENGTH(roles); i++)
        known = known || text_equal(roles[i], token->role);
    if (!known)
        return err_set(e, ERR_USAGE, "--token: unknown role \"%s\"", token->role);
    if (text_starts_with(token->role, "team") != (token->team[0] != '\0'))
        return err_set(e, ERR_USAGE, "--token: teammaint and teamgitops need a team, other roles have none");
    options->token_count++;
    return 0;
}

static int take_team(struct options *options, char **arguments, struct err *e)
{
    if (options->team_count == OPTIONS_MANY)
        return err_set(e, ERR_USAGE, "more than %d teams", OPTIONS_MANY);
    options->teams[options->team_count++] = arguments[0];
    return 0;
}

static int take_label(struct options *options, char **arguments, struct err *e)
{
    if (options->label_count == OPTIONS_MANY)
        return err_set(e, ERR_USAGE, "more than %d labels", OPTIONS_MANY);
    options->labels[options->label_count++] = arguments[0];
    return 0;
}

static int take_digest(struct options *options, char **arguments, struct err *e)
{
    char *end;
    options->digest_only = true;
    options->digest_size = strtoull(arguments[0], &end, 10);
    if (*end != '\0')
        return err_set(e, ERR_USAGE, "--digest: SIZE is no number");
    options->digest_seed = strtoull(arguments[1], &end, 10);
    if (*end != '\0')
        return err_set(e, ERR_USAGE, "--digest: SEED is no number");
    return 0;
}

#define TAKE_TEXT(field)                                                                                     \
    static int take_##field(struct options *options, char **arguments, struct err *e)                        \
    {                                                                                                        \
        (void)e;                                                                                             \
        options->field = arguments[0];                                                                       \
        return 0;                                                                                            \
    }
TAKE_TEXT(state_folder)
TAKE_TEXT(listen)
TAKE_TEXT(packages_folder)
TAKE_TEXT(package_listen)
TAKE_TEXT(script)
TAKE_TEXT(log)
TAKE_TEXT(ready)
TAKE_TEXT(catalogue)
TAKE_TEXT(fleet_version)

#define TAKE_FLAG(field)                                                                                     \
    static int take_##field(struct options *options, char **arguments, struct err *e)                        \
    {                                                                                                        \
        (void)arguments;                                                                                     \
        (void)e;                                                                                             \
        options->field = true;                                                                               \
        return 0;                                                                                            \
    }
TAKE_FLAG(empty_start)
TAKE_FLAG(help)

static const struct option_row rows[] = {
    {"--state", "DIR", "keep teams, titles and packages here; a restart goes on (required)",
     take_state_folder, 1},
    {"--empty-start", NULL, "forget what the state folder holds", take_empty_start, 0},
    {"--listen", "HOST:PORT", "the Fleet API; port 0 is any free one (127.0.0.1:0)", take_listen, 1},
    {"--package-listen", "HOST:PORT", "the package host (127.0.0.1:0)", take_package_listen, 1},
    {"--packages", "DIR", "files that the package host serves at /NAME", take_packages_folder, 1},
    {"--script", "FILE.json", "faults of the API and behaviours of the package host", take_script, 1},
    {"--log", "FILE.jsonl", "append each finished request as one JSON line", take_log, 1},
    {"--ready", "FILE", "write the URLs there once both listen (default: standard output)", take_ready, 1},
    {"--token", "ROLE=TOKEN",
     "a token for admin, maintainer, observer, gitops, teammaint:TEAM or teamgitops:TEAM", take_token, 1},
    {"--team", "NAME", "make this team if it is missing (may be repeated)", take_team, 1},
    {"--label", "NAME", "make this label if it is missing (may be repeated)", take_label, 1},
    {"--catalogue", "FILE.json", "Fleet-maintained apps and App Store apps", take_catalogue, 1},
    {"--fleet-version", "VERSION", "what GET /version says; from 4.85 the gitops role may read (4.69.0)",
     take_fleet_version, 1},
    {"--digest", "SIZE SEED", "print the SHA-256 of a generated body and end", take_digest, 2},
    {"--help", NULL, "this text", take_help, 0},
};

void options_help(FILE *out)
{
    fputs("fleetsim: a Fleet-style server and a misbehaving package host to rehearse against.\n\n"
          "usage: fleetsim --state DIR [options]\n\n",
          out);
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        char left[48];
        snprintf(left, sizeof left, "%s %s", rows[i].name, rows[i].argument != NULL ? rows[i].argument : "");
        fprintf(out, "  %-29s %s\n", left, rows[i].help);
    }
    fputs("\nWithout --token the four global roles have the tokens admin-token, maintainer-token, "
          "observer-token\nand gitops-token. docs/fleetsim.md describes the script.\n",
          out);
}

static const struct option_row *find_row(const char *name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
        if (text_equal(rows[i].name, name))
            return &rows[i];
    return NULL;
}

static int refuse_unknown(const char *name, struct err *e)
{
    const char *names[ARRAY_LENGTH(rows)];
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
        names[i] = rows[i].name;
    const char *near = text_nearest(name, names, ARRAY_LENGTH(rows));
    if (near != NULL)
        return err_set(e, ERR_USAGE, "unknown option %s (did you mean %s?)", name, near);
    return err_set(e, ERR_USAGE, "unknown option %s (--help lists them)", name);
}

/* A global role without a token of its own gets ROLE-token. */
static void add_default_tokens(struct options *options)
{
    static const char *const roles[] = {"admin", "maintainer", "observer", "gitops"};
    for (size_t i = 0; i < ARRAY_LENGTH(roles); i++) {
        bool given = false;
        for (size_t j = 0; j < options->token_count; j++)
            given = given || text_equal(options->tokens[j].role, roles[i]);
        if (given || options->token_count == OPTIONS_MANY)
            continue;
        struct token_option *token = &options->tokens[options->token_count++];
        *token = (struct token_option){.role = ""};
        snprintf(token->role, sizeof token->role, "%s", roles[i]);
        snprintf(token->token, sizeof token->token, "%s-token", roles[i]);
    }
}

int options_parse(struct options *out, int argc, char **argv, struct err *e)
{
    struct options *options = out;
    *options =
        (struct options){.listen = "127.0.0.1:0", .package_listen = "127.0.0.1:0", .fleet_version = "4.69.0"};
    for (int i = 1; i < argc;) {
        const struct option_row *row = find_row(argv[i]);
        if (row == NULL)
            return refuse_unknown(argv[i], e);
        if (argc - i - 1 < row->argument_count)
            return err_set(e, ERR_USAGE, "%s needs %s", row->name, row->argument);
        if (row->take(options, argv + i + 1, e) < 0)
            return -1;
        i += 1 + row->argument_count;
    }
    if (!options->help && !options->digest_only && options->state_folder == NULL)
        return err_set(e, ERR_USAGE, "--state DIR is required");
    add_default_tokens(options);
    return 0;
}
