/* The one table of settings: the command line's options, the environment's names, tender.yml's keys and the
 * manual are made from it. */
#include "model/settings.h"
#include <stddef.h>

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
     "Branch, tag or commit of --repository; default: its HEAD", MANIFESTS, false, 0, 0},
    {"git-username", 0, "TENDER_GIT_USERNAME", SETTING_TEXT, AT(git_username), NULL, "NAME",
     "For https, where the URL has no user", MANIFESTS, false, 0, 0},
    {"git-password", 0, "TENDER_GIT_PASSWORD", SETTING_SECRET, AT(git_password), NULL, "PASSWORD",
     "For https, or an ssh key's passphrase; better by the environment", MANIFESTS, false, 0, 0},
    {"dir", 'C', "TENDER_DIR", SETTING_TEXT, AT(directory), NULL, "DIR",
     "Read this folder's files as they lie, instead of --repository", MANIFESTS, false, 0, 0},
    {"commit", 0, "TENDER_COMMIT", SETTING_TEXT, AT(commit), NULL, "REV",
     "With --dir: this commit of it, not the files as they lie", MANIFESTS, false, 0, 0},
    {"subdir", 0, "TENDER_SUBDIR", SETTING_TEXT, AT(subdir), "", "PATH",
     "The repository's part that holds the manifests", MANIFESTS, false, 0, 0},
    {"file", 'f', "TENDER_FILES", SETTING_LIST, AT(files), NULL, "GLOB", "Only these team files (repeatable)",
     MANIFESTS, true, 0, 0},
    {"team", 't', "TENDER_TEAMS", SETTING_LIST, AT(teams), NULL, "NAME",
     "Only teams whose name matches this glob (repeatable)", MANIFESTS, true, 0, 0},
    {"exclude-team", 0, "TENDER_EXCLUDE_TEAMS", SETTING_LIST, AT(exclude_teams), NULL, "NAME",
     "Leave out teams whose name matches this glob (repeatable)", MANIFESTS, true, 0, 0},
    {"changed-since", 0, "TENDER_CHANGED_SINCE", SETTING_TEXT, AT(changed_since), NULL, "REV",
     "Only teams of which a file differs from this branch, tag or commit", MANIFESTS, false, 0, 0},
    {"allowed-source", 0, "TENDER_ALLOWED_SOURCES", SETTING_LIST, AT(allowed_sources), NULL, "URL",
     "Packages may come from below these URL prefixes only (repeatable)", MANIFESTS, true, 0, 0},

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
    {"bandwidth", 0, "TENDER_BANDWIDTH", SETTING_SIZE, AT(limits.bandwidth_bytes_per_s), "0", "SIZE",
     "All downloads together, per second; 0: no cap", FETCH, true, 0, INT64_MAX},
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
    {"client-cert", 0, "TENDER_CLIENT_CERT", SETTING_TEXT, AT(client_cert), NULL, "FILE",
     "Client certificate for package hosts (PEM)", FETCH, true, 0, 0},
    {"client-key", 0, "TENDER_CLIENT_KEY", SETTING_TEXT, AT(client_key), NULL, "FILE",
     "Its key, where the certificate's file does not hold it", FETCH, true, 0, 0},
    {"netrc-file", 0, "TENDER_NETRC_FILE", SETTING_TEXT, AT(netrc_file), NULL, "FILE",
     "Logins of package hosts; no such file is read unless named", FETCH, true, 0, 0},

    {"interval", 'i', "TENDER_INTERVAL", SETTING_DURATION, AT(interval_ms), "5min", "DURATION",
     "Between the starts of two runs", LOOP, true, SECONDS, 7 * DAYS},
    {"interval-jitter", 0, "TENDER_INTERVAL_JITTER", SETTING_NUMBER, AT(interval_jitter_percent), "10",
     "PERCENT", "Spread of the interval", LOOP, true, 0, 100},

    {"report", 0, "TENDER_REPORT", SETTING_TEXT, AT(report_file), NULL, "FILE",
     "Write the report as JSON too (FILE - is standard output)", REPORT, false, 0, 0},
    {"format", 0, "TENDER_FORMAT", SETTING_TEXT, AT(format), "text", "NAME",
     "text or json on standard output; validate: github, sarif, gitlab too", SHOW | REPORT, false, 0, 0},
    {"log-format", 0, "TENDER_LOG_FORMAT", SETTING_TEXT, AT(log_format), "text", "NAME",
     "text or json lines on standard error", ALL, false, 0, 0},
    {"log-level", 0, "TENDER_LOG_LEVEL", SETTING_TEXT, AT(log_level), "info", "LEVEL",
     "debug, info, warning or error", ALL, false, 0, 0},
    {"color", 0, "TENDER_COLOR", SETTING_TEXT, AT(color), "auto", "WHEN", "auto, always or never", ALL, false,
     0, 0},
};

const size_t settings_count = ARRAY_LENGTH(settings_table);

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
