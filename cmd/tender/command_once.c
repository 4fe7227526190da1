/* plan, apply, fetch: one run, its report, its exit status. */
#include "base/files.h"
#include "commands.h"
#include "output.h"
#include <string.h>

enum { RUN_ARENA_BYTES = 1024 * 1024 * 1024 };

static enum reconcile_until until_of(const char *command)
{
    if (strcmp(command, "plan") == 0)
        return RECONCILE_PLAN;
    return strcmp(command, "fetch") == 0 ? RECONCILE_FETCH : RECONCILE_APPLY;
}

int command_once(struct program *program)
{
    struct err e;
    err_init(&e);
    struct output output;
    output_init(&output, &program->settings, clock_system());
    enum reconcile_until until = until_of(program->command->name);
    CLEANUP(file_close_cleanup) int lock = -1;
    if (program_check_report_file(&program->settings, &e) < 0)
        return program_fail(program->command, &e);
    if (until == RECONCILE_APPLY && reconcile_lock(&program->settings, &lock, &e) < 0)
        return program_fail(program->command, &e);
    CLEANUP(arena_cleanup) struct arena *arena = arena_new(RUN_ARENA_BYTES);
    if (arena == NULL) {
        (void)err_set(&e, ERR_MEMORY, "out of memory");
        return program_fail(program->command, &e);
    }
    struct reconcile_world world = program_world(program, &output.log);
    world.progress = output_progress;
    world.progress_context = &output;
    struct desired desired;
    struct run_report report;
    int status =
        reconcile_run(&world, until, program->command->name, &program->settings, arena, &desired, &report);
    output_end_progress(&output);
    if (report.failure.class == ERR_USAGE)
        return program_fail(program->command, &report.failure);
    if (output_report(&program->settings, &report, &e) < 0) {
        output_error(&e);
        return status == EXIT_STATUS_DONE ? EXIT_STATUS_FAILED : status;
    }
    return status;
}
