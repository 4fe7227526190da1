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


def write_one_team(root, section, line, count):
    (root / "teams").mkdir(parents=True)
    (root / "teams/a.yml").write_text(f"name: A\nsoftware:\n  {section}:\n" + "".join(line.format(number=number) for number in range(count)))


# What one file can hold that must not cost more per entry the more there are: section, line, entries, errors.
LONG_FILES = (
    ("packages named in place", "packages", "    - url: https://packages.example.com/{number}.deb\n      self_service: true\n", 20000, 0),
    ("aliases of one faulty entry", "fleet_maintained_apps", "    - *a\n", 50000, 1),
)


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


def measure(folder, root, *mode):
    """The least of alternating rounds (what else the machine does only adds): ours and libyaml's CPU seconds; and the last round's counts."""
    ours, peers = [], []
    for _ in range(ROUNDS):
        counts = run(f"{folder}/bench_plan_manifests", str(root), *mode)
        peer = run(f"{folder}/bench_scan_yaml", *yaml_files(root))
        ours.append(counts[0] + counts[1])
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
        double, _, _, _ = measure(folder, twice)
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
    for what, section, line, count, errors in LONG_FILES:
        with tempfile.TemporaryDirectory() as temporary:
            once, twice = pathlib.Path(temporary) / "once", pathlib.Path(temporary) / "twice"
            for root, entries in ((once, count), (twice, 2 * count)):
                write_one_team(root, section, line, entries)
                if errors > 0:
                    text = (root / "teams/a.yml").read_text()
                    (root / "teams/a.yml").write_text(text.replace("    - *a\n", "    - &a {colour: red}\n", 1))
            ours, _, counts, _ = measure(folder, once, "read")
            if counts[-1] != errors:
                raise RuntimeError(f"not what was written: {counts}")
            double, _, _, _ = measure(folder, twice, "read")
            bench.bar(f"one file of {2 * count:,} {what}, against {count:,}: CPU / CPU", double / ours, 2.2)


BENCHES = {"manifests": bench_manifests, "long-files": bench_long_files}
