#!/usr/bin/env python3
"""--changed-since: which teams a change belongs to, from a folder as it lies, from a commit of it and from a repository's mirror."""

import json
import os
import shutil
import subprocess
import sys
import unittest

from support import DONE, FAILED, EndToEnd, sha256_of

TEAMS = ("Alpha", "Beta", "Gamma", "Delta")


class ChangedSince(EndToEnd):
    def setUp(self):
        world = self.here = self.world(teams=TEAMS)
        package = "/alpha_1.0_amd64.deb"
        world.write("lib/shared.yml", f"url: {world.package_url}{package}\ninstall_script:\n  path: scripts/install.sh\n")
        world.write("lib/scripts/install.sh", "#!/bin/sh\necho 1\n")
        world.write("lib/query.yml", "- name: q\n  query: SELECT 1;\n")
        world.write("lib/beta.yml", f"url: {world.package_url}/beta_1.0_amd64.deb\npre_install_query:\n  path: query.yml\n")
        world.write("lib/globbed/one.yml", f"url: {world.package_url}/gamma_1.0_amd64.deb\n")
        world.write("lib/globbed/two.yml", f"url: {world.package_url}/zeta_1.0_amd64.deb\n")
        world.write("lib/real/delta.yml", f"url: {world.package_url}/delta_1.0_amd64.deb\n")
        os.symlink("real", world.repository / "lib" / "linked")
        world.write("unused.yml", "a: b\n")
        world.write("tender.yml", "parallel: 2\n")
        for team, path in (("Alpha", "../lib/shared.yml"), ("Beta", "../lib/beta.yml"), ("Delta", "../lib/linked/delta.yml")):
            world.write(f"teams/{team.lower()}.yml", f"name: {team}\nsoftware:\n  packages:\n    - path: {path}\n")
        world.write("teams/gamma.yml", "name: Gamma\nsoftware:\n  packages:\n    - paths: ../lib/globbed/*.yml\n    - path: ../lib/shared.yml\n")
        self.git("init", "-q", "-b", "main", ".")
        self.commit("first")
        self.git("tag", "v1")

    def git(self, *arguments):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        environment.update(GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null", HOME=str(self.here.root))
        return subprocess.run(["git", "-c", "user.name=T", "-c", "user.email=t@example.com", *arguments], cwd=self.here.repository, env=environment,
                              check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, message):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    def chosen(self, *arguments, **changes):
        result = self.here.tender("show", "--format", "json", *arguments, **changes)
        self.assertIn(result.status, (DONE, 65), result.stderr)
        return [team["name"] for team in json.loads(result.stdout)["teams"]]

    def check(self, expected, since="v1"):
        """In all three ways, first with the change not committed."""
        self.assertEqual(self.chosen("--changed-since", since), expected, "files as they lie")
        self.git("add", "-A")
        self.assertEqual(self.chosen("--changed-since", since), expected, "staged")
        self.commit("change")
        self.assertEqual(self.chosen("--changed-since", since), expected, "committed, as it lies")
        self.assertEqual(self.chosen("--changed-since", since, "--commit", "HEAD"), expected, "a commit of the folder")
        self.assertEqual(self.chosen("--changed-since", since, "--repository", str(self.here.repository), TENDER_DIR=None), expected, "the mirror")

    def test_nothing(self):
        self.assertEqual(self.chosen("--changed-since", "v1"), [])
        result = self.here.tender("apply", "--changed-since", "HEAD")
        self.assert_status(result, DONE)
        self.assertEqual(self.here.requests(), [])

    def test_file_that_nobody_refers_to(self):
        self.here.write("unused.yml", "a: c\n")
        self.here.write("teams/README.md", "x\n")
        self.check([])

    def test_team_file(self):
        self.here.write("teams/beta.yml", "name: Beta\nsoftware:\n")
        self.check(["Beta"])

    def test_shared_script_through_the_package_file(self):
        self.here.write("lib/scripts/install.sh", "#!/bin/sh\necho 2\n")
        self.check(["Alpha", "Gamma"])

    def test_query(self):
        self.here.write("lib/query.yml", "- name: q\n  query: SELECT 2;\n")
        self.check(["Beta"])

    def test_deleted_reference(self):
        (self.here.repository / "lib/query.yml").unlink()
        self.check(["Beta"])

    def test_glob_loses_a_file(self):
        (self.here.repository / "lib/globbed/two.yml").unlink()
        self.check(["Gamma"])

    def test_glob_gains_a_file(self):
        self.here.write("lib/globbed/three.yml", f"url: {self.here.package_url}/eta_1.0_amd64.deb\n")
        self.check(["Gamma"])

    def test_what_a_link_leads_to(self):
        self.here.write("lib/real/delta.yml", f"url: {self.here.package_url}/eta_1.0_amd64.deb\n")
        self.check(["Delta"])

    def test_deleted_behind_a_link(self):
        (self.here.repository / "lib/real/delta.yml").unlink()
        self.check(["Delta"])

    def test_link_leads_elsewhere(self):
        (self.here.repository / "lib/linked").unlink()
        os.symlink("globbed", self.here.repository / "lib/linked")
        self.check(["Delta"])

    def test_link_behind_a_link_leads_elsewhere(self):
        repository = self.here.repository
        (repository / "lib/linked").unlink()
        os.symlink("../third/there", repository / "lib/linked")
        (repository / "third").mkdir()
        os.symlink("../lib/real", repository / "third/there")
        shutil.copytree(repository / "lib/real", repository / "lib/other")
        self.commit("a link through a third place")
        self.git("tag", "linked")
        self.assertEqual(self.chosen("--changed-since", "linked"), [])
        (repository / "third/there").unlink()
        os.symlink("../lib/other", repository / "third/there")
        self.check(["Delta"], since="linked")

    def test_glob_in_a_linked_folder_loses_a_file(self):
        self.here.write("teams/delta.yml", "name: Delta\nsoftware:\n  packages:\n    - paths: ../lib/linked/*.yml\n")
        self.here.write("lib/real/other.yml", f"url: {self.here.package_url}/zeta_1.0_amd64.deb\n")
        self.commit("a glob through a link")
        self.git("tag", "linked")
        self.assertEqual(self.chosen("--changed-since", "linked"), [])
        (self.here.repository / "lib/real/other.yml").unlink()
        self.check(["Delta"], since="linked")

    def test_settings_select_all(self):
        self.here.write("tender.yml", "parallel: 3\n")
        self.check(sorted(TEAMS))

    def test_settings_deleted(self):
        (self.here.repository / "tender.yml").unlink()
        self.check(sorted(TEAMS))

    def test_new_team_in_a_new_folder(self):
        self.here.write("fleets/new.yml", "name: New\nsoftware:\n")
        self.check(["New"])

    def test_renamed_package_file(self):
        shutil.move(self.here.repository / "lib/beta.yml", self.here.repository / "lib/better.yml")
        self.here.write("teams/beta.yml", "name: Beta\nsoftware:\n  packages:\n    - path: ../lib/better.yml\n")
        self.check(["Beta"])

    def test_with_team(self):
        self.here.write("lib/scripts/install.sh", "#!/bin/sh\necho 2\n")
        self.assertEqual(self.chosen("--changed-since", "v1", "--team", "Al*"), ["Alpha"])
        self.assertEqual(self.chosen("--changed-since", "v1", "--exclude-team", "Al*"), ["Gamma"])

    def test_folder_below_the_work_tree(self):
        moved = self.here.repository / "part"
        moved.mkdir()
        for name in ("teams", "lib", "tender.yml"):
            shutil.move(self.here.repository / name, moved / name)
        self.assertEqual(self.chosen("--changed-since", "v1", TENDER_DIR=str(moved)), sorted(TEAMS))  # the folder is new as a whole
        self.commit("move")
        self.git("tag", "v2")
        self.here.write("part/lib/query.yml", "- name: q\n  query: SELECT 2;\n")
        self.assertEqual(self.chosen("--changed-since", "v2", TENDER_DIR=str(moved)), ["Beta"])
        self.commit("change")
        self.assertEqual(self.chosen("--changed-since", "v2", "--commit", "HEAD", TENDER_DIR=str(moved)), ["Beta"])
        self.assertEqual(self.chosen("--changed-since", "v1", "--commit", "HEAD", TENDER_DIR=str(moved)), sorted(TEAMS))
        self.assertEqual(self.chosen("--changed-since", "v2", "--subdir", "part"), ["Beta"])

    def test_mistakes_of_others_are_not_told(self):
        self.here.write("lib/beta.yml", "ulr: x\n")
        self.commit("a mistake")
        self.git("tag", "broken")
        self.here.write("teams/alpha.yml", "name: Alpha\nsoftware:\n")
        result = self.here.tender("validate", "--changed-since", "broken")
        self.assert_status(result, DONE)
        self.assertNotIn("ulr", result.stdout)
        self.here.write("lib/query.yml", "- name: q\n  query: SELECT 2;\n")
        result = self.here.tender("validate", "--changed-since", "v1")
        self.assertIn("ulr", result.stdout)

    def test_new_file_takes_an_old_name(self):
        self.here.write("teams/zzz.yml", "name: alpha\n")
        result = self.here.tender("validate", "--changed-since", "v1")
        self.assertIn("two files for one team", result.stdout)

    def test_the_others_are_left_alone(self):
        self.assert_status(self.here.tender("apply"), DONE)
        self.here.write("lib/beta.yml", f"url: {self.here.package_url}/epsilon_1.0_amd64.deb\n")
        self.here.mark()
        result = self.here.tender("apply", "--changed-since", "v1")
        self.assert_status(result, DONE)
        self.assertEqual([team["name"] for team in result.report["teams"]], ["Beta"])
        self.assertIn(sha256_of("epsilon_1.0_amd64.deb"), self.here.digests("Beta").values())
        self.assertEqual(len(self.here.bodies()), 1)
        self.assertIn("1 team of the repository differs from v1", result.stderr)

    def test_no_such_revision(self):
        for arguments, changes in ((("--changed-since", "nowhere"), {}), (("--changed-since", "nowhere", "--commit", "HEAD"), {}),
                                   (("--changed-since", "nowhere", "--repository", str(self.here.repository)), {"TENDER_DIR": None})):
            result = self.here.tender("validate", *arguments, **changes)
            self.assert_status(result, FAILED)
            self.assertIn("no branch, tag or commit \"nowhere\"", result.stderr)
        plain = self.here.root / "plain"
        shutil.copytree(self.here.repository, plain, ignore=shutil.ignore_patterns(".git"), symlinks=True)
        result = self.here.tender("validate", "--changed-since", "v1", TENDER_DIR=str(plain))
        self.assert_status(result, FAILED)
        self.assertIn("is in no Git work tree", result.stderr)

    def test_revisions_of_git(self):
        self.here.write("lib/query.yml", "- name: q\n  query: SELECT 2;\n")
        self.commit("second")
        self.here.write("teams/delta.yml", "name: Delta\nsoftware:\n")
        self.commit("third")
        mirror = ("--repository", str(self.here.repository))
        for since, expected in (("HEAD", []), ("@", []), ("HEAD~1", ["Delta"]), ("HEAD^", ["Delta"]), ("@~", ["Delta"]), ("@^^", ["Beta", "Delta"]),
                                ("main~2", ["Beta", "Delta"]), ("v1^{}", ["Beta", "Delta"]), ("v1^{commit}", ["Beta", "Delta"]),
                                (self.git("rev-parse", "HEAD~1")[:8], ["Delta"]), (self.git("rev-parse", "HEAD") + "~1", ["Delta"])):
            for way in ((), ("--commit", "HEAD")):
                self.assertEqual(self.chosen("--changed-since", since, *way), expected, (since, way))
            self.assertEqual(self.chosen("--changed-since", since, *mirror, TENDER_DIR=None), expected, (since, "the mirror"))
        self.assertEqual(self.chosen("--changed-since", "@{1}"), ["Delta"])
        self.assertEqual(self.chosen("--changed-since", "heads/main~1"), ["Delta"])
        self.assertEqual(self.chosen("--changed-since", "tags/v1"), ["Beta", "Delta"])
        self.git("update-ref", "ORIG_HEAD", "HEAD~1")
        self.assertEqual(self.chosen("--changed-since", "ORIG_HEAD"), ["Delta"])
        self.git("fetch", "-q", ".", "v1")
        self.assertEqual(self.chosen("--changed-since", "FETCH_HEAD"), ["Beta", "Delta"])
        tree = self.here.root / "tree"
        self.git("worktree", "add", "-q", "--detach", str(tree), "HEAD~1")
        self.assertEqual(self.chosen("--changed-since", "HEAD~1", TENDER_DIR=str(tree)), ["Beta"])
        self.git("branch", "feature", "HEAD~1")
        self.git("branch", "--set-upstream-to=feature")
        self.assertEqual(self.chosen("--changed-since", "@{u}"), ["Delta"])
        self.assertEqual(self.chosen("--changed-since", "@{upstream}~1"), ["Beta", "Delta"])

    def test_head_of_a_mirror_is_the_commit_that_is_read(self):
        self.git("checkout", "-q", "-b", "feature")
        self.here.write("lib/query.yml", "- name: q\n  query: SELECT 2;\n")
        self.commit("second")
        self.git("checkout", "-q", "main")
        mirror = ("--repository", str(self.here.repository), "--revision", "feature")
        self.assertEqual(self.chosen("--changed-since", "HEAD", *mirror, TENDER_DIR=None), [])
        self.assertEqual(self.chosen("--changed-since", "HEAD~1", *mirror, TENDER_DIR=None), ["Beta"])
        self.assertEqual(self.chosen("--changed-since", "origin/main", *mirror, TENDER_DIR=None), ["Beta"])

    def test_revisions_that_say_nothing(self):
        for since, text in (("HEAD~9", "does not go back that far"), ("HEAD^2", "no such parent"), ("@{u}", "only for branches that were set up"),
                            ("HEAD..main", "no single revision"), (":/first", "git rev-parse"), ("HEAD:teams", "else than a commit")):
            result = self.here.tender("validate", "--changed-since", since)
            self.assert_status(result, FAILED)
            self.assertIn(text, result.stderr)
            self.assertNotIn("shallow", result.stderr)

    def test_shallow_clone(self):
        self.here.write("lib/query.yml", "- name: q\n  query: SELECT 2;\n")
        self.commit("change")
        first = self.git("rev-parse", "v1")
        clone = self.here.root / "clone"
        self.git("clone", "-q", "--depth", "1", f"file://{self.here.repository}", str(clone))
        for since in (first, "HEAD~1", "main^"):
            result = self.here.tender("validate", "--changed-since", since, TENDER_DIR=str(clone))
            self.assert_status(result, FAILED)
            self.assertIn("a shallow clone holds the newest commits only", result.stderr)
            self.assertIn("git fetch --unshallow", result.stderr)


if __name__ == "__main__":
    if shutil.which("git") is None:
        print("SKIPPED test_selection: git is not installed")
        sys.exit(77)
    unittest.main()
