/* Inside lib/manifest: the three lists of `software`, and the set-up software in `controls`. */
#ifndef TENDER_MANIFEST_TEAM_LISTS_H
#define TENDER_MANIFEST_TEAM_LISTS_H

#include "manifest/load.h"

enum team_list { LIST_PACKAGES, LIST_MAINTAINED_APPS, LIST_APP_STORE_APPS };

struct team_reader {
    struct load *load;
    struct desired_team *team;
    const struct yaml_node *controls;
    struct map setup; /* the set-up software that was read → its entry */
    size_t capacity;  /* of the list that is being read */
    bool has_errors;  /* in the team's file, or in one that it refers to */
};

int team_lists_read(struct team_reader *reader, enum team_list which, const struct yaml_node *value,
                    struct software_list *out, struct err *e) MUST_CHECK;
int team_lists_read_setup(struct team_reader *reader, struct err *e) MUST_CHECK;

#endif
