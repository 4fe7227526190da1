/* Starts and stops fleetsim for tests that want a server that answers as a real one does. */
#include "sim.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_ARGUMENTS = 64, START_ROUNDS = 500, NAP_US = 20000 };

static void die(const char *what)
{
    fprintf(stderr, "sim: %s: %s\n", what, strerror(errno));
    abort();
}

/* build/X/tests/unit/test_Y → build/X/cmd/fleetsim/fleetsim */
static bool find_program(char *out, size_t size)
{
    char own[SIM_PATH_BYTES];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    if (length < 0)
        return false;
    own[length] = '\0';
    for (int i = 0; i < 3; i++) {
        char *slash = strrchr(own, '/');
        if (slash == NULL)
            return false;
        *slash = '\0';
    }
    snprintf(out, size, "%s/cmd/fleetsim/fleetsim", own);
    return access(out, X_OK) == 0;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0)
        die(path);
}

static bool read_ready(struct sim_server *sim, const char *path)
{
    json_t *root = json_load_file(path, 0, NULL);
    const char *url = json_string_value(json_object_get(root, "fleet_url"));
    if (url != NULL)
        snprintf(sim->fleet_url, sizeof sim->fleet_url, "%s", url);
    json_decref(root);
    return url != NULL;
}

static void start(struct sim_server *sim, const char *program, const char *script,
                  const char *const *arguments)
{
    char state[SIM_PATH_BYTES + 16], ready[SIM_PATH_BYTES + 16], script_path[SIM_PATH_BYTES + 16];
    snprintf(state, sizeof state, "%s/fleet", sim->folder);
    snprintf(ready, sizeof ready, "%s/ready", sim->folder);
    snprintf(script_path, sizeof script_path, "%s/script.json", sim->folder);
    write_file(script_path, script == NULL ? "{}" : script);
    unlink(ready);
    const char *line[MAX_ARGUMENTS] = {program,   "--state", state,      "--log",    sim->log,
                                       "--ready", ready,     "--script", script_path};
    size_t count = 9;
    for (size_t i = 0; arguments != NULL && arguments[i] != NULL && count + 1 < MAX_ARGUMENTS; i++)
        line[count++] = arguments[i];
    sim->pid = fork();
    if (sim->pid < 0)
        die("fork");
    if (sim->pid == 0) {
        /* A test that fails half way must not leave a server behind that holds its output open. */
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        execv(program, (char *const *)(void *)line);
        _exit(127);
    }
    for (int i = 0; i < START_ROUNDS; i++) {
        int status;
        if (read_ready(sim, ready))
            return;
        if (waitpid(sim->pid, &status, WNOHANG) == sim->pid)
            die("fleetsim ended at once");
        usleep(NAP_US);
    }
    die("fleetsim does not become ready");
}

static void end_process(struct sim_server *sim)
{
    int status;
    if (sim->pid <= 0)
        return;
    kill(sim->pid, SIGTERM);
    waitpid(sim->pid, &status, 0);
    sim->pid = 0;
}

bool sim_server_start(struct sim_server *sim, const char *script, const char *const *arguments)
{
    char program[SIM_PATH_BYTES * 2];
    memset(sim, 0, sizeof *sim);
    if (!find_program(program, sizeof program))
        return false;
    snprintf(sim->folder, sizeof sim->folder, "/tmp/tender-test-XXXXXX");
    if (mkdtemp(sim->folder) == NULL)
        die("mkdtemp");
    snprintf(sim->log, sizeof sim->log, "%.480s/log.jsonl", sim->folder);
    start(sim, program, script, arguments);
    return true;
}

void sim_server_restart(struct sim_server *sim, const char *script, const char *const *arguments)
{
    char program[SIM_PATH_BYTES * 2];
    end_process(sim);
    if (!find_program(program, sizeof program))
        die("fleetsim is gone");
    start(sim, program, script, arguments);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

void sim_server_stop(struct sim_server *sim)
{
    end_process(sim);
    if (sim->folder[0] != '\0')
        nftw(sim->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    sim->folder[0] = '\0';
}

static bool matches(const json_t *line, const char *method, const char *path)
{
    const char *has_method = json_string_value(json_object_get(line, "method"));
    const char *has_path = json_string_value(json_object_get(line, "path"));
    if (has_method == NULL || has_path == NULL)
        return false;
    const char *behind = strstr(has_path, "/fleet/");
    const char *shown = behind == NULL ? has_path : behind + strlen("/fleet");
    bool same_method = method == NULL || strcmp(has_method, method) == 0 ||
                       (strcmp(method, "write") == 0 && strcmp(has_method, "GET") != 0);
    return same_method && strncmp(shown, path, strlen(path)) == 0;
}

/* The server logs a request when it has seen the connection's side of it end, a moment after our answer. */
static void settle(const struct sim_server *sim)
{
    struct stat before, after;
    do {
        if (stat(sim->log, &before) < 0)
            return;
        usleep(NAP_US);
    } while (stat(sim->log, &after) == 0 && after.st_size != before.st_size);
}

size_t sim_server_count(const struct sim_server *sim, const char *method, const char *path)
{
    settle(sim);
    FILE *file = fopen(sim->log, "r");
    char *text = NULL;
    size_t size = 0, count = 0;
    if (file == NULL)
        return 0;
    while (getline(&text, &size, file) > 0) {
        json_t *line = json_loads(text, 0, NULL);
        count += matches(line, method, path);
        json_decref(line);
    }
    free(text);
    fclose(file);
    return count;
}

void sim_server_forget(struct sim_server *sim)
{
    settle(sim);
    if (truncate(sim->log, 0) < 0)
        die("truncate");
}
