/* A streaming reader of multipart/form-data: fields are kept in memory (bounded), files go to disk and
 * through SHA-256 as they come. */
#ifndef FLEETSIM_MULTIPART_H
#define FLEETSIM_MULTIPART_H

#include "base/digest.h"
#include "base/err.h"
#include <stdint.h>

enum { MULTIPART_PARTS = 128, MULTIPART_FIELD_BYTES = 16 * 1024 * 1024 };

struct form_part {
    char *name;
    char *file_name; /* NULL: a field */
    char *value;     /* of a field; NUL-terminated */
    char *path;      /* of a file: where its bytes are; whoever takes the file takes the path (TAKE) */
    uint64_t bytes;
    char sha256[DIGEST_HEX_BYTES]; /* of a file */
};

struct multipart;

/* `content_type`: the request's header. `temporary_path` gives a fresh path for each file (malloc'ed).
 * ERR_SERVER with Go's words where the header is no multipart form. */
struct multipart *multipart_new(const char *content_type, char *(*temporary_path)(void *context),
                                void *context, struct err *e) MUST_CHECK;
void multipart_free(struct multipart *multipart); /* removes files that nobody took */
int multipart_feed(struct multipart *multipart, const char *bytes, size_t length, struct err *e) MUST_CHECK;
/* -1 if the closing boundary has not come. */
int multipart_finish(struct multipart *multipart, struct err *e) MUST_CHECK;

size_t multipart_count(const struct multipart *multipart);
struct form_part *multipart_part(struct multipart *multipart, size_t index);
/* The first field of a name; NULL if it was not sent. */
const char *multipart_field(const struct multipart *multipart, const char *name);
/* The first file of a field name; NULL if none. */
struct form_part *multipart_file(struct multipart *multipart, const char *name);

#endif
