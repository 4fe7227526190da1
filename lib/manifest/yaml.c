/* libyaml's events become a tree. Anchors, aliases and merge keys are resolved here, within limits, so that a
 * small document can't stand for a huge one. */
#include "manifest/yaml.h"
#include "base/text.h"
#include <string.h>
#include <yaml.h>

struct anchor {
    const char *name;
    struct yaml_node *node;
    bool is_open; /* its node is still being read: an alias to it would be endless */
};

struct reader {
    yaml_parser_t parser;
    yaml_event_t event; /* the current one */
    bool has_event;
    struct yaml_file *file;
    struct arena *arena;
    struct anchor *anchors;
    size_t anchor_count, anchor_capacity;
    size_t node_count;
};

/* libyaml's words, and what a person who wrote the file has to know. */
static const struct {
    const char *problem;
    const char *text;
} problems[] = {
    {"mapping values are not allowed in this context",
     "a \": \" where no key can stand: quote the value, or correct the indentation"},
    {"could not find expected ':'", "this line has no \": \" behind its key, or is not indented enough"},
    {"did not find expected key", "wrong indentation: no key of the mapping above begins in this column"},
    {"did not find expected '-' indicator",
     "wrong indentation: an entry of the list above begins with \"- \" in another column"},
    {"found undefined tag handle", "an unknown YAML tag: quote a value that begins with \"!\""},
    {"found duplicate %YAML directive", "the %YAML directive stands there twice"},
    {"block sequence entries are not allowed in this context",
     "a list entry (\"- \") where none can stand: correct the indentation"},
    {"did not find expected ',' or ']'", "the \"[\" list is not closed, or a comma is missing"},
    {"did not find expected ',' or '}'", "the \"{\" mapping is not closed, or a comma is missing"},
};

static int fail_at(const struct reader *reader, size_t line, size_t column, struct err *e, const char *text)
{
    err_fill(e, ERR_MANIFEST, "%s", text);
    err_at(e, reader->file->path, (int)line + 1, (int)column + 1);
    return -1;
}

/* A byte that no YAML text may hold: libyaml gives its offset only. */
static int fail_reading(const struct reader *reader, struct err *e)
{
    const struct yaml_file *file = reader->file;
    size_t offset = reader->parser.problem_offset;
    size_t line = 0;
    size_t start = 0;
    for (size_t i = 0; i < offset && i < file->length; i++) {
        if (file->text[i] != '\n')
            continue;
        line++;
        start = i + 1;
    }
    bool is_utf8 = text_is_utf8(file->text, file->length, NULL);
    return fail_at(reader, line, offset > start ? offset - start : 0, e,
                   is_utf8 ? "a control character that YAML does not allow"
                           : "this is not UTF-8 text: save the file as UTF-8");
}

static const char *character_text(char character)
{
    switch (character) {
    case '\t':
        return "a tab is used for indentation: YAML takes spaces only";
    case '`':
        return "a stray \"`\" (a Markdown fence?): remove it, or quote the value";
    case '@':
        return "a value that begins with \"@\" must be quoted";
    case '%':
        return "a value that begins with \"%\" must be quoted";
    default:
        return "no value can begin with this character: quote it";
    }
}

static int fail_parsing(const struct reader *reader, struct err *e)
{
    const yaml_parser_t *parser = &reader->parser;
    yaml_mark_t mark = parser->problem_mark;
    const char *problem = parser->problem == NULL ? "not valid YAML" : parser->problem;
    if (parser->error == YAML_MEMORY_ERROR)
        return err_set(e, ERR_MEMORY, "out of memory");
    if (parser->error == YAML_READER_ERROR)
        return fail_reading(reader, e);
    if (strcmp(problem, "found character that cannot start any token") == 0) {
        char character = parser->buffer.pointer != NULL ? (char)*parser->buffer.pointer : '\0';
        return fail_at(reader, mark.line, mark.column, e, character_text(character));
    }
    if (strstr(problem, "unexpected end of stream") != NULL && parser->context != NULL &&
        strstr(parser->context, "quoted scalar") != NULL)
        return fail_at(reader, parser->context_mark.line, parser->context_mark.column, e,
                       "the quote that begins here is never closed");
    /* The key's line, not the next one, where the parser gave up. */
    if (strcmp(problem, "could not find expected ':'") == 0 && parser->context != NULL)
        mark = parser->context_mark;
    for (size_t i = 0; i < ARRAY_LENGTH(problems); i++)
        if (strcmp(problem, problems[i].problem) == 0)
            return fail_at(reader, mark.line, mark.column, e, problems[i].text);
    err_fill(e, ERR_MANIFEST, "not valid YAML: %s%s%s", problem, parser->context == NULL ? "" : " ",
             parser->context == NULL ? "" : parser->context);
    err_at(e, reader->file->path, (int)mark.line + 1, (int)mark.column + 1);
    return -1;
}

static int next_event(struct reader *reader, struct err *e)
{
    if (reader->has_event)
        yaml_event_delete(&reader->event);
    reader->has_event = yaml_parser_parse(&reader->parser, &reader->event) == 1;
    return reader->has_event ? 0 : fail_parsing(reader, e);
}

static int count_nodes(struct reader *reader, size_t more, struct err *e)
{
    const yaml_mark_t *mark = &reader->event.start_mark;
    reader->node_count += more;
    if (more > YAML_MAX_NODES || reader->node_count > YAML_MAX_NODES)
        return fail_at(reader, mark->line, mark->column, e,
                       "the document is too large: more than 1,000,000 values, aliases counted as what they "
                       "stand for");
    return 0;
}

static struct yaml_node *node_new(struct reader *reader, enum yaml_kind kind, struct err *e)
{
    if (count_nodes(reader, 1, e) < 0)
        return NULL;
    struct yaml_node *node = arena_alloc(reader->arena, sizeof *node, e);
    if (node != NULL)
        *node = (struct yaml_node){.kind = kind,
                                   .line = (int)reader->event.start_mark.line + 1,
                                   .column = (int)reader->event.start_mark.column + 1,
                                   .file = reader->file,
                                   .size = 1};
    return node;
}

/* Its index + 1; 0 where the node has no anchor. The newest one of a name counts, as YAML says. */
static int open_anchor(struct reader *reader, const yaml_char_t *name, struct yaml_node *node, size_t *index,
                       struct err *e)
{
    *index = 0;
    if (name == NULL)
        return 0;
    struct anchor *anchor =
        ARENA_PUSH(reader->arena, &reader->anchors, &reader->anchor_count, &reader->anchor_capacity, e);
    if (anchor == NULL)
        return -1;
    anchor->name = arena_strdup(reader->arena, (const char *)name, e);
    anchor->node = node;
    anchor->is_open = true;
    *index = reader->anchor_count;
    return anchor->name == NULL ? -1 : 0;
}

static void close_anchor(struct reader *reader, size_t index)
{
    if (index > 0)
        reader->anchors[index - 1].is_open = false;
}

static int read_alias(struct reader *reader, struct yaml_node **out, struct err *e)
{
    const char *name = (const char *)reader->event.data.alias.anchor;
    yaml_mark_t mark = reader->event.start_mark;
    for (size_t i = reader->anchor_count; i > 0; i--) {
        const struct anchor *anchor = &reader->anchors[i - 1];
        if (strcmp(anchor->name, name) != 0)
            continue;
        if (anchor->is_open)
            return fail_at(reader, mark.line, mark.column, e,
                           "this alias stands for a value that contains it");
        *out = anchor->node;
        return count_nodes(reader, anchor->node->size, e);
    }
    return fail_at(reader, mark.line, mark.column, e, "this alias has no anchor (\"&name\") before it");
}

static int read_node(struct reader *reader, int depth, struct yaml_node **out, struct err *e);

static int read_scalar(struct reader *reader, struct yaml_node **out, struct err *e)
{
    size_t anchor;
    struct yaml_node *node = node_new(reader, YAML_SCALAR, e);
    if (node == NULL || open_anchor(reader, reader->event.data.scalar.anchor, node, &anchor, e) < 0)
        return -1;
    close_anchor(reader, anchor);
    node->is_plain = reader->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    node->length = reader->event.data.scalar.length;
    /* "\0" in a quoted text: every text ends there for whoever reads it later, so it would say another thing.
     */
    if (memchr(reader->event.data.scalar.value, '\0', node->length) != NULL)
        return fail_at(reader, reader->event.start_mark.line, reader->event.start_mark.column, e,
                       "a text must not hold a NUL (\"\\0\")");
    node->text = arena_strndup(reader->arena, (const char *)reader->event.data.scalar.value, node->length, e);
    *out = node;
    return node->text == NULL ? -1 : 0;
}

static int read_sequence(struct reader *reader, int depth, struct yaml_node **out, struct err *e)
{
    size_t anchor;
    size_t capacity = 0;
    struct yaml_node *node = node_new(reader, YAML_SEQUENCE, e);
    if (node == NULL || open_anchor(reader, reader->event.data.sequence_start.anchor, node, &anchor, e) < 0)
        return -1;
    for (;;) {
        struct yaml_node *item = NULL;
        if (next_event(reader, e) < 0)
            return -1;
        if (reader->event.type == YAML_SEQUENCE_END_EVENT)
            break;
        if (read_node(reader, depth + 1, &item, e) < 0)
            return -1;
        const struct yaml_node **slot = ARENA_PUSH(reader->arena, &node->items, &node->count, &capacity, e);
        if (slot == NULL)
            return -1;
        *slot = item;
        node->size += item->size;
    }
    close_anchor(reader, anchor);
    *out = node;
    return 0;
}

static bool is_merge_key(const struct yaml_node *key)
{
    return key->kind == YAML_SCALAR && key->is_plain && strcmp(key->text, "<<") == 0;
}

static bool has_key(const struct yaml_node *mapping, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (mapping->pairs[i].key->kind == YAML_SCALAR && strcmp(mapping->pairs[i].key->text, key) == 0)
            return true;
    return false;
}

/* Own keys win over merged ones, earlier merged mappings over later ones. */
static int merge_mapping(struct reader *reader, struct yaml_node *into, size_t *capacity,
                         const struct yaml_node *from, struct err *e)
{
    if (from->kind != YAML_MAPPING)
        return fail_at(reader, (size_t)from->line - 1, (size_t)from->column - 1, e,
                       "\"<<\" takes a mapping, or a list of mappings");
    size_t own = into->count;
    /* Each key is compared with each: counted, so that the limit on nodes bounds the time as well. */
    if (count_nodes(reader, from->size + from->count * own / 16, e) < 0)
        return -1;
    for (size_t i = 0; i < from->count; i++) {
        const struct yaml_pair pair = from->pairs[i];
        if (pair.key->kind == YAML_SCALAR && has_key(into, own, pair.key->text))
            continue;
        struct yaml_pair *slot = ARENA_PUSH(reader->arena, &into->pairs, &into->count, capacity, e);
        if (slot == NULL)
            return -1;
        *slot = pair;
        into->size += pair.key->size + pair.value->size;
    }
    return 0;
}

static int merge(struct reader *reader, struct yaml_node *into, size_t *capacity,
                 const struct yaml_node *value, struct err *e)
{
    if (value->kind != YAML_SEQUENCE)
        return merge_mapping(reader, into, capacity, value, e);
    for (size_t i = 0; i < value->count; i++)
        if (merge_mapping(reader, into, capacity, value->items[i], e) < 0)
            return -1;
    return 0;
}

static int read_pair(struct reader *reader, int depth, struct yaml_node *mapping, size_t *capacity,
                     const struct yaml_node **merged, struct err *e)
{
    struct yaml_node *key = NULL;
    struct yaml_node *value = NULL;
    if (read_node(reader, depth + 1, &key, e) < 0 || next_event(reader, e) < 0 ||
        read_node(reader, depth + 1, &value, e) < 0)
        return -1;
    mapping->size += key->size + value->size;
    if (is_merge_key(key)) {
        *merged = value;
        return 0;
    }
    struct yaml_pair *slot = ARENA_PUSH(reader->arena, &mapping->pairs, &mapping->count, capacity, e);
    if (slot == NULL)
        return -1;
    *slot = (struct yaml_pair){.key = key, .value = value};
    return 0;
}

static int read_mapping(struct reader *reader, int depth, struct yaml_node **out, struct err *e)
{
    size_t anchor;
    size_t capacity = 0;
    const struct yaml_node *merged = NULL;
    struct yaml_node *node = node_new(reader, YAML_MAPPING, e);
    if (node == NULL || open_anchor(reader, reader->event.data.mapping_start.anchor, node, &anchor, e) < 0)
        return -1;
    for (;;) {
        if (next_event(reader, e) < 0)
            return -1;
        if (reader->event.type == YAML_MAPPING_END_EVENT)
            break;
        if (read_pair(reader, depth, node, &capacity, &merged, e) < 0)
            return -1;
    }
    if (merged != NULL && merge(reader, node, &capacity, merged, e) < 0)
        return -1;
    close_anchor(reader, anchor);
    *out = node;
    return 0;
}

/* The current event begins the node. */
static int read_node(struct reader *reader, int depth, struct yaml_node **out, struct err *e)
{
    if (depth > YAML_MAX_DEPTH)
        return fail_at(reader, reader->event.start_mark.line, reader->event.start_mark.column, e,
                       "nested more than 64 deep");
    switch (reader->event.type) {
    case YAML_ALIAS_EVENT:
        return read_alias(reader, out, e);
    case YAML_SCALAR_EVENT:
        return read_scalar(reader, out, e);
    case YAML_SEQUENCE_START_EVENT:
        return read_sequence(reader, depth, out, e);
    case YAML_MAPPING_START_EVENT:
        return read_mapping(reader, depth, out, e);
    default:
        return fail_at(reader, reader->event.start_mark.line, reader->event.start_mark.column, e,
                       "not valid YAML");
    }
}

/* The first document that holds a value; a second one is an error. */
static int read_stream(struct reader *reader, const struct yaml_node **root, struct err *e)
{
    *root = NULL;
    for (;;) {
        if (next_event(reader, e) < 0)
            return -1;
        if (reader->event.type == YAML_STREAM_END_EVENT)
            return 0;
        if (reader->event.type != YAML_DOCUMENT_START_EVENT)
            continue;
        struct yaml_node *node = NULL;
        if (next_event(reader, e) < 0 || read_node(reader, 0, &node, e) < 0)
            return -1;
        if (yaml_is_null(node))
            continue;
        if (*root != NULL)
            return fail_at(reader, (size_t)node->line - 1, (size_t)node->column - 1, e,
                           "a second document (behind \"---\") where one is expected");
        *root = node;
        reader->anchor_count = 0; /* anchors end with their document */
    }
}

/* Blank lines may hold tabs, which libyaml refuses: they become spaces. */
static char *blank_tabs(const struct yaml_file *file, struct arena *arena, struct err *e)
{
    char *text = arena_strndup(arena, file->text, file->length, e);
    for (size_t start = 0; text != NULL && start < file->length;) {
        size_t end = start;
        bool has_tab = false;
        while (end < file->length && (text[end] == ' ' || text[end] == '\t' || text[end] == '\r'))
            has_tab = text[end++] == '\t' || has_tab;
        if (has_tab && (end == file->length || text[end] == '\n'))
            for (size_t i = start; i < end; i++)
                text[i] = text[i] == '\t' ? ' ' : text[i];
        const char *newline = end < file->length ? memchr(text + end, '\n', file->length - end) : NULL;
        start = newline == NULL ? file->length : (size_t)(newline - text) + 1;
    }
    return text;
}

int yaml_parse(struct yaml_file *file, struct arena *arena, const struct yaml_node **root, struct err *e)
{
    const char *text = blank_tabs(file, arena, e);
    if (text == NULL)
        return -1;
    struct reader reader = {.file = file, .arena = arena};
    if (yaml_parser_initialize(&reader.parser) != 1)
        return err_set(e, ERR_MEMORY, "out of memory");
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, file->length);
    int result = read_stream(&reader, root, e);
    if (reader.has_event)
        yaml_event_delete(&reader.event);
    yaml_parser_delete(&reader.parser);
    return result;
}

bool yaml_is_null(const struct yaml_node *node)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL"};
    if (node == NULL)
        return true;
    if (node->kind != YAML_SCALAR || !node->is_plain)
        return false;
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++)
        if (strcmp(node->text, words[i]) == 0)
            return true;
    return false;
}

const struct yaml_node *yaml_get(const struct yaml_node *mapping, const char *key)
{
    if (mapping == NULL || mapping->kind != YAML_MAPPING)
        return NULL;
    for (size_t i = 0; i < mapping->count; i++)
        if (mapping->pairs[i].key->kind == YAML_SCALAR && strcmp(mapping->pairs[i].key->text, key) == 0)
            return mapping->pairs[i].value;
    return NULL;
}

struct place yaml_place(const struct yaml_node *node)
{
    return (struct place){.file = node->file->path, .line = node->line, .column = node->column};
}

const char *yaml_kind_text(const struct yaml_node *node)
{
    if (yaml_is_null(node))
        return "nothing";
    return node->kind == YAML_SEQUENCE ? "a list" : node->kind == YAML_MAPPING ? "a mapping" : "a text";
}
