#!/usr/bin/env python3
"""The JSON Schemas of `tender schema`, tried by a validator that is not ours: whatever the parser takes, they take; and the faults that a schema can
express, they find. The files: manifests-example, the real repositories where they are at hand, and the cases of tests/manifest."""

import json
import pathlib
import posixpath
import re
import subprocess
import sys
import unittest

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print(f"SKIPPED test_schema: Python's {missing.name} is not installed (./dev setup)")
    sys.exit(77)

from support import DONE, TENDER, USAGE

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
REAL = ROOT.parent / "shared" / "manifests-real"
CASES = [path for folder in ("cases", "invalid") for path in sorted((ROOT / "tests" / "manifest" / folder).glob("*")) if path.is_file()]

# Rules of the parser that a schema can express …
EXPRESSIBLE = {"unknown-key", "misplaced-key", "missing-key", "conflicting-keys", "wrong-type", "boolean", "digest", "url", "slug", "platform", "time", "text",
               "missing-script", "nested-package-file", "organisation-software", "unknown-setting", "setting"}

# … but for what depends on another file, on a variable's value or on a key that no schema can foresee; on digits that are a number to an editor; on line
# ends, which Python's "$" passes over; and on keys that stand twice, of which an editor sees one.
NOT_EXPRESSIBLE = [re.compile(pattern) for pattern in (
    r'"[0-9]+([eE][0-9]+)?" has \d+ characters', r'"app_store_id" has \d+ characters', r"line break|several lines", r" a second ", r"is set here and in ",
    r"beside a file with several packages", r"is for \.ipa packages only", r'"path" only', r'did you mean "(software|macos_setup|setup_experience)"',
    r'belongs (under|to an entry of) "software"', r"a key must be a text", r'needs "name": did you mean',
)]
TRAIL = re.compile(r" \[(used by|also|teams/)[^\]]*\]")


def is_expressible(finding):
    rule, message, has_variable = finding
    return rule in EXPRESSIBLE and not has_variable and not any(pattern.search(message) for pattern in NOT_EXPRESSIBLE)


class Loader(yaml.SafeLoader):
    """As an editor reads YAML: the core schema of YAML 1.2, in which neither `no` nor a date is anything but a text."""


Loader.yaml_implicit_resolvers = {}
for tag, pattern, first in (("null", r"^(~|null|Null|NULL|)$", ["~", "n", "N", ""]), ("bool", r"^(true|True|TRUE|false|False|FALSE)$", list("tTfF")),
                            ("int", r"^[-+]?[0-9]+$", list("-+0123456789")),
                            ("float", r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$", list("-+.0123456789")), ("merge", r"^<<$", ["<"])):
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), first)
Loader.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(node.value))
Loader.add_constructor("tag:yaml.org,2002:float", lambda loader, node: float(node.value))


class Unreadable(Exception):
    pass


def with_text_keys(value, room):
    """As JSON has it. `room`: how many nodes may still come, for aliases can make many of few."""
    room[0] -= 1
    if room[0] < 0:
        raise Unreadable("too large")
    if isinstance(value, dict):
        return {key if isinstance(key, str) else json.dumps(key): with_text_keys(item, room) for key, item in value.items()}
    return [with_text_keys(item, room) for item in value] if isinstance(value, list) else value


def read(text):
    try:
        return with_text_keys(yaml.load(text, Loader), [50000])
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as problem:
        raise Unreadable(str(problem)) from problem


def is_team(path):
    parts = path.split("/")
    return len(parts) in (2, 3) and parts[-2] in ("teams", "fleets") and path.endswith((".yml", ".yaml"))


def package_files(files):
    """The package files that team files refer to."""
    found = set()
    for path, text in files.items():
        if not is_team(path):
            continue
        try:
            software = (read(text) or {}).get("software") or {}
            entries = software.get("packages") or []
            names = [entry["path"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("path"), str)]
        except (Unreadable, AttributeError, TypeError):
            continue
        for name in names:
            target = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
            if target in files and target.endswith((".yml", ".yaml")):
                found.add(target)
    return found


def roles(files):
    packages = package_files(files)
    for path in sorted(files):
        if path == "tender.yml":
            yield path, "settings"
        elif is_team(path):
            yield path, "team"
        elif path in packages:
            yield path, "package"


def read_case(path):
    """A case's files, and what the parser says of each: file → rules, messages, and whether the line has a variable."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None
    files, said = {}, {}
    parts = re.split(r"^== (.+)\n", text, flags=re.MULTILINE)
    for name, content in zip(parts[1::2], parts[2::2]):
        files[name] = content
    lines = files.pop("expected", "").splitlines() + [""]
    for line, after in zip(lines, lines[1:]):
        match = re.match(r"(?P<file>[^:\s][^:]*):\d+:\d+: (?P<severity>error|warning) (?P<rule>[a-z-]+): (?P<text>.*)$", line)
        if match and match["severity"] == "error":
            said.setdefault(match["file"], []).append((match["rule"], TRAIL.sub("", match["text"]), "$" in after))
    return files, said


class Schemas(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.validators = {}
        for name in ("team", "package", "settings"):
            schema = json.loads(subprocess.run([TENDER, "schema", name], check=True, capture_output=True, text=True).stdout)
            jsonschema.Draft202012Validator.check_schema(schema)
            cls.validators[name] = jsonschema.Draft202012Validator(schema)

    def faults(self, role, text):
        return [f"{'/'.join(str(part) for part in fault.absolute_path)}: {fault.message[:300]}" for fault in self.validators[role].iter_errors(read(text))]

    def check_folder(self, folder):
        files = {}
        for path in folder.rglob("*"):
            name = path.relative_to(folder).as_posix()
            if path.is_file() and path.suffix in (".yml", ".yaml") and ".git/" not in name:
                files[name] = path.read_text(encoding="utf-8-sig", errors="replace")
        count = 0
        bad = {}
        for path, role in roles(files):
            try:
                found = self.faults(role, files[path])
            except Unreadable:
                continue
            count += 1
            if found:
                bad[path] = found
        return count, bad

    def test_example(self):
        count, bad = self.check_folder(ROOT / "manifests-example")
        self.assertEqual(bad, {})
        self.assertGreater(count, 10)

    def test_real_repositories(self):
        if not REAL.is_dir():
            self.skipTest("the real repositories (../shared/manifests-real) are not at hand")
        count = 0
        for folder in sorted(path for path in REAL.iterdir() if path.is_dir() and path.name != "EXPECTED"):
            result = subprocess.run([TENDER, "validate", "--dir", str(folder), "--format", "json"], capture_output=True, text=True, check=False)
            wrong = {found["file"] for found in json.loads(result.stdout)["diagnostics"] if found["severity"] == "error"} if result.stdout else set()
            checked, bad = self.check_folder(folder)
            count += checked
            # The files that the parser finds fault with may well be invalid.
            self.assertEqual({path: found for path, found in bad.items() if path not in wrong}, {}, folder.name)
        self.assertGreater(count, 40)

    def test_cases(self):
        expressed, accepted, wrong = 0, 0, []
        for case in CASES:
            content = read_case(case)
            if content is None:
                continue
            files, said = content
            for path, role in roles(files):
                try:
                    found = self.faults(role, files[path])
                except Unreadable:
                    continue
                messages = said.get(path, [])
                if not messages:
                    accepted += 1
                    wrong += [f"{case.name}: {path}: the parser takes it, but {fault}" for fault in found]
                elif any(is_expressible(message) for message in messages):
                    expressed += 1
                    wrong += [] if found else [f"{case.name}: {path}: the parser says {messages}"]
        self.assertEqual(wrong, [])
        self.assertGreater(expressed, 20)
        self.assertGreater(accepted, 30)

    def test_what_scalars_look_like(self):
        head = "name: 12\nsoftware:\n  packages:\n    - "
        digits = "1" * 64
        for text in ("hash_sha256: " + digits, "hash_sha256: 12e34" + "0" * 59, "{hash_sha256: '%s', display_name: 1.10}" % digits, "url: $URL", "url: HTTPS://a.example.com/x",
                     "{url: 'https://a.example.com/x', self_service: 'Yes', labels_include_any: [no, 1, true]}", "{path: ../$FILE, self_service: $YES}",
                     "{url: 'https://a.example.com/x', icon: , labels_include_any: }", "path: ../a.SH", "{path: ../a.yml, display_name: 7}"):
            self.assertEqual(self.faults("team", head + text), [], text)
        for text in ("url: ftp://a.example.com/x", "url: 7", "{url: 'https://a.example.com/x', self_service: 1}", "{path: ../a.sh, url: 'https://a.example.com/x'}", "{path: ../a.yml, icon: {path: x.png}}",
                     "hash_sha256: abc", "{url: 'https://a.example.com/x', icon: {}}", "{url: 'https://a.example.com/x', install_script: {path: }}", "{url: 'https://a.example.com/x', labels_include_any: [a, a]}",
                     "url: https://a.example.com/x.EXE?y=z", "{url: 'https://a.example.com/x', icon: x.png}", "path: ../a.txt", "{url: }", "{url: 'https://a.example.com/x', always_download: true}"):
            self.assertNotEqual(self.faults("team", head + text), [], text)

    def test_settings(self):
        for text in ("", "parallel: 3", "parallel: '3'", "parallel: $N", "retry_max: 90", "retry_max: 1.5 min", "retry_max: 2H", "max_package_size: 2GiB", "prune: on", "prune: 1",
                     "retry_strategy: Linear", "allowed_sources: https://a.example.com", "allowed_sources: []", "retry_factor: 1.5", "user_agent: 7", "deadline: 0", "prune: "):
            self.assertEqual(self.faults("settings", text), [], text)
        for text in ("paralel: 3", "parallel: 65", "parallel: 2.5", "parallel: many", "retry_max: soon", "retry_max: 2 weeks", "retry_max: 100000", "prune: 2", "retry_strategy: never", "fleet_token: x",
                     "allowed_sources: a.example.com", "retry_factor: 0.5", "guards: [{prune: true}]", "sources: [{prefix: 'https://a.example.com', parallel: 3}]",
                     "mirrors: {'https://a.example.com/': 'ftp://b.example.com/'}", "mirrors: []", "- prune"):
            self.assertNotEqual(self.faults("settings", text), [], text)

    def test_command(self):
        result = subprocess.run([TENDER, "schema"], capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stdout), (USAGE, ""))
        self.assertIn("team, package, settings", result.stderr)
        self.assertEqual(subprocess.run([TENDER, "schema", "teams"], capture_output=True, check=False).returncode, USAGE)
        self.assertEqual(subprocess.run([TENDER, "schema", "team", "package"], capture_output=True, check=False).returncode, USAGE)
        self.assertEqual(subprocess.run([TENDER, "schema", "--help"], capture_output=True, check=False).returncode, DONE)
        with open("/dev/full", "wb") as full:
            self.assertEqual(subprocess.run([TENDER, "schema", "team"], stdout=full, stderr=subprocess.DEVNULL, check=False).returncode, 1)


if __name__ == "__main__":
    unittest.main()
