"""The manifests' part of `./dev bench`: 200 teams × 100 packages are read, resolved and planned, against libyaml alone scanning the same files."""

import hashlib
import pathlib
import re
import shutil
import subprocess
import tempfile

import support

ROUNDS = 15


def package_file(number):
    digest = hashlib.sha256(str(number).encode()).hexdigest()
    text = (f"# Example tool {number}\nurl: https://packages.example.com/tools/{number}/example-tool-{number}-1.0.deb\n"
            f"hash_sha256: {digest}\n"
            f"install_script:\n  path: ../scripts/install-{number % 20}.sh\n"
            f"uninstall_script:\n  path: ../scripts/remove-{number % 20}.sh\n")
    return text + ("categories:\n  - Developer tools\n" if number % 3 == 0 else "")


def reference(number, team):
    text = f"    - path: ../lib/software/example-tool-{number}.yml\n      self_service: true\n"
    if (number + team) % 4 == 0:
        text += "      labels_include_any:\n        - Debian\n        - Ubuntu 24.04\n"
    return text


def write_repository(root, teams, packages, per_team):
    """A repository as large ones are: package files and scripts shared by the teams, nothing but references in these."""
    (root / "lib/software").mkdir(parents=True)
    (root / "lib/scripts").mkdir()
    (root / "teams").mkdir()
    for number in range(20):
        (root / f"lib/scripts/install-{number}.sh").write_text(f"#!/bin/sh\napt-get install -y \"$INSTALLER_PATH\" # {number}\n")
        (root / f"lib/scripts/remove-{number}.sh").write_text(f"#!/bin/sh\napt-get remove -y tool-{number}\n")
    for number in range(packages):
        (root / f"lib/software/example-tool-{number}.yml").write_text(package_file(number))
    for team in range(teams):
        chosen = [(team * 7 + number) % packages for number in range(per_team)]
        (root / f"teams/team-{team}.yml").write_text(
            f"name: Team {team}\nteam_settings:\n  features:\n    enable_host_users: true\n"
            "agent_options:\ncontrols:\npolicies:\nqueries:\nsoftware:\n  packages:\n" + "".join(reference(number, team) for number in chosen))


def package_in_place(number):
    return f"    - url: https://packages.example.com/{number}.deb\n      self_service: true\n"


def alias_of_a_fault(number):
    return "    - &a {colour: red}\n" if number == 0 else "    - *a\n"


# What one file can hold that must not cost more per entry the more there are: section, entry, entries, errors.
LONG_FILES = (
    ("packages named in place", "packages", package_in_place, 20000, 0),
    ("aliases of one faulty entry", "fleet_maintained_apps", alias_of_a_fault, 50000, 1),
)


def write_one_team(root, section, entry, count):
    (root / "teams").mkdir(parents=True)
    (root / "teams/a.yml").write_text(f"name: A\nsoftware:\n  {section}:\n" + "".join(entry(number) for number in range(count)))


def yaml_files(root):
    return sorted(str(path) for path in root.rglob("*.yml"))


def run(program, *arguments):
    return [float(word) for word in subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout.split()]


def instructions(program, root):
    """By callgrind; None where it is not installed."""
    if shutil.which("valgrind") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", program, str(root), "read"],
                              capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def plan(folder, root, *mode):
    """One run of ours: its CPU seconds, and its counts."""
    counts = run(f"{folder}/bench_plan_manifests", str(root), *mode)
    return counts[0] + counts[1], counts


def least(folder, root, *mode):
    """Of all rounds (what else the machine does only adds): the CPU seconds; and the last round's counts."""
    rounds = [plan(folder, root, *mode) for _ in range(ROUNDS)]
    return min(seconds for seconds, _ in rounds), rounds[-1][1]


def measure(folder, root):
    """The same with libyaml's scan in turn: ours and its CPU seconds, the counts, the bytes."""
    ours, peers = [], []
    for _ in range(ROUNDS):
        seconds, counts = plan(folder, root)
        peer = run(f"{folder}/bench_scan_yaml", *yaml_files(root))
        ours.append(seconds)
        peers.append(peer[0])
    return min(ours), min(peers), counts, peer[1]


def bench_manifests(bench):
    """200 teams × 100 packages (20,000 references, 300 package files), read, resolved and planned, against libyaml's scan of the same files."""
    folder = support.BUILD / "tests/bench"
    with tempfile.TemporaryDirectory() as temporary:
        once, twice = pathlib.Path(temporary) / "once", pathlib.Path(temporary) / "twice"
        write_repository(once, 200, 300, 100)
        write_repository(twice, 400, 600, 100)
        ours, peer, counts, size = measure(folder, once)
        read, plan, read_peak, peak, teams, items, files, errors = counts
        if (teams, items, errors) != (200, 20000, 0):
            raise RuntimeError(f"not what was written: {counts}")
        double, _ = least(folder, twice)
        print(f"  {files:.0f} files, {size / 1024:.0f} KiB of YAML: read and resolved in {read * 1000:.0f} ms of CPU, planned in {plan * 1000:.0f} ms;"
              f" libyaml alone scans in {peer * 1000:.0f} ms")
        bench.bar("200 teams × 100 packages, read, resolved, planned: CPU / libyaml's scan", ours / peer, 3.0)
        bench.bar("… peak memory", max(read_peak, peak) / 1024, 100, " MiB")
        bench.bar("… twice the files: CPU / CPU", double / ours, 2.2)
        count = instructions(f"{folder}/bench_plan_manifests", once)
        print("  instructions per KiB of YAML: " + ("not counted, there is no valgrind" if count is None else f"{count / (size / 1024):,.0f} (callgrind)"))


def bench_long_files(bench):
    """One team's file with tens of thousands of entries is read, and one with twice as many."""
    folder = support.BUILD / "tests/bench"
    for what, section, entry, count, errors in LONG_FILES:
        with tempfile.TemporaryDirectory() as temporary:
            once, twice = pathlib.Path(temporary) / "once", pathlib.Path(temporary) / "twice"
            write_one_team(once, section, entry, count)
            write_one_team(twice, section, entry, 2 * count)
            ours, counts = least(folder, once, "read")
            if counts[-1] != errors:
                raise RuntimeError(f"not what was written: {counts}")
            double, _ = least(folder, twice, "read")
            bench.bar(f"one file of {2 * count:,} {what}, against {count:,}: CPU / CPU", double / ours, 2.2)


BENCHES = {"manifests": bench_manifests, "long-files": bench_long_files}
