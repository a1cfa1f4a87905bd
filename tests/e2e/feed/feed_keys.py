"""The keys of a feed, as a service that obeys the protocol keeps them: each change has a version."""

from __future__ import annotations

import hashlib
import itertools
import threading
from typing import Any, Optional

GROUP = "a-official"

_identities = itertools.count(1)

Change = dict[str, Any]


def digest(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()


def identity() -> str:
    """One that no sequence of versions had before."""
    return f"feed-{next(_identities)}"


class Keys:
    """The keys of one feed and their versions."""

    def __init__(self) -> None:
        self.identity = identity()
        #: The greatest version given.
        self.version = 0
        #: Digest -> its last change, by version.
        self.last: dict[str, Change] = {}
        #: Every change there was, also those that others came after.
        self.history: list[Change] = []
        #: The greatest number of changes in a page, whatever is asked for.
        self.most = 1_000_000
        self._lock = threading.Lock()

    def put(self, *values: str, group: str = GROUP, **more: Any) -> None:
        """The keys with these values exist, and have these fields."""
        for value in values:
            self._change(value, {"id": f"id_{digest(value)[:12]}", "group": group, **more})

    def remove(self, *values: str) -> None:
        for value in values:
            self._change(value, {"removed": True})

    def forget(self, value: str) -> None:
        """Removed, and the removal compacted away: only a full reading says that the key is gone."""
        with self._lock:
            del self.last[digest(value)]

    def _change(self, value: str, fields: Change) -> None:
        with self._lock:
            self.version += 1
            name = digest(value)
            self.last.pop(name, None)
            self.last[name] = {"version": self.version, "sha256": name, **fields}
            self.history.append(self.last[name])

    # ---- What befalls a service

    def begin_anew(self, *, named: Optional[str] = None) -> None:
        """Lost its count: the keys are the same, their versions begin at 1, and nobody knows of removals."""
        with self._lock:
            there = [change for change in self.last.values() if "removed" not in change]
            self.last = {change["sha256"]: {**change, "version": number} for number, change in enumerate(there, 1)}
            self.version, self.history = len(there), list(self.last.values())
            self.identity = named or identity()

    def backup(self) -> tuple[int, dict[str, Change]]:
        with self._lock:
            return self.version, dict(self.last)

    def restore(self, backup: tuple[int, dict[str, Change]]) -> None:
        """As it was then, under the same identity."""
        with self._lock:
            self.version, self.last = backup[0], dict(backup[1])

    # ---- The protocol

    def page(self, cursor: Optional[str], limit: int) -> tuple[int, Any]:
        """The status and the page."""
        with self._lock:
            after = 0 if cursor is None else self._after(cursor)
            if after is None:
                return 410, {"error": "this cursor is not known"}
            found = [
                change
                for change in self.last.values()
                if change["version"] > after and (cursor is not None or "removed" not in change)
            ]
            given = found[: min(limit, self.most)]
            more = len(given) < len(found)
            last = given[-1]["version"] if more else self.version
            return 200, {
                "feed": self.identity,
                "version": self.version,
                "cursor": self.cursor(last),
                "more": more,
                "changes": given,
            }

    def cursor(self, version: int) -> str:
        """Text that means nothing to others, with characters that mean something in a URL."""
        return f"{self.identity}?&=%25/+;#{version}"

    def _after(self, cursor: str) -> Optional[int]:
        named, _, version = cursor.rpartition("#")
        if named != self.cursor(0)[:-2] or not version.isdigit() or int(version) > self.version:
            return None
        return int(version)
