"""The names of the workspace's types: where each is defined."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("src", "abi", "control", "console", "tests")
#: Names that may be defined more than once, each with the reason.
PERMITTED = {
    "Case": "a row of the table that stands below it in a test; no other file sees it",
    "Lanes": "the vectors of one kind of machine; each build has one of the three",
}
_DEFINITION = re.compile(r"( *)(?:pub(?:\([a-z: ]+\))? )?(struct|enum|union|trait|type) ([A-Z]\w*)")
_BLOCK_OF_A_TRAIT = re.compile(r"(?:pub(?:\([a-z: ]+\))? )?(?:unsafe )?(?:impl|trait)\b")


def _is_associated(lines: list[str], number: int, indent: int) -> bool:
    """Whether the type at this line is one of a trait: the nearest line further out opens an `impl` or a `trait`."""
    for line in reversed(lines[:number]):
        text = line.lstrip(" ")
        # Between the head of a block and its brace stands a `where`, as far out as they are.
        if text and len(line) - len(text) < indent and text not in ("{", "where"):
            return _BLOCK_OF_A_TRAIT.match(text) is not None
    return False


def defined(text: str) -> Iterator[tuple[int, str]]:
    """The line and the name of each type that a source defines. Those that a trait asks for have the trait's names."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        found = _DEFINITION.match(line)
        if found and not (found[2] == "type" and found[1] and _is_associated(lines, number, len(found[1]))):
            yield number + 1, found[3]


def definitions() -> dict[str, list[str]]:
    """The places of each name, as `file:line`."""
    places: dict[str, list[str]] = defaultdict(list)
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.rs")):
            name = path.relative_to(ROOT).as_posix()
            if "/target/" not in name and "/node_modules/" not in name:
                for line, type_name in defined(path.read_text(encoding="utf-8")):
                    places[type_name].append(f"{name}:{line}")
    return places


def used_twice(places: dict[str, list[str]]) -> list[str]:
    """The names with more than one place, each with all of them."""
    return [
        f"{name}: {', '.join(of)}" for name, of in sorted(places.items()) if len(of) > 1 and name not in PERMITTED
    ]
