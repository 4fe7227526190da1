/* The endpoints that are read: one function each, pages put together. */
#include "base/text.h"
#include "fleet/call.h"
#include "fleet/client.h"
#include "fleet/fleet_private.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { PATH_BYTES = 1024, PAGE_ROWS = 500, MAX_PAGES = 2000 };

static void call_cleanup(struct call *call)
{
    call_done(call);
}

bool fleet_same_team_name(const char *a, const char *b)
{
    return strcasecmp(a, b) == 0;
}

int fleet_wait(struct fleet *fleet, int64_t duration_ms, struct err *e)
{
    return call_wait(fleet, duration_ms, e);
}

int fleet_get_version(struct fleet *fleet, struct arena *arena, const char **version, struct err *e)
{
    CLEANUP(call_cleanup)
    struct call call = {
        .name = "GET /version", .method = "GET", .path = "/version", .right = "read the server's version"};
    if (call_read(fleet, &call, e) < 0)
        return -1;
    return codec_version(call.answer.bytes, call.answer.length, arena, version, e);
}

int fleet_get_user(struct fleet *fleet, struct arena *arena, struct fleet_user *out, struct err *e)
{
    CLEANUP(call_cleanup)
    struct call call = {.name = "GET /me", .method = "GET", .path = "/me", .right = "read its own user"};
    if (call_read(fleet, &call, e) < 0)
        return -1;
    return codec_user(call.answer.bytes, call.answer.length, arena, out, e);
}

/* Whether another page is to be asked for. Endpoints without `meta` are asked until a page is short. */
static bool has_next(const struct page *page)
{
    return page->has_meta ? page->has_next && page->row_count > 0 : page->row_count >= PAGE_ROWS;
}

/* One list of several pages: reads `path` with page numbers, gives each page to `take`. */
struct paged {
    const char *name, *path, *right; /* path with its query, so that '&' can follow */
    int (*take)(void *context, const char *body, size_t length, struct page *page, struct err *e);
    void *context;
    int64_t total; /* what the server says the list has; -1: nothing */
};

static int read_pages(struct fleet *fleet, struct paged *paged, struct err *e)
{
    paged->total = -1;
    for (int number = 0; number < MAX_PAGES; number++) {
        char path[PATH_BYTES];
        snprintf(path, sizeof path, "%s%cpage=%d&per_page=%d", paged->path,
                 strchr(paged->path, '?') == NULL ? '?' : '&', number, PAGE_ROWS);
        CLEANUP(call_cleanup)
        struct call call = {.name = paged->name, .method = "GET", .path = path, .right = paged->right};
        struct page page;
        if (call_read(fleet, &call, e) < 0 ||
            paged->take(paged->context, call.answer.bytes, call.answer.length, &page, e) < 0)
            return -1;
        paged->total = page.total;
        if (!has_next(&page))
            return 0;
    }
    return err_set(e, ERR_SERVER, "%s: more than %d pages", paged->name, MAX_PAGES);
}

struct take {
    struct arena *arena;
    void *rows;
};

static int take_teams(void *context, const char *body, size_t length, struct page *page, struct err *e)
{
    struct take *take = context;
    return codec_teams(body, length, take->arena, take->rows, page, e);
}

int fleet_list_teams(struct fleet *fleet, struct arena *arena, struct team_rows *rows, struct err *e)
{
    struct take take = {arena, rows};
    struct paged paged = {
        .name = "GET /teams", .path = "/teams", .right = "list teams", .take = take_teams, .context = &take};
    return read_pages(fleet, &paged, e);
}

int fleet_list_labels(struct fleet *fleet, struct arena *arena, struct name_rows *rows, struct err *e)
{
    CLEANUP(call_cleanup)
    struct call call = {
        .name = "GET /labels/summary", .method = "GET", .path = "/labels/summary", .right = "list labels"};
    if (call_read(fleet, &call, e) < 0)
        return -1;
    return codec_labels(call.answer.bytes, call.answer.length, arena, rows, e);
}

static int take_titles(void *context, const char *body, size_t length, struct page *page, struct err *e)
{
    struct take *take = context;
    return codec_titles(body, length, take->arena, take->rows, page, e);
}

/* A list that moves between two pages can show a title twice and hide another. */
static bool is_consistent(const struct title_rows *rows, int64_t total)
{
    if (total >= 0 && (int64_t)rows->row_count != total)
        return false;
    if (rows->count <= PAGE_ROWS)
        return true;
    for (size_t i = 0; i < rows->count; i++)
        for (size_t k = i + 1; k < rows->count; k++)
            if (rows->items[i].title_id == rows->items[k].title_id)
                return false;
    return true;
}

int fleet_list_titles(struct fleet *fleet, int64_t team_id, struct arena *arena, struct title_rows *rows,
                      struct err *e)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/software/titles?team_id=%" PRId64 "&available_for_install=true", team_id);
    for (int attempt = 0; attempt < 3; attempt++) {
        struct title_rows read = {.items = NULL};
        struct take take = {arena, &read};
        struct paged paged = {.name = "GET /software/titles",
                              .path = path,
                              .right = "read the software of this team",
                              .take = take_titles,
                              .context = &take};
        if (read_pages(fleet, &paged, e) < 0)
            return -1;
        if (is_consistent(&read, paged.total)) {
            *rows = read;
            return 0;
        }
        if (call_wait(fleet, 500, e) < 0)
            return -1;
    }
    return err_set(
        e, ERR_SERVER,
        "GET /software/titles: the list changes each time it is read; something else is writing to "
        "this team");
}

int fleet_get_title(struct fleet *fleet, int64_t team_id, struct observed_title *title, struct arena *arena,
                    struct err *e)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/software/titles/%" PRId64 "?team_id=%" PRId64, title->title_id, team_id);
    CLEANUP(call_cleanup)
    struct call call = {.name = "GET /software/titles/{id}",
                        .method = "GET",
                        .path = path,
                        .right = "read the software of this team"};
    if (call_read(fleet, &call, e) < 0)
        return -1;
    return codec_title_details(call.answer.bytes, call.answer.length, arena, title, e);
}

static int take_catalogue(void *context, const char *body, size_t length, struct page *page, struct err *e)
{
    struct take *take = context;
    return codec_catalogue(body, length, take->arena, take->rows, page, e);
}

int fleet_list_catalogue(struct fleet *fleet, int64_t team_id, struct arena *arena,
                         struct catalogue_rows *rows, struct err *e)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/software/fleet_maintained_apps?team_id=%" PRId64, team_id);
    struct take take = {arena, rows};
    struct paged paged = {.name = "GET /software/fleet_maintained_apps",
                          .path = path,
                          .right = "read the catalogue of Fleet-maintained apps",
                          .take = take_catalogue,
                          .context = &take};
    struct err trouble;
    err_init(&trouble);
    if (read_pages(fleet, &paged, &trouble) == 0 || trouble.class == ERR_NOT_FOUND)
        return 0;
    return err_set(e, trouble.class, "%s", trouble.text);
}

int fleet_get_catalogue_app(struct fleet *fleet, struct catalogue_app *app, struct arena *arena,
                            struct err *e)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/software/fleet_maintained_apps/%" PRId64, app->id);
    CLEANUP(call_cleanup)
    struct call call = {.name = "GET /software/fleet_maintained_apps/{id}",
                        .method = "GET",
                        .path = path,
                        .right = "read the catalogue of Fleet-maintained apps"};
    if (call_read(fleet, &call, e) < 0)
        return -1;
    return codec_catalogue_app(call.answer.bytes, call.answer.length, arena, app, e);
}

static int take_setup(void *context, const char *body, size_t length, struct page *page, struct err *e)
{
    struct take *take = context;
    return codec_setup_experience(body, length, take->arena, take->rows, page, e);
}

int fleet_list_setup_experience(struct fleet *fleet, int64_t team_id, const char *platform,
                                struct arena *arena, struct setup_rows *rows, struct err *e)
{
    /* Older servers know macOS only, which is the default where no platform is named. */
    bool is_mac = text_equal(platform, "darwin");
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/setup_experience/software?team_id=%" PRId64 "%s%s", team_id,
             is_mac ? "" : "&platform=", is_mac ? "" : platform);
    struct take take = {arena, rows};
    struct paged paged = {.name = "GET /setup_experience/software",
                          .path = path,
                          .right = "read the set-up experience of this team",
                          .take = take_setup,
                          .context = &take};
    struct err trouble;
    err_init(&trouble);
    if (read_pages(fleet, &paged, &trouble) == 0 || trouble.class == ERR_NOT_FOUND)
        return 0;
    return err_set(e, trouble.class, "%s", trouble.text);
}
