/* Findings in the user's files: collected over all files, shown in file order with the line they are about.
 */
#include "base/text.h"
#include "manifest/load.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The entry that is being read has what stands somewhere else, before it. */
static bool is_shared(const struct load *load, struct place place)
{
    const struct place *entry = &load->entry;
    return entry->file != NULL && place.file != NULL && strcmp(entry->file, place.file) == 0 &&
           (place.line < entry->line || (place.line == entry->line && place.column < entry->column));
}

/* By the entry that is being read. */
static int meet(struct load *load, size_t index, struct err *e)
{
    struct finding *finding = &load->findings[index];
    load->latest = index;
    load->met_count++;
    load->error_count += finding->diagnostic.severity == DIAGNOSTIC_ERROR;
    if (!is_shared(load, finding->diagnostic.place)) {
        finding->is_own = true;
        return 0;
    }
    if (finding->sharer_count > 0 && finding->sharers[finding->sharer_count - 1] == load->entry.line)
        return 0;
    int *line =
        ARENA_PUSH(load->arena, &finding->sharers, &finding->sharer_count, &finding->sharer_capacity, e);
    if (line == NULL)
        return -1;
    *line = load->entry.line;
    return 0;
}

/* Where a finding is, if it still is: those of a team that is left out are forgotten. */
struct told {
    size_t index;
    const char *text;
};

static int add_finding(struct load *load, const struct diagnostic *diagnostic, struct yaml_file *file,
                       const char *key, struct err *e)
{
    struct finding *finding =
        ARENA_PUSH(load->arena, &load->findings, &load->finding_count, &load->finding_capacity, e);
    const char *kept = arena_strdup(load->arena, key, e);
    struct told *told = arena_alloc(load->arena, sizeof *told, e);
    if (finding == NULL || kept == NULL || told == NULL)
        return -1;
    *finding = (struct finding){.diagnostic = *diagnostic};
    finding->diagnostic.text = arena_strdup(load->arena, diagnostic->text, e);
    if (finding->diagnostic.text == NULL)
        return -1;
    *told = (struct told){.index = load->finding_count - 1, .text = finding->diagnostic.text};
    if (file != NULL && diagnostic->place.line > 0) {
        if (excerpt_take(load, file, &finding->diagnostic, e) < 0)
            return -1;
    }
    return map_put(&load->told, load->arena, kept, told, e);
}

int diagnose(struct load *load, enum rule rule, struct yaml_file *file, struct place place,
             const char *advice, struct err *e, const char *format, ...)
{
    char text[ERR_TEXT_BYTES];
    char key[ERR_TEXT_BYTES + PATH_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const struct diagnostic diagnostic = {
        .rule = rule, .severity = rule_severity(rule), .place = place, .text = text, .advice = advice};
    snprintf(key, sizeof key, "%d:%d:%s:%s", place.line, place.column, place.file == NULL ? "" : place.file,
             text);
    const struct told *told = map_get(&load->told, key);
    if (told != NULL && told->index < load->finding_count &&
        load->findings[told->index].diagnostic.text == told->text)
        return meet(load, told->index, e);
    if (add_finding(load, &diagnostic, file, key, e) < 0)
        return -1;
    return meet(load, load->finding_count - 1, e);
}

int diagnose_twice(struct load *load, const struct yaml_node *key, const struct yaml_node *first,
                   const char *advice, struct err *e)
{
    char shown[SHOWN_BYTES];
    return diagnose_at(load, RULE_REPEATED_KEY, key,
                       advice != NULL ? advice : "only one of them can hold: remove the other", e,
                       "\"%s\" stands there twice: in line %d too", diagnose_value(key, shown), first->line);
}

int diagnose_decoration(struct load *load, const struct yaml_node *node, struct err *e)
{
    if (node->is_bare_anchor)
        return diagnose_at(load, RULE_TAG, node, "a text that begins with \"&\" is put in quotes", e,
                           "an anchor (\"&…\") with no value behind it");
    return diagnose_at(load, RULE_TAG, node, "remove it; a text that begins with \"!\" is put in quotes", e,
                       "a YAML tag (\"!…\") that has no meaning here");
}

int diagnose_merge_key(struct load *load, const struct yaml_pair *pair, struct err *e)
{
    const struct yaml_node *key = pair->key;
    if (!key->is_plain)
        return diagnose_at(load, RULE_MERGE_KEY, key, "write it without the quotes", e,
                           "\"<<\" in quotes is a key like any other: nothing is merged");
    if (yaml_is_null(pair->value))
        return diagnose_at(load, RULE_MERGE_KEY, key, "write a mapping or an alias behind it, or remove it",
                           e, "\"<<\" has no value: nothing is merged");
    return diagnose_at(load, RULE_MERGE_KEY, key, NULL, e,
                       "\"<<\" takes a mapping, or a list of mappings, and stands in a mapping once");
}

int diagnose_problem(struct load *load, struct yaml_file *file, const struct err *problem, struct err *e)
{
    if (problem->class != ERR_MANIFEST)
        return err_set(e, problem->class, "%s", problem->text);
    const struct place place = {.file = file->path, .line = problem->line, .column = problem->column};
    return diagnose(load, RULE_YAML, file, place, NULL, e, "%s", problem->text);
}

struct ordered {
    struct diagnostic diagnostic;
    size_t found; /* keeps the order of what stands at one place */
};

static int compare_places(const void *a, const void *b)
{
    const struct ordered *left = a;
    const struct ordered *right = b;
    const char *left_file = left->diagnostic.place.file == NULL ? "" : left->diagnostic.place.file;
    const char *right_file = right->diagnostic.place.file == NULL ? "" : right->diagnostic.place.file;
    int order = strcmp(left_file, right_file);
    if (order == 0)
        order = left->diagnostic.place.line - right->diagnostic.place.line;
    if (order == 0)
        order = left->diagnostic.place.column - right->diagnostic.place.column;
    if (order == 0)
        order = left->found < right->found ? -1 : 1;
    return order;
}

int diagnose_finish(struct load *load, struct desired *out, struct err *e)
{
    size_t before = out->diagnostic_count;
    size_t total = before + load->finding_count;
    size_t errors = 0;
    if (load->finding_count == 0)
        return 0;
    struct ordered *ordered = arena_alloc_array(load->arena, total, sizeof *ordered, e);
    struct diagnostic *all = arena_alloc_array(load->arena, total, sizeof *all, e);
    if (ordered == NULL || all == NULL)
        return -1;
    for (size_t i = 0; i < before; i++)
        ordered[i] = (struct ordered){.diagnostic = out->diagnostics[i], .found = i};
    for (size_t i = 0; i < load->finding_count; i++) {
        struct finding *finding = &load->findings[i];
        if (trail_finish(load, finding, e) < 0)
            return -1;
        ordered[before + i] = (struct ordered){.diagnostic = finding->diagnostic, .found = before + i};
        errors += finding->diagnostic.severity == DIAGNOSTIC_ERROR;
    }
    qsort(ordered, total, sizeof *ordered, compare_places);
    for (size_t i = 0; i < total; i++)
        all[i] = ordered[i].diagnostic;
    out->diagnostics = all;
    out->diagnostic_count = total;
    out->error_count += errors;
    return 0;
}

const char *diagnose_value(const struct yaml_node *node, char out[SHOWN_BYTES])
{
    char redacted[EXCERPT_LINE_BYTES];
    if (node->kind != YAML_SCALAR) {
        snprintf(out, SHOWN_BYTES, "%s", yaml_kind_text(node));
        return out;
    }
    excerpt_redact(node->text, redacted, sizeof redacted);
    return text_first_line(redacted, strlen(redacted), out, SHOWN_BYTES);
}
