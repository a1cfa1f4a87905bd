#!/usr/bin/env python3
"""Measures the code: lines, files, and runs of six lines that stand in two places.

    make size

A line counts if it has code: no comment alone, no blank. In `src`, `control/src` and `console/src` tests do not count; SQL, pages'
templates and assets do. Of `tests` every Python and Rust file counts.
"""

from __future__ import annotations

import io
import re
import subprocess
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: What each figure is of.
PARTS = {
    "src": ("src", "abi"),
    "control": ("control/src",),
    "console": ("console/src", "console/templates", "console/assets"),
    "tests": ("tests", "control/tests", "console/tests"),
}
#: How comments begin, and whether there is a form with an end.
COMMENTS = {".rs": ("//", ("/*", "*/")), ".sql": ("--", None), ".css": (None, ("/*", "*/")), ".js": ("//", ("/*", "*/")), ".html": (None, ("{#", "#}"))}
#: A module of a file of its own that only tests are compiled with.
TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\n(?:pub(?:\(\w+\))? )?mod (\w+);")
RUN = 6


def files(part: str) -> list[Path]:
    """The files of a part that git knows."""
    listed = subprocess.run(["git", "ls-files", "-z", *PARTS[part]], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    of_tests = part == "tests"
    kinds = {".rs", ".py"} if of_tests else set(COMMENTS)
    named = (Path(name) for name in listed.split("\0") if name)
    found = {path for path in named if path.suffix in kinds and (ROOT / path).exists()}
    return sorted(found if of_tests else found - test_modules(found))


def test_modules(found: set[Path]) -> set[Path]:
    """The files that only tests are compiled with, and those of their own modules."""
    declared = set()
    for path in found:
        if path.suffix == ".rs":
            around = path.parent if path.stem in {"mod", "lib", "main"} else path.with_suffix("")
            declared.update(around / name for name in TEST_MODULE.findall((ROOT / path).read_text(encoding="utf-8")))
    return {path for path in found if any(place in declared for place in (path.with_suffix(""), *path.parents))}


def lines(path: Path, whole: bool) -> Iterator[str]:
    """Its lines of code, without what stands around them. `whole`: with tests."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from python_lines(text)
        return
    line_comment, block = COMMENTS[path.suffix]
    if path.suffix == ".rs" and not whole:
        # An item that only tests are compiled with ends where its indentation does.
        text = re.sub(r"^#\[cfg\(test\)\]\n(?:[^\n]*;\n|.*?^\}\n)", "", text, flags=re.MULTILINE | re.DOTALL)
    end = ""
    for line in map(str.strip, text.splitlines()):
        if end:
            end = "" if end in line else end
        elif block and line.startswith(block[0]):
            end = "" if block[1] in line else block[1]
        elif line and not (line_comment and line.startswith(line_comment)):
            yield line


def python_lines(text: str) -> Iterator[str]:
    rows: set[int] = set()
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    at_start = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in skipped:
            at_start = at_start or token.type == tokenize.NEWLINE
            continue
        if not (at_start and token.type == tokenize.STRING):  # a docstring
            rows.update(range(token.start[0], token.end[0] + 1))
        at_start = False
    yield from (line.strip() for row, line in enumerate(text.splitlines(), 1) if row in rows)


def repeated(of_files: list[list[str]]) -> int:
    """How many runs of six lines stand in a second place. What goes on repeating counts once."""
    seen: dict[tuple[str, ...], tuple[int, int]] = {}
    runs = 0
    for number, code in enumerate(of_files):
        before: tuple[int, int] | None = None
        for at in range(len(code) - RUN + 1):
            run = tuple(code[at : at + RUN])
            other = seen.setdefault(run, (number, at))
            is_other = other != (number, at) and sum(len(line) for line in run) > 60
            if is_other and (before is None or other != (before[0], before[1] + 1)):
                runs += 1
            before = other if is_other else None
    return runs


def main() -> None:
    found: Counter[str] = Counter()
    product: list[list[str]] = []
    print(f"{'':8} {'lines':>7} {'files':>6}")
    for part in PARTS:
        code = [list(lines(path, part == "tests")) for path in files(part)]
        found[part] = sum(map(len, code))
        print(f"{part:8} {found[part]:7} {len(code):6}")
        if part != "tests":
            product += code
    print(f"product  {sum(count for part, count in found.items() if part != 'tests'):7}")
    print(f"repeated runs of {RUN} lines in the product: {repeated(product)}")


if __name__ == "__main__":
    main()
