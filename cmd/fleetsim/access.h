/* Tokens and what each role may do, as recorded (recordings 02, 06, 10, 11). */
#ifndef FLEETSIM_ACCESS_H
#define FLEETSIM_ACCESS_H

#include "sim.h"

/* Whose "Bearer …" is it? Yields false, with role "bad", for an unknown token. The store must be locked. */
bool access_identify(struct sim *sim, const char *authorization, struct caller *out);

/* Team 0 is "no team": global roles only. */
bool may_read_software(const struct sim *sim, const struct caller *caller, json_int_t team_id);
bool may_write_software(const struct caller *caller, json_int_t team_id);
bool may_create_teams(const struct caller *caller);
bool may_see_team(const struct caller *caller, json_int_t team_id);
bool may_write_secrets(const struct caller *caller);
bool may_write_policies(const struct caller *caller, json_int_t team_id);

#endif
