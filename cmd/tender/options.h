/* The command line and the environment, read by the settings table. */
#ifndef TENDER_CMD_OPTIONS_H
#define TENDER_CMD_OPTIONS_H

#include "model/settings.h"

enum { OPTIONS_MOST_SETTINGS = 128 };

enum given_by { GIVEN_BY_NOBODY, GIVEN_BY_ENVIRONMENT, GIVEN_BY_FLAG };

struct given {
    enum given_by by[OPTIONS_MOST_SETTINGS]; /* by index in settings_table */
};

/* Reads `arguments` (behind the command's name), then the environment for what no flag gave, then fills in
 * places (state folder). `accepted`: set of SETTING_FOR_…. *help is set where --help was asked. Errors:
 * ERR_USAGE with the nearest right option, ERR_CONFIG for a bad value in the environment. */
int options_read(int count, char *const arguments[], unsigned accepted,
                 const char *(*variable)(void *context, const char *name), struct settings *settings,
                 struct given *given, bool *help, struct arena *arena, struct err *e) MUST_CHECK;

/* For reconcile_world.setting_is_given; the context is a struct given. */
bool options_setting_is_given(void *context, const char *name);

#endif
