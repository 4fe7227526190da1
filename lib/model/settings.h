/* Every setting and limit of a run. One const table (settings_table.c) has each one's name, default,
 * environment name and help line: it is the options of the command line, the keys of tender.yml and the
 * manual's list. A flag wins over the environment, that over tender.yml, that over the default. */
#ifndef TENDER_MODEL_SETTINGS_H
#define TENDER_MODEL_SETTINGS_H

#include "base/arena.h"
#include "model/software.h"
#include <stdint.h>

enum retry_strategy { RETRY_EXPONENTIAL, RETRY_LINEAR, RETRY_CONSTANT };
enum retry_jitter { RETRY_JITTER_FULL, RETRY_JITTER_NONE };

/* Design, "Retry, in one place". */
struct retry_policy {
    int64_t rounds; /* attempts once all sources were tried counts as one round */
    int64_t initial_ms;
    double factor;
    int64_t max_delay_ms;
    enum retry_strategy strategy;
    enum retry_jitter jitter;
    int64_t retry_after_max_ms; /* a longer Retry-After puts the source out */
};

/* What holds for URLs that begin with `prefix`: from tender.yml's `sources`. The longest matching prefix
 * counts. */
struct source_rule {
    const char *prefix;
    struct retry_policy retry; /* the general one with what the rule changes */
    const char *header;        /* "Name: value" to send; NULL: none. Secret */
    const char *username;      /* basic authentication; NULL: none. Secret */
    const char *password;
    const char *header_file; /* the same, from a file's first line; NULL: none */
    const char *password_file;
    const char *client_cert, *client_key; /* files, PEM; NULL: the general ones */
};

/* From tender.yml's `mirrors`: what lies below `prefix` lies below each replacement too. */
struct mirror_rule {
    const char *prefix;
    struct string_list replacements; /* in the order to try them */
};

/* From tender.yml's `backup_urls`: where else the bytes of one package lie. One of the first two is set. */
struct backup_rule {
    const char *package_file; /* from the repository's root */
    const char *url;
    struct string_list urls;
    struct place place; /* of the rule */
};

/* From tender.yml's `guards`: what pruning may do in teams whose name matches the glob; the first one that
 * matches counts. */
struct guard_rule {
    const char *team;
    enum tristate prune; /* absent: as `prune` and `prune_teams` say */
    bool allow_empty;    /* the general one where the rule does not say it; as the next one */
    int64_t max_removals;
    struct place place; /* of the rule */
};

struct limits {
    int64_t parallel; /* downloads at once */
    int64_t parallel_per_host;
    int64_t parallel_api;          /* API reads at once */
    int64_t bandwidth_bytes_per_s; /* of all downloads together; 0: no cap */
    int64_t connect_timeout_ms;    /* resolve, connect and TLS */
    int64_t stall_bytes_per_s;     /* slower than this … */
    int64_t stall_ms;              /* … for so long is a stall */
    int64_t item_timeout_ms;       /* without 1 MiB of progress */
    int64_t max_requests_per_item;
    int64_t max_redirects;
    int64_t max_package_bytes;
    int64_t max_cache_bytes;    /* 0: no limit; unused packages beyond it are pruned */
    int64_t max_document_bytes; /* one YAML file, one script */
    int64_t max_answer_bytes;   /* one JSON answer */
    int64_t api_timeout_ms;     /* first byte of an API answer; uploads have the stall limit and then this */
    int64_t batch_timeout_ms;   /* a batch that does not end */
    int64_t shutdown_grace_ms;
    int64_t deadline_ms;           /* 0: none; the whole run */
    int64_t repository_timeout_ms; /* the whole of one git fetch */
};

enum setting_origin_kind { ORIGIN_DEFAULT, ORIGIN_FILE, ORIGIN_ENVIRONMENT, ORIGIN_FLAG };
struct setting_origin {
    enum setting_origin_kind kind;
    int line;                  /* in tender.yml */
    const struct place *items; /* of a list there: where each item stands; else NULL */
};
enum { SETTINGS_MOST = 128, SETTINGS_LIST_MOST = 2000 /* items of one list */ };

struct settings {
    /* the server */
    const char *fleet_url;
    const char *fleet_token; /* secret */
    const char *token_file;
    /* the repository */
    const char *repository; /* URL or path; NULL: --dir */
    const char *revision;   /* with repository: branch, tag or commit; NULL: the remote's HEAD */
    const char *git_username;
    const char *git_password;         /* secret */
    const char *directory;            /* --dir */
    const char *commit;               /* with directory: a commit of it; NULL: its files as they lie */
    const char *subdir;               /* "" : the root */
    struct string_list files;         /* -f, or `files:`: globs from the root */
    struct string_list teams;         /* --team: globs */
    struct string_list exclude_teams; /* globs; they win over `teams` */
    const char *changed_since;        /* only teams that differ from this revision; NULL: all */
    /* places */
    const char *state_dir;
    const char *cache_dir; /* NULL: state_dir/cache */
    /* behaviour */
    bool prune;
    struct string_list prune_teams; /* pruning on for these only, where `prune` is off */
    bool allow_empty;
    int64_t max_removals;
    int64_t max_removals_run;
    size_t guard_count;
    const struct guard_rule *guards;
    bool create_teams;
    bool full;    /* read every title's details */
    bool relearn; /* send assumed fields once, to learn the defaults */
    /* the network */
    const char *user_agent;
    const char *ca_file;                  /* NULL: the system's */
    const char *client_cert, *client_key; /* for packages; NULL: none. The key may lie in client_cert */
    const char *netrc_file;               /* NULL: none is read */
    struct retry_policy retry;
    struct limits limits;
    size_t source_count;
    struct source_rule *sources;
    size_t mirror_count;
    const struct mirror_rule *mirrors;
    size_t backup_count;
    const struct backup_rule *backups;
    struct string_list allowed_sources; /* URL prefixes; not set: every source is allowed */
    /* the loop */
    int64_t interval_ms;
    int64_t interval_jitter_percent;
    /* output */
    const char *report_file; /* NULL: none */
    const char *log_format;  /* "text", "json" */
    const char *log_level;   /* "debug", "info", "warning", "error" */
    const char *format;      /* "text", "json", … */
    const char *color;       /* "auto", "always", "never" */
    bool detailed_exitcode;
    /* tender.yml has a mistake that may concern `files`, `teams` or `exclude_teams`: nothing is applied, and
     * what hangs on them is not judged. */
    bool selection_in_doubt;
    /* Where each setting of the table comes from, by its index. */
    struct setting_origin origins[SETTINGS_MOST];
};

enum setting_type {
    SETTING_TEXT,
    SETTING_SECRET, /* as text, but never shown */
    SETTING_LIST,   /* repeatable; comma-separated in the environment */
    SETTING_SWITCH, /* bool */
    SETTING_NUMBER,
    SETTING_FACTOR,   /* double */
    SETTING_DURATION, /* "2s", "500ms", "10min", "1h", "0"; a bare number is seconds */
    SETTING_SIZE,     /* "64MiB", "1GiB", "500kB"; a bare number is bytes */
    SETTING_STRATEGY, /* exponential, linear, constant */
    SETTING_JITTER,   /* full, none */
};

struct setting {
    const char *name; /* "retry-initial": the flag is --retry-initial, the key in tender.yml retry_initial */
    char letter;      /* short option; 0: none */
    const char *environment; /* "TENDER_RETRY_INITIAL" */
    enum setting_type type;
    size_t offset;            /* in struct settings */
    const char *default_text; /* NULL: unset */
    const char *value_name;   /* "DURATION" */
    const char *help;         /* one line */
    unsigned commands;        /* set of SETTING_FOR_…: which commands take it as a flag */
    bool in_file;             /* may stand in tender.yml */
    int64_t least, most;      /* numbers, durations and sizes: the accepted range */
};

enum {
    SETTING_FOR_REPOSITORY = 1 << 0, /* every command that reads manifests */
    SETTING_FOR_FETCH = 1 << 1,
    SETTING_FOR_FLEET = 1 << 2, /* plan, apply, run */
    SETTING_FOR_WRITE = 1 << 3, /* apply, run */
    SETTING_FOR_LOOP = 1 << 4,  /* run */
    SETTING_FOR_PLAN = 1 << 5,
    SETTING_FOR_SHOW = 1 << 6, /* show, validate */
    SETTING_FOR_ALL = 1 << 7,
    SETTING_FOR_REPORT = 1 << 8, /* plan, apply, run, fetch */
};

extern const struct setting settings_table[];
extern const size_t settings_count;

/* All defaults. Fails only if the table is wrong, which a test checks. */
int settings_init(struct settings *settings, struct err *e) MUST_CHECK;
const struct setting *settings_find(const char *name); /* with '-' or '_'; NULL if there is none */
/* Sets one from text, checked by its type and range; strings are copied into the arena. `where` names the
 * source in errors ("--parallel", "TENDER_PARALLEL"). Lists: the text is appended. */
int settings_set(struct settings *settings, const struct setting *setting, const char *text,
                 const char *where, struct arena *arena, struct err *e) MUST_CHECK;
/* The value as text, as settings_set takes it; secrets as "***"; "" if unset. Into out. */
const char *settings_text(const struct settings *settings, const struct setting *setting, char *out,
                          size_t size);
/* "--parallel", "TENDER_PARALLEL", "tender.yml:3", "default": where the value comes from. Returns out. */
const char *settings_origin_text(const struct settings *settings, const struct setting *setting, char *out,
                                 size_t size);
/* The rule of the longest prefix that matches at a path boundary, with the same scheme, host and port; NULL
 * if none. */
const struct source_rule *settings_source_for(const struct settings *settings, const char *url);
/* Where else the URL's bytes lie, by the mirror rule of the longest prefix that matches by the same rules:
 * the URLs in the order to try them, in the arena. The user info of `url` goes to no mirror; its query does.
 * An empty list if no rule holds. */
int settings_mirrors_for(const struct settings *settings, const char *url, struct arena *arena,
                         struct string_list *out, struct err *e) MUST_CHECK;
/* Whether `allowed_sources` lets the URL be fetched, by the same rules: every URL where it is not set. */
bool settings_allows_source(const struct settings *settings, const char *url);

#endif
