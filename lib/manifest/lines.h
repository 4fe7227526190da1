/* What a line is, for places, excerpts and explanations: it ends at LF, CR LF or CR, as in editors. */
#ifndef TENDER_MANIFEST_LINES_H
#define TENDER_MANIFEST_LINES_H

#include "manifest/yaml.h"

/* One line, without its end. */
struct line {
    const char *text;
    size_t length;
    size_t indent; /* blanks at its beginning */
};

/* Behind the end of the line that `at` is in; at most `end`. */
const char *line_next(const char *at, const char *end);
/* Where the line above the one that begins at `at` begins; `begin` is the text's beginning. */
const char *line_back(const char *at, const char *begin);
/* The line that begins there. */
struct line line_at(const char *at, const char *end);
/* By its 0-based number; empty behind the last one. */
struct line line_of(const struct yaml_file *file, size_t number);

/* Where one of libyaml's lines begins, by ours; 0-based. */
struct line_origin {
    size_t line, column;
};

/* libyaml counts NEL, LS and PS as line ends too (YAML 1.1, 5.4). Nothing where the file has none of them:
 * its lines are ours. */
struct line_origins {
    struct line_origin *items;
    size_t count;
};

int line_origins(const struct yaml_file *file, struct arena *arena, struct line_origins *out,
                 struct err *e) MUST_CHECK;
/* libyaml's place becomes ours. */
void line_origins_place(const struct line_origins *origins, size_t *line, size_t *column);

#endif
