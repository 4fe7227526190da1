#!/usr/bin/env python3
"""The sources are as clang-format 14 with .clang-format writes them (another version wraps differently)."""
import os
import shutil
import subprocess
import sys
import tempfile

import sources

TOOL = "clang-format-14"


def is_formatted(paths):
    result = subprocess.run([TOOL, "--dry-run", "--Werror", f"--style=file:{sources.ROOT}/.clang-format"] + paths,
                            cwd=sources.ROOT, capture_output=True, text=True, check=False)
    return result.returncode == 0, [line for line in result.stderr.split("\n") if "error:" in line]


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.c")
        with open(path, "w", encoding="utf-8") as file:
            file.write("int   f( void );\n")
        sources.expect("a badly formatted file", not is_formatted([path])[0])


if __name__ == "__main__":
    if shutil.which(TOOL) is None:
        print(f"SKIPPED lint_format: {TOOL} is not installed (./dev setup --lint)")
        sys.exit(sources.SKIP_STATUS)
    self_test()
    good, lines = is_formatted(sorted(sources.c_files()))
    sources.finish(lines if not good else [])
