"""A console with people, keys and a ledger, all brought in as users would."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Optional

import httpx
from e2e.console.running import Api, Console

ROOT = Path(__file__).resolve().parents[3]
#: Names that pages have to bear.
SCRIPT = "<script>alert('x')</script>\"'&"
RTL = "مفتاح المراجعة אבג"
LONG = "review-" * 18


class SeededConsole:
    """A console that runs, with what is in it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._sessions: dict[str, list[Any]] = {}
        #: What paths of pages have in braces.
        self.named: dict[str, str] = {}

    @property
    def url(self) -> str:
        return self._console.url

    @property
    def api(self) -> Api:
        return self._console.api

    def link(self, person: str) -> str:
        """The path of a new link that signs this person in."""
        return str(self.api.post(f"/people/{person}/sign-in-link", {})["path"])

    def session(self, person: str) -> list[Any]:
        """The cookies of a session, the same for all who only look."""
        if person not in self._sessions:
            with httpx.Client(base_url=self.url, trust_env=False) as http:
                token = self.link(person).partition("token=")[2]
                answer = http.post("/sign-in/link", data={"token": token})
                assert answer.status_code == 303, answer.text
                value = http.cookies["trilane-session"]
            self._sessions[person] = [{"name": "trilane-session", "value": value, "url": self.url}]
        return self._sessions[person]


def line(at: datetime, key: str, owner: str, model: str, charge: Optional[str], status: int = 200, **more: Any) -> str:
    """A line of a ledger."""
    members: dict[str, Any] = {
        "timestamp": at.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        "request_id": f"{key}-{at.timestamp()}",
        "http.response.status_code": status,
        "duration_ms": 1830,
        "http.request.method": "POST",
        "url.path": "/v1/messages",
        "trilane.outcome": "finished" if status == 200 else "refused",
        "trilane.usage.status": "complete" if status == 200 else "none",
        "trilane.key.id": key,
        "trilane.key.owner": owner,
        "trilane.group": "mixed",
        "trilane.source": "b-official",
        "trilane.account": "b-official-1",
        "trilane.entry": "vb_messages",
        "trilane.protocol": "B",
        "trilane.endpoint": "messages",
        "trilane.model": model,
        "trilane.stream": True,
        "trilane.time_to_first_byte_us": 812_000,
    }
    if status == 200:
        members |= {
            "gen_ai.usage.input_tokens": 15_340,
            "gen_ai.usage.output_tokens": 812,
            "gen_ai.usage.cache_read.input_tokens": 12_000,
        }
    if charge is not None:
        members |= {"trilane.charge": charge, "trilane.currency": "USD"}
    return json.dumps(members | more) + "\n"


def fill(api: Api) -> None:
    for person, name, role in [("ann", "Ann Archer", "member"), ("victor", "Victor Ives", "viewer"), ("olga", "Olga", "admin")]:
        api.post("/people", {"id": person, "name": name, "role": role})
    allowance = {"keys": 2, "groups": ["mixed", "b-official"], "limits": {"budget": {"per_month": "15"}}, "lifetime_days": 90}
    api.post("/teams", {"id": "blue", "name": "Blue", "allowance": allowance})
    assert api.call("PUT", "/teams/blue/members/ann", {"manager": False}).status_code == 200
    api.post("/people/ann/ordered-keys", {"group": "mixed", "team": "blue", "label": "Laptop", "limits": {"budget": {"per_month": "20"}}})
    budget = {"budget": {"per_month": "300"}}
    keys: list[tuple[str, str, str, dict[str, Any]]] = [
        ("ci-review", "Platform team", "mixed", {"label": "CI review", "limits": {"budget": {"per_month": "1000"}, "requests_per_minute": 600}}),
        ("data", "Data team", "mixed", {"label": "Data notebooks", "limits": budget, "expires_at": "2027-01-01T00:00:00Z"}),
        ("evals", "ann", "b-official", {"label": "Evals", "team": "blue", "limits": {"budget": {"per_month": "20"}, "requests_per_minute": 120}}),
        ("gemini-bot", "Docs", "c-official", {}),
        ("mobile-old", "Mobile team", "mixed", {"label": "Mobile (old)", "disabled": True}),
        ("mobile-review", "Mobile team", "mixed", {"label": "Mobile review", "limits": budget}),
        ("odd-script", "ann", "mixed", {"label": SCRIPT}),
        ("odd-rtl", RTL, "mixed", {"label": RTL}),
        ("odd-long", LONG, "mixed", {"label": LONG}),
    ]  # fmt: skip
    for key, owner, group, more in keys:
        api.new_key(key, group, owner=owner, **more)
    for number in range(60):
        api.new_key(f"seat-{number:03}", "mixed", label=f"Seat {number}", owner="Seats")
    now = datetime.now(timezone.utc).replace(microsecond=0)
    lines = []
    refused = {"error.type": "rate_limit_exceeded", "trilane.limit": "requests", "trilane.limit.scope": "key"}
    for number, (key, owner, _, _) in enumerate(keys[:6]):
        for age in range(12):
            at = now - timedelta(minutes=7 * age + number)
            model = ["claude-opus-4-5", "gpt-5.1", "claude-haiku-5-5", "gemini-2.5-flash"][(age + number) % 4]
            # As a gateway marks what it counts under a budget of the key.
            counted = {"trilane.spent.key.day": "1", "trilane.instance": "1"} if key == "evals" else {}
            lines.append(line(at, key, owner, model, f"{(number + 1) * 1.875 + age * 0.0131:.6f}", **counted))
        lines.append(line(now - timedelta(minutes=3), key, owner, "claude-opus-4-5", None, status=429, **refused))
    failed = [
        {"account": "b-official-1", "kind": "rate_limited", "status": 429},
        {"account": "b-official-3", "kind": "connection", "status": 0, "reason": "remote_connection_failure"},
    ]
    tried = {"trilane.account": "b-official-2", "trilane.tries": 3, "trilane.tries.failed": failed, "trilane.multiplier": "2.0000"}
    # 3,340 of input at 5 a million, 12,000 from the cache at 0.5, 812 of output at 25, twice.
    lines.append(line(now - timedelta(minutes=2), "data", "Data team", "claude-opus-4-5", "0.086", **tried))
    lines.sort()
    api.take_in("edge-1", "".join(lines))


def many_keys(directory: Path) -> None:
    """More keys than a page looks at for a search, as another program adds them. They come behind all others."""
    rows = [(f"{number:064x}", f"zz-{number:05}", "mixed") for number in range(10_000)]
    with closing(sqlite3.connect(directory / "console.db", timeout=30)) as database, database:
        database.executemany("INSERT INTO keys (sha256, id, group_id) VALUES (?, ?, ?)", rows)


def drafts(api: Api) -> dict[str, str]:
    """Two versions in force one after the other, a draft of the first, and one of the second that a gateway would refuse."""
    outdated = api.post("/drafts", {"note": "Begun before version 2"})["id"]

    def dearer(document: dict[str, Any]) -> None:
        document["groups"][0]["multiplier"] = "0.2500"

    api.publish(dearer)

    def refused(document: dict[str, Any]) -> None:
        document["groups"][0]["multiplier"] = "a quarter"
        document["groups"][0]["models"][0]["prices"]["input"] = "1.5"

    draft, _ = api.draft("Cheaper evaluations", refused)
    return {"outdated": outdated, "draft": draft}


def some_requests(api: Api) -> dict[str, str]:
    """The ids of one that went through accounts, a refused one, and one of ann's."""

    def first(query: str) -> str:
        return str(api.get(f"/requests?limit=1&{query}")["items"][0]["id"])

    return {"request": first("account=b-official-2"), "refused": first("status=429"), "own": first("owner=ann&status=200")}


@contextmanager
def seeded(place: Path) -> Iterator[SeededConsole]:
    document = ROOT / "envoy" / "gateway.json"
    options = ("--import-document", str(document), "--gateway-url", "https://ai.example.com", "--status-page")
    with Console(place / "db", *options) as console:
        fill(console.api)
        many_keys(place / "db")
        api = console.api
        api.post("/envoys", {"id": "edge-2", "name": "Frankfurt"})
        api.post("/tokens", {"name": "Reports of each month", "person": "ann", "expires_at": "2027-06-01T00:00:00Z"})
        api.post("/webhooks", {"url": "https://hooks.example.com/budgets"})
        assert api.call("PUT", "/budgets/owner/ann", {"per_day": "40", "per_month": "900.50"}).status_code == 200
        site = SeededConsole(console)
        site.named = drafts(console.api) | some_requests(console.api)
        yield site
