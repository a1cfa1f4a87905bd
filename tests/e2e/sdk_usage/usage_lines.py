"""What a line of the ledger must say, and an SDK's usage in the ledger's terms."""

from __future__ import annotations

import json
from typing import Any, Mapping


def judge(where: str, line: Mapping[str, Any], want: Mapping[str, Any]) -> None:
    """Each member is as wanted; `None`: it is not there."""
    __tracebackhide__ = True
    wrong = {name: (line.get(name), value) for name, value in want.items() if line.get(name) != value}
    assert not wrong, f"{where}: (got, wanted): {wrong}\n{json.dumps(line, indent=1)}"


def flat(usage: Any, prefix: str = "") -> dict[str, int]:
    """The numbers of an SDK's usage object by their path, as `trilane.usage.reported` has them; no zeros, no lists."""
    found: dict[str, int] = {}
    for name, value in (usage or {}).items():
        if isinstance(value, dict):
            found.update(flat(value, f"{prefix}{name}."))
        elif isinstance(value, int) and not isinstance(value, bool) and value:
            found[prefix + name] = value
    return found
