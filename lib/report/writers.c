/* The table of writers: one row per format. */
#include "report/page.h"
#include <string.h>

static const struct report_writer text_writer = {
    .name = "text", .run = text_run, .diagnostics = text_diagnostics, .show = text_show};
static const struct report_writer json_writer = {
    .name = "json", .run = json_run, .diagnostics = json_diagnostics, .show = json_show};

const struct report_writer *const report_writers[] = {&text_writer, &json_writer, NULL};

const struct report_writer *report_writer_find(const char *name)
{
    for (size_t i = 0; name != NULL && report_writers[i] != NULL; i++)
        if (strcmp(report_writers[i]->name, name) == 0)
            return report_writers[i];
    return NULL;
}
