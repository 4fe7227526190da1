"""The Dockerfile, built and run by a real engine. Where there is none, test_runtime_tree.py runs what it would hold."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest
import uuid

import support

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
# What an engine says when the base image or the packages can't be had: no fault of the Dockerfile.
NO_NETWORK = ("no such host", "connection refused", "i/o timeout", "tls handshake timeout", "network is unreachable",
              "temporary failure resolving", "could not resolve", "toomanyrequests", "failed to resolve source",
              "error pulling image", "unable to pull", "unable to connect", "failed to fetch")


def find_engine():
    """The first of docker and podman that has an engine to talk to."""
    for name in ("docker", "podman"):
        if shutil.which(name) is None:
            continue
        try:
            if subprocess.run([name, "info"], capture_output=True, timeout=30, check=False).returncode == 0:
                server = subprocess.run([name, "run", "--help"], capture_output=True, timeout=30, check=False)
                if server.returncode == 0 and "Cannot connect" not in server.stderr.decode():
                    return name
        except (OSError, subprocess.TimeoutExpired):
            pass
    return None


class Container(support.EndToEnd):
    engine, image = None, None

    def run_image(self, *arguments, volumes=(), environment=()):
        command = [self.engine, "run", "--rm", "--read-only", "--network", "host", "--cap-drop", "ALL"]
        for volume in volumes:
            command += ["--volume", volume]
        for name, value in environment:
            command += ["--env", f"{name}={value}"]
        return subprocess.run(command + [self.image, *arguments], capture_output=True, text=True, timeout=300, check=False)

    def test_settings_of_the_image(self):
        said = subprocess.run([self.engine, "image", "inspect", self.image], capture_output=True, text=True, check=True).stdout
        config = json.loads(said)[0]["Config"]
        self.assertEqual(config["User"], "65532:65532")
        self.assertEqual(config["Entrypoint"], ["tender"])
        self.assertIn("TENDER_STATE_DIR=/var/lib/tender", config["Env"])

    def test_version(self):
        result = self.run_image("version")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"^tender \d+\.\d+\.\d+\n$")

    def test_apply(self):
        world = self.world()
        name = next(path.name for path in sorted(world.packages.iterdir()) if path.suffix == ".deb")
        world.team("Workstations", "/" + name)
        world.root.chmod(0o755)
        volume = "tender-test-" + uuid.uuid4().hex[:12]
        self.addCleanup(subprocess.run, [self.engine, "volume", "rm", "--force", volume], capture_output=True)
        for _ in range(2):
            world.mark()
            result = self.run_image("apply", "--dir", "/repository",
                                    volumes=[f"{world.repository}:/repository:ro", f"{volume}:/var/lib/tender"],
                                    environment=[("FLEET_URL", world.fleet_url), ("FLEET_API_TOKEN", support.SECRET_TOKEN)])
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(len(world.titles("Workstations")), 1)
        self.assertEqual(world.writes(), [])


def build(engine):
    """The image's name; None where its base can't be had here."""
    image = "tender-test:" + uuid.uuid4().hex[:12]
    result = subprocess.run([engine, "build", "--tag", image, str(SOURCE)], capture_output=True, text=True, check=False)
    if result.returncode == 0:
        return image
    said = (result.stdout + result.stderr).lower()
    if any(word in said for word in NO_NETWORK):
        return None
    print(result.stdout + result.stderr)
    sys.exit(1)


if __name__ == "__main__":
    os.environ.setdefault("DOCKER_BUILDKIT", "1")
    Container.engine = find_engine()
    if Container.engine is None:
        print("SKIPPED e2e_container: no docker or podman with a working engine (e2e_runtime_tree runs what the image holds)")
        sys.exit(77)
    Container.image = build(Container.engine)
    if Container.image is None:
        print("SKIPPED e2e_container: the engine can't get the base image or its packages (no network)")
        sys.exit(77)
    program = unittest.main(exit=False)
    subprocess.run([Container.engine, "image", "rm", "--force", Container.image], capture_output=True, check=False)
    sys.exit(0 if program.result.wasSuccessful() else 1)
