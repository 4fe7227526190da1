/* The bytes of one answer of the package host: text, an open file, or a generated package. */
#ifndef FLEETSIM_BODY_H
#define FLEETSIM_BODY_H

#include "base/err.h"
#include "generated.h"
#include <stdint.h>
#include <sys/types.h>

enum { BODY_SLICE_BYTES = 256 * 1024 };

struct body {
    uint64_t size;
    const char *text;                  /* borrowed; NULL: not a text */
    const struct generated *generated; /* borrowed; NULL: not generated */
    int file;                          /* -1: no file; owned */
    bool falsified;                    /* every byte turned into another one */
    char *slice;                       /* owned; for files and falsified bytes */
};

struct body body_none(void);
struct body body_of_text(const char *text);
struct body body_of_generated(const struct generated *generated);
/* ERR_NOT_FOUND if there is no such regular file. */
int body_open(struct body *body, const char *path, struct err *e) MUST_CHECK;
void body_done(struct body *body);
/* The bytes from `offset` on that are at hand in one piece, at most BODY_SLICE_BYTES for files. 0 at the end,
 * -1 if the file can't be read. */
ssize_t body_view(struct body *body, uint64_t offset, const char **bytes);

#endif
