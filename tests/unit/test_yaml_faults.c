/* What libyaml says of a text that is no YAML, in the words of who wrote it: a text for each of its messages.
 */
#include "manifest/yaml.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Documents, and where and how each is complained of. */
static const struct {
    const char *text;
    int line, column;
    const char *message;
} documents[] = {
    /* did not find expected node content */
    {"a:\n  b: }\n", 2, 6, "a \"}\" where a value is expected: quote a value that begins with it"},
    {"a:\n  b: ]\n", 2, 6, "a \"]\" where a value is expected"},
    {"a: , b\n", 1, 4, "a \",\" where a value is expected"},
    {"a: {b: :c}\n", 1, 8, "a \":\" where a value is expected"},
    {"a: {x,:a}\n", 1, 7, "a \":\" where a value is expected"},
    /* did not find expected key; ',' or ']'; ',' or '}' */
    {"a: {}}\n", 1, 6, "a \"}\" that closes nothing"},
    {"a: []]\n", 1, 6, "a \"]\" that closes nothing"},
    {"a: [b: c: d]\n", 1, 4, "the \"[\" here is not closed, or a comma is missing behind it"},
    {"a: {b: c\n", 1, 4, "the \"{\" here is not closed, or a comma is missing behind it"},
    {": a\n", 1, 1, "a \":\" without a key before it"},
    {"a: b\n: c\n", 2, 1, "a \":\" without a key before it"},
    {"a: \"b\" c\n", 1, 8, "something stands behind a finished value"},
    {"- a\nb: c\n", 2, 1, "does not belong to the list above"},
    /* mapping keys, mapping values, block sequence entries are not allowed */
    {"a: ? x\n", 1, 4, "quote a value that begins with \"?\""},
    {"a: b: c\n", 1, 5, "the value of \"a\" has a \": \" in it"},
    {"name:A\nb: c\n", 1, 1, "no blank behind the \":\" of \"name:A\""},
    {"a:\n  b\n  c: d\n", 2, 3, "no \":\" behind \"b\""},
    {"a: - b\n", 1, 4, "a list entry (\"- \") where none can stand"},
    /* could not find expected ':' */
    {"a: b\nc\nd: e\n", 2, 1, "no \": \" behind its key"},
    /* the directives */
    {"%FOO\n---\na: b\n", 1, 1, "begins with \"%\""},
    {"%\n---\na: b\n", 1, 1, "begins with \"%\""},
    {"% FOO\n---\na: b\n", 1, 1, "begins with \"%\""},
    {"%F!\n---\na: b\n", 1, 1, "begins with \"%\""},
    {"%YAML x\n---\na: b\n", 1, 1, "write \"%YAML 1.1\", or remove the line"},
    {"%YAML 1\n---\na: b\n", 1, 1, "write \"%YAML 1.1\""},
    {"%YAML 1.\n---\na: b\n", 1, 1, "write \"%YAML 1.1\""},
    {"%YAML 11111111111.1\n---\na: b\n", 1, 1, "write \"%YAML 1.1\""},
    {"%YAML 2.0\n---\na: b\n", 1, 1, "write \"%YAML 1.1\""},
    {"%YAML 1.1 x\n---\na: b\n", 1, 1, "begins with \"%\""},
    {"%YAML 1.1\n%YAML 1.1\n---\na: b\n", 2, 1, "stands there twice"},
    {"%YAML 1.1\na: b\n", 2, 1, "\"---\" must follow"},
    {"%TAG\n---\na: b\n", 1, 1, "a %TAG line"},
    {"%TAG !\n---\na: b\n", 1, 1, "a %TAG line"},
    {"%TAG x\n---\na: b\n", 1, 1, "a %TAG line"},
    {"%TAG !e\n---\na: b\n", 1, 1, "a %TAG line"},
    {"%TAG ! tag:x y\n---\na: b\n", 1, 1, "begins with \"%\""},
    {"%TAG !e! tag:y\n%TAG !e! tag:y\n---\na: b\n", 2, 1, "a %TAG line"},
    {"%TAG! x\n---\na: b\n", 1, 1, "begins with \"%\""},
    /* the tags */
    {"a: !<x y\n", 1, 4, "a value that begins with \"!\" must be quoted"},
    {"a: !<> y\n", 1, 4, "begins with \"!\""},
    {"a: !! y\n", 1, 4, "begins with \"!\""},
    {"a: !e!x y\n", 1, 4, "begins with \"!\""},
    {"a: !%zz x\n", 1, 4, "begins with \"!\""},
    {"a: !%ff x\n", 1, 4, "begins with \"!\""},
    {"a: !%c3%28 x\n", 1, 4, "begins with \"!\""},
    {"a: !b{ x\n", 1, 4, "begins with \"!\""},
    /* anchors and aliases */
    {"a: & b\n", 1, 4, "a value that begins with \"*\" or \"&\" must be quoted"},
    {"a: *\n", 1, 4, "\"*\" or \"&\""},
    {"a: &b!c d\n", 1, 4, "\"*\" or \"&\""},
    /* blocks */
    {"a: |0\n  b\n", 1, 4, "from 1 to 9"},
    {"a: |b\n  b\n", 1, 4, "the line must end"},
    {"a: > b\n  b\n", 1, 4, "the line must end"},
    {"a: |\n\tb\n", 2, 1, "a tab is used for indentation"},
    /* quoted texts */
    {"a: \"b\\q\"\n", 1, 6, "no known escape"},
    {"a: \"\\xzz\"\n", 1, 5, "hex digits"},
    {"a: \"\\ud800\"\n", 1, 5, "names no character"},
    {"a: \"\\UFFFFFFFF\"\n", 1, 5, "names no character"},
    {"a: \"b\n", 1, 4, "never closed"},
    {"a: 'b\n---\nc: d\n", 1, 4, "never closed"},
    /* plain texts */
    {"a: [http://x:]\n", 1, 13, "ends with \":\" must be quoted"},
    {"a: b\n\tc\n", 2, 1, "a tab"},
    /* characters */
    {"a: @b\n", 1, 4, "\"@\" must be quoted"},
    {"a: `b\n", 1, 4, "\"`\" must be quoted"},
    {"a: %b\n", 1, 4, "\"%\" must be quoted"},
    /* a document's end */
    {"# x\n\n  a: b\nc: d\n", 3, 1, "the first line is indented more than the others"},
    {"a: b\n... c\n", 2, 5, "behind the end of the document"},
    /* what git leaves when a merge isn't finished */
    {"a: b\n<<<<<<< HEAD\nc: d\n=======\nc: e\n>>>>>>> branch\n", 2, 1, "a Git conflict marker"},
    {"a:\n  - b: c\n<<<<<<< HEAD\n  - d: e\n=======\n  - f: g\n>>>>>>> branch\n", 3, 1, "\"<<<<<<<\""},
    {"a:\n  - b: c\n||||||| 1234567\n  - f: g\n", 3, 1, "\"|||||||\""},
    {"a:\n  - b: c\n=======\n  - f: g\n", 3, 1, "\"=======\""},
    {"a:\n  - b: c\n>>>>>>> branch\n  - f: g\n", 3, 1, "\">>>>>>>\""},
    {"a: {b: [\n<<<<<<< HEAD\n=======\n>>>>>>> x\n", 2, 1, "a Git conflict marker"},
    {"a: |\n  =======\n  b\nc: d: e\n", 4, 5, "has a \": \" in it"},
};

static void test_documents(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(documents); i++) {
        struct arena *arena = arena_new(1024 * 1024);
        const struct yaml_node *root = NULL;
        struct err e;
        err_init(&e);
        struct yaml_file file = {
            .path = "a.yml", .text = documents[i].text, .length = strlen(documents[i].text)};
        if (yaml_parse(&file, arena, &root, &e) == 0)
            fail_msg("no fault is seen in %s", documents[i].text);
        assert_int_equal(e.class, ERR_MANIFEST);
        if (strstr(e.text, documents[i].message) == NULL || e.line != documents[i].line ||
            e.column != documents[i].column)
            fail_msg("%s%d:%d: %s", documents[i].text, e.line, e.column, e.text);
        arena_free(arena);
    }
}

/* All that the scanner and the parser of libyaml 0.2.5 say. */
static const char *const problems[] = {
    "block sequence entries are not allowed in this context",
    "could not find expected ':'",
    "could not find expected directive name",
    "did not find URI escaped octet",
    "did not find expected '!'",
    "did not find expected ',' or ']'",
    "did not find expected ',' or '}'",
    "did not find expected '-' indicator",
    "did not find expected <document start>",
    "did not find expected <stream-start>",
    "did not find expected alphabetic or numeric character",
    "did not find expected comment or line break",
    "did not find expected digit or '.' character",
    "did not find expected hexdecimal number",
    "did not find expected key",
    "did not find expected node content",
    "did not find expected tag URI",
    "did not find expected version number",
    "did not find expected whitespace",
    "did not find expected whitespace or line break",
    "did not find the expected '>'",
    "found a tab character that violates indentation",
    "found a tab character where an indentation space is expected",
    "found an incorrect leading UTF-8 octet",
    "found an incorrect trailing UTF-8 octet",
    "found an indentation indicator equal to 0",
    "found character that cannot start any token",
    "found duplicate %TAG directive",
    "found duplicate %YAML directive",
    "found extremely long version number",
    "found incompatible YAML document",
    "found invalid Unicode character escape code",
    "found undefined tag handle",
    "found unexpected ':'",
    "found unexpected document indicator",
    "found unexpected end of stream",
    "found unexpected non-alphabetical character",
    "found unknown directive name",
    "found unknown escape character",
    "mapping keys are not allowed in this context",
    "mapping values are not allowed in this context",
};

static const char *const contexts[] = {
    NULL,
    "while parsing a block collection",
    "while parsing a block mapping",
    "while parsing a block node",
    "while parsing a flow mapping",
    "while parsing a flow node",
    "while parsing a flow sequence",
    "while parsing a node",
    "while parsing a quoted scalar",
    "while parsing a tag",
    "while parsing a tag directive",
    "while parsing a %TAG directive",
    "while scanning a block scalar",
    "while scanning a directive",
    "while scanning a plain scalar",
    "while scanning a quoted scalar",
    "while scanning a simple key",
    "while scanning a tag",
    "while scanning a tag directive",
    "while scanning a %TAG directive",
    "while scanning a %YAML directive",
    "while scanning an alias",
    "while scanning an anchor",
    "while scanning for the next token",
};

static void test_no_message_is_passed_on(void **state)
{
    (void)state;
    static const char text[] = "a: b\nc: d\n";
    const struct yaml_file file = {.path = "a.yml", .text = text, .length = sizeof text - 1};
    for (size_t i = 0; i < ARRAY_LENGTH(problems); i++)
        for (size_t k = 0; k < ARRAY_LENGTH(contexts); k++) {
            struct err e;
            err_init(&e);
            const struct yaml_fault fault = {
                .file = &file, .problem = problems[i], .context = contexts[k], .line = 1, .column = 1};
            assert_int_equal(yaml_fault_explain(&fault, &e), -1);
            if (strstr(e.text, problems[i]) != NULL || strstr(e.text, "not valid YAML") != NULL ||
                (contexts[k] != NULL && strstr(e.text, contexts[k]) != NULL))
                fail_msg("%s, %s: %s", problems[i], contexts[k] == NULL ? "-" : contexts[k], e.text);
        }
    struct err e;
    err_init(&e);
    const struct yaml_fault fault = {.file = &file, .problem = "news", .line = 1, .column = 1};
    assert_int_equal(yaml_fault_explain(&fault, &e), -1);
    assert_string_equal(e.text, "not valid YAML: news");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_no_message_is_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
