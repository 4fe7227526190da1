"""One bad network after the other: what a package host does wrong, and what becomes of the package.

Each row names the row of the field reports or the section of RFC 9110 that it stands for."""

import time
import unittest

import support
from support import DONE, PARTIAL, sha256_of

ALPHA = "alpha_1.0_amd64.deb"
SIZE = 41152
SERVE = {"do": "serve"}
WRONG = "0" * 64

# (name, stands for, behaviours of /alpha_1.0_amd64.deb in order, is pinned, arrives, requests (None: any), words in the report where it fails)
ROWS = [
    ("reset before the answer", "A1", [{"do": "reset", "before_headers": True}, SERVE], True, True, 2, ()),
    ("reset in mid-body", "A1", [{"do": "reset", "after_bytes": 20000}, SERVE], True, True, 2, ()),
    ("reset in mid-body, unpinned", "A13", [{"do": "reset", "after_bytes": 20000}, SERVE], False, True, 2, ()),
    ("two resets", "A2", [{"do": "reset", "after_bytes": 100, "times": 2}, SERVE], True, True, 3, ()),
    ("closed without a byte", "A3", [{"do": "eof"}, SERVE], True, True, 2, ()),
    ("always closed without a byte", "A3", [{"do": "eof"}], True, False, None, (ALPHA, "127.0.0.1")),
    ("short body", "A15", [{"do": "close", "after_bytes": 40}, SERVE], True, True, 2, ()),
    ("Range answered with 200", "A18", [{"do": "reset", "after_bytes": 20000}, {"do": "ignore-range"}], True, True, None, ()),
    ("range that begins elsewhere", "A20", [{"do": "reset", "after_bytes": 20000}, {"do": "wrong-range"}, SERVE], True, True, None, ()),
    ("416 to the resume", "A16", [{"do": "reset", "after_bytes": 20000}, {"do": "416"}, SERVE], True, True, None, ()),
    ("429 with seconds", "A8", [{"do": "retry-after", "status": 429, "retry_after": "1"}, SERVE], True, True, 2, ()),
    ("503 with seconds", "A8", [{"do": "retry-after", "status": 503, "retry_after": "1"}, SERVE], True, True, 2, ()),
    ("503 with a date", "A8", [{"do": "retry-after", "status": 503, "retry_after": "date+2"}, SERVE], True, True, 2, ()),
    ("asked to wait too long", "A8", [{"do": "retry-after", "status": 429, "retry_after": "86400"}], True, False, 1, ("429",)),
    ("503 once", "A46", [{"do": "status", "status": 503}, SERVE], True, True, 2, ()),
    ("404 for good", "A32", [{"do": "not-found"}], True, False, 1, ("404", "correct the url")),
    ("403 for good", "A4", [{"do": "forbidden"}], True, False, 1, ("403", "credentials")),
    ("410", "A46", [{"do": "gone"}], True, False, 1, ("410", "backup_urls")),
    ("other bytes under the URL", "B20", [{"do": "wrong-bytes"}], True, False, 1, (sha256_of(ALPHA)[:12], "upstream changed", "vendor")),
    ("a page instead of the package", "A37", [{"do": "html"}], False, False, None, ("HTML",)),
    ("nothing instead of the package", "A36", [{"do": "empty"}], False, False, None, ("empty",)),
    ("redirect to itself", "A35", [{"do": "redirect", "location": "/" + ALPHA}], True, False, None, ("redirect",)),
    ("no validators", "B17", [{"do": "no-validators"}], False, True, 1, ()),
    ("chunked", "RFC 9112 7.1", [{"do": "chunked"}], False, True, 1, ()),
    ("stall", "A6", [{"do": "stall", "after_bytes": 1000, "ms": 20000}, SERVE], True, True, None, ()),
    ("shorter than announced", "A15", [{"do": "huge-announce", "length": 50000}, SERVE], False, True, None, ()),
]


class Downloads(support.EndToEnd):
    def run_row(self, name, behaviours, is_pinned, arrives, requests, words):
        world = self.world(script={"packages": {"/" + ALPHA: {"file": ALPHA, "behaviours": behaviours}}})
        entry = {"url": "/" + ALPHA}
        if is_pinned:
            entry["hash_sha256"] = sha256_of(ALPHA)
        world.team("Workstations", entry, {"url": "/beta_1.0_amd64.deb", "hash_sha256": sha256_of("beta_1.0_amd64.deb")})
        result = world.tender("apply", TENDER_STALL_TIME="1s", TENDER_RETRY_ATTEMPTS="3")
        self.assert_status(result, DONE if arrives else PARTIAL)
        digests = world.digests("Workstations")
        self.assertEqual(digests.get("beta"), sha256_of("beta_1.0_amd64.deb"), "the other package is not stopped (G1)")
        self.assertEqual(digests.get("alpha"), sha256_of(ALPHA) if arrives else None)
        seen = [row for row in world.requests("packages") if row["path"] == "/" + ALPHA]
        if requests is not None:
            self.assertEqual(len(seen), requests, result.stderr)
        self.assertLessEqual(len(seen), 12, "no more than a few requests")
        item = result.item(ALPHA)
        self.assertEqual(item["outcome"], "created" if arrives else "failed", item)
        for word in words:
            self.assertIn(word.lower(), str(item).lower())
            self.assertIn(word.lower(), (result.stdout + result.stderr).lower())
        self.assert_no_secret(result)
        if arrives:
            self.assertEqual(world.partials(), [], "no partial is left behind")
        return world, seen

    def test_resume_asks_for_the_rest_only(self):
        world, seen = self.run_row("resume", [{"do": "reset", "after_bytes": 20000}, SERVE], False, True, 2, ())
        second = seen[1]
        headers = {key.lower(): value for key, value in second["headers"].items()}
        self.assertTrue(headers.get("range", "").startswith("bytes="), headers)
        start = int(headers["range"][6:].split("-")[0])
        self.assertGreater(start, 0)
        self.assertIn("if-range", headers, "unpinned: only this very representation is continued (RFC 9110 13.1.5)")
        self.assertEqual(second["sent_bytes"], SIZE - start)

    def test_retry_after_is_never_asked_earlier(self):
        world = self.world(script={"packages": {"/" + ALPHA: {"file": ALPHA, "behaviours": [{"do": "retry-after", "retry_after": "2"}, SERVE]}}})
        world.team("Workstations", {"url": "/" + ALPHA, "hash_sha256": sha256_of(ALPHA)})
        started = time.monotonic()
        result = world.tender("apply")
        self.assert_status(result, DONE)
        self.assertGreaterEqual(time.monotonic() - started, 2)

    def test_dead_primary_with_a_living_backup(self):
        """C: rotation before waiting; a 404 is no reason to wait."""
        world = self.world(script={"packages": {"/dead.deb": {"behaviours": [{"do": "not-found"}]}}})
        world.team("Workstations", {"url": "/dead.deb", "backup_urls": [world.package_url + "/" + ALPHA], "hash_sha256": sha256_of(ALPHA)})
        result = world.tender("apply", TENDER_RETRY_INITIAL="60s", timeout=30)
        self.assert_status(result, DONE)
        self.assertEqual(world.digests("Workstations"), {"alpha": sha256_of(ALPHA)})

    def test_digest_mismatch_is_blamed_on_the_source_and_the_backup_is_tried(self):
        """A30: bad data is never an input to the next attempt."""
        world = self.world(script={"packages": {"/bad.deb": {"file": ALPHA, "behaviours": [{"do": "wrong-bytes"}]}}})
        world.team("Workstations", {"url": "/bad.deb", "backup_urls": [world.package_url + "/" + ALPHA], "hash_sha256": sha256_of(ALPHA)})
        result = world.tender("apply")
        self.assert_status(result, DONE)
        self.assertEqual(world.digests("Workstations"), {"alpha": sha256_of(ALPHA)})

    def test_one_download_for_all_teams(self):
        """B3."""
        world = self.world()
        for team in ("Workstations", "Servers", "Kiosks"):
            world.team(team, {"url": "/" + ALPHA, "hash_sha256": sha256_of(ALPHA)})
        result = world.tender("apply")
        self.assert_status(result, DONE)
        self.assertEqual(len(world.bodies()), 1)
        uploads = [row for row in world.writes() if row.get("multipart") and row["multipart"]["files"]]
        self.assertEqual(len(uploads), 1, "the bytes go to Fleet once")
        for team in ("Workstations", "Servers", "Kiosks"):
            self.assertEqual(world.digests(team), {"alpha": sha256_of(ALPHA)})

    def test_vendor_that_refuses_unknown_agents(self):
        """A11: the User-Agent is honest, settable and named."""
        world = self.world(script={"packages": {"/" + ALPHA: {"file": ALPHA, "behaviours": [{"do": "require-user-agent", "prefix": "Mozilla/5.0"}]}}})
        world.team("Workstations", "/" + ALPHA)
        refused = world.tender("apply")
        self.assert_status(refused, PARTIAL)
        self.assertIn("user agent", (refused.stdout + refused.stderr).lower().replace("-", " "))
        self.assert_status(world.tender("apply", TENDER_USER_AGENT="Mozilla/5.0 (compatible; tender)"), DONE)

    def test_poisoned_cache_entry(self):
        """A24: a flipped byte in the cache costs one download, never a wrong push."""
        world = self.world()
        world.team("Workstations", {"url": "/" + ALPHA, "hash_sha256": sha256_of(ALPHA)})
        self.assert_status(world.tender("fetch"), DONE)
        cached = [path for path in world.state.rglob(sha256_of(ALPHA) + "*") if path.is_file()]
        self.assertEqual(len(cached), 1)
        data = bytearray(cached[0].read_bytes())
        data[1000] ^= 1
        cached[0].chmod(0o600)
        cached[0].write_bytes(data)
        self.assert_status(world.tender("apply"), DONE)
        self.assertEqual(world.digests("Workstations"), {"alpha": sha256_of(ALPHA)})


    def test_things_of_another_kind_in_the_cache(self):
        """A23: never a manual step."""
        world = self.world()
        world.team("Workstations", {"url": "/" + ALPHA, "hash_sha256": sha256_of(ALPHA)})
        cache = world.state / "cache"
        (cache / "sha256" / sha256_of(ALPHA)[:2] / sha256_of(ALPHA)).mkdir(parents=True)
        (cache / "partial").write_text("no folder")
        self.assert_status(world.tender("apply"), DONE)
        self.assertEqual(world.digests("Workstations"), {"alpha": sha256_of(ALPHA)})


def add_row(row):
    name, stands_for, *arguments = row

    def test(self):
        self.run_row(name, *arguments)

    test.__doc__ = f"{name} ({stands_for})"
    setattr(Downloads, "test_" + name.replace(" ", "_").replace(",", "").replace("-", "_"), test)


for each in ROWS:
    add_row(each)

if __name__ == "__main__":
    unittest.main()
