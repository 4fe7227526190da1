/* One piece of software that a team's file declares: a package, a script as package, a Fleet-maintained app
 * or an App Store app. Pure data; all strings live in the arena of the `struct desired` that holds it. Absent
 * fields mean Fleet's default. */
#ifndef TENDER_MODEL_SOFTWARE_H
#define TENDER_MODEL_SOFTWARE_H

#include "base/digest.h"
#include "base/err.h"
#include "model/place.h"
#include <stdbool.h>
#include <stddef.h>

enum software_kind {
    SOFTWARE_PACKAGE,        /* a vendor's package by URL or digest */
    SOFTWARE_SCRIPT_PACKAGE, /* a script of the repository that is itself the package */
    SOFTWARE_MAINTAINED_APP, /* Fleet-maintained app, by slug */
    SOFTWARE_APP_STORE_APP,  /* App Store (VPP) or Google Play app, by id */
};

enum tristate { TRISTATE_ABSENT, TRISTATE_FALSE, TRISTATE_TRUE };

/* A list that knows whether it was given: absent is not the same as empty. */
struct string_list {
    bool is_set;
    size_t count;
    const char *const *items;
};

/* A file of the repository that a field refers to, with its content. */
struct text_file {
    const char *path; /* from the repository's root; NULL: the field is absent */
    const char *text; /* NUL-terminated; line ends turned into LF for scripts and queries; NULL if it could
                         not be read */
    size_t length;
};

enum label_mode { LABELS_NONE, LABELS_INCLUDE_ANY, LABELS_EXCLUDE_ANY, LABELS_INCLUDE_ALL };

/* Fields whose difference makes an update; bits of a set. software_field_name() has their manifest names. */
enum software_field {
    FIELD_BYTES = 1 << 0, /* the package itself: its digest */
    FIELD_INSTALL_SCRIPT = 1 << 1,
    FIELD_UNINSTALL_SCRIPT = 1 << 2,
    FIELD_POST_INSTALL_SCRIPT = 1 << 3,
    FIELD_PRE_INSTALL_QUERY = 1 << 4,
    FIELD_SELF_SERVICE = 1 << 5,
    FIELD_LABELS = 1 << 6,
    FIELD_CATEGORIES = 1 << 7,
    FIELD_DISPLAY_NAME = 1 << 8,
    FIELD_SETUP_EXPERIENCE = 1 << 9,
    FIELD_ICON = 1 << 10,
    FIELD_CONFIGURATION = 1 << 11,
    FIELD_AUTO_UPDATE = 1 << 12,
    FIELD_VERSION = 1 << 13, /* maintained apps: the catalogue has another one */
};
enum { SOFTWARE_FIELD_COUNT = 14 };

struct software_item {
    enum software_kind kind;
    struct place place;       /* the entry in the team's file */
    const char *package_file; /* the package file it comes from, "" if it stands in the team's file itself */
    struct place origin;      /* where the package itself is described: in the package file or as `place` */

    /* packages */
    const char *url; /* as written, variables replaced; NULL if absent */
    struct string_list backup_urls;
    const char *
        sha256; /* pinned: 64 lower-case hex digits; NULL if not. Script packages: of the bytes as they lie */
    struct text_file script; /* script packages: the bytes as they lie in the repository */
    bool always_download;
    /* maintained apps */
    const char *slug;
    const char *version;
    /* App Store apps */
    const char *app_store_id;
    const char *platform; /* NULL if absent */
    enum tristate auto_update_enabled;
    const char *auto_update_window_start, *auto_update_window_end;
    /* all kinds */
    struct text_file install_script, uninstall_script, post_install_script;
    struct text_file pre_install_query; /* text: the query itself, as the API takes it */
    struct text_file icon;              /* bytes */
    struct text_file configuration;
    bool self_service;
    enum label_mode label_mode;
    struct string_list labels;
    struct string_list categories;
    enum tristate setup_experience;
    struct string_list setup_experience_platforms;
    const char *display_name; /* NULL if absent */
};

/* What people call it: display name, else package file's or script's base name, else URL's file name, slug,
 * App Store id, or the digest's start. Into out (cut); returns out. */
const char *software_name(const struct software_item *item, char *out, size_t size);
/* What identifies it over runs and in a team: "package:<its URL's SHA-256> <its URL, redacted>" (it is
 * written to the disk, and URLs hold secrets; no digest where nothing is hidden), "digest:<sha256>",
 * "script:<path>", "maintained:<slug>", "store:<id>/<platform>". For memory and comparing only. In `out`; -1
 * if too small. */
int software_key(const struct software_item *item, char *out, size_t size, struct err *e) MUST_CHECK;
/* The redacted URL in such a key; NULL: it is of another kind. */
const char *software_key_url(const char *key);
/* SHA-256 over everything that Fleet is to have of the item (not: places, backup URLs and how it is
 * downloaded): equal wishes have equal fingerprints. */
int software_fingerprint(const struct software_item *item, char hex[DIGEST_HEX_BYTES],
                         struct err *e) MUST_CHECK;
const char *software_kind_name(
    enum software_kind kind); /* "package", "script package", "maintained app", "App Store app" */
const char *software_field_name(
    enum software_field field); /* manifest's name: "install_script"; FIELD_BYTES: "package" */
const char *label_mode_name(enum label_mode mode); /* "labels_include_any", …; "" for none */
/* "install_script, labels" for the set's fields. Returns out. */
const char *software_fields_text(unsigned fields, char *out, size_t size);

#endif
