#!/usr/bin/env python3
"""Who may include whom (docs/architecture.md), and that each foreign library has one home."""
import os
import re

import sources

# What each folder may use beside itself. Everybody may use base and model, but base nothing and model only base.
LAYERS = {
    "lib/base": [],
    "lib/model": ["base"],
    "lib/net": ["base", "model"],
    "lib/repository": ["base", "model", "net"],
    "lib/manifest": ["base", "model"],
    "lib/state": ["base", "model"],
    "lib/plan": ["base", "model"],
    "lib/fetch": ["base", "model", "net"],
    "lib/fleet": ["base", "model", "net"],
    "lib/deliver": ["base", "model", "plan", "fetch", "fleet"],
    "lib/report": ["base", "model"],
    "lib/reconcile": ["base", "model", "net", "repository", "manifest", "state", "plan", "fetch", "fleet", "deliver",
                      "report"],
    "cmd/tender": ["base", "model", "reconcile", "report"],
    "cmd/fleetsim": ["base"],
}

# Single headers beside that: interfaces that are handed through.
ALSO = {
    "lib/deliver": {"net/loop.h"},  # the stop flag, in deliver_options
    # the program makes the loop, shows the fetch's progress, and prints the schemas
    "cmd/tender": {"net/loop.h", "fetch/fetch.h", "manifest/json_schema.h"},
}

# Headers of a folder that are not for others.
PRIVATE = {"reconcile/run.h", "deliver/work.h", "net/http_exchange.h", "net/loop_curl.h", "plan/work.h", "fleet/fleet_private.h",
           "fleet/json_read.h"}

# Foreign header: where it may be included (path prefixes).
FOREIGN = [
    (r"git2(\.h|/)", ["lib/repository/"]),
    (r"yaml\.h", ["lib/manifest/yaml.c"]),
    (r"utf8proc\.h", ["lib/manifest/names.c"]),
    (r"curl/", ["lib/net/"]),
    (r"jansson\.h", ["lib/fleet/codec", "lib/fleet/json_read.h", "lib/report/", "lib/plan/saved", "cmd/fleetsim/"]),
    (r"sqlite3\.h", ["lib/state/"]),
    (r"microhttpd\.h", ["cmd/fleetsim/"]),
    (r"openssl/", ["lib/base/digest.c", "cmd/fleetsim/"]),
    (r"zlib\.h", ["cmd/fleetsim/"]),
    (r"cmocka\.h", []),
]

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(<[^>]+>|"[^"]+")', re.MULTILINE)
STAGES = {os.path.basename(folder) for folder in LAYERS if folder.startswith("lib/")}


def check_own(path, folder, header):
    """A header of the project: the finding, or None."""
    stage = header.split("/")[0] if "/" in header else None
    if stage not in STAGES or folder == "lib/" + stage:
        if header.startswith("../"):
            return f"includes {header}: write the path from lib/"
        return None
    if header in PRIVATE:
        return f"includes {header}, which is for lib/{stage} only"
    if stage in LAYERS[folder] or header in ALSO.get(folder, ()):
        return None
    return f"includes {header}: {folder} may use {', '.join(LAYERS[folder]) or 'nothing'}"


def check_foreign(path, header):
    for pattern, homes in FOREIGN:
        if re.match(pattern, header) and not any(path.startswith(home) for home in homes):
            return f"includes <{header}>, whose home is {', '.join(homes) or 'tests/'}"
    return None


def check(files):
    findings = []
    for path, text in sorted(files.items()):
        folder = "/".join(path.split("/")[:2])
        if path.startswith("tests/"):
            continue
        if folder not in LAYERS:
            findings.append(f"{path}: {folder} is no folder that {os.path.basename(__file__)} knows")
            continue
        for match in INCLUDE.finditer(text):
            header = match.group(1)[1:-1]
            is_foreign = match.group(1)[0] == "<"
            finding = check_foreign(path, header) if is_foreign else check_own(path, folder, header)
            if finding:
                line = text.count("\n", 0, match.start()) + 1
                findings.append(f"{path}:{line}: {finding}")
    return findings


def self_test():
    bad = [
        ("lib/base/x.c", '#include "model/plan.h"'),
        ("lib/base/x.c", '#include "net/loop.h"'),
        ("lib/model/x.h", '#include "plan/plan.h"'),
        ("lib/plan/x.c", '#include "net/http.h"'),
        ("lib/plan/x.c", '#  include "fleet/fleet.h"'),
        ("lib/fetch/x.c", '#include "fleet/fleet.h"'),
        ("lib/fetch/x.c", '#include "plan/plan.h"'),
        ("lib/fleet/x.c", '#include "fetch/fetch.h"'),
        ("lib/manifest/x.c", '#include "repository/repository.h"'),
        ("lib/state/x.c", '#include "net/loop.h"'),
        ("lib/deliver/x.c", '#include "net/http.h"'),
        ("lib/deliver/x.c", '#include "fleet/fleet_private.h"'),
        ("lib/report/x.c", '#include "deliver/deliver.h"'),
        ("lib/net/x.c", '#include "reconcile/reconcile.h"'),
        ("lib/net/x.c", '#include "../base/buf.h"'),
        ("cmd/tender/x.c", '#include "plan/plan.h"'),
        ("cmd/tender/x.c", '#include "reconcile/run.h"'),
        ("cmd/fleetsim/x.c", '#include "fleet/fleet.h"'),
        ("lib/other/x.c", ""),
        ("lib/fetch/x.c", "#include <curl/curl.h>"),
        ("lib/manifest/load.c", "#include <yaml.h>"),
        ("lib/plan/x.c", "#include <jansson.h>"),
        ("lib/deliver/x.c", "#include <sqlite3.h>"),
        ("lib/reconcile/x.c", "#include <git2.h>"),
        ("cmd/tender/x.c", "#include <microhttpd.h>"),
        ("lib/fetch/x.c", "#include <openssl/evp.h>"),
        ("lib/net/x.c", "#include <cmocka.h>"),
    ]
    for path, text in bad:
        sources.expect(f"{path} with {text}", len(check({path: "/* x */\n" + text + "\n"})) == 1)
    good = {
        "lib/net/x.c": '#include "net/http_exchange.h"\n#include "base/buf.h"\n#include <curl/curl.h>\n',
        "lib/deliver/x.c": '#include "plan/plan.h"\n#include "fleet/client.h"\n#include "fetch/fetch.h"\n',
        "lib/reconcile/x.c": '#include "reconcile/run.h"\n#include "state/state.h"\n#include <stdio.h>\n',
        "lib/manifest/yaml.c": '#include <yaml.h>\n#include "manifest/yaml.h"\n',
        "tests/unit/x.c": '#include "plan/plan.h"\n#include <jansson.h>\n',
        "cmd/tender/x.c": '#include "options.h"\n#include "reconcile/reconcile.h"\n',
    }
    sources.expect("what is allowed", check(good) == [])


if __name__ == "__main__":
    self_test()
    sources.finish(check(sources.c_files()))
