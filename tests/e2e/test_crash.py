"""G7: killed at any instant, the next run converges; a partial or corrupt file is never used."""

import os
import unittest

import support
from support import DONE, LOCKED, PARTIAL, sha256_of

ALPHA, BETA = "alpha_1.0_amd64.deb", "beta_1.0_amd64.deb"


def pinned(name):
    return {"url": "/" + name, "hash_sha256": sha256_of(name)}


class Crash(support.EndToEnd):
    def test_killed_in_mid_download(self):
        """A28, A33: the partial survives the process; the next run asks for the rest only."""
        world = self.world(script={"packages": {"/" + ALPHA: {"file": ALPHA, "behaviours": [{"do": "stall", "after_bytes": 30000, "ms": 600000}, {"do": "serve"}]}}})
        world.team("Workstations", pinned(ALPHA))
        process = world.spawn("apply", TENDER_STALL_TIME="10m")
        self.wait_for(lambda: any(path.stat().st_size >= 20000 for path in world.partials()))
        support.kill(process)
        self.assertEqual(world.digests("Workstations"), {})
        world.mark()
        self.assert_status(world.tender("apply"), DONE)
        self.assertEqual(world.digests("Workstations"), {"alpha": sha256_of(ALPHA)})
        self.assertLess(world.bodies()[0]["sent_bytes"], 41152, "resumed")
        self.assert_status(self.assert_converged(world), DONE)

    def test_interrupted_in_mid_download(self):
        world = self.world(script={"packages": {"/" + ALPHA: {"file": ALPHA, "behaviours": [{"do": "stall", "after_bytes": 30000, "ms": 600000}, {"do": "serve"}]}}})
        world.team("Workstations", pinned(ALPHA))
        process = world.spawn("apply", TENDER_STALL_TIME="10m")
        self.wait_for(lambda: any(path.stat().st_size >= 20000 for path in world.partials()))
        process.terminate()
        stdout, stderr = process.communicate(timeout=60)  # at once, not when the stall is over
        self.assertEqual(process.returncode, PARTIAL, stdout + stderr)
        world.mark()
        self.assert_status(world.tender("apply"), DONE)
        self.assertLess(world.bodies()[0]["sent_bytes"], 41152, "resumed")

    def test_killed_between_upload_and_commit(self):
        fault = {"method": "POST", "path": "/software/batch", "nth": 1, "do": "delay_ms", "delay_ms": 600000}
        world = self.world(script={"api": [fault]})
        world.team("Workstations", pinned(ALPHA))
        world.team("Servers", pinned(ALPHA))
        process = world.spawn("apply")
        self.wait_for(lambda: [row for row in world.answered("fleet") if row["path"].endswith("/software/package")])
        support.kill(process)
        world.restart()
        for team in ("Workstations", "Servers"):
            world.team(team, pinned(ALPHA))
        result = world.tender("apply")
        self.assert_status(result, DONE)
        for team in ("Workstations", "Servers"):
            self.assertEqual(world.digests(team), {"alpha": sha256_of(ALPHA)})
        self.assert_status(self.assert_converged(world), DONE)

    def shim(self, name):
        library = support.BUILD / "tests/support" / name
        if "san" in support.BUILD.name:
            self.skipTest(f"{name} and the sanitizers' runtime exclude each other")
        self.assertTrue(library.exists(), f"{library} was not built")
        return library

    def reset(self, world):
        world.team("Workstations", pinned(ALPHA), "/" + BETA)
        for title in world.titles("Workstations").values():
            world.fleet("DELETE", f"/software/titles/{title['id']}/available_for_install?team_id={world.team_id('Workstations')}")

    def count_calls(self, world, library, kind):
        """How many writes, syncs, renames and unlinks one whole apply makes in the state folder."""
        state, counted = world.root / "state-counted", world.root / "count"
        self.reset(world)
        self.assert_status(world.tender("apply", TENDER_STATE_DIR=state, LD_PRELOAD=library, **{
            f"TENDER_{kind}_PATH": state, f"TENDER_{kind}_COUNT_FILE": counted}), DONE)
        count = int(counted.read_text())
        self.assertGreater(count, 20)
        return count

    def assert_recovers(self, world, state, number):
        for name, digest in world.digests("Workstations").items():
            self.assertEqual(digest, sha256_of(f"{name}_1.0_amd64.deb"), f"wrong bytes behind call {number}")
        self.assert_status(world.tender("apply", TENDER_STATE_DIR=state), DONE)
        self.assertEqual(world.digests("Workstations"), {"alpha": sha256_of(ALPHA), "beta": sha256_of(BETA)}, f"behind call {number}")
        self.assertEqual([path for path in state.rglob("*.tmp.*")], [], "no temporary file is left behind")

    def test_killed_at_every_write(self):
        """The n-th write, sync, rename or unlink kills the process, for every n; behind each the next run converges."""
        library = self.shim("crash_preload.so")
        world = self.world()
        for number in range(1, self.count_calls(world, library, "CRASH") + 1):
            state = world.root / f"state-{number}"
            self.reset(world)
            process = world.spawn("apply", TENDER_STATE_DIR=state, LD_PRELOAD=library, TENDER_CRASH_PATH=state, TENDER_CRASH_WRITE=number)
            process.communicate(timeout=60)
            self.assertEqual(process.returncode, -9, f"call {number} kills")
            self.assert_recovers(world, state, number)

    def test_disk_full_from_every_write_on(self):
        """From the n-th call on the disk stays full: an explained failure, never wrong bytes, and the next run converges."""
        library = self.shim("fail_write_preload.so")
        world = self.world()
        statuses = set()
        for number in range(1, self.count_calls(world, library, "FAIL") + 1, 2):
            state = world.root / f"state-{number}"
            self.reset(world)
            result = world.tender("apply", TENDER_STATE_DIR=state, LD_PRELOAD=library, TENDER_FAIL_PATH=state, TENDER_FAIL_WRITE=number,
                                  TENDER_FAIL_ALWAYS=1, TENDER_RETRY_ATTEMPTS="2")
            statuses.add(result.status)
            self.assertIn(result.status, (DONE, PARTIAL, support.FAILED), result.stderr)
            if result.status != DONE:
                self.assertRegex(result.stdout + result.stderr, "(?i)no (disk )?space left|disk is full")
            self.assert_recovers(world, state, number)
        self.assertIn(PARTIAL, statuses, "some of them must have failed")

    def test_two_runs_at_once(self):
        """E26: one lock per state folder; the second run says so with status 5."""
        world = self.world(script={"packages": {"/" + ALPHA: {"file": ALPHA, "behaviours": [{"do": "stall", "after_bytes": 100, "ms": 600000}]}}})
        world.team("Workstations", pinned(ALPHA))
        process = world.spawn("apply", TENDER_STALL_TIME="10m")
        self.wait_for(lambda: len(world.partials()) > 0)
        second = world.tender("apply")
        self.assert_status(second, LOCKED)
        self.assertIn("another", second.stderr)
        plan = world.tender("plan")
        self.assert_status(plan, DONE)
        support.kill(process)
        self.assertFalse(os.path.exists(f"/proc/{process.pid}"))


if __name__ == "__main__":
    unittest.main()
