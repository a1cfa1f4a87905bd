"""The document of these tests: a source of each protocol with four upstream accounts, and their credentials.

The accounts `a1` to `a4` of every source are the simulator's four listeners, each with a credential of its own,
so the journal can tell who came with what.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

from demo import DEMO_KEYS

#: The simulator's listener behind each account, and its port in documents (see `tests/runner/stack.py`).
LISTENERS = {"a1": "a_official", "a2": "b_official", "a3": "b_low_rate", "a4": "c_official"}
PORTS = {"a1": 9101, "a2": 9102, "a3": 9103, "a4": 9104}
ACCOUNTS = list(LISTENERS)
ACCOUNT_OF = {listener: account for account, listener in LISTENERS.items()}

#: Protocol -> the id of its group.
GROUPS = {"A": "acc-a", "B": "acc-b", "C": "acc-c"}
#: Keys of each group, for tests that tell conversations or records apart by them.
KEYS = 240

#: How each protocol's accounts take their credential: the header, and what is before the value.
CREDENTIAL_HEADERS = {"A": ("authorization", "Bearer "), "B": ("x-api-key", ""), "C": ("x-goog-api-key", "")}

MODELS: dict[str, list[dict[str, Any]]] = {
    "A": [
        {"id": "gpt-5.1", "prices": {"input": "1.25", "cache_read": "0.125", "output": "10"}},
        # Renamed upstream: that one string of the body (in protocol C of the path) changes.
        {"id": "gpt-renamed", "upstream": "gpt-upstream-2026", "prices": {"input": "2", "output": "8"}},
    ],
    "B": [
        {"id": "claude-opus-4-5", "prices": {"input": "5", "cache_read": "0.5", "output": "25"}},
        {"id": "claude-renamed-1", "upstream": "claude-upstream-2026", "prices": {"input": "1", "output": "5"}},
    ],
    "C": [
        {"id": "gemini-2.5-flash", "prices": {"input": "0.3", "cache_read": "0.075", "output": "2.5"}},
        {"id": "gemini-renamed", "upstream": "gemini-upstream-2026", "prices": {"input": "1", "output": "4"}},
    ],
}
MODEL = {protocol: models[0]["id"] for protocol, models in MODELS.items()}
RENAMED = {protocol: models[1]["id"] for protocol, models in MODELS.items()}
UPSTREAM_NAME = {protocol: models[1]["upstream"] for protocol, models in MODELS.items()}


def key_id(protocol: str, number: int = 0) -> str:
    return f"{GROUPS[protocol]}.{number}"


def key_value(protocol: str, number: int = 0) -> str:
    return f"sk-client-{GROUPS[protocol]}-{number}"


def client_headers(protocol: str, number: int = 0) -> dict[str, str]:
    """What a client of the protocol sends: its key, in protocol B the version too."""
    name, prefix = CREDENTIAL_HEADERS[protocol]
    version = {"anthropic-version": "2023-06-01"} if protocol == "B" else {}
    return {name: prefix + key_value(protocol, number), **version}


def account(protocol: str, name: str, tier: int = 0, **fields: Any) -> dict[str, Any]:
    """One account. `fields` change it; `None` takes a field out."""
    written: dict[str, Any] = {
        "id": name,
        "url": f"http://upstream:{PORTS.get(name, 9101)}",
        "credential": credential_file(protocol, name),
        "priority": tier,
        **fields,
    }
    return {field: value for field, value in written.items() if value is not None}


def source(
    protocol: str,
    tiers: tuple[int, ...] = (2, 2),
    *,
    failover: Optional[Mapping[str, Any]] = None,
    changes: Optional[Mapping[str, Mapping[str, Any]]] = None,
    **fields: Any,
) -> dict[str, Any]:
    """A source group with as many accounts in each tier as said; `changes` gives fields to some of them, by id."""
    # The simulator's 429 asks for more time than a test has.
    set_aside = (failover or {}).get("set_aside_seconds", 1)
    of_tier = [tier for tier, size in enumerate(tiers) for _ in range(size)]
    changes = changes or {}
    return {
        "id": GROUPS[protocol],
        "protocol": protocol,
        "multiplier": "1.0000",
        "accounts": [
            account(protocol, name, tier, **changes.get(name, {})) for name, tier in zip(ACCOUNTS, of_tier)
        ],
        # Short enough that no test has to wait for it.
        "failover": {
            "set_aside_seconds": set_aside,
            "set_aside_max_seconds": set_aside,
            "prompt_cache_seconds": 0,
            **(failover or {}),
        },
        "models": MODELS[protocol],
        **({"count_tokens": True} if protocol == "B" else {}),
        **fields,
    }


def document(
    tiers: tuple[int, ...] = (2, 2),
    *,
    protocols: str = "ABC",
    failover: Optional[Mapping[str, Any]] = None,
    changes: Optional[Mapping[str, Mapping[str, Any]]] = None,
    more_groups: tuple[Mapping[str, Any], ...] = (),
    more_keys: tuple[Mapping[str, Any], ...] = (),
    **fields: Any,
) -> dict[str, Any]:
    """A whole document. `tiers`, `failover` and `changes` hold for each of its sources, `fields` for itself.

    An Envoy needs two inotify instances an account, and all of a machine's user may have 128 by default: few
    accounts, and few stacks at once.
    """
    groups = [source(protocol, tiers, failover=failover, changes=changes) for protocol in protocols]
    keys = [
        _key(key_id(protocol, number), key_value(protocol, number), GROUPS[protocol])
        for protocol in protocols
        for number in range(KEYS)
    ]
    # The keys with which `support` and `vitals` ask.
    keys += [
        _key(f"key_{protocol.lower()}", DEMO_KEYS[f"key_{protocol.lower()}"], GROUPS[protocol])
        for protocol in protocols
    ]
    return {
        "currency": "USD",
        "groups": [*groups, *more_groups],
        "keys": [*keys, *more_keys],
        **fields,
    }


def _key(name: str, value: str, group: str) -> dict[str, Any]:
    return {"id": name, "sha256": hashlib.sha256(value.encode()).hexdigest(), "group": group}


def credential_file(protocol: str, name: str) -> str:
    """The file's name within the credentials' directory."""
    return f"{GROUPS[protocol]}.{name}"


class Credentials:
    """The files of the accounts' credentials, each with a value that nobody else has."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._values: dict[str, str] = {}
        self._ever: list[str] = []
        directory.mkdir(parents=True, exist_ok=True)
        for old in directory.iterdir():
            if old.is_file():
                old.unlink()
        for protocol in GROUPS:
            for name in ACCOUNTS:
                self.put(credential_file(protocol, name))

    def put(self, file: str, value: Optional[str] = None) -> str:
        """Writes a value (a new one by default) the way operators should: beside its place, then renamed."""
        value = value if value is not None else f"SECRET-{file}-{secrets.token_hex(12)}"
        part = self.directory / f".{file}.part"
        part.write_text(f"{value}\n")
        part.replace(self.directory / file)
        self._values[file] = value
        if value:
            self._ever.append(value)
        return value

    def value(self, protocol: str, name: str) -> str:
        """The credential of an account."""
        return self._values[credential_file(protocol, name)]

    def header(self, protocol: str, name: str) -> tuple[str, str]:
        """The header that an account must get, and nothing else of the kind."""
        header, prefix = CREDENTIAL_HEADERS[protocol]
        return header, prefix + self.value(protocol, name)

    @property
    def all_values(self) -> list[str]:
        """Every credential that was ever written."""
        return list(self._ever)
