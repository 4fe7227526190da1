/* The catalogue file: Fleet-maintained apps and App Store apps that the simulated server knows. */
#ifndef FLEETSIM_CATALOGUE_H
#define FLEETSIM_CATALOGUE_H

#include "sim.h"
#include "software.h"

/* Reads and checks the file; sim->catalogue is NULL for no path. */
int catalogue_load(struct sim *sim, const char *path, struct err *e) MUST_CHECK;

/* Borrowed rows; NULL if there is no such app (or no catalogue). */
const json_t *maintained_by_slug(const struct sim *sim, const char *slug);
const json_t *maintained_by_id(const struct sim *sim, json_int_t id);
const json_t *maintained_apps(const struct sim *sim);     /* the list, NULL without a catalogue */
const json_t *app_store_catalogue(const struct sim *sim); /* the list, NULL if the file has none */
/* May this team add App Store apps (has its organisation a VPP token)? */
bool app_store_has_token(struct sim *sim, json_int_t team_id);

/* The package of a maintained app whose bytes have this digest. */
void package_of_maintained(const json_t *app, const char *sha256, struct package_bytes *out);
/* Puts what the catalogue decides into a wish: scripts, url, id, and categories where none were given. */
void wish_of_maintained(const json_t *app, json_t *wish);

#endif
