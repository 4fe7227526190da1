/* What a package says of itself: its type by the file name's end, name and version from the inside where that
 * is easily read (.deb, .rpm), else from the file name. */
#ifndef FLEETSIM_PACKAGE_META_H
#define FLEETSIM_PACKAGE_META_H

#include "base/err.h"
#include <stdbool.h>

enum { META_NAME_BYTES = 256, META_VERSION_BYTES = 128 };

struct package_meta {
    char name[META_NAME_BYTES];
    char version[META_VERSION_BYTES];
    const char *extension; /* ".deb", …; static */
    const char *source;    /* "deb_packages", …; static */
    const char *platform;  /* linux, darwin, windows; static */
    bool needs_scripts;    /* there are no default scripts for this type */
};

/* `with_scripts`: .sh and .ps1 are packages too, as newer servers have it. -1 with Fleet's own words for what
 * is no package. */
int package_meta_read(const char *path, const char *file_name, bool with_scripts, struct package_meta *out,
                      struct err *e) MUST_CHECK;

/* Both readers fill name and version; -1 if the file is not of that type. Compressions other than gzip leave
 * name and version as they are. */
int deb_read(const char *path, struct package_meta *out, struct err *e) MUST_CHECK;
int rpm_read(const char *path, struct package_meta *out, struct err *e) MUST_CHECK;

/* The server's own scripts, in fleetsim's wording: malloc'ed; "" for types that have none. */
char *default_install_script(const char *extension);
char *default_uninstall_script(const char *extension, const char *name);

#endif
