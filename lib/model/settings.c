/* One setting's value from text and to text: strict, by its type and range, and never showing a secret. */
#include "model/settings.h"
#include "base/text.h"
#include "base/url.h"
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SECONDS INT64_C(1000)
#define MINUTES (60 * SECONDS)
#define HOURS (60 * MINUTES)
#define DAYS (24 * HOURS)
#define KIB INT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

struct unit {
    const char *name;
    int64_t factor;
};

/* Of several names for one unit the last is the one that we write; NULL: none given. */
static const struct unit duration_units[] = {
    {"ms", 1},        {"sec", SECONDS}, {"s", SECONDS}, {"m", MINUTES},
    {"min", MINUTES}, {"h", HOURS},     {"d", DAYS},    {NULL, SECONDS},
};
static const struct unit size_units[] = {
    {"B", 1},   {"kB", 1000}, {"MB", 1000000}, {"GB", 1000000000}, {"K", KIB}, {"M", MIB},
    {"G", GIB}, {"KiB", KIB}, {"MiB", MIB},    {"GiB", GIB},       {NULL, 1},
};
static const char *const strategy_names[] = {"exponential", "linear", "constant"};
static const char *const jitter_names[] = {"full", "none"};
static const char *const true_words[] = {"true", "yes", "on", "1"};
static const char *const false_words[] = {"false", "no", "off", "0"};

static void *field_of(struct settings *settings, const struct setting *setting)
{
    return (unsigned char *)settings + setting->offset;
}

static const void *const_field_of(const struct settings *settings, const struct setting *setting)
{
    return (const unsigned char *)settings + setting->offset;
}

static int index_of(const char *text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(text, words[i]) == 0)
            return (int)i;
    return -1;
}

/* Digits, maybe a point and digits, maybe blanks and a unit of the table; the unit named NULL is the one of a
 * bare number. No sign, exponent, hexadecimal or "inf", which strtod() would take too. */
static int parse_with_unit(const char *text, const struct unit *units, double *out)
{
    char number[64];
    size_t length = strspn(text, "0123456789");
    if (length > 0 && text[length] == '.' && isdigit((unsigned char)text[length + 1]))
        length += 1 + strspn(text + length + 1, "0123456789");
    if (length == 0 || length >= sizeof number)
        return -1;
    memcpy(number, text, length);
    number[length] = '\0';
    double value = strtod(number, NULL);
    const char *unit = text + length + strspn(text + length, " ");
    for (;; units++) {
        bool matches = units->name == NULL ? *unit == '\0' : strcasecmp(unit, units->name) == 0;
        if (matches) {
            *out = value * (double)units->factor;
            return 0;
        }
        if (units->name == NULL)
            return -1;
    }
}

/* A whole number without a unit comes through exactly; doubles can't hold all of them. */
static int parse_whole(const char *text, int64_t *out)
{
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end != '\0' || errno != 0)
        return -1;
    *out = value;
    return 0;
}

static int parse_range(const struct setting *setting, const char *text, const struct unit *units,
                       int64_t *out)
{
    int64_t whole = 0;
    bool has_plain_unit = setting->type != SETTING_DURATION;
    if (!has_plain_unit || parse_whole(text, &whole) < 0) {
        double value = 0;
        if (parse_with_unit(text, units, &value) < 0 || value > 9e18)
            return -1;
        whole = (int64_t)(value + 0.5);
    }
    if (whole < setting->least || whole > setting->most)
        return -1;
    *out = whole;
    return 0;
}

static int refuse(const struct setting *setting, const char *text, const char *where, const char *expected,
                  struct err *e)
{
    char least[32] = "", most[32] = "";
    if (setting->type == SETTING_NUMBER || setting->type == SETTING_FACTOR) {
        snprintf(least, sizeof least, "%" PRId64, setting->least);
        snprintf(most, sizeof most, "%" PRId64, setting->most);
    } else if (setting->type == SETTING_DURATION) {
        snprintf(least, sizeof least, "%g s", (double)setting->least / 1000);
        snprintf(most, sizeof most, "%g s", (double)setting->most / 1000);
    } else if (setting->type == SETTING_SIZE) {
        text_size((uint64_t)setting->least, least);
        text_size((uint64_t)setting->most, most);
    }
    if (least[0] != '\0' && setting->most == INT64_MAX)
        return err_set(e, ERR_CONFIG, "%s: \"%s\" is not %s of at least %s", where, text, expected, least);
    if (least[0] != '\0')
        return err_set(e, ERR_CONFIG, "%s: \"%s\" is not %s from %s to %s", where, text, expected, least,
                       most);
    return err_set(e, ERR_CONFIG, "%s: \"%s\" is not %s", where, text, expected);
}

static int append_to_list(struct string_list *list, const char *text, struct arena *arena, struct err *e)
{
    const char **items = arena_alloc_array(arena, list->count + 1, sizeof *items, e);
    char *copy = arena_strdup(arena, text, e);
    if (items == NULL || copy == NULL)
        return -1;
    for (size_t i = 0; i < list->count; i++)
        items[i] = list->items[i];
    items[list->count] = copy;
    *list = (struct string_list){.is_set = true, .count = list->count + 1, .items = items};
    return 0;
}

/* A list of URLs is one of prefixes: where one ends and a URL's own part begins must be certain. */
static int check_prefix(const char *text, const char *where, struct err *e)
{
    char shown[URL_TEXT_BYTES];
    if (url_is_prefix(text))
        return 0;
    return err_set(
        e, ERR_CONFIG,
        "%s: the prefix %s must begin with http:// or https:// and a host, without \"?\" and \"#\"", where,
        url_redact(text, shown, sizeof shown));
}

/* It goes into headers and messages. Only paths may hold what their file systems allow. */
static int check_characters(const struct setting *setting, const char *text, const char *where, struct err *e)
{
    static const char *const paths[] = {"FILE", "DIR", "PATH"};
    for (size_t i = 0; i < ARRAY_LENGTH(paths); i++)
        if (text_equal(setting->value_name, paths[i]))
            return 0;
    for (const char *at = text; *at != '\0'; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7F)
            return err_set(e, ERR_CONFIG, "%s holds a line break, a tab or a control character", where);
    return 0;
}

/* The server's address alone. */
static int check_server(const struct setting *setting, const char *text, const char *where, struct err *e)
{
    char shown[URL_TEXT_BYTES];
    if (strcmp(setting->name, "fleet-url") != 0 || text[0] == '\0' || url_is_prefix(text))
        return 0;
    return err_set(e, ERR_CONFIG, "%s: \"%s\" is no address of a Fleet server (https://fleet.example.com)",
                   where, url_redact(text, shown, sizeof shown));
}

static int set_text(const struct setting *setting, void *field, const char *text, const char *where,
                    struct arena *arena, struct err *e)
{
    static const struct {
        const char *name;
        const char *words[6];
    } choices[] = {
        {"format", {"text", "json", "github", "sarif", "gitlab"}},
        {"log-format", {"text", "json"}},
        {"log-level", {"debug", "info", "warning", "error"}},
        {"color", {"auto", "always", "never"}},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(choices); i++) {
        if (strcmp(setting->name, choices[i].name) != 0)
            continue;
        size_t count = 0;
        while (choices[i].words[count] != NULL)
            count++;
        int chosen = index_of(text, choices[i].words, count);
        if (chosen < 0) {
            char known[128] = "";
            for (size_t k = 0, used = 0; k < count && used < sizeof known; k++)
                used += (size_t)snprintf(known + used, sizeof known - used, " %s", choices[i].words[k]);
            return err_set(e, ERR_CONFIG, "%s: \"%s\" is none of:%s", where, text, known);
        }
        *(const char **)field =
            choices[i].words[chosen]; /* as everybody compares it, however it was written */
        return 0;
    }
    if (check_characters(setting, text, where, e) < 0 || check_server(setting, text, where, e) < 0)
        return -1;
    char *copy = arena_strdup(arena, text, e);
    if (copy == NULL)
        return -1;
    *(const char **)field = copy;
    return 0;
}

static int set_word(const struct setting *setting, void *field, const char *text, const char *where,
                    struct err *e)
{
    if (setting->type == SETTING_SWITCH) {
        bool is_true = index_of(text, true_words, ARRAY_LENGTH(true_words)) >= 0;
        if (!is_true && index_of(text, false_words, ARRAY_LENGTH(false_words)) < 0)
            return refuse(setting, text, where, "true or false", e);
        *(bool *)field = is_true;
    } else if (setting->type == SETTING_STRATEGY) {
        int strategy = index_of(text, strategy_names, ARRAY_LENGTH(strategy_names));
        if (strategy < 0)
            return refuse(setting, text, where, "exponential, linear or constant", e);
        *(enum retry_strategy *)field = (enum retry_strategy)strategy;
    } else {
        int jitter = index_of(text, jitter_names, ARRAY_LENGTH(jitter_names));
        if (jitter < 0)
            return refuse(setting, text, where, "full or none", e);
        *(enum retry_jitter *)field = (enum retry_jitter)jitter;
    }
    return 0;
}

static int set_number(const struct setting *setting, void *field, const char *text, const char *where,
                      struct err *e)
{
    static const struct unit no_units[] = {{NULL, 1}};
    int64_t value = 0;
    double factor = 0;
    switch (setting->type) {
    case SETTING_DURATION:
        if (parse_range(setting, text, duration_units, &value) < 0)
            return refuse(setting, text, where, "a duration (like 500ms, 30s, 10min, 1h)", e);
        break;
    case SETTING_SIZE:
        if (parse_range(setting, text, size_units, &value) < 0)
            return refuse(setting, text, where, "a size (like 512KiB, 64MiB, 2GiB)", e);
        break;
    case SETTING_FACTOR:
        if (parse_with_unit(text, no_units, &factor) < 0 || factor < (double)setting->least ||
            factor > (double)setting->most)
            return refuse(setting, text, where, "a number", e);
        *(double *)field = factor;
        return 0;
    default:
        if (strchr(text, '.') != NULL || parse_range(setting, text, no_units, &value) < 0)
            return refuse(setting, text, where, "a whole number", e);
        break;
    }
    *(int64_t *)field = value;
    return 0;
}

int settings_set(struct settings *settings, const struct setting *setting, const char *text,
                 const char *where, struct arena *arena, struct err *e)
{
    void *field = field_of(settings, setting);
    switch (setting->type) {
    case SETTING_TEXT:
    case SETTING_SECRET:
        return set_text(setting, field, text, where, arena, e);
    case SETTING_LIST:
        if (text_equal(setting->value_name, "URL") && check_prefix(text, where, e) < 0)
            return -1;
        if (((const struct string_list *)field)->count == SETTINGS_LIST_MOST)
            return err_set(e, ERR_CONFIG, "%s: a list has at most %d items", where, SETTINGS_LIST_MOST);
        return check_characters(setting, text, where, e) < 0 ? -1 : append_to_list(field, text, arena, e);
    case SETTING_SWITCH:
    case SETTING_STRATEGY:
    case SETTING_JITTER:
        return set_word(setting, field, text, where, e);
    case SETTING_NUMBER:
    case SETTING_FACTOR:
    case SETTING_DURATION:
    case SETTING_SIZE:
        return set_number(setting, field, text, where, e);
    }
    return err_set(e, ERR_CONFIG, "%s: unknown kind of setting", where);
}

int settings_init(struct settings *settings, struct err *e)
{
    *settings = (struct settings){.subdir = ""};
    for (size_t i = 0; i < settings_count; i++) {
        const struct setting *setting = &settings_table[i];
        if (setting->default_text == NULL)
            continue;
        if (setting->type == SETTING_TEXT) /* the table's own text lives as long as the program */
            *(const char **)field_of(settings, setting) = setting->default_text;
        else if (settings_set(settings, setting, setting->default_text, setting->name, NULL, e) < 0)
            return -1;
    }
    return 0;
}

static void list_text(const struct string_list *list, char *out, size_t size)
{
    char shown[URL_TEXT_BYTES];
    size_t used = 0;
    for (size_t i = 0; i < list->count && used < size; i++) {
        const char *item = list->items[i];
        item = strstr(item, "://") == NULL ? item : url_redact(item, shown, sizeof shown);
        int length = snprintf(out + used, size - used, "%s%s", i > 0 ? "," : "", item);
        if (length < 0)
            return;
        used += (size_t)length;
    }
}

/* In the largest unit of which it is a whole number. */
static void unit_text(const struct unit *units, int64_t value, char *out, size_t size)
{
    const struct unit *best = units;
    for (const struct unit *unit = units; unit->name != NULL; unit++)
        if (unit->factor >= best->factor && value % unit->factor == 0)
            best = unit;
    snprintf(out, size, "%" PRId64 "%s", value / best->factor, value == 0 ? "" : best->name);
}

const char *settings_text(const struct settings *settings, const struct setting *setting, char *out,
                          size_t size)
{
    const void *field = const_field_of(settings, setting);
    out[0] = '\0';
    switch (setting->type) {
    case SETTING_TEXT: {
        const char *text = *(const char *const *)field;
        if (text != NULL && (strstr(text, "://") != NULL || text_equal(setting->value_name, "URL")))
            url_redact(text, out, size);
        else
            snprintf(out, size, "%s", text == NULL ? "" : text);
        break;
    }
    case SETTING_SECRET:
        snprintf(out, size, "%s", *(const char *const *)field == NULL ? "" : "***");
        break;
    case SETTING_LIST:
        list_text(field, out, size);
        break;
    case SETTING_SWITCH:
        snprintf(out, size, "%s", *(const bool *)field ? "true" : "false");
        break;
    case SETTING_SIZE:
        unit_text(size_units, *(const int64_t *)field, out, size);
        break;
    case SETTING_NUMBER:
        snprintf(out, size, "%" PRId64, *(const int64_t *)field);
        break;
    case SETTING_DURATION:
        unit_text(duration_units, *(const int64_t *)field, out, size);
        break;
    case SETTING_FACTOR:
        snprintf(out, size, "%.15g", *(const double *)field);
        break;
    case SETTING_STRATEGY:
        snprintf(out, size, "%s", strategy_names[*(const enum retry_strategy *)field]);
        break;
    case SETTING_JITTER:
        snprintf(out, size, "%s", jitter_names[*(const enum retry_jitter *)field]);
        break;
    }
    return out;
}

const char *settings_origin_text(const struct settings *settings, const struct setting *setting, char *out,
                                 size_t size)
{
    const struct setting_origin *origin = &settings->origins[setting - settings_table];
    switch (origin->kind) {
    case ORIGIN_DEFAULT:
        snprintf(out, size, "default");
        break;
    case ORIGIN_FILE:
        snprintf(out, size, "tender.yml:%d", origin->line);
        break;
    case ORIGIN_ENVIRONMENT:
        snprintf(out, size, "%s", setting->environment);
        break;
    case ORIGIN_FLAG:
        snprintf(out, size, "--%s", setting->name);
        break;
    }
    return out;
}
