/* The tree that lib/manifest/yaml.c makes of a document: texts, places, anchors, limits. */
#include "manifest/yaml.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct parsed {
    struct arena *arena;
    struct yaml_file file;
    const struct yaml_node *root;
    struct err e;
    int result;
};

enum { SMALL_MEMORY = 128 * 1024, LARGE_MEMORY = 256 * 1024 * 1024 };

static struct parsed parse_within(size_t memory, const char *text, size_t length)
{
    struct parsed parsed = {.arena = arena_new(memory)};
    assert_non_null(parsed.arena);
    err_init(&parsed.e);
    struct yaml_file *file = arena_alloc(parsed.arena, sizeof *file, &parsed.e);
    assert_non_null(file);
    *file = (struct yaml_file){.path = "a.yml", .text = text, .length = length};
    parsed.result = yaml_parse(file, parsed.arena, &parsed.root, &parsed.e);
    return parsed;
}

static struct parsed parse_bytes(const char *text, size_t length)
{
    return parse_within(LARGE_MEMORY, text, length);
}

static struct parsed parse(const char *text)
{
    return parse_bytes(text, strlen(text));
}

static void done(struct parsed *parsed)
{
    arena_free(parsed->arena);
}

static void test_places(void **state)
{
    (void)state;
    struct parsed parsed =
        parse("# a comment\nname: A\nlist:\n  - x: 'y'\n  -\n    # behind the marker\n    é: b\n");
    assert_int_equal(parsed.result, 0);
    assert_int_equal(parsed.root->kind, YAML_MAPPING);
    assert_int_equal(parsed.root->count, 2);
    const struct yaml_node *name = yaml_get(parsed.root, "name");
    assert_string_equal(name->text, "A");
    assert_int_equal(name->line, 2);
    assert_int_equal(name->column, 7);
    const struct yaml_node *list = yaml_get(parsed.root, "list");
    assert_int_equal(list->count, 2);
    assert_int_equal(list->items[0]->line, 4);
    assert_int_equal(list->items[0]->column, 5);
    assert_false(yaml_get(list->items[0], "x")->is_plain);
    assert_int_equal(list->items[1]->line, 7);
    assert_int_equal(yaml_get(list->items[1], "é")->column, 8);
    assert_string_equal(yaml_place(name).file, "a.yml");
    done(&parsed);
}

/* Lines are an editor's: LF, CR LF and CR end one; NEL, LS and PS, which libyaml counts, don't. */
static void test_lines(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int line, column; /* of "here", or of the fault */
    } cases[] = {
        {"a: b\nc: here\n", 2, 4},
        {"a: b\r\nc: here\r\n", 2, 4},
        {"a: b\rc: here\r", 2, 4},
        {"a: b\r\rc: here", 3, 4},
        {"a: 'x\xE2\x80\xA8y'\nc: here\n", 2, 4},
        {"a: 'x\xE2\x80\xA9y\xE2\x80\xA9z'\r\nc: here\n", 2, 4},
        {"a: \"x\xC2\x85y\"\rc: here\n", 2, 4},
        {"a: |\n  x\xE2\x80\xA8  y\n\nc: here\n", 4, 4},
        {"a: ['é\xE2\x80\xA8y', here]\n", 1, 12},
        {"a: &x 'x\xE2\x80\xA8y'\nb: *x\nc: here\n", 3, 4},
        {"a: 'x\xE2\x80\xA8y'\nb: *here\n", 2, 4},
        {"a: 'x\xC2\x85y'\nb: [here\n", 2, 4},
        {"a: 'x\xC2\x85y'\nb: 'here\n", 2, 4},
        {"a: 'x\xC2\x85y'\nb: [", 2, 4},
        {"\r\xC2\x85[[", 2, 3},
        {"a: 'x\xC2\x85y'\n---\nhere: 1\n", 3, 1},
        {"a: 'x\xC2\x85y'\n---\nhere: '\\0'\n- a: b", 4, 1},
        {"a: b\rc: \xFFhere", 2, 4},
        {"a: b\r\nc: \001here", 2, 4},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct parsed parsed = parse(cases[i].text);
        const struct yaml_node *node = yaml_get(parsed.root, "c");
        if (parsed.result == 0 && node == NULL)
            node = yaml_get(parsed.root, "a")->items[1];
        int line = parsed.result < 0 ? parsed.e.line : node->line;
        int column = parsed.result < 0 ? parsed.e.column : node->column;
        if (line != cases[i].line || column != cases[i].column)
            fail_msg("case %zu: %d:%d %s", i, line, column, parsed.result < 0 ? parsed.e.text : "");
        done(&parsed);
    }
}

static void test_null(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_null;
    } cases[] = {{"a:", true},     {"a: ~", true},   {"a: null", true},      {"a: NULL", true},
                 {"a: # c", true}, {"a: ''", false}, {"a: \"null\"", false}, {"a: nul", false},
                 {"a: []", false}, {"a: {}", false}};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct parsed parsed = parse(cases[i].text);
        assert_int_equal(parsed.result, 0);
        assert_int_equal(yaml_is_null(yaml_get(parsed.root, "a")), cases[i].is_null);
        done(&parsed);
    }
    assert_true(yaml_is_null(NULL));
}

static void test_scalars_keep_their_text(void **state)
{
    (void)state;
    static const char *const texts[] = {"0123", "12e34",      "0x1F", "1_000",
                                        "yes",  "2026-11-30", "1.10", "0o17"};
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        char document[64] = "a: ";
        strcat(document, texts[i]);
        struct parsed parsed = parse(document);
        assert_int_equal(parsed.result, 0);
        assert_string_equal(yaml_get(parsed.root, "a")->text, texts[i]);
        done(&parsed);
    }
}

static void test_tolerated(void **state)
{
    (void)state;
    /* A BOM, CRLF, blank lines with tabs, no newline at the end, a "---" in a comment, an empty second
     * document. */
    static const char *const documents[] = {"\357\273\277a: b\n",
                                            "a: b\r\nc: d\r\n",
                                            "a: b\n \t \nc: d\n",
                                            "a: b",
                                            "# ---\na: b\n",
                                            "---\na: b\n---\n",
                                            "a:\tb\n",
                                            "a: b\n...\n",
                                            "%YAML 1.1\n---\na: b\n"};
    for (size_t i = 0; i < ARRAY_LENGTH(documents); i++) {
        struct parsed parsed = parse(documents[i]);
        if (parsed.result != 0)
            fail_msg("%s: %s", documents[i], parsed.e.text);
        assert_string_equal(yaml_get(parsed.root, "a")->text, "b");
        done(&parsed);
    }
    static const char *const empty[] = {"", "\n\n", "# only a comment\n", "---\n", "~\n"};
    for (size_t i = 0; i < ARRAY_LENGTH(empty); i++) {
        struct parsed parsed = parse(empty[i]);
        assert_int_equal(parsed.result, 0);
        assert_null(parsed.root);
        done(&parsed);
    }
}

static void test_problems_have_places(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t length; /* 0: strlen */
        int line, column;
        const char *message;
    } cases[] = {
        {"a:\n\tb: c\n", 0, 2, 1, "a tab is used for indentation"},
        {"a: b\n```\n", 0, 2, 1, "Markdown fence"},
        {"a: @b\n", 0, 1, 4, "\"@\" must be quoted"},
        {"a: \"b\nc: d\n", 0, 1, 4, "never closed"},
        {"a: b: c\n", 0, 1, 5, "the value of \"a\" has a \": \" in it"},
        {"- a: b\n  c: d: e\n", 0, 2, 7, "the value of \"c\" has"},
        {"a: b\n  c: d\n", 0, 2, 3, "\"c\" is indented below \"a\" (line 1)"},
        {"a:\n  - b: c\n   - d: e\n", 0, 3, 4, ""},
        {"a:\n    - b: c\n  - d: e\n", 0, 3, 3, "begins in column 3"},
        {"a: \"b\nc: \"d\"\ne: f\n", 0, 1, 4, "ends in line 2 only"},
        {"a:\n  - b\n c\n", 0, 3, 2, ""},
        {"a: [b\n", 0, 1, 4, "not closed"},
        {"a: b\nc: \xFF\n", 0, 2, 4, "not UTF-8"},
        {"a: b\nc: \x01\n", 0, 2, 4, "control character"},
        {"a: b\0c\n", 7, 1, 5, "NUL byte"},
        {"\xFF\xFE\x61\0", 4, 1, 1, "UTF-16"},
        {"\xEF\xBB\xBF\x61: \"b\n", 0, 1, 4, "never closed"},
        {"a: \"b\\0c\"\n", 0, 1, 4, "NUL"},
        {"a: *b\n", 0, 1, 4, "no anchor"},
        {"a: &a [*a]\n", 0, 1, 8, "contains it"},
        {"a: b\n--- \nc: d\n", 0, 3, 1, "second document"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct parsed parsed =
            parse_bytes(cases[i].text, cases[i].length > 0 ? cases[i].length : strlen(cases[i].text));
        assert_int_equal(parsed.result, -1);
        assert_int_equal(parsed.e.class, ERR_MANIFEST);
        if (strstr(parsed.e.text, cases[i].message) == NULL || parsed.e.line != cases[i].line ||
            parsed.e.column != cases[i].column)
            fail_msg("case %zu: %d:%d: %s", i, parsed.e.line, parsed.e.column, parsed.e.text);
        assert_string_equal(parsed.e.file, "a.yml");
        done(&parsed);
    }
}

static void test_anchors_and_merges(void **state)
{
    (void)state;
    struct parsed parsed =
        parse("base: &base {a: 1, b: 2}\nmore: &more {b: 3, c: 4}\nx:\n  <<: *base\n  a: 9\n"
              "y:\n  <<: [*base, *more]\nz: *base\nbase2: &base {a: 7}\nw: *base\n");
    assert_int_equal(parsed.result, 0);
    const struct yaml_node *x = yaml_get(parsed.root, "x");
    assert_int_equal(x->count, 2);
    assert_string_equal(yaml_get(x, "a")->text, "9");
    assert_string_equal(yaml_get(x, "b")->text, "2");
    const struct yaml_node *y = yaml_get(parsed.root, "y");
    assert_string_equal(yaml_get(y, "b")->text, "2");
    assert_string_equal(yaml_get(y, "c")->text, "4");
    assert_ptr_equal(yaml_get(parsed.root, "z")->pairs, yaml_get(parsed.root, "base")->pairs);
    assert_string_equal(yaml_get(yaml_get(parsed.root, "w"), "a")->text, "7");
    done(&parsed);
}

/* An alias has two places: where what it stands for is written, and where it stands itself. */
static void test_alias_places(void **state)
{
    (void)state;
    struct parsed parsed =
        parse("list:\n  - &a {x: 1}\n  - *a\n  - *a\nagain: &b text\nwords: [*b, &c [*a]]\nlast: *c\n");
    assert_int_equal(parsed.result, 0);
    const struct yaml_node *list = yaml_get(parsed.root, "list");
    const struct yaml_node *words = yaml_get(parsed.root, "words");
    const struct {
        const struct yaml_node *node;
        int line, column, use_line, use_column;
    } cases[] = {{list->items[0], 2, 5, 2, 5},
                 {list->items[1], 2, 5, 3, 5},
                 {list->items[2], 2, 5, 4, 5},
                 {words->items[0], 5, 8, 6, 9},
                 {words->items[1], 6, 13, 6, 13},
                 {words->items[1]->items[0], 2, 5, 6, 17},
                 {yaml_get(parsed.root, "last"), 6, 13, 7, 7},
                 {yaml_get(list->items[2], "x"), 2, 12, 2, 12}};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct place place = yaml_place(cases[i].node);
        const struct place use = yaml_use_place(cases[i].node);
        if (place.line != cases[i].line || place.column != cases[i].column || use.line != cases[i].use_line ||
            use.column != cases[i].use_column)
            fail_msg("case %zu: %d:%d, used in %d:%d", i, place.line, place.column, use.line, use.column);
        assert_string_equal(use.file, "a.yml");
    }
    assert_string_equal(words->items[0]->text, "text");
    done(&parsed);
}

/* A type that YAML knows says nothing, any other tag is kept in mind. */
static void test_tags(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_tagged;
    } cases[] = {{"a: b\n", false},
                 {"a: !!str b\n", false},
                 {"a: ! b\n", false},
                 {"a: !!int 1\n", false},
                 {"a: !!map {}\n", false},
                 {"a: !!seq []\n", false},
                 {"a: !!null\n", false},
                 {"a: !!bool x\n", false},
                 {"a: '!x'\n", false},
                 {"a: !x b\n", true},
                 {"a: !x\n", true},
                 {"a: !x {b: c}\n", true},
                 {"a: !x [b]\n", true},
                 {"a: !!binary aGk=\n", true},
                 {"a: !<tag:example.com,2000:x> b\n", true},
                 {"a: &b !x c\nd: *b\n", true}};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct parsed parsed = parse(cases[i].text);
        assert_int_equal(parsed.result, 0);
        const struct yaml_node *last = parsed.root->pairs[parsed.root->count - 1].value;
        if (last->is_tagged != cases[i].is_tagged)
            fail_msg("%s: %d", cases[i].text, last->is_tagged);
        done(&parsed);
    }
}

static void test_limits(void **state)
{
    (void)state;
    char deep[256];
    memset(deep, '[', 100);
    memset(deep + 100, ']', 100);
    deep[200] = '\0';
    struct parsed parsed = parse(deep);
    assert_int_equal(parsed.result, -1);
    assert_non_null(strstr(parsed.e.text, "64 deep"));
    done(&parsed);
    deep[YAML_MAX_DEPTH] = '\0';
    memset(deep, '[', YAML_MAX_DEPTH);
    memset(deep + YAML_MAX_DEPTH, ']', YAML_MAX_DEPTH);
    deep[2 * YAML_MAX_DEPTH] = '\0';
    parsed = parse(deep);
    assert_int_equal(parsed.result, 0);
    done(&parsed);

    char bomb[4096] = "a: &x0 [1,1,1,1,1,1,1,1,1,1]\n";
    for (int i = 1; i < 9; i++) {
        char line[128];
        snprintf(line, sizeof line, "b%d: &x%d [*x%d,*x%d,*x%d,*x%d,*x%d,*x%d,*x%d,*x%d,*x%d,*x%d]\n", i, i,
                 i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
        strcat(bomb, line);
    }
    parsed = parse(bomb);
    assert_int_equal(parsed.result, -1);
    assert_int_equal(parsed.e.class, ERR_MANIFEST);
    assert_non_null(strstr(parsed.e.text, "too large"));
    done(&parsed);
}

static void test_small_arena(void **state)
{
    (void)state;
    struct err e;
    err_init(&e);
    struct arena *arena = arena_new(1024);
    struct yaml_file file = {.path = "a.yml", .text = "a: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n", .length = 35};
    const struct yaml_node *root = NULL;
    assert_int_equal(yaml_parse(&file, arena, &root, &e), -1);
    assert_int_equal(e.class, ERR_MEMORY);
    arena_free(arena);
}

/* Documents that are there to hurt are refused before they cost much: 10 MiB of values, 100 levels and more,
 * a few lines that stand for billions. What they cost is told by the memory that suffices to refuse them. */
static void test_hostile_documents(void **state)
{
    (void)state;
    enum { LARGE_BYTES = 10 * 1024 * 1024, DEEP = 100000 };
    static char text[LARGE_BYTES + 1];
    static const struct {
        const char *unit;
        size_t count;
        const char *message;
        size_t memory;
    } cases[] = {
        {"a,", LARGE_BYTES / 2 - 1, "too large", LARGE_MEMORY},
        {"- a\n", LARGE_BYTES / 4, "too large", LARGE_MEMORY},
        {"[", 100, "nested more than 64", SMALL_MEMORY},
        {"[", DEEP, "nested more than 64", SMALL_MEMORY},
        {"{a: ", 100, "nested more than 64", SMALL_MEMORY},
        {"- ", 100, "nested more than 64", SMALL_MEMORY},
        {"? ", 100, "nested more than 64", SMALL_MEMORY},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        size_t unit = strlen(cases[i].unit);
        size_t used = 0;
        if (strcmp(cases[i].unit, "a,") == 0)
            text[used++] = '[';
        for (size_t k = 0; k < cases[i].count; k++, used += unit)
            memcpy(text + used, cases[i].unit, unit);
        text[used] = '\0';
        struct parsed parsed = parse_within(cases[i].memory, text, used);
        assert_int_equal(parsed.result, -1);
        if (strstr(parsed.e.text, cases[i].message) == NULL)
            fail_msg("case %zu: %s", i, parsed.e.text);
        done(&parsed);
    }
}

/* Where a fault stands is looked for above it: many lines there are not walked as often as there are lines.
 */
static void test_faults_far_down(void **state)
{
    (void)state;
    enum { LINES = 300000 };
    static const char *const fillers[] = {"\n", "#\n"};
    static const char *const heads[] = {"", "a:\n", "a: [\n"};
    static const char *const faults[] = {"- b\n", "]", "  x: y\n z", "a: b: c", "'", "b", "%x\n---\n%", "@"};
    static char text[2 * LINES + 64];
    for (size_t i = 0; i < ARRAY_LENGTH(fillers) * ARRAY_LENGTH(heads) * ARRAY_LENGTH(faults); i++) {
        const char *filler = fillers[i % 2], *head = heads[i / 2 % 3];
        char *end = stpcpy(text, head);
        for (size_t k = 0; k < LINES; k++)
            end = stpcpy(end, filler);
        end = stpcpy(end, faults[i / 6]);
        struct parsed parsed = parse_bytes(text, (size_t)(end - text));
        assert_true(parsed.result == 0 || parsed.e.class == ERR_MANIFEST);
        done(&parsed);
    }
}

/* Each line stands for ten of the line above. */
static void test_bombs(void **state)
{
    (void)state;
    static const char *const shapes[] = {
        "x%d: &x%d [*x%d,*x%d,*x%d,*x%d,*x%d,*x%d,*x%d,*x%d,*x%d,*x%d]\n",
        "x%d: &x%d {a: *x%d, b: *x%d, c: *x%d, d: *x%d, e: *x%d, f: *x%d, g: *x%d, "
        "h: *x%d, i: *x%d, j: *x%d}\n"};
    for (size_t i = 0; i < 2; i++) {
        char text[8192] = "x0: &x0 {z: z}\n";
        for (int k = 1; k < 12; k++) {
            size_t used = strlen(text);
            int b = k - 1;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            snprintf(text + used, sizeof text - used, shapes[i], k, k, b, b, b, b, b, b, b, b, b, b);
#pragma GCC diagnostic pop
        }
        struct parsed parsed = parse_within(SMALL_MEMORY, text, strlen(text));
        assert_int_equal(parsed.result, -1);
        assert_non_null(strstr(parsed.e.text, "aliases counted"));
        done(&parsed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_null),
        cmocka_unit_test(test_scalars_keep_their_text),
        cmocka_unit_test(test_tolerated),
        cmocka_unit_test(test_problems_have_places),
        cmocka_unit_test(test_hostile_documents),
        cmocka_unit_test(test_faults_far_down),
        cmocka_unit_test(test_bombs),
        cmocka_unit_test(test_anchors_and_merges),
        cmocka_unit_test(test_alias_places),
        cmocka_unit_test(test_tags),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_small_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
