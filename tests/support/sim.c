/* Starts and stops fleetsim for tests that want a server that answers as a real one does. */
#include "sim.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
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

static int connect_to(const struct sim_server *sim)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const char *port = strrchr(sim->fleet_url, ':');
    address.sin_port = htons((uint16_t)strtoul(port == NULL ? "" : port + 1, NULL, 10));
    int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (file < 0 || connect(file, (const struct sockaddr *)&address, sizeof address) < 0)
        die("connect");
    return file;
}

/* How many requests have no line in the log yet. */
static json_int_t open_requests(const struct sim_server *sim)
{
    static const char request[] =
        "GET /fleetsim/open-requests HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    char answer[4096];
    size_t used = 0;
    ssize_t got = 0;
    int file = connect_to(sim);
    if (write(file, request, sizeof request - 1) != (ssize_t)sizeof request - 1)
        die("write");
    while (used + 1 < sizeof answer && (got = read(file, answer + used, sizeof answer - 1 - used)) > 0)
        used += (size_t)got;
    close(file);
    answer[used] = '\0';
    const char *body = strstr(answer, "\r\n\r\n");
    json_t *root = body == NULL ? NULL : json_loads(body, 0, NULL);
    const json_t *open = json_object_get(root, "open");
    if (!json_is_integer(open))
        die("fleetsim does not say how many requests are open");
    json_int_t count = json_integer_value(open);
    json_decref(root);
    return count;
}

/* The server logs a request when it has seen the connection's side of it end, a moment after our answer. (Not
 * waited for without end: one that is still being answered has no line.) */
static void settle(const struct sim_server *sim)
{
    for (int i = 0; sim->pid > 0 && i < START_ROUNDS && open_requests(sim) > 0; i++)
        usleep(NAP_US);
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
