/* Inside lib/manifest: what one load carries along, and how its files find, read and complain. */
#ifndef TENDER_MANIFEST_LOAD_H
#define TENDER_MANIFEST_LOAD_H

#include "manifest/manifest.h"
#include "manifest/map.h"
#include "manifest/yaml.h"

/* One thing that is wrong, told once however often it is met. */
struct finding {
    struct diagnostic diagnostic;
    const char *about; /* what trail_add had of the file that it is about; NULL: the one that it stands in */
    bool is_own;       /* met in the entry that it stands in, or in none */
    int *sharers;      /* lines of other entries, which have it by an alias or a merge key */
    size_t sharer_count, sharer_capacity;
};

/* Paths from the root, in the arena; one may stand there twice. */
struct file_list {
    const char **paths;
    size_t count, capacity;
};

struct load {
    const struct manifest_source *source;
    const struct manifest_options *options;
    struct arena *arena;
    struct finding *findings; /* as they were found */
    size_t finding_count, finding_capacity;
    struct map told;        /* place and text → struct told */
    size_t latest;          /* the index of what was found, or met again, last */
    size_t met_count;       /* findings that were met, also those that were told before */
    size_t error_count;     /* of them, errors */
    struct place entry;     /* the entry that is being read; no file: none is */
    const char *idle_guard; /* as in struct desired */
    struct secret_variable *secrets;
    size_t secret_count, secret_capacity;
    struct map secret_names;
    struct map texts;        /* "how:path" → struct text_reference */
    struct map packages;     /* path → struct package_file */
    struct claims *claims;   /* claims.c: of the team that is being read */
    struct map users;        /* trail.c: a faulty file → who names it */
    struct map steps;        /* trail.c: the same, and who → what was added to `users` */
    struct map broken_paths; /* blame.c: path and problem → the node that names it first */
    /* With options->changed: the files of what is being read, and the teams' files that were chosen. */
    struct file_list *files;
    const struct map *chosen;
    struct yaml_file *settings_file; /* settings_reopen */
    size_t file_count;
    const char *referrer; /* the team file that is being read */
};

/* --- diagnose.c: the user's mistakes are collected, they fail nothing; -1 only when out of memory. */

/* `file` gives the excerpt and may be NULL; `advice` is a constant or lives in the arena, and may be NULL.
 * What was told before, at the same place in the same words, is not told again. */
int diagnose(struct load *load, enum rule rule, struct yaml_file *file, struct place place,
             const char *advice, struct err *e, const char *format, ...) PRINTF_LIKE(7, 8) MUST_CHECK;
#define diagnose_at(load, rule, node, advice, e, ...)                                                        \
    diagnose((load), (rule), (node)->file, yaml_place(node), (advice), (e), __VA_ARGS__)
/* A key that stands in its mapping before. `advice` may be NULL. */
int diagnose_twice(struct load *load, const struct yaml_node *key, const struct yaml_node *first,
                   const char *advice, struct err *e) MUST_CHECK;
/* A value that yaml_is_decorated. */
int diagnose_decoration(struct load *load, const struct yaml_node *node, struct err *e) MUST_CHECK;
/* "<<" that was not merged. */
int diagnose_merge_key(struct load *load, const struct yaml_pair *pair, struct err *e) MUST_CHECK;
/* An ERR_MANIFEST that yaml_parse gave; other errors are passed on. */
int diagnose_problem(struct load *load, struct yaml_file *file, const struct err *problem,
                     struct err *e) MUST_CHECK;
/* Puts the diagnostics to those that `out` has, all sorted by file and line. */
int diagnose_finish(struct load *load, struct desired *out, struct err *e) MUST_CHECK;
/* A value as it may be shown in a message: the first line, URLs redacted. Returns out. */
enum { SHOWN_BYTES = 256 };
const char *diagnose_value(const struct yaml_node *node, char out[SHOWN_BYTES]);

/* --- excerpt.c */

enum { EXCERPT_LINE_BYTES = 4096 };
/* Fills the excerpt, and where in it the place is. */
int excerpt_take(struct load *load, struct yaml_file *file, struct diagnostic *diagnostic,
                 struct err *e) MUST_CHECK;
/* Each word with "://" in it becomes what url_redact makes of it. */
void excerpt_redact(const char *text, char *out, size_t size);

/* --- mapping.c */

/* A mapping with few keys, and what was found in it. */
struct mapping {
    const char *what;   /* for messages: `"software"` */
    const char *advice; /* for a key that stands there twice; NULL: which of them to remove */
    const char *const *names;
    size_t count;
    const struct yaml_node **keys;   /* by name; NULL: absent */
    const struct yaml_node **values; /* the same; NULL: absent or null */
    bool has_errors;
};
/* The key's index among the names; -1 if it is none of them. */
int mapping_find(const char *const *names, size_t count, const struct yaml_node *key);
/* Unknown and repeated keys are told. `node` is a mapping. */
int mapping_read(struct load *load, const struct yaml_node *node, struct mapping *mapping,
                 struct err *e) MUST_CHECK;

/* --- references.c */

/* Why a file that was named can't be used. */
struct file_problem {
    const char *text; /* NULL: it was read */
    bool is_missing;  /* else: a folder, too large, a link out of the repository */
};
/* Reads the whole file, or says why not. */
int reference_read(struct load *load, const char *path, struct yaml_file *out, struct file_problem *problem,
                   struct err *e) MUST_CHECK;
/* `reference` as it stands in the file `from`, from the root, without "." and ".." parts. NULL and *reason if
 * it leads nowhere inside the repository; NULL and `e` when out of memory. */
const char *reference_resolve(struct load *load, const char *from, const char *reference, const char **reason,
                              struct err *e) MUST_CHECK;
/* Paths that match the pattern (from the root; "*", "?", "[…]" in a part, "**" for any folders), sorted.
 * None, and *problem, where that can't be told: a folder can't be read, or there are too many. */
int reference_glob(struct load *load, const char *pattern, struct string_list *out, const char **problem,
                   struct err *e) MUST_CHECK;
/* The files and folders in `folder`, sorted. A missing folder is an empty one. */
struct listing {
    size_t count, capacity;
    const char *problem; /* why it can't be read, a link out of the repository for one; NULL: it was */
    struct listing_entry {
        const char *name;
        bool is_folder;
    } * entries;
};
int reference_list(struct load *load, const char *folder, struct listing *out, struct err *e) MUST_CHECK;
/* "folder/name" in the arena; "" is the root. */
const char *reference_join(struct load *load, const char *folder, const char *name, struct err *e) MUST_CHECK;

/* How a referenced file's bytes are taken. */
enum text_use {
    TEXT_SCRIPT, /* CRLF becomes LF; $FLEET_SECRET_… are collected */
    TEXT_BYTES,  /* as they lie; secrets are collected in scripts only */
    TEXT_SCRIPT_PACKAGE,
    TEXT_QUERY, /* a YAML file with one query: the query itself */
};
struct text_reference {
    struct text_file file;
    const char *sha256;        /* script packages */
    const char *problem;       /* why it can't be used; NULL if it can */
    bool is_missing;           /* that is why */
    bool is_reported;          /* the problem is inside the file, and a diagnostic says it already */
    bool has_carriage_returns; /* script packages */
};

/* --- blame.c */

/* `path`, which `at` names (under `key`, unless NULL), can't be used because of `problem`: an error at the
 * first place that names it; later places are added to its trail. */
int reference_blame(struct load *load, enum rule rule, const struct yaml_node *at, const char *key,
                    const char *path, const char *problem, struct err *e) MUST_CHECK;
/* What is wrong with how a path is written that leads nowhere; NULL: nothing that can be seen. */
const char *reference_spelling(const char *path);
/* "did you mean lib/x.yml?": part by part, what differs in case or accents only, else the nearest name; NULL
 * if there is none. */
int reference_advice(struct load *load, const char *path, const char **advice, struct err *e) MUST_CHECK;
/* Each file is read once. `node` is where it is named. */
int reference_text(struct load *load, const char *path, enum text_use use, const struct yaml_node *node,
                   const struct text_reference **out, struct err *e) MUST_CHECK;

/* --- trail.c: whom the findings in a file concern */

/* The place names the file, in or about which something was found. `key` is its path; for a finding about a
 * file, that of finding->about: the path, a line end, and what keeps it from other findings about it. */
int trail_add(struct load *load, const char *key, struct place from, struct err *e) MUST_CHECK;
/* The finding that was told last is about the file of `key`, which the place names. */
int trail_about(struct load *load, const char *key, struct place from, struct err *e) MUST_CHECK;
/* Fills the finding's `trail` and `related`: the chain of files that led to it, and who else is concerned. */
int trail_finish(struct load *load, struct finding *finding, struct err *e) MUST_CHECK;

/* --- variables.c */

/* The scalar's text with $NAME and ${NAME} replaced. *out is NULL, and a diagnostic written, where one is not
 * set. */
int variables_expand(struct load *load, const struct yaml_node *scalar, const char **out,
                     struct err *e) MUST_CHECK;
/* Collects the $FLEET_SECRET_NAME of a script. */
int variables_collect_secrets(struct load *load, const char *text, size_t length, struct place used_at,
                              struct err *e) MUST_CHECK;

/* --- settings_file.c: tender.yml, when the teams are read */

/* Where the item of a list stands in tender.yml; line 0 if it comes from a flag or the environment. */
struct place settings_item_place(const struct load *load, const struct string_list *list, const char *setting,
                                 size_t index);
/* The file again, for excerpts; NULL if it can't be read any more. */
int settings_reopen(struct load *load, struct yaml_file **out, struct err *e) MUST_CHECK;
/* Which teams' files there are is what tender.yml says (or the default): no flag and no variable says
 * otherwise; and the same of which of them are read. With options->settings only. */
bool settings_name_files(const struct load *load);
bool settings_name_teams(const struct load *load);

/* --- selection.c: which teams are read */

struct team_source;
/* By its name, and by --changed-since. */
bool selection_takes(const struct load *load, const struct team_source *source);
/* Patterns and guards that are for no team. `are_known`: there is no team but these, as far as files and
 * names could be read. */
int selection_check(struct load *load, const struct team_source *sources, size_t count, bool are_known,
                    struct err *e) MUST_CHECK;
/* A file that what is being read refers to, whether it is there or not. */
int selection_record(struct load *load, const char *path, struct err *e) MUST_CHECK;
int selection_record_all(struct load *load, const struct file_list *files, struct err *e) MUST_CHECK;
/* Each changed path that matches the pattern of a `paths:`: a deleted file too. */
int selection_record_matches(struct load *load, const char *pattern, struct err *e) MUST_CHECK;
/* Puts the paths of the teams' files that a change touches into `chosen`. */
struct selected_team {
    const char *path; /* of the team's file */
    struct file_list files;
};
int selection_choose(struct load *load, const struct selected_team *teams, size_t count, struct map *chosen,
                     struct err *e) MUST_CHECK;

/* --- backups.c */

/* Lays tender.yml's `backup_urls` over the packages, and tells of those that none is there for. */
int backups_apply(struct load *load, struct desired_team *teams, size_t count, struct err *e) MUST_CHECK;

/* --- team_file.c, team_names.c */

/* A file that may be a team's. */
struct team_source {
    struct yaml_file file;
    const struct yaml_node *root; /* NULL: empty, or not YAML */
    const char *name;             /* NULL: not known */
    struct place name_place;
    bool is_no_team;
    bool is_misnamed;     /* a special name in another file, or another one in a special file: told */
    bool is_organisation; /* no team: default.yml's kind */
    bool is_invalid;
    bool is_left_out; /* by --team, --exclude-team or --changed-since */
};

/* Reads the file and its name. */
int team_file_open(struct load *load, const char *path, struct team_source *out, struct err *e) MUST_CHECK;
/* Everything else of it. */
int team_file_read(struct load *load, struct team_source *source, struct desired_team *out,
                   struct err *e) MUST_CHECK;
/* `software` in an organisation's file must be null or absent. */
int team_file_check_organisation(struct load *load, const struct yaml_node *root, struct err *e) MUST_CHECK;
/* Names that collide, x.yml beside x.yaml: both become invalid. */
int check_team_names(struct load *load, struct team_source *sources, size_t count, struct err *e) MUST_CHECK;

#endif
