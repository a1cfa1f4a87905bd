"""The picture of the rooms in docs/architecture.md is what the code's imports say."""

from __future__ import annotations

import pytest
from rooms import ROOT, SRC, circle, faults, imports, imports_within, rooms, sources

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_the_picture_is_the_house() -> None:
    assert faults(PAGE) == []


def test_the_imports_are_found() -> None:
    """The check is worth something: it sees what is known to be there."""
    found = imports()
    assert {"loader", "exchange"} <= found["worker"]
    assert not found["shared_data"]
    assert len(rooms()) > 20


def test_an_import_upwards_is_a_fault() -> None:
    upside_down = PAGE.replace("        entry\n        filter\n", "        filter\n        entry\n")
    assert faults(upside_down) == ["entry imports filter, which is not below it"]


@pytest.mark.parametrize("crate", [".", "control", "console"])
def test_no_circle(crate: str) -> None:
    """The rooms of each crate can be put in a row in which each imports only those behind it."""
    found = imports(ROOT / crate / "src")
    assert len(found) > 20
    assert circle(found) == set()


def test_no_circle_in_a_room() -> None:
    """The files of each room of the filter can be put in such a row, too."""
    assert {"decision", "record"} <= imports_within(SRC / "exchange")["phase"]
    circles = {room.name: circle(imports_within(room)) for room in SRC.iterdir() if room.is_dir()}
    assert {name: found for name, found in circles.items() if found} == {}


def test_a_circle_is_seen() -> None:
    found = imports(ROOT / "console" / "src")
    assert "store" in found["intake"]
    found["store"].add("intake")
    assert {"store", "intake"} <= circle(found)


def test_two_faces_of_the_use_cases() -> None:
    """API and pages call the use cases, and neither calls the other. A use case knows nothing of HTTP servers."""
    console = ROOT / "console" / "src"
    found = imports(console)
    assert "cases" in found["api"] & found["pages"]
    assert "api" not in found["pages"] | found["cases"]
    assert "pages" not in found["api"] | found["cases"]
    assert not [path for path in sources("cases", console) if "axum" in path.read_text(encoding="utf-8")]
