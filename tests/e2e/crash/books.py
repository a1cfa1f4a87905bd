"""What the console has added up beside what is in the files."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from e2e.console.running import Api
from e2e.crash.fleet import Gateway
from e2e.up.running import environment
from stack import COMMAND

#: The sums of money.
_AMOUNTS = ("charge", "estimated_charge", "costed_charge", "cost", "margin")
_BY = ("key", "model", "day")
Sums = dict[tuple[str, ...], dict[str, Any]]


def file_id(file: Path) -> str:
    """A ledger file's identity at the console: the digest of its first line."""
    with file.open("rb") as lines:
        return hashlib.sha256(lines.readline(64 << 10)).hexdigest()


def items(api: Api, path: str) -> Iterator[dict[str, Any]]:
    """All pages of a list."""
    cursor = ""
    while True:
        page = api.get(f"{path}{'&' if '?' in path else '?'}limit=500{cursor}")
        yield from page["items"]
        if not page.get("next"):
            return
        cursor = f"&cursor={page['next']}"


def waiting(api: Api, gateways: list[Gateway]) -> list[str]:
    """The files that the console does not have all of."""
    found = []
    for gateway in gateways:
        for file in gateway.files():
            length = file.stat().st_size
            position = api.get(f"/ledger/{gateway.name}/{file_id(file)}")["position"] if length else 0
            if position != length:
                found.append(f"{file}: {position} of {length}")
    return found


def differences(api: Api, gateways: list[Gateway]) -> list[str]:
    """What the console has otherwise than `trilane usage` over all files, to the last digit and to the line."""
    return [*_sums(api, gateways), *_lines(api, gateways), *_spend(api, gateways)]


def _sums(api: Api, gateways: list[Gateway]) -> Iterator[str]:
    files = [file for gateway in gateways for file in gateway.files()]
    command = [COMMAND, "usage", "--by", ",".join((*_BY, "currency")), "--format", "json", *files]
    ran = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    of_files: Sums = {}
    for row in json.loads(ran.stdout)["rows"]:
        of_files[tuple(row[name] or "" for name in (*_BY, "currency"))] = row
    of_console: Sums = {}
    for item in items(api, f"/usage?by={','.join(_BY)}"):
        place = (*(item["values"][name] for name in _BY), item["currency"])
        of_console[place] = {**item["counts"], **{name: item[name] for name in _AMOUNTS}}
        assert of_console[place].keys() >= {"requests", "input", "output"}, item
    assert len(of_files) >= 5, of_files
    for place in sorted(of_files.keys() | of_console.keys()):
        want, got = of_files.get(place, {}), of_console.get(place, {})
        if not got or any(want.get(name) != value for name, value in got.items()):
            yield f"{place}: `trilane usage` has {want}, the console has {got}"


def _lines(api: Api, gateways: list[Gateway]) -> Iterator[str]:
    """Every line is there once: counted, or kept aside."""
    in_files: Counter[str] = Counter()
    aside = 0
    for gateway in gateways:
        for file in gateway.files():
            counted = 0
            for line in file.read_bytes().splitlines():
                try:
                    in_files[json.loads(line)["request_id"] or "-"] += 1
                    counted += 1
                except (ValueError, KeyError, TypeError):
                    aside += bool(line.strip())
            if counted:
                told = api.get(f"/ledger/{gateway.name}/{file_id(file)}")
                if told["lines"] != counted:
                    yield f"{file} has {counted} lines, of which the console says {told}"
    kept = sum(
        1
        for gateway in gateways
        for file in gateway.files()
        if file.stat().st_size
        for _ in items(api, f"/ledger/{gateway.name}/{file_id(file)}/aside")
    )
    if kept != aside:
        yield f"{aside} lines cannot be read, {kept} are kept aside"
    in_console = Counter(item["line"]["request_id"] or "-" for item in items(api, "/requests"))
    if missing := in_files - in_console:
        yield f"lines are missing: {missing}"
    if twice := in_console - in_files:
        yield f"lines are there twice: {twice}"


def _spend(api: Api, gateways: list[Gateway]) -> Iterator[str]:
    """What a key has spent is what its usage says: both are added up apart."""
    by_key = {(item["values"]["key"], item["currency"]): item["charge"] for item in items(api, "/usage?by=key")}
    months = {item["values"]["month"] for item in items(api, "/usage?by=month")}
    # The month of spend is that of a request's end, of usage that of its beginning: the same but for a run over midnight.
    if len(months) != 1:
        return
    for (key, currency), charge in by_key.items():
        if not key or not currency:
            continue
        spent = api.get(f"/spend?kind=key&subject={key}&period={min(months)}")
        amounts = {amount["currency"]: amount["amount"] for amount in spent["spent"]}
        if amounts.get(currency, "0") != charge:
            yield f"spend of {key}: {amounts}, its usage: {charge} {currency}"


def unaccounted(gateway: Gateway) -> Iterator[str]:
    """What clients got and no file has: of each kill of the Envoy, how many answers, and how old the oldest was.

    Envoy holds lines back for one flush interval. So what is lost are the latest answers before the kill and no others, but for
    clients that read theirs in another order.
    """
    recorded = set()
    for file in gateway.files():
        for record in map(_record, file.read_bytes().splitlines()):
            # An answer has its upstream's id, or else ours.
            recorded |= {record.get("request_id"), record.get("trilane.upstream_request_id")}
    order = sorted(gateway.answered.items(), key=lambda request: request[1])
    since = 0.0
    for kill in [*gateway.kills, float("inf")]:
        before = [(request not in recorded, at) for request, at in order if since < at <= kill]
        lost = [at for is_lost, at in before if is_lost]
        since = kill
        if lost:
            latest = before[-len(lost) - gateway.CLIENTS :]
            assert kill < float("inf"), f"{gateway.name}: {len(lost)} answers are in no file, and nobody killed Envoy"
            assert sum(is_lost for is_lost, _ in latest) == len(lost), f"{gateway.name}: {lost} before the kill at {kill}"
            yield f"{gateway.name}: {len(lost)} of {len(before)} answers are unaccounted for, the oldest {kill - lost[0]:.2f} s before the kill"


def _record(line: bytes) -> dict[str, Any]:
    try:
        return dict(json.loads(line))
    except (ValueError, TypeError):
        return {}
