"""What goes wrong at the Fleet server and on the way to it (field reports D and E): look before a write is repeated; one item's refusal stops no other."""

import unittest

import support
from support import DONE, FAILED, PARTIAL, UNAUTHORISED, sha256_of

ALPHA, BETA, GAMMA = "alpha_1.0_amd64.deb", "beta_1.0_amd64.deb", "gamma_1.0_amd64.deb"
PAGE = "<html><head><title>504 Gateway Time-out</title></head></html>"


def pinned(name):
    return {"url": "/" + name, "hash_sha256": sha256_of(name)}


class ServerFaults(support.EndToEnd):
    def apply_with(self, *faults, teams=None, **changes):
        world = self.world(script={"api": list(faults)})
        for team, entries in (teams or {"Workstations": [pinned(ALPHA), pinned(BETA)]}).items():
            world.team(team, *entries)
        return world, world.tender("apply", **changes)

    def uploads(self, world):
        return [row for row in world.writes() if row.get("multipart") and row["multipart"]["files"]]

    def test_upload_answered_by_504_after_it_worked(self):
        """D5, D11: the title is there; no second upload of it, no failure."""
        world, result = self.apply_with({"method": "POST", "path": "/software/package", "nth": 1, "do": "apply-then-status", "status": 504,
                                         "body": PAGE, "content_type": "text/html"})
        self.assert_status(result, DONE)
        self.assertEqual(world.digests("Workstations"), {"alpha": sha256_of(ALPHA), "beta": sha256_of(BETA)})
        self.assertEqual(len(self.uploads(world)), 2)

    def test_connection_that_dies_behind_an_upload(self):
        for fault in ("apply-then-close", "apply-then-reset", "apply-then-cut"):
            with self.subTest(fault):
                world, result = self.apply_with({"method": "POST", "path": "/software/package", "nth": 1, "do": fault})
                self.assert_status(result, DONE)
                self.assertEqual(len(self.uploads(world)), 2, "a write never goes out twice unseen")

    def test_kept_connection_that_dies_at_a_write(self):
        """curl would send it again by itself on a kept-alive connection; the write must not be on one."""
        world, result = self.apply_with({"method": "POST", "path": "/software/*", "do": "reset", "reused": True})
        self.assert_status(result, DONE)
        self.assertEqual(len(self.uploads(world)), 2)

    def test_upload_that_was_not_applied_is_repeated(self):
        world, result = self.apply_with({"method": "POST", "path": "/software/package", "nth": 1, "do": "close"})
        self.assert_status(result, DONE)
        self.assertEqual(world.digests("Workstations"), {"alpha": sha256_of(ALPHA), "beta": sha256_of(BETA)})

    def test_batch_answered_by_a_page(self):
        """A9: 502 with HTML on the batch; the team is read before anything is sent again."""
        world, result = self.apply_with({"method": "POST", "path": "/software/batch", "nth": 1, "do": "apply-then-status", "status": 502, "body": PAGE,
                                         "content_type": "text/html"},
                                        teams={"Workstations": [pinned(ALPHA)], "Servers": [pinned(ALPHA)]})
        self.assert_status(result, DONE)
        self.assertEqual(world.digests("Servers"), {"alpha": sha256_of(ALPHA)})

    def test_database_deadlock_once(self):
        """E21."""
        fault = {"method": "POST", "path": "/software/batch", "nth": 1, "do": "status", "status": 500,
                 "body": {"message": "Internal Server Error", "errors": [{"name": "base", "reason": "Error 1213: Deadlock found"}]}}
        world, result = self.apply_with(fault, teams={"Workstations": [pinned(ALPHA)], "Servers": [pinned(ALPHA)]})
        self.assert_status(result, DONE)
        self.assertEqual(world.digests("Servers"), {"alpha": sha256_of(ALPHA)})

    def test_too_large_for_the_proxy(self):
        """D4: 413 with a page is for good, for that package only."""
        world, result = self.apply_with({"method": "POST", "path": "/software/package", "nth": 1, "do": "status", "status": 413, "body": PAGE,
                                         "content_type": "text/html"})
        self.assert_status(result, PARTIAL)
        self.assertEqual(len(world.digests("Workstations")), 1)
        self.assertIn("413", result.stdout)

    def test_stored_bytes_are_compared(self):
        """D8."""
        world, result = self.apply_with({"method": "POST", "path": "/software/package", "nth": 1, "do": "corrupt-stored-bytes"})
        self.assert_status(result, PARTIAL)

    def test_refused_package_stops_no_other(self):
        world = self.world()
        world.team("Workstations", {"url": "/corrupt.deb", "hash_sha256": sha256_of("corrupt.deb")}, pinned(ALPHA), pinned(BETA))
        result = world.tender("apply")
        self.assert_status(result, PARTIAL)
        self.assertEqual(sorted(world.digests("Workstations")), ["alpha", "beta"])
        self.assertEqual(result.item("corrupt.deb")["outcome"], "failed")

    def test_refused_category_stops_no_other(self):
        """A batch fails as a whole for one item: the others are then delivered one by one."""
        world = self.world()
        world.team("Workstations", pinned(ALPHA), pinned(BETA))
        world.team("Servers", pinned(ALPHA), {**pinned(BETA), "categories": ["No such category"]})
        result = world.tender("apply")
        self.assertEqual(sorted(world.digests("Servers")), ["alpha", "beta"])
        self.assertEqual(result.outcomes("Workstations"), {ALPHA: "created", BETA: "created"})

    def test_token_that_dies_in_mid_run(self):
        fault = {"method": "POST", "path": "/software/package", "nth": [2, 3, 4, 5], "do": "status", "status": 401,
                 "body": {"message": "Authentication required", "errors": [{"name": "base", "reason": "Authentication required"}]}}
        world, result = self.apply_with(fault, teams={"Workstations": [pinned(ALPHA), pinned(BETA)], "Servers": [pinned(GAMMA)]})
        self.assert_status(result, UNAUTHORISED)
        self.assert_no_secret(result)

    def test_bad_token(self):
        world = self.world()
        world.team("Workstations", pinned(ALPHA))
        result = world.tender("apply", FLEET_API_TOKEN="wrong-and-secret")
        self.assert_status(result, UNAUTHORISED)
        self.assertEqual(world.writes(), [])
        self.assert_no_secret(result, "wrong-and-secret")

    def test_gitops_role_of_an_older_server(self):
        """E27: the missing right is named."""
        world = self.world()
        world.team("Workstations", pinned(ALPHA))
        result = world.tender("plan", FLEET_API_TOKEN="gitops-token")
        self.assert_status(result, UNAUTHORISED)
        self.assertIn("maintainer", result.stdout + result.stderr)

    def test_no_server(self):
        world = self.world()
        world.team("Workstations", pinned(ALPHA))
        world.stop()
        result = world.tender("apply", TENDER_RETRY_ATTEMPTS="2")
        self.assert_status(result, FAILED)
        self.assertIn("127.0.0.1", result.stdout + result.stderr)

    def test_no_token_and_no_url(self):
        world = self.world()
        world.team("Workstations", pinned(ALPHA))
        for missing in ("FLEET_API_TOKEN", "FLEET_URL"):
            result = world.tender("apply", **{missing: None})
            self.assert_status(result, FAILED)
            self.assertIn(missing, result.stdout + result.stderr)

    def test_reads_that_fail_concern_their_own_only(self):
        """G1: the labels stop what names one; the set-up experience of one team withholds that team's removals."""
        world = self.world()
        world.team("Workstations", pinned(ALPHA), pinned(BETA))
        world.team("Servers", pinned(ALPHA), pinned(BETA))
        self.assert_status(world.tender("apply"), DONE)
        page = {"do": "status", "status": 502, "body": PAGE, "content_type": "text/html"}
        world.restart({"api": [{"method": "GET", "path": "/labels*", **page}, {"method": "GET", "path": "/labels/summary", **page}]})
        world.team("Workstations", {**pinned(ALPHA), "labels_include_any": ["Debian boxes"]}, {**pinned(BETA), "self_service": True})
        world.team("Servers", {**pinned(ALPHA), "self_service": True}, pinned(BETA))
        result = world.tender("apply", TENDER_RETRY_ATTEMPTS="1")
        self.assert_status(result, PARTIAL)
        self.assertEqual(result.outcomes("Workstations"), {ALPHA: "waiting", BETA: "updated"})
        self.assertEqual(result.outcomes("Servers"), {ALPHA: "updated", BETA: "unchanged"})
        for fault in (page, {"do": "status", "status": 403, "body": {"message": "Forbidden", "errors": [{"name": "base", "reason": "forbidden"}]}}):
            world.restart({"api": [{"method": "GET", "path": "/setup_experience/software", "nth": 1, **fault}]})
            world.team("Workstations", pinned(ALPHA))
            world.team("Servers", pinned(ALPHA))
            result = world.tender("apply", "--prune", TENDER_RETRY_ATTEMPTS="1")
            self.assert_status(result, PARTIAL)
            self.assertEqual(len([team for team in ("Workstations", "Servers") if "beta" in world.titles(team)]), 1, result.stdout)
            world.restart()
            for team in ("Workstations", "Servers"):
                world.team(team, pinned(ALPHA), pinned(BETA))
            self.assert_status(world.tender("apply"), DONE)

    def test_batch_that_stays_at_processing(self):
        """R12: the id says processing for ever; the team itself tells."""
        world, result = self.apply_with({"method": "POST", "path": "/software/batch", "nth": 1, "do": "apply-then-stuck"},
                                        teams={"Workstations": [pinned(ALPHA)], "Servers": [pinned(ALPHA)]}, timeout=200)
        self.assert_status(result, DONE)


if __name__ == "__main__":
    unittest.main()
