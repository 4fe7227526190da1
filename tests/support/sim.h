/* A fleetsim of one's own: started for one test in a new folder, stopped and removed after it. Its request
 * log tells what the code under test asked for. */
#ifndef TENDER_TESTS_SIM_H
#define TENDER_TESTS_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { SIM_PATH_BYTES = 512 };

struct sim_server {
    char folder[SIM_PATH_BYTES]; /* for the test too; removed by sim_server_stop() */
    char fleet_url[SIM_PATH_BYTES];
    char log[SIM_PATH_BYTES];
    pid_t pid;
};

/* False where the program was not built: skip the test then. Everything else that fails ends the test
 * program. `script`: fleetsim's JSON, NULL for none; `arguments`: further ones, ended by NULL. */
bool sim_server_start(struct sim_server *sim, const char *script, const char *const *arguments);
/* Another process on the same state, with another script; the log goes on. */
void sim_server_restart(struct sim_server *sim, const char *script, const char *const *arguments);
void sim_server_stop(struct sim_server *sim);

/* How many requests the log has whose method is `method` (NULL: any; "write": anything but GET) and whose
 * path, behind /api/v1/fleet, begins with `path`. */
size_t sim_server_count(const struct sim_server *sim, const char *method, const char *path);
/* Forgets what was logged so far. */
void sim_server_forget(struct sim_server *sim);

#endif
