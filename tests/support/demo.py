"""`./dev demo`: the main job, rehearsed. fleetsim plays the Fleet server and a package host that misbehaves on purpose; tender plans, applies
through the bad network, and applies again. Each inner exit status is checked; the demo itself ends with 0 if all were as they must be."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("TENDER_BUILD", ROOT / "build/dev"))
TENDER, FLEETSIM = BUILD / "cmd/tender/tender", BUILD / "cmd/fleetsim/fleetsim"
PACKAGES = ROOT / "tests/recordings/packages"

# What goes wrong on purpose, by path on the package host.
SCRIPT = {"packages": {
    "/alpha_1.0_amd64.deb": {"file": "alpha_1.0_amd64.deb", "behaviours": [{"do": "reset", "after_bytes": 24000}, {"do": "serve"}]},
    "/beta_1.0_amd64.deb": {"file": "beta_1.0_amd64.deb", "behaviours": [{"do": "retry-after", "status": 503, "retry_after": "2"}, {"do": "serve"}]},
    "/primary/gamma_1.0_amd64.deb": {"behaviours": [{"do": "not-found"}]},
    "/zeta_1.0_amd64.deb": {"behaviours": [{"do": "gone"}]},
}}


def say(text):
    line = "─" * max(0, 76 - len(text))
    print(f"\n── {text} {line}", flush=True)


def run(arguments, environment, expected):
    print("$ tender " + " ".join(arguments), flush=True)
    status = subprocess.run([str(TENDER), *arguments], env=environment, cwd=environment["DEMO_FOLDER"]).returncode
    print(f"(exit status {status})", flush=True)
    if status != expected:
        print(f"demo: tender {arguments[0]} ended with {status} instead of {expected}", file=sys.stderr)
        return False
    return True


def make_repository(folder):
    shutil.copytree(ROOT / "manifests-example", folder)
    git = ["git", "-c", "user.name=Demo", "-c", "user.email=demo@example.com", "-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "The fleet's configuration"]):
        subprocess.run(git + arguments, cwd=folder, check=True)


def team_names(repository):
    names = []
    for path in sorted((repository / "teams").glob("*.yml")):
        first = next(line for line in path.read_text().splitlines() if line.startswith("name:"))
        name = first.split(":", 1)[1].strip().strip("\"'")
        if path.name != "no-team.yml":
            names.append(name)
    return names


def start_fleetsim(folder, teams):
    (folder / "script.json").write_text(json.dumps(SCRIPT))
    command = [str(FLEETSIM), "--state", str(folder / "fleet"), "--packages", str(PACKAGES), "--script", str(folder / "script.json"),
               "--log", str(folder / "requests.jsonl"), "--ready", str(folder / "ready.json"), "--label", "Debian boxes", "--label", "Pilot ring",
               "--fleet-version", "4.85.0"]  # older ones refuse scripts as packages
    for team in teams:
        command += ["--team", team]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + 20
    while not (folder / "ready.json").exists():
        if server.poll() is not None or time.monotonic() > deadline:
            sys.exit("demo: fleetsim did not start")
        time.sleep(0.05)
    return server, json.loads((folder / "ready.json").read_text())


def second_run_is_quiet(folder, start):
    """What the servers received in the second run: no write for what converged, no package body."""
    with (folder / "requests.jsonl").open("rb") as file:
        file.seek(start)
        rows = [json.loads(line) for line in file]
    writes = [row for row in rows if row["server"] == "fleet" and row["method"] != "GET"]
    bodies = [row for row in rows if row["server"] == "packages" and row["status"] in (200, 206) and row["sent_bytes"] > 0]
    print(f"The servers received {len(rows)} requests in the second run: {len(writes)} writes, {len(bodies)} package bodies.")
    return not writes and not bodies


def say_how_to_look(folder, addresses):
    print(f"""
Still running (process {addresses['pid']}; end it with: kill {addresses['pid']}):
  Fleet API    {addresses['fleet_url']}   tokens: admin-token, maintainer-token
  package host {addresses['package_url']}
  folder       {folder}   requests.jsonl, report.json, repository/, state/

To go on by hand:
  export FLEET_URL={addresses['fleet_url']} FLEET_API_TOKEN=maintainer-token PACKAGE_HOST={addresses['package_url']}
  export TENDER_STATE_DIR={folder}/state TENDER_REPOSITORY={folder}/repository
  {TENDER} plan""")


def main():
    keep = sys.argv[1:] == ["--keep"]
    if sys.argv[1:] and not keep:
        sys.exit("demo: the only option is --keep")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tender-demo-"))
    repository = folder / "repository"
    make_repository(repository)
    server, addresses = start_fleetsim(folder, team_names(repository))
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("TENDER_", "FLEET_")) and not key.lower().endswith("_proxy")}
    environment.update(FLEET_URL=addresses["fleet_url"], FLEET_API_TOKEN="maintainer-token", PACKAGE_HOST=addresses["package_url"],
                       TENDER_STATE_DIR=str(folder / "state"), DEMO_FOLDER=str(folder))
    good = True
    try:
        say("1. tender plan: what would change (writes nothing, downloads nothing)")
        print("Fleet-maintained and App Store apps are shown, but not delivered yet: that is why the status is 3.")
        good &= run(["plan", "--repository", str(repository)], environment, 3)
        say("2. tender apply: through a bad network")
        print("On purpose: alpha is reset in mid-body, beta answers 503 with Retry-After, gamma's primary URL is dead\n"
              "(a backup lives), zeta is gone for good.")
        good &= run(["apply", "--repository", str(repository), "--report", str(folder / "report.json")], environment, 3)
        say("3. tender apply again: nothing to do for what converged")
        start = (folder / "requests.jsonl").stat().st_size
        good &= run(["apply", "--repository", str(repository)], environment, 3)
        good &= second_run_is_quiet(folder, start)
        say("done" if good else "NOT as it must be")
        if keep:
            say_how_to_look(folder, addresses)
    finally:
        if not keep:
            server.terminate()
            server.wait(20)
            shutil.rmtree(folder, ignore_errors=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
