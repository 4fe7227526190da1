"""G7: killed at any instant, the next run converges; a partial or corrupt file is never used."""

import os
import time
import unittest

import support
from support import DONE, LOCKED, PARTIAL, sha256_of

ALPHA, BETA = "alpha_1.0_amd64.deb", "beta_1.0_amd64.deb"


def pinned(name):
    return {"url": "/" + name, "hash_sha256": sha256_of(name)}


class Crash(support.EndToEnd):
    def wait_for(self, condition, seconds=20):
        deadline = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), deadline, "it did not come to pass")
            time.sleep(0.02)

    def test_killed_in_mid_download(self):
        """A28, A33: the partial survives the process; the next run asks for the rest only."""
        world = self.world(script={"packages": {"/" + ALPHA: {"file": ALPHA, "behaviours": [{"do": "stall", "after_bytes": 30000, "ms": 60000}, {"do": "serve"}]}}})
        world.team("Workstations", pinned(ALPHA))
        process = world.spawn("apply", TENDER_STALL_TIME="60s")
        self.wait_for(lambda: any(path.stat().st_size >= 20000 for path in world.partials()))
        support.kill(process)
        self.assertEqual(world.digests("Workstations"), {})
        world.mark()
        self.assert_status(world.tender("apply"), DONE)
        self.assertEqual(world.digests("Workstations"), {"alpha": sha256_of(ALPHA)})
        self.assertLess(world.bodies()[0]["sent_bytes"], 41152, "resumed")
        self.assert_status(self.assert_converged(world), DONE)

    def test_interrupted_in_mid_download(self):
        world = self.world(script={"packages": {"/" + ALPHA: {"file": ALPHA, "behaviours": [{"do": "stall", "after_bytes": 30000, "ms": 60000}, {"do": "serve"}]}}})
        world.team("Workstations", pinned(ALPHA))
        process = world.spawn("apply", TENDER_STALL_TIME="60s")
        self.wait_for(lambda: any(path.stat().st_size >= 20000 for path in world.partials()))
        started = time.monotonic()
        process.terminate()
        stdout, stderr = process.communicate(timeout=20)
        self.assertLess(time.monotonic() - started, 10, "downloads stop at once")
        self.assertEqual(process.returncode, PARTIAL, stdout + stderr)
        world.mark()
        self.assert_status(world.tender("apply"), DONE)
        self.assertLess(world.bodies()[0]["sent_bytes"], 41152, "resumed")

    def test_killed_between_upload_and_commit(self):
        fault = {"method": "POST", "path": "/software/batch", "nth": 1, "do": "delay_ms", "delay_ms": 30000}
        world = self.world(script={"api": [fault]})
        world.team("Workstations", pinned(ALPHA))
        world.team("Servers", pinned(ALPHA))
        process = world.spawn("apply")
        self.wait_for(lambda: len(world.writes()) >= 1)
        time.sleep(0.3)
        support.kill(process)
        world.restart()
        for team in ("Workstations", "Servers"):
            world.team(team, pinned(ALPHA))
        result = world.tender("apply")
        self.assert_status(result, DONE)
        for team in ("Workstations", "Servers"):
            self.assertEqual(world.digests(team), {"alpha": sha256_of(ALPHA)})
        self.assert_status(self.assert_converged(world), DONE)

    def crash_points(self, preload, variable, most):
        """Runs apply with the n-th write, sync or rename killed, for every n; behind each the next run must converge."""
        library = support.BUILD / "tests/support" / preload
        if not library.exists():
            self.skipTest(f"{library.name} was not built")
        if "san" in support.BUILD.name:
            self.skipTest("a preloaded shim and the sanitizers' runtime exclude each other")
        world = self.world()
        survived = False
        for number in range(1, most + 1):
            state = world.root / f"state-{number}"
            self.reset(world)
            process = world.spawn("apply", TENDER_STATE_DIR=state, LD_PRELOAD=library, TENDER_FAIL_PATH=state, **{variable: number})
            process.communicate(timeout=60)
            survived = process.returncode == DONE
            result = world.tender("apply", TENDER_STATE_DIR=state)
            self.assert_status(result, DONE)
            self.assertEqual(world.digests("Workstations"), {"alpha": sha256_of(ALPHA), "beta": sha256_of(BETA)}, f"behind call {number}")
            if survived:
                break
        self.assertTrue(survived, "the last number is beyond the last call")

    def reset(self, world):
        world.team("Workstations", pinned(ALPHA), "/" + BETA)
        for title in world.titles("Workstations").values():
            world.fleet("DELETE", f"/software/titles/{title['id']}/available_for_install?team_id={world.team_id('Workstations')}")

    def test_killed_at_every_write(self):
        self.crash_points("crash_preload.so", "TENDER_CRASH_AT", 400)

    def test_disk_full_at_every_write(self):
        library = support.BUILD / "tests/support/fail_write_preload.so"
        if not library.exists() or "san" in support.BUILD.name:
            self.skipTest("no shim in this build")
        world = self.world()
        for number in range(1, 120, 3):
            state = world.root / f"state-{number}"
            self.reset(world)
            result = world.tender("apply", TENDER_STATE_DIR=state, LD_PRELOAD=library, TENDER_FAIL_PATH=state, TENDER_FAIL_WRITE=number,
                                  TENDER_FAIL_ERRNO="ENOSPC", TENDER_RETRY_ATTEMPTS="2")
            self.assertIn(result.status, (DONE, PARTIAL, support.FAILED), result.stderr)
            for name, digest in world.digests("Workstations").items():
                self.assertEqual(digest, sha256_of(f"{name}_1.0_amd64.deb"), "never wrong bytes")
            again = world.tender("apply", TENDER_STATE_DIR=state)
            self.assert_status(again, DONE)
            self.assertEqual(world.digests("Workstations"), {"alpha": sha256_of(ALPHA), "beta": sha256_of(BETA)})

    def test_two_runs_at_once(self):
        """E26: one lock per state folder; the second run says so with status 5."""
        world = self.world(script={"packages": {"/" + ALPHA: {"file": ALPHA, "behaviours": [{"do": "stall", "after_bytes": 100, "ms": 60000}]}}})
        world.team("Workstations", pinned(ALPHA))
        process = world.spawn("apply", TENDER_STALL_TIME="60s")
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
