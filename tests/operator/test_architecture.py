"""The picture of the rooms in docs/architecture.md is what the code's imports say."""

from __future__ import annotations

from rooms import ROOT, faults, imports, rooms

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
