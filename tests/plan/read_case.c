/* Reads case.json strictly: an unknown key ends the test, so that a case never tests less than it seems to.
 */
#include "read_case.h"
#include "base/text.h"
#include "base/url.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOUR_MS = 3600 * 1000, KEY_BYTES = 8192 };

static struct err e;

static void die(const char *format, ...) PRINTF_LIKE(1, 2) __attribute__((noreturn));
static void die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(2);
}

static void *must(void *pointer)
{
    if (pointer == NULL)
        die("%s", e.text);
    return pointer;
}

static void check_keys(const json_t *object, const char *const *keys, size_t count)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        bool known = false;
        for (size_t i = 0; i < count && !known; i++)
            known = strcmp(keys[i], key) == 0;
        if (!known)
            die("unknown key \"%s\"", key);
    }
}
#define CHECK_KEYS(object, ...)                                                                              \
    check_keys((object), (const char *const[]){__VA_ARGS__},                                                 \
               sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static const char *text_of(const json_t *object, const char *key, const char *otherwise)
{
    const json_t *value = json_object_get(object, key);
    return json_is_string(value) ? json_string_value(value) : otherwise;
}

static int64_t number_of(const json_t *object, const char *key, int64_t otherwise)
{
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

static bool truth_of(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

static enum tristate tristate_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_true(value) ? TRISTATE_TRUE : json_is_false(value) ? TRISTATE_FALSE : TRISTATE_ABSENT;
}

static const char *digest_of(const json_t *object, const char *key, struct arena *arena)
{
    const char *word = text_of(object, key, NULL);
    if (word == NULL)
        return NULL;
    char *digest = must(arena_alloc(arena, DIGEST_HEX_BYTES, &e));
    for (size_t i = 0; i < DIGEST_HEX_BYTES - 1; i++)
        digest[i] = word[i % strlen(word)];
    return digest;
}

static struct string_list list_of(const json_t *object, const char *key, struct arena *arena)
{
    const json_t *array = json_object_get(object, key);
    struct string_list list = {.is_set = json_is_array(array), .count = json_array_size(array)};
    const char **items = must(arena_alloc_array(arena, list.count, sizeof *items, &e));
    for (size_t i = 0; i < list.count; i++)
        items[i] = json_string_value(json_array_get(array, i));
    list.items = items;
    return list;
}

static unsigned fields_of(const json_t *object, const char *key)
{
    const json_t *array = json_object_get(object, key);
    unsigned fields = 0;
    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *name = json_string_value(json_array_get(array, i));
        unsigned before = fields;
        for (int bit = 0; bit < SOFTWARE_FIELD_COUNT; bit++)
            if (strcmp(software_field_name((enum software_field)(1 << bit)), name) == 0)
                fields |= 1u << bit;
        if (fields == before)
            die("no field \"%s\"", name);
    }
    return fields;
}

static struct text_file wished_file(const json_t *object, const char *key)
{
    const char *text = text_of(object, key, NULL);
    return text == NULL ? (struct text_file){.path = NULL}
                        : (struct text_file){.path = key, .text = text, .length = strlen(text)};
}

static enum label_mode label_mode_of(const json_t *object, const char **key)
{
    static const enum label_mode modes[] = {LABELS_INCLUDE_ANY, LABELS_EXCLUDE_ANY, LABELS_INCLUDE_ALL};
    for (size_t i = 0; i < ARRAY_LENGTH(modes); i++) {
        *key = label_mode_name(modes[i]);
        if (json_object_get(object, *key) != NULL)
            return modes[i];
    }
    return LABELS_NONE;
}

static struct software_item read_item(const json_t *object, enum software_kind kind, int line,
                                      const char *file, struct arena *arena)
{
    CHECK_KEYS(object, "url", "sha256", "backup_urls", "script", "always_download", "slug", "app_store_id",
               "platform", "install_script", "uninstall_script", "post_install_script", "pre_install_query",
               "icon", "self_service", "labels_include_any", "labels_exclude_any", "labels_include_all",
               "categories", "setup_experience", "display_name", "package_file");
    const char *label_key = NULL;
    struct software_item item = {
        .kind = json_object_get(object, "script") != NULL ? SOFTWARE_SCRIPT_PACKAGE : kind,
        .place = {.file = file, .line = line, .column = 5},
        .package_file = text_of(object, "package_file", ""),
        .url = text_of(object, "url", NULL),
        .sha256 = digest_of(object, "sha256", arena),
        .backup_urls = list_of(object, "backup_urls", arena),
        .always_download = truth_of(object, "always_download"),
        .slug = text_of(object, "slug", NULL),
        .app_store_id = text_of(object, "app_store_id", NULL),
        .platform = text_of(object, "platform", NULL),
        .install_script = wished_file(object, "install_script"),
        .uninstall_script = wished_file(object, "uninstall_script"),
        .post_install_script = wished_file(object, "post_install_script"),
        .pre_install_query = wished_file(object, "pre_install_query"),
        .icon = wished_file(object, "icon"),
        .self_service = truth_of(object, "self_service"),
        .categories = list_of(object, "categories", arena),
        .setup_experience = tristate_of(object, "setup_experience"),
        .display_name = text_of(object, "display_name", NULL),
    };
    item.label_mode = label_mode_of(object, &label_key);
    if (item.label_mode != LABELS_NONE)
        item.labels = list_of(object, label_key, arena);
    if (item.kind == SOFTWARE_SCRIPT_PACKAGE)
        item.script = (struct text_file){
            .path = text_of(object, "script", NULL), .text = "#!/bin/sh\n", .length = strlen("#!/bin/sh\n")};
    item.origin = item.package_file[0] == '\0'
                      ? item.place
                      : (struct place){.file = item.package_file, .line = 1, .column = 1};
    return item;
}

static struct software_list read_list(const json_t *team, const char *key, enum software_kind kind,
                                      const char *file, struct arena *arena)
{
    const json_t *array = json_object_get(team, key);
    struct software_list list = {.state = array == NULL         ? LIST_ABSENT
                                          : json_is_null(array) ? LIST_NULL
                                                                : LIST_GIVEN};
    list.count = json_array_size(array);
    list.items = must(arena_alloc_array(arena, list.count, sizeof *list.items, &e));
    for (size_t i = 0; i < list.count; i++)
        list.items[i] = read_item(json_array_get(array, i), kind, 10 + (int)i, file, arena);
    return list;
}

static void read_desired(const json_t *teams, struct arena *arena, struct desired *out)
{
    out->revision = "golden";
    out->team_count = json_array_size(teams);
    out->teams = must(arena_alloc_array(arena, out->team_count, sizeof *out->teams, &e));
    for (size_t i = 0; i < out->team_count; i++) {
        const json_t *object = json_array_get(teams, i);
        struct desired_team *team = &out->teams[i];
        CHECK_KEYS(object, "name", "file", "no_team", "invalid", "empty_pattern", "packages", "apps",
                   "store");
        team->name = text_of(object, "name", "Alpha");
        team->place =
            (struct place){.file = text_of(object, "file", "teams/alpha.yml"), .line = 1, .column = 1};
        team->is_no_team = truth_of(object, "no_team");
        team->is_invalid = truth_of(object, "invalid");
        team->packages = read_list(object, "packages", SOFTWARE_PACKAGE, team->place.file, arena);
        team->packages.empty_pattern = text_of(object, "empty_pattern", NULL);
        team->maintained_apps = read_list(object, "apps", SOFTWARE_MAINTAINED_APP, team->place.file, arena);
        team->app_store_apps = read_list(object, "store", SOFTWARE_APP_STORE_APP, team->place.file, arena);
    }
}

static struct observed_title read_title(const json_t *object, struct arena *arena)
{
    CHECK_KEYS(object, "id", "name", "sha256", "url", "version", "self_service", "policies", "setup",
               "app_id", "slug", "app_store_id", "platform", "details");
    struct observed_title title = {
        .title_id = number_of(object, "id", 0),
        .name = text_of(object, "name", "thing"),
        .source = "deb_packages",
        .version = text_of(object, "version", "1.0"),
        .platform = text_of(object, "platform", "linux"),
        .file_name = "thing.deb",
        .sha256 = digest_of(object, "sha256", arena),
        .url = text_of(object, "url", ""),
        .self_service = truth_of(object, "self_service"),
        .maintained_app_id = number_of(object, "app_id", 0),
        .app_store_id = text_of(object, "app_store_id", NULL),
        .policies = list_of(object, "policies", arena),
        .slug = text_of(object, "slug", NULL),
        .install_during_setup = tristate_of(object, "setup"),
    };
    if (title.maintained_app_id != 0)
        title.kind = SOFTWARE_MAINTAINED_APP;
    else if (title.app_store_id != NULL)
        title.kind = SOFTWARE_APP_STORE_APP;
    return title;
}

static void read_observed(const json_t *fleet, struct arena *arena, struct observed *out)
{
    const json_t *teams = json_object_get(fleet, "teams");
    CHECK_KEYS(fleet, "unread", "labels", "teams");
    *out = (struct observed){.server_version = "4.69.0",
                             .role = "admin",
                             .is_read = !truth_of(fleet, "unread"),
                             .labels = list_of(fleet, "labels", arena),
                             .team_count = json_array_size(teams)};
    out->teams = must(arena_alloc_array(arena, out->team_count, sizeof *out->teams, &e));
    for (size_t i = 0; i < out->team_count; i++) {
        const json_t *object = json_array_get(teams, i);
        const json_t *titles = json_object_get(object, "titles");
        CHECK_KEYS(object, "id", "name", "error", "titles", "unclear");
        struct observed_team *team = &out->teams[i];
        *team = (struct observed_team){.id = number_of(object, "id", (int64_t)i + 1),
                                       .name = text_of(object, "name", "Alpha"),
                                       .error = text_of(object, "error", NULL),
                                       .unclear_count =
                                           (size_t)json_integer_value(json_object_get(object, "unclear")),
                                       .title_count = json_array_size(titles)};
        team->titles = must(arena_alloc_array(arena, team->title_count, sizeof *team->titles, &e));
        for (size_t j = 0; j < team->title_count; j++)
            team->titles[j] = read_title(json_array_get(titles, j), arena);
    }
}

static const json_t *title_document(const struct golden_case *golden, const struct observed_team *team,
                                    const struct observed_title *title)
{
    const json_t *teams = json_object_get(json_object_get(golden->document, "fleet"), "teams");
    const json_t *object = json_array_get(teams, (size_t)(team - golden->observed.teams));
    return json_array_get(json_object_get(object, "titles"), (size_t)(title - team->titles));
}

static struct text_file present_file(const json_t *object, const char *key)
{
    const char *text = text_of(object, key, "");
    return (struct text_file){.text = text, .length = strlen(text)};
}

void case_fill_details(const struct golden_case *golden, struct observed_team *team,
                       struct observed_title *title, struct arena *arena)
{
    const json_t *details = json_object_get(title_document(golden, team, title), "details");
    const char *label_key = NULL;
    if (json_is_false(details)) /* "details": false: they can't be read */
        return;
    if (details != NULL)
        CHECK_KEYS(details, "install_script", "uninstall_script", "post_install_script", "pre_install_query",
                   "labels_include_any", "labels_exclude_any", "labels_include_all", "categories",
                   "display_name");
    title->has_details = true;
    title->install_script = present_file(details, "install_script");
    title->uninstall_script = present_file(details, "uninstall_script");
    title->post_install_script = present_file(details, "post_install_script");
    title->pre_install_query = present_file(details, "pre_install_query");
    title->categories = list_of(details, "categories", arena);
    title->display_name = text_of(details, "display_name", NULL);
    title->label_mode = label_mode_of(details, &label_key);
    if (title->label_mode != LABELS_NONE)
        title->labels = list_of(details, label_key, arena);
}

static const struct observed_team *observed_team_of(const struct golden_case *golden, int64_t id)
{
    for (size_t i = 0; i < golden->observed.team_count; i++)
        if (golden->observed.teams[i].id == id)
            return &golden->observed.teams[i];
    die("no team %d", (int)id);
}

static char *digest_of_text(const char *text, struct arena *arena)
{
    char *hex = must(arena_alloc(arena, DIGEST_HEX_BYTES, &e));
    if (digest_bytes(text, strlen(text), hex, &e) < 0)
        die("%s", e.text);
    return hex;
}

/* Cases name a package by its URL; what is remembered, by more than that. */
static const char *remembered_key(const char *key, struct arena *arena)
{
    static const char package[] = "package:";
    if (strncmp(key, package, sizeof package - 1) != 0)
        return key;
    const struct software_item item = {.url = key + sizeof package - 1};
    char *out = must(arena_alloc(arena, KEY_BYTES, &e));
    if (software_key(&item, out, KEY_BYTES, &e) < 0)
        die("%s", e.text);
    return out;
}

static const char *wish_fingerprint_of(const struct golden_case *golden, const char *key, struct arena *arena)
{
    char own[KEY_BYTES];
    char *hex = must(arena_alloc(arena, DIGEST_HEX_BYTES, &e));
    for (size_t i = 0; i < golden->desired.team_count; i++)
        for (size_t j = 0; j < golden->desired.teams[i].packages.count; j++) {
            const struct software_item *item = &golden->desired.teams[i].packages.items[j];
            if (software_key(item, own, sizeof own, &e) == 0 && strcmp(own, key) == 0 &&
                software_fingerprint(item, hex, &e) == 0)
                return hex;
        }
    die("no item has the key %s", key);
}

static const char *row_fingerprint_of(const struct golden_case *golden, int64_t team_id, int64_t title_id,
                                      struct arena *arena)
{
    const struct observed_team *team = observed_team_of(golden, team_id);
    char *hex = must(arena_alloc(arena, DIGEST_HEX_BYTES, &e));
    for (size_t i = 0; i < team->title_count; i++)
        if (team->titles[i].title_id == title_id && observed_row_fingerprint(&team->titles[i], hex, &e) == 0)
            return hex;
    return "none";
}

static struct remembered_item read_remembered(const struct golden_case *golden, const json_t *object,
                                              struct arena *arena)
{
    CHECK_KEYS(object, "team", "key", "title", "sha256", "wish", "row", "ignored", "assumed", "age_hours");
    struct remembered_item item = {
        .team_id = number_of(object, "team", 1),
        .key = remembered_key(text_of(object, "key", ""), arena),
        .title_id = number_of(object, "title", 0),
        .sha256 = digest_of(object, "sha256", arena),
        .ignored_fields = fields_of(object, "ignored"),
        .assumed_fields = fields_of(object, "assumed"),
        .details_read_wall_ms = golden->options.now_wall_ms - number_of(object, "age_hours", 1) * HOUR_MS,
    };
    item.wish_fingerprint =
        json_object_get(object, "wish") != NULL ? "other" : wish_fingerprint_of(golden, item.key, arena);
    item.row_fingerprint = json_object_get(object, "row") != NULL
                               ? "other"
                               : row_fingerprint_of(golden, item.team_id, item.title_id, arena);
    return item;
}

static void read_memory(const json_t *memory, struct arena *arena, struct golden_case *out)
{
    const json_t *items = json_object_get(memory, "items");
    const json_t *defaults = json_object_get(memory, "defaults");
    const json_t *validators = json_object_get(memory, "validators");
    struct memory *to = &out->memory;
    if (memory != NULL)
        CHECK_KEYS(memory, "items", "defaults", "validators");
    to->item_count = json_array_size(items);
    to->items = must(arena_alloc_array(arena, to->item_count, sizeof *to->items, &e));
    for (size_t i = 0; i < to->item_count; i++)
        to->items[i] = read_remembered(out, json_array_get(items, i), arena);
    to->default_count = json_array_size(defaults);
    to->defaults = must(arena_alloc_array(arena, to->default_count, sizeof *to->defaults, &e));
    for (size_t i = 0; i < to->default_count; i++) {
        const json_t *object = json_array_get(defaults, i);
        const char *text = text_of(object, "text", "");
        to->defaults[i] =
            (struct remembered_default){.package_sha256 = digest_of(object, "sha256", arena),
                                        .field = (enum software_field)fields_of(object, "field"),
                                        .text_sha256 = digest_of_text(text, arena)};
    }
    to->validator_count = json_array_size(validators);
    to->validators = must(arena_alloc_array(arena, to->validator_count, sizeof *to->validators, &e));
    for (size_t i = 0; i < to->validator_count; i++) {
        const json_t *object = json_array_get(validators, i);
        to->validators[i] =
            (struct remembered_validator){.url_sha256 = digest_of_text(text_of(object, "url", ""), arena),
                                          .etag = "\"e\"",
                                          .last_modified = "",
                                          .sha256 = digest_of(object, "sha256", arena),
                                          .file_name = "f"};
    }
    memory_sort(to);
}

static enum package_state state_of(const json_t *object)
{
    const char *name = text_of(object, "state", "fetched");
    for (int i = PACKAGE_FETCHED; i <= PACKAGE_INTERRUPTED; i++)
        if (strcmp(package_state_name((enum package_state)i), name) == 0)
            return (enum package_state)i;
    die("no state \"%s\"", name);
}

static const struct software_item *item_with(const struct golden_case *golden, const char *url)
{
    for (size_t i = 0; i < golden->desired.team_count; i++)
        for (size_t j = 0; j < golden->desired.teams[i].packages.count; j++)
            if (text_equal(golden->desired.teams[i].packages.items[j].url, url))
                return &golden->desired.teams[i].packages.items[j];
    die("no item has the URL %s", url);
}

static void read_known(const json_t *known, struct arena *arena, struct golden_case *out)
{
    out->known_count = json_array_size(known);
    out->known = must(arena_alloc_array(arena, out->known_count, sizeof *out->known, &e));
    for (size_t i = 0; i < out->known_count; i++) {
        const json_t *object = json_array_get(known, i);
        CHECK_KEYS(object, "url", "sha256", "state", "error");
        struct package *package = must(arena_alloc(arena, sizeof *package, &e));
        *package = (struct package){.state = state_of(object), .sha256 = digest_of(object, "sha256", arena)};
        if (package->state == PACKAGE_FETCHED || package->state == PACKAGE_CACHED)
            package->path = "cache/file";
        if (json_object_get(object, "error") != NULL)
            err_fill(&package->err, ERR_NETWORK, "%s", text_of(object, "error", ""));
        out->known[i] =
            (struct known_package){.item = item_with(out, text_of(object, "url", "")), .package = package};
    }
}

static void read_guards(const json_t *array, struct arena *arena, struct plan_options *out)
{
    struct guard_rule *guards = must(arena_alloc_array(arena, json_array_size(array), sizeof *guards, &e));
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *object = json_array_get(array, i);
        CHECK_KEYS(object, "team", "prune", "allow_empty", "max_removals");
        guards[i] = (struct guard_rule){
            .team = text_of(object, "team", "*"),
            .prune = json_object_get(object, "prune") == NULL ? TRISTATE_ABSENT
                     : truth_of(object, "prune")              ? TRISTATE_TRUE
                                                              : TRISTATE_FALSE,
            .allow_empty = truth_of(object, "allow_empty"),
            .max_removals = number_of(object, "max_removals", out->max_removals),
        };
    }
    out->guards = guards;
    out->guard_count = json_array_size(array);
}

static void read_options(const json_t *object, struct arena *arena, struct plan_options *out)
{
    if (object != NULL)
        CHECK_KEYS(object, "prune", "allow_empty", "create_teams", "relearn", "full", "prune_teams",
                   "max_removals", "max_removals_run", "guards");
    *out = (struct plan_options){
        .prune = truth_of(object, "prune"),
        .allow_empty = truth_of(object, "allow_empty"),
        .create_teams = truth_of(object, "create_teams"),
        .relearn = truth_of(object, "relearn"),
        .full = truth_of(object, "full"),
        .prune_teams = list_of(object, "prune_teams", arena),
        .max_removals = number_of(object, "max_removals", 10),
        .max_removals_run = number_of(object, "max_removals_run", 25),
        .now_wall_ms = INT64_C(1000) * HOUR_MS,
    };
    read_guards(json_object_get(object, "guards"), arena, out);
}

void case_read(const char *path, struct arena *arena, struct golden_case *out)
{
    json_error_t error;
    err_init(&e);
    *out = (struct golden_case){.document = json_load_file(path, JSON_REJECT_DUPLICATES, &error)};
    if (out->document == NULL)
        die("%s:%d: %s", path, error.line, error.text);
    CHECK_KEYS(out->document, "about", "options", "idle_guard", "teams", "fleet", "memory", "known", "probe");
    out->probe = truth_of(out->document, "probe");
    read_options(json_object_get(out->document, "options"), arena, &out->options);
    read_desired(json_object_get(out->document, "teams"), arena, &out->desired);
    out->desired.idle_guard = text_of(out->document, "idle_guard", NULL);
    read_observed(json_object_get(out->document, "fleet"), arena, &out->observed);
    read_memory(json_object_get(out->document, "memory"), arena, out);
    read_known(json_object_get(out->document, "known"), arena, out);
}
