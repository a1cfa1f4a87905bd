"""Doc comments of the code begin as the words of the house have it."""

from __future__ import annotations

import re

import pytest
from rooms import ROOT

# A doc comment begins with a noun or a verb.
WORDS = r"what|where|whoever|whose|who|which|whatever|how|why|when|that|so|it as|one that|one who"
BEGINS = re.compile(rf"^\s*//[/!] (?:(?:{WORDS})\b|It[.,])", re.IGNORECASE)
DOC = re.compile(r"^\s*//[/!]")
PLACES = ("src", "abi", "control", "console", "tests")


def faults(text: str) -> list[tuple[int, str]]:
    """The first lines of doc comments that begin with another word, by their numbers."""
    found = []
    before = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if BEGINS.match(line) and not DOC.match(before):
            found.append((number, line.strip()))
        before = line
    return found


def test_doc_comments_begin_with_a_noun_or_a_verb() -> None:
    files = [path for place in PLACES for path in sorted((ROOT / place).rglob("*.rs")) if "target" not in path.parts]
    assert len(files) > 500, len(files)
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line}"
        for path in files
        for number, line in faults(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("/// What is left.\nfn left() {}\n", [1]),
        ("    //! Where it stands.\n", [1]),
        ("/// The rest:\n/// what is left.\nfn left() {}\n", []),
        ("/// The rest.\n///\n/// What is more.\nfn left() {}\n", []),
        ("// What a plain comment says.\n/// Counts lines.\n", []),
        ("/// Whether it is left.\n/// which\n", []),
    ],
)
def test_a_fault_is_seen(text: str, lines: list[int]) -> None:
    assert [number for number, _ in faults(text)] == lines
