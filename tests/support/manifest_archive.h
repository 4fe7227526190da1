/* A small repository in one text, for tests and the fuzz target: "== path" begins each file. What stands
 * before the first one is a comment. A file named "expected" is no part of the repository. */
#ifndef TENDER_TESTS_MANIFEST_ARCHIVE_H
#define TENDER_TESTS_MANIFEST_ARCHIVE_H

#include "manifest/manifest.h"
#include <stddef.h>

enum { ARCHIVE_MAX_FILES = 64, ARCHIVE_PATH_BYTES = 200 };

struct archive {
    size_t count;
    struct archive_file {
        char path[ARCHIVE_PATH_BYTES];
        const char *bytes; /* borrowed from the text */
        size_t length;
    } files[ARCHIVE_MAX_FILES];
    const char *expected; /* the text of "expected", "" if there is none */
    size_t expected_length;
};

void archive_read(struct archive *archive, const char *text, size_t length);
struct manifest_source archive_source(struct archive *archive);

/* "file:line:column: error rule: text [trail] (advice)" into `out`. Returns out. */
const char *archive_diagnostic(const struct diagnostic *diagnostic, char *out, size_t size);

#endif
