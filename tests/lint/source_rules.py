#!/usr/bin/env python3
"""Cheap rules that keep the sources readable (CONTRIBUTING.md): sizes, first comments, no leftovers, no printing in lib/."""
import re

import sources

MOST_FILE_LINES = 500
MOST_TEST_LINES = 1000  # mostly tables of cases
MOST_FUNCTION_LINES = 62  # 60 and its braces
TEXT_ENDINGS = (".c", ".h", ".py", ".sh", ".md", ".txt", ".cmake", ".json", ".yml", ".yaml", ".1")
LEFTOVER = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|X" + r"XX|HA" + r"CK)\b")
# A folder of somebody's machine has no place in the project.
MACHINE_PATH = re.compile(r"/wor" + r"k/(main|shared|\.library)|/home/[a-z]+/|/Users/[a-z]+/")
# A busy machine is no fault of the code: a test says what happens, `./dev bench` how quickly. A wait may be checked to be long enough.
TIMED_TEST = re.compile(r"\bclock\(\)|CLOCKS_PER_" r"SEC|CPUTIME" r"_ID|assertLess\(time\.monotonic\(\) - |now_ms\(\) - \w+ <(?!=? *0)")
PRINTING = re.compile(r"(?<![A-Za-z0-9_])(printf|vprintf|puts|putchar|perror|exit|_exit|abort|system|sleep|usleep)\s*\("
                      r"|(?<![A-Za-z0-9_])(stdout|stderr)\b")
CHILD_PROCESS = "lib/repository/git_child.c"  # the one place that forks: its child ends with _exit
UNSAFE = re.compile(r"(?<![A-Za-z0-9_])(gets|strcpy|sprintf|vsprintf|strtok|atoi|atol|rand|tmpnam|mktemp)\s*\(")


def without_comments_and_texts(text):
    """Comments and string literals blanked, line breaks kept."""
    pattern = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def check_c(path, text):
    findings = []
    lines = text.split("\n")
    if not text.startswith("/*"):
        findings.append(f"{path}:1: does not begin with a comment on its place in the data's flow")
    is_test = path.startswith("tests/")
    most = MOST_TEST_LINES if is_test else MOST_FILE_LINES
    if len(lines) - 1 > most:
        findings.append(f"{path}: {len(lines) - 1} lines; at most {most}")
    start = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            start = number
        elif line == "}" and start is not None:
            if number - start + 1 > MOST_FUNCTION_LINES and not is_test:
                findings.append(f"{path}:{start}: a function of {number - start - 1} lines; at most 60")
            start = None
    code = without_comments_and_texts(text)
    rules = [] if is_test or path.startswith("cmd/fleetsim/") else [(UNSAFE, "has no place here: it knows no limit")]
    if path.startswith("lib/"):
        rules.append((PRINTING, "library code never prints, exits or sleeps"))
    for rule, why in rules:
        for match in rule.finditer(code):
            if path == CHILD_PROCESS and match.group(1) == "_exit":
                continue
            line = code.count("\n", 0, match.start()) + 1
            findings.append(f"{path}:{line}: {match.group().strip('( ')}: {why}")
    if path.endswith(".h") and path.startswith("lib/"):
        guard = "TENDER_" + re.sub(r"[/.]", "_", path[len("lib/"):]).upper()
        if f"#ifndef {guard}\n#define {guard}\n" not in text:
            findings.append(f"{path}: its include guard is not {guard}")
    return findings


def check_text(path, text):
    findings = []
    is_test = path.startswith("tests/") and not path.startswith("tests/bench/")
    for number, line in enumerate(text.split("\n"), 1):
        if is_test and TIMED_TEST.search(line):
            findings.append(f"{path}:{number}: a timed test: {TIMED_TEST.search(line).group()}")
        if LEFTOVER.search(line):
            findings.append(f"{path}:{number}: {LEFTOVER.search(line).group()}: do it or file it")
        if MACHINE_PATH.search(line):
            findings.append(f"{path}:{number}: a path of one machine: {MACHINE_PATH.search(line).group()}")
    if text and not text.endswith("\n"):
        findings.append(f"{path}: no newline at its end")
    return findings


def is_text(path):
    name = path.rsplit("/", 1)[-1]
    is_sample = "/corpus/" in path or "/data/" in path or "/recordings/" in path or path.startswith("tests/manifest/")
    return not is_sample and (path.endswith(TEXT_ENDINGS) or "." not in name)


def check(files):
    findings = []
    for path, text in sorted(files.items()):
        if path.endswith((".c", ".h")):
            findings += check_c(path, text)
        if is_text(path):
            findings += check_text(path, text)
    return findings


def self_test():
    head = "/* A file. */\n"
    long_function = "static void f(void)\n{\n" + "    g();\n" * 61 + "}\n"
    bad = [
        ("lib/net/x.c", "int f(void);\n"),
        ("lib/net/x.c", head + "\n" * 501),
        ("lib/net/x.c", head + long_function),
        ("lib/net/x.c", head + 'void f(void)\n{\n    printf("x");\n}\n'),
        ("lib/net/x.c", head + "void f(void)\n{\n    exit(1);\n}\n"),
        ("lib/net/x.c", head + 'void f(void)\n{\n    fputs("x", stderr);\n}\n'),
        ("cmd/tender/x.c", head + "void f(void)\n{\n    strcpy(a, b);\n}\n"),
        ("lib/net/x.h", head + "#ifndef OTHER_H\n#define OTHER_H\n#endif\n"),
        ("docs/x.md", "TO" + "DO: more\n"),
        ("docs/x.md", "see /wor" + "k/main/docs\n"),
        ("docs/x.md", "no newline"),
        ("tests/unit/x.c", head + "void f(void)\n{\n    assert_true(now_ms() - began_ms " + "< 5);\n}\n"),
        ("tests/e2e/x.py", "self.assertLess(time.monotonic()" + " - started, 4)\n"),
    ]
    for path, text in bad:
        sources.expect(f"{path}: {text[:60]!r}", len(check({path: text})) == 1)
    good = {
        "lib/net/x.c": head + "/* printf( and exit( in a comment */\n" + long_function.replace("    g();\n", "", 3)
                       + 'int g(void)\n{\n    return snprintf(a, 1, "exit(1) stderr");\n}\n',
        "lib/net/x.h": head + "#ifndef TENDER_NET_X_H\n#define TENDER_NET_X_H\n#endif\n",
        "cmd/tender/x.c": head + 'int main(void)\n{\n    printf("x");\n}\n',
    }
    sources.expect("what is allowed", check(good) == [])


if __name__ == "__main__":
    self_test()
    sources.finish(check({path: sources.read(path) for path in sources.project_files()
                          if path.endswith((".c", ".h")) or is_text(path)}))
