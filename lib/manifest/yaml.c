/* libyaml's events become a tree. Anchors, aliases and merge keys are resolved here, within limits, so that a
 * small document can't stand for a huge one. */
#include "manifest/yaml.h"
#include "manifest/lines.h"
#include <string.h>
#include <yaml.h>

/* What an alias makes: two uses of one anchor are told apart by where they stand. */
struct alias {
    struct yaml_node node;
    int line, column;
};

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
    const struct yaml_node **open; /* the children of the lists and mappings that are being read */
    size_t open_count, open_capacity;
    struct yaml_fault quote; /* the last quoted text that goes over several lines */
    struct line_origins origins;
};

static yaml_mark_t place_of(const struct reader *reader, yaml_mark_t mark)
{
    line_origins_place(&reader->origins, &mark.line, &mark.column);
    return mark;
}

static int fail_at(const struct reader *reader, yaml_mark_t mark, struct err *e, const char *text)
{
    const yaml_mark_t place = place_of(reader, mark);
    err_fill(e, ERR_MANIFEST, "%s", text);
    err_at(e, reader->file->path, (int)place.line + 1, (int)place.column + 1);
    return -1;
}

static int fail_parsing(const struct reader *reader, struct err *e)
{
    const yaml_parser_t *parser = &reader->parser;
    if (parser->error == YAML_MEMORY_ERROR)
        return err_set(e, ERR_MEMORY, "out of memory");
    if (parser->error == YAML_READER_ERROR)
        return yaml_fault_bytes(reader->file, parser->problem_offset, e);
    struct yaml_fault fault = reader->quote;
    fault.file = reader->file;
    fault.problem = parser->problem;
    fault.context = parser->context;
    const yaml_mark_t problem = place_of(reader, parser->problem_mark);
    const yaml_mark_t context = place_of(reader, parser->context_mark);
    fault.line = problem.line;
    fault.column = problem.column;
    fault.context_line = context.line;
    fault.context_column = context.column;
    return yaml_fault_explain(&fault, e);
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
    reader->node_count += more;
    if (more > YAML_MAX_NODES || reader->node_count > YAML_MAX_NODES)
        return fail_at(reader, reader->event.start_mark, e,
                       "the document is too large: more than 1,000,000 values, aliases counted as what they "
                       "stand for");
    return 0;
}

/* The types of YAML itself say nothing where they are of the node's kind: a type comes from the field. */
static bool is_foreign(enum yaml_kind kind, const yaml_char_t *tag)
{
    static const struct {
        enum yaml_kind kind;
        const char *tag;
    } own[] = {{YAML_SCALAR, YAML_STR_TAG},  {YAML_SCALAR, YAML_INT_TAG},  {YAML_SCALAR, YAML_FLOAT_TAG},
               {YAML_SCALAR, YAML_BOOL_TAG}, {YAML_SCALAR, YAML_NULL_TAG}, {YAML_SEQUENCE, YAML_SEQ_TAG},
               {YAML_MAPPING, YAML_MAP_TAG}, {YAML_SCALAR, "!"},           {YAML_SEQUENCE, "!"},
               {YAML_MAPPING, "!"}};
    for (size_t i = 0; tag != NULL && i < ARRAY_LENGTH(own); i++)
        if (own[i].kind == kind && strcmp((const char *)tag, own[i].tag) == 0)
            return false;
    return tag != NULL;
}

/* `text_bytes` more lie behind the node. */
static struct yaml_node *node_new(struct reader *reader, enum yaml_kind kind, const yaml_char_t *tag,
                                  size_t text_bytes, struct err *e)
{
    if (count_nodes(reader, 1, e) < 0)
        return NULL;
    const yaml_mark_t place = place_of(reader, reader->event.start_mark);
    struct yaml_node *node = arena_alloc(reader->arena, sizeof *node + text_bytes, e);
    if (node != NULL)
        *node = (struct yaml_node){.kind = kind,
                                   .is_tagged = is_foreign(kind, tag),
                                   .line = (int)place.line + 1,
                                   .column = (int)place.column + 1,
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
            return fail_at(reader, mark, e, "this alias stands for a value that contains it");
        anchor->node->is_bare_anchor = false;
        struct alias *alias = arena_alloc(reader->arena, sizeof *alias, e);
        if (alias == NULL)
            return -1;
        const yaml_mark_t place = place_of(reader, mark);
        *alias = (struct alias){
            .node = *anchor->node, .line = (int)place.line + 1, .column = (int)place.column + 1};
        alias->node.is_alias = true;
        *out = &alias->node;
        return count_nodes(reader, anchor->node->size, e);
    }
    return fail_at(reader, mark, e, "this alias has no anchor (\"&name\") before it");
}

static int read_node(struct reader *reader, int depth, struct yaml_node **out, struct err *e);

static int read_scalar(struct reader *reader, struct yaml_node **out, struct err *e)
{
    size_t anchor;
    const yaml_event_t *event = &reader->event;
    yaml_scalar_style_t style = event->data.scalar.style;
    size_t length = event->data.scalar.length;
    struct yaml_node *node = node_new(reader, YAML_SCALAR, event->data.scalar.tag, length + 1, e);
    if (node == NULL || open_anchor(reader, event->data.scalar.anchor, node, &anchor, e) < 0)
        return -1;
    close_anchor(reader, anchor);
    const char *tag = (const char *)event->data.scalar.tag;
    bool is_null_tag = tag != NULL && strcmp(tag, YAML_NULL_TAG) == 0;
    node->is_plain = style == YAML_PLAIN_SCALAR_STYLE && (tag == NULL || is_null_tag);
    node->is_quoted = style == YAML_SINGLE_QUOTED_SCALAR_STYLE || style == YAML_DOUBLE_QUOTED_SCALAR_STYLE ||
                      (tag != NULL && strcmp(tag, YAML_STR_TAG) == 0);
    node->is_bare_anchor = node->is_plain && length == 0 && event->data.scalar.anchor != NULL;
    node->is_block = style == YAML_LITERAL_SCALAR_STYLE || style == YAML_FOLDED_SCALAR_STYLE;
    node->length = (uint32_t)length;
    node->is_folded = !node->is_block && event->start_mark.line != event->end_mark.line;
    if (style != YAML_PLAIN_SCALAR_STYLE && node->is_folded) {
        const yaml_mark_t begin = place_of(reader, event->start_mark);
        reader->quote.quote_line = begin.line;
        reader->quote.quote_column = begin.column;
        reader->quote.quote_end_line = place_of(reader, event->end_mark).line;
    }
    /* "\0" in a quoted text: every text ends there for whoever reads it later, so it would say another thing.
     */
    if (length > UINT32_MAX - 1 || memchr(event->data.scalar.value, '\0', length) != NULL)
        return fail_at(reader, event->start_mark, e, "a text must not hold a NUL (\"\\0\")");
    char *text = (char *)(node + 1);
    memcpy(text, event->data.scalar.value, length + 1);
    node->text = text;
    *out = node;
    return 0;
}

static int push_child(struct reader *reader, const struct yaml_node *child, struct err *e)
{
    const struct yaml_node **slot =
        ARENA_PUSH(reader->arena, &reader->open, &reader->open_count, &reader->open_capacity, e);
    if (slot == NULL)
        return -1;
    *slot = child;
    return 0;
}

/* Those on the stack from `first` on, as an array of their own. */
static void *take_children(struct reader *reader, size_t first, struct err *e)
{
    size_t count = reader->open_count - first;
    reader->open_count = first;
    return count == 0 ? arena_alloc(reader->arena, 0, e)
                      : arena_memdup(reader->arena, reader->open + first, count * sizeof *reader->open, e);
}

static int read_sequence(struct reader *reader, int depth, struct yaml_node **out, struct err *e)
{
    size_t anchor;
    size_t first = reader->open_count;
    struct yaml_node *node = node_new(reader, YAML_SEQUENCE, reader->event.data.sequence_start.tag, 0, e);
    if (node == NULL || open_anchor(reader, reader->event.data.sequence_start.anchor, node, &anchor, e) < 0)
        return -1;
    for (;;) {
        struct yaml_node *item = NULL;
        if (next_event(reader, e) < 0)
            return -1;
        if (reader->event.type == YAML_SEQUENCE_END_EVENT)
            break;
        if (read_node(reader, depth + 1, &item, e) < 0 || push_child(reader, item, e) < 0)
            return -1;
        node->size += item->size;
    }
    node->count = (uint32_t)(reader->open_count - first);
    node->items = (const struct yaml_node **)take_children(reader, first, e);
    close_anchor(reader, anchor);
    *out = node;
    return node->items == NULL ? -1 : 0;
}

static bool is_merge_key(const struct yaml_node *key)
{
    return key->kind == YAML_SCALAR && key->length == 2 && key->is_plain && strcmp(key->text, "<<") == 0;
}

/* A mapping, or a list of mappings. */
static bool can_be_merged(const struct yaml_node *value)
{
    for (size_t i = 0; value->kind == YAML_SEQUENCE && i < value->count; i++)
        if (value->items[i]->kind != YAML_MAPPING)
            return false;
    return value->kind != YAML_SCALAR;
}

struct pairs {
    struct yaml_pair *items;
    size_t count, capacity;
};

static bool has_key(const struct pairs *pairs, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (pairs->items[i].key->kind == YAML_SCALAR && strcmp(pairs->items[i].key->text, key) == 0)
            return true;
    return false;
}

/* Own keys win over merged ones, earlier merged mappings over later ones. */
static int merge_mapping(struct reader *reader, struct yaml_node *into, struct pairs *pairs,
                         const struct yaml_node *from, struct err *e)
{
    size_t own = pairs->count;
    /* Each key is compared with each: counted, so that the limit on nodes bounds the time as well. */
    if (count_nodes(reader, from->size + from->count * own / 16, e) < 0)
        return -1;
    for (size_t i = 0; i < from->count; i++) {
        const struct yaml_pair pair = from->pairs[i];
        if (pair.key->kind == YAML_SCALAR && has_key(pairs, own, pair.key->text))
            continue;
        struct yaml_pair *slot = ARENA_PUSH(reader->arena, &pairs->items, &pairs->count, &pairs->capacity, e);
        if (slot == NULL)
            return -1;
        *slot = pair;
        into->size += pair.key->size + pair.value->size;
    }
    return 0;
}

static int merge(struct reader *reader, struct yaml_node *into, const struct yaml_node *value, struct err *e)
{
    struct pairs pairs = {.items = into->pairs, .count = into->count, .capacity = into->count};
    size_t sources = value->kind == YAML_SEQUENCE ? value->count : 1;
    for (size_t i = 0; i < sources; i++)
        if (merge_mapping(reader, into, &pairs, value->kind == YAML_SEQUENCE ? value->items[i] : value, e) <
            0)
            return -1;
    into->pairs = pairs.items;
    into->count = (uint32_t)pairs.count;
    return 0;
}

static int read_pair(struct reader *reader, int depth, struct yaml_node *mapping,
                     const struct yaml_node **merged, struct err *e)
{
    struct yaml_node *key = NULL;
    struct yaml_node *value = NULL;
    if (read_node(reader, depth + 1, &key, e) < 0 || next_event(reader, e) < 0 ||
        read_node(reader, depth + 1, &value, e) < 0)
        return -1;
    mapping->size += key->size + value->size;
    /* A second one, or one that takes nothing, stays a key like others: whose section it is in complains. */
    if (*merged == NULL && is_merge_key(key) && can_be_merged(value)) {
        *merged = value;
        return 0;
    }
    return push_child(reader, key, e) < 0 || push_child(reader, value, e) < 0 ? -1 : 0;
}

/* The pairs lie on the stack as key, value, key, value. */
static int take_pairs(struct reader *reader, size_t first, struct yaml_node *node, struct err *e)
{
    _Static_assert(sizeof(struct yaml_pair) == 2 * sizeof(struct yaml_node *), "two pointers, no padding");
    node->count = (uint32_t)((reader->open_count - first) / 2);
    node->pairs = take_children(reader, first, e);
    return node->pairs == NULL ? -1 : 0;
}

static int read_mapping(struct reader *reader, int depth, struct yaml_node **out, struct err *e)
{
    size_t anchor;
    size_t first = reader->open_count;
    const struct yaml_node *merged = NULL;
    struct yaml_node *node = node_new(reader, YAML_MAPPING, reader->event.data.mapping_start.tag, 0, e);
    if (node == NULL || open_anchor(reader, reader->event.data.mapping_start.anchor, node, &anchor, e) < 0)
        return -1;
    for (;;) {
        if (next_event(reader, e) < 0)
            return -1;
        if (reader->event.type == YAML_MAPPING_END_EVENT)
            break;
        if (read_pair(reader, depth, node, &merged, e) < 0)
            return -1;
    }
    if (take_pairs(reader, first, node, e) < 0 || (merged != NULL && merge(reader, node, merged, e) < 0))
        return -1;
    close_anchor(reader, anchor);
    *out = node;
    return 0;
}

/* The current event begins the node. */
static int read_node(struct reader *reader, int depth, struct yaml_node **out, struct err *e)
{
    if (depth > YAML_MAX_DEPTH)
        return fail_at(reader, reader->event.start_mark, e, "nested more than 64 deep");
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
        return fail_at(reader, reader->event.start_mark, e, "not valid YAML");
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
        if (next_event(reader, e) < 0)
            return -1;
        const yaml_mark_t begin = reader->event.start_mark;
        if (read_node(reader, 0, &node, e) < 0)
            return -1;
        if (yaml_is_null(node))
            continue;
        if (*root != NULL)
            return fail_at(reader, begin, e, "a second document (behind \"---\") where one is expected");
        *root = node;
        reader->anchor_count = 0; /* anchors end with their document */
    }
}

/* Blank lines may hold tabs, which libyaml refuses: they become spaces. The text itself where there is no tab
 * at all. */
static const char *blank_tabs(const struct yaml_file *file, struct arena *arena, struct err *e)
{
    if (memchr(file->text, '\t', file->length) == NULL)
        return file->text;
    char *text = arena_strndup(arena, file->text, file->length, e);
    for (size_t start = 0; text != NULL && start < file->length;) {
        size_t end = start;
        bool has_tab = false;
        while (end < file->length && (text[end] == ' ' || text[end] == '\t' || text[end] == '\r'))
            has_tab = text[end++] == '\t' || has_tab;
        if (has_tab && (end == file->length || text[end] == '\n'))
            for (size_t i = start; i < end; i++)
                text[i] = text[i] == '\t' ? ' ' : text[i];
        start = (size_t)(line_next(text + end, text + file->length) - text);
    }
    return text;
}

void yaml_skip_mark(struct yaml_file *file)
{
    static const char mark[] = "\xEF\xBB\xBF";
    if (file->length >= sizeof mark - 1 && memcmp(file->text, mark, sizeof mark - 1) == 0) {
        file->text += sizeof mark - 1;
        file->length -= sizeof mark - 1;
    }
}

int yaml_parse(struct yaml_file *file, struct arena *arena, const struct yaml_node **root, struct err *e)
{
    yaml_skip_mark(file);
    struct reader reader = {.file = file, .arena = arena};
    const char *text = blank_tabs(file, arena, e);
    if (text == NULL || line_origins(file, arena, &reader.origins, e) < 0)
        return -1;
    if (yaml_parser_initialize(&reader.parser) != 1)
        return err_set(e, ERR_MEMORY, "out of memory");
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
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
    if (node->length != 0 && node->text[0] != '~' && node->text[0] != 'n' && node->text[0] != 'N')
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

struct place yaml_use_place(const struct yaml_node *node)
{
    if (!node->is_alias)
        return yaml_place(node);
    const struct alias *alias = (const struct alias *)node; /* its first member */
    return (struct place){.file = node->file->path, .line = alias->line, .column = alias->column};
}

const char *yaml_kind_text(const struct yaml_node *node)
{
    if (yaml_is_null(node))
        return "nothing";
    return node->kind == YAML_SEQUENCE ? "a list" : node->kind == YAML_MAPPING ? "a mapping" : "a text";
}
