/* The table of writers: one row per format. */
#include "base/text.h"
#include "report/page.h"
#include <stdio.h>
#include <string.h>

enum { NAMES_BYTES = 128 };

static const struct report_writer text_writer = {.name = "text",
                                                 .run = text_run,
                                                 .diagnostics = text_diagnostics,
                                                 .show = text_show,
                                                 .settings = text_settings};
static const struct report_writer json_writer = {.name = "json",
                                                 .run = json_run,
                                                 .diagnostics = json_diagnostics,
                                                 .show = json_show,
                                                 .settings = json_settings};
static const struct report_writer github_writer = {.name = "github", .diagnostics = github_diagnostics};
static const struct report_writer sarif_writer = {.name = "sarif", .diagnostics = sarif_diagnostics};
static const struct report_writer gitlab_writer = {.name = "gitlab", .diagnostics = gitlab_diagnostics};

const struct report_writer *const report_writers[] = {&text_writer,  &json_writer,   &github_writer,
                                                      &sarif_writer, &gitlab_writer, NULL};

const struct report_writer *report_writer_find(const char *name)
{
    for (size_t i = 0; name != NULL && report_writers[i] != NULL; i++)
        if (strcmp(report_writers[i]->name, name) == 0)
            return report_writers[i];
    return NULL;
}

static bool can_write(const struct report_writer *writer, enum report_document document)
{
    switch (document) {
    case REPORT_NOTHING:
        return true;
    case REPORT_RUN:
        return writer->run != NULL;
    case REPORT_DIAGNOSTICS:
        return writer->diagnostics != NULL;
    case REPORT_SHOW:
        return writer->show != NULL;
    case REPORT_SETTINGS:
        return writer->settings != NULL;
    }
    return false;
}

int report_writer_check(const char *name, enum report_document document, struct err *e)
{
    const struct report_writer *writer = report_writer_find(name);
    char names[NAMES_BYTES] = "";
    size_t used = 0;
    if (writer != NULL && can_write(writer, document))
        return 0;
    for (size_t i = 0; report_writers[i] != NULL && used < sizeof names; i++)
        if (can_write(report_writers[i], document))
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used == 0 ? "" : ", ",
                                     report_writers[i]->name);
    return err_set(e, ERR_USAGE, "--format %s: this command writes %s", name, names);
}
