"""The program as a person meets it: help, mistyped flags, statuses, the loop, Git repositories."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import time
import unittest

import support
from support import DONE, FAILED, MANIFESTS, PARTIAL, TENDER, USAGE, sha256_of

ALPHA, BETA = "alpha_1.0_amd64.deb", "beta_1.0_amd64.deb"
EXAMPLE = support.HERE.parent.parent / "manifests-example"


def git(folder, *arguments):
    subprocess.run(["git", "-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "init.defaultBranch=main", *arguments], cwd=folder,
                   check=True, capture_output=True)


class Words(unittest.TestCase):
    def run_tender(self, *arguments, **changes):
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("TENDER_", "FLEET_"))}
        environment.update(changes)
        return subprocess.run([TENDER, *arguments], env=environment, capture_output=True, text=True, timeout=30)

    def test_table_of_command_lines(self):
        rows = [
            ([], USAGE, "Usage: tender"),
            (["--help"], DONE, "Exit status"),
            (["help"], DONE, "plan"),
            (["help", "apply"], DONE, "--retry-initial"),
            (["apply", "--help"], DONE, "FLEET_API_TOKEN"),
            (["version"], DONE, "tender "),
            (["--version"], DONE, "tender "),
            (["aply"], USAGE, "did you mean \"apply\"?"),
            (["help", "aply"], USAGE, "did you mean \"apply\"?"),
            (["apply", "--repositroy", "x"], USAGE, "did you mean --repository?"),
            (["apply", "--repository"], USAGE, "needs a value"),
            (["apply", "now"], USAGE, "one word too many"),
            (["plan", "--interval", "5s"], USAGE, "does not take --interval"),
            (["apply", "--parallel", "many"], USAGE, "--parallel"),
            (["apply", "--parallel", "0"], USAGE, "from 1 to 64"),
            (["apply", "--retry-initial", "soon"], USAGE, "a duration"),
            (["apply", "--dir", "x", "--repository", "y"], USAGE, "exclude each other"),
            (["apply", "--dir", "x", "--revision", "y"], USAGE, "--commit"),
            (["apply"], USAGE, "--repository"),
        ]
        for arguments, status, words in rows:
            with self.subTest(arguments):
                result = self.run_tender(*arguments)
                self.assertEqual(result.returncode, status, result.stdout + result.stderr)
                self.assertIn(words, result.stdout + result.stderr)

    def test_bad_environment_is_named(self):
        result = self.run_tender("apply", TENDER_PARALLEL="many")
        self.assertEqual(result.returncode, FAILED, result.stderr)
        self.assertIn("TENDER_PARALLEL", result.stderr)

    def test_report_that_cannot_be_written_is_told_first(self):
        result = self.run_tender("apply", "--dir", ".", "--report", "/nowhere/at/all/report.json", FLEET_URL="http://127.0.0.1:1", FLEET_API_TOKEN="x")
        self.assertEqual((result.returncode, result.stdout), (FAILED, ""))
        self.assertIn("/nowhere/at/all", result.stderr)

    def test_wrong_use_prints_no_report(self):
        result = self.run_tender("plan")
        self.assertEqual((result.returncode, result.stdout), (USAGE, ""))

    def test_address_with_the_api_path(self):
        result = self.run_tender("plan", "--dir", str(EXAMPLE), FLEET_URL="http://127.0.0.1:1/api/v1/fleet", FLEET_API_TOKEN="x", PACKAGE_HOST="http://127.0.0.1:1")
        self.assertEqual(result.returncode, FAILED)
        self.assertIn("without /api/", result.stdout)

    def test_full_standard_output(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([TENDER, "help"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=30)
        self.assertEqual(result.returncode, FAILED)


class Program(support.EndToEnd):
    def test_validate_and_show_the_example(self):
        world = self.world()
        result = world.tender("validate", TENDER_DIR=EXAMPLE, PACKAGE_HOST=world.package_url)
        self.assert_status(result, DONE)
        shown = world.tender("show", "--format", "json", TENDER_DIR=EXAMPLE, PACKAGE_HOST=world.package_url)
        self.assert_status(shown, DONE)
        teams = json.loads(shown.stdout)["teams"]
        self.assertEqual(len(teams), 4)
        self.assertEqual(world.requests(), [])

    def test_nothing_valid(self):
        world = self.world()
        world.write("teams/a.yml", "name: Workstations\nsoftware:\n  packages:\n    - ulr: x\n")
        for command in ("validate", "apply", "plan"):
            result = world.tender(command)
            self.assert_status(result, MANIFESTS)
            self.assertIn("teams/a.yml:4", result.stdout + result.stderr)
            self.assertIn("url", result.stdout + result.stderr)
        self.assertEqual(world.writes(), [])

    def test_one_teams_bad_reference_leaves_the_others(self):
        world = self.world()
        world.team("Workstations", {"url": "/" + ALPHA, "hash_sha256": sha256_of(ALPHA)})
        (world.repository / "out").symlink_to("/etc")
        world.write("lib/x.yml", "url: https://h.example.com/x.deb\n")
        os.mkfifo(world.repository / "lib/pipe.yml")
        rows = [
            ("- path: ../out/x.yml", "teams/servers.yml:4:13: error: out/x.yml is a symbolic link out of the repository"),
            ("- paths: ../out/*.yml", "teams/servers.yml:4:14: error: out/*.yml: out is a symbolic link out of the repository"),
            ("- paths: ../out/**/x.yml", "teams/servers.yml:4:14: error: out/**/x.yml: out is a symbolic link out of the repository"),
            ("- path: ../lib/pipe.yml", "teams/servers.yml:4:13: error: lib/pipe.yml is something else, not a file"),
            ("- paths: ../lib/**/**/x.yml", "teams/servers.yml:4:14: error: lib/**/**/x.yml: the pattern looks into more than 20000 folders"),
        ]
        for entry, words in rows:
            with self.subTest(entry):
                for number in range(10001 if "20000" in words else 0):
                    (world.repository / f"lib/d{number}").mkdir()
                world.write("teams/servers.yml", f"name: Servers\nsoftware:\n  packages:\n    {entry}\n")
                result = world.tender("plan")
                self.assert_status(result, PARTIAL)
                self.assertIn(words, result.stdout)
                self.assertNotIn("did you mean", result.stdout)
                self.assertEqual(result.outcomes("Workstations"), {ALPHA: "created"})

    def test_teams_folder_is_a_link_that_leads_out(self):
        world = self.world()
        (world.repository / "teams").rmdir()
        for target, words in (("/etc", "teams is a symbolic link out of the repository"), ("../..", "teams leads out of the repository"),
                              ("gone", "teams is a symbolic link to gone")):
            with self.subTest(target):
                (world.repository / "teams").symlink_to(target)
                result = world.tender("validate")
                self.assert_status(result, MANIFESTS)
                self.assertIn(words, result.stdout + result.stderr)
                self.assertNotIn("there is no folder teams/", result.stdout + result.stderr)
                (world.repository / "teams").unlink()

    def test_one_file_by_two_paths_is_one_team(self):
        """While folders are renamed: teams/ and a link to it; the Git backend sees the same."""
        world = self.world()
        for name in "ab":
            world.write(f"teams/{name}.yml", f"name: Team {name}\nsoftware:\n")
        (world.repository / "fleets").symlink_to("teams")
        (world.repository / "teams/c.yml").symlink_to("a.yml")
        git = ["git", "-C", str(world.repository), "-c", "user.name=x", "-c", "user.email=x@example.com"]
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "x"]):
            subprocess.run(git + command, check=True, stdout=subprocess.DEVNULL)
        for source in (["--dir", str(world.repository)], ["--repository", f"file://{world.repository}"]):
            result = world.tender("validate", *source)
            self.assert_status(result, DONE)
            self.assertIn("with 2 teams", result.stdout)

    def test_plan_where_nothing_can_be_saved(self):
        world = self.world()
        world.team("Workstations", {"url": "/" + ALPHA, "hash_sha256": sha256_of(ALPHA)}, {"url": "/" + BETA})
        self.assert_status(world.tender("apply"), DONE)
        file = world.write("file", "not a folder")
        for state in (file / "state", file, "/dev/null"):
            with self.subTest(state):
                result = world.tender("plan", TENDER_STATE_DIR=state)
                self.assert_status(result, DONE)
                self.assertEqual(result.outcomes("Workstations")[ALPHA], "unchanged")

    def test_fetch_then_apply_without_the_vendor(self):
        world = self.world()
        world.team("Workstations", {"url": "/" + ALPHA, "hash_sha256": sha256_of(ALPHA)})
        result = world.tender("fetch", FLEET_URL=None, FLEET_API_TOKEN=None)
        self.assert_status(result, DONE)
        self.assertEqual(world.requests("fleet"), [])
        world.mark()
        self.assert_status(world.tender("apply"), DONE)
        self.assertEqual(world.requests("packages"), [])

    def test_script_as_package(self):
        """The 4.69 server refuses scripts as packages: the item says so, the others go on."""
        world = self.world()
        world.write("lib/hello.sh", "#!/bin/sh\necho hello\n")
        world.write("teams/workstations.yml", f"name: Workstations\nsoftware:\n  packages:\n    - path: ../lib/hello.sh\n    - url: {world.package_url}/{BETA}\n")
        result = world.tender("apply")
        self.assertEqual(world.digests("Workstations"), {"beta": sha256_of(BETA)})
        self.assert_status(result, PARTIAL)
        self.assertEqual(result.item("hello.sh")["outcome"], "failed")

    def make_git(self, world):
        git(world.repository, "init")
        git(world.repository, "add", "-A")
        git(world.repository, "commit", "-m", "one")
        return {"TENDER_DIR": None, "TENDER_REPOSITORY": "file://" + str(world.repository)}

    def test_git_repository(self):
        world = self.world()
        world.team("Workstations", {"url": "/" + ALPHA, "hash_sha256": sha256_of(ALPHA)})
        source = self.make_git(world)
        world.write("teams/servers.yml", "this is not committed: [\n")
        result = world.tender("apply", **source)
        self.assert_status(result, DONE)
        (world.repository / "teams/servers.yml").unlink()
        world.team("Workstations", {"url": "/" + ALPHA, "hash_sha256": sha256_of(ALPHA)}, {"url": "/" + BETA})
        git(world.repository, "commit", "-am", "two")
        self.assert_status(world.tender("apply", **source), DONE)
        self.assertEqual(sorted(world.digests("Workstations")), ["alpha", "beta"])
        first = subprocess.run(["git", "rev-parse", "HEAD~1"], cwd=world.repository, capture_output=True, text=True, check=True).stdout.strip()
        shown = world.tender("show", "--revision", first, "--format", "json", **source)
        self.assertEqual(len(json.loads(shown.stdout)["teams"][0]["packages"]), 1)
        folder = world.tender("show", "--commit", first, "--format", "json")
        self.assertEqual(len(json.loads(folder.stdout)["teams"][0]["packages"]), 1)
        moved = world.repository.rename(world.root / "moved")
        offline = world.tender("apply", **source)
        self.assert_status(offline, PARTIAL)
        self.assertEqual(sorted(world.digests("Workstations")), ["alpha", "beta"], "the last fetched commit is used (H15)")
        pathlib.Path(moved).rename(world.repository)

    def silent_git(self):
        """The URL of a Git server that takes connections and says nothing."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        return f"http://127.0.0.1:{listener.getsockname()[1]}/x.git"

    def test_silent_git_server(self):
        world = self.world()
        limits = [({"TENDER_REPOSITORY_TIMEOUT": "500ms"}, "repository-timeout"), ({"TENDER_DEADLINE": "1s"}, "deadline")]
        for limit, words in limits:
            with self.subTest(words):
                result = world.tender("plan", timeout=60, TENDER_DIR=None, TENDER_REPOSITORY=self.silent_git(), **limit)
                self.assert_status(result, FAILED)
                self.assertIn(words, result.stdout)
        for command, status in (("plan", FAILED), ("run", DONE)):
            with self.subTest(command):
                process = world.spawn(command, TENDER_DIR=None, TENDER_REPOSITORY=self.silent_git(), TENDER_REPOSITORY_TIMEOUT="1h")
                self.addCleanup(lambda process=process: process.poll() is None and process.kill())
                time.sleep(1.5)
                self.assertIsNone(process.poll())
                process.send_signal(signal.SIGTERM)
                process.communicate(timeout=60)
                self.assertEqual(process.returncode, status)

    def test_git_repository_that_never_was(self):
        world = self.world()
        result = world.tender("apply", TENDER_DIR=None, TENDER_REPOSITORY="file:///nowhere/at/all")
        self.assert_status(result, FAILED)
        missing = world.tender("apply", TENDER_DIR="/nowhere/at/all")
        self.assert_status(missing, FAILED)

    def test_loop(self):
        world = self.world()
        world.team("Workstations", {"url": "/" + ALPHA, "hash_sha256": sha256_of(ALPHA)})
        process = world.spawn("run", "--interval", "1h")
        self.addCleanup(lambda: process.poll() is None and process.kill())
        self.wait_for(lambda: "alpha" in world.digests("Workstations"))
        time.sleep(0.5)
        world.team("Workstations", {"url": "/" + ALPHA, "hash_sha256": sha256_of(ALPHA)}, {"url": "/" + BETA})
        process.send_signal(signal.SIGHUP)
        self.wait_for(lambda: "beta" in world.digests("Workstations"))
        process.terminate()
        stdout, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, DONE, stdout + stderr)

    def test_log_lines_are_json(self):
        world = self.world(script={"packages": {"/" + ALPHA: {"file": ALPHA, "behaviours": [{"do": "reset", "after_bytes": 1000}, {"do": "serve"}]}}})
        world.team("Workstations", {"url": "/" + ALPHA, "hash_sha256": sha256_of(ALPHA)})
        result = world.tender("apply", "--log-format", "json")
        rows = [json.loads(line) for line in result.stderr.splitlines()]
        events = {row["event"] for row in rows}
        self.assertIn("attempt", events)
        self.assertIn("wait", events)

    def test_settings_precedence(self):
        """Flag over environment over tender.yml over default."""
        world = self.world(script={"packages": {"/" + ALPHA: {"behaviours": [{"do": "eof"}]}}})
        world.team("Workstations", {"url": "/" + ALPHA, "hash_sha256": sha256_of(ALPHA)})
        world.write("tender.yml", "retry_attempts: 4\n")

        def requests(*arguments, **changes):
            world.mark()
            world.tender("apply", *arguments, **changes)
            return len(world.requests("packages"))

        self.assertEqual(requests(), 4)
        self.assertEqual(requests(TENDER_RETRY_ATTEMPTS="3"), 3)
        self.assertEqual(requests("--retry-attempts", "2", TENDER_RETRY_ATTEMPTS="3"), 2)
        world.write("tender.yml", "retry_atempts: 4\n")
        result = world.tender("apply")
        self.assert_status(result, FAILED)
        self.assertIn("retry_attempts", result.stdout + result.stderr)


if __name__ == "__main__":
    unittest.main()
