/* How the run is made up: the header has the why; the checker is fetch_mix_check.c. */
#include "fetch_mix.h"
#include "base/text.h"
#include "behaviours.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BIG_BYTES = 2 * 1024 * 1024 + 77777, BIG_CUT_BYTES = 1024 * 1024 + 100000 };

static void must(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "mix: %s\n", what);
    exit(70);
}

static const char *text(struct mix *mix, const char *format, ...) PRINTF_LIKE(2, 3);

static const char *text(struct mix *mix, const char *format, ...)
{
    char out[128];
    struct err e;
    err_init(&e);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out, sizeof out, format, arguments);
    va_end(arguments);
    const char *kept = arena_strdup(mix->fixture.arena, out, &e);
    must(kept != NULL, "memory");
    return kept;
}

/* splitmix64: any seed is a good one. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t mixed = *state += UINT64_C(0x9E3779B97F4A7C15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94D049BB133111EB);
    return mixed ^ mixed >> 31;
}

static size_t below(uint64_t *state, size_t limit)
{
    return (size_t)(next_random(state) % limit);
}

static double random_jitter(void *context)
{
    return (double)(next_random(context) >> 11) / (double)(UINT64_C(1) << 53);
}

/* The package and its other version, for each item; big ones bring progress. Made once. */
static unsigned char *bodies(size_t item, size_t version, bool is_big)
{
    static unsigned char *made[MIX_ITEMS][2][2];
    unsigned char **slot = &made[item][version][is_big];
    if (*slot == NULL)
        *slot =
            fixture_bytes(".pkg", is_big ? BIG_BYTES : BEHAVIOUR_BYTES, (unsigned)(100 + item * 2 + version));
    return *slot;
}

/* What the mix is mixed of: every step of the table that stands for itself, whatever stands before it. */
static bool is_usable(const struct script_step *step, bool is_big, bool with_stalls)
{
    if (step->headers != NULL &&
        (strchr(step->headers, '{') != NULL || strstr(step->headers, "Location") != NULL))
        return false;
    if (step->end == SCRIPT_STALL && !with_stalls)
        return false;
    if (step->raw != NULL && (is_big || strcasestr(step->raw, "etag") != NULL))
        return false;
    /* A host that says that the package is shorter than it is can't be told from one that has such a package.
     */
    if (step->raw != NULL && strstr(step->raw, "Length: 1000") != NULL)
        return false;
    return step->delay_ms == 0 && step->pace_ms == 0;
}

static const struct script_step *choose_step(uint64_t *random, bool is_big, bool with_stalls)
{
    for (;;) {
        const struct behaviour *row = &behaviours[below(random, behaviour_count)];
        const struct script_step *step = &row->steps[below(random, row->step_count)];
        if (is_usable(step, is_big, with_stalls))
            return step;
    }
}

static size_t version_of(const struct script_step *step)
{
    return step->body == behaviour_other;
}

/* The item's bytes under validators of this source's own. */
static struct script_step make_own(const struct mix_item *item, const struct mix_source *source,
                                   const struct script_step *step)
{
    static const char *const dates[] = {"Mon, 30 Nov 2015 10:00:00 GMT", "Mon, 30 Nov 2015 09:00:00 GMT"};
    struct script_step own = *step;
    size_t version = version_of(step);
    if (step->body == behaviour_package || step->body == behaviour_other) {
        own.body = item->versions[version];
        own.body_length = item->length;
        if (item->length > BEHAVIOUR_BYTES && own.send_at_most > 0 && own.send_at_most != SCRIPT_NOTHING)
            own.send_at_most += BIG_CUT_BYTES;
    }
    if (own.etag != NULL)
        own.etag = own.etag[0] == 'W' ? source->weak_etags[version] : source->etags[version];
    if (own.modified != NULL)
        own.modified = dates[version];
    return own;
}

static struct script_step make_good(const struct mix_item *item, const struct mix_source *source)
{
    return (struct script_step){
        .body = item->versions[0], .body_length = item->length, .etag = source->etags[0], .ranges = true};
}

static void make_source(struct mix *mix, struct mix_item *item, size_t number, uint64_t *random)
{
    struct mix_source *source = &item->sources[number];
    size_t item_number = (size_t)(item - mix->items);
    source->host = below(random, MIX_HOSTS);
    source->target_host = below(random, MIX_HOSTS);
    source->path = text(mix, "/i%zus%zu.pkg", item_number, number);
    source->target = below(random, 6) == 0 ? text(mix, "/i%zus%zut.pkg", item_number, number) : "";
    for (size_t version = 0; version < 2; version++) {
        source->etags[version] = text(mix, "\"i%zus%zuv%zu\"", item_number, number, version);
        source->weak_etags[version] = text(mix, "W/%s", source->etags[version]);
    }
    bool is_big = item->length > BEHAVIOUR_BYTES;
    source->step_count = 1 + below(random, MIX_STEPS);
    for (size_t i = 0; i < source->step_count; i++) {
        struct script_step step = make_own(item, source, choose_step(random, is_big, mix->has_stalls));
        bool is_last = i + 1 == source->step_count;
        source->steps[i] = is_last && below(random, 10) < 7 ? make_good(item, source) : step;
    }
}

static void add_path(struct mix *mix, size_t host, const char *path, const struct script_step *steps,
                     size_t count)
{
    mix->paths[host][mix->path_counts[host]++] =
        (struct script_path){.path = path, .steps = steps, .step_count = count};
}

static void make_items(struct mix *mix, uint64_t *random)
{
    mix->item_count = 1 + below(random, MIX_ITEMS);
    for (size_t i = 0; i < mix->item_count; i++) {
        struct mix_item *item = &mix->items[i];
        bool is_big = below(random, 16) == 0;
        item->name = text(mix, "i%zu.pkg", i);
        item->length = is_big ? BIG_BYTES : BEHAVIOUR_BYTES;
        item->versions[0] = bodies(i, 0, is_big);
        item->versions[1] = bodies(i, 1, is_big);
        item->is_pinned = below(random, 2) == 0;
        item->source_count = 1 + below(random, MIX_SOURCES);
        for (size_t j = 0; j < item->source_count; j++)
            make_source(mix, item, j, random);
    }
}

static void make_paths(struct mix *mix)
{
    for (size_t i = 0; i < mix->item_count; i++)
        for (size_t j = 0; j < mix->items[i].source_count; j++) {
            struct mix_source *source = &mix->items[i].sources[j];
            bool is_redirected = source->target[0] != '\0';
            if (is_redirected)
                add_path(mix, source->host, source->path, &source->redirect, 1);
            add_path(mix, is_redirected ? source->target_host : source->host,
                     is_redirected ? source->target : source->path, source->steps, source->step_count);
        }
}

static void make_requests(struct mix *mix)
{
    struct err e;
    err_init(&e);
    for (size_t i = 0; i < mix->item_count; i++) {
        struct mix_item *item = &mix->items[i];
        const char **urls = arena_alloc_array(mix->fixture.arena, MIX_SOURCES, sizeof *urls, &e);
        must(urls != NULL, "memory");
        for (size_t j = 0; j < item->source_count; j++) {
            struct mix_source *source = &item->sources[j];
            urls[j] =
                fixture_url(&mix->fixture, scripted_server_port(mix->hosts[source->host]), source->path);
            source->redirect = (struct script_step){
                .status = 302,
                .headers = text(mix, "Location: http://127.0.0.1:%d%s\r\n",
                                scripted_server_port(mix->hosts[source->target_host]), source->target)};
        }
        mix->requests[i] = (struct package_request){
            .name = item->name,
            .url = urls[0],
            .backup_urls = {.is_set = true, .count = item->source_count - 1, .items = urls + 1},
            .sha256 = item->is_pinned ? fixture_digest(&mix->fixture, item->versions[0], item->length) : NULL,
            .bytes_needed = true,
        };
    }
}

static void choose_settings(struct mix *mix, uint64_t *random)
{
    struct settings *settings = &mix->fixture.settings;
    settings->retry.rounds = 2 + (int64_t)below(random, 5);
    settings->retry.strategy = (enum retry_strategy)below(random, 3);
    settings->limits.parallel = 1 + (int64_t)below(random, 8);
    settings->limits.parallel_per_host = below(random, 2) == 0 ? 1 : 4;
    settings->limits.connect_timeout_ms = 60 * 1000;
    settings->limits.stall_ms = mix->has_stalls ? 150 : 60 * 1000;
    mix->fixture.jitter = (struct jitter){.next = random_jitter, .context = &mix->jitter_state};
}

void mix_init(struct mix *mix, uint64_t seed)
{
    uint64_t random = seed;
    memset(mix, 0, sizeof *mix);
    mix->seed = mix->jitter_state = seed;
    err_init(&mix->e);
    fetch_fixture_init(&mix->fixture);
    mix->host_clock = mix->fixture.clock;
    mix->has_stalls = below(&random, 25) == 0;
    make_items(mix, &random);
    make_paths(mix);
    for (size_t i = 0; i < MIX_HOSTS; i++) {
        mix->hosts[i] = scripted_server_new(mix->paths[i], mix->path_counts[i]);
        scripted_server_use_clock(mix->hosts[i], &mix->host_clock);
        scripted_server_be_hasty(mix->hosts[i]);
    }
    make_requests(mix);
    choose_settings(mix, &random);
}

void mix_done(struct mix *mix)
{
    for (size_t i = 0; i < MIX_HOSTS; i++)
        scripted_server_free(mix->hosts[i]);
    fetch_fixture_done(&mix->fixture);
}

static bool is_at(const char *head, const char *path)
{
    size_t length = strlen(path);
    return path[0] != '\0' && strncmp(head, "GET ", 4) == 0 && strncmp(head + 4, path, length) == 0 &&
           head[4 + length] == ' ';
}

/* Which item's which source was asked. */
static void place(const struct mix *mix, struct mix_record *record)
{
    for (size_t i = 0; i < mix->item_count; i++)
        for (size_t j = 0; j < mix->items[i].source_count; j++) {
            const struct mix_source *source = &mix->items[i].sources[j];
            bool is_target = is_at(record->is.head, source->target);
            if (!is_target && !is_at(record->is.head, source->path))
                continue;
            record->item = i;
            record->source = j;
            record->is_target = is_target;
            return;
        }
    must(false, "a request for a path that nobody named");
}

static int by_number(const void *a, const void *b)
{
    const struct mix_record *first = a, *second = b;
    return (first->is.number > second->is.number) - (first->is.number < second->is.number);
}

static void collect(struct mix *mix)
{
    static struct script_record records[MIX_RECORDS];
    mix->record_count = 0;
    for (size_t i = 0; i < MIX_HOSTS; i++) {
        size_t count = scripted_server_records(mix->hosts[i], records, MIX_RECORDS - mix->record_count);
        for (size_t j = 0; j < count; j++) {
            struct mix_record *record = &mix->records[mix->record_count++];
            *record = (struct mix_record){.is = records[j], .host = i};
            place(mix, record);
        }
    }
    if (mix->record_count > 1)
        qsort(mix->records, mix->record_count, sizeof *mix->records, by_number);
}

void mix_run(struct mix *mix)
{
    mix->status = fetch_run(&mix->fixture.options, mix->requests, mix->item_count, mix->fixture.arena,
                            mix->results, &mix->e);
    collect(mix);
}

static void make_well(struct mix *mix, const struct mix_item *item, struct mix_source *source)
{
    source->good = make_good(item, source);
    for (size_t i = 0; i < MIX_HOSTS; i++)
        for (size_t j = 0; j < mix->path_counts[i]; j++)
            if (mix->paths[i][j].steps == source->steps) {
                mix->paths[i][j].steps = &source->good;
                mix->paths[i][j].step_count = 1;
            }
}

void mix_run_again(struct mix *mix)
{
    for (size_t i = 0; i < mix->item_count; i++)
        for (size_t j = 0; j < mix->items[i].source_count; j++)
            make_well(mix, &mix->items[i], &mix->items[i].sources[j]);
    for (size_t i = 0; i < MIX_HOSTS; i++)
        (void)scripted_server_count(mix->hosts[i], NULL); /* its lock hands the new steps over */
    mix->is_second_run = true;
    mix->fixture.settings.limits.stall_ms = 60 * 1000;
    fetch_fixture_next_run(&mix->fixture);
    mix_run(mix);
}
