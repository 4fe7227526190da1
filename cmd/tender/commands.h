/* The table of commands, and what they share. Only this folder prints and exits. */
#ifndef TENDER_CMD_COMMANDS_H
#define TENDER_CMD_COMMANDS_H

#include "model/settings.h"
#include "options.h"
#include "reconcile/reconcile.h"
#include "report/report.h"

struct program {
    const struct command *command;
    struct settings
        settings;        /* from flags, environment and defaults; each run completes a copy from tender.yml */
    struct given given;  /* which of them a flag or the environment gave */
    struct arena *arena; /* of the settings */
    struct loop *loop;
};

struct command {
    const char *name;
    const char *summary;
    unsigned settings; /* set of SETTING_FOR_…: the options it takes */
    int (*run)(struct program *program);
    const char *description;       /* what `tender help NAME` says above the options */
    enum report_document document; /* what it writes in --format */
};

extern const struct command commands[]; /* ends with name NULL */

int command_once(struct program *program);      /* plan, apply, fetch */
int command_loop(struct program *program);      /* run */
int command_manifests(struct program *program); /* validate, show, config */

int command_schema(struct program *program); /* schema, without a name */

/* The schema of that name on standard output; the exit status. */
int schema_print(int count, char *const names[]);
/* Help on standard output; the exit status. */
int help_print(const char *command_name);

/* Says what is wrong, and for a wrong use where the options are listed; the exit status. */
int program_fail(const struct command *command, const struct err *e);
/* Whether --report can be written at all: known before anything is changed. */
int program_check_report_file(const struct settings *settings, struct err *e) MUST_CHECK;

/* Fills the arguments that reconcile_run needs from the program. */
struct reconcile_world program_world(struct program *program, const struct log *log);

#endif
