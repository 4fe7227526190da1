/* Shared by the tests of lib/fetch: see the header. */
#include "fetch_scene.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

unsigned char package[PACKAGE_BYTES], other[PACKAGE_BYTES], big[BIG_BYTES];

static void fill(unsigned char *into, size_t size, unsigned seed)
{
    unsigned char *bytes = fixture_bytes(".pkg", size, seed);
    memcpy(into, bytes, size);
    free(bytes);
}

int scene_make_bodies(void **state)
{
    (void)state;
    fill(package, sizeof package, 1);
    fill(other, sizeof other, 2);
    fill(big, sizeof big, 3);
    return 0;
}

void scene_init(struct scene *scene, const struct script_path *paths, size_t count)
{
    memset(scene, 0, sizeof *scene);
    err_init(&scene->e);
    fetch_fixture_init(&scene->fixture);
    scene->server = scripted_server_new(paths, count);
    scene->request = (struct package_request){
        .name = "a.pkg",
        .url = fixture_url(&scene->fixture, scripted_server_port(scene->server), paths[0].path),
        .bytes_needed = true,
    };
}

void scene_done(struct scene *scene)
{
    scripted_server_free(scene->server);
    fetch_fixture_done(&scene->fixture);
}

void scene_run(struct scene *scene)
{
    assert_int_equal(fetch_run(&scene->fixture.options, &scene->request, 1, scene->fixture.arena,
                               &scene->result, &scene->e),
                     0);
}

void scene_add_backup(struct scene *scene, const char *path)
{
    struct string_list *list = &scene->request.backup_urls;
    struct err e;
    err_init(&e);
    const char **items = arena_alloc_array(scene->fixture.arena, list->count + 1, sizeof *items, &e);
    assert_non_null(items);
    for (size_t i = 0; i < list->count; i++)
        items[i] = list->items[i];
    items[list->count] = strncmp(path, "http", 4) == 0
                             ? path
                             : fixture_url(&scene->fixture, scripted_server_port(scene->server), path);
    *list = (struct string_list){.is_set = true, .count = list->count + 1, .items = items};
}
