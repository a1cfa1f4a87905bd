#!/usr/bin/env python3
"""notices.py: the licences of everything that is linked into the filter and the command, with the texts that they come with.

Why not cargo-about: it knows crates only, too, so that the notices of C libraries would remain, and it has to be built first.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from beside import Library, libraries
from crates import ROOT, Crate, linked
from sbom import ARTIFACTS

_RULE = "=" * 100
_HEAD = """\
trilane is licensed under the Apache License 2.0, see LICENSE. It contains the software below, each under its own licence. Where
a licence is a choice ("OR"), either may be chosen. Each text is here once, after those that come with it."""


def notices(crates: Iterable[Crate], beside: Iterable[Library]) -> str:
    """The page. Texts that are the same but for white space stand once."""
    owners: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    lines = []
    for crate in crates:
        found = licence_texts(crate.source)
        lines.append(f"{crate.name} {crate.version}: {crate.license}" + ("" if found else " (its package has no text of it)"))
        for text in found:
            same = " ".join(text.split())
            texts.setdefault(same, text)
            owners.setdefault(same, []).append(f"{crate.name} {crate.version}")
    for library in beside:
        lines.append(f"{library.name} {library.version}: {library.license} ({library.site})")
        if library.notice:
            same = " ".join(library.notice.split())
            texts.setdefault(same, library.notice)
            owners.setdefault(same, []).append(f"{library.name} {library.version}")
    parts = [_HEAD, "\n".join(sorted(lines))]
    for same in sorted(texts, key=lambda same: (owners[same], same)):
        parts.append(f"{_RULE}\n{', '.join(owners[same])}\n{_RULE}\n\n{texts[same].strip()}")
    return "\n\n".join(parts) + "\n"


def licence_texts(source: Path) -> list[str]:
    """The texts in a package, in the order of their names."""
    pattern = re.compile(r"(licen[cs]e|copying|copyright|notice|unlicense)([-_.].*)?", re.IGNORECASE)
    files = [file for file in source.iterdir() if file.is_file() and pattern.fullmatch(file.name)]
    return [file.read_text(errors="replace").replace("\r\n", "\n") for file in sorted(files)]


def main() -> int:
    """Prints the page."""
    crates: dict[str, Crate] = {}
    beside: dict[str, Library] = {}
    try:
        for package, target in ARTIFACTS.values():
            found = linked(package, target)
            crates |= {crate.id: crate for crate in found if not crate.ours}
            beside |= {f"{library.name}@{library.version}": library for library in libraries(target, found)}
        # Rust's own library is under the licence of this project, whose text is beside this page.
        page = notices((crates[id] for id in sorted(crates)), (beside[id] for id in sorted(beside)))
    except (OSError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if not (ROOT / "LICENSE").is_file():
        print("error: LICENSE is not there", file=sys.stderr)
        return 1
    sys.stdout.write(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
