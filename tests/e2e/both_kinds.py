"""The sample document with groups of both kinds: strict ones, as the specification has them, and ones for current clients.

The sample has the latter only, since that is what newcomers need. Here its groups are strict under their own names, and beside
`b-official`, `c-official` and `mixed` stand `b-current`, `c-current` and `mixed-current` for current clients.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from demo import DEMO_KEYS
from stack import SAMPLE_DOCUMENT

#: The groups that are there twice: id -> id of the one for current clients.
CURRENT = {"b-official": "b-current", "c-official": "c-current", "mixed": "mixed-current"}
#: Their keys.
_CURRENT_KEYS = {f"key_{group.replace('-', '_')}": group for group in CURRENT.values()}
#: Key id -> value: the sample's keys, and those of the groups that only this document has.
KEYS = {**DEMO_KEYS, **{key: f"trilane-demo-{group}" for key, group in _CURRENT_KEYS.items()}}
#: The strict Mixed group lists models of this entry only, as a key of it could see them before it was for all three.
STRICT_MIXED_ENTRY = "vb_messages"


def both_kinds() -> dict[str, Any]:
    """The document."""
    document: dict[str, Any] = json.loads(SAMPLE_DOCUMENT.read_bytes())
    strict = []
    for group in document["groups"]:
        assert group["clients"] == "current", f"the sample's {group['id']} is for newcomers"
        bare = {name: value for name, value in group.items() if name != "clients"}
        if group["protocol"] == "Mixed":
            bare["models"] = [model for model in group["models"] if model["entry"] == STRICT_MIXED_ENTRY]
        strict.append(bare)
    current = [{**group, "id": CURRENT[group["id"]]} for group in document["groups"] if group["id"] in CURRENT]
    document["groups"] = json.loads(json.dumps(strict + current))
    document["keys"] += [
        {"id": key, "sha256": hashlib.sha256(KEYS[key].encode()).hexdigest(), "group": group}
        for key, group in _CURRENT_KEYS.items()
    ]
    return document
