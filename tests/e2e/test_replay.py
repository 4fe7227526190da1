"""Plays recorded exchanges with a real Fleet 4.69 server to fleetsim and compares statuses, content types and bodies.

Whatever may differ stands in ALLOWED, with its reason; any other difference fails. A rule that no recording needs fails too."""

import copy
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
RECORDINGS = HERE.parent / "recordings"
PACKAGES = RECORDINGS / "packages"
FLEETSIM = os.environ.get("FLEETSIM", str(HERE.parent.parent / "build/dev/cmd/fleetsim/fleetsim"))
ORIGIN = "http://127.0.0.1:9090"
TOKENS = {"admin": "admin-token", "maintainer": "maintainer-token", "observer": "observer-token", "gitops": "gitops-token",
          "teammaint": "a-team-token", "teamgitops": "another-team-token", "bad": "nobody-has-this"}
TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")
UUID = re.compile(r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


def is_time(path, recorded, got):
    """Both are times, and both with or both without a fraction (it is what tells a new row from a changed one)."""
    shapes = [TIME.match(value) for value in (recorded, got) if isinstance(value, str)]
    return len(shapes) == 2 and all(shapes) and not recorded.startswith("0001") and bool(shapes[0].group(1)) == bool(shapes[1].group(1))


def is_uuid(path, recorded, got):
    return path.split(".")[-1] in ("uuid", "request_uuid") and bool(UUID.match(recorded)) and bool(UUID.match(got))


def is_version(path, recorded, got):
    return path in ("version", "branch", "revision", "go_version", "build_date", "build_user") and isinstance(got, str)


def is_default_script(path, recorded, got):
    match = re.match(r"^\(the default (install|uninstall) script, (\w+)\)$", str(recorded))
    return bool(match) and path.endswith(match.group(1) + "_script") and f"fleetsim's default for .{match.group(2)} packages" in got


def is_label_query(path, recorded, got):
    return re.match(r"^labels\[\d+\]\.query$", path) is not None and got == "select 1"


def is_ephemeral_port(path, recorded, got):
    def without(text):
        return re.sub(r"(\d+\.\d+\.\d+\.\d+):\d+->", r"\1:*->", text)
    return path == "message" and "->" in recorded and without(recorded) == without(got)


def is_download_of_each_batch(asked, recorded, got):
    """The same URLs, and none oftener than batches asked for it since the last look: so nothing was retried."""
    return recorded.keys() == got.keys() and all(got[name] in (recorded[name], asked.get(name, 0)) for name in got)


# What may differ, and why. Ids are not here: they are mapped one to one (Ids below), so a wrong one is found.
ALLOWED = {
    "time": (is_time, "each server has its own clock; the shape must be the same"),
    "uuid": (is_uuid, "random for each answer"),
    "version": (is_version, "the recorded server was built without version information"),
    "default script": (is_default_script, "the real scripts are not in the recordings; fleetsim has a wording of its own"),
    "label query": (is_label_query, "the labels of the recordings are made by name only here"),
    "ephemeral port": (is_ephemeral_port, "the port that the server's download went out from"),
    "download of each batch": (is_download_of_each_batch, "in 04 two batches in a row needed one URL (without a digest, then with a wrong one) and the "
                               "origin server's count is 1; the server can't judge bytes that it did not download, so the count is taken for a yes"),
}

# Which number in an answer is whose id: the key, and for "id" the list or object that it stands in.
ID_KEYS = {"team_id": "team", "title_id": "title", "software_title_id": "title", "installer_id": "installer",
           "fleet_maintained_app_id": "app", "author_id": "user"}
ID_PARENTS = {"team": "team", "teams": "team", "available_teams": "team", "software_title": "title", "software_titles": "title",
              "labels": "label", "labels_include_any": "label", "labels_exclude_any": "label", "policy": "policy",
              "automatic_install_policies": "policy", "user": "user", "fleet_maintained_apps": "app"}
# Ids and batch uuids inside sentences and e-mail addresses.
ID_TEXTS = [(re.compile(r"(SoftwareTitle )(\d+)"), "title"), (re.compile(r"(title IDs not available: )(\d+)"), "title"),
            (re.compile(r"(software installer: )(\d+)"), "installer"), (re.compile(r"(teamgitops)(\d+)"), "team")]


class Ids:
    """Recorded ids to fleetsim's: one to one, learnt where both are first seen."""

    def __init__(self):
        self.pairs = {}

    def learn(self, kind, recorded, got):
        known = self.pairs.setdefault(kind, {})
        if recorded not in known and got not in known.values():
            known[recorded] = got
        return known.get(recorded) == got

    def get(self, kind, recorded):
        return self.pairs.get(kind, {}).get(recorded, recorded)

    def in_text(self, text):
        for pattern, kind in ID_TEXTS:
            text = pattern.sub(lambda match: match.group(1) + str(self.get(kind, int(match.group(2)))), text)
        return text


class Server:
    """A fleetsim in a folder of its own, as the recorded server stood at the beginning."""

    def __init__(self, start, with_apps, with_team_users):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fleetsim-replay-"))
        self.log = self.folder / "requests.jsonl"
        self.seen = 0
        self.process = None
        self.command = [FLEETSIM, "--state", str(self.folder / "state"), "--packages", str(PACKAGES), "--log", str(self.log),
                        "--ready", str(self.folder / "ready.json")]
        for team in start["teams"]:
            self.command += ["--team", team["name"]]
        for label in start["labels"]:
            if label["label_type"] == "regular":
                self.command += ["--label", label["name"]]
        if with_team_users:
            for role in ("teammaint", "teamgitops"):
                self.command += ["--token", f"{role}:Workstations={TOKENS[role]}"]
        # The catalogue names URLs of the package host, so its port is chosen before.
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.command += ["--package-listen", f"127.0.0.1:{port}"]
        if with_apps:
            catalogue = self.folder / "catalogue.json"
            catalogue.write_text(json.dumps(CATALOGUE).replace(ORIGIN, f"http://127.0.0.1:{port}"))
            self.command += ["--catalogue", str(catalogue)]
        self.start()

    def start(self):
        ready = self.folder / "ready.json"
        ready.unlink(missing_ok=True)
        self.process = subprocess.Popen(self.command)
        deadline = time.monotonic() + 20
        while not ready.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("fleetsim did not start")
            time.sleep(0.02)
        urls = json.loads(ready.read_text())
        self.address = urllib.parse.urlsplit(urls["fleet_url"]).netloc
        self.package_url = urls["package_url"]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(30) != 0:
            raise RuntimeError(f"fleetsim ended with {self.process.returncode}")

    def close(self):
        try:
            if self.process.poll() is None:
                self.stop()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def ask(self, method, target, headers, body):
        connection = http.client.HTTPConnection(self.address, timeout=60)
        try:
            connection.request(method, target, body=body, headers=headers)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def downloads(self):
        """Requests to the package host since the last call: "GET /path?query" → how many."""
        rows = [json.loads(line) for line in self.log.read_text().splitlines()]
        new, self.seen = rows[self.seen:], len(rows)
        counts = {}
        for row in new:
            if row["server"] == "packages":
                name = f"{row['method']} {row['path']}" + (f"?{row['query']}" if row["query"] else "")
                counts[name] = counts.get(name, 0) + 1
        return counts


# What the stand-ins for Apple and for the catalogue of maintained apps had.
CATALOGUE = {
    "maintained_apps": [
        {"id": 3, "name": "Demo One", "slug": "demo-one/darwin", "platform": "darwin", "bundle_identifier": "com.example.one", "version": "1.0",
         "url": ORIGIN + "/demo-one-1.0.dmg", "sha256": "89c6a4a72454d01a89fa7931ce2210edfbc16384a729491ac093fb9c1ae43795",
         "install_script": "#!/bin/sh\ninstall it", "uninstall_script": "#!/bin/sh\nremove it", "categories": ["Productivity"]},
        {"id": 4, "name": "Demo Two", "slug": "demo-two/windows", "platform": "windows", "version": "2.3.4",
         "url": ORIGIN + "/demo-two-2.3.4.msi", "sha256": "a4c24e46e4116cd6745907e8777d800b5bc0088d07488519d0f558fc4cab66c5",
         "install_script": "install it", "uninstall_script": "remove it", "categories": ["Productivity"]},
    ],
    "app_store_apps": [
        {"app_store_id": "1001", "name": "Mac App", "bundle_identifier": "com.example.mac", "latest_version": "7.0", "icon_url": "http://127.0.0.1/x.png",
         "platforms": ["darwin"]},
        {"app_store_id": "1002", "name": "Phone App", "bundle_identifier": "com.example.ios", "latest_version": "7.0", "icon_url": "http://127.0.0.1/x.png",
         "platforms": ["ios"]},
        {"app_store_id": "1003", "name": "Both App", "bundle_identifier": "com.example.both", "latest_version": "7.0", "icon_url": "http://127.0.0.1/x.png",
         "platforms": ["darwin", "ios", "ipados"]},
    ],
    "app_store_teams": ["Workstations"],
}


def expanded(value):
    """"(300000 times x)" as it was sent."""
    if isinstance(value, str):
        match = re.match(r"^\((\d+) times (\w)\)$", value)
        return match.group(2) * int(match.group(1)) if match else value
    if isinstance(value, dict):
        return {key: expanded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [expanded(inner) for inner in value]
    return value


class Replay:
    """One recording played to one server."""

    used = set()  # of ALLOWED, over all recordings

    def __init__(self, test, name, with_apps=False, with_team_users=False):
        self.test = test
        self.recording = json.loads((RECORDINGS / name).read_text())
        self.server = Server(self.recording["start"], with_apps, with_team_users)
        test.addCleanup(self.server.close)
        self.ids = Ids()
        self.uuids = {}
        self.asked = {}  # "GET /path" → how many batches asked for it since the last look at the origin server
        self.problems = []
        status, _, body = self.server.ask("GET", "/api/latest/fleet/teams", {"Authorization": "Bearer admin-token"}, None)
        test.assertEqual(status, 200)
        teams = {team["name"]: team["id"] for team in json.loads(body)["teams"]}
        for team in self.recording["start"]["teams"]:
            self.ids.learn("team", team["id"], teams[team["name"]])

    # ---- requests

    def here(self, value):
        """The package host's address in the place of the recorded one."""
        ours = urllib.parse.urlsplit(self.server.package_url).netloc
        return json.loads(json.dumps(value).replace(urllib.parse.urlsplit(ORIGIN).netloc, ours))

    def target(self, path):
        path = re.sub(r"(/titles/)(\d+)", lambda match: match.group(1) + str(self.ids.get("title", int(match.group(2)))), path)
        path = re.sub(r"(/teams/|[?&]team_id=)(\d+)", lambda match: match.group(1) + str(self.ids.get("team", int(match.group(2)))), path)
        return re.sub(r"(/batch/)([0-9a-f-]{36})", lambda match: match.group(1) + self.uuids.get(match.group(2), match.group(2)), path)

    def json_body(self, body):
        body = expanded(self.here(copy.deepcopy(body)))
        if "team_id" in body:
            body["team_id"] = self.ids.get("team", body["team_id"])
        if "software_title_id" in body:
            body["software_title_id"] = self.ids.get("title", body["software_title_id"])
        if "software_title_ids" in body:
            body["software_title_ids"] = [self.ids.get("title", number) for number in body["software_title_ids"]]
        return json.dumps(body).encode()

    def form(self, form):
        boundary = "----replayed-form-boundary"
        parts = []
        for name, value in form["fields"]:
            if name == "team_id" and value.isdigit():
                value = str(self.ids.get("team", int(value)))
            parts.append(f'Content-Disposition: form-data; name="{name}"\r\n\r\n'.encode() + expanded(value).encode())
        for field, sent_name, file in form["files"]:
            head = f'Content-Disposition: form-data; name="{field}"; filename="{sent_name.replace(chr(34), "%22")}"\r\nContent-Type: application/octet-stream\r\n\r\n'
            parts.append(head.encode() + (PACKAGES / file).read_bytes())
        body = b"".join(b"--" + boundary.encode() + b"\r\n" + part + b"\r\n" for part in parts) + b"--" + boundary.encode() + b"--\r\n"
        return body, f"multipart/form-data; boundary={boundary}"

    def send(self, step):
        request = step["request"]
        headers = {} if step["as"] is None else {"Authorization": "Bearer " + TOKENS[step["as"]]}
        body = None
        if "json" in request:
            body, headers["Content-Type"] = self.json_body(request["json"]), "application/json"
        elif "raw" in request:
            body, headers["Content-Type"] = self.here(request["raw"]).encode(), "application/json"
        elif "multipart" in request:
            body, headers["Content-Type"] = self.form(request["multipart"])
        return self.server.ask(request["method"], self.target(request["path"]), headers, body)

    def send_until_settled(self, step):
        """Of a batch the last poll was recorded: ask until it is no longer at work."""
        wanted = step["response"]["body"].get("status") if isinstance(step["response"]["body"], dict) else None
        deadline = time.monotonic() + 30
        while True:
            answer = self.send(step)
            if wanted not in ("completed", "failed") or json.loads(answer[2]).get("status") != "processing" or time.monotonic() > deadline:
                return answer
            time.sleep(0.05)

    # ---- comparing

    def problem(self, path, recorded, got):
        self.problems.append(f"{path or 'body'}: recorded {str(recorded)[:300]!r}, got {str(got)[:300]!r}")

    def id_kind(self, path):
        keys = [part.split("[")[0] for part in path.split(".")]
        if keys[-1] in ID_KEYS:
            return ID_KEYS[keys[-1]]
        return ID_PARENTS.get(keys[-2]) if keys[-1] == "id" and len(keys) > 1 else None

    def compare(self, path, recorded, got):
        if isinstance(recorded, dict) and isinstance(got, dict):
            if recorded.keys() != got.keys():
                self.problem(path, sorted(recorded), sorted(got))
            for key in recorded.keys() & got.keys():
                self.compare(f"{path}.{key}" if path else key, recorded[key], got[key])
        elif isinstance(recorded, list) and isinstance(got, list):
            if len(recorded) != len(got):
                self.problem(path + " (length)", len(recorded), len(got))
            if path == "packages":  # in no promised order
                recorded, got = (sorted(rows, key=lambda row: row["hash_sha256"]) for rows in (recorded, got))
            for index, (left, right) in enumerate(zip(recorded, got)):
                self.compare(f"{path}[{index}]", left, right)
        else:
            self.compare_value(path, recorded, got)

    def compare_value(self, path, recorded, got):
        kind = self.id_kind(path)
        if kind and type(recorded) is int and type(got) is int:
            if not self.ids.learn(kind, recorded, got):
                self.problem(f"{path} (an id of a {kind})", recorded, got)
            return
        if isinstance(recorded, str):
            recorded = self.ids.in_text(self.here(recorded))
        if type(recorded) is type(got) and recorded == got:
            return
        for name, (allows, _) in ALLOWED.items():
            if isinstance(recorded, str) and isinstance(got, str) and allows is not is_download_of_each_batch and allows(path, recorded, got):
                self.used.add(name)
                return
        self.problem(path, recorded, got)

    def compare_body(self, step, recorded, raw):
        if recorded is None:
            if raw:
                self.problem("body", None, raw)
        elif "_not_json" in recorded:
            text = recorded["_not_json"]
            if text.startswith("!<arch>"):  # the head of a package's bytes
                if raw != (PACKAGES / "alpha_1.1_amd64.deb").read_bytes() or not raw.decode("latin-1").startswith(text[:200]):
                    self.problem("bytes", text[:80], raw[:80])
            elif raw.decode() != text:
                self.problem("body", text, raw)
        else:
            body = json.loads(raw)
            if "request_uuid" in recorded and "request_uuid" in body:
                self.uuids[recorded["request_uuid"]] = body["request_uuid"]
            self.compare("", recorded, body)

    def compare_headers(self, recorded, got):
        got = {key: value for key, value in got.items() if key in ("Content-Type", "Content-Disposition")}
        if recorded != got:
            self.problem("headers", recorded, got)

    def check_downloads(self, step):
        deadline = time.monotonic() + 30
        counts = self.server.downloads()
        while counts != step["requests_seen"] and not is_download_of_each_batch(self.asked, step["requests_seen"], counts) and time.monotonic() < deadline:
            time.sleep(0.05)  # a line is written behind its answer
            for name, count in self.server.downloads().items():
                counts[name] = counts.get(name, 0) + count
        if counts != step["requests_seen"]:
            if is_download_of_each_batch(self.asked, step["requests_seen"], counts):
                self.used.add("download of each batch")
            else:
                self.problem("requests_seen", step["requests_seen"], counts)
        self.asked = {}

    def count_asked(self, step):
        for item in step["request"].get("json", {}).get("software") or []:
            if "url" in item:
                name = "GET " + item["url"].removeprefix(ORIGIN)
                self.asked[name] = self.asked.get(name, 0) + 1

    def run(self, before_step=None):
        self.server.downloads()
        for number, step in enumerate(self.recording["steps"]):
            if before_step:
                before_step(step)
            if step["as"] == "(the origin server)":
                self.check_downloads(step)
            else:
                self.count_asked(step)
                status, headers, raw = self.send_until_settled(step)
                if status != step["response"]["status"]:
                    self.problem("status", step["response"]["status"], f"{status} {raw[:300]}")
                else:
                    self.compare_headers(step["response"]["headers"], headers)
                    self.compare_body(step, step["response"]["body"], raw)
            if self.problems:
                shown = json.dumps(step.get("request"))[:600]
                self.test.fail(f"step {number} ({step.get('note', '')}) as {step['as']}: {shown}\n  " + "\n  ".join(self.problems))


class Recorded(unittest.TestCase):
    def test_01_basics(self):
        Replay(self, "01-basics.json").run()

    def test_02_upload(self):
        Replay(self, "02-upload.json").run()

    def test_03_edit_and_delete(self):
        Replay(self, "03-edit-and-delete.json").run()

    def test_04_batch_download(self):
        Replay(self, "04-batch-download.json").run()

    def test_05_batch_by_digest(self):
        Replay(self, "05-batch-by-digest.json").run()

    def test_06_roles_and_conflicts(self):
        Replay(self, "06-roles-and-conflicts.json", with_team_users=True).run()

    def test_07_limits(self):
        Replay(self, "07-limits.json").run()

    def test_08_maintained_apps(self):
        Replay(self, "08-maintained-apps-and-types.json", with_apps=True).run()

    def test_09_normalisation_and_secrets(self):
        Replay(self, "09-normalisation-and-secrets.json").run()

    def test_10_app_store_apps(self):
        Replay(self, "10-app-store-apps.json", with_apps=True).run()

    def test_11_setup_experience(self):
        Replay(self, "11-setup-experience.json", with_apps=True).run()

    def test_12_server_restarts(self):
        replay = Replay(self, "12-server-restarts.json")

        def restart(step):
            if step.get("note") == "after the restart, 0 s":
                replay.server.stop()
                replay.server.start()
        replay.run(restart)

    def test_each_allowed_difference_is_needed(self):
        """Runs last (by name): a rule that nothing needs would only hide a mistake."""
        if not all(name in self.ran for name in dir(self) if re.match(r"test_\d\d", name)):
            self.skipTest("only some of the recordings were played")
        self.assertEqual(sorted(ALLOWED), sorted(Replay.used))

    ran = set()

    def setUp(self):
        self.ran.add(self._testMethodName)


if __name__ == "__main__":
    unittest.main()
