/* The one table of settings: the command line's options, the environment's names, tender.yml's keys and the
 * manual are made from it. */
#include "model/settings.h"
#include "base/text.h"
#include "base/url.h"
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    MANIFESTS = SETTING_FOR_REPOSITORY,
    FETCH = SETTING_FOR_FETCH,
    FLEET = SETTING_FOR_FLEET,
    WRITE = SETTING_FOR_WRITE,
    LOOP = SETTING_FOR_LOOP,
    PLAN = SETTING_FOR_PLAN,
    SHOW = SETTING_FOR_SHOW,
    REPORT = SETTING_FOR_REPORT,
    ALL = SETTING_FOR_ALL,
};

#define SECONDS INT64_C(1000)
#define MINUTES (60 * SECONDS)
#define HOURS (60 * MINUTES)
#define DAYS (24 * HOURS)
#define KIB INT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define AT(field) offsetof(struct settings, field)

const struct setting settings_table[] = {
    {"fleet-url", 0, "FLEET_URL", SETTING_TEXT, AT(fleet_url), NULL, "URL", "The Fleet server", FLEET, true,
     0, 0},
    {"fleet-token", 0, "FLEET_API_TOKEN", SETTING_SECRET, AT(fleet_token), NULL, "TOKEN",
     "Its API token; the environment or --token-file keep it out of the process list", FLEET, false, 0, 0},
    {"token-file", 0, "TENDER_TOKEN_FILE", SETTING_TEXT, AT(token_file), NULL, "FILE",
     "Read the API token from this file", FLEET, false, 0, 0},

    {"repository", 'r', "TENDER_REPOSITORY", SETTING_TEXT, AT(repository), NULL, "URL",
     "Git repository: https, ssh, file or a path", MANIFESTS, false, 0, 0},
    {"revision", 0, "TENDER_REVISION", SETTING_TEXT, AT(revision), NULL, "REV",
     "Branch, tag or commit; default: the remote's HEAD", MANIFESTS, false, 0, 0},
    {"dir", 'C', "TENDER_DIR", SETTING_TEXT, AT(directory), NULL, "DIR",
     "Read this folder's files as they lie, instead of --repository; with --revision, a commit of it",
     MANIFESTS, false, 0, 0},
    {"subdir", 0, "TENDER_SUBDIR", SETTING_TEXT, AT(subdir), "", "PATH",
     "The repository's part that holds the manifests", MANIFESTS, false, 0, 0},
    {"file", 'f', "TENDER_FILES", SETTING_LIST, AT(files), NULL, "GLOB", "Only these team files (repeatable)",
     MANIFESTS, true, 0, 0},
    {"team", 't', "TENDER_TEAMS", SETTING_LIST, AT(teams), NULL, "NAME",
     "Only teams whose name matches this glob (repeatable)", MANIFESTS, false, 0, 0},

    {"state-dir", 0, "TENDER_STATE_DIR", SETTING_TEXT, AT(state_dir), NULL, "DIR",
     "Mirror, cache and memory; default: $XDG_STATE_HOME/tender or ~/.local/state/tender", ALL, false, 0, 0},
    {"cache-dir", 0, "TENDER_CACHE_DIR", SETTING_TEXT, AT(cache_dir), NULL, "DIR",
     "Downloaded packages; default: cache in the state folder", FETCH, false, 0, 0},

    {"prune", 0, "TENDER_PRUNE", SETTING_SWITCH, AT(prune), "false", NULL,
     "Remove software that a team has and its file does not declare", FLEET, true, 0, 0},
    {"prune-team", 0, "TENDER_PRUNE_TEAMS", SETTING_LIST, AT(prune_teams), NULL, "NAME",
     "Prune only teams that match this glob (repeatable)", FLEET, true, 0, 0},
    {"allow-empty", 0, "TENDER_ALLOW_EMPTY", SETTING_SWITCH, AT(allow_empty), "false", NULL,
     "Pruning may leave a team without any software", FLEET, true, 0, 0},
    {"max-removals", 0, "TENDER_MAX_REMOVALS", SETTING_NUMBER, AT(max_removals), "10", "N",
     "Removals per team; more withholds that team's", FLEET, true, 0, 100000},
    {"max-removals-run", 0, "TENDER_MAX_REMOVALS_RUN", SETTING_NUMBER, AT(max_removals_run), "25", "N",
     "Removals per run", FLEET, true, 0, 100000},
    {"create-teams", 0, "TENDER_CREATE_TEAMS", SETTING_SWITCH, AT(create_teams), "false", NULL,
     "Create teams that Fleet does not have", FLEET, true, 0, 0},
    {"full", 0, "TENDER_FULL", SETTING_SWITCH, AT(full), "false", NULL,
     "Read every title's details: finds hand-made changes of scripts and labels", FLEET, false, 0, 0},
    {"relearn", 0, "TENDER_RELEARN", SETTING_SWITCH, AT(relearn), "false", NULL,
     "Send fields that are assumed to be Fleet's default, to learn whether they are", FLEET, false, 0, 0},
    {"detailed-exitcode", 0, "TENDER_DETAILED_EXITCODE", SETTING_SWITCH, AT(detailed_exitcode), "false", NULL,
     "Exit with 2 if something would change", PLAN, false, 0, 0},

    {"retry-attempts", 0, "TENDER_RETRY_ATTEMPTS", SETTING_NUMBER, AT(retry.rounds), "8", "N",
     "Rounds over all sources before a package fails", FETCH, true, 1, 1000},
    {"retry-initial", 0, "TENDER_RETRY_INITIAL", SETTING_DURATION, AT(retry.initial_ms), "2s", "DURATION",
     "First wait", FETCH, true, 0, DAYS},
    {"retry-factor", 0, "TENDER_RETRY_FACTOR", SETTING_FACTOR, AT(retry.factor), "2", "X",
     "Each wait is this much longer (exponential)", FETCH, true, 1, 100},
    {"retry-max", 0, "TENDER_RETRY_MAX", SETTING_DURATION, AT(retry.max_delay_ms), "60s", "DURATION",
     "Longest wait", FETCH, true, 0, DAYS},
    {"retry-strategy", 0, "TENDER_RETRY_STRATEGY", SETTING_STRATEGY, AT(retry.strategy), "exponential",
     "NAME", "exponential, linear or constant", FETCH, true, 0, 0},
    {"retry-jitter", 0, "TENDER_RETRY_JITTER", SETTING_JITTER, AT(retry.jitter), "full", "NAME",
     "full or none", FETCH, true, 0, 0},
    {"retry-after-max", 0, "TENDER_RETRY_AFTER_MAX", SETTING_DURATION, AT(retry.retry_after_max_ms), "10min",
     "DURATION", "A server that asks to wait longer is given up", FETCH, true, 0, DAYS},

    {"parallel", 'j', "TENDER_PARALLEL", SETTING_NUMBER, AT(limits.parallel), "8", "N", "Downloads at once",
     FETCH, true, 1, 64},
    {"parallel-per-host", 0, "TENDER_PARALLEL_PER_HOST", SETTING_NUMBER, AT(limits.parallel_per_host), "4",
     "N", "Downloads at once from one host", FETCH, true, 1, 64},
    {"parallel-api", 0, "TENDER_PARALLEL_API", SETTING_NUMBER, AT(limits.parallel_api), "8", "N",
     "Reads at once from Fleet", FLEET, true, 1, 64},
    {"connect-timeout", 0, "TENDER_CONNECT_TIMEOUT", SETTING_DURATION, AT(limits.connect_timeout_ms), "15s",
     "DURATION", "Resolving, connecting and TLS", FETCH, true, 100, HOURS},
    {"stall-speed", 0, "TENDER_STALL_SPEED", SETTING_SIZE, AT(limits.stall_bytes_per_s), "1KiB", "SIZE",
     "Slower than this per second …", FETCH, true, 1, GIB},
    {"stall-time", 0, "TENDER_STALL_TIME", SETTING_DURATION, AT(limits.stall_ms), "60s", "DURATION",
     "… for so long is a stall", FETCH, true, 100, DAYS},
    {"item-timeout", 0, "TENDER_ITEM_TIMEOUT", SETTING_DURATION, AT(limits.item_timeout_ms), "30min",
     "DURATION", "A package fails after so long without 1 MiB of progress", FETCH, true, 100, 7 * DAYS},
    {"max-requests", 0, "TENDER_MAX_REQUESTS", SETTING_NUMBER, AT(limits.max_requests_per_item), "1000", "N",
     "Requests per package", FETCH, true, 1, 1000000},
    {"max-redirects", 0, "TENDER_MAX_REDIRECTS", SETTING_NUMBER, AT(limits.max_redirects), "10", "N",
     "Redirects in a row", FETCH, true, 0, 100},
    {"max-package-size", 0, "TENDER_MAX_PACKAGE_SIZE", SETTING_SIZE, AT(limits.max_package_bytes), "10GiB",
     "SIZE", "A larger package is refused", FETCH, true, 1, INT64_MAX},
    {"max-cache-size", 0, "TENDER_MAX_CACHE_SIZE", SETTING_SIZE, AT(limits.max_cache_bytes), "20GiB", "SIZE",
     "Unused packages beyond it are pruned; 0: no limit", FETCH, true, 0, INT64_MAX},
    {"max-document-size", 0, "TENDER_MAX_DOCUMENT_SIZE", SETTING_SIZE, AT(limits.max_document_bytes), "4MiB",
     "SIZE", "One YAML file or script", MANIFESTS, true, 1, 256 * MIB},
    {"max-answer-size", 0, "TENDER_MAX_ANSWER_SIZE", SETTING_SIZE, AT(limits.max_answer_bytes), "64MiB",
     "SIZE", "One answer of Fleet's API", FLEET, true, KIB, GIB},
    {"api-timeout", 0, "TENDER_API_TIMEOUT", SETTING_DURATION, AT(limits.api_timeout_ms), "5min", "DURATION",
     "Until Fleet's answer begins", FLEET, true, 100, DAYS},
    {"batch-timeout", 0, "TENDER_BATCH_TIMEOUT", SETTING_DURATION, AT(limits.batch_timeout_ms), "30min",
     "DURATION", "Until Fleet has applied a team's list", WRITE, true, 100, DAYS},
    {"repository-timeout", 0, "TENDER_REPOSITORY_TIMEOUT", SETTING_DURATION, AT(limits.repository_timeout_ms),
     "10min", "DURATION", "The whole of one git fetch", MANIFESTS, false, 100, DAYS},
    {"shutdown-grace", 0, "TENDER_SHUTDOWN_GRACE", SETTING_DURATION, AT(limits.shutdown_grace_ms), "20s",
     "DURATION", "For the upload or commit under way when asked to stop", WRITE, true, 0, HOURS},
    {"deadline", 0, "TENDER_DEADLINE", SETTING_DURATION, AT(limits.deadline_ms), "0", "DURATION",
     "For the whole run; 0: none", FETCH, true, 0, 7 * DAYS},

    {"user-agent", 0, "TENDER_USER_AGENT", SETTING_TEXT, AT(user_agent), NULL, "TEXT",
     "Sent to package hosts; default: tender/VERSION", FETCH, true, 0, 0},
    {"ca-file", 0, "TENDER_CA_FILE", SETTING_TEXT, AT(ca_file), NULL, "FILE",
     "CA certificates for git, packages and Fleet; default: the system's", ALL, false, 0, 0},

    {"interval", 'i', "TENDER_INTERVAL", SETTING_DURATION, AT(interval_ms), "5min", "DURATION",
     "Between the starts of two runs", LOOP, true, SECONDS, 7 * DAYS},
    {"interval-jitter", 0, "TENDER_INTERVAL_JITTER", SETTING_NUMBER, AT(interval_jitter_percent), "10",
     "PERCENT", "Spread of the interval", LOOP, true, 0, 100},

    {"report", 0, "TENDER_REPORT", SETTING_TEXT, AT(report_file), NULL, "FILE",
     "Write the report as JSON too (FILE - is standard output)", REPORT, false, 0, 0},
    {"format", 0, "TENDER_FORMAT", SETTING_TEXT, AT(format), "text", "NAME",
     "text or json on standard output", SHOW | REPORT, false, 0, 0},
    {"log-format", 0, "TENDER_LOG_FORMAT", SETTING_TEXT, AT(log_format), "text", "NAME",
     "text or json lines on standard error", ALL, false, 0, 0},
    {"log-level", 0, "TENDER_LOG_LEVEL", SETTING_TEXT, AT(log_level), "info", "LEVEL",
     "debug, info, warning or error", ALL, false, 0, 0},
    {"color", 0, "TENDER_COLOR", SETTING_TEXT, AT(color), "auto", "WHEN", "auto, always or never", ALL, false,
     0, 0},
};

const size_t settings_count = ARRAY_LENGTH(settings_table);

struct unit {
    const char *name;
    int64_t factor;
};

static const struct unit duration_units[] = {
    {"ms", 1},        {"s", SECONDS}, {"sec", SECONDS}, {"m", MINUTES},
    {"min", MINUTES}, {"h", HOURS},   {"d", DAYS},      {NULL, SECONDS},
};
static const struct unit size_units[] = {
    {"B", 1},     {"kB", 1000}, {"MB", 1000000}, {"GB", 1000000000}, {"KiB", KIB}, {"MiB", MIB},
    {"GiB", GIB}, {"K", KIB},   {"M", MIB},      {"G", GIB},         {NULL, 1},
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

static int set_text(const struct setting *setting, void *field, const char *text, const char *where,
                    struct arena *arena, struct err *e)
{
    static const struct {
        const char *name;
        const char *words[5];
    } choices[] = {
        {"format", {"text", "json"}},
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
        if (chosen < 0)
            return err_set(e, ERR_CONFIG, "%s: \"%s\" is none of: %s %s %s %s", where, text,
                           choices[i].words[0], choices[i].words[1], count > 2 ? choices[i].words[2] : "",
                           count > 3 ? choices[i].words[3] : "");
        *(const char **)field =
            choices[i].words[chosen]; /* as everybody compares it, however it was written */
        return 0;
    }
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
        return append_to_list(field, text, arena, e);
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

const struct setting *settings_find(const char *name)
{
    for (size_t i = 0; i < settings_count; i++) {
        const char *candidate = settings_table[i].name;
        size_t at = 0;
        while (candidate[at] != '\0' &&
               (candidate[at] == name[at] || (candidate[at] == '-' && name[at] == '_')))
            at++;
        if (candidate[at] == '\0' && name[at] == '\0')
            return &settings_table[i];
    }
    return NULL;
}

static void list_text(const struct string_list *list, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < list->count && used < size; i++) {
        int length = snprintf(out + used, size - used, "%s%s", i > 0 ? "," : "", list->items[i]);
        if (length < 0)
            return;
        used += (size_t)length;
    }
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
    case SETTING_NUMBER:
    case SETTING_SIZE:
        snprintf(out, size, "%" PRId64, *(const int64_t *)field);
        break;
    case SETTING_DURATION:
        snprintf(out, size, "%" PRId64 "ms", *(const int64_t *)field);
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

/* "/private/../public": what the server is asked for is not what stands there. "%2e" is a dot too. */
static bool has_dot_segment(const char *path)
{
    const char *end = path + strcspn(path, "?#");
    for (const char *slash = path; slash < end; slash++) {
        if (*slash != '/')
            continue;
        const char *at = slash + 1;
        int dots = 0;
        while (at < end && (*at == '.' || strncasecmp(at, "%2e", 3) == 0)) {
            at += *at == '.' ? 1 : 3;
            dots++;
        }
        if ((dots == 1 || dots == 2) && (at == end || *at == '/'))
            return true;
    }
    return false;
}

/* A prefix holds for a URL only if scheme, host and port are the same and the path continues at a boundary,
 * so that https://example.com never lends its credentials to https://example.com.evil.org, nor /a to /a/../b.
 */
static size_t prefix_match(const char *prefix, const char *url)
{
    char prefix_host[URL_HOST_BYTES], host[URL_HOST_BYTES];
    size_t scheme = strcspn(prefix, ":");
    if (strncasecmp(prefix, url, scheme) != 0 || url[scheme] != ':' ||
        url_host(prefix, prefix_host, sizeof prefix_host)[0] == '\0' ||
        strcmp(prefix_host, url_host(url, host, sizeof host)) != 0)
        return 0;
    const char *prefix_path = prefix + scheme + 3 + strcspn(prefix + scheme + 3, "/?#");
    const char *path = url + scheme + 3 + strcspn(url + scheme + 3, "/?#");
    size_t length = strlen(prefix_path);
    if (strcmp(prefix_path, "/") == 0 || length == 0)
        return 1;
    if (strncmp(prefix_path, path, length) != 0 || has_dot_segment(path))
        return 0;
    bool at_boundary = prefix_path[length - 1] == '/' || strchr("/?#", path[length]) != NULL;
    return at_boundary ? length + 1 : 0;
}

const struct source_rule *settings_source_for(const struct settings *settings, const char *url)
{
    const struct source_rule *best = NULL;
    size_t best_length = 0;
    for (size_t i = 0; i < settings->source_count; i++) {
        size_t length = prefix_match(settings->sources[i].prefix, url);
        if (length > best_length) {
            best_length = length;
            best = &settings->sources[i];
        }
    }
    return best;
}
