"""The upstream accounts of the soak: where each is, what it is known by, what is wrong with it in which document."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Optional

#: The simulator's listeners, with the ports that stand for them in documents.
LISTENERS = {"a_official": 9101, "b_official": 9102, "b_low_rate": 9103, "c_official": 9104}
#: How each protocol's vendors take a credential.
_HEADERS = {"A": ("authorization", "Bearer "), "B": ("x-api-key", ""), "C": ("x-goog-api-key", "")}
#: What every credential begins with. It may be found nowhere but at the accounts.
SECRET = "soak-secret-"
#: Every header by which a credential could come.
SECRET_HEADERS = ("authorization", "x-api-key", "x-goog-api-key", "x-vc-api-key", "api-key", "proxy-authorization")
#: As long as an account may take to begin its answer, in seconds. One that hangs may be asked twice before a client is idle.
ANSWER_SECONDS = 2


class Upstreams(NamedTuple):
    """The accounts of a source: how many, which listener is the first one's, and what sets one aside."""

    number: int
    first: int
    failures: int


class Account(NamedTuple):
    """One account."""

    id: str
    listener: str
    tier: int
    credential: tuple[str, str]
    #: In some documents nobody listens at its address.
    refuses: bool
    #: In some documents its credential's file is missing.
    lacks_credential: bool


def accounts(source: str, protocol: str, upstreams: Upstreams) -> dict[str, Account]:
    """All accounts of a source, by id."""
    names = list(LISTENERS)
    header, prefix = _HEADERS[protocol]
    several = upstreams.number > 1
    found = {}
    for number in range(upstreams.number):
        name = f"{source}-{number + 1}"
        listener = names[(number + upstreams.first) % len(names)]
        credential = (header, f"{prefix}{SECRET}{name}")
        found[name] = Account(name, listener, number // 2, credential, several and number == 0, several and number == 1)
    return found


def members(version: int, upstreams: Upstreams, listed: Mapping[str, Account]) -> dict[str, Any]:
    """What a source's group says of them in this version of the document."""
    written = []
    for account in listed.values():
        refused = account.refuses and version % 4 == 1
        lacking = account.lacks_credential and version % 4 == 2
        written.append({
            "id": account.id,
            "url": "http://127.0.0.1:1" if refused else f"http://upstream:{LISTENERS[account.listener]}",
            "credential": f"{account.id}.missing" if lacking else account.id,
            "priority": account.tier,
            "weight": 1 + (version % 4 == 3) * (account.tier + 1),
        })  # fmt: skip
    failover = {
        "failures": upstreams.failures,
        "set_aside_seconds": 3,
        "set_aside_max_seconds": 3,
        "answer_seconds": ANSWER_SECONDS,
        "stream_answer_seconds": ANSWER_SECONDS,
    }
    return {"accounts": written, "failover": failover}


def write_credentials(directory: Path, listed: Mapping[str, Account]) -> None:
    """The files that documents name."""
    directory.mkdir(parents=True, exist_ok=True)
    for account in listed.values():
        (directory / account.id).write_text(f"{SECRET}{account.id}\n")


def kind_of(status: Optional[int]) -> str:
    """What an account's own answer says of its try: a kind of failure, or `answered`."""
    if status is None or status < 400:
        return "answered"
    if status in (401, 402, 403):
        return "unauthorized"
    if status == 429:
        return "rate_limited"
    if status in (503, 529):
        return "overloaded"
    return "server_error" if status >= 500 else "answered"
