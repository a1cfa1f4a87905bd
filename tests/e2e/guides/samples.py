"""What stands in a page as JSON, and how it is compared with what there is."""

from __future__ import annotations

import json
import re
from typing import Any

from e2e.guides.reader import DOCS
from pages import blocks

#: What is another one each time.
_TIME = re.compile(r"\d{4}-\d\d(-\d\d([T ]\d\d:\d\d(:\d\d)?)?)?")


def sample(page: str) -> list[Any]:
    """The samples of a page, those that have a line each as well."""
    texts = [block.text for block in blocks((DOCS / f"{page}.md").read_text(encoding="utf-8"), "json")]
    found = []
    for text in texts:
        while text := text.strip():
            value, end = json.JSONDecoder().raw_decode(text)
            found.append(value)
            text = text[end:]
    return found


def as_shown(value: Any) -> Any:
    """A value with a mark in the place of each time."""
    return json.loads(_TIME.sub("…", json.dumps(value, ensure_ascii=False)))
