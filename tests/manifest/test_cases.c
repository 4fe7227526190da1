/* Small repositories, one per file, and the messages that each must give, all of them and no others. Those in
 * invalid/ have one fault each, and name the rule that it breaks; those in cases/ several, or none.
 * `test_cases --accept` writes what it got into the files; read the difference before committing. */
#include "base/files.h"
#include "base/text.h"
#include "manifest_archive.h"
#include "rules.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CASE_MAX_BYTES = 4 * 1024 * 1024,
    DOCUMENT_MAX_BYTES = 16 * 1024,
    CASES_MAX = 500,
    INVALID_LEAST = 120,
    LINE_BYTES = 4096
};

static const char *variable(void *context, const char *name)
{
    static const char *const set[][2] = {{"SET", "set"},
                                         {"HOST", "https://packages.example.com"},
                                         {"EMPTY", ""},
                                         {"TEAM", "  From a variable "},
                                         {"ODD", "a: b\n- c # d"},
                                         {"FLEET_SECRET_KEY", "do-not-show"},
                                         {"TOKEN", "do-not-show-either"}};
    (void)context;
    for (size_t i = 0; i < ARRAY_LENGTH(set); i++)
        if (strcmp(set[i][0], name) == 0)
            return set[i][1];
    return NULL;
}

static bool none_is_set(void *context, const char *name)
{
    (void)context;
    (void)name;
    return false;
}

static void buf_cleanup(struct buf *buf)
{
    buf_done(buf);
}

/* Which rules of the findings some case shows. */
static bool is_shown[RULE_COUNT];

static size_t rules_without_case(void)
{
    size_t missing = 0;
    for (int i = 0; i < RULE_COUNT; i++) {
        if (is_shown[i])
            continue;
        printf("FAILED: no case has a finding of the rule %s\n", rule_name((enum rule)i));
        missing++;
    }
    return missing;
}

/* All diagnostics, then the teams that are left valid or invalid. */
static int run(struct archive *archive, struct buf *out, size_t *diagnostics, struct err *e)
{
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(256 * 1024 * 1024);
    const struct manifest_source source = archive_source(archive);
    struct manifest_options options = {
        .subdir = "", .max_document_bytes = DOCUMENT_MAX_BYTES, .variable = variable};
    struct settings settings;
    struct desired desired = {.team_count = 0};
    if (arena == NULL || settings_init(&settings, e) < 0 ||
        manifest_load_settings(&source, &options, none_is_set, NULL, &settings, arena, &desired, e) < 0)
        return -1;
    options.files = settings.files;
    options.teams = settings.teams;
    options.exclude_teams = settings.exclude_teams;
    options.settings = &settings;
    if (manifest_load(&source, &options, arena, &desired, e) < 0)
        return -1;
    *diagnostics = desired.diagnostic_count;
    for (size_t i = 0; i < desired.diagnostic_count; i++) {
        char line[LINE_BYTES];
        is_shown[desired.diagnostics[i].rule] = true;
        if (buf_printf(out, e, "%s\n", archive_diagnostic(&desired.diagnostics[i], line, sizeof line)) < 0)
            return -1;
        if (desired.diagnostics[i].excerpt != NULL &&
            buf_printf(out, e, "    |%s\n", desired.diagnostics[i].excerpt) < 0)
            return -1;
    }
    for (size_t i = 0; i < desired.team_count; i++)
        if (buf_printf(out, e, "%s: %s\n", desired.teams[i].name,
                       desired.teams[i].is_invalid ? "invalid" : "valid") < 0)
            return -1;
    return 0;
}

static int accept_case(const char *path, const struct buf *text, const struct archive *archive,
                       const struct buf *got, struct err *e)
{
    size_t kept = archive->expected[0] == '\0'
                      ? text->length
                      : (size_t)(archive->expected - text->bytes) - strlen("== expected\n");
    CLEANUP(buf_cleanup) struct buf out = BUF_INIT(CASE_MAX_BYTES);
    if (buf_add(&out, text->bytes, kept, e) < 0 || buf_add_text(&out, "== expected\n", e) < 0 ||
        buf_add(&out, got->bytes, got->length, e) < 0)
        return -1;
    return file_write_atomically(path, out.bytes, out.length, 0644, e);
}

/* `rules`: the case is one of invalid/. */
static bool run_case(const char *folder, const char *name, bool is_accepted, struct rules *rules)
{
    char path[1024];
    struct err e;
    struct archive archive;
    size_t diagnostics = 0;
    CLEANUP(buf_cleanup) struct buf text = BUF_INIT(CASE_MAX_BYTES);
    CLEANUP(buf_cleanup) struct buf got = BUF_INIT(CASE_MAX_BYTES);
    err_init(&e);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (file_read(path, &text, &e) < 0) {
        printf("FAILED %s: %s\n", name, e.text);
        return false;
    }
    archive_read(&archive, buf_text(&text), text.length);
    if (run(&archive, &got, &diagnostics, &e) < 0) {
        printf("FAILED %s: %s\n", name, e.text);
        return false;
    }
    if (rules != NULL && diagnostics != 1) {
        printf("FAILED %s has %zu faults, not one\n%s", name, diagnostics, buf_text(&got));
        return false;
    }
    if (rules != NULL && !rules_note(rules, name, buf_text(&text), text.length))
        return false;
    bool is_same =
        got.length == archive.expected_length && memcmp(buf_text(&got), archive.expected, got.length) == 0;
    bool shows_secret = strstr(buf_text(&got), "do-not-show") != NULL;
    if (!is_same && is_accepted)
        return accept_case(path, &text, &archive, &got, &e) == 0;
    if (!is_same)
        printf("FAILED %s\n--- expected\n%.*s--- got\n%s", name, (int)archive.expected_length,
               archive.expected, buf_text(&got));
    if (shows_secret)
        printf("FAILED %s shows a secret\n", name);
    return is_same && !shows_secret && archive.expected_length > 0;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* How many failed; *count is how many there are. */
static size_t run_folder(const char *folder, bool is_accepted, struct rules *rules, size_t *count)
{
    char *names[CASES_MAX];
    size_t failed = 0;
    *count = 0;
    DIR *stream = opendir(folder);
    if (stream == NULL) {
        printf("FAILED: %s can't be opened\n", folder);
        return 1;
    }
    for (const struct dirent *entry = readdir(stream); entry != NULL && *count < CASES_MAX;
         entry = readdir(stream))
        if (text_ends_with(entry->d_name, ".case"))
            names[(*count)++] = strdup(entry->d_name);
    closedir(stream);
    qsort(names, *count, sizeof *names, compare);
    for (size_t i = 0; i < *count; i++) {
        failed += names[i] == NULL || !run_case(folder, names[i], is_accepted, rules);
        free(names[i]);
    }
    printf("%s: %zu cases, %zu failed\n", folder, *count, failed);
    return failed;
}

int main(int argc, char **argv)
{
    static struct rules rules;
    bool is_accepted = argc > 1 && strcmp(argv[1], "--accept") == 0;
    size_t invalid_count;
    size_t count;
    rules_collect(&rules);
    size_t failed = run_folder(TEST_SOURCE_DIR "/manifest/invalid", is_accepted, &rules, &invalid_count);
    failed += run_folder(TEST_SOURCE_DIR "/manifest/cases", is_accepted, NULL, &count);
    failed += rules_missing(&rules) + rules_without_case();
    if (invalid_count < INVALID_LEAST)
        printf("FAILED: %zu cases in invalid/; at least %d\n", invalid_count, INVALID_LEAST);
    return failed > 0 || count == 0 || invalid_count < INVALID_LEAST ? 1 : 0;
}
