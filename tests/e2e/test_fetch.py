"""`tender fetch`: the packages of all teams into the cache, without Fleet. What it learns is kept; what nobody names is pruned."""

import fcntl
import json
import os
import sqlite3
import time
import unittest

import support
from support import DONE, PARTIAL, sha256_of

ALPHA, BETA, GAMMA = (f"{name}_1.0_amd64.deb" for name in ("alpha", "beta", "gamma"))
SIZE = 41152


class Fetch(support.EndToEnd):
    def prepared(self, *names, **arguments):
        world = self.world(**arguments)
        world.team("Workstations", *(f"/{name}" for name in names))
        return world

    def fetch(self, world, *arguments, **changes):
        world.mark()
        result = world.tender("fetch", *arguments, FLEET_URL=None, FLEET_API_TOKEN=None, **changes)
        self.assertEqual(world.requests("fleet"), [])
        return result

    def cached(self, world, cache=None):
        return sorted(path.name for path in (cache or world.state / "cache").glob("sha256/*/*") if len(path.name) == 64)

    def test_a_second_fetch_reads_no_body(self):
        """B2, G5: the validators of unpinned URLs are remembered by `fetch` too; a 304 says that the cache has it."""
        world = self.prepared(ALPHA, BETA)
        self.assert_status(self.fetch(world), DONE)
        self.assertEqual(len(world.bodies()), 2)
        result = self.fetch(world)
        self.assert_status(result, DONE)
        asked = world.requests("packages")
        self.assertEqual([row["status"] for row in asked], [304, 304])
        for row in asked:
            self.assertIn("if-none-match", {key.lower() for key in row["headers"]})
        self.assertEqual([item["outcome"] for item in result.items()], ["fetched", "fetched"])

    def test_the_apply_behind_it_reads_no_body(self):
        """B6: what `fetch` brought and learned serves the apply of the same state folder."""
        world = self.prepared(ALPHA)
        self.assert_status(self.fetch(world), DONE)
        world.mark()
        self.assert_status(world.tender("apply"), DONE)
        self.assertEqual(world.bodies(), [])
        self.assertEqual(world.digests("Workstations"), {"alpha": sha256_of(ALPHA)})

    def test_a_304_counts_only_with_the_bytes(self):
        """B2: without the cached bytes nothing is asked conditionally."""
        world = self.prepared(ALPHA)
        self.fetch(world)
        for path in (world.state / "cache" / "sha256").rglob(sha256_of(ALPHA) + "*"):
            path.unlink()
        self.assert_status(self.fetch(world), DONE)
        self.assertEqual([row["status"] for row in world.requests("packages")], [200])

    def test_other_bytes_under_the_url(self):
        """B14: a new ETag brings the new bytes, and they are remembered in turn."""
        world = self.prepared(ALPHA)
        self.fetch(world)
        os.replace(world.packages / BETA, world.packages / ALPHA)
        self.assert_status(self.fetch(world), DONE)
        self.assertEqual([row["status"] for row in world.requests("packages")], [200])
        self.fetch(world)
        self.assertEqual([row["status"] for row in world.requests("packages")], [304])
        self.assertIn(sha256_of(BETA), self.cached(world))

    def test_beside_a_run_that_writes(self):
        """A database that another process has locked costs the memory, not the packages, and no long wait."""
        world = self.prepared(ALPHA, BETA, GAMMA)
        self.fetch(world)
        with sqlite3.connect(world.state / "state.db", isolation_level=None) as other:
            other.execute("DELETE FROM validators")
            other.execute("BEGIN IMMEDIATE")
            result = self.fetch(world)
            other.execute("ROLLBACK")
        other.close()
        self.assert_status(result, DONE)
        self.assertEqual(result.stderr.count("could not be saved"), 1, "one wait, not one for each package")

    def test_the_cache_is_pruned(self):
        """G8: --max-cache-size holds for `fetch`: what no manifest names goes, oldest first."""
        world = self.prepared(ALPHA, BETA)
        self.fetch(world)
        for age, name in ((300, ALPHA), (200, BETA)):
            entry = next((world.state / "cache").glob(f"sha256/*/{sha256_of(name)}"))
            os.utime(entry, (time.time() - age, time.time() - age))
        world.team("Workstations", "/" + GAMMA)
        result = self.fetch(world, "--max-cache-size", str(2 * SIZE + 100))
        self.assert_status(result, DONE)
        self.assertEqual(self.cached(world), sorted((sha256_of(BETA), sha256_of(GAMMA))))

    def test_what_manifests_name_is_never_pruned(self):
        """G8: a cache that is too small for what is named keeps it all the same; nor goes what a URL held last whose host is down."""
        world = self.prepared(ALPHA, BETA, script={"packages": {"/" + ALPHA: {"file": ALPHA, "behaviours": [{"do": "serve"}, {"do": "not-found"}]}}})
        self.fetch(world)
        result = self.fetch(world, "--max-cache-size", "1000")
        self.assert_status(result, PARTIAL)
        self.assertEqual(self.cached(world), sorted((sha256_of(ALPHA), sha256_of(BETA))))

    def test_packages_of_another_process_stay(self):
        """D2: two state folders, one cache: a pruning leaves what the other process may have in hand."""
        world = self.prepared(ALPHA)
        cache = world.root / "cache"
        self.fetch(world, TENDER_CACHE_DIR=cache)
        world.team("Workstations", "/" + BETA)
        limit = ("--max-cache-size", str(SIZE + 100))
        with (cache / "lock").open("r+") as other:
            fcntl.flock(other, fcntl.LOCK_SH)  # as a run does from its first download to its last upload
            result = self.fetch(world, *limit, TENDER_CACHE_DIR=cache, TENDER_STATE_DIR=world.root / "state-2")
        self.assert_status(result, DONE)
        self.assertIn("another process works with the cache", result.stderr)
        self.assertEqual(self.cached(world, cache), sorted((sha256_of(ALPHA), sha256_of(BETA))))
        self.fetch(world, *limit, TENDER_CACHE_DIR=cache)
        self.assertEqual(self.cached(world, cache), [sha256_of(BETA)])

    def test_a_full_volume(self):
        """D2: where a package does not fit, what no manifest names goes; what one names stays, and the advice says so."""
        huge = {"file": GAMMA, "behaviours": [{"do": "huge-announce", "length": 1 << 52}]}
        world = self.prepared(ALPHA, BETA, script={"packages": {"/huge.deb": huge}})
        self.fetch(world)
        world.team("Workstations", "/" + ALPHA, "/huge.deb")
        result = self.fetch(world, "--max-package-size", "8000000GiB")
        self.assert_status(result, PARTIAL)
        self.assertEqual(self.cached(world), [sha256_of(ALPHA)])
        item = result.item("huge.deb")
        self.assertIn("no disk space: 4096.0 TiB needed", item["what"])
        self.assertIn("what manifests name is never removed", json.dumps(item))


if __name__ == "__main__":
    unittest.main()
