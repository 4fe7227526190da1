/* The one error convention: a function that can fail returns int 0 / -1 and takes `struct err *` last.
 *
 * Filled once: the first error wins. No allocation: the text is cut at its end with "…" if it does not fit.
 * On the way up, callers prefix context ("team Workstations: …"). The class decides the exit status and
 * whether trying again helps. `e` may be NULL nowhere. Texts never hold secrets: URLs pass url_redact()
 * first. */
#ifndef TENDER_BASE_ERR_H
#define TENDER_BASE_ERR_H

#include "base/attributes.h"
#include <stdarg.h>
#include <stdbool.h>

enum err_class {
    ERR_NONE,
    ERR_MEMORY,       /* out of memory, or over an arena's or a buffer's maximum */
    ERR_SYSTEM,       /* a system call: file, socket, lock, disk full */
    ERR_USAGE,        /* the command line (exit 64) */
    ERR_CONFIG,       /* settings: tender.yml, environment (exit 1) */
    ERR_MANIFEST,     /* the user's YAML (exit 65 or 3) */
    ERR_REPOSITORY,   /* git or folder can't be read (exit 1) */
    ERR_NETWORK,      /* transient trouble on the line that outlived its retries */
    ERR_SERVER,       /* the server answered with a refusal or with nonsense */
    ERR_UNAUTHORISED, /* 401, 403: the token (exit 77) */
    ERR_NOT_FOUND,    /* 404 of the API, a missing file */
    ERR_CONFLICT,     /* 409 of the API */
    ERR_LOCKED,       /* another run holds the state directory (exit 5) */
    ERR_INTERRUPTED,  /* a signal asked us to stop */
};

enum { ERR_TEXT_BYTES = 2048, ERR_FILE_BYTES = 512 };

struct err {
    enum err_class class;
    int line;   /* 1-based; 0: not about a place in a file */
    int column; /* 1-based; 0: unknown */
    char file[ERR_FILE_BYTES];
    char text[ERR_TEXT_BYTES];
};

/* Fills `e` if it is empty, and yields -1: `return err_set(e, ERR_SYSTEM, "can't open %s: %s", path, …);` */
#define err_set(e, class_, ...) (err_fill((e), (class_), __VA_ARGS__), -1)
/* The same, with errno's text behind the message. */
#define err_set_errno(e, ...) (err_fill_errno((e), __VA_ARGS__), -1)
/* Puts "context: " before the text, and yields -1. */
#define err_prefix(e, ...) (err_add_prefix((e), __VA_ARGS__), -1)

void err_init(struct err *e);
bool err_is_set(const struct err *e);
void err_fill(struct err *e, enum err_class class_, const char *format, ...) PRINTF_LIKE(3, 4);
void err_fill_errno(struct err *e, const char *format, ...) PRINTF_LIKE(2, 3);
void err_add_prefix(struct err *e, const char *format, ...) PRINTF_LIKE(2, 3);
/* Names the place: only where none is named yet. */
void err_at(struct err *e, const char *file, int line, int column);
/* "file:line:column: text" into `out`, cut if too long. Returns out. */
const char *err_format(const struct err *e, char *out, unsigned long size);
const char *err_class_name(enum err_class class_);

#endif
