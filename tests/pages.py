"""Pages of the documentation whose fenced blocks tests run, as a reader would."""

from __future__ import annotations

import dataclasses
import re
from typing import Iterator, Optional

_FENCE = re.compile(r"^( *)```(\w+)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)


@dataclasses.dataclass(frozen=True)
class Block:
    """What stands between two fences."""

    language: str
    #: Without the indentation that the whole block has.
    text: str
    #: The last line before it that is not empty: it may name a file.
    before: str
    #: The last heading of the second rank before it.
    heading: str


def blocks(page: str, language: Optional[str] = None) -> Iterator[Block]:
    """The page's blocks in their order, or those of one language."""
    for found in _FENCE.finditer(page):
        indent, kind, text = found.groups()
        if language in (None, kind):
            before = page[: found.start()].rstrip().splitlines()
            heading = next((line.lstrip("# ") for line in reversed(before) if line.startswith("## ")), "")
            yield Block(kind, re.sub(f"^{indent}", "", text, flags=re.MULTILINE), before[-1] if before else "", heading)
