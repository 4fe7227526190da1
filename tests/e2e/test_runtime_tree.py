"""The container's runtime stage without a builder: the folder that it is made of (cmake/collect_runtime.sh) as the
whole file system of a process that is not root and may not write but into its state folder."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import support

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
USER = 65532

# Runs in a mount namespace of its own: nothing of it is seen outside, and all of it ends with the process.
INSIDE = """
set -eu
mount --make-rprivate /
mount --bind "$TREE" "$TREE"
mount --bind "$STATE" "$TREE/var/lib/tender"
mount --bind "$REPOSITORY" "$TREE/repository"
mount -o remount,bind,ro "$TREE/repository"
mount --rbind /proc "$TREE/proc"
mount -o remount,bind,ro "$TREE"
exec chroot --userspec=65532:65532 --groups=65532 "$TREE" /usr/bin/tender "$@"
"""


def may_mount():
    """Whether this user may make a mount namespace and mount in it."""
    if os.geteuid() != 0 or shutil.which("unshare") is None or shutil.which("chroot") is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        trial = subprocess.run(["unshare", "--mount", "sh", "-c", "mount --make-rprivate / && mount --bind \"$1\" \"$1\"",
                                "sh", folder], capture_output=True, check=False)
    return trial.returncode == 0


class RuntimeTree(support.EndToEnd):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="tender-tree-"))
        self.addCleanup(shutil.rmtree, self.root, True)
        self.root.chmod(0o755)
        self.tree = self.root / "tree"
        self.tree.mkdir()
        subprocess.run([str(SOURCE / "cmake/collect_runtime.sh"), support.TENDER, str(self.tree)], check=True)
        for folder in ("repository", "proc"):  # an engine makes and mounts them
            (self.tree / folder).mkdir()
        self.state = self.root / "state"
        self.state.mkdir(mode=0o700)
        os.chown(self.state, USER, USER)

    def run_inside(self, repository, *arguments, **environment):
        # A sanitizer's leak check wants to trace the process, which another user may not.
        return subprocess.run(["unshare", "--mount", "sh", "-c", INSIDE, "sh", *arguments], capture_output=True, text=True,
                              timeout=120, check=False,
                              env={"PATH": os.environ["PATH"], "TREE": str(self.tree), "STATE": str(self.state),
                                   "REPOSITORY": str(repository), "HOME": "/var/lib/tender",
                                   "TENDER_STATE_DIR": "/var/lib/tender", "ASAN_OPTIONS": "detect_leaks=0", **environment})

    def test_it_holds_only_what_is_needed(self):
        for path in self.tree.rglob("*"):
            name = "/" + str(path.relative_to(self.tree))
            is_library = ".so" in path.name and ("/lib" in name)
            is_known = name in ("/usr/bin/tender", "/etc/ssl/certs/ca-certificates.crt", "/etc/passwd", "/etc/group",
                                "/etc/nsswitch.conf")
            self.assertTrue(path.is_dir() or is_library or is_known, name)
            self.assertFalse(path.is_symlink(), name)
        self.assertTrue((self.tree / "usr/bin/tender").is_file())

    def test_version_and_help(self):
        for arguments in (["version"], ["--version"], ["help"], ["help", "apply"]):
            result = self.run_inside(self.root, *arguments)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("tender", result.stdout)

    def test_it_applies_as_another_user_with_a_read_only_root(self):
        world = self.world()
        world.team("Workstations", "/" + next(path.name for path in sorted(world.packages.iterdir()) if path.suffix == ".deb"))
        world.root.chmod(0o755)
        environment = {"FLEET_URL": world.fleet_url, "FLEET_API_TOKEN": support.SECRET_TOKEN, "TENDER_DIR": "/repository"}
        result = self.run_inside(world.repository, "apply", **environment)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(len(world.titles("Workstations")), 1)
        for path in self.state.rglob("*"):
            self.assertEqual(path.stat().st_uid, USER, path)
            self.assertEqual(path.stat().st_mode & 0o077, 0, f"{path} is for its owner only")
        world.mark()
        result = self.run_inside(world.repository, "apply", **environment)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(world.writes(), [])

    def test_it_can_not_write_elsewhere(self):
        world = self.world()
        world.team("Workstations")
        world.root.chmod(0o755)
        result = self.run_inside(world.repository, "apply", "--state-dir", "/elsewhere", FLEET_URL=world.fleet_url,
                                 FLEET_API_TOKEN=support.SECRET_TOKEN, TENDER_DIR="/repository")
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("Read-only file system", result.stderr)
        self.assertFalse((self.tree / "elsewhere").exists())


if __name__ == "__main__":
    if not may_mount():
        print("SKIPPED e2e_runtime_tree: this user may not mount in a namespace of its own (needs root, unshare, chroot)")
        sys.exit(77)
    unittest.main()
