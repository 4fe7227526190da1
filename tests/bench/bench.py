"""`./dev bench`: speed and memory as ratios against peers in the same run, over loopback. Each bar says what it must be; a missed bar fails.

Without a name: all benches."""

import pathlib
import shutil
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import fetcher  # noqa: E402
import manifests  # noqa: E402
import support  # noqa: E402
from fetcher import GIB, MIB, generated_digest, peak_memory_mib, timed  # noqa: E402

ROUNDS = 3


class Bench:
    def __init__(self):
        self.rows = []

    def bar(self, name, value, limit, unit=""):
        self.rows.append((name, value, limit, unit, value <= limit))
        print(f"  {name}: {value:.3g}{unit} (bar: ≤ {limit:g}{unit}) {'ok' if value <= limit else 'MISSED'}", flush=True)

    def finish(self):
        print("\n| what | measured | bar | |\n|---|---|---|---|")
        for name, value, limit, unit, is_met in self.rows:
            print(f"| {name} | {value:.3g}{unit} | ≤ {limit:g}{unit} | {'met' if is_met else 'missed'} |")
        return 0 if all(row[4] for row in self.rows) else 1


def bench_download(bench):
    """One GiB with its digest, against curl -o, sync -d and openssl dgst -sha256."""
    digest = generated_digest(GIB, 7)
    world = support.World(script={"packages": {"/big.deb": {"size": GIB, "seed": 7, "content_type": "application/octet-stream"}}})
    try:
        world.team("Workstations", {"url": "/big.deb", "hash_sha256": digest})
        ours, peers = [], []
        for _ in range(ROUNDS):
            shutil.rmtree(world.state, ignore_errors=True)
            ours.append(timed([support.TENDER, "fetch"], env=world.environment())[0])
            target = world.root / "curl.out"
            peers.append(timed(["sh", "-c", 'curl -s -o "$0" "$1" && sync -d "$0" && openssl dgst -sha256 "$0"', str(target), world.package_url + "/big.deb"])[0])
            target.unlink()
        print(f"  tender fetch {statistics.median(ours):.2f} s; curl, sync, openssl {statistics.median(peers):.2f} s")
        bench.bar("1 GiB with digest: time / (curl + sync + openssl)", statistics.median(ours) / statistics.median(peers), 1.1)
    finally:
        world.close()


def bench_memory(bench):
    """Peak memory of applying four packages, large and small."""
    peaks = {}
    for size in (64 * MIB, GIB):
        script = {"packages": {f"/big{number}.deb": {"size": size, "seed": 20 + number} for number in range(4)}}
        world = support.World(script=script)
        try:
            world.team("Workstations", *[{"url": f"/big{number}.deb", "hash_sha256": generated_digest(size, 20 + number)} for number in range(4)])
            peaks[size] = peak_memory_mib(world, "apply")
        finally:
            world.close()
    bench.bar("peak memory of applying four 1 GiB packages", peaks[GIB], 32, " MiB")
    bench.bar("… more than of four 64 MiB packages", max(peaks[GIB] - peaks[64 * MIB], 0), 2, " MiB")


def bench_converged(bench):
    """The second apply over 50 teams × 40 packages: no write, no body."""
    teams = [f"Team {number:02}" for number in range(50)]
    packages = {f"/p{number}-1.0.deb": {"size": 4096, "seed": 100 + number} for number in range(40)}
    world = support.World(teams=teams, script={"packages": packages})
    try:
        digests = [generated_digest(4096, 100 + number) for number in range(40)]
        for team in teams:
            world.team(team, *[{"url": f"/p{number}-1.0.deb", "hash_sha256": digests[number]} for number in range(40)])
        first, _ = timed([support.TENDER, "apply"], env=world.environment())
        world.mark()
        second, _ = timed([support.TENDER, "apply"], env=world.environment())
        print(f"  first apply {first:.2f} s, second {second:.2f} s, {len(world.requests())} requests")
        bench.bar("second apply over 50 teams × 40 packages: writes", len(world.writes()), 0)
        bench.bar("second apply over 50 teams × 40 packages: bodies", len(world.bodies()), 0)
        bench.bar("second apply / first apply", second / first, 0.5)
    finally:
        world.close()


BENCHES = {"download": bench_download, "memory": bench_memory, "converged": bench_converged, **fetcher.BENCHES, **manifests.BENCHES}


def main():
    names = sys.argv[1:] or list(BENCHES)
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        print(f"bench: there is no {unknown[0]}; known: {', '.join(BENCHES)}", file=sys.stderr)
        return 64
    bench = Bench()
    for name in names:
        print(f"{name}: {(BENCHES[name].__doc__ or '').strip()}", flush=True)
        BENCHES[name](bench)
    return bench.finish()


if __name__ == "__main__":
    sys.exit(main())
