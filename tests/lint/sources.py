"""What the lint checks share: the project's files, and how findings are told."""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SKIPPED_FOLDERS = {".git", "build", ".demo", "__pycache__"}
SKIP_STATUS = 77


def project_files():
    """Paths from the root of what belongs to the project: what Git knows, or every file where there is no Git."""
    try:
        listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, check=True).stdout
        paths = [path for path in listed.decode().split("\0") if path]
        if paths:
            return [path for path in paths if os.path.isfile(os.path.join(ROOT, path))]
    except (OSError, subprocess.CalledProcessError):
        pass
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS]
        found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names]
    return sorted(found)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def c_files():
    """{path: text} of the C sources and headers."""
    return {path: read(path) for path in project_files() if path.endswith((".c", ".h"))}


def finish(findings):
    """Prints the findings and ends the program."""
    for finding in findings:
        print(finding)
    if findings:
        print(f"{len(findings)} findings")
    sys.exit(1 if findings else 0)


def expect(name, condition):
    """For self tests: a check that can't find what was planted for it is worth nothing."""
    if not condition:
        print(f"self test failed: {name}")
        sys.exit(1)
