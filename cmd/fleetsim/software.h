/* Software titles of a team: what is stored of an installer and an App Store app, and how each answer shows
 * it. The store is locked in all of these. */
#ifndef FLEETSIM_SOFTWARE_H
#define FLEETSIM_SOFTWARE_H

#include "package_meta.h"
#include "store.h"
#include <jansson.h>

/* The bytes of an installer, where they came from, and what they are. */
struct package_bytes {
    struct package_meta meta; /* name, version */
    char title_name[META_NAME_BYTES];
    const char *bundle_identifier; /* "" if none */
    char file_name[1024];
    char sha256[65];
};

/* Fills title_name from meta. Names that were read from an .msi's, .exe's or .pkg's file name are those of a
 * title that is there already if they differ in case and separators only ("demo-two" is "Demo Two"). */
void package_name_title(struct store *store, struct package_bytes *package);

/* How an installer is to be set: a new reference of an object with the keys of the row that are a matter of
 * wish (scripts, query, self_service, labels as ids, categories, url, fleet_maintained_app_id). */
json_t *wish_new(void);
/* Fills empty scripts with the server's defaults. */
void wish_fill_scripts(json_t *wish, const struct package_meta *meta);

/* Makes or replaces the team's installer of the package's title. Yields the row. */
json_t *installer_set(struct store *store, json_int_t team_id, const struct package_bytes *package,
                      const json_t *wish);
/* The package of a row, as if it had been read again. */
void package_of_installer(struct store *store, const json_t *installer, struct package_bytes *out);
const char *extension_of_file(const char *file_name); /* static, ".deb" …; "" if unknown */

/* New references. */
json_t *installer_shown(struct store *store, const json_t *installer, bool with_status);
json_t *app_shown(struct store *store, const json_t *app, bool with_status);
/* A row of the titles' list. `with_setup`: with install_during_setup, as the set-up's list has it. */
json_t *title_listed(struct store *store, const json_t *title, const json_t *installer, const json_t *app,
                     bool with_setup);
/* All titles of a team, in the list's order. `only_platform` NULL: all. */
json_t *titles_of_team(struct store *store, json_int_t team_id, const char *only_platform, bool with_setup);

#endif
