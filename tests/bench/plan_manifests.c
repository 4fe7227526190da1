/* The manifests' benchmark: a folder's manifests are read, resolved and planned against a Fleet that has all
 * of it. Prints the CPU seconds (user and system) of opening, reading and resolving, those of planning, the
 * peak memory in KiB before Fleet's side is made up, and the counts. usage: plan_manifests FOLDER [read] */
#include "manifest/manifest.h"
#include "plan/plan.h"
#include "repository/repository.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { ARENA_MAX_BYTES = 1024 * 1024 * 1024, FILE_MAX_BYTES = 4 * 1024 * 1024 };

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static long peak_kib(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss : 0;
}

static int read_file(void *context, const char *path, struct buf *out, struct err *e)
{
    return repository_read(context, path, out, e);
}

static int list_folder(void *context, const char *folder,
                       void (*each)(void *user, const char *name, bool is_folder), void *user, struct err *e)
{
    const struct repository_entry *entries;
    size_t count;
    if (repository_list(context, folder, &entries, &count, e) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        each(user, entries[i].name, entries[i].type == ENTRY_FOLDER);
    return 0;
}

static int observe_team(const struct desired_team *wish, int64_t id, struct arena *arena,
                        struct observed_team *out, struct err *e)
{
    size_t count = wish->packages.count;
    *out = (struct observed_team){.id = id, .name = wish->name, .title_count = count};
    out->titles = arena_alloc_array(arena, count, sizeof *out->titles, e);
    if (out->titles == NULL)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const struct software_item *item = &wish->packages.items[i];
        char name[256];
        struct observed_title *title = &out->titles[i];
        const char *kept = arena_strdup(arena, software_name(item, name, sizeof name), e);
        if (kept == NULL)
            return -1;
        *title = (struct observed_title){
            .title_id = (int64_t)strtol(kept + strcspn(kept, "0123456789"), NULL, 10) + 1,
            .kind = SOFTWARE_PACKAGE,
            .name = kept,
            .source = "deb_packages",
            .version = "1.0",
            .platform = "linux",
            .file_name = kept,
            .sha256 = item->sha256,
            .url = item->url == NULL ? "" : item->url,
            .self_service = item->self_service};
    }
    return 0;
}

static int observe(const struct desired *desired, struct arena *arena, struct observed *out, struct err *e)
{
    *out = (struct observed){
        .server_version = "4.91.0", .role = "admin", .is_read = true, .team_count = desired->team_count};
    out->teams = arena_alloc_array(arena, desired->team_count, sizeof *out->teams, e);
    for (size_t i = 0; out->teams != NULL && i < desired->team_count; i++)
        if (observe_team(&desired->teams[i], (int64_t)i + 1, arena, &out->teams[i], e) < 0)
            return -1;
    return out->teams == NULL ? -1 : 0;
}

struct measure {
    double read_seconds, plan_seconds;
    long peak_kib;
    size_t teams, items, files, errors;
};

static int plan(const struct desired *desired, struct arena *arena, struct measure *out, struct err *e)
{
    struct observed observed;
    struct plan result;
    const struct memory memory = {.item_count = 0};
    const struct plan_options options = {.max_removals = 10, .max_removals_run = 25};
    if (observe(desired, arena, &observed, e) < 0)
        return -1;
    const struct plan_input input = {
        .desired = desired, .observed = &observed, .memory = &memory, .options = &options};
    double before = cpu_seconds();
    if (plan_build(&input, arena, &result, e) < 0)
        return -1;
    out->plan_seconds = cpu_seconds() - before;
    return 0;
}

static int run(const char *folder, bool read_only, struct measure *out, struct err *e)
{
    const struct repository_options options = {
        .directory = folder, .max_file_bytes = FILE_MAX_BYTES, .clock = clock_system()};
    const struct manifest_options manifest = {.subdir = "", .max_document_bytes = FILE_MAX_BYTES};
    struct desired desired = {.team_count = 0};
    double before = cpu_seconds();
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(ARENA_MAX_BYTES);
    CLEANUP(repository_cleanup) struct repository *repository = repository_open(&options, e);
    if (arena == NULL || repository == NULL)
        return -1;
    const struct manifest_source source = {.list = list_folder, .read = read_file, .context = repository};
    if (manifest_load(&source, &manifest, arena, &desired, e) < 0)
        return -1;
    out->read_seconds = cpu_seconds() - before;
    out->teams = desired.team_count;
    out->files = desired.file_count;
    out->errors = desired.error_count;
    for (size_t i = 0; i < desired.team_count; i++)
        out->items += desired.teams[i].packages.count;
    out->peak_kib = peak_kib();
    return read_only ? 0 : plan(&desired, arena, out, e);
}

int main(int argc, char **argv)
{
    struct err e;
    struct measure measure = {.teams = 0};
    err_init(&e);
    if (argc < 2)
        return 64;
    if (run(argv[1], argc > 2 && strcmp(argv[2], "read") == 0, &measure, &e) < 0) {
        fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    printf("%.6f %.6f %ld %ld %zu %zu %zu %zu\n", measure.read_seconds, measure.plan_seconds,
           measure.peak_kib, peak_kib(), measure.teams, measure.items, measure.files, measure.errors);
    return 0;
}
