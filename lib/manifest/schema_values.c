/* One value of an entry, read by its field's type: a mistake names what was expected, and where. */
#include "manifest/schema_values.h"
#include "base/text.h"
#include "base/url.h"
#include "manifest/names.h"
#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

/* "{{ name }}" is a mapping with a mapping for its key. */
static const char *template_advice(const struct yaml_node *node)
{
    bool is_template =
        node->kind == YAML_MAPPING && node->count > 0 && node->pairs[0].key->kind == YAML_MAPPING;
    return is_template ? "\"{{\" begins no template here: a variable is $NAME or ${NAME}" : NULL;
}

/* What may be meant by a value of the wrong kind; NULL: who knows. */
static const char *kind_advice(const struct value *value)
{
    bool is_list = value->field->type == TYPE_TEXTS || value->field->type == TYPE_LABELS ||
                   value->field->type == TYPE_URLS;
    return is_list && value->node->kind == YAML_SCALAR ? "write it as a list, in \"[\" and \"]\""
                                                       : template_advice(value->node);
}

int schema_wrong_kind(const struct value *value, const char *expected, struct err *e)
{
    value->entry->has_errors = true;
    if (expected == NULL)
        return diagnose_at(value->load, RULE_TYPE, value->node, template_advice(value->node), e,
                           "each entry of \"%s\" must be a text, not %s", value->field->key,
                           yaml_kind_text(value->node));
    return diagnose_at(value->load, RULE_TYPE, value->node, kind_advice(value), e,
                       "\"%s\" must be %s, not %s", value->field->key, expected, yaml_kind_text(value->node));
}

/* Where an empty text says: as Fleet has it. */
static bool may_be_empty(const struct field *field)
{
    return field == schema_field(KEY_DISPLAY_NAME) || field == schema_field(KEY_VERSION);
}

/* A URL's own message says more. */
static bool is_joined(const struct value *value, const struct yaml_node *node)
{
    return node->is_folded && value->field->type != TYPE_URL && value->field->type != TYPE_URLS;
}

static const char several_lines[] =
    "stands on several lines, which YAML joins with blanks: write it on one line";

/* What no value of one line may hold; NULL if it is fine. */
static const char *text_fault(const struct value *value, const struct yaml_node *node, const char *text,
                              const char **advice)
{
    *advice = NULL;
    if (text[0] == '\0')
        return may_be_empty(value->field) ? NULL : "is empty";
    long control = name_find_control(text);
    if (control < 0 && !is_joined(value, node))
        return NULL;
    if (control < 0) {
        if (strstr(text, " - ") != NULL)
            *advice = "a \"- \" that is indented deeper than the entry above it is part of its text";
        return several_lines;
    }
    if (text[control] != '\n' && text[control] != '\r')
        return text[control] == '\t' ? "holds a tab" : "holds a control character";
    if (!node->is_block)
        return "holds a line break";
    return text[(size_t)control + strspn(text + control, "\r\n")] == '\0'
               ? "ends with a line break, which the block keeps: write the value on the line of its key"
               : "has several lines: write the value on the line of its key";
}

int schema_read_scalar(const struct value *value, const struct yaml_node *node, const char *expected,
                       const char **out, struct err *e)
{
    struct load *load = value->load;
    *out = NULL;
    if (node->kind != YAML_SCALAR || yaml_is_null(node)) {
        const struct value at = {load, value->entry, value->field, value->key, node, NULL};
        return schema_wrong_kind(&at, expected, e);
    }
    const char *text;
    if (variables_expand(load, node, &text, e) < 0)
        return -1;
    if (text == NULL) {
        value->entry->has_errors = true;
        return 0;
    }
    size_t most = value->field->max;
    size_t length = strlen(text);
    size_t characters = most == 0 || length <= most ? 0 : text_count_characters(text, length);
    if (characters > most) {
        value->entry->has_errors = true;
        return diagnose_at(load, RULE_TEXT, node, NULL, e,
                           "\"%s\" has %zu characters; at most %zu are allowed", value->field->key,
                           characters, most);
    }
    const char *advice;
    const char *fault = text_fault(value, node, text, &advice);
    if (fault != NULL) {
        value->entry->has_errors = true;
        return diagnose_at(load, RULE_TEXT, node, advice, e, "\"%s\" %s", value->field->key, fault);
    }
    *out = text[0] == '\0' ? NULL : text;
    return 0;
}

static int read_text(const struct value *value, struct err *e)
{
    return schema_read_scalar(value, value->node, "a text", value->target, e);
}

static int read_path(const struct value *value, struct err *e)
{
    return schema_read_scalar(value, value->node, "a path", &value->entry->path, e);
}

/* What was meant by a text that is no URL; NULL: who knows. */
static const char *url_advice(const char *url)
{
    static const char *const schemes[] = {"https", "http"};
    char scheme[8];
    const char *colon = strstr(url, "://");
    if (text_starts_with(url, "http://") || text_starts_with(url, "https://"))
        return "after the scheme come a host and, if any, a port of 1 to 65535";
    if (text_starts_with(url, "\u201c") || text_starts_with(url, "\u2018"))
        return "quotes in YAML are \" and ': these are others, and part of the value";
    if (url[0] == '<' || url[0] == '[')
        return "write the URL alone";
    if (colon == NULL && (schema_is_yaml(url) || schema_is_script(url)))
        return "a file of the repository belongs behind \"path\"";
    if (colon == NULL && (text_starts_with(url, "./") || text_starts_with(url, "../")))
        return "Tender reads packages from web servers, not from the repository";
    if (colon == NULL)
        return strncmp(url, "http", 4) == 0 ? "a URL begins with https:// or http://"
               : strchr(url, '.') != NULL   ? "write https:// before the host"
                                            : NULL;
    if ((size_t)(colon - url) >= sizeof scheme)
        return NULL;
    memcpy(scheme, url, (size_t)(colon - url));
    scheme[colon - url] = '\0';
    const char *nearest = text_nearest(scheme, schemes, ARRAY_LENGTH(schemes));
    return nearest == NULL         ? NULL
           : nearest == schemes[0] ? "did you mean https://?"
                                   : "did you mean http://?";
}

/* What is wrong with a URL that is none. */
static const char *url_fault(const struct yaml_node *node, const char *url, const char **advice)
{
    bool has_blank = strchr(url, ' ') != NULL;
    bool is_written = strchr(node->text, '$') == NULL; /* nothing is told of a variable's value */
    *advice = has_blank || !is_written ? NULL : url_advice(url);
    if (!has_blank)
        return "is no URL that can be fetched: http:// and https:// work";
    return url[0] == ' ' || text_ends_with(url, " ") ? "has a blank before or behind it: remove it"
                                                     : "holds a blank; in a URL it is written %20";
}

static int check_url(const struct value *value, const struct yaml_node *node, const char *url, struct err *e)
{
    char shown[SHOWN_BYTES];
    const char *advice;
    const char *key = value->field->key;
    const struct settings *settings = value->load->options->settings;
    bool has_blank = strchr(url, ' ') != NULL;
    bool is_fine = url_is_http(url) && !has_blank;
    if (is_fine && (settings == NULL || settings_allows_source(settings, url)))
        return 0;
    value->entry->has_errors = true;
    if (is_fine)
        return diagnose_at(value->load, RULE_SOURCE, node, "add its prefix there, or use another URL", e,
                           "\"%s\": %s is below no prefix of \"allowed_sources\"", key,
                           diagnose_value(node, shown));
    if (has_blank && (node->is_block || node->is_folded))
        return diagnose_at(value->load, RULE_URL, node, NULL, e, "\"%s\" %s", key, several_lines);
    const char *fault = url_fault(node, url, &advice);
    return diagnose_at(value->load, RULE_URL, node, advice, e, "\"%s\": %s %s", key,
                       diagnose_value(node, shown), fault);
}

static int read_url(const struct value *value, struct err *e)
{
    const char **target = value->target;
    if (schema_read_scalar(value, value->node, "a URL", target, e) < 0)
        return -1;
    return *target == NULL ? 0 : check_url(value, value->node, *target, e);
}

/* A list of texts; a single text counts as a list of one if `single_too`. */
static int read_list(const struct value *value, bool single_too, bool are_urls, struct string_list *out,
                     struct err *e)
{
    const struct yaml_node *node = value->node;
    bool is_single = single_too && node->kind == YAML_SCALAR;
    if (!is_single && node->kind != YAML_SEQUENCE)
        return schema_wrong_kind(value, single_too ? "a text or a list of texts" : "a list", e);
    size_t count = is_single ? 1 : node->count;
    const char **items = arena_alloc_array(value->load->arena, count, sizeof *items, e);
    if (items == NULL)
        return -1;
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const struct yaml_node *item = is_single ? node : node->items[i];
        const char *text;
        if (schema_read_scalar(value, item, is_single ? "a text" : NULL, &text, e) < 0)
            return -1;
        if (text != NULL && are_urls && check_url(value, item, text, e) < 0)
            return -1;
        if (text != NULL)
            items[used++] = text;
    }
    *out = (struct string_list){.is_set = true, .count = used, .items = items};
    return 0;
}

int schema_read_texts(struct load *load, const struct yaml_node *node, struct string_list *out,
                      bool *has_errors, struct err *e)
{
    static const struct field field = {.key = "a list", .max = TEXT_MAX};
    struct entry entry = {.node = node};
    const struct value value = {load, &entry, &field, NULL, node, NULL};
    int result = read_list(&value, false, false, out, e);
    *has_errors = *has_errors || entry.has_errors;
    return result;
}

static int read_urls(const struct value *value, struct err *e)
{
    return read_list(value, false, true, value->target, e);
}

static int read_texts(const struct value *value, struct err *e)
{
    return read_list(value, value->field->type == TYPE_TEXT_OR_TEXTS, false, value->target, e);
}

/* Other things that people take for a SHA-256. */
static const char *digest_advice(const char *text)
{
    static const struct {
        size_t length;
        const char *advice;
    } others[] = {{32, "this is as long as an MD5: make the SHA-256 by `sha256sum FILE`"},
                  {40, "this is as long as a SHA-1: make the SHA-256 by `sha256sum FILE`"},
                  {96, "this is as long as a SHA-384: make the SHA-256 by `sha256sum FILE`"},
                  {128, "this is as long as a SHA-512: make the SHA-256 by `sha256sum FILE`"}};
    size_t digits = strspn(text, "0123456789abcdefABCDEF");
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
        if (text[digits] == '\0' && digits == others[i].length)
            return others[i].advice;
    if (strncasecmp(text, "sha256:", strlen("sha256:")) == 0)
        return "remove the \"sha256:\"";
    return digits == DIGEST_HEX_BYTES - 1 ? "remove what stands behind the 64 digits"
                                          : "copy it from `sha256sum FILE`";
}

static int read_digest(const struct value *value, struct err *e)
{
    const char **target = value->target;
    const char *text;
    char shown[SHOWN_BYTES];
    if (schema_read_scalar(value, value->node, "64 hex digits", &text, e) < 0)
        return -1;
    if (text == NULL)
        return 0;
    if (!digest_is_hex(text)) {
        value->entry->has_errors = true;
        return diagnose_at(value->load, RULE_DIGEST, value->node, digest_advice(text), e,
                           "\"%s\" must be 64 hex digits: \"%s\" has %zu character%s", value->field->key,
                           diagnose_value(value->node, shown), strlen(text), strlen(text) == 1 ? "" : "s");
    }
    char *lower = arena_strdup(value->load->arena, text, e);
    if (lower == NULL)
        return -1;
    for (char *digit = lower; *digit != '\0'; digit++)
        *digit = (char)tolower((unsigned char)*digit);
    *target = lower;
    return 0;
}

/* Types come from the field, so a quoted "true" is a true as well; but not for Fleet's own tool. */
static int read_bool(const struct value *value, bool *is_true, bool *is_given, struct err *e)
{
    static const char *const yes[] = {"true", "yes", "on"};
    static const char *const no[] = {"false", "no", "off"};
    const char *text;
    char shown[SHOWN_BYTES];
    *is_given = false;
    if (schema_read_scalar(value, value->node, "true or false", &text, e) < 0)
        return -1;
    if (text == NULL)
        return 0;
    for (size_t i = 0; i < ARRAY_LENGTH(yes); i++) {
        bool matches_yes = strcasecmp(text, yes[i]) == 0;
        if (!matches_yes && strcasecmp(text, no[i]) != 0)
            continue;
        *is_true = matches_yes;
        *is_given = true;
        if (!value->node->is_quoted || strchr(value->node->text, '$') != NULL)
            return 0;
        return diagnose_at(value->load, RULE_QUOTED_BOOLEAN, value->node, "remove the quotes", e,
                           "\"%s\" is in quotes: it is taken as %s, but fleetctl refuses a text here",
                           value->field->key, matches_yes ? "true" : "false");
    }
    value->entry->has_errors = true;
    return diagnose_at(value->load, RULE_BOOLEAN, value->node, NULL, e,
                       "\"%s\" must be true or false, not \"%s\"", value->field->key,
                       diagnose_value(value->node, shown));
}

static int read_switch(const struct value *value, struct err *e)
{
    bool is_true = false;
    bool is_given;
    if (read_bool(value, &is_true, &is_given, e) < 0)
        return -1;
    if (is_given)
        *(bool *)value->target = is_true;
    return 0;
}

static int read_tristate(const struct value *value, struct err *e)
{
    bool is_true = false;
    bool is_given;
    if (read_bool(value, &is_true, &is_given, e) < 0)
        return -1;
    if (is_given)
        *(enum tristate *)value->target = is_true ? TRISTATE_TRUE : TRISTATE_FALSE;
    return 0;
}

/* Fleet finds labels without regard to case, and refuses the same one twice. */
static int check_labels(const struct value *value, const struct string_list *labels, struct err *e)
{
    for (size_t i = 1; i < labels->count; i++)
        for (size_t k = 0; k < i && i < 1000; k++) {
            if (strcasecmp(labels->items[i], labels->items[k]) != 0)
                continue;
            char shown[SHOWN_BYTES];
            value->entry->has_errors = true;
            if (diagnose_at(value->load, RULE_REPEATED_LABEL, value->node->items[i], NULL, e,
                            "the label \"%s\" stands there twice",
                            diagnose_value(value->node->items[i], shown)) < 0)
                return -1;
        }
    return 0;
}

/* Whether another list of labels in the entry says something: an empty one restricts nothing. */
static bool has_other_labels(const struct value *value)
{
    const struct entry *entry = value->entry;
    for (int key = KEY_LABELS_INCLUDE_ANY; key <= KEY_LABELS_INCLUDE_ALL; key++)
        if (entry->keys[key] != value->key && schema_has_labels(entry, (enum entry_key)key))
            return true;
    return false;
}

static int read_labels(const struct value *value, struct err *e)
{
    struct software_item *item = &value->entry->item;
    struct string_list labels = {.is_set = false};
    if (read_list(value, false, false, &labels, e) < 0)
        return -1;
    if (value->node->count > 0 && has_other_labels(value)) {
        value->entry->has_errors = true;
        return diagnose_at(value->load, RULE_CONFLICTING_KEYS, value->key, "keep one of the three", e,
                           "only one of labels_include_any, labels_exclude_any and labels_include_all is "
                           "allowed");
    }
    if (labels.is_set && value->node->count == 0 &&
        diagnose_at(value->load, RULE_EMPTY_LABELS, value->node, "remove the key, or name the labels", e,
                    "\"%s\" is an empty list, which restricts nothing", value->field->key) < 0)
        return -1;
    if (labels.count == 0 && item->labels.count > 0)
        return 0;
    if (labels.count == value->node->count && check_labels(value, &labels, e) < 0)
        return -1;
    item->labels = labels;
    item->label_mode = labels.count == 0 ? LABELS_NONE : value->field->labels;
    return 0;
}

static int (*const readers[])(const struct value *value, struct err *e) = {
    [TYPE_PATH] = read_path,           [TYPE_TEXT] = read_text,         [TYPE_URL] = read_url,
    [TYPE_URLS] = read_urls,           [TYPE_DIGEST] = read_digest,     [TYPE_SCRIPT] = schema_read_file,
    [TYPE_QUERY] = schema_read_file,   [TYPE_ICON] = schema_read_file,  [TYPE_BYTES] = schema_read_file,
    [TYPE_SWITCH] = read_switch,       [TYPE_TRISTATE] = read_tristate, [TYPE_TEXTS] = read_texts,
    [TYPE_TEXT_OR_TEXTS] = read_texts, [TYPE_LABELS] = read_labels,
};

int schema_read_value(const struct value *value, struct err *e)
{
    return readers[value->field->type](value, e);
}
