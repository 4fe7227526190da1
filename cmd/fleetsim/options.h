/* The command line. One const table is the parser, the help text and the list of defaults. */
#ifndef FLEETSIM_OPTIONS_H
#define FLEETSIM_OPTIONS_H

#include "base/err.h"
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { OPTIONS_MANY = 1024 };

/* Whose token it is: a global role, or a role in one team. All borrowed from argv. */
struct token_option {
    char role[32]; /* admin, maintainer, observer, gitops, teammaint, teamgitops */
    char team[256];
    char token[256];
};

struct options {
    const char *state_folder;
    const char *listen;
    const char *packages_folder; /* NULL: none */
    const char *package_listen;
    const char *script;    /* NULL: none */
    const char *log;       /* NULL: none */
    const char *ready;     /* NULL: standard output */
    const char *catalogue; /* NULL: none */
    const char *fleet_version;
    bool empty_start;
    bool help;
    struct token_option tokens[OPTIONS_MANY];
    size_t token_count;
    const char *teams[OPTIONS_MANY];
    size_t team_count;
    const char *labels[OPTIONS_MANY];
    size_t label_count;
    bool digest_only; /* --digest SIZE SEED */
    uint64_t digest_size, digest_seed;
};

int options_parse(struct options *out, int argc, char **argv, struct err *e) MUST_CHECK;
void options_help(FILE *out);

#endif
