/* A golden plan's case.json as the planner's input. Digests are written short: "a1" stands for the two digits
 * repeated to 64. */
#ifndef TENDER_TESTS_READ_CASE_H
#define TENDER_TESTS_READ_CASE_H

#include "plan/plan.h"
#include <jansson.h>

struct golden_case {
    struct desired desired;
    struct observed observed;
    struct memory memory;
    struct plan_options options;
    struct known_package *known;
    size_t known_count;
    bool probe; /* the fetches are printed as `tender plan` asks for them */
    json_t *document;
};

/* Reads path; ends the program with a message where the case itself is wrong. */
void case_read(const char *path, struct arena *arena, struct golden_case *out);
/* Fills the details as the case has them; a title without "details" gets empty ones. */
void case_fill_details(const struct golden_case *golden, struct observed_team *team,
                       struct observed_title *title, struct arena *arena);

#endif
