/* schema: the JSON Schemas of the files that Tender reads, for editors. */
#include "base/text.h"
#include "commands.h"
#include "manifest/json_schema.h"
#include "output.h"
#include <stdio.h>
#include <string.h>

enum { SCHEMA_BYTES = 1024 * 1024 };

static int refuse(const char *name)
{
    if (name == NULL)
        fprintf(stderr, "tender: which schema?");
    else
        fprintf(stderr, "tender: there is no schema \"%s\".", name);
    fprintf(stderr, " These can be written:");
    for (size_t i = 0; json_schemas[i].name != NULL; i++)
        fprintf(stderr, "%s %s", i == 0 ? "" : ",", json_schemas[i].name);
    fprintf(stderr, "\n");
    return EXIT_STATUS_USAGE;
}

int schema_print(int count, char *const names[])
{
    struct err e;
    err_init(&e);
    const char *name = count > 0 ? names[0] : NULL;
    if (name != NULL && (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0))
        return help_print("schema");
    if (count > 1) {
        fprintf(stderr, "tender: one schema at a time\n");
        return EXIT_STATUS_USAGE;
    }
    for (size_t i = 0; json_schemas[i].name != NULL; i++) {
        if (!text_equal(json_schemas[i].name, name))
            continue;
        CLEANUP(buf_done) struct buf text = BUF_INIT(SCHEMA_BYTES);
        if (json_schemas[i].write(&text, &e) == 0 && output_print(&text, &e) == 0)
            return EXIT_STATUS_DONE;
        output_error(&e);
        return EXIT_STATUS_FAILED;
    }
    return refuse(name);
}

int command_schema(struct program *program)
{
    (void)program;
    return refuse(NULL);
}
