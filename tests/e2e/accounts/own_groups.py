"""Documents whose groups the test makes up: each has a key of its own, and operations of its protocol."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from e2e.accounts.accounts_journal import SECRETS
from e2e.accounts.document import CREDENTIAL_HEADERS, MODELS, Credentials
from e2e.accounts.operations import BY_NAME, Operation

Group = Mapping[str, Any]

#: Protocol -> the operations that tests of a whole group use: one that streams, and one that does not.
USUAL = {
    "A": (BY_NAME["chat"], BY_NAME["responses-stream"]),
    "B": (BY_NAME["messages"], BY_NAME["messages-stream"]),
    "C": (BY_NAME["generate"], BY_NAME["generate-stream"]),
}


def group_of(name: str, protocol: str, accounts: list[Mapping[str, Any]], **fields: Any) -> dict[str, Any]:
    """A source group with these accounts; with none, `fields` say where its requests go."""
    written = {"id": name, "protocol": protocol, "multiplier": "1.0000", "models": MODELS[protocol], **fields}
    return {**written, "accounts": accounts} if accounts else written


def document_of(*groups: Group) -> dict[str, Any]:
    """A whole document, with a key for each group."""
    keys = [
        {"id": f"key.{group['id']}", "sha256": hashlib.sha256(key_of(group).encode()).hexdigest(), "group": group["id"]}
        for group in groups
    ]
    return {"currency": "USD", "groups": [_at_home(group) for group in groups], "keys": keys}


def _at_home(group: Group) -> Group:
    """The same, whose conversations return as soon as their account is good, so that each case begins there."""
    if not group.get("accounts"):
        return group
    return {**group, "failover": {"prompt_cache_seconds": 0, **group.get("failover", {})}}


def key_of(group: Group) -> str:
    return f"sk-client-{group['id']}"


def headers_of(group: Group, operation: Operation) -> dict[str, str]:
    """What a client of the group sends."""
    name, prefix = CREDENTIAL_HEADERS[operation.protocol]
    return {name: prefix + key_of(group)}


def secret_headers(entry: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Every header of a journal's entry that carries a credential."""
    return [(name, value) for name, value in entry["headers"] if name in SECRETS]


def credential_of(credentials: Credentials, file: str) -> str:
    """What is in a credential's file now."""
    return (credentials.directory / file).read_text().rstrip("\n")
