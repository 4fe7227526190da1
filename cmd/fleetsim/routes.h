/* The API's paths: one const table. */
#ifndef FLEETSIM_ROUTES_H
#define FLEETSIM_ROUTES_H

#include "sim.h"

enum body_kind { BODY_NONE, BODY_JSON, BODY_FORM };

struct route {
    const char *method;
    const char *pattern; /* behind /api/X/fleet; {id}: digits, {word}: any segment */
    enum body_kind body;
    void (*handle)(struct request *request, struct answer *answer); /* with the store locked … */
    bool locks_itself;                                              /* … unless it does that itself */
};

enum route_result { ROUTE_FOUND, ROUTE_UNKNOWN_PATH, ROUTE_OTHER_METHOD };

/* `path`: the whole one, decoded. `api_path` gets what stands behind the prefix ("" for /fleetsim hooks and
 * unknown prefixes); *word, borrowed from path, is the {word}. */
enum route_result route_find(const char *method, const char *path, const struct route **route,
                             json_int_t ids[], const char **word, const char **api_path);

/* The handlers, by file. */
void get_version(struct request *request, struct answer *answer);
void get_me(struct request *request, struct answer *answer);
void list_teams(struct request *request, struct answer *answer);
void create_team(struct request *request, struct answer *answer);
void list_labels(struct request *request, struct answer *answer);
void list_labels_summary(struct request *request, struct answer *answer);
void put_secret_variables(struct request *request, struct answer *answer);
void create_team_policy(struct request *request, struct answer *answer);
void hook_policy(struct request *request, struct answer *answer);
void hook_label(struct request *request, struct answer *answer);
void hook_open_requests(struct request *request, struct answer *answer);

void list_titles(struct request *request, struct answer *answer);
void get_title(struct request *request, struct answer *answer);
void get_package_bytes(struct request *request, struct answer *answer);
void delete_available_for_install(struct request *request, struct answer *answer);

void create_package(struct request *request, struct answer *answer);
void edit_package(struct request *request, struct answer *answer);

void start_batch(struct request *request, struct answer *answer);
void poll_batch(struct request *request, struct answer *answer);

void list_maintained_apps(struct request *request, struct answer *answer);
void get_maintained_app(struct request *request, struct answer *answer);
void add_maintained_app(struct request *request, struct answer *answer);

void list_app_store_apps(struct request *request, struct answer *answer);
void batch_app_store_apps(struct request *request, struct answer *answer);
void add_app_store_app(struct request *request, struct answer *answer);
void edit_app_store_app(struct request *request, struct answer *answer);

void list_setup_software(struct request *request, struct answer *answer);
void put_setup_software(struct request *request, struct answer *answer);

#endif
