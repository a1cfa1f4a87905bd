"""Keys that no request has used yet: the key's id finds the request's line of the ledger."""

from __future__ import annotations

import itertools
import threading
from typing import Callable


class FreshKeys:
    """Hands out the numbered keys of a document's groups, each once."""

    def __init__(self, key_id: Callable[[str, int], str], key_value: Callable[[str, int], str]) -> None:
        """How the document writes the id and the value of a group's key with a number."""
        self._key_id, self._key_value = key_id, key_value
        self._numbers: dict[str, itertools.count[int]] = {}
        self._lock = threading.Lock()

    def take(self, group: str, most: int) -> tuple[str, str]:
        """The id and the value of a key of the group; the document has `most` of them."""
        with self._lock:
            number = next(self._numbers.setdefault(group, itertools.count()))
        assert number < most, f"the document has too few keys of {group}"
        return self._key_id(group, number), self._key_value(group, number)
