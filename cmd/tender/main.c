/* The program: a table of commands, each with the set of settings that it takes as options. */
#include "base/text.h"
#include "commands.h"
#include "output.h"
#include "report/report.h"
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SETTINGS_ARENA_BYTES = 4 * 1024 * 1024 };

enum {
    FOR_MANIFESTS = SETTING_FOR_ALL | SETTING_FOR_REPOSITORY,
    FOR_RUNS = FOR_MANIFESTS | SETTING_FOR_FETCH | SETTING_FOR_REPORT,
    FOR_FLEET = FOR_RUNS | SETTING_FOR_FLEET,
    FOR_EVERYTHING = FOR_FLEET | SETTING_FOR_WRITE | SETTING_FOR_LOOP | SETTING_FOR_PLAN | SETTING_FOR_SHOW,
};

static int command_help(struct program *program)
{
    (void)program;
    return help_print(NULL);
}

static int command_version(struct program *program)
{
    (void)program;
    printf("tender %s\n", TENDER_VERSION);
    return EXIT_STATUS_DONE;
}

const struct command commands[] = {
    {"plan", "Show what would change: writes nothing, downloads nothing", FOR_FLEET | SETTING_FOR_PLAN,
     command_once,
     "Reads the manifests and what Fleet has, and prints what `tender apply` would do. It sends no write to "
     "Fleet and reads no\n"
     "package's body.",
     REPORT_RUN},
    {"apply", "Bring Fleet to what the manifests say, once", FOR_FLEET | SETTING_FOR_WRITE, command_once,
     "Downloads what Fleet lacks, delivers it team by team, and reports what became of each item. What fails "
     "is kept at its last\n"
     "good state and explained; the rest is applied.",
     REPORT_RUN},
    {"run", "Apply again and again, with an interval", FOR_FLEET | SETTING_FOR_WRITE | SETTING_FOR_LOOP,
     command_loop,
     "The same as apply, as a service: pulls the repository at each interval. SIGHUP: now. SIGTERM: ends "
     "what is under way within\n"
     "--shutdown-grace, writes the report, and exits.",
     REPORT_RUN},
    {"validate", "Check the manifests, without a server", FOR_MANIFESTS | SETTING_FOR_SHOW, command_manifests,
     "Reads every team's file and all that it refers to, and lists every fault with file, line and column.",
     REPORT_DIAGNOSTICS},
    {"show", "Print what the manifests say, resolved", FOR_MANIFESTS | SETTING_FOR_SHOW, command_manifests,
     "Prints each team's software after variables, package files and paths are resolved.", REPORT_SHOW},
    {"config", "Print the settings, and where each comes from", FOR_EVERYTHING, command_manifests,
     "Prints every setting as it holds for the repository: from a flag, the environment, tender.yml or the "
     "default. Secrets are\n"
     "shown as ***.",
     REPORT_SETTINGS},
    {"fetch", "Download and verify the packages only", FOR_RUNS, command_once,
     "Fills the cache with every package that the manifests name, so that a later apply needs no vendor.",
     REPORT_RUN},
    {"schema", "Write a JSON Schema for editors: team, package or settings", 0, command_schema,
     "`tender schema team`, `tender schema package` and `tender schema settings` write the JSON Schema of a "
     "team's file, of a package\n"
     "file and of tender.yml.",
     REPORT_NOTHING},
    {"help", "Say how a command is used: tender help COMMAND", 0, command_help, NULL, REPORT_NOTHING},
    {"version", "Print the version", 0, command_version, NULL, REPORT_NOTHING},
    {NULL, NULL, 0, NULL, NULL, REPORT_NOTHING},
};

static const char *environment_variable(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

struct reconcile_world program_world(struct program *program, const struct log *log)
{
    return (struct reconcile_world){
        .loop = program->loop,
        .clock = clock_system(),
        .jitter = jitter_system(),
        .log = log,
        .tender_version = TENDER_VERSION,
        .variable = environment_variable,
        .setting_is_given = options_setting_is_given,
        .setting_context = &program->given,
    };
}

static const struct command *find_command(const char *name)
{
    for (const struct command *command = commands; command->name != NULL; command++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

static int refuse_command(const char *name)
{
    const char *names[16];
    size_t count = 0;
    for (const struct command *command = commands; command->name != NULL; command++)
        names[count++] = command->name;
    const char *nearest = text_nearest(name, names, count);
    if (nearest != NULL)
        fprintf(stderr, "tender: there is no command \"%s\"; did you mean \"%s\"?\n", name, nearest);
    else
        fprintf(stderr, "tender: there is no command \"%s\"\n", name);
    fprintf(stderr, "`tender help` lists the commands.\n");
    return EXIT_STATUS_USAGE;
}

int program_fail(const struct command *command, const struct err *e)
{
    output_error(e);
    if (e->class == ERR_USAGE)
        fprintf(stderr, "`tender help %s` lists its options.\n", command->name);
    return report_exit_status_of(e);
}

int program_check_report_file(const struct settings *settings, struct err *e)
{
    if (settings->report_file == NULL || strcmp(settings->report_file, "-") == 0)
        return 0;
    char folder[PATH_MAX];
    const char *slash = strrchr(settings->report_file, '/');
    snprintf(folder, sizeof folder, "%.*s", slash == NULL ? 1 : (int)(slash - settings->report_file) + 1,
             slash == NULL ? "." : settings->report_file);
    if (access(folder, W_OK) < 0)
        return err_set_errno(e, "the report can't be written to %s: folder %s", settings->report_file,
                             folder);
    return 0;
}

static int run_command(const struct command *command, int count, char *const arguments[])
{
    struct err e;
    err_init(&e);
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(SETTINGS_ARENA_BYTES);
    if (arena == NULL) {
        (void)err_set(&e, ERR_MEMORY, "out of memory");
        return program_fail(command, &e);
    }
    struct program program = {.command = command, .arena = arena};
    bool help = false;
    if (settings_init(&program.settings, &e) < 0 ||
        options_read(count, arguments, command->settings, environment_variable, &program.settings,
                     &program.given, &help, arena, &e) < 0)
        return program_fail(command, &e);
    if (help)
        return help_print(command->name);
    if (report_writer_check(program.settings.format, command->document, &e) < 0)
        return program_fail(command, &e);
    CLEANUP(loop_cleanup) struct loop *loop = loop_new(clock_system(), &e);
    if (loop == NULL || loop_catch_signals(loop, &e) < 0)
        return program_fail(command, &e);
    program.loop = loop;
    return command->run(&program);
}

static int dispatch(int argc, char *argv[])
{
    if (argc < 2) {
        help_print(NULL);
        return EXIT_STATUS_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return help_print(NULL);
    if (strcmp(name, "--version") == 0)
        return command_version(NULL);
    const struct command *command = find_command(name);
    if (command == NULL)
        return refuse_command(name);
    if (strcmp(name, "help") == 0 && argc > 2)
        return find_command(argv[2]) == NULL ? refuse_command(argv[2]) : help_print(argv[2]);
    if (strcmp(name, "schema") == 0)
        return schema_print(argc - 2, argv + 2);
    return run_command(command, argc - 2, argv + 2);
}

int main(int argc, char *argv[])
{
    setlocale(LC_CTYPE, "");
    int status = dispatch(argc, argv);
    if ((fflush(stdout) != 0 || ferror(stdout) != 0) && status == EXIT_STATUS_DONE) {
        fprintf(stderr, "tender: can't write to standard output\n");
        status = EXIT_STATUS_FAILED;
    }
    return status;
}
