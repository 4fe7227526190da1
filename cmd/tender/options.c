/* The option parser: settings_table is the table of options, so that flag, environment name, default and help
 * can't drift apart. */
#include "options.h"
#include "base/text.h"
#include "base/url.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parser {
    unsigned accepted;
    struct settings *settings;
    struct given *given;
    struct arena *arena;
    struct err *e;
};

static size_t index_of(const struct setting *setting)
{
    return (size_t)(setting - settings_table);
}

bool options_setting_is_given(void *context, const char *name)
{
    const struct given *given = context;
    const struct setting *setting = settings_find(name);
    return setting != NULL && given->by[index_of(setting)] != GIVEN_BY_NOBODY;
}

static bool is_accepted(const struct parser *parser, const struct setting *setting)
{
    return (setting->commands & parser->accepted) != 0;
}

/* Underscores are taken for hyphens only in tender.yml; on the command line the name must be exact. */
static const struct setting *find_long(const struct parser *parser, const char *name, size_t length)
{
    for (size_t i = 0; i < settings_count; i++)
        if (strlen(settings_table[i].name) == length && memcmp(settings_table[i].name, name, length) == 0 &&
            is_accepted(parser, &settings_table[i]))
            return &settings_table[i];
    return NULL;
}

static const struct setting *find_short(const struct parser *parser, char letter)
{
    for (size_t i = 0; i < settings_count; i++)
        if (letter != 0 && settings_table[i].letter == letter && is_accepted(parser, &settings_table[i]))
            return &settings_table[i];
    return NULL;
}

static int refuse_unknown(const struct parser *parser, const char *argument)
{
    const char *names[OPTIONS_MOST_SETTINGS];
    size_t count = 0;
    for (size_t i = 0; i < settings_count; i++)
        if (is_accepted(parser, &settings_table[i]))
            names[count++] = settings_table[i].name;
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(argument + strspn(argument, "-"), "="),
             argument + strspn(argument, "-"));
    const struct setting *elsewhere = settings_find(word);
    const char *nearest = text_nearest(word, names, count);
    if (elsewhere != NULL && !is_accepted(parser, elsewhere))
        return err_set(parser->e, ERR_USAGE, "this command does not take --%s", elsewhere->name);
    if (nearest != NULL)
        return err_set(parser->e, ERR_USAGE, "there is no option --%s; did you mean --%s?", word, nearest);
    return err_set(parser->e, ERR_USAGE, "there is no option %s%s", argument[1] == '-' ? "--" : "-", word);
}

static int take(struct parser *parser, const struct setting *setting, const char *value, const char *where,
                enum given_by by)
{
    enum given_by *before = &parser->given->by[index_of(setting)];
    if (setting->type == SETTING_LIST && *before != by)
        memset((unsigned char *)parser->settings + setting->offset, 0, sizeof(struct string_list));
    if (settings_set(parser->settings, setting, value, where, parser->arena, parser->e) < 0) {
        if (by == GIVEN_BY_FLAG)
            parser->e->class = ERR_USAGE;
        return -1;
    }
    *before = by;
    parser->settings->origins[index_of(setting)].kind =
        by == GIVEN_BY_FLAG ? ORIGIN_FLAG : ORIGIN_ENVIRONMENT;
    return 0;
}

/* One argument, with its value behind '=' or in the next one. Returns how many arguments were used, -1 on
 * error. */
static int read_argument(struct parser *parser, const char *argument, const char *next)
{
    bool is_long = argument[1] == '-';
    const char *name = argument + (is_long ? 2 : 1);
    size_t length = is_long ? strcspn(name, "=") : 1;
    const struct setting *setting = is_long ? find_long(parser, name, length) : find_short(parser, name[0]);
    if (setting == NULL)
        return refuse_unknown(parser, argument);
    char where[64];
    snprintf(where, sizeof where, "--%s", setting->name);
    const char *attached =
        is_long ? (name[length] == '=' ? name + length + 1 : NULL) : (name[1] != '\0' ? name + 1 : NULL);
    if (setting->type == SETTING_SWITCH)
        return take(parser, setting, attached != NULL ? attached : "true", where, GIVEN_BY_FLAG) < 0 ? -1 : 1;
    if (attached == NULL && next == NULL)
        return err_set(parser->e, ERR_USAGE, "%s needs a value: %s", where, setting->value_name);
    if (take(parser, setting, attached != NULL ? attached : next, where, GIVEN_BY_FLAG) < 0)
        return -1;
    return attached != NULL ? 1 : 2;
}

static int read_list_variable(struct parser *parser, const struct setting *setting, const char *value)
{
    while (*value != '\0') {
        size_t length = strcspn(value, ",");
        char *item = arena_strndup(parser->arena, value, length, parser->e);
        if (item == NULL ||
            (length > 0 && take(parser, setting, item, setting->environment, GIVEN_BY_ENVIRONMENT) < 0))
            return -1;
        value += length + (value[length] == ',');
    }
    return 0;
}

static int read_environment(struct parser *parser, const char *(*variable)(void *context, const char *name))
{
    for (size_t i = 0; i < settings_count; i++) {
        const struct setting *setting = &settings_table[i];
        const char *value = is_accepted(parser, setting) ? variable(NULL, setting->environment) : NULL;
        if (value == NULL || value[0] == '\0' || parser->given->by[i] != GIVEN_BY_NOBODY)
            continue;
        int result = setting->type == SETTING_LIST
                         ? read_list_variable(parser, setting, value)
                         : take(parser, setting, value, setting->environment, GIVEN_BY_ENVIRONMENT);
        if (result < 0)
            return -1;
    }
    return 0;
}

static int choose_state_dir(struct parser *parser, const char *(*variable)(void *context, const char *name))
{
    if (parser->settings->state_dir != NULL)
        return 0;
    const char *xdg = variable(NULL, "XDG_STATE_HOME");
    const char *home = variable(NULL, "HOME");
    if (!text_is_empty(xdg))
        parser->settings->state_dir = arena_printf(parser->arena, parser->e, "%s/tender", xdg);
    else if (!text_is_empty(home))
        parser->settings->state_dir = arena_printf(parser->arena, parser->e, "%s/.local/state/tender", home);
    else
        return err_set(parser->e, ERR_USAGE,
                       "no folder for the state: give --state-dir DIR (HOME is not set)");
    return parser->settings->state_dir == NULL ? -1 : 0;
}

static enum given_by given_by(const struct parser *parser, const char *name)
{
    return parser->given->by[index_of(settings_find(name))];
}

/* A flag for one of two that exclude each other puts the other one's environment out. */
static void prefer_flags(struct parser *parser)
{
    struct settings *settings = parser->settings;
    if (given_by(parser, "dir") == GIVEN_BY_FLAG) {
        settings->repository = given_by(parser, "repository") == GIVEN_BY_FLAG ? settings->repository : NULL;
        settings->revision = given_by(parser, "revision") == GIVEN_BY_FLAG ? settings->revision : NULL;
    } else if (given_by(parser, "repository") == GIVEN_BY_FLAG) {
        settings->directory = NULL;
        settings->commit = given_by(parser, "commit") == GIVEN_BY_FLAG ? settings->commit : NULL;
    }
}

static int check_source(const struct settings *settings, struct err *e)
{
    if (settings->repository != NULL && settings->directory != NULL)
        return err_set(e, ERR_USAGE, "--repository and --dir exclude each other: give one of them");
    if (settings->revision != NULL && settings->directory != NULL)
        return err_set(e, ERR_USAGE, "--revision belongs to --repository; a commit of --dir is --commit");
    if (settings->commit != NULL && settings->repository != NULL)
        return err_set(e, ERR_USAGE, "--commit belongs to --dir; a commit of --repository is --revision");
    return 0;
}

int options_read(int count, char *const arguments[], unsigned accepted,
                 const char *(*variable)(void *context, const char *name), struct settings *settings,
                 struct given *given, bool *help, struct arena *arena, struct err *e)
{
    struct parser parser = {
        .accepted = accepted, .settings = settings, .given = given, .arena = arena, .e = e};
    *given = (struct given){0};
    *help = false;
    for (int i = 0; i < count;) {
        const char *argument = arguments[i];
        if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
            *help = true;
            return 0;
        }
        if (argument[0] != '-' || argument[1] == '\0') {
            char shown[URL_TEXT_BYTES];
            return err_set(e, ERR_USAGE, "\"%s\" is one word too many: only options stand behind the command",
                           url_redact(argument, shown, sizeof shown));
        }
        int used = read_argument(&parser, argument, i + 1 < count ? arguments[i + 1] : NULL);
        if (used < 0)
            return -1;
        i += used;
    }
    if (read_environment(&parser, variable) < 0)
        return -1;
    prefer_flags(&parser);
    if (check_source(settings, e) < 0)
        return -1;
    return choose_state_dir(&parser, variable);
}
