"""The design's guarantees G1 to G6 and G9, each by what the servers received."""

import json
import unittest
import urllib.request

import support
from support import CHANGES, DONE, PARTIAL, sha256_of

ALPHA, ALPHA_NEW, BETA, GAMMA = "alpha_1.0_amd64.deb", "alpha_1.1_amd64.deb", "beta_1.0_amd64.deb", "gamma_1.0_amd64.deb"
GONE = {"packages": {"/gone.deb": {"behaviours": [{"do": "not-found"}]}}}


def pinned(name):
    return {"url": "/" + name, "hash_sha256": sha256_of(name)}


class Guarantees(support.EndToEnd):
    def test_g1_one_failing_team_between_two_good_ones(self):
        world = self.world(script=GONE)
        world.team("Workstations", pinned(ALPHA))
        world.team("Servers", {"url": "/gone.deb", "hash_sha256": "1" * 64})
        world.team("Kiosks", pinned(BETA))
        result = world.tender("apply")
        self.assert_status(result, PARTIAL)
        self.assertEqual(world.digests("Workstations"), {"alpha": sha256_of(ALPHA)})
        self.assertEqual(world.digests("Kiosks"), {"beta": sha256_of(BETA)})
        self.assertEqual(world.digests("Servers"), {})

    def test_g1_broken_yaml_blocks_its_own_team_only(self):
        world = self.world()
        world.team("Workstations", pinned(ALPHA))
        world.write("teams/servers.yml", "name: Servers\nsoftware:\n  packages:\n    - url: [\n")
        result = world.tender("apply")
        self.assert_status(result, PARTIAL)
        self.assertEqual(world.digests("Workstations"), {"alpha": sha256_of(ALPHA)})
        self.assertIn("teams/servers.yml:", result.stdout + result.stderr)

    def test_g2_failed_package_keeps_what_fleet_has(self):
        world = self.world()
        world.team("Workstations", "/" + ALPHA, pinned(BETA))
        self.assert_status(world.tender("apply"), DONE)
        world.restart({"packages": {"/" + ALPHA: {"behaviours": [{"do": "forbidden"}]}}})
        world.team("Workstations", "/" + ALPHA, {**pinned(BETA), "self_service": True}, pinned(GAMMA))
        result = world.tender("apply")
        self.assert_status(result, PARTIAL)
        titles = world.titles("Workstations")
        self.assertEqual(titles["alpha"]["software_package"]["hash_sha256"], sha256_of(ALPHA), "last good")
        self.assertTrue(titles["beta"]["software_package"]["self_service"])
        self.assertIn("gamma", titles)

    def test_g2_failing_item_in_a_team_with_undeclared_software(self):
        world = self.world()
        world.team("Workstations", pinned(ALPHA), pinned(BETA))
        self.assert_status(world.tender("apply"), DONE)
        world.restart(GONE)
        world.team("Workstations", {**pinned(ALPHA), "self_service": True}, {"url": "/gone.deb", "hash_sha256": "1" * 64})
        for flags in ([], ["--prune", "--allow-empty"]):
            result = world.tender("apply", *flags)
            self.assert_status(result, PARTIAL)
            titles = world.titles("Workstations")
            self.assertEqual(sorted(titles), ["alpha", "beta"], "undeclared software stays (G3)")
            self.assertTrue(titles["alpha"]["software_package"]["self_service"])

    def test_g3_prune_removes_only_when_asked(self):
        world = self.world()
        world.team("Workstations", pinned(ALPHA), pinned(BETA))
        self.assert_status(world.tender("apply"), DONE)
        world.team("Workstations", pinned(ALPHA))
        kept = world.tender("apply")
        self.assert_status(kept, DONE)
        self.assertEqual(sorted(world.titles("Workstations")), ["alpha", "beta"])
        self.assertIn("beta", kept.stdout)
        planned = world.tender("plan", "--prune")
        self.assertIn("beta", planned.stdout)
        self.assertEqual(sorted(world.titles("Workstations")), ["alpha", "beta"])
        self.assert_status(world.tender("apply", "--prune"), DONE)
        self.assertEqual(sorted(world.titles("Workstations")), ["alpha"])

    def test_g3_no_team_is_emptied_without_allow_empty(self):
        world = self.world()
        world.team("Workstations", pinned(ALPHA))
        self.assert_status(world.tender("apply"), DONE)
        world.write("teams/workstations.yml", "name: Workstations\nsoftware:\n  packages:\n")
        self.assert_status(world.tender("apply", "--prune"), PARTIAL)
        self.assertEqual(sorted(world.titles("Workstations")), ["alpha"])
        self.assert_status(world.tender("apply", "--prune", "--allow-empty"), DONE)
        self.assertEqual(world.titles("Workstations"), {})

    def test_g3_absent_software_is_not_managed(self):
        world = self.world()
        world.team("Workstations", pinned(ALPHA))
        self.assert_status(world.tender("apply"), DONE)
        world.write("teams/workstations.yml", "name: Workstations\npolicies:\n")
        self.assert_status(world.tender("apply", "--prune", "--allow-empty"), DONE)
        self.assertEqual(sorted(world.titles("Workstations")), ["alpha"])

    def test_g3_invalid_file_never_leads_to_a_removal(self):
        world = self.world()
        world.team("Workstations", pinned(ALPHA), pinned(BETA))
        self.assert_status(world.tender("apply"), DONE)
        world.team("Workstations", pinned(ALPHA), {"url": "/x.deb", "self-service": True})
        world.tender("apply", "--prune", "--allow-empty")
        self.assertEqual(sorted(world.titles("Workstations")), ["alpha", "beta"])

    def test_g3_a_renamed_folder_never_leads_to_a_removal(self):
        """A pattern that suddenly matches nothing is not a wish to remove."""
        world = self.world()
        package = f"url: {world.package_url}/{BETA}\nhash_sha256: {support.sha256_of(BETA)}\n"
        world.write("lib/x/beta.yml", package)
        world.team("Workstations", pinned(ALPHA), {"paths": "../lib/x/*.yml"})
        self.assert_status(world.tender("apply"), DONE)
        world.team("Workstations", pinned(ALPHA), {"paths": "../lib/y/*.yml"})
        result = world.tender("apply", "--prune", "--allow-empty")
        self.assert_status(result, PARTIAL)
        self.assertIn("no file matches lib/y/*.yml (teams/workstations.yml:", result.stdout)
        self.assertEqual(sorted(world.titles("Workstations")), ["alpha", "beta"])
        world.team("Workstations", pinned(ALPHA))
        self.assert_status(world.tender("apply", "--prune"), DONE)
        self.assertEqual(sorted(world.titles("Workstations")), ["alpha"])

    def test_g3_a_row_that_is_not_understood_is_never_lost(self):
        """A list's row without a package and without an app: it may be software all the same."""
        world = self.world()
        world.team("Workstations", pinned(ALPHA), pinned(BETA))
        self.assert_status(world.tender("apply"), DONE)
        number = world.team_id("Workstations")
        answer = world.fleet("GET", f"/software/titles?team_id={number}&available_for_install=true")
        for missing in (None, "absent"):
            for row in answer["software_titles"]:
                if row["name"] == "beta":
                    row["software_package"] = None
                    if missing == "absent":
                        del row["software_package"]
            world.restart({"api": [{"method": "GET", "path": "/software/titles", "do": "status", "status": 200, "body": answer}]})
            world.team("Workstations", {**pinned(ALPHA), "self_service": missing is None}, pinned(GAMMA))
            world.tender("apply")
            world.tender("apply", "--prune", "--allow-empty")
            world.restart()
            self.assertIn("beta", world.titles("Workstations"))
            for row in answer["software_titles"]:
                row.setdefault("software_package", None)

    def test_g5_second_run_is_quiet(self):
        world = self.world()
        world.write("lib/install.sh", "#!/bin/sh\necho $HOME\r\n")
        world.team("Workstations", {**pinned(ALPHA), "self_service": True, "labels_include_any": ["Debian boxes"], "categories": ["Browsers"],
                                    "install_script": {"path": "../lib/install.sh"}}, "/" + BETA)
        world.team("Servers", pinned(ALPHA), "/" + GAMMA)
        self.assert_status(world.tender("apply"), DONE)
        self.assert_status(self.assert_converged(world), DONE)
        self.assert_status(self.assert_converged(world, "--full"), DONE)
        changes = world.tender("plan", "--detailed-exitcode")
        self.assert_status(changes, DONE)

    def test_g5_lost_state_costs_work_only(self):
        world = self.world()
        world.team("Workstations", pinned(ALPHA), pinned(BETA))
        self.assert_status(world.tender("apply"), DONE)
        self.assert_status(self.assert_converged(world, TENDER_STATE_DIR=str(world.root / "other-state")), DONE)
        for path in world.state.glob("state.db*"):
            path.write_bytes(b"this is no database" * 100)
        self.assert_status(self.assert_converged(world), DONE)

    def test_g6_plan_writes_and_downloads_nothing(self):
        world = self.world()
        world.team("Workstations", pinned(ALPHA), "/" + BETA)
        world.team("Servers", pinned(GAMMA))
        result = world.tender("plan", "--detailed-exitcode")
        self.assert_status(result, CHANGES)
        self.assertEqual(world.writes(), [])
        self.assertEqual(world.bodies(), [])
        self.assertEqual(world.titles("Workstations"), {})
        self.assertIn("create", result.stdout)
        self.assert_status(world.tender("plan"), DONE)

    def test_g6_plan_tells_what_a_changed_url_means_without_its_body(self):
        world = self.world()
        world.team("Workstations", "/" + ALPHA)
        self.assert_status(world.tender("apply"), DONE)
        world.mark()
        self.assertIn("unchanged", world.tender("plan").stdout)
        (world.packages / ALPHA).write_bytes((world.packages / ALPHA_NEW).read_bytes())
        world.restart()
        world.team("Workstations", "/" + ALPHA)
        world.mark()
        self.assert_status(world.tender("plan"), DONE)
        for row in world.requests("packages"):
            self.assertLessEqual(row["sent_bytes"], 65536)

    def test_g9_every_item_has_one_outcome(self):
        world = self.world(script=GONE)
        world.team("Workstations", pinned(ALPHA), {"url": "/gone.deb", "hash_sha256": "1" * 64}, pinned(BETA))
        result = world.tender("apply")
        items = list(result.items("Workstations"))
        self.assertEqual(len(items), 3)
        for item in items:
            self.assertEqual(item["place"]["file"], "teams/workstations.yml")
            self.assertGreater(item["place"]["line"], 0)
        failed = result.item("gone.deb")
        self.assertEqual(failed["outcome"], "failed")
        self.assertGreaterEqual(len(failed["fetch"]["attempts"]), 1)

    def test_new_version_replaces_the_old_one_in_all_teams(self):
        """D6: 409 means that the title is there, not that the bytes are."""
        world = self.world()
        for team in ("Workstations", "Servers"):
            world.team(team, pinned(ALPHA), pinned(BETA))
        self.assert_status(world.tender("apply"), DONE)
        for team in ("Workstations", "Servers"):
            world.team(team, pinned(ALPHA_NEW), pinned(BETA))
        world.mark()
        result = world.tender("apply")
        self.assert_status(result, DONE)
        for team in ("Workstations", "Servers"):
            self.assertEqual(result.outcomes(team), {ALPHA_NEW: "updated", BETA: "unchanged"})
        self.assertEqual(world.digests("Workstations"), {"alpha": sha256_of(ALPHA_NEW), "beta": sha256_of(BETA)})
        self.assertEqual(world.digests("Servers"), {"alpha": sha256_of(ALPHA_NEW), "beta": sha256_of(BETA)})
        uploads = [row for row in world.writes() if row.get("multipart") and row["multipart"]["files"]]
        self.assertEqual(len(uploads), 1)
        self.assert_status(self.assert_converged(world), DONE)

    def test_title_that_was_uploaded_by_hand_is_taken_over(self):
        world = self.world()
        world.team("Workstations", pinned(ALPHA))
        self.assert_status(world.tender("apply"), DONE)
        world.state.rename(world.root / "old-state")
        world.team("Workstations", pinned(ALPHA_NEW))
        self.assert_status(world.tender("apply"), DONE)
        self.assertEqual(world.digests("Workstations"), {"alpha": sha256_of(ALPHA_NEW)})
        self.assert_status(self.assert_converged(world), DONE)

    def test_missing_team_waits(self):
        world = self.world(teams=("Workstations",))
        world.team("Workstation", pinned(ALPHA))
        result = world.tender("apply")
        self.assert_status(result, PARTIAL)
        self.assertEqual(world.writes(), [])
        self.assertIn("Workstations", result.stdout, "the nearest known name")
        admin = {"FLEET_API_TOKEN": "admin-token"}
        self.assert_status(world.tender("apply", "--create-teams", **admin), DONE)
        self.assertEqual(world.digests("Workstation"), {"alpha": sha256_of(ALPHA)})

    def test_missing_label_waits(self):
        world = self.world()
        world.team("Workstations", {**pinned(ALPHA), "labels_include_any": ["Debian box"]}, pinned(BETA))
        result = world.tender("apply")
        self.assert_status(result, PARTIAL)
        self.assertEqual(world.digests("Workstations"), {"beta": sha256_of(BETA)})
        self.assertIn("Debian boxes", result.stdout)

    def test_no_team_files_is_nothing_to_do(self):
        """F16."""
        world = self.world()
        (world.repository / "teams").rmdir()
        self.assert_status(world.tender("apply"), DONE)
        self.assertEqual(world.writes(), [])

    def test_software_that_a_policy_uses_is_never_removed(self):
        """E6."""
        world = self.world()
        world.team("Workstations", pinned(ALPHA), pinned(BETA))
        self.assert_status(world.tender("apply"), DONE)
        self.add_policy(world, "beta")
        world.team("Workstations", pinned(ALPHA))
        result = world.tender("apply", "--prune")
        self.assert_status(result, PARTIAL)
        self.assertEqual(sorted(world.titles("Workstations")), ["alpha", "beta"])

    def add_policy(self, world, title):
        body = json.dumps({"team": "Workstations", "title": title, "name": f"{title} is installed"}).encode()
        request = urllib.request.Request(world.fleet_url + "/fleetsim/policies", method="POST", data=body,
                                         headers={"Authorization": "Bearer admin-token"})
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request).read()


if __name__ == "__main__":
    unittest.main()
