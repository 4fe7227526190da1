#!/usr/bin/env python3
"""validate and config: what CI systems read, which formats a command takes, the settings with their origins, and tender.yml's rules at work."""

import json
import unicodedata
import unittest

from support import DONE, FAILED, MANIFESTS, PARTIAL, USAGE, EndToEnd, sha256_of

BROKEN = "name: Servers\nsoftware:\n  packages:\n    - ulr: https://a.example.com/a.deb\n    - url: https://a.example.com/b.deb\n      labels_include_any: []\n"


class Formats(EndToEnd):
    def setUp(self):
        self.here = self.world()
        self.here.write("teams/servers, 50%.yml", BROKEN)

    def validate(self, name, *more):
        return self.here.tender("validate", "--format", name, *more)

    def test_text_shows_line_and_caret(self):
        result = self.validate("text")
        self.assert_status(result, MANIFESTS)
        self.assertIn("    | - ulr: https://a.example.com/a.deb\n    |   ^\n", result.stdout)

    def test_caret_below_its_column(self):
        """With tabs, wide characters, what is hidden, and in a line that is cut."""
        name = "teams/servers, 50%.yml"
        for line, place, shown, under in (
            ("\t- ulr: x", "4:1", "→- ulr: x", "→"),
            ("    \t- ulr: x", "4:5", "→- ulr: x", "→"),
            ("    - ulr:\tx", "4:7", "- ulr:→x", "ulr"),
            ("    - {url:\t\"https://x/a\", ulr:\tx}", "4:28", "- {url:→\"https://x/a\", ulr:→x}", "ulr"),
            ("    - {url: \"https://u:pppppp@x/a?token=abc\", ulr: x}", "4:47", "- {url: \"https://***@x/a?…\", ulr: ***", "ulr"),
            ("    - {display_name: \"日本 x\", ulr: y}", "4:30", "- {display_name: \"日本 x\", ulr: y}", "ulr"),
        ):
            self.here.write(name, f"name: Servers\nsoftware:\n  packages:\n{line}\n")
            result = self.validate("text")
            self.assertIn(f"{name}:{place}: error", result.stdout, line)
            before = shown[:shown.index(under)]
            wide = sum(unicodedata.east_asian_width(character) == "W" for character in before)
            self.assertIn(f"    | {shown}\n    | {' ' * (len(before) + wide)}^\n", result.stdout, line)
        self.here.write(name, "name: Servers\nsoftware:\n  packages:\n    - {url: https://x/a.pkg, categories: [" + "abc, " * 100 + "], ulr: x}\n")
        shown, caret = self.validate("text").stdout.splitlines()[1:3]
        self.assertTrue(shown.startswith("    | …") and shown.endswith(", ulr: x}"), shown)
        self.assertEqual(caret.index("^"), shown.index("ulr"))

    def test_github(self):
        result = self.validate("github")
        self.assert_status(result, MANIFESTS)
        lines = result.stdout.splitlines()
        self.assertEqual(lines[0], "::error file=teams/servers%2C 50%25.yml,line=4,col=7,title=unknown-key::unknown key \"ulr\": did you mean \"url\"?")
        self.assertEqual(len([line for line in lines if line.startswith("::warning ")]), 1)
        for line in lines:
            self.assertRegex(line, r"^::(error|warning) [a-z]+=[^:,]*(,[a-z]+=[^:,]*)*::.+$")

    def test_github_limit(self):
        self.here.write("teams/many.yml", "name: Many\nsoftware:\n  packages:\n" + "".join(f"    - ulr{i}: x\n" for i in range(25)))
        lines = self.validate("github").stdout.splitlines()
        self.assertEqual(len([line for line in lines if line.startswith("::error ")]), 10)
        self.assertRegex(lines[-1], r"^::notice title=tender validate::.*: \d+ errors$")

    def test_sarif(self):
        """The properties that SARIF 2.1.0 requires (sections 3.13, 3.14, 3.18, 3.19, 3.27, 3.28, 3.29, 3.30)."""
        result = self.validate("sarif")
        self.assert_status(result, MANIFESTS)
        document = json.loads(result.stdout)
        self.assertEqual(document["version"], "2.1.0")
        (run,) = document["runs"]
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        self.assertEqual(len(rules), len(set(rules)))
        self.assertIn(run["columnKind"], ("utf16CodeUnits", "unicodeCodePoints"))
        self.assertEqual([found["level"] for found in run["results"]], ["error", "warning"])
        self.assertEqual([found["ruleId"] for found in run["results"]], ["unknown-key", "empty-labels"])
        for found in run["results"]:
            self.assertEqual(rules[found["ruleIndex"]], found["ruleId"])
            self.assertEqual(run["tool"]["driver"]["rules"][found["ruleIndex"]]["defaultConfiguration"]["level"], found["level"])
            self.assertTrue(found["message"]["text"])
            place = found["locations"][0]["physicalLocation"]
            self.assertEqual(place["artifactLocation"]["uri"], "teams/servers%2C%2050%25.yml")
            self.assertGreaterEqual(place["region"]["startLine"], 1)
            self.assertGreaterEqual(place["region"]["startColumn"], 1)

    def test_gitlab(self):
        result = self.validate("gitlab")
        self.assert_status(result, MANIFESTS)
        before = json.loads(result.stdout)
        for found in before:
            self.assertEqual(set(found), {"description", "check_name", "fingerprint", "severity", "location"})
            self.assertIn(found["severity"], ("info", "minor", "major", "critical", "blocker"))
            self.assertEqual(found["location"]["path"], "teams/servers, 50%.yml")
        self.assertEqual([found["check_name"] for found in before], ["unknown-key", "empty-labels"])
        self.assertEqual(len({found["fingerprint"] for found in before}), len(before))
        self.here.write("teams/servers, 50%.yml", "# a line more\n" + BROKEN)
        after = json.loads(self.validate("gitlab").stdout)
        self.assertEqual([found["fingerprint"] for found in before], [found["fingerprint"] for found in after])
        self.assertEqual([found["location"]["lines"]["begin"] + 1 for found in before], [found["location"]["lines"]["begin"] for found in after])

    def test_nothing_wrong(self):
        (self.here.repository / "teams" / "servers, 50%.yml").unlink()
        self.here.write("teams/a.yml", "name: A\n")
        for name, text in (("github", ""), ("gitlab", "[]\n")):
            result = self.validate(name)
            self.assert_status(result, DONE)
            self.assertEqual(result.stdout, text)
        self.assertEqual(json.loads(self.validate("sarif").stdout)["runs"][0]["results"], [])

    def test_format_that_does_not_apply(self):
        for command, formats in (("show", ("github", "sarif", "gitlab")), ("plan", ("github", "sarif", "gitlab")), ("config", ("sarif",)), ("apply", ("github",))):
            for name in formats:
                self.here.mark()
                result = self.here.tender(command, "--format", name)
                self.assert_status(result, USAGE)
                self.assertIn(f"--format {name}: this command writes text, json\n", result.stderr)
                self.assertEqual(self.here.requests(), [])
        self.assert_status(self.validate("xml"), USAGE)


class Config(EndToEnd):
    def config(self, world, *arguments, **changes):
        result = world.tender("config", "--format", "json", *arguments, **changes)
        self.assert_status(result, DONE)
        self.assert_no_secret(result, "s3cret")
        document = json.loads(result.stdout)
        return document, {entry["name"]: entry for entry in document["settings"]}

    def test_origins(self):
        world = self.world()
        world.write("tender.yml", "parallel: 3\nparallel_per_host: 2\nretry_max: 7s\nexclude_teams: [Kiosks]\n")
        document, settings = self.config(world, "--parallel", "5", TENDER_PARALLEL_PER_HOST="1", TENDER_RETRY_MAX=None)
        self.assertEqual((settings["parallel"]["value"], settings["parallel"]["origin"]), ("5", "--parallel"))
        self.assertEqual((settings["parallel-per-host"]["value"], settings["parallel-per-host"]["origin"]), ("1", "TENDER_PARALLEL_PER_HOST"))
        self.assertEqual((settings["retry-max"]["value"], settings["retry-max"]["origin"]), ("7s", "tender.yml:3"))
        self.assertEqual((settings["exclude-team"]["value"], settings["exclude-team"]["origin"]), (["Kiosks"], "tender.yml:4"))
        self.assertEqual((settings["max-removals"]["value"], settings["max-removals"]["source"]), ("10", "default"))
        self.assertEqual((settings["fleet-token"]["value"], settings["fleet-token"]["source"]), ("***", "environment"))
        text = world.tender("config", "--parallel", "5").stdout
        self.assertRegex(text, r"(?m)^parallel +5 +--parallel$")
        self.assertRegex(text, r"(?m)^retry-factor +2 +default$")

    def test_rules_without_their_secrets(self):
        world = self.world()
        world.write("tender.yml", "sources:\n  - prefix: https://p.example.com/\n    header: \"X-Token: $TOKEN\"\n    retry_attempts: 3\n"
                    "mirrors:\n  https://p.example.com/: https://user:$TOKEN@m.example.com/\nbackup_urls:\n  https://p.example.com/a?$TOKEN: https://b.example.com/a?$TOKEN\n"
                    "guards:\n  - team: Kiosks\n    prune: true\n")
        document, _ = self.config(world, TOKEN="s3cret")
        self.assertEqual(document["sources"][0]["header"], "***")
        self.assertEqual(document["sources"][0]["retry-attempts"], "3")
        self.assertEqual(document["mirrors"], [{"prefix": "https://p.example.com/", "replacements": ["https://***@m.example.com/"]}])
        self.assertEqual(document["backup_urls"][0]["urls"], ["https://b.example.com/a?…"])
        self.assertEqual(document["guards"], [{"team": "Kiosks", "prune": True, "allow_empty": False, "max_removals": 10}])
        result = world.tender("config", TOKEN="s3cret")
        self.assert_status(result, DONE)
        self.assert_no_secret(result, "s3cret")

    def test_files_of_a_source_are_shown(self):
        world = self.world()
        secret = world.root / "header.txt"
        secret.write_text("X-Key: s3cret\n")
        world.write("tender.yml", f"sources:\n  - prefix: https://p.example.com/\n    header_file: {secret}\n")
        document, _ = self.config(world)
        self.assertEqual(document["sources"][0]["header_file"], str(secret))
        result = world.tender("config")
        self.assertIn(f"header_file: {secret}", result.stdout)
        self.assert_no_secret(result, "s3cret")

    def test_mistakes_and_no_repository(self):
        world = self.world()
        world.write("tender.yml", "paralel: 3\n")
        result = world.tender("config")
        self.assert_status(result, MANIFESTS)
        self.assertIn("did you mean \"parallel\"?", result.stdout)
        self.assert_status(world.tender("config", TENDER_DIR=None), DONE)


class BrokenSettings(EndToEnd):
    """With settings that nobody meant nothing is done; what else is wrong is told all the same."""

    def check(self, text):
        world = self.here
        world.write("teams/servers.yml", BROKEN)
        result = world.tender("validate")
        self.assert_status(result, MANIFESTS)
        self.assertIn(text, result.stdout)
        self.assertIn("teams/servers.yml:4:7: error: unknown key \"ulr\"", result.stdout)
        self.assertEqual(result.stderr, "")
        for command in ("plan", "apply", "fetch"):
            result = world.tender(command)
            self.assert_status(result, FAILED)
            self.assertIn(text, result.stdout)
            self.assertIn("unknown key \"ulr\"", result.stdout)
            self.assertIn("nothing is done until they are mended", result.stdout + result.stderr)
        self.assertEqual(world.requests(), [])

    def setUp(self):
        self.here = self.world()
        self.here.team("Workstations", "/alpha_1.0_amd64.deb")

    def test_unknown_key(self):
        self.here.write("tender.yml", "prun: false\n")
        self.check("did you mean \"prune\"?")

    def test_no_yaml(self):
        self.here.write("tender.yml", "teams: [Workstations\n")
        self.check("is not closed")

    def test_wrong_suffix(self):
        self.here.write("tender.yaml", "exclude_teams: [Workstations]\n")
        self.check("tender.yaml: error: this file is not read")

    def test_in_the_folder_of_the_teams(self):
        self.here.write("part/tender.yml", "exclude_teams: [Workstations]\n")
        self.here.write("part/teams/kiosks.yml", "name: Kiosks\n")
        self.check("part/tender.yml: error: this file is not read")


class Subdir(EndToEnd):
    def test_missing_folder(self):
        world = self.world()
        world.team("Workstations", "/alpha_1.0_amd64.deb")
        for path in ("nowhere", "teams/nowhere", "teams/workstations.yml"):
            result = world.tender("validate", "--subdir", path)
            self.assert_status(result, FAILED)
            self.assertIn(f"subdir {path}: the repository has no such folder", result.stderr)
        result = world.tender("validate", "--subdir", "teams")
        self.assert_status(result, DONE)
        self.assertIn("no folder teams/ or fleets/ in teams or one level below", result.stdout)


class Rules(EndToEnd):
    def test_allow_list_backups_and_exclusion(self):
        world = self.world()
        world.team("Workstations", "/alpha_1.0_amd64.deb")
        world.team("Servers", "https://elsewhere.example.com/x.deb")
        world.team("Kiosks", "/beta_1.0_amd64.deb")
        world.write("tender.yml", f"allowed_sources: [{world.package_url}/]\nexclude_teams: [Kio*]\n")
        result = world.tender("apply")
        self.assert_status(result, PARTIAL)
        self.assertIn("allowed_sources", result.stdout)
        self.assertEqual(list(world.digests("Workstations").values()), [sha256_of("alpha_1.0_amd64.deb")])
        self.assertEqual(world.digests("Kiosks"), {})
        self.assertNotIn("Kiosks", [team["name"] for team in result.report["teams"]])

    def test_backup_url_of_tender_yml(self):
        world = self.world()
        world.team("Workstations", {"url": "/dead.deb", "hash_sha256": sha256_of("alpha_1.0_amd64.deb")})
        world.write("tender.yml", f"backup_urls:\n  {world.package_url}/dead.deb: {world.package_url}/alpha_1.0_amd64.deb\n")
        self.assert_status(world.tender("apply"), DONE)
        self.assertEqual(list(world.digests("Workstations").values()), [sha256_of("alpha_1.0_amd64.deb")])

    def test_guards_per_team(self):
        world = self.world(teams=("Workstations", "Servers"))
        for team in ("Workstations", "Servers"):
            world.team(team, "/alpha_1.0_amd64.deb", "/beta_1.0_amd64.deb")
        self.assert_status(world.tender("apply"), DONE)
        for team in ("Workstations", "Servers"):
            world.team(team, "/alpha_1.0_amd64.deb")
        world.write("tender.yml", "guards:\n  - team: Work*\n    prune: true\n")
        self.assert_status(world.tender("apply"), DONE)
        self.assertEqual((len(world.digests("Workstations")), len(world.digests("Servers"))), (1, 2))
        # A flag wins over what tender.yml says of a team.
        world.write("tender.yml", "guards:\n  - team: Servers\n    prune: true\n")
        self.assert_status(world.tender("apply", "--prune=false"), DONE)
        self.assertEqual(len(world.digests("Servers")), 2)


if __name__ == "__main__":
    unittest.main()
