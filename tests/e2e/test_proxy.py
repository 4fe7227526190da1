"""One rule for proxies and one CA for packages, Fleet's API and Git (C15, C16)."""

import base64
import os
import select
import socket
import struct
import ssl
import subprocess
import threading
import time
import unittest
import http.server
import urllib.parse

import support
from support import DONE, FAILED, PARTIAL
from test_sources import DIGEST, Server, hand_on, make_certificates


class Proxy(http.server.ThreadingHTTPServer):
    """A forward proxy. `seen`: "GET host:port" or "CONNECT host:port" of each request. `login`: what it asks for. `routes`: name → where it really is."""

    daemon_threads = True

    def __init__(self, login=None):
        super().__init__(("127.0.0.1", 0), ProxyHandler)
        self.seen, self.login, self.refuses, self.routes = [], login, None, {}
        self.times, self.asks_for = [], None
        self.address = f"127.0.0.1:{self.server_port}"
        self.thread = threading.Thread(target=self.serve_forever, args=(0.05,))
        self.thread.start()

    def handle_error(self, *_):
        pass

    def close(self):
        self.shutdown()
        self.thread.join()
        self.server_close()


class ProxyHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def may_pass(self, target):
        self.server.seen.append(f"{self.command} {target}")
        self.server.times.append(time.monotonic())
        login = self.server.login and "Basic " + base64.b64encode(self.server.login.encode()).decode()
        status = 407 if login and self.headers["Proxy-Authorization"] != login else self.server.refuses
        if status is None:
            return True
        self.send_response(status)
        if status == 407:
            self.send_header("Proxy-Authenticate", 'Basic realm="proxy"')
        if self.server.asks_for:
            self.send_header("Retry-After", self.server.asks_for)
        self.send_header("Content-Length", "0")
        self.end_headers()
        return False

    def connect(self, target):
        host, port = self.server.routes.get(target.rsplit(":", 1)[0], target).rsplit(":", 1)
        return socket.create_connection((host, int(port)))

    def pump(self, there):
        sides = {self.connection: there, there: self.connection}
        while True:
            for side in select.select(list(sides), [], [], 30)[0] or [None]:
                data = side.recv(65536) if side else b""
                if not data:
                    return
                sides[side].sendall(data)

    def do_CONNECT(self):  # noqa: N802
        self.close_connection = True
        if self.may_pass(self.path):
            with self.connect(self.path) as there:
                self.connection.sendall(b"HTTP/1.1 200 connected\r\n\r\n")
                self.pump(there)

    def plain(self):
        url = urllib.parse.urlsplit(self.path)
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        if not self.may_pass(url.netloc):
            return
        self.close_connection = True
        target = urllib.parse.urlunsplit(("", "", url.path, url.query, ""))
        headers = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items() if name.lower() not in ("connection", "proxy-authorization"))
        with self.connect(url.netloc) as there:
            there.sendall(f"{self.command} {target} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n".encode() + body)
            while data := there.recv(65536):
                self.connection.sendall(data)

    do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = plain


class GitHandler(http.server.BaseHTTPRequestHandler):
    """Git's own HTTP back end, by CGI."""

    def log_message(self, *_):
        pass

    def say(self, status, **headers):
        self.send_response(status)
        for name, value in {"Content-Length": "0", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def is_odd(self):
        self.server.logins.append(self.headers["Authorization"])
        wanted = self.server.login and "Basic " + base64.b64encode(self.server.login.encode()).decode()
        if wanted and self.headers["Authorization"] != wanted:
            self.say(401, WWW_Authenticate='Basic realm="git"')
        elif self.server.ills and "info/refs" in self.path:
            ill = self.server.ills.pop(0)
            if ill == "close":
                self.close_connection = True
            else:
                self.say(ill)
        elif self.server.pack_ills and self.command == "POST":
            self.rfile.read(int(self.headers["Content-Length"] or 0))
            self.server.posts.append(time.monotonic())
            self.play(self.server.pack_ills.pop(0))
        elif self.server.moved_to is not None:
            self.say(301, Location=self.server.moved_to + self.path)
        elif self.path.startswith("/loop"):
            self.say(302, Location=self.path)
        elif self.path.startswith("/ftp"):
            self.say(302, Location="ftp://example.com/x/info/refs")
        elif self.path.startswith("/nothing"):
            self.say(404)
        elif self.path.startswith("/page"):
            self.say(200, Content_Type="text/html")
        else:
            return False
        return True

    def play(self, ill):
        """A pack that does not come: a status, a reset, a head without a body (or with its beginning)."""
        self.close_connection = True
        if ill == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
        elif ill in ("cut", "late"):
            self.say(200, Content_Type="application/x-git-upload-pack-result", Content_Length="1000")
            if ill == "late":
                self.wfile.write(b"0008NAK\n")
                self.wfile.flush()
                time.sleep(0.3)
        else:
            self.say(ill, Retry_After="1")

    def run(self):
        if self.is_odd():
            return
        path, _, query = urllib.parse.urlsplit(self.path)._replace(scheme="", netloc="").geturl().partition("?")
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        if self.headers["Transfer-Encoding"] == "chunked":
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
        environment = {**os.environ, "GIT_PROJECT_ROOT": str(self.server.folder), "GIT_HTTP_EXPORT_ALL": "1", "REQUEST_METHOD": self.command,
                       "PATH_INFO": path, "QUERY_STRING": query, "CONTENT_TYPE": self.headers["Content-Type"] or "", "CONTENT_LENGTH": str(len(body)),
                       "HTTP_CONTENT_ENCODING": self.headers["Content-Encoding"] or "", "REMOTE_ADDR": "127.0.0.1"}
        answer = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True, check=False).stdout
        head, _, rest = answer.partition(b"\r\n\r\n")
        self.send_response(200)
        for line in head.decode().split("\r\n"):
            name, _, value = line.partition(": ")
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest)

    do_GET = do_POST = run


class GitServer(Server):
    def __init__(self, folder, context=None):
        super().__init__(context)
        self.folder, self.RequestHandlerClass = folder, GitHandler
        self.login, self.logins, self.moved_to, self.ills = None, [], None, []
        self.pack_ills, self.posts = [], []


class Relay(socket.socket):
    """TLS in front of a plain server, with the world's certificate."""

    def __init__(self, context, port):
        super().__init__(socket.AF_INET, socket.SOCK_STREAM)
        self.bind(("127.0.0.1", 0))
        self.listen(16)
        self.context, self.port, self.address = context, port, f"127.0.0.1:{self.getsockname()[1]}"
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                client, _ = self.accept()
            except OSError:
                return
            threading.Thread(target=self.one, args=(client,), daemon=True).start()

    def one(self, client):
        try:
            with self.context.wrap_socket(client, server_side=True) as here, socket.create_connection(("127.0.0.1", self.port)) as there:
                other = threading.Thread(target=hand_on, args=(there, here), daemon=True)
                other.start()
                hand_on(here, there)
                other.join(10)
        except OSError:
            pass


def has_git_http():
    path = subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True).stdout.strip()
    return os.path.exists(os.path.join(path, "git-http-backend"))


@unittest.skipUnless(has_git_http(), "needs git-http-backend")
class ProxyAndCA(support.EndToEnd):
    def scene(self, tls=False):
        """A world whose package host, Fleet and Git server are all behind one CA (or plain): their addresses."""
        world = self.world()
        context = None
        if tls:
            folder = world.root / "certificates"
            make_certificates(folder)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(folder / "server.pem", folder / "server.key")
        packages, git = Server(context), GitServer(world.root / "git", context)
        self.git_server = git
        for server in (packages, git):
            self.addCleanup(server.close)
        fleet = urllib.parse.urlsplit(world.fleet_url)
        if tls:
            relay = Relay(context, fleet.port)
            self.addCleanup(relay.close)
            fleet = urllib.parse.urlsplit(f"https://{relay.address}")
        self.packages, self.git, self.fleet = (f"127.0.0.1:{packages.server_port}", f"127.0.0.1:{git.server_port}", fleet.netloc)
        world.team("Workstations", {"url": packages.url("/a.deb"), "hash_sha256": DIGEST})
        self.commit(world)
        self.changes = {"TENDER_DIR": None, "TENDER_REPOSITORY": git.url("/repository.git"), "FLEET_URL": fleet.geturl(), "TENDER_RETRY_ATTEMPTS": "2"}
        return world

    def git_server_elsewhere(self, world):
        server = GitServer(world.root / "git")
        self.addCleanup(server.close)
        return server

    def commit(self, world, name="repository.git"):
        here = {"cwd": world.repository, "check": True, "capture_output": True}
        for arguments in (["init", "-q"], ["add", "-A"], ["-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "-qm", "one"]):
            subprocess.run(["git", *arguments], **here)
        subprocess.run(["git", "clone", "-q", "--bare", str(world.repository), str(world.root / "git" / name)], **here)

    def proxy(self, **arguments):
        proxy = Proxy(**arguments)
        self.addCleanup(proxy.close)
        return proxy

    def apply(self, world, command="plan", **changes):
        return world.tender(command, **{**self.changes, **changes})

    def through(self, proxy):
        return {line.split()[1] for line in proxy.seen}

    def everything(self):
        return {self.packages, self.git, self.fleet}

    def test_one_ca_file_for_all(self):
        """C15: without it each of the three is refused; with it all are trusted."""
        world = self.scene(tls=True)
        refused = self.apply(world)
        self.assert_status(refused, FAILED)
        self.assertIn("its certificate or host key is not trusted", refused.stdout)
        refused = self.apply(world, TENDER_REPOSITORY=None, TENDER_DIR=str(world.repository))
        self.assert_status(refused, FAILED)
        self.assertIn("certificate", refused.stdout)
        self.assert_status(self.apply(world, "apply", TENDER_CA_FILE=world.root / "certificates" / "ca.pem"), PARTIAL)  # no real package
        self.assertIn(DIGEST, [path.name for path in (world.state / "cache").rglob("*")], "all three were reached")

    def test_one_rule_for_plain_http(self):
        """C16: packages, Fleet and Git go through the same proxy, whatever the variable's case."""
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            with self.subTest(variable=name):
                world, proxy = self.scene(), self.proxy()
                self.apply(world, "apply", **{name: f"http://{proxy.address}"})
                self.assertEqual(self.through(proxy), self.everything())

    def test_without_a_scheme(self):
        world, proxy = self.scene(), self.proxy()
        self.apply(world, "apply", http_proxy=proxy.address)
        self.assertEqual(self.through(proxy), self.everything())

    def test_one_rule_for_https(self):
        for name in ("https_proxy", "HTTPS_PROXY"):
            with self.subTest(variable=name):
                world, proxy = self.scene(tls=True), self.proxy()
                self.apply(world, "apply", TENDER_CA_FILE=world.root / "certificates" / "ca.pem", **{name: f"http://{proxy.address}"})
                self.assertEqual(self.through(proxy), self.everything())
                self.assertEqual({line.split()[0] for line in proxy.seen}, {"CONNECT"})

    def test_the_other_scheme_s_variable_does_not_count(self):
        world, proxy = self.scene(), self.proxy()
        self.apply(world, "apply", https_proxy=f"http://{proxy.address}", HTTP_PROXY="", all_proxy="")
        self.assertEqual(proxy.seen, [])

    def test_exceptions(self):
        """C16: no_proxy means the same for all three: addresses, blocks, "*", names with what ends with them."""
        for name, value, is_excepted in (("no_proxy", "127.0.0.1", True), ("NO_PROXY", "example.com, 127.0.0.0/8", True), ("no_proxy", "*", True),
                                         ("no_proxy", "example.com,10.0.0.1", False)):
            with self.subTest(value=value):
                world, proxy = self.scene(), self.proxy()
                self.apply(world, "apply", http_proxy=f"http://{proxy.address}", **{name: value})
                self.assertEqual(self.through(proxy), set() if is_excepted else self.everything())

    def test_names_below_a_name_are_excepted(self):
        """libgit2 by itself takes no_proxy's names exactly; curl what ends with them, too. Through the proxy alone these names lead anywhere."""
        world, proxy = self.scene(), self.proxy()
        proxy.routes = {"git.corp.example": self.git, "fleet.corp.example": self.fleet}
        changes = {"TENDER_REPOSITORY": "http://git.corp.example/repository.git", "http_proxy": f"http://{proxy.address}"}
        self.apply(world, **changes)
        self.assertIn("git.corp.example", self.through(proxy))
        proxy.seen.clear()
        for value in ("corp.example", ".corp.example", "x, CORP.example"):
            result = self.apply(world, no_proxy=value, **changes, TENDER_STATE_DIR=world.root / "fresh")
            self.assert_status(result, FAILED)
            self.assertNotIn("git.corp.example", self.through(proxy))

    def test_a_login(self):
        """Its user and password serve all three, and are never shown."""
        world, proxy = self.scene(), self.proxy(login="bob:s3cret pw")
        result = self.apply(world, "apply", http_proxy=f"http://bob:s3cret%20pw@{proxy.address}", TENDER_LOG_LEVEL="debug")
        self.assertEqual(self.through(proxy), self.everything())
        self.assertIn(DIGEST, [path.name for path in (world.state / "cache").rglob("*")])
        self.assert_no_secret(result, "s3cret")

    def test_a_login_that_is_missing(self):
        """A 407 is permanent, and names the proxy: for Git, for Fleet, for packages, for tunnels. The wrong password is not shown."""
        for tls in (False, True):
            world, proxy = self.scene(tls=tls), self.proxy(login="bob:right")
            url = f"http://bob:wr0ng@{proxy.address}"
            changes = {"http_proxy": url, "https_proxy": url, "TENDER_CA_FILE": world.root / "certificates" / "ca.pem" if tls else None}
            for part, settings in (("git", {}), ("fleet", {"TENDER_REPOSITORY": None, "TENDER_DIR": str(world.repository)}),
                                   ("packages", {"TENDER_REPOSITORY": None, "TENDER_DIR": str(world.repository)})):
                with self.subTest(part=part, tls=tls):
                    proxy.seen.clear()
                    result = self.apply(world, "fetch" if part == "packages" else "plan", **{**changes, **settings})
                    self.assertNotEqual(result.status, DONE)
                    self.assertIn(f"{proxy.address}", result.stderr + result.stdout)
                    self.assertIn("407", result.stderr + result.stdout)
                    self.assertLessEqual(len(proxy.seen), 2, "another try would hear the same")
                    self.assert_no_secret(result, "wr0ng")

    def test_a_tunnel_that_is_refused(self):
        """403 to CONNECT is the proxy's policy: asked once more only. 503 may pass."""
        world, proxy = self.scene(tls=True), self.proxy()
        changes = {"https_proxy": f"http://{proxy.address}", "TENDER_REPOSITORY": None, "TENDER_DIR": str(world.repository), "TENDER_RETRY_ATTEMPTS": "4"}
        proxy.refuses = 403
        result = self.apply(world, "fetch", **changes)
        self.assert_status(result, PARTIAL)
        self.assertIn(f"the proxy http://{proxy.address} opens no tunnel (HTTP 403)", result.stderr.replace(f"{proxy.address}/", proxy.address))
        self.assertEqual(len(proxy.seen), 2)
        proxy.seen.clear()
        proxy.refuses = 503
        self.assert_status(self.apply(world, "fetch", **changes), PARTIAL)
        self.assertEqual(len(proxy.seen), 4)

    def test_a_proxy_that_asks_for_a_pause(self):
        """Its Retry-After is honoured as a host's is, for packages, Git and Fleet."""
        world, proxy = self.scene(tls=True), self.proxy()
        proxy.refuses, proxy.asks_for = 503, "2"
        changes = {"https_proxy": f"http://{proxy.address}", "TENDER_RETRY_INITIAL": "10ms"}
        local = {"TENDER_REPOSITORY": None, "TENDER_DIR": str(world.repository)}
        for part, command, settings in (("git", "plan", {}), ("fleet", "plan", local), ("packages", "fetch", local)):
            with self.subTest(part=part):
                proxy.seen.clear()
                proxy.times.clear()
                result = self.apply(world, command, **{**changes, **settings})
                self.assertIn("opens no tunnel (HTTP 503, Retry-After 2 s)", result.stdout + result.stderr)
                self.assertEqual(len(proxy.times), 2)
                self.assertGreaterEqual(proxy.times[1] - proxy.times[0], 2)

    def test_a_proxy_that_is_not_there(self):
        world = self.scene()
        result = self.apply(world, "fetch", http_proxy="http://bob:s3cret@127.0.0.1:9", TENDER_REPOSITORY=None, TENDER_DIR=str(world.repository))
        self.assert_status(result, PARTIAL)
        self.assertIn("through the proxy http://***@127.0.0.1:9", result.stderr)
        self.assert_no_secret(result, "s3cret")

    def test_an_origin_s_own_407(self):
        """Without a proxy 407 is a status like others."""
        world = self.scene()
        odd = self.proxy(login="x:y")
        world.team("Workstations", {"url": f"http://{odd.address}/a.deb"})
        result = self.apply(world, "fetch", TENDER_REPOSITORY=None, TENDER_DIR=str(world.repository))
        self.assert_status(result, PARTIAL)
        self.assertIn("but no proxy is in use", result.stderr)

    def test_git_asks_for_a_login(self):
        """Asked for once, given once, to this host only, never shown."""
        world = self.scene()
        self.git_server.login = "bob:s3cret"
        for changes, words in (({}, "asks for credentials, and none are given"), ({"TENDER_GIT_PASSWORD": "wr0ng"}, "refuses the credentials")):
            result = self.apply(world, **changes)
            self.assert_status(result, FAILED)
            self.assertIn(words, result.stdout)
            self.assert_no_secret(result, "wr0ng")
        for changes in ({"TENDER_GIT_USERNAME": "bob", "TENDER_GIT_PASSWORD": "s3cret"}, {"TENDER_REPOSITORY": f"http://bob:s3cret@{self.git}/repository.git"},
                        {"TENDER_REPOSITORY": f"http://bob@{self.git}/repository.git", "TENDER_GIT_PASSWORD": "s3cret", "TENDER_LOG_LEVEL": "debug"}):
            result = self.apply(world, TENDER_STATE_DIR=world.root / f"state-{len(changes)}", **changes)
            self.assertNotIn("can't fetch", result.stdout)
            self.assert_no_secret(result, "s3cret")

    def test_git_moved(self):
        """The list's redirect is followed, and packs are asked for there; a login does not go along to another host."""
        world = self.scene()
        old = self.git_server_elsewhere(world)
        old.moved_to = f"http://{self.git}"
        result = self.apply(world, TENDER_REPOSITORY=old.url("/repository.git"))
        self.assertNotIn("can't fetch", result.stdout)
        self.git_server.login = "bob:s3cret"
        result = self.apply(world, TENDER_REPOSITORY=old.url("/repository.git"), TENDER_GIT_PASSWORD="s3cret", TENDER_GIT_USERNAME="bob", TENDER_STATE_DIR=world.root / "fresh")
        self.assert_status(result, FAILED)
        self.assertNotIn("Basic", str(self.git_server.logins))

    def test_git_that_is_none(self):
        world = self.scene()
        for path, words in (("/nothing.git", f"HTTP 404 from {self.git} (if it is private: TENDER_GIT_USERNAME"), ("/page", "is no Git repository"), ("/loop", "more than 5 redirects"), ("/ftp", "which is no Git repository's address")):
            result = self.apply(world, TENDER_REPOSITORY=f"http://{self.git}{path}")
            self.assert_status(result, FAILED)
            self.assertIn(words, result.stdout)

    def test_a_large_repository(self):
        """More than is held in memory at once."""
        world = self.scene()
        (world.repository / "big").write_bytes(os.urandom(9 * 1024 * 1024))
        self.commit(world, "repository-2.git")
        result = self.apply(world, "fetch", TENDER_REPOSITORY=f"http://{self.git}/repository-2.git")
        self.assert_status(result, DONE)

    def test_git_host_in_trouble(self):
        """H15: a Git host is asked again as package hosts are; what it says for good is taken at once."""
        world = self.scene()
        self.changes["TENDER_RETRY_ATTEMPTS"] = "4"
        for ills, words, requests in (([502, "close", 503], None, 4), ([502] * 9, "given up after 4 attempts: HTTP 502", 4), ([404] * 9, "HTTP 404", 1)):
            self.git_server.ills, self.git_server.logins = list(ills), []
            result = self.apply(world, TENDER_STATE_DIR=world.root / f"state-{ills[0]}-{len(ills)}")
            lists = len(ills) - len(self.git_server.ills) + (words is None)
            self.assertEqual(lists, requests, result.stdout)
            self.assertEqual("the repository: " in result.stderr, requests > 1)
            self.assertIn(words or "tender plan", result.stdout)

    def test_git_host_in_trouble_at_the_pack(self):
        """H15: the same for the request of a pack, counted by itself, as long as none of it was used."""
        world = self.scene()
        self.changes.update(TENDER_RETRY_ATTEMPTS="3", TENDER_RETRY_INITIAL="10ms")
        cases = (("passes", [503], ["reset", 503], None, 2), ("cut", [], ["cut", "cut"], None, 2), ("dead", [503, 502], [503] * 9, "given up after 3 attempts: HTTP 503", 3),
                 ("gone", [], [404] * 9, "HTTP 404", 1), ("late", [], ["late"] * 9, "", 1))
        for name, ills, pack_ills, words, posts in cases:
            with self.subTest(case=name):
                self.git_server.ills, self.git_server.pack_ills, self.git_server.posts = list(ills), list(pack_ills), []
                result = self.apply(world, TENDER_STATE_DIR=world.root / f"state-{name}")
                self.assertEqual(len(self.git_server.posts), posts, result.stdout)
                self.assertEqual("can't fetch" in result.stdout, words is not None, result.stdout)
                self.assertIn(words or "", result.stdout)
                if name == "dead":
                    self.assertGreaterEqual(self.git_server.posts[2] - self.git_server.posts[0], 2, "Retry-After")

    def test_git_through_socks(self):
        world = self.scene()
        result = self.apply(world, all_proxy="socks5://127.0.0.1:9")
        self.assert_status(result, FAILED)
        self.assertIn("connection refused, through the proxy socks5://127.0.0.1:9", result.stdout)


if __name__ == "__main__":
    unittest.main()
