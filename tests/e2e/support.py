"""What the end-to-end tests share: a world of one folder with a running fleetsim, a repository of manifests, and the real tender binary.

Standard library only. A test looks at exit status, report and the requests that the servers received."""

import datetime
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
RECORDED_PACKAGES = HERE.parent / "recordings" / "packages"
TENDER = os.environ.get("TENDER", str(HERE.parent.parent / "build/dev/cmd/tender/tender"))
FLEETSIM = os.environ.get("FLEETSIM", str(HERE.parent.parent / "build/dev/cmd/fleetsim/fleetsim"))
BUILD = pathlib.Path(os.environ.get("TENDER_BUILD", str(HERE.parent.parent / "build/dev")))

DONE, FAILED, CHANGES, PARTIAL, LOCKED, USAGE, MANIFESTS, UNAUTHORISED = 0, 1, 2, 3, 5, 64, 65, 77
SECRET_TOKEN = "maintainer-token"


def sha256_of(name):
    return hashlib.sha256((RECORDED_PACKAGES / name).read_bytes()).hexdigest()


def seconds_of(moment):
    """The request log's time as seconds."""
    return datetime.datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp()


class Result:
    """What one run of tender did."""

    def __init__(self, status, stdout, stderr, report):
        self.status, self.stdout, self.stderr, self.report = status, stdout, stderr, report

    def items(self, team=None):
        for entry in (self.report or {}).get("teams", []):
            if team is None or entry["name"] == team:
                yield from entry.get("items", [])

    def outcomes(self, team=None):
        return {item["name"]: item["outcome"] for item in self.items(team)}

    def item(self, name, team=None):
        found = [item for item in self.items(team) if item["name"] == name]
        assert len(found) == 1, f"{len(found)} items called {name}: {[i['name'] for i in self.items(team)]}\n{self.stderr}"
        return found[0]


class World:
    """A folder with a fleetsim in it. `script`: behaviours of the package host and faults of the API (docs/fleetsim.md)."""

    def __init__(self, teams=("Workstations", "Servers", "Kiosks"), labels=("Debian boxes", "Pilot ring"), script=None, arguments=()):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="tender-e2e-"))
        self.packages = self.root / "packages"
        shutil.copytree(RECORDED_PACKAGES, self.packages)
        self.repository = self.root / "repository"
        (self.repository / "teams").mkdir(parents=True)
        self.state = self.root / "state"
        self.log_file = self.root / "requests.jsonl"
        self.teams, self.labels, self.arguments = teams, labels, list(arguments)
        self.log_start = 0
        self.server = None
        self.start(script)

    def start(self, script=None):
        ready = self.root / "ready.json"
        ready.unlink(missing_ok=True)
        command = [FLEETSIM, "--state", str(self.root / "fleet"), "--packages", str(self.packages), "--log", str(self.log_file),
                   "--ready", str(ready), "--listen", "127.0.0.1:0", "--package-listen", "127.0.0.1:0"]
        for team in self.teams:
            command += ["--team", team]
        for label in self.labels:
            command += ["--label", label]
        if script is not None:
            path = self.root / "script.json"
            path.write_text(json.dumps(script))
            command += ["--script", str(path)]
        with (self.root / "fleetsim.err").open("a") as errors:
            self.server = subprocess.Popen(command + self.arguments, stdout=subprocess.DEVNULL, stderr=errors)
        deadline = time.monotonic() + 20
        while not ready.exists():
            if self.server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("fleetsim did not start: " + (self.root / "fleetsim.err").read_text())
            time.sleep(0.02)
        addresses = json.loads(ready.read_text())
        self.fleet_url, self.package_url = addresses["fleet_url"], addresses["package_url"]

    def stop(self):
        if self.server is not None:
            self.server.terminate()
            self.server.wait(20)
            self.server = None

    def restart(self, script=None):
        self.stop()
        self.start(script)

    def close(self):
        self.stop()
        shutil.rmtree(self.root, ignore_errors=True)

    def write(self, path, text):
        target = self.repository / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return target

    def team(self, name, *entries, file=None, extra=""):
        """A team's file with package entries: each a dict of keys, or a string (a URL path on the package host)."""
        lines = [f"name: {name}", extra, "software:", "  packages:"]
        for entry in entries:
            keys = {"url": entry} if isinstance(entry, str) else dict(entry)
            if keys.get("url", "").startswith("/"):
                keys["url"] = self.package_url + keys["url"]
            for number, (key, value) in enumerate(keys.items()):
                lines.append(("    - " if number == 0 else "      ") + f"{key}: {json.dumps(value)}")
        self.write(f"teams/{file or name.lower().replace(' ', '-')}.yml", "\n".join(line for line in lines if line) + "\n")

    def environment(self, **changes):
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("TENDER_", "FLEET_")) and "proxy" not in key.lower()}
        environment.update(FLEET_URL=self.fleet_url, FLEET_API_TOKEN=SECRET_TOKEN, TENDER_STATE_DIR=str(self.state), TENDER_DIR=str(self.repository),
                           TENDER_RETRY_INITIAL="50ms", TENDER_RETRY_MAX="200ms", TENDER_STALL_TIME="3s", LC_ALL="C.UTF-8", HOME=str(self.root))
        for key, value in changes.items():
            if value is None:
                environment.pop(key, None)
            else:
                environment[key] = str(value)
        return environment

    def spawn(self, *arguments, **changes):
        return subprocess.Popen([TENDER, *arguments], env=self.environment(**changes), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def tender(self, *arguments, timeout=120, **changes):
        report_file = self.root / "report.json"
        report_file.unlink(missing_ok=True)
        if arguments and arguments[0] in ("plan", "apply", "fetch", "run"):
            changes.setdefault("TENDER_REPORT", str(report_file))
        process = subprocess.run([TENDER, *arguments], env=self.environment(**changes), capture_output=True, text=True, timeout=timeout)
        report = json.loads(report_file.read_text()) if report_file.exists() else None
        return Result(process.returncode, process.stdout, process.stderr, report)

    def mark(self):
        """Requests from now on are the next answer of requests()."""
        self.settle()
        self.log_start = self.log_file.stat().st_size if self.log_file.exists() else 0

    def settle(self):
        """A line is written just behind the answer: waits until none is missing (not for ever: an answer under way has none)."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        deadline = time.monotonic() + 10
        while self.server is not None and self.server.poll() is None and time.monotonic() < deadline:
            with opener.open(self.fleet_url + "/fleetsim/open-requests") as answer:
                if json.load(answer)["open"] == 0:
                    return
            time.sleep(0.01)

    def requests(self, server=None):
        """What the servers received since mark(), in the order in which it came."""
        self.settle()
        return self.answered(server)

    def answered(self, server=None):
        """As requests(), while others are under way."""
        if not self.log_file.exists():
            return []
        with self.log_file.open("rb") as file:
            file.seek(self.log_start)
            rows = sorted((json.loads(line) for line in file if line.endswith(b"\n")), key=lambda row: row["n"])
        return [row for row in rows if server is None or row["server"] == server]

    def writes(self):
        return [row for row in self.requests("fleet") if row["method"] != "GET"]

    def bodies(self):
        """Package requests that a body was sent for."""
        return [row for row in self.requests("packages") if row["status"] in (200, 206) and row["sent_bytes"] > 0]

    def fleet(self, method, path, token="admin-token", body=None):
        """One call of the API, as an administrator would; not by tender."""
        request = urllib.request.Request(self.fleet_url + "/api/v1/fleet" + path, method=method, headers={"Authorization": "Bearer " + token},
                                         data=None if body is None else json.dumps(body).encode())
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def team_id(self, name):
        return next(team["id"] for team in self.fleet("GET", "/teams")["teams"] if team["name"] == name)

    def titles(self, team):
        """What Fleet has in the team: name → details."""
        number = self.team_id(team)
        rows = self.fleet("GET", f"/software/titles?team_id={number}&available_for_install=true")["software_titles"] or []
        return {row["name"]: self.fleet("GET", f"/software/titles/{row['id']}?team_id={number}")["software_title"] for row in rows}

    def digests(self, team):
        return {name: title["software_package"]["hash_sha256"] for name, title in self.titles(team).items()}

    def partials(self):
        return [path for path in self.state.rglob("*") if path.is_file() and "partial" in str(path)]


class EndToEnd(unittest.TestCase):
    """Each test makes its own world; what it holds is removed behind it, and shown if the test fails."""

    maxDiff = None

    def world(self, **arguments):
        world = World(**arguments)
        self.addCleanup(world.close)
        return world

    def wait_for(self, condition, seconds=60):
        """What `condition` gives, as soon as that is true."""
        deadline = time.monotonic() + seconds
        while not (found := condition()):
            self.assertLess(time.monotonic(), deadline, "it did not come to pass")
            time.sleep(0.02)
        return found

    def assert_status(self, result, status):
        self.assertEqual(result.status, status, f"\n--- stdout\n{result.stdout}\n--- stderr\n{result.stderr}")

    def assert_no_secret(self, result, *secrets):
        for secret in (SECRET_TOKEN, *secrets):
            for name, text in (("stdout", result.stdout), ("stderr", result.stderr), ("report", json.dumps(result.report))):
                self.assertNotIn(secret, text, f"a secret is in {name}")

    def assert_converged(self, world, *arguments, **changes):
        """A further apply sends no write and reads no body (G5)."""
        world.mark()
        result = world.tender("apply", *arguments, **changes)
        self.assertEqual(world.writes(), [], result.stderr)
        self.assertEqual(world.bodies(), [], result.stderr)
        return result


def kill(process):
    os.kill(process.pid, signal.SIGKILL)
    process.wait(20)
    process.stdout.close()
    process.stderr.close()
