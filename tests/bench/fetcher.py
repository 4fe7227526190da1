"""The fetcher's bars: each a ratio in one run against the tool itself. Peers' files are synced as ours are."""

import os
import resource
import shutil
import socket
import statistics
import subprocess
import time

import support

GIB, MIB = 1 << 30, 1 << 20
ROUNDS = 5
RELAY = support.BUILD / "tests/support/delay_relay"


def generated_digest(size, seed):
    return subprocess.run([support.FLEETSIM, "--digest", str(size), str(seed)], capture_output=True, text=True, check=True).stdout.split()[0]


def timed(command, **options):
    """Wall seconds and CPU seconds (user + sys) of a command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    wall = time.monotonic() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def median(rows, column=0):
    return statistics.median(row[column] for row in rows)


def alternate(rounds, *runs):
    """The runs in turn, so that a busy moment hits all alike; per run the list of (wall, cpu)."""
    results = [[] for _ in runs]
    for _ in range(rounds):
        for number, run in enumerate(runs):
            results[number].append(run())
    return results


class Folder:
    """A world with a fresh state for each run of ours, and a scratch folder for the peers."""

    def __init__(self, script):
        self.world = support.World(script=script)
        self.scratch = self.world.root / "scratch"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.world.close()

    def ours(self, *arguments, **changes):
        shutil.rmtree(self.world.state, ignore_errors=True)
        return timed([support.TENDER, "fetch", *arguments], env=self.world.environment(**changes))

    def peer(self, script, *arguments):
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir()
        return timed(["sh", "-ec", script, "peer", *arguments], cwd=self.scratch)


def bench_clean(bench):
    """Clean, 1 GiB, plain http on loopback."""
    with Folder({"packages": {"/big.deb": {"size": GIB, "seed": 7}}}) as folder:
        url = folder.world.package_url + "/big.deb"
        folder.world.team("Workstations", {"url": "/big.deb", "hash_sha256": generated_digest(GIB, 7)})
        ours, peer = alternate(ROUNDS, folder.ours, lambda: folder.peer('curl -s -o big "$1"; sync -d big; openssl dgst -sha256 big', url))
        bench.bar("1 GiB: time / (curl, sync -d, openssl dgst)", median(ours) / median(peer), 0.9)
        bench.bar("1 GiB: CPU / (curl, sync -d, openssl dgst)", median(ours, 1) / median(peer, 1), 0.95)


def many_files(folder, base):
    """200 manifests' entries, and the peers' lists of them."""
    names = [f"f{number}.deb" for number in range(200)]
    folder.world.team("Workstations", *[{"url": f"{base}/{name}", "hash_sha256": generated_digest(MIB, 1000 + number)} for number, name in enumerate(names)])
    lists = folder.world.root / "lists"
    lists.mkdir(exist_ok=True)
    (lists / "curl").write_text("".join(f'url = "{base}/{name}"\noutput = "{name}"\n' for name in names))
    (lists / "aria2").write_text("".join(f"{base}/{name}\n" for name in names))
    curl = lambda: folder.peer('curl -s --parallel --parallel-max 8 -K "$1"; sync -d f*; openssl dgst -sha256 f*', str(lists / "curl"))  # noqa: E731
    aria2 = lambda: folder.peer('aria2c -q -j8 -x1 --file-allocation=none -i "$1"; sync -d f*', str(lists / "aria2"))  # noqa: E731
    ours = lambda: folder.ours("--parallel", "8", "--parallel-per-host", "8")  # noqa: E731
    return alternate(ROUNDS, ours, curl, aria2)


def bench_many(bench):
    """200 files of 1 MiB, eight connections in all, plain and over 20 ms of delay."""
    script = {"packages": {f"/f{number}.deb": {"size": MIB, "seed": 1000 + number} for number in range(200)}}
    with Folder(script) as folder:
        ours, curl, aria2 = many_files(folder, folder.world.package_url)
        bench.bar("200 × 1 MiB: time / (curl --parallel, sync, openssl)", median(ours) / median(curl), 1.0)
        bench.bar("200 × 1 MiB: time / (aria2c -j8, sync)", median(ours) / median(aria2), 0.8)
        port = folder.world.package_url.rsplit(":", 1)[1]
        relay = subprocess.Popen([str(RELAY), port, "20"], stdout=subprocess.PIPE, text=True)
        try:
            ours, curl, aria2 = many_files(folder, f"http://127.0.0.1:{relay.stdout.readline().strip()}")
        finally:
            relay.terminate()
            relay.wait()
        bench.bar("200 × 1 MiB over 20 ms: time / (curl --parallel, sync, openssl)", median(ours) / median(curl), 1.0)
        bench.bar("200 × 1 MiB over 20 ms: time / (aria2c -j8, sync)", median(ours) / median(aria2), 0.8)


def bench_resets(bench):
    """A server that resets every 64 MiB (after its last bytes were read), 1 GiB."""
    behaviours = [{"do": "reset", "after_bytes": 64 * MIB, "times": 10 ** 6}]
    with Folder({"packages": {"/big.deb": {"size": GIB, "seed": 7, "behaviours": behaviours}}}) as folder:
        url = folder.world.package_url + "/big.deb"
        folder.world.team("Workstations", {"url": "/big.deb", "hash_sha256": generated_digest(GIB, 7)})
        folder.world.mark()
        folder.ours()
        sent = sum(row["sent_bytes"] for row in folder.world.requests("packages"))
        ours, peer = alternate(3, folder.ours, lambda: folder.peer(
            'aria2c -q -m0 --retry-wait=0 -x1 -s1 --file-allocation=none -o big "$1"; sync -d big', url))
        bench.bar("resets every 64 MiB: bytes / size", sent / GIB, 1.02)
        bench.bar("resets every 64 MiB: time / (aria2c -m0, sync)", median(ours) / median(peer), 1.1)


class Silent:
    """A port that accepts nothing: its backlog is full, so a connect gets no answer."""

    def __init__(self):
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(0)
        self.port = self.listener.getsockname()[1]
        self.fillers = []
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", self.port))
            self.fillers.append(filler)

    def close(self):
        for each in [self.listener, *self.fillers]:
            each.close()


def closed_port():
    probe = socket.socket()
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
    probe.close()
    return port


def bench_backup(bench):
    """A dead primary with a living backup."""
    size = 512 * MIB
    script = {"packages": {"/big.deb": {"size": size, "seed": 7}, "/reset.deb": {"behaviours": [{"do": "reset", "before_headers": True}]},
                           "/broken.deb": {"behaviours": [{"do": "status", "status": 503}]}}}
    with Folder(script) as folder:
        digest, base = generated_digest(size, 7), folder.world.package_url
        silent = Silent()

        def run(primary, *arguments):
            folder.world.team("Workstations", {"url": primary, "backup_urls": [base + "/big.deb"], "hash_sha256": digest})
            return folder.ours(*arguments)

        # The dead primary lies on another host than the backup, as in life (localhost and 127.0.0.1 are two hosts here).
        other = base.replace("127.0.0.1", "localhost")
        primaries = {"refused": f"http://127.0.0.1:{closed_port()}/big.deb", "reset": other + "/reset.deb", "5xx": other + "/broken.deb"}
        runs = alternate(3, lambda: run(base + "/big.deb"), *[lambda url=url: run(url) for url in primaries.values()],
                         lambda: run(f"http://127.0.0.1:{silent.port}/big.deb", "--connect-timeout", "1s"))
        silent.close()
        clean = median(runs[0])
        for number, name in enumerate(primaries):
            bench.bar(f"dead primary ({name}), living backup: time / without the fault", median(runs[number + 1]) / clean, 1.2)
        bench.bar("silent primary (connect limit 1 s): time − 1 s / without the fault", (median(runs[-1]) - 1) / clean, 1.2)


def bench_hosts(bench):
    """Ten hosts, one of which answers 429 with Retry-After."""
    pause_s = 6
    script = {"packages": {f"/h{host}-{number}.deb": {"size": 8 * MIB, "seed": 2000 + host * 10 + number} for host in range(10) for number in range(4)}}
    limited = {"packages": dict(script["packages"])}
    for number in range(4):
        limited["packages"][f"/h9-{number}.deb"] = {"size": 8 * MIB, "seed": 2090 + number, "behaviours": [
            {"do": "retry-after", "status": 429, "retry_after": str(pause_s)}, {"do": "serve"}]}

    def entries(port, hosts):
        return [{"url": f"http://127.0.0.{host + 1}:{port}/h{host}-{number}.deb", "hash_sha256": generated_digest(8 * MIB, 2000 + host * 10 + number)}
                for host in hosts for number in range(4)]

    def last_of_nine(rows):
        nine = [row for row in rows if not row["path"].startswith("/h9-")]
        return max(support.seconds_of(row["at"]) for row in nine) - min(support.seconds_of(row["at"]) for row in rows)

    def run(folder, each):
        folder.world.stop()
        folder.world.start(each)
        folder.world.team("Workstations", *entries(folder.world.package_url.rsplit(":", 1)[1], range(10)))
        folder.world.mark()
        folder.ours()
        requests = folder.world.requests("packages")
        tenth = sorted(support.seconds_of(row["at"]) for row in requests if row["path"].startswith("/h9-"))
        early = [moment for moment in tenth if 0.5 < moment - tenth[0] < pause_s] if each is limited else []
        return last_of_nine(requests), len(early)

    with Folder(script) as plain, Folder(limited) as asking:
        for folder in (plain, asking):
            folder.world.arguments = ["--package-listen", "0.0.0.0:0"]
        without, with_it = alternate(ROUNDS, lambda: run(plain, script), lambda: run(asking, limited))
    bench.bar("ten hosts, one asks to wait: requests before its time", max(row[1] for row in with_it), 0)
    bench.bar("ten hosts, one asks to wait: the other nine's time / without it", median(with_it) / median(without), 1.1)


def peak_memory_mib(world, *arguments):
    """VmHWM: what wait4 tells would hold the memory of this interpreter, whose copy the process was before exec."""
    shutil.rmtree(world.state, ignore_errors=True)
    process = subprocess.Popen([support.TENDER, *arguments], env=world.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        with open(f"/proc/{process.pid}/status") as status:
            peak = max([peak, *[int(line.split()[1]) for line in status if line.startswith("VmHWM")]])
        time.sleep(0.02)
    if process.returncode != 0:
        raise RuntimeError(f"tender {arguments[0]} failed")
    return peak / 1024


def bench_transfer_memory(bench):
    """Peak memory of eight 1 GiB transfers at once, and of one."""
    with Folder({"packages": {f"/big{number}.deb": {"size": GIB, "seed": 30 + number} for number in range(8)}}) as folder:
        entries = [{"url": f"/big{number}.deb", "hash_sha256": generated_digest(GIB, 30 + number)} for number in range(8)]
        for count in (1, 8):
            folder.world.team("Workstations", *entries[:count])
            bench.bar(f"peak memory of {count} × 1 GiB at once", peak_memory_mib(folder.world, "fetch", "--parallel", "8", "--parallel-per-host", "8"), 24, " MiB")


BENCHES = {"clean": bench_clean, "many": bench_many, "resets": bench_resets, "backup": bench_backup, "hosts": bench_hosts, "transfer-memory": bench_transfer_memory}
