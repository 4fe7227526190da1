"""fleetsim does what docs/fleetsim.md says: each behaviour of the package host, each fault of the API, the log, the state, the options.

The recorded sequences are in test_replay.py; this is about what only a simulator has."""

import datetime
import email.utils
import hashlib
import http.client
import io
import json
import pathlib
import re
import socket
import struct
import subprocess
import sys
import tarfile
import time
import unittest
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import support

ALPHA = (support.RECORDED_PACKAGES / "alpha_1.0_amd64.deb").read_bytes()
ALPHA_DIGEST = hashlib.sha256(ALPHA).hexdigest()
DOCUMENT = support.HERE.parent.parent / "docs" / "fleetsim.md"
GIB = 1 << 30


class Got:
    """What a client saw: status None if no answer came; `end`: how the body ended (whole, reset, short, timeout)."""

    def __init__(self, status=None, headers=None, body=b"", end="whole"):
        self.status, self.headers, self.body, self.end = status, headers or {}, body, end


def ask(url, path, headers=None, method="GET", connection=None, timeout=10):
    own = connection or http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=timeout)
    got = Got()
    try:
        own.request(method, path, headers=headers or {})
        answer = own.getresponse()
        got.status, got.headers = answer.status, {name.lower(): value for name, value in answer.getheaders()}
        pieces = []
        while True:
            piece = answer.read1(65536)
            if not piece:
                break
            pieces.append(piece)
            got.body = b"".join(pieces)
        if answer.length not in (None, 0) and method != "HEAD":
            got.end = "short"
        answer.close()
    except (http.client.RemoteDisconnected, http.client.IncompleteRead):
        got.end = "short"
    except ConnectionResetError:  # RemoteDisconnected is one too
        got.end = "reset"
    except socket.timeout:
        got.end = "timeout"
    finally:
        if connection is None:
            own.close()
    return got


class FleetsimTest(support.EndToEnd):
    def host(self, *behaviours, **entry):
        """A package host with one scripted path, /a."""
        if not ("size" in entry or "file" in entry):
            entry["file"] = "alpha_1.0_amd64.deb"
        return self.world(script={"packages": {"/a": dict(entry, behaviours=list(behaviours))}})

    def get(self, world, path="/a", **arguments):
        return ask(world.package_url, path, **arguments)

    def wait_for_requests(self, world, server, count):
        self.wait_for(lambda: len(world.requests(server)) >= count)
        return world.requests(server)

    def wait_for_request(self, world, server, matches):
        """A line is written just behind the answer, so it may come a moment later."""
        return self.wait_for(lambda: [row for row in world.requests(server) if matches(row)])[0]


class PackageHost(FleetsimTest):
    def test_serves_files_well(self):
        world = self.world()
        plain = self.get(world, "/alpha_1.0_amd64.deb")
        self.assertEqual((plain.status, plain.body), (200, ALPHA))
        etag, date = plain.headers["etag"], plain.headers["last-modified"]
        self.assertEqual(etag, f'"{ALPHA_DIGEST[:16]}"')
        self.assertEqual(plain.headers["accept-ranges"], "bytes")
        cases = [  # request headers, status, Content-Range, body
            ({"Range": "bytes=100-"}, 206, "bytes 100-41151/41152", ALPHA[100:]),
            ({"Range": "bytes=100-199"}, 206, "bytes 100-199/41152", ALPHA[100:200]),
            ({"Range": "bytes=-10"}, 206, "bytes 41142-41151/41152", ALPHA[-10:]),
            ({"Range": "bytes=100-", "If-Range": etag}, 206, "bytes 100-41151/41152", ALPHA[100:]),
            ({"Range": "bytes=100-", "If-Range": date}, 206, "bytes 100-41151/41152", ALPHA[100:]),
            ({"Range": "bytes=100-", "If-Range": '"other"'}, 200, None, ALPHA),
            ({"Range": "bytes=100-", "If-Range": "W/" + etag}, 200, None, ALPHA),
            ({"Range": "bytes=0-1,5-6"}, 200, None, ALPHA),
            ({"Range": "bytes=41152-"}, 416, "bytes */41152", None),
            ({"If-None-Match": etag}, 304, None, b""),
            ({"If-None-Match": '"x", ' + etag}, 304, None, b""),
            ({"If-None-Match": '"other"'}, 200, None, ALPHA),
            ({"If-Modified-Since": date}, 304, None, b""),
            ({"If-Modified-Since": "Sat, 01 Jan 2000 00:00:00 GMT"}, 200, None, ALPHA),
        ]
        for headers, status, content_range, body in cases:
            with self.subTest(headers=headers):
                got = self.get(world, "/alpha_1.0_amd64.deb", headers=headers)
                self.assertEqual((got.status, got.headers.get("content-range")), (status, content_range))
                if body is not None:
                    self.assertEqual(got.body, body)
        self.assertEqual(self.get(world, "/none.deb").status, 404)
        self.assertEqual(self.get(world, "/../fleet/state.json").status, 404)
        self.assertEqual(self.get(world, "/alpha_1.0_amd64.deb", method="POST").status, 405)
        head = self.get(world, "/alpha_1.0_amd64.deb", method="HEAD")
        self.assertEqual((head.status, head.headers["content-length"], head.body), (200, "41152", b""))

    def test_keeps_connections_alive(self):
        world = self.world()
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(world.package_url).netloc)
        self.addCleanup(connection.close)
        for _ in range(3):
            self.assertEqual(self.get(world, "/alpha_1.0_amd64.deb", connection=connection).body, ALPHA)
        rows = self.wait_for_requests(world, "packages", 3)
        self.assertEqual(len({row["connection"] for row in rows}), 1)

    def test_plain_query(self):
        world = self.world()
        self.assertEqual(self.get(world, "/alpha_1.0_amd64.deb?fail=503").status, 503)
        got = self.get(world, "/alpha_1.0_amd64.deb?rst=1")
        self.assertEqual((got.end, got.body), ("reset", ALPHA[:len(ALPHA) // 2]))
        started = time.monotonic()
        self.assertEqual(self.get(world, "/alpha_1.0_amd64.deb?delay=1").body, ALPHA)
        self.assertGreaterEqual(time.monotonic() - started, 1)

    def test_cut_bodies(self):
        cases = [  # behaviour, status, bytes that came, how it ended
            ({"do": "reset", "after_bytes": 20000}, 200, 20000, "reset"),
            ({"do": "reset"}, None, 0, "reset"),
            ({"do": "reset", "before_headers": True, "after_bytes": 5}, None, 0, "reset"),
            ({"do": "close", "after_bytes": 12345}, 200, 12345, "short"),
            ({"do": "close", "after_bytes": 0}, 200, 0, "short"),
            ({"do": "eof"}, None, 0, "short"),
            ({"do": "huge-announce"}, 200, len(ALPHA), "short"),
            ({"do": "huge-announce", "length": 10 ** 13}, 200, len(ALPHA), "short"),
        ]
        for behaviour, status, length, end in cases:
            with self.subTest(behaviour=behaviour):
                world = self.host(behaviour, {"do": "serve"})
                got = self.get(world)
                self.assertEqual((got.status, len(got.body), got.end), (status, length, end))
                self.assertEqual(got.body, ALPHA[:length])
                self.assertEqual(self.get(world).body, ALPHA, "the next request is served")
                row = self.wait_for_requests(world, "packages", 2)[0]
                self.assertEqual((row["behaviour"], row["sent_bytes"]), (behaviour["do"], length))
                self.assertEqual(row["finished"], behaviour["do"] == "huge-announce")

    def test_a_reset_of_a_part(self):
        world = self.host({"do": "reset", "after_bytes": 1000})
        got = self.get(world, headers={"Range": "bytes=30000-"})
        self.assertEqual((got.status, got.body, got.end), (206, ALPHA[30000:31000], "reset"))

    def test_statuses(self):
        cases = [
            ({"do": "not-found"}, 404), ({"do": "gone"}, 410), ({"do": "forbidden"}, 403),
            ({"do": "status", "status": 500, "body": "oh", "headers": {"X-Why": "test"}}, 500),
            ({"do": "retry-after", "retry_after": "120"}, 503), ({"do": "retry-after", "retry_after": "7", "status": 429}, 429),
            ({"do": "redirect", "location": "/b"}, 302), ({"do": "redirect", "location": "/b", "status": 307}, 307),
            ({"do": "html"}, 200), ({"do": "empty"}, 200), ({"do": "304-always"}, 304),
        ]
        for behaviour, status in cases:
            with self.subTest(behaviour=behaviour):
                got = self.get(self.host(behaviour))
                self.assertEqual(got.status, status)
                self.assertNotEqual(got.body, ALPHA)
                self.assertEqual(got.headers.get("location"), behaviour.get("location"))
                if behaviour["do"] == "status":
                    self.assertEqual((got.body, got.headers["x-why"]), (b"oh", "test"))
                if behaviour["do"] == "retry-after":
                    self.assertEqual(got.headers["retry-after"], behaviour["retry_after"])
                if behaviour["do"] == "html":
                    self.assertTrue(got.headers["content-type"].startswith("text/html"))
                if behaviour["do"] in ("empty", "304-always"):
                    self.assertEqual(got.body, b"")

    def test_retry_after_as_a_date(self):
        got = self.get(self.host({"do": "retry-after", "retry_after": "date+2"}))
        wait = email.utils.parsedate_to_datetime(got.headers["retry-after"]) - email.utils.parsedate_to_datetime(got.headers["date"])
        self.assertLessEqual(abs(wait - datetime.timedelta(seconds=2)), datetime.timedelta(seconds=1))

    def test_ranges_that_go_wrong(self):
        asked = {"Range": "bytes=40000-"}
        got = self.get(self.host({"do": "ignore-range"}), headers=asked)
        self.assertEqual((got.status, got.body), (200, ALPHA))
        got = self.get(self.host({"do": "wrong-range", "offset": 100}), headers=asked)
        self.assertEqual((got.status, got.headers["content-range"], got.body), (206, "bytes 100-41151/41152", ALPHA[100:]))
        world = self.host({"do": "416"})
        got = self.get(world, headers=asked)
        self.assertEqual((got.status, got.headers["content-range"]), (416, "bytes */41152"))
        self.assertEqual(self.get(world).body, ALPHA, "a request without Range is served")

    def test_content_that_lies(self):
        got = self.get(self.host({"do": "wrong-bytes"}))
        self.assertEqual(len(got.body), len(ALPHA))
        self.assertNotEqual(got.body, ALPHA)
        got = self.get(self.host({"do": "lying-length", "length": 1000}))
        self.assertEqual((got.headers["content-length"], got.body), ("1000", ALPHA[:1000]))
        got = self.get(self.host({"do": "gzip-encoded"}))
        self.assertEqual((got.headers["content-encoding"], got.body), ("gzip", ALPHA))
        got = self.get(self.host({"do": "chunked"}))
        self.assertEqual((got.headers.get("content-length"), got.headers["transfer-encoding"], got.body), (None, "chunked", ALPHA))

    def test_validators(self):
        got = self.get(self.host({"do": "no-validators"}))
        self.assertEqual((got.headers.get("etag"), got.headers.get("last-modified"), got.body), (None, None, ALPHA))
        world = self.host({"do": "random-etag"})
        self.assertNotEqual(self.get(world).headers["etag"], self.get(world).headers["etag"])
        world = self.host(etag='"mine"', last_modified=None, content_type="application/x-deb", content_disposition='attachment; filename="b.deb"')
        got = self.get(world)
        self.assertEqual([got.headers.get(name) for name in ("etag", "last-modified", "content-type", "content-disposition")],
                         ['"mine"', None, "application/x-deb", 'attachment; filename="b.deb"'])
        self.assertIsNone(self.get(self.host(etag=None)).headers.get("etag"))

    def test_required_headers(self):
        world = self.host({"do": "require-user-agent", "prefix": "Tender/"})
        self.assertEqual(self.get(world, headers={"User-Agent": "other"}).status, 403)
        self.assertEqual(self.get(world, headers={"User-Agent": "Tender/1"}).body, ALPHA)
        world = self.host({"do": "require-header", "header": "X-Key", "value": "open"})
        self.assertEqual(self.get(world).status, 401)
        self.assertEqual(self.get(world, headers={"X-Key": "shut"}).status, 401)
        self.assertEqual(self.get(world, headers={"x-key": "open"}).body, ALPHA)

    def test_stall_and_slow(self):
        started = time.monotonic()
        got = self.get(self.host({"do": "stall", "after_bytes": 500, "ms": 700}))
        self.assertEqual(got.body, ALPHA)
        self.assertGreaterEqual(time.monotonic() - started, 0.7)
        got = self.get(self.host({"do": "stall", "after_bytes": 500, "ms": 600000}), timeout=3)
        self.assertEqual((got.end, got.body), ("timeout", ALPHA[:500]))
        started = time.monotonic()
        self.assertEqual(self.get(self.host({"do": "slow", "bytes_per_second": 40000})).body, ALPHA)
        self.assertGreaterEqual(time.monotonic() - started, 0.7)
        started = time.monotonic()
        self.assertEqual(self.get(self.host({"do": "serve", "delay_ms": 600})).body, ALPHA)
        self.assertGreaterEqual(time.monotonic() - started, 0.6)

    def test_a_kept_connection_that_dies(self):
        world = self.host({"do": "close-keepalive"}, {"do": "serve"})
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(world.package_url).netloc)
        self.addCleanup(connection.close)
        got = self.get(world, connection=connection)
        self.assertEqual((got.body, got.headers["connection"]), (ALPHA, "keep-alive"))
        self.assertEqual(self.get(world, connection=connection).end, "reset")
        self.assertEqual(self.get(world).body, ALPHA)

    def test_behaviours_come_in_turn(self):
        world = self.host({"do": "not-found", "times": 2}, {"do": "gone"}, {"do": "serve"})
        self.assertEqual([self.get(world).status for _ in range(5)], [404, 404, 410, 200, 200])

    def test_generated_bodies(self):
        size = 5_000_000
        digest = subprocess.run([support.FLEETSIM, "--digest", str(size), "7"], capture_output=True, text=True, check=True).stdout.strip()
        other = subprocess.run([support.FLEETSIM, "--digest", str(size), "8"], capture_output=True, text=True, check=True).stdout.strip()
        self.assertNotEqual(digest, other)
        world = self.host({"do": "reset", "after_bytes": 3_000_000}, {"do": "serve"}, size=size, seed=7)
        first = self.get(world)
        rest = self.get(world, headers={"Range": f"bytes={len(first.body)}-", "If-Range": first.headers["etag"]})
        self.assertEqual((first.end, rest.status), ("reset", 206))
        self.assertEqual(hashlib.sha256(first.body + rest.body).hexdigest(), digest)
        whole = self.get(self.host({"do": "wrong-bytes"}, size=size, seed=7))
        self.assertEqual(len(whole.body), size)
        self.assertNotEqual(hashlib.sha256(whole.body).hexdigest(), digest)

    def test_several_connections_at_once(self):
        """Eight answers are under way together, and end when their clients are gone."""
        world = self.host({"do": "stall", "ms": 600000, "after_bytes": 10})
        clients = [http.client.HTTPConnection(urllib.parse.urlsplit(world.package_url).netloc) for _ in range(8)]
        for client in clients:
            self.addCleanup(client.close)
            client.request("GET", "/a")
        self.assertEqual([client.getresponse().read(10) for client in clients], [ALPHA[:10]] * 8)
        for client in clients:
            client.close()
        self.assertEqual(len(self.wait_for_requests(world, "packages", 8)), 8)


def form(fields, file_name, content):
    boundary = "a-boundary"
    parts = [f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode() for name, value in fields]
    parts.append(f'--{boundary}\r\nContent-Disposition: form-data; name="software"; filename="{file_name}"\r\n\r\n'.encode() + content + b"\r\n")
    return b"".join(parts) + f"--{boundary}--\r\n".encode(), {"Content-Type": f"multipart/form-data; boundary={boundary}"}


class Api(FleetsimTest):
    def with_faults(self, *faults):
        return self.world(script={"api": list(faults)})

    def call(self, world, method, path, body=None, headers=None, token="maintainer-token", connection=None):
        own = connection or http.client.HTTPConnection(urllib.parse.urlsplit(world.fleet_url).netloc, timeout=20)
        got = Got()
        try:
            own.request(method, "/api/v1/fleet" + path, body=body, headers={"Authorization": "Bearer " + token, **(headers or {})})
            answer = own.getresponse()
            got.status, got.headers = answer.status, {name.lower(): value for name, value in answer.getheaders()}
            got.body = answer.read()
        except (http.client.RemoteDisconnected, http.client.IncompleteRead):
            got.end = "short"
        except ConnectionResetError:  # RemoteDisconnected is one too
            got.end = "reset"
        finally:
            if connection is None:
                own.close()
        return got

    def upload(self, world, content=ALPHA, file_name="alpha_1.0_amd64.deb", **fields):
        body, headers = form([("team_id", world.team_id("Workstations")), *fields.items()], file_name, content)
        return self.call(world, "POST", "/software/package", body, headers)

    def batch(self, world, *items, team="Workstations"):
        got = self.call(world, "POST", f"/software/batch?team_name={team}&dry_run=false", json.dumps({"software": list(items)}))
        return got if got.status != 202 else json.loads(got.body)["request_uuid"]

    def poll(self, world, uuid, seconds=60):
        deadline = time.monotonic() + seconds
        answers = []
        while time.monotonic() < deadline:
            answers.append(json.loads(self.call(world, "GET", f"/software/batch/{uuid}").body))
            if answers[-1]["status"] != "processing":
                break
            time.sleep(0.05)
        return answers

    def test_applied_but_answered_otherwise(self):
        page = "<html>504 Gateway Time-out</html>"
        for fault, status, end in (({"do": "apply-then-status", "status": 504, "body": page}, 504, "whole"), ({"do": "apply-then-close"}, None, "short"),
                                   ({"do": "apply-then-reset"}, None, "reset"), ({"do": "apply-then-cut"}, 200, "short")):
            with self.subTest(fault=fault):
                world = self.with_faults({"method": "POST", "path": "/software/package", "nth": 1, **fault})
                got = self.upload(world)
                self.assertEqual((got.status, got.end), (status, end))
                if status == 504:
                    self.assertEqual((got.body.decode(), got.headers["content-type"]), (page, "text/html; charset=utf-8"))
                self.assertEqual(world.digests("Workstations"), {"alpha": ALPHA_DIGEST})
                self.assertEqual(self.upload(world).status, 409, "the second one meets what the first one stored")

    def test_not_applied(self):
        for fault, status, end in (({"do": "status", "status": 413, "body": "<html>too large</html>"}, 413, "whole"),
                                   ({"do": "status", "status": 413, "body": "x", "early": True}, 413, "whole"),
                                   ({"do": "status", "status": 401, "body": {"message": "Authentication required"}}, 401, "whole"),
                                   ({"do": "status", "status": 429, "headers": {"Retry-After": "3"}}, 429, "whole"),
                                   ({"do": "close"}, None, "short"), ({"do": "reset"}, None, "reset")):
            with self.subTest(fault=fault):
                world = self.with_faults({"method": "POST", "path": "/software/package", "nth": [1], **fault})
                got = self.upload(world)
                self.assertEqual((got.status, got.end), (status, end))
                if isinstance(fault.get("body"), dict):
                    self.assertEqual((json.loads(got.body), got.headers["content-type"]), (fault["body"], "application/json; charset=utf-8"))
                if "headers" in fault:
                    self.assertEqual(got.headers["retry-after"], "3")
                self.assertEqual(world.digests("Workstations"), {})
                self.assertEqual(self.upload(world).status, 200)

    def test_which_requests_a_fault_is_for(self):
        world = self.with_faults({"method": "GET", "path": "/software/titles/*", "nth": [2, 3], "do": "status", "status": 500},
                                 {"path": "/labels*", "do": "status", "status": 418})
        self.assertEqual([self.call(world, "GET", f"/software/titles/{number}").status for number in (1, 2, 3, 4)], [404, 500, 500, 404])
        self.assertEqual([self.call(world, "GET", path).status for path in ("/labels", "/labels/summary", "/labels", "/version")], [418, 418, 418, 200])

    def test_only_on_a_kept_connection(self):
        world = self.with_faults({"method": "POST", "path": "/teams", "reused": True, "do": "close"})
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(world.fleet_url).netloc)
        self.addCleanup(connection.close)
        self.assertEqual(self.call(world, "GET", "/version", connection=connection).status, 200)
        self.assertEqual(self.call(world, "POST", "/teams", '{"name": "A"}', token="admin-token", connection=connection).end, "short")
        self.assertEqual(self.call(world, "POST", "/teams", '{"name": "A"}', token="admin-token").status, 200)

    def test_delay(self):
        world = self.with_faults({"path": "/version", "nth": 1, "do": "delay_ms", "delay_ms": 700})
        started = time.monotonic()
        self.assertEqual(self.call(world, "GET", "/version").status, 200)
        self.assertGreaterEqual(time.monotonic() - started, 0.7)

    def test_corrupt_stored_bytes(self):
        world = self.with_faults({"method": "POST", "path": "/software/package", "nth": 1, "do": "corrupt-stored-bytes"})
        stored = json.loads(self.upload(world).body)["software_package"]
        self.assertNotEqual(stored["hash_sha256"], ALPHA_DIGEST)
        bytes_there = self.call(world, "GET", f"/software/titles/{stored['title_id']}/package?alt=media&team_id={stored['team_id']}").body
        self.assertEqual(hashlib.sha256(bytes_there).hexdigest(), stored["hash_sha256"])

    def test_stuck_batches(self):
        for fault, applied in (("stuck", False), ("apply-then-stuck", True)):
            with self.subTest(fault=fault):
                world = self.with_faults({"method": "POST", "path": "/software/batch", "nth": 1, "do": fault})
                self.upload(world)
                answers = self.poll(world, self.batch(world), 1)
                self.assertEqual({answer["status"] for answer in answers}, {"processing"})
                self.assertEqual(world.digests("Workstations"), {} if applied else {"alpha": ALPHA_DIGEST})
                self.assertEqual(self.poll(world, self.batch(world))[-1]["status"], "completed")

    def test_a_batch_is_all_or_nothing(self):
        world = self.world()
        self.upload(world)
        url = world.package_url
        uuid = self.batch(world, {"url": url + "/beta_1.0_amd64.deb"}, {"url": url + "/none.deb"}, {"url": url + "/gamma_1.0_amd64.deb"})
        last = self.poll(world, uuid)[-1]
        self.assertEqual(last["status"], "failed")
        self.assertIn('/none.deb") returned "Not Found"', last["message"])
        self.assertEqual(world.digests("Workstations"), {"alpha": ALPHA_DIGEST})
        answers = self.poll(world, self.batch(world, {"url": url + "/beta_1.0_amd64.deb"}))
        self.assertEqual([answers[0]["status"], answers[-1]["status"]], ["processing", "completed"])
        self.assertEqual(world.digests("Workstations"), {"beta": support.sha256_of("beta_1.0_amd64.deb")})
        blobs = [path.name for path in (world.root / "fleet/blobs/sha256").iterdir()]
        self.assertEqual(blobs, [support.sha256_of("beta_1.0_amd64.deb")], "bytes that no team has are gone")

    def test_the_servers_downloads(self):
        """Redirects are followed, chunks joined, a name taken from Content-Disposition; a loop, a short body and silence fail."""
        script = {"packages": {
            "/moved": {"behaviours": [{"do": "redirect", "location": "/real.deb"}]},
            "/real.deb": {"file": "alpha_1.0_amd64.deb", "behaviours": [{"do": "chunked"}]},
            "/named": {"file": "beta_1.0_amd64.deb", "content_disposition": 'attachment; filename="b.deb"'},
            "/loop": {"behaviours": [{"do": "redirect", "location": "/loop"}]},
            "/short.deb": {"file": "gamma_1.0_amd64.deb", "behaviours": [{"do": "close", "after_bytes": 100}]},
            "/silent.deb": {"behaviours": [{"do": "eof"}]},
        }}
        world = self.world(script=script)
        url = world.package_url
        last = self.poll(world, self.batch(world, {"url": url + "/moved"}, {"url": url + "/named"}))[-1]
        self.assertEqual((last["status"], last["message"]), ("completed", ""))
        self.assertEqual({name: title["software_package"]["name"] for name, title in world.titles("Workstations").items()},
                         {"alpha": "real.deb", "beta": "b.deb"})
        for path, message in (("/loop", "stopped after 10 redirects"), ("/short.deb", "unexpected EOF"), ("/silent.deb", "EOF")):
            last = self.poll(world, self.batch(world, {"url": url + path}))[-1]
            self.assertEqual(last["status"], "failed")
            self.assertIn(message, last["message"])

    def test_state_survives_a_restart(self):
        world = self.world()
        self.upload(world, self_service="true", labels_include_any="Pilot ring")
        before = world.titles("Workstations")
        world.restart()
        self.assertEqual(world.titles("Workstations"), before)
        self.assertEqual(self.poll(world, self.batch(world, {"sha256": ALPHA_DIGEST}, team="Servers"))[-1]["status"], "completed")
        world.arguments = ["--empty-start"]
        world.restart()
        self.assertEqual(world.titles("Workstations"), {})

    def test_policy_hook(self):
        world = self.world()
        title = json.loads(self.upload(world).body)["software_package"]["title_id"]
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(world.fleet_url).netloc)
        self.addCleanup(connection.close)
        for team, status in (("Workstations", 200), ("Servers", 400)):
            connection.request("POST", "/fleetsim/policies", json.dumps({"team": team, "title": "alpha", "name": "alpha is there"}))
            answer = connection.getresponse()
            answer.read()
            self.assertEqual(answer.status, status)
        team = world.team_id("Workstations")
        self.assertEqual(self.call(world, "DELETE", f"/software/titles/{title}/available_for_install?team_id={team}").status, 409)
        listed = json.loads(self.call(world, "GET", f"/software/titles?team_id={team}&available_for_install=true").body)["software_titles"][0]
        self.assertEqual([policy["name"] for policy in listed["software_package"]["automatic_install_policies"]], ["alpha is there"])
        self.assertFalse([row for row in world.requests("fleet") if "/fleetsim/" in row["path"]], "hooks are not logged")

    def test_label_hook(self):
        world = self.world()
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(world.fleet_url).netloc)
        self.addCleanup(connection.close)
        for status in (200, 400):
            connection.request("POST", "/fleetsim/labels", json.dumps({"name": "Newcomers"}))
            answer = connection.getresponse()
            answer.read()
            self.assertEqual(answer.status, status)
        self.assertEqual(self.upload(world, labels_include_any="newcomers").status, 200)

    def test_roles_by_version(self):
        for version, status in (("4.69.0", 403), ("4.85.1", 200), ("5.0.0", 200)):
            world = self.world(arguments=["--fleet-version", version])
            self.assertEqual(self.call(world, "GET", "/software/titles?team_id=1", token="gitops-token").status, status)
            self.assertEqual(json.loads(self.call(world, "GET", "/version").body)["version"], version)

    def test_a_compressed_control_archive(self):
        """A .deb with control.tar.gz is read; one in another compression goes by its file's name."""
        control = b"Package: zipped\nVersion: 3.4-1\n"
        tar = io.BytesIO()
        with tarfile.open(fileobj=tar, mode="w:gz") as archive:
            entry = tarfile.TarInfo("./control")
            entry.size = len(control)
            archive.addfile(entry, io.BytesIO(control))

        def deb(member, content):
            def ar(name, data):
                return f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)
            return b"!<arch>\n" + ar("debian-binary", b"2.0\n") + ar(member, content) + ar("data.tar", b"")
        world = self.world()
        for content, file_name, name, version in ((deb("control.tar.gz", tar.getvalue()), "x.deb", "zipped", "3.4-1"),
                                                  (deb("control.tar.zst", b"?"), "tool_2.5_amd64.deb", "tool", "2.5")):
            stored = json.loads(self.upload(world, content, file_name).body)["software_package"]
            self.assertEqual(stored["version"], version)
            self.assertIn(name, world.titles("Workstations"))
        self.assertEqual(self.upload(world, deb("control.tar.gz", b"not gzip"), "y.deb").status, 400)

    def test_bytes_that_are_no_text(self):
        """Header names, header values and file names that are no UTF-8 are answered and logged, with '?' in their place."""
        world = self.world()
        address = urllib.parse.urlsplit(world.fleet_url)
        with socket.create_connection((address.hostname, address.port)) as plain:
            plain.sendall(b"GET /api/v1/fleet/version HTTP/1.1\r\nHost: x\r\nX-\xff: \xfe\r\nAuthorization: Bearer admin-token\r\nConnection: close\r\n\r\n")
            self.assertIn(b" 200 ", plain.recv(100))
        body, headers = form([("team_id", "1")], "NAME.deb", ALPHA)
        head = b'\r\nContent-Disposition: form-data; name="again"; filename="again"'
        body = body.replace(b"NAME", b"\xff").replace(b'.deb"', b'.deb"' + head)
        stored = json.loads(self.call(world, "POST", "/software/package", body, headers).body)["software_package"]
        self.assertEqual(stored["name"], "?.deb", "the first Content-Disposition counts")
        rows = self.wait_for_requests(world, "fleet", 2)
        self.assertEqual(rows[0]["headers"]["X-?"], "?")

    def test_a_large_upload_keeps_memory_flat(self):
        size = GIB if support.os.environ.get("TENDER_LONG_TESTS") else GIB // 8
        world = self.host({"do": "serve"}, size=size, seed=3)
        digest = subprocess.run([support.FLEETSIM, "--digest", str(size), "3"], capture_output=True, text=True, check=True).stdout.strip()
        team = world.team_id("Workstations")
        last = self.poll(world, self.batch(world, {"url": world.package_url + "/a"}), 60)[-1]
        self.assertEqual(last["status"], "failed", "no extension in its name")
        boundary = b"a-boundary"
        head = (b"--" + boundary + b'\r\nContent-Disposition: form-data; name="team_id"\r\n\r\n' + str(team).encode() + b"\r\n--" + boundary +
                b'\r\nContent-Disposition: form-data; name="software"; filename="big.deb"\r\n\r\n')
        tail = b"\r\n--" + boundary + b"--\r\n"
        source = http.client.HTTPConnection(urllib.parse.urlsplit(world.package_url).netloc)
        target = http.client.HTTPConnection(urllib.parse.urlsplit(world.fleet_url).netloc)
        self.addCleanup(source.close)
        self.addCleanup(target.close)
        source.request("GET", "/a")
        body = source.getresponse()
        target.putrequest("POST", "/api/latest/fleet/software/package")
        for name, value in (("Authorization", "Bearer admin-token"), ("Content-Length", str(len(head) + size + len(tail))),
                            ("Content-Type", "multipart/form-data; boundary=" + boundary.decode())):
            target.putheader(name, value)
        target.endheaders(head)
        while piece := body.read(1 << 20):
            target.send(piece)
        target.send(tail)
        stored = json.loads(target.getresponse().read())["software_package"]
        self.assertEqual((stored["hash_sha256"], stored["version"]), (digest, "1.0"))
        status = pathlib.Path(f"/proc/{world.server.pid}/status").read_text()
        peak_kib = int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1))
        if "san" not in str(support.BUILD):
            self.assertLess(peak_kib, 32 * 1024)
        row = self.wait_for_request(world, "fleet", lambda row: row["method"] == "POST" and "multipart" in row)
        self.assertEqual(row["multipart"]["files"], [["software", "big.deb", size, digest]])


class Log(FleetsimTest):
    def test_what_a_line_holds(self):
        world = self.world()
        body, headers = form([("team_id", "1"), ("install_script", "echo")], "alpha_1.0_amd64.deb", ALPHA)
        for path, data, extra in (("/software/package", body, headers),
                                  ("/spec/secret_variables", json.dumps({"secrets": [{"name": "A", "value": "hush-hush"}]}), {})):
            connection = http.client.HTTPConnection(urllib.parse.urlsplit(world.fleet_url).netloc)
            connection.request("POST" if path.endswith("package") else "PUT", "/api/latest/fleet" + path, data, {"Authorization": "Bearer maintainer-token", **extra})
            connection.getresponse().read()
            connection.close()
        ask(world.package_url, "/alpha_1.0_amd64.deb?key=1", headers={"X-Mine": "here"})
        rows = self.wait_for_requests(world, None, 3)
        upload, secret, download = rows
        self.assertEqual([row["n"] for row in rows], [1, 2, 3])
        self.assertEqual((upload["server"], upload["method"], upload["path"], upload["role"], upload["status"], upload["finished"]),
                         ("fleet", "POST", "/api/latest/fleet/software/package", "maintainer", 200, True))
        self.assertEqual(upload["body_bytes"], len(body))
        self.assertGreater(upload["sent_bytes"], 100)
        self.assertEqual(upload["headers"]["Authorization"], "Bearer maintainer")
        self.assertEqual(upload["multipart"], {"fields": [["team_id", "1"], ["install_script", "echo"]],
                                               "files": [["software", "alpha_1.0_amd64.deb", len(ALPHA), ALPHA_DIGEST]]})
        self.assertEqual(secret["json"], {"secrets": [{"name": "A", "value": "(a secret)"}]})
        self.assertEqual((download["server"], download["path"], download["query"], download["role"], download["headers"]["X-Mine"]),
                         ("packages", "/alpha_1.0_amd64.deb", "key=1", None, "here"))
        self.assertEqual((download["sent_bytes"], download["behaviour"]), (len(ALPHA), "serve"))
        everything = world.log_file.read_text() + (world.root / "fleet/state.json").read_text()
        for secret_text in ("maintainer-token", "hush-hush"):
            self.assertNotIn(secret_text, everything)

    def test_a_download_that_the_client_leaves(self):
        world = self.host({"do": "slow", "bytes_per_second": 20000})
        address = urllib.parse.urlsplit(world.package_url)
        with socket.create_connection((address.hostname, address.port)) as plain:
            plain.sendall(b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
            plain.recv(1000)
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        row = self.wait_for_requests(world, "packages", 1)[0]
        self.assertFalse(row["finished"])
        self.assertLess(row["sent_bytes"], len(ALPHA))


class Start(FleetsimTest):
    def refused(self, *arguments):
        process = subprocess.run([support.FLEETSIM, *arguments], capture_output=True, text=True, timeout=20)
        return process.returncode, process.stderr

    def script_refused(self, script):
        path = pathlib.Path(self.folder) / "script.json"
        path.write_text(script if isinstance(script, str) else json.dumps(script))
        status, text = self.refused("--state", self.folder + "/state", "--script", str(path))
        self.assertEqual(status, 64, text)
        self.assertIn(str(path), text)
        return text

    def setUp(self):
        self.folder = support.tempfile.mkdtemp(prefix="fleetsim-start-")
        self.addCleanup(support.shutil.rmtree, self.folder)

    def test_options(self):
        for arguments, part in (((), "--state DIR is required"), (("--stat", "x"), "did you mean --state"), (("--state",), "needs DIR"),
                                (("--state", self.folder, "--token", "king=x"), 'unknown role "king"'),
                                (("--state", self.folder, "--token", "teammaint=x"), "need a team"),
                                (("--state", self.folder, "--listen", "here"), "no HOST:PORT"), (("--digest", "x", "1"), "SIZE is no number")):
            with self.subTest(arguments=arguments):
                status, text = self.refused(*arguments)
                self.assertEqual(status, 64)
                self.assertIn(part, text)
        self.assertEqual(self.refused("--state", self.folder, "--packages", self.folder, "--log", self.folder + "/none/log")[0], 1)

    def test_scripts(self):
        entry = {"file": "a.deb"}
        for script, parts in (
                ("{", [":1:"]),
                ({"pakages": {}}, ['unknown key "pakages"']),
                ({"packages": {"/a": {"file": "a", "behaviours": [{"do": "resett"}]}}}, ['unknown behaviour "resett"', "reset, close, eof", "/a"]),
                ({"packages": {"/a": {"file": "a", "behaviours": [{"do": "serve", "after": 1}]}}}, ['"serve" takes no "after"']),
                ({"packages": {"/a": {"file": "a", "behaviours": [{"do": "redirect"}]}}}, ['"redirect" needs "location"']),
                ({"packages": {"/a": {"file": "a", "behaviours": [{"do": "slow", "bytes_per_second": 0}]}}}, ["above 0"]),
                ({"packages": {"/a": {"file": "../a"}}}, ["a name in the packages folder"]),
                ({"packages": {"/a": dict(entry, size=9999)}}, ["exclude each other"]),
                ({"packages": {"/a": {"size": 10}}}, ["at least 2240 bytes"]),
                ({"packages": {"a": entry}}, ["begins with a slash"]),
                ({"api": [{"path": "/x", "do": "explode"}]}, ['unknown fault "explode"', "apply-then-close"]),
                ({"api": [{"do": "close"}]}, ['needs "path"']),
                ({"api": [{"path": "/x", "do": "status"}]}, ['needs "status"']),
                ({"api": [{"path": "/x", "do": "close", "nth": "first"}]}, ['"nth" is a number']),
                ({"api": [{"path": "/x", "do": "close", "when": 1}]}, ['unknown key "when"'])):
            with self.subTest(script=script):
                text = self.script_refused(script)
                for part in parts:
                    self.assertIn(part, text)

    def test_catalogues(self):
        path = pathlib.Path(self.folder) / "catalogue.json"
        for catalogue, part in (({"apps": []}, 'unknown key "apps"'), ({"maintained_apps": {}}, "no list"),
                                ({"maintained_apps": [{"name": "A"}]}, 'needs "slug"'),
                                ({"app_store_apps": [{"app_store_id": "1", "name": "A", "bundle_identifier": "b", "latest_version": "1", "x": 1}]}, 'unknown key "x"')):
            with self.subTest(catalogue=catalogue):
                path.write_text(json.dumps(catalogue))
                status, text = self.refused("--state", self.folder + "/state", "--catalogue", str(path))
                self.assertEqual(status, 64)
                self.assertIn(part, text)

    def test_a_foreign_state_is_left_alone(self):
        state = pathlib.Path(self.folder) / "state"
        state.mkdir()
        (state / "state.json").write_text('{"mine": 1}')
        status, text = self.refused("--state", str(state))
        self.assertEqual(status, 64)
        self.assertIn("not written by fleetsim", text)
        self.assertEqual((state / "state.json").read_text(), '{"mine": 1}')

    def test_ends_cleanly(self):
        for number in (support.signal.SIGTERM, support.signal.SIGINT):
            world = self.host({"do": "stall", "ms": 60000})
            waiting = http.client.HTTPConnection(urllib.parse.urlsplit(world.package_url).netloc)
            self.addCleanup(waiting.close)
            waiting.request("GET", "/a")
            time.sleep(0.1)
            world.server.send_signal(number)
            self.assertEqual(world.server.wait(10), 0)
            self.assertEqual((world.root / "fleetsim.err").read_text(), "")

    def test_announces_on_standard_output(self):
        process = subprocess.Popen([support.FLEETSIM, "--state", self.folder + "/state"], stdout=subprocess.PIPE, text=True)
        addresses = json.loads(process.stdout.readline())
        process.terminate()
        self.assertEqual(process.wait(10), 0)
        process.stdout.close()
        self.assertEqual(addresses["pid"], process.pid)
        self.assertRegex(addresses["fleet_url"], r"^http://127\.0\.0\.1:\d+$")

    def test_the_document_names_everything(self):
        """docs/fleetsim.md has each option, behaviour and fault."""
        text = DOCUMENT.read_text()
        options = re.findall(r"^  (--[a-z-]+)", subprocess.run([support.FLEETSIM, "--help"], capture_output=True, text=True, check=True).stdout, re.M)
        self.assertGreater(len(options), 10)
        behaviours = self.script_refused({"packages": {"/a": {"behaviours": [{"do": "?"}]}}}).split("known: ")[1].strip().split(", ")
        faults = self.script_refused({"api": [{"path": "/", "do": "?"}]}).split("known: ")[1].strip().split(", ")
        self.assertGreater(len(behaviours), 25)
        for word in options + behaviours + faults:
            self.assertIn(f"`{word}`", text)


if __name__ == "__main__":
    unittest.main()
