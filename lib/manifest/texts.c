/* Scripts, queries and pictures that packages refer to: read once, in the form that the API takes. */
#include "base/text.h"
#include "manifest/load.h"
#include <string.h>

/* CRLF becomes LF; a lone CR stays. In place of the file's own copy. */
static int with_line_feeds(struct load *load, const struct yaml_file *file, struct text_file *out,
                           struct err *e)
{
    char *text = arena_alloc(load->arena, file->length + 1, e);
    if (text == NULL)
        return -1;
    size_t used = 0;
    for (size_t i = 0; i < file->length; i++)
        if (file->text[i] != '\r' || i + 1 == file->length || file->text[i + 1] != '\n')
            text[used++] = file->text[i];
    text[used] = '\0';
    out->text = text;
    out->length = used;
    return 0;
}

/* The query of `- query: …`, or of a document of `kind: query` with `spec: {query: …}`: there are no others.
 */
static const struct yaml_node *find_query(const struct yaml_node *root, const char **problem)
{
    static const char *const kinds[] = {"query", "report"}; /* the old name and the new one */
    const struct yaml_node *query = NULL;
    *problem = NULL;
    if (root != NULL && root->kind == YAML_SEQUENCE) {
        if (root->count != 1)
            *problem = "a pre-install query file must hold exactly one query";
        else
            query = yaml_get(root->items[0], "query");
    } else {
        const struct yaml_node *kind = yaml_get(root, "kind");
        if (kind != NULL && mapping_find(kinds, ARRAY_LENGTH(kinds), kind) >= 0)
            query = yaml_get(yaml_get(root, "spec"), "query");
    }
    if (*problem == NULL && (query == NULL || query->kind != YAML_SCALAR || query->length == 0))
        *problem =
            "a pre-install query file must be a list with one \"query\", or a document of \"kind: query\"";
    return *problem == NULL ? query : NULL;
}

static int read_query(struct load *load, struct yaml_file *file, struct text_reference *out, struct err *e)
{
    const struct yaml_node *root = NULL;
    struct err problem = {.class = ERR_NONE};
    const char *wrong = NULL;
    if (yaml_parse(file, load->arena, &root, &problem) < 0) {
        if (diagnose_problem(load, file, &problem, e) < 0)
            return -1;
        wrong = "its query can't be read";
    } else {
        const struct yaml_node *query = find_query(root, &wrong);
        struct place place = {.file = file->path,
                              .line = root == NULL ? 0 : root->line,
                              .column = root == NULL ? 0 : root->column};
        if (query == NULL && diagnose(load, RULE_UNUSABLE_FILE, file, place, NULL, e, "%s", wrong) < 0)
            return -1;
        out->file.text = query == NULL ? NULL : query->text;
        out->file.length = query == NULL ? 0 : query->length;
    }
    out->problem = wrong;
    out->is_reported = wrong != NULL;
    return 0;
}

/* Why these bytes are not what the key takes; NULL if they are. */
static const char *unusable(const struct yaml_file *file, enum text_use use)
{
    const unsigned char *text = (const unsigned char *)file->text;
    bool is_script = use == TEXT_SCRIPT || use == TEXT_SCRIPT_PACKAGE;
    if (file->length == 0)
        return "is empty";
    if (!is_script)
        return NULL;
    if (file->length >= 2 && ((text[0] == 0xFF && text[1] == 0xFE) || (text[0] == 0xFE && text[1] == 0xFF)))
        return "is UTF-16 text: save the script as UTF-8";
    if (memchr(text, '\0', file->length) != NULL)
        return "holds NUL bytes: it is no script";
    return use == TEXT_SCRIPT && !text_is_utf8(file->text, file->length, NULL)
               ? "is not UTF-8 text: save the script as UTF-8"
               : NULL;
}

static int take(struct load *load, struct yaml_file *file, enum text_use use, const struct yaml_node *node,
                struct text_reference *out, struct err *e)
{
    char hex[DIGEST_HEX_BYTES];
    const char *wrong = unusable(file, use);
    if (wrong != NULL) {
        out->problem = arena_printf(load->arena, e, "%s %s", out->file.path, wrong);
        return out->problem == NULL ? -1 : 0;
    }
    switch (use) {
    case TEXT_QUERY:
        return read_query(load, file, out, e);
    case TEXT_SCRIPT:
        if (with_line_feeds(load, file, &out->file, e) < 0)
            return -1;
        break;
    case TEXT_SCRIPT_PACKAGE:
        if (digest_bytes(file->text, file->length, hex, e) < 0)
            return -1;
        out->sha256 = arena_strdup(load->arena, hex, e);
        if (out->sha256 == NULL)
            return -1;
        out->has_carriage_returns =
            text_starts_with(file->text, "#!") && memmem(file->text, file->length, "\r\n", 2) != NULL;
        out->file.text = file->text;
        out->file.length = file->length;
        break;
    case TEXT_BYTES:
        out->file.text = file->text;
        out->file.length = file->length;
        return 0;
    }
    return variables_collect_secrets(load, out->file.text, out->file.length, yaml_place(node), e);
}

int reference_text(struct load *load, const char *path, enum text_use use, const struct yaml_node *node,
                   const struct text_reference **out, struct err *e)
{
    const char *key = arena_printf(load->arena, e, "%d:%s", (int)use, path);
    if (key == NULL || selection_record(load, path, e) < 0)
        return -1;
    *out = map_get(&load->texts, key);
    if (*out != NULL)
        return 0;
    struct yaml_file file;
    struct text_reference *text = arena_alloc(load->arena, sizeof *text, e);
    if (text == NULL)
        return -1;
    text->file.path = path;
    struct file_problem problem;
    if (reference_read(load, path, &file, &problem, e) < 0)
        return -1;
    text->problem = problem.text;
    text->is_missing = problem.is_missing;
    if (text->problem == NULL && take(load, &file, use, node, text, e) < 0)
        return -1;
    *out = text;
    return map_put(&load->texts, load->arena, key, text, e);
}
