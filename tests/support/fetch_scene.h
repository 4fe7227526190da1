/* A server, a fixture and one request: what most tests of a download need. */
#ifndef TENDER_TESTS_FETCH_SCENE_H
#define TENDER_TESTS_FETCH_SCENE_H

#include "fetch_fixture.h"
#include "scripted_server.h"

enum { PACKAGE_BYTES = 41152, BIG_BYTES = 3 * 1024 * 1024, MEBIBYTE = 1024 * 1024 };

/* Three bodies that differ, filled by the group's set-up. */
extern unsigned char package[PACKAGE_BYTES], other[PACKAGE_BYTES], big[BIG_BYTES];
int scene_make_bodies(void **state);

#define WHOLE .body = package, .body_length = sizeof package

struct scene {
    struct fetch_fixture fixture;
    struct scripted_server *server;
    struct package_request request;
    struct package result;
    struct err e;
};

/* The request is for the first path. */
void scene_init(struct scene *scene, const struct script_path *paths, size_t count);
void scene_done(struct scene *scene);
void scene_run(struct scene *scene);
/* A path of the scene's server, or a whole URL. */
void scene_add_backup(struct scene *scene, const char *path);

#endif
