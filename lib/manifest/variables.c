/* $VARIABLES in the scalars that Tender reads, replaced after parsing: whatever a value holds, the document
 * stays as it was written, and the rest of the file may hold any "$". */
#include "base/text.h"
#include "manifest/load.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 256, VALUE_MAX_BYTES = 1024 * 1024 };

static const char secret_prefix[] = "FLEET_SECRET_";
static const char host_prefix[] = "FLEET_VAR_";

static bool is_name_start(char byte)
{
    return isalpha((unsigned char)byte) || byte == '_';
}

static bool is_name(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_';
}

/* A "$NAME" or "${NAME}" at `text`: its length and name; 0 if it is none. */
static size_t match(const char *text, const char **name, size_t *name_length)
{
    bool has_brace = text[1] == '{';
    const char *start = text + (has_brace ? 2 : 1);
    size_t length = 0;
    if (!is_name_start(*start))
        return 0;
    while (is_name(start[length]))
        length++;
    if (has_brace && start[length] != '}')
        return 0;
    *name = start;
    *name_length = length;
    return length + (has_brace ? 3 : 1);
}

static bool begins_with(const char *name, size_t length, const char *prefix)
{
    return length >= strlen(prefix) && memcmp(name, prefix, strlen(prefix)) == 0;
}

/* 0, 1 if it stays as it is, 2 if a diagnostic was written, -1. */
static int value_of(struct load *load, const struct yaml_node *scalar, const char *name, size_t length,
                    const char **value, struct err *e)
{
    char text[NAME_BYTES];
    bool is_secret = begins_with(name, length, secret_prefix);
    bool is_bare = is_secret && length == strlen(secret_prefix);
    if (is_bare || begins_with(name, length, host_prefix) || length >= sizeof text)
        return 1;
    memcpy(text, name, length);
    text[length] = '\0';
    if (is_secret)
        return diagnose_at(load, RULE_SECRET_VARIABLE, scalar,
                           "use another variable here; $FLEET_SECRET_ ones belong in scripts", e,
                           "$%s: secret variables are filled in by Fleet, in scripts only", text) < 0
                   ? -1
                   : 2;
    *value = load->options->variable == NULL ? NULL
                                             : load->options->variable(load->options->variable_context, text);
    if (*value != NULL)
        return 0;
    const char *advice =
        arena_printf(load->arena, e, "set %s, or write \\$%s where the text is meant", text, text);
    if (advice == NULL)
        return -1;
    return diagnose_at(load, RULE_VARIABLE, scalar, advice, e, "the variable $%s is not set", text) < 0 ? -1
                                                                                                        : 2;
}

/* "${NAME:-x}" and the like are a shell's, and hardly meant as text. */
static int check_shell_form(struct load *load, const struct yaml_node *scalar, const char *text,
                            struct err *e)
{
    if (!text_starts_with(text, "${") || !is_name_start(text[2]))
        return 0;
    return diagnose_at(
        load, RULE_ODD_VARIABLE, scalar,
        "a variable is $NAME or ${NAME}, and has no default; where the text is meant, write \\${", e,
        "a \"${\" that begins no variable is taken as text");
}

static int expand_into(struct load *load, const struct yaml_node *scalar, struct buf *out, bool *failed,
                       struct err *e)
{
    const char *text = scalar->text;
    while (*text != '\0') {
        const char *name = NULL;
        const char *value = NULL;
        size_t name_length = 0;
        size_t plain = strcspn(text, "\\$");
        if (buf_add(out, text, plain, e) < 0)
            return -1;
        text += plain;
        if (text[0] == '\0')
            break;
        bool is_escaped = text[0] == '\\' && text[1] == '$';
        size_t length = text[0] == '$' ? match(text, &name, &name_length) : 0;
        if (is_escaped || length == 0) {
            if (!is_escaped && check_shell_form(load, scalar, text, e) < 0)
                return -1;
            text += is_escaped ? 1 : 0;
            if (buf_add(out, text++, 1, e) < 0)
                return -1;
            continue;
        }
        int code = value_of(load, scalar, name, name_length, &value, e);
        if (code < 0)
            return -1;
        *failed = *failed || code == 2;
        if (code == 0 ? buf_add_text(out, value, e) < 0 : buf_add(out, text, length, e) < 0)
            return -1;
        text += length;
    }
    return 0;
}

static void buf_cleanup(struct buf *buf)
{
    buf_done(buf);
}

int variables_expand(struct load *load, const struct yaml_node *scalar, const char **out, struct err *e)
{
    *out = NULL;
    if (yaml_is_decorated(scalar))
        return diagnose_decoration(load, scalar, e);
    if (strchr(scalar->text, '$') == NULL) {
        *out = scalar->text;
        return 0;
    }
    CLEANUP(buf_cleanup) struct buf buf = BUF_INIT(VALUE_MAX_BYTES);
    bool failed = false;
    if (expand_into(load, scalar, &buf, &failed, e) < 0)
        return -1;
    if (failed)
        return 0;
    *out = arena_strdup(load->arena, buf_text(&buf), e);
    return *out == NULL ? -1 : 0;
}

static int add_secret(struct load *load, const char *name, size_t length, struct place used_at, struct err *e)
{
    char text[NAME_BYTES];
    if (length >= sizeof text)
        return 0;
    memcpy(text, name, length);
    text[length] = '\0';
    const char *short_name = text + strlen(secret_prefix);
    if (map_get(&load->secret_names, short_name) != NULL)
        return 0;
    struct secret_variable *secret =
        ARENA_PUSH(load->arena, &load->secrets, &load->secret_count, &load->secret_capacity, e);
    if (secret == NULL)
        return -1;
    const char *value = load->options->variable == NULL
                            ? NULL
                            : load->options->variable(load->options->variable_context, text);
    secret->name = arena_strdup(load->arena, short_name, e);
    secret->value = value == NULL ? NULL : arena_strdup(load->arena, value, e);
    secret->used_at = used_at;
    if (secret->name == NULL || (value != NULL && secret->value == NULL))
        return -1;
    return map_put(&load->secret_names, load->arena, secret->name, secret, e);
}

int variables_collect_secrets(struct load *load, const char *text, size_t length, struct place used_at,
                              struct err *e)
{
    const char *end = text + length;
    for (const char *at = memchr(text, '$', length); at != NULL;) {
        const char *name = NULL;
        size_t name_length = 0;
        if (match(at, &name, &name_length) > 0 && begins_with(name, name_length, secret_prefix) &&
            name_length > strlen(secret_prefix) && add_secret(load, name, name_length, used_at, e) < 0)
            return -1;
        at++;
        at = at < end ? memchr(at, '$', (size_t)(end - at)) : NULL;
    }
    return 0;
}
