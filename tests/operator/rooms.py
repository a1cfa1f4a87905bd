"""The rooms of a crate: what imports what, as the code says and, of the filter, as docs/architecture.md draws it."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
#: `lib.rs` and `main.rs` name every room, and say nothing of who needs whom.
NOT_ROOMS = {"lib", "main"}
_TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\s*mod \w+ \{.*", re.DOTALL)


def rooms(src: Path = SRC) -> set[str]:
    """The folders and files right below a crate's `src`."""
    return {path.stem for path in src.iterdir() if path.is_dir() or path.suffix == ".rs"} - NOT_ROOMS


def sources(room: str, src: Path = SRC) -> list[Path]:
    """A room's files without its tests."""
    files = [path for path in (src / f"{room}.rs", *(src / room).rglob("*.rs")) if path.exists()]
    return [path for path in files if "tests" not in path.relative_to(src).with_suffix("").parts]


def named(text: str, root: str = "crate") -> set[str]:
    """The rooms that a source's paths begin with: `use crate::a::b`, `use crate::{a::b, c}`, `crate::a::f()`."""
    code = re.sub(r"//[^\n]*", "", _TEST_MODULE.sub("", text))
    found: set[str] = set()
    for path in re.findall(rf"(?<![:\w]){root}::(\{{[^;]*?\}}|[a-z_]+)", code, re.DOTALL):
        if path.startswith("{"):
            depth, item = 0, ""
            for letter in path[1:-1] + ",":
                depth += (letter == "{") - (letter == "}")
                if letter == "," and depth == 0:
                    found.update(re.findall(r"^\s*([a-z_]+)", item))
                    item = ""
                else:
                    item += letter
        else:
            found.add(path)
    return found


def imports(src: Path = SRC) -> dict[str, set[str]]:
    """Of each room the others that it imports."""
    every = rooms(src)
    return {
        room: set().union(*(named(path.read_text(encoding="utf-8")) for path in sources(room, src))) & every - {room}
        for room in every
    }


def imports_within(room: Path) -> dict[str, set[str]]:
    """Of each file or folder of a room the others in it that it imports."""
    every = {path.stem for path in room.iterdir()} - {"mod", "tests"}
    found: dict[str, set[str]] = {one: set() for one in every}
    for one in every:
        for path in sources(one, room):
            root = "super" if path.stem == "mod" or path.parent == room else "super::super"
            found[one] |= named(path.read_text(encoding="utf-8"), root) & every - {one}
    return found


def circle(found: dict[str, set[str]]) -> set[str]:
    """The rooms that import each other, over however many others, and those between two circles; none where all can be put in a row."""
    left = dict(found)
    while True:
        needed = set().union(*left.values()) & left.keys()
        ends = {room for room, others in left.items() if not others & left.keys() or room not in needed}
        if not ends:
            return set(left)
        left = {room: others for room, others in left.items() if room not in ends}


def drawn(page: str) -> list[str]:
    """The rooms of the picture between `<!-- rooms -->` and `<!-- rooms end -->`, from the top."""
    picture = page.split("<!-- rooms -->\n", 1)[1].split("<!-- rooms end -->", 1)[0]
    return re.findall(r"^        (\w+)$", picture, re.MULTILINE)


def faults(page: str) -> list[str]:
    """What the picture and the imports do not agree on."""
    picture = drawn(page)
    place = {room: number for number, room in enumerate(picture)}
    found = [f"{room} is drawn twice" for room in sorted({room for room in picture if picture.count(room) > 1})]
    found += [f"{room} is drawn and not in src" for room in sorted(place.keys() - rooms())]
    found += [f"{room} is in src and not drawn" for room in sorted(rooms() - place.keys())]
    for room, needed in sorted(imports().items()):
        found += [
            f"{room} imports {other}, which is not below it"
            for other in sorted(needed)
            if room in place and other in place and place[other] <= place[room]
        ]
    return found
