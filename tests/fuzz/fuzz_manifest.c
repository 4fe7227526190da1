/* Any bytes as a small repository (tests/support/manifest_archive.h): the manifest stage may complain, but
 * not crash, leak or hang. */
#include "base/text.h"
#include "manifest_archive.h"
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const char *variable(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "UNSET") == 0 ? NULL : "https://packages.example.com";
}

static bool none_is_set(void *context, const char *name)
{
    (void)context;
    (void)name;
    return false;
}

static bool is_same_place(const struct place *a, const struct place *b)
{
    return text_equal(a->file, b->file) && a->line == b->line && a->column == b->column;
}

/* A finding has a text, is of its rule, and is told once (tender.yml as a package file is something else).
 * Those of one place stand beside each other. */
static void check_finding(const struct diagnostic *all, size_t index)
{
    const struct diagnostic *found = &all[index];
    if (text_is_empty(found->text) || found->severity != rule_severity(found->rule))
        abort();
    for (size_t i = index; i > 0 && is_same_place(&all[i - 1].place, &found->place); i--)
        if (strcmp(all[i - 1].text, found->text) == 0 && text_equal(all[i - 1].trail, found->trail))
            abort();
}

/* An error in a team's own file is never overlooked; but what has a trail was found for another team. */
static void check_team(const struct desired *desired, const struct desired_team *team)
{
    for (size_t i = 0; i < desired->diagnostic_count && !team->is_invalid; i++)
        if (desired->diagnostics[i].severity == DIAGNOSTIC_ERROR && desired->diagnostics[i].trail == NULL &&
            text_equal(desired->diagnostics[i].place.file, team->place.file))
            abort();
}

/* What every reader relies on. */
static void check(const struct desired *desired)
{
    size_t errors = 0;
    for (size_t i = 0; i < desired->diagnostic_count; i++) {
        errors += desired->diagnostics[i].severity == DIAGNOSTIC_ERROR;
        check_finding(desired->diagnostics, i);
    }
    if (errors != desired->error_count)
        abort();
    for (size_t i = 0; i < desired->team_count; i++) {
        const struct desired_team *team = &desired->teams[i];
        if (team->name == NULL || team->name[0] == '\0' || team->place.file == NULL)
            abort();
        check_team(desired, team);
        for (size_t k = 0; k < team->packages.count && !team->is_invalid; k++) {
            const struct software_item *item = &team->packages.items[k];
            if (item->url == NULL && item->sha256 == NULL)
                abort();
            if (item->sha256 != NULL && !digest_is_hex(item->sha256))
                abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct err e;
    struct settings settings;
    struct desired desired = {.team_count = 0};
    struct arena *arena = arena_new(256 * 1024 * 1024);
    struct archive *archive = malloc(sizeof *archive);
    err_init(&e);
    if (arena == NULL || archive == NULL || settings_init(&settings, &e) < 0)
        abort();
    archive_read(archive, (const char *)bytes, size);
    const struct manifest_source source = archive_source(archive);
    const struct manifest_options options = {
        .subdir = "", .max_document_bytes = 1024 * 1024, .variable = variable};
    if (manifest_load_settings(&source, &options, none_is_set, NULL, &settings, arena, &desired, &e) == 0 &&
        manifest_load(&source, &options, arena, &desired, &e) == 0)
        check(&desired);
    free(archive);
    arena_free(arena);
    return 0;
}
