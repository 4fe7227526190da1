/* fleetsim: starts the Fleet API and the package host, says where they are, and waits for a signal. */
#include "base/files.h"
#include "base/text.h"
#include "catalogue.h"
#include "generated.h"
#include "http.h"
#include "json.h"
#include "package_host.h"
#include "sim.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_FAILED = 1, EXIT_USAGE = 64, WORKER_ROUNDS = 200, NAP_US = 10000 };

struct servers {
    struct sim sim;
    struct package_host packages;
    struct api_server *api;
    char api_address[64];
    unsigned short api_port;
};

static int complain(const struct err *e, int status)
{
    char text[ERR_TEXT_BYTES + ERR_FILE_BYTES];
    fprintf(stderr, "fleetsim: %s\n", err_format(e, text, sizeof text));
    return status;
}

static int print_digest(const struct options *options, struct err *e)
{
    struct generated generated;
    char hex[DIGEST_HEX_BYTES];
    if (generated_init(&generated, options->digest_size, options->digest_seed, e) < 0)
        return -1;
    int result = generated_digest(&generated, hex, e);
    generated_done(&generated);
    if (result == 0)
        puts(hex);
    return result;
}

/* Teams and labels of the command line, where they are missing. */
static void add_missing(struct sim *sim)
{
    struct store *store = &sim->store;
    for (size_t i = 0; i < sim->options->team_count; i++) {
        const json_t *team = store_team_named(store, sim->options->teams[i]);
        if (team == NULL || !text_equal(text_at(team, "name"), sim->options->teams[i]))
            store_team_add(store, sim->options->teams[i]);
    }
    for (size_t i = 0; i < sim->options->label_count; i++)
        if (store_label_named(store, sim->options->labels[i]) == NULL)
            store_label_add(store, sim->options->labels[i]);
    store_save(store);
}

static int announce(const struct servers *servers, const char *path, struct err *e)
{
    char text[512];
    int length = snprintf(text, sizeof text,
                          "{\"fleet_url\":\"http://%s:%u\",\"package_url\":\"http://%s:%u\",\"pid\":%ld}\n",
                          servers->api_address, servers->api_port, servers->packages.address,
                          servers->packages.port, (long)getpid());
    if (path != NULL)
        return file_write_atomically(path, text, (size_t)length, 0644, e);
    fputs(text, stdout);
    return fflush(stdout) == 0 ? 0 : err_set_errno(e, "can't write to standard output");
}

static int start(struct servers *servers, const struct options *options, struct err *e)
{
    struct sim *sim = &servers->sim;
    sim->options = options;
    if (script_load(&sim->script, options->script, e) < 0 || catalogue_load(sim, options->catalogue, e) < 0 ||
        request_log_open(&sim->log, options->log, e) < 0 ||
        store_open(&sim->store, options->state_folder, options->empty_start, e) < 0)
        return -1;
    add_missing(sim);
    if (package_host_start(&servers->packages, options->package_listen, options->packages_folder,
                           &sim->script, &sim->log, e) < 0)
        return -1;
    servers->api = api_server_start(sim, options->listen, servers->api_address, sizeof servers->api_address,
                                    &servers->api_port, e);
    return servers->api == NULL ? -1 : announce(servers, options->ready, e);
}

static void stop(struct servers *servers)
{
    struct sim *sim = &servers->sim;
    __atomic_store_n(&sim->stopping, 1, __ATOMIC_RELAXED);
    api_server_stop(servers->api);
    package_host_stop(&servers->packages);
    for (int i = 0; i < WORKER_ROUNDS && __atomic_load_n(&sim->workers, __ATOMIC_ACQUIRE) > 0; i++)
        usleep(NAP_US);
    if (servers->api != NULL) /* else nothing was loaded, or a file that is not ours */
        store_save(&sim->store);
    store_close(&sim->store);
    request_log_close(&sim->log);
    script_done(&sim->script);
    json_decref(sim->catalogue);
}

int main(int argc, char **argv)
{
    static struct options options;
    static struct servers servers = {.packages = {.listener = -1}, .sim = {.log = {.file = -1}}};
    struct err e;
    err_init(&e);
    if (options_parse(&options, argc, argv, &e) < 0)
        return complain(&e, EXIT_USAGE);
    if (options.help) {
        options_help(stdout);
        return fflush(stdout) == 0 ? 0 : EXIT_FAILED;
    }
    if (options.digest_only)
        return print_digest(&options, &e) < 0 ? complain(&e, EXIT_FAILED) : 0;

    /* Blocked before any thread is made: only sigwait() below sees them. */
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    int status = 0, number;
    if (start(&servers, &options, &e) < 0)
        status = complain(&e, e.class == ERR_CONFIG || e.class == ERR_USAGE ? EXIT_USAGE : EXIT_FAILED);
    else
        sigwait(&signals, &number);
    stop(&servers);
    return status;
}
