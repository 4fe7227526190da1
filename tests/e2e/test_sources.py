"""Where packages come from: TLS with a CA of one's own, private sources, the run's deadline."""

import base64
import hashlib
import http.server
import socket
import ssl
import subprocess
import threading
import unittest

import support
from support import DONE, PARTIAL

BODY = b"!<arch>\ndebian-binary   " + bytes(range(256)) * 200
DIGEST = hashlib.sha256(BODY).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    """/a.deb: the body; /private/a.deb: only to who is known; /to/NAME: a redirect to the server's `targets`."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):  # noqa: N802
        self.server.seen.append((self.path, dict(self.headers)))
        if self.path.startswith("/to/"):
            self.answer(302, Location=self.server.targets[self.path[4:]])
        elif self.path.startswith("/private/") and not self.server.knows(self.headers):
            self.answer(401)
        else:
            self.answer(200, BODY)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, context=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen, self.targets, self.knows = [], {}, lambda headers: False
        self.scheme = "http" if context is None else "https"
        self.context = context
        self.thread = threading.Thread(target=self.serve_forever, args=(0.05,))
        self.thread.start()

    def get_request(self):
        connection, address = self.socket.accept()
        if self.context is not None:
            connection.settimeout(10)
            connection = self.context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def handle_error(self, *_):
        pass

    def url(self, path):
        return f"{self.scheme}://127.0.0.1:{self.server_port}{path}"

    def close(self):
        self.shutdown()
        self.thread.join()
        self.server_close()


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def make_certificates(folder):
    """A throw-away CA, and what it signed for the server and for a client."""
    folder.mkdir()
    openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "ca.key", "-out", "ca.pem",
            "-days", "2", "-subj", "/CN=Tender test CA")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    for name in ("server", "client"):
        openssl(folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr",
                "-subj", f"/CN={name}")
        openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names",
                "-out", f"{name}.pem")


def hand_on(one, other):
    """All that comes, to the other side, and then its end."""
    try:
        while data := one.recv(65536):
            other.sendall(data)
        other.shutdown(socket.SHUT_WR)
    except OSError:
        pass


class CutHandshakes:
    """A listener that ends the first `count` connections as soon as the client has said hello; then it passes them on."""

    def __init__(self, port, count):
        self.port, self.left = port, count
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            if self.left > 0:
                self.left -= 1
                client.recv(4096)
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", self.port))
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=hand_on, args=(one, other), daemon=True).start()

    def close(self):
        self.listener.close()


class Sources(support.EndToEnd):
    def server(self, context=None):
        server = Server(context)
        self.addCleanup(server.close)
        return server

    def secure(self, world, wants_client=False):
        folder = world.root / "certificates"
        if not folder.exists():
            make_certificates(folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "server.pem", folder / "server.key")
        if wants_client:
            context.load_verify_locations(folder / "ca.pem")
            context.verify_mode = ssl.CERT_REQUIRED
        return self.server(context), folder

    def fetch(self, world, url, *arguments, **changes):
        world.team("Workstations", {"url": url, "hash_sha256": DIGEST})
        return world.tender("fetch", *arguments, **changes)

    def attempts(self, result):
        return list(result.items())[0]["attempts"]

    def test_ca_file(self):
        world = self.world()
        server, folder = self.secure(world)
        refused = self.fetch(world, server.url("/a.deb"))
        self.assert_status(refused, PARTIAL)
        self.assertIn("certificate", refused.stdout + refused.stderr)
        self.assertNotIn("trying again", refused.stderr, "a refused certificate is permanent")
        self.assertEqual(server.seen, [])
        result = self.fetch(world, server.url("/a.deb"), "--ca-file", str(folder / "ca.pem"))
        self.assert_status(result, DONE)
        attempt = next(result.items())["fetch"]["attempts"][0]
        times = [attempt[key] for key in ("resolve_ms", "connect_ms", "tls_ms", "first_byte_ms", "duration_ms")]
        self.assertEqual(times, sorted(times), "each step has its time, one after the other")
        self.assertGreaterEqual(times[0], 0)

    def test_client_certificate(self):
        world = self.world()
        server, folder = self.secure(world, wants_client=True)
        self.assert_status(self.fetch(world, server.url("/a.deb"), TENDER_CA_FILE=folder / "ca.pem", TENDER_RETRY_ATTEMPTS="2"), PARTIAL)
        self.assertEqual(server.seen, [])
        self.assert_status(self.fetch(world, server.url("/a.deb"), TENDER_CA_FILE=folder / "ca.pem", TENDER_CLIENT_CERT=folder / "client.pem",
                                      TENDER_CLIENT_KEY=folder / "client.key"), DONE)

    def test_no_downgrade(self):
        """A redirect from https to http is refused; the plain server sees nothing."""
        world = self.world()
        server, folder = self.secure(world)
        plain = self.server()
        server.targets["plain"] = plain.url("/a.deb")
        result = self.fetch(world, server.url("/to/plain"), TENDER_CA_FILE=folder / "ca.pem")
        self.assert_status(result, PARTIAL)
        self.assertIn("redirect from https to http://", result.stdout + result.stderr)
        self.assertEqual(plain.seen, [])

    def test_cut_handshake_is_transient(self):
        world = self.world()
        server, folder = self.secure(world)
        cutter = CutHandshakes(server.server_port, 2)
        self.addCleanup(cutter.close)
        result = self.fetch(world, f"https://127.0.0.1:{cutter.listener.getsockname()[1]}/a.deb", TENDER_CA_FILE=folder / "ca.pem")
        self.assert_status(result, DONE)
        self.assertIn("trying again", result.stderr)

    def private(self, world, server, rule, **changes):
        world.write("tender.yml", f"sources:\n  - prefix: {server.url('/')}\n{rule}")
        return self.fetch(world, server.url("/private/a.deb"), **changes)

    def test_header_and_password_from_files(self):
        world = self.world()
        server = self.server()
        secret = world.write("../secret", "X-Token: s3cret-one\n")
        server.knows = lambda headers: headers["X-Token"] == "s3cret-one"
        result = self.private(world, server, f"    header_file: {secret}\n")
        self.assert_status(result, DONE)
        self.assert_no_secret(result, "s3cret-one")
        password = world.write("../password", "s3cret-two\n")
        server.knows = lambda headers: headers["Authorization"] == "Basic " + base64.b64encode(b"ann:s3cret-two").decode()
        result = self.private(world, server, f"    username: ann\n    password_file: {password}\n", TENDER_STATE_DIR=world.root / "second")
        self.assert_status(result, DONE)
        self.assert_no_secret(result, "s3cret-two")
        result = self.private(world, server, "    header_file: /does/not/exist\n", TENDER_STATE_DIR=world.root / "third")
        self.assert_status(result, PARTIAL)
        self.assertIn("/does/not/exist", result.stdout + result.stderr)

    def test_netrc(self):
        world = self.world()
        server = self.server()
        netrc = world.write("../netrc", "machine other.example.com login eve password no\n# ours\nmachine 127.0.0.1\n  login ann\n  password s3cret\n")
        server.knows = lambda headers: headers["Authorization"] == "Basic " + base64.b64encode(b"ann:s3cret").decode()
        self.assert_status(self.fetch(world, server.url("/private/a.deb")), PARTIAL)
        result = self.fetch(world, server.url("/private/a.deb"), TENDER_NETRC_FILE=netrc)
        self.assert_status(result, DONE)
        self.assert_no_secret(result, "s3cret")

    def test_netrc_stays_with_the_source(self):
        """Its default, and a machine's entry, are for the source's own origin: a redirect names its own."""
        for entry in ("default login ann password s3cret\n", "machine 127.0.0.1 login ann password s3cret\n"):
            world = self.world()
            server, other = self.server(), self.server()
            server.targets["other"] = other.url("/a.deb")
            netrc = world.write("../netrc", entry)
            self.assert_status(self.fetch(world, server.url("/to/other"), TENDER_NETRC_FILE=netrc), DONE)
            self.assertIn("Authorization", server.seen[0][1])
            self.assertNotIn("Authorization", other.seen[0][1])

    def test_credentials_stay_with_their_origin(self):
        """G10: what is meant for one origin is never sent to another one, whatever redirects."""
        world = self.world()
        server, other = self.server(), self.server()
        server.targets["other"] = other.url("/a.deb")
        world.write("tender.yml", f"sources:\n  - prefix: {server.url('/')}\n    header: \"X-Token: s3cret\"\n    username: ann\n    password: s3cret\n")
        self.assert_status(self.fetch(world, server.url("/to/other")), DONE)
        self.assertEqual(server.seen[0][1]["X-Token"], "s3cret")
        self.assertNotIn("s3cret", str(other.seen))
        self.assertNotIn("Authorization", other.seen[0][1])

    def test_other_schemes_are_named(self):
        """C8: what is not fetched says so, and what to do."""
        world = self.world()
        result = self.fetch(world, "s3://bucket/a.deb")
        self.assertNotEqual(result.status, DONE)
        self.assertIn("http:// and https:// work", result.stdout + result.stderr)

    def test_report_comes_before_the_deadline(self):
        script = {"packages": {"/slow.deb": {"size": 1 << 20, "seed": 1, "behaviours": [{"do": "stall", "after_bytes": 1000, "ms": 600000}]}}}
        world = self.world(script=script)
        world.team("Workstations", "/slow.deb")
        result = world.tender("apply", "--deadline", "4s", TENDER_STALL_TIME="10m")
        self.assert_status(result, PARTIAL)
        self.assertIn("deadline", result.stdout + result.stderr)

    def test_deadline_ends_a_silent_api(self):
        faults = [{"method": "POST", "path": path, "nth": 1, "do": "delay_ms", "delay_ms": 150000} for path in ("/software/batch", "/software/package")]
        world = self.world(script={"api": faults})
        world.team("Workstations", {"url": "/alpha_1.0_amd64.deb", "hash_sha256": support.sha256_of("alpha_1.0_amd64.deb")})
        result = world.tender("apply", "--deadline", "4s")
        self.assertNotEqual(result.status, DONE)
        self.assertIsNotNone(result.report)
        self.assertIn("deadline", result.stdout + result.stderr)


if __name__ == "__main__":
    unittest.main()
