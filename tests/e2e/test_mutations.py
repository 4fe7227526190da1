"""G4, F: a file that somebody spoilt is told, blocks its own team at most, and never leads to a removal, whatever was spoilt in it.

Seeded: TENDER_MUTATION_SEED and TENDER_MUTATION_COUNT make other ones, and more."""

import os
import random
import unittest

import support
from support import DONE, FAILED, MANIFESTS, PARTIAL, sha256_of

ALPHA, BETA, GAMMA = "alpha_1.0_amd64.deb", "beta_1.0_amd64.deb", "gamma_1.0_amd64.deb"
SEED = int(os.environ.get("TENDER_MUTATION_SEED", "1"))
COUNT = int(os.environ.get("TENDER_MUTATION_COUNT", "150"))
VALUES = ("null", "[]", "{}", "~", '""', "no", "12", "[a]", "*x", "&x y", "!!str a", "!x", "|")


def manifests(packages):
    return {
        "lib/alpha.yml": f"url: {packages}/{ALPHA}\nhash_sha256: {sha256_of(ALPHA)}\n",
        "lib/list.yml": f"- url: {packages}/{BETA}\n  hash_sha256: {sha256_of(BETA)}\n",
        "lib/remove.sh": "#!/bin/sh\nexit 0\n",
        "teams/workstations.yml":
            "name: Workstations\nteam_settings:\n  secrets:\n    - secret: abc\ncontrols:\n  macos_setup:\n    software:\npolicies:\nqueries:\n"
            "software:\n  packages:\n    - path: ../lib/alpha.yml\n      self_service: true\n    - path: ../lib/list.yml\n"
            f"    - url: {packages}/{GAMMA}\n      hash_sha256: {sha256_of(GAMMA)}\n      uninstall_script:\n        path: ../lib/remove.sh\n"
            "  app_store_apps:\n  fleet_maintained_apps:\n",
    }


def inserted(chance, line):
    at = chance.randrange(len(line) + 1)
    return line[:at] + chance.choice("abz\"'{}[]:&*!|>%@`-?\t,") + line[at:]


def cut(chance, line):
    at = chance.randrange(len(line) + 1)
    return line[:at] + line[at + 1:]


# What people and tools do to one line. None of it takes an entry away in a way that still reads well: that would be a wish.
SPOILERS = {
    "doubled in place": lambda chance, line: line + " " + line.strip(),
    "doubled": lambda chance, line: line + "\n" + line,
    "indented": lambda chance, line: " " * chance.randrange(1, 5) + line,
    "outdented": lambda chance, line: line[chance.randrange(1, 4):],
    "a character missing": cut,
    "a character more": inserted,
    "no colon": lambda chance, line: line.replace(":", "", 1),
    "no blank behind the colon": lambda chance, line: line.replace(": ", ":", 1),
    "another value": lambda chance, line: line.split(":")[0] + ": " + chance.choice(VALUES),
    "a second document": lambda chance, line: "---\n" + line,
    "a tab": lambda chance, line: "\t" + line,
    "a conflict": lambda chance, line: "<<<<<<< HEAD\n" + line,
    "capitals": lambda chance, line: line.upper(),
}


class Mutations(support.EndToEnd):
    def spoil(self, chance, files):
        """The files with one or two faults, and what these are."""
        files, done = dict(files), []
        for _ in range(chance.choice((1, 1, 2))):
            path = chance.choice(sorted(files) + ["teams/workstations.yml"] * 4)
            if chance.randrange(20) == 0 and path != "teams/workstations.yml":
                del files[path]
                done.append(f"{path} is missing")
            else:
                lines = files[path].split("\n")
                at, how = chance.randrange(len(lines) - 1), chance.choice(sorted(SPOILERS))
                lines[at] = SPOILERS[how](chance, lines[at])
                files[path] = "\n".join(lines)
                done.append(f"{path}:{at + 1}: {how}")
        return files, done

    def write(self, world, files):
        for path in manifests(""):
            (world.repository / path).unlink(missing_ok=True)
        for path, text in files.items():
            world.write(path, text)

    def test_nothing_is_removed(self):
        world = self.world()
        files = manifests(world.package_url)
        self.write(world, files)
        self.assert_status(world.tender("apply"), DONE)
        chance = random.Random(SEED)
        faults = 0
        for number in range(COUNT):
            spoilt, what = self.spoil(chance, files)
            self.write(world, spoilt)
            with self.subTest(seed=SEED, number=number, what=what):
                result = world.tender("plan", "--prune", "--allow-empty")
                self.assertIn(result.status, (DONE, FAILED, PARTIAL, MANIFESTS), result.stderr)
                self.assertEqual(result.report["counts"]["removed"], 0, result.stdout)
                checked = world.tender("validate")
                self.assertIn(checked.status, (DONE, MANIFESTS), checked.stderr)
                if checked.status == MANIFESTS:
                    faults += 1
                    self.assertRegex(checked.stdout, r"(?m)^(teams|lib)/\S+: error: ")
                    self.assertEqual(result.report["counts"]["updated"], 0, "an invalid team stays as it is")
        self.assertGreater(faults, COUNT / 3, "most of it is a fault")


if __name__ == "__main__":
    unittest.main()
