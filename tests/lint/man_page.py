#!/usr/bin/env python3
"""man/tender.1 has every command, setting and exit status that the program has, and no other."""
import os
import re
import shutil
import subprocess

import sources

TABLE = "lib/model/settings_table.c"
COMMANDS = "cmd/tender/main.c"
STATUSES = "lib/report/report.h"
PAGE = "man/tender.1"

TEXT = r'(?:NULL|"(?:\\.|[^"\\])*"(?:\s*"(?:\\.|[^"\\])*")*)'
ROW = re.compile(
    r"\{\s*(?P<name>" + TEXT + r"),\s*(?P<letter>0|'.'),\s*(?P<environment>" + TEXT + r"),\s*SETTING_(?P<type>[A-Z]+),\s*"
    r"AT\([^)]*\),\s*(?P<default>" + TEXT + r"),\s*(?P<value>" + TEXT + r"),\s*(?P<help>" + TEXT + r"),\s*[A-Z |]+,\s*"
    r"(?P<in_file>true|false),", re.DOTALL)


def c_text(literal):
    if literal == "NULL":
        return None
    return "".join(re.findall(r'"((?:\\.|[^"\\])*)"', literal))


def settings(text):
    rows = []
    for match in ROW.finditer(text):
        row = {key: c_text(match[key]) for key in ("name", "environment", "default", "value", "help")}
        row["letter"] = None if match["letter"] == "0" else match["letter"][1]
        row["in_file"] = match["in_file"] == "true"
        row["is_switch"] = match["type"] == "SWITCH"
        # As in tender.yml: a list's key is a plural.
        row["key"] = row["name"].replace("-", "_") + ("s" if match["type"] == "LIST" else "")
        rows.append(row)
    return rows


def entries(page):
    """{option: its text} of the list items that begin with a long option."""
    found = {}
    for block in re.split(r"^(?=\.It |\.El|\.Sh |\.Ss )", page, flags=re.MULTILINE):
        match = re.match(r"\.It (?:Fl (?P<letter>\w) , )?Fl Fl (?P<name>[a-z-]+)(?: Ar (?P<value>\S+))?\n", block)
        if match:
            found[match["name"]] = (match["letter"], match["value"], block)
    return found


def check_setting(row, entry):
    letter, value, block = entry
    if letter != row["letter"]:
        return f"--{row['name']}: its letter is {row['letter']}, not {letter}"
    if value != row["value"]:
        return f"--{row['name']}: its value is called {row['value']}, not {value}"
    if not re.search(r"^\.Ev " + row["environment"] + r"\b", block, re.MULTILINE):
        return f"--{row['name']}: {row['environment']} is not named"
    if row["default"] and not row["is_switch"] and f"Default: {row['default']}." not in block:
        return f"--{row['name']}: its default is {row['default']}"
    if row["in_file"] != (f"Key: {row['key']}." in block):
        return f"--{row['name']}: it {'may' if row['in_file'] else 'may not'} stand in tender.yml"
    return None


def check(page, rows, commands, statuses):
    findings = []
    found = entries(page)
    for row in rows:
        finding = check_setting(row, found[row["name"]]) if row["name"] in found else f"--{row['name']} is missing"
        if finding:
            findings.append(f"{PAGE}: {finding}")
    for name in sorted(set(found) - {row["name"] for row in rows}):
        findings.append(f"{PAGE}: there is no option --{name}")
    for what, wanted, have in (("command", commands, re.findall(r"^\.It Cm (\S+)", page, re.MULTILINE)),
                               ("exit status", statuses, re.findall(r"^\.It (\d+)$", page, re.MULTILINE))):
        for name in sorted(set(wanted) ^ set(have)):
            findings.append(f"{PAGE}: {what} {name} {'is missing' if name in wanted else 'does not exist'}")
    return findings


def self_test(page, rows, commands, statuses):
    sources.expect("the table is read whole", len(rows) == sources.read(TABLE).count("SETTING_") - len(
        re.findall(r"SETTING_FOR_", sources.read(TABLE))))
    for planted in ({"default": "17 parsecs"}, {"environment": "TENDER_X"}, {"letter": "Q"}, {"value": "X"},
                    {"name": "planted"}):
        row = dict(rows[3], is_switch=False, **planted)
        sources.expect(f"a setting with {planted}", check(page, rows[:3] + [row] + rows[4:], commands, statuses) != [])
    sources.expect("tender.yml", check(page, [dict(rows[0], in_file=not rows[0]["in_file"])] + rows[1:], commands,
                                       statuses) != [])
    sources.expect("a missing command", check(page, rows, commands + ["planted"], statuses) != [])
    sources.expect("a missing status", check(page, rows, commands, statuses + ["99"]) != [])


def help_findings(rows):
    """What the program itself says, where it was built."""
    program = os.environ.get("TENDER", "")
    if not os.access(program, os.X_OK):
        return []
    said = "".join(subprocess.run([program, "help"] + name, capture_output=True, text=True, check=True).stdout
                   for name in ([], ["plan"], ["run"], ["show"], ["fetch"]))
    findings = [f"tender help does not say --{row['name']} {row['environment']}" for row in rows
                if f"--{row['name']}" not in said or row["environment"] not in said]
    return findings + [f"tender help is wider than 80 columns: {line}" for line in said.splitlines() if len(line) > 80]


def lint_findings():
    if shutil.which("mandoc") is None:
        return []
    result = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", PAGE], cwd=sources.ROOT, capture_output=True,
                            text=True, check=False)
    return result.stdout.splitlines()


if __name__ == "__main__":
    the_page = sources.read(PAGE)
    the_rows = settings(sources.read(TABLE))
    the_commands = re.findall(r'^    \{"([a-z]+)", ', sources.read(COMMANDS), re.MULTILINE)
    the_statuses = re.findall(r"EXIT_STATUS_[A-Z]+ = (\d+)", sources.read(STATUSES))
    the_findings = check(the_page, the_rows, the_commands, the_statuses)
    if not the_findings:
        self_test(the_page, the_rows, the_commands, the_statuses)
    sources.finish(the_findings + help_findings(the_rows) + lint_findings())
