/* Any text as a scalar with variables, and as a script with secrets. What is escaped comes back as it was;
 * where a variable is missing it is told; every secret that is collected is named in the script. */
#include "base/text.h"
#include "manifest/load.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const char *variable(void *context, const char *name)
{
    (void)context;
    if (strcmp(name, "UNSET") == 0)
        return NULL;
    return strcmp(name, "EMPTY") == 0 ? "" : "value: $NOT_AGAIN\n\"";
}

static const char *expand(struct load *load, const char *text, struct err *e)
{
    struct yaml_file file = {.path = "fuzz.yml", .text = text, .length = strlen(text)};
    const struct yaml_node node = {.kind = YAML_SCALAR,
                                   .line = 1,
                                   .column = 1,
                                   .file = &file,
                                   .size = 1,
                                   .text = text,
                                   .length = file.length};
    const char *out = "";
    size_t errors = load->error_count;
    if (variables_expand(load, &node, &out, e) < 0)
        return NULL;
    if ((out == NULL) != (load->error_count > errors))
        abort();
    if (out != NULL && strchr(text, '$') == NULL && strcmp(out, text) != 0)
        abort();
    return out;
}

/* "$" becomes "\$": nothing is left to replace. */
static void check_escaped(struct load *load, const char *text, struct err *e)
{
    char *escaped = malloc(strlen(text) * 2 + 1);
    if (escaped == NULL)
        abort();
    size_t used = 0;
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '$')
            escaped[used++] = '\\';
        escaped[used++] = *at;
    }
    escaped[used] = '\0';
    const char *out = expand(load, escaped, e);
    if (e->class == ERR_NONE && (out == NULL || strcmp(out, text) != 0))
        abort();
    free(escaped);
}

static void check_secrets(const struct load *load, const char *text, size_t length)
{
    for (size_t i = 0; i < load->secret_count; i++) {
        char name[300];
        const struct secret_variable *secret = &load->secrets[i];
        snprintf(name, sizeof name, "FLEET_SECRET_%s", secret->name);
        if (secret->name[0] == '\0' || memmem(text, length, name, strlen(name)) == NULL)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct err e;
    const struct manifest_options options = {.subdir = "", .max_document_bytes = 65536, .variable = variable};
    struct arena *arena = arena_new(256 * 1024 * 1024);
    char *text = malloc(size + 1);
    err_init(&e);
    if (arena == NULL || text == NULL)
        abort();
    memcpy(text, bytes, size);
    text[size] = '\0';
    struct load load = {.options = &options, .arena = arena};
    const struct place place = {.file = "fuzz.yml", .line = 1, .column = 1};
    if (variables_collect_secrets(&load, text, size, place, &e) == 0)
        check_secrets(&load, text, size);
    expand(&load, text, &e);
    check_escaped(&load, text, &e);
    if (e.class != ERR_NONE && e.class != ERR_MEMORY)
        abort();
    free(text);
    arena_free(arena);
    return 0;
}
