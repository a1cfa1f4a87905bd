#!/usr/bin/env python3
"""Takes one check after another out of the filter or the console, and demands that the cases that belong to it fail then.

    PYTHONPATH=envoy:tests/runner target/venv/bin/python tests/mutations/run.py [--only NAME] [--native] [--list] [--check]

Each `Mutation` replaces one text of one file of the source, or one in each of several. The filter is built of a copy of the
tree, and the command where a mutation is the command's, in `target/mutations`, and the cases run there on a real Envoy; the
tree itself is not touched. `--native` runs the golden exchanges in place of these cases, without an Envoy; it says of how many
mutations of the filter they notice. A text that is not found exactly once, a mutation that does not compile, and a case that does not
run or passes without its check are errors. `make build programs envoy venv` must have run.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Optional

from abuse import ABUSE
from console import CONSOLE
from failover import FAILOVER
from mutation import Mutation

ROOT = Path(__file__).resolve().parents[2]
E2E = ROOT / "tests" / "e2e"
MUTATIONS = (*ABUSE, *FAILOVER, *CONSOLE)
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()
#: The copy of the tree, and what cargo builds of it: kept, so that the next run builds little.
TREE = TARGET / "mutations" / "tree"
BUILT = TARGET / "mutations" / "target"
#: Made by `make build programs envoy venv`, and used as they are.
SHARED = ("release/trilane", "release/trilane-upstream", "envoy-1.40.0", "postgres")
#: The command of the copy beside the simulator, for the mutations of the console.
PROGRAMS = BUILT / "programs"
#: Builds fast rather than small.
PROFILE = {"LTO": "off", "CODEGEN_UNITS": "16", "INCREMENTAL": "true", "OPT_LEVEL": "1"}
#: How long the cases of one mutation may take, and all cases together, in seconds.
PATIENCE, PATIENCE_WHOLE = 600, 3600


class Failed(Exception):
    """What a mutation shows that it should not."""


def problems(mutations: Iterable[Mutation] = MUTATIONS) -> list[str]:
    """The mutations whose text is not there exactly once, or whose cases are in no file."""
    found = []
    for mutation in mutations:
        for edit in mutation.edits:
            count = (ROOT / edit.file).read_text(encoding="utf-8").count(edit.old)
            if count != 1:
                found.append(f"{mutation.name}: its text stands {count} times in {edit.file}")
        if not mutation.cases and not is_native(mutation):
            found.append(f"{mutation.name}: it has no case, and golden exchanges do not run {mutation.file}")
        for case in mutation.cases:
            file, _, test = case.partition("::")
            text = (E2E / file).read_text(encoding="utf-8")
            if not re.search(rf"^def {re.escape(test.partition('[')[0])}\(", text, re.M):
                found.append(f"{mutation.name}: there is no case {case}")
    return found


def copy_tree() -> None:
    """Brings the copy up to date: only files that differ are written, so that cargo builds only these."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True
    )
    names = {name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()}
    for name in names:
        source, copy = ROOT / name, TREE / name
        if not copy.exists() or copy.read_bytes() != source.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)
    for copy in TREE.rglob("*"):
        if copy.is_file() and not copy.is_symlink() and str(copy.relative_to(TREE)) not in names:
            copy.unlink()
    links = {BUILT / name: TARGET / name for name in SHARED}
    links[PROGRAMS / "trilane"] = BUILT / "debug" / "trilane"
    links[PROGRAMS / "trilane-upstream"] = TARGET / "release" / "trilane-upstream"
    for link, program in links.items():
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(program)


def environment(mutation: Optional[Mutation]) -> dict[str, str]:
    more = {f"CARGO_PROFILE_RELEASE_{name}": value for name, value in PROFILE.items()}
    if is_of_command(mutation):
        more["TRILANE_PROGRAMS"] = str(PROGRAMS)
    return {**os.environ, **more, "CARGO_TARGET_DIR": str(BUILT), "PYTHONPATH": "envoy:tests/runner", "PYTHONDONTWRITEBYTECODE": "1"}


def is_of_command(mutation: Optional[Mutation]) -> bool:
    """Whether it is one of the command's. The filter is as it was then."""
    return mutation is not None and mutation.file.startswith(("console/", "control/"))


def build(mutation: Optional[Mutation]) -> None:
    """Builds what is mutated of the copy, or the filter and the judge."""
    module = ["cargo", "rustc", "--release", "--lib", "--crate-type", "cdylib", "--target", "wasm32-wasip1", "--package"]
    commands = [[*module, "trilane"], [*module, "trilane-judge"]]
    if is_of_command(mutation):
        commands = [["cargo", "build", "--package", "trilane-control"]]
    for command in commands:
        done = subprocess.run(command, cwd=TREE, env=environment(mutation), capture_output=True, text=True)
        if done.returncode:
            raise Failed("it does not compile:\n" + done.stderr[-3000:])


def run(cases: Sequence[str], mutation: Optional[Mutation]) -> dict[str, str]:
    """What became of each test that these select: `passed`, `failed`, `error` or `skipped`."""
    report = BUILT / "report.xml"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
    command += [f"tests/e2e/{case}" for case in cases]
    patience = PATIENCE if mutation else PATIENCE_WHOLE
    done = subprocess.run(command, cwd=TREE, env=environment(mutation), capture_output=True, text=True, timeout=patience)
    if not report.exists():
        raise Failed("the tests did not run:\n" + done.stdout[-3000:] + done.stderr[-1000:])
    became = {}
    for test in ElementTree.parse(report).iter("testcase"):
        file = "/".join(test.get("classname", "").split(".")[-2:]) + ".py"
        kinds = [child.tag for child in test if child.tag in ("failure", "error", "skipped")]
        word = {"failure": "failed", "error": "error", "skipped": "skipped"}[kinds[0]] if kinds else "passed"
        became[f"{file}::{test.get('name')}"] = word
    return became


def of_case(became: dict[str, str], case: str) -> list[str]:
    """What became of the tests of one case."""
    return [word for name, word in became.items() if name == case or name.startswith(f"{case}[")]


def judge_whole(became: dict[str, str], cases: Sequence[str]) -> None:
    """Nothing is taken out: all must pass."""
    bad = [f"{name}: {word}" for name, word in became.items() if word not in ("passed", "skipped")]
    if bad:
        raise Failed("these do not pass with every check in its place:\n  " + "\n  ".join(bad))
    missing = [case for case in cases if not of_case(became, case)]
    if missing:
        raise Failed("these are no cases:\n  " + "\n  ".join(missing))


def judge(became: dict[str, str], mutation: Mutation) -> None:
    """The check is out: each case must notice."""
    broken = [f"{name}: {word}" for name, word in became.items() if word == "error"]
    if broken:
        raise Failed("these did not run:\n  " + "\n  ".join(broken))
    blind = [case for case in mutation.cases if "failed" not in of_case(became, case)]
    if blind:
        raise Failed("these do not notice:\n  " + "\n  ".join(blind))


def mutate(mutation: Mutation, natively: bool) -> None:
    """Tries one mutation in the copy, and takes it back."""
    whole = {edit.file: (TREE / edit.file).read_text(encoding="utf-8") for edit in mutation.edits}
    try:
        for edit in mutation.edits:
            # Of several edits of one file each finds those before in it.
            text = (TREE / edit.file).read_text(encoding="utf-8")
            (TREE / edit.file).write_text(text.replace(edit.old, edit.new), encoding="utf-8")
        if natively or not mutation.cases:
            judge_natively(mutation)
        else:
            build(mutation)
            judge(run(mutation.cases, mutation), mutation)
    finally:
        for name, text in whole.items():
            (TREE / name).write_text(text, encoding="utf-8")


def is_native(mutation: Mutation) -> bool:
    """Whether what it changes is compiled for the golden exchanges: not the filter's calls of Envoy."""
    return all(edit.file.startswith("src/") and not edit.file.startswith("src/filter/") for edit in mutation.edits)


def run_golden(mutation: Optional[Mutation]) -> bool:
    """Whether all golden exchanges are as they were."""
    command = ["cargo", "test", "--package", "trilane", "--test", "golden"]
    built = subprocess.run([*command, "--no-run"], cwd=TREE, env=environment(mutation), capture_output=True, text=True)
    if built.returncode:
        raise Failed("it does not compile:\n" + built.stderr[-3000:])
    done = subprocess.run(command, cwd=TREE, env=environment(mutation), capture_output=True, text=True, timeout=PATIENCE)
    return done.returncode == 0


def judge_natively(mutation: Optional[Mutation]) -> None:
    """Whether the golden exchanges notice the mutation; without one, that they are as they were."""
    if run_golden(mutation) != (mutation is None):
        raise Failed("golden exchanges do not notice" if mutation else "golden exchanges have changed")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", action="append", default=[], help="the mutations whose names contain this")
    parser.add_argument("--native", action="store_true", help="by the golden exchanges, and those of the filter only")
    parser.add_argument("--list", action="store_true", help="say which mutations there are")
    parser.add_argument("--check", action="store_true", help="only see whether every text and case is there")
    options = parser.parse_args()
    chosen = [m for m in MUTATIONS if not options.only or any(part in m.name for part in options.only)]
    if options.native:
        chosen = [mutation for mutation in chosen if is_native(mutation)]
    if options.list:
        for mutation in chosen:
            print(f"{mutation.name}: {mutation.file}")
        return 0
    found = problems(chosen)
    if found or options.check:
        print("\n".join(found) or f"{len(chosen)} mutations can be made")
        return bool(found)
    copy_tree()
    failures = 0
    cases = sorted({case for mutation in chosen for case in mutation.cases})
    steps = [("nothing is taken out", None), *((mutation.name, mutation) for mutation in chosen)]
    for name, mutation in steps:
        began = time.monotonic()
        try:
            if mutation is None and options.native:
                judge_natively(None)
            elif mutation is None:
                judge_natively(None)
                build(None)
                if cases:
                    judge_whole(run(cases, None), cases)
            else:
                mutate(mutation, options.native)
            word = "as it should be" if mutation is None else "noticed"
        except (Failed, subprocess.TimeoutExpired) as error:
            failures += 1
            word = f"FAILED: {error}"
        print(f"{name}: {word} ({time.monotonic() - began:.0f} s)", flush=True)
        if failures and mutation is None:
            return 1
    print(f"{len(chosen) - failures} of {len(chosen)} mutations were noticed")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
