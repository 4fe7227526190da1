/* What several handlers read from a request: numbers in the query, pages, labels by name, secrets in scripts.
 */
#ifndef FLEETSIM_PARAMETERS_H
#define FLEETSIM_PARAMETERS_H

#include "sim.h"

/* The number at `key`; *given says whether it was sent. False: refused in *answer. */
bool query_number(const struct request *request, const char *key, json_int_t *out, bool *given,
                  struct answer *answer);
bool query_flag(const struct request *request, const char *key); /* "true" or "1" */

/* The team of ?team_name=: 0 without a name or with an empty one. False: refused (404, or 403 for one who may
 * not write there). */
bool query_team_to_write(const struct request *request, json_int_t *team_id, struct answer *answer);

/* One page of a list that was found whole: a new list; `meta` is added to `body`. False: refused. */
bool take_page(const struct request *request, const json_t *all, json_t **out, json_t *body,
               struct answer *answer);

/* `include`, `exclude`: lists of names (or NULL). Yields new lists of label ids (NULL or empty: none). False:
 * refused (both at once, an unknown one, one twice). */
bool labels_by_name(const struct request *request, const json_t *include, const json_t *exclude,
                    json_t **include_ids, json_t **exclude_ids, struct answer *answer);
/* The ids as an answer shows them: a list of {name, id}, or null. */
json_t *labels_shown(struct store *store, const json_t *ids);

/* Fleet's categories in the server's order. */
bool category_is_known(const char *name);
/* The known ones of `names`, in that order: a new list, or null if none. */
json_t *categories_in_order(const json_t *names);

/* The first $FLEET_SECRET_NAME of a script that the server does not know: its NAME, malloc'ed; NULL if none.
 */
char *unknown_secret(struct store *store, const char *script);

#endif
