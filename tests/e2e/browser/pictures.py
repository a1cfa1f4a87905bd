"""The pictures in docs: which pages they show, a console with a month of work in it, and what makes a picture stale."""

from __future__ import annotations

import hashlib
import random
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from e2e.browser.chromium import ROOT
from e2e.browser.seeded import SeededConsole, line
from e2e.console.running import Api, Console
from stack import COMMAND

DIRECTORY = ROOT / "docs" / "pictures"
#: The name of the picture, the path of its page, who looks at it.
PICTURES: list[tuple[str, str, str]] = [
    ("overview", "/", "admin"),
    ("keys", "/keys", "admin"),
    ("key", "/keys/anna-laptop", "admin"),
    ("group", "/groups/mixed", "admin"),
    ("draft", "/drafts/{draft}", "admin"),
    ("accounts", "/accounts", "admin"),
    ("usage", "/usage?since={since}", "admin"),
    ("requests", "/requests", "admin"),
]
#: Those that come in dark too: a page shows them to who has chosen dark.
DARK = {"usage"}

PEOPLE = [("anna", "Anna Berg"), ("ben", "Ben Castro"), ("chidi", "Chidi Okafor")]
#: A key, its owner, its team, its label, requests on a working day, dollars a month.
KEYS = [
    ("anna-laptop", "anna", "platform", "Anna's laptop", 9, "300"),
    ("ben-laptop", "ben", "platform", "Ben's laptop", 6, "300"),
    ("chidi-laptop", "chidi", "mobile", "Chidi's laptop", 5, "300"),
    ("ci-review", "platform", "platform", "Code review in CI", 14, "1000"),
    ("docs-search", "docs", "docs", "Search in the docs", 4, "100"),
]
#: So far apart that the same one is ahead on whatever day the pictures are looked at.
MODELS = ["claude-opus-4-5"] * 5 + ["claude-haiku-5-5"] * 3 + ["gpt-5.1"] * 2 + ["gemini-2.5-flash"]
#: The source of a model, and its accounts, the first of which is asked more often.
SOURCES = {
    "claude-opus-4-5": ("b-official", ["b-official-1", "b-official-1", "b-official-2"]),
    "claude-haiku-5-5": ("b-official", ["b-official-1", "b-official-2"]),
    "gpt-5.1": ("a-official", ["a-official-1", "a-official-1", "a-official-2"]),
    "gemini-2.5-flash": ("c-official", ["c-official-1"]),
}
ENVOYS = ["frankfurt", "virginia"]
#: What a page says apart from its data, in the order in which it says it. Figures, names of months and the series of a chart are data.
OUTLINE = """() => {
  const texts = [...document.querySelectorAll("h1, h2, h3, th[scope=col], thead th:not(:has(> bdi:only-child)), label, button, nav a, dt, summary, legend")]
    .map((element) => element.textContent.replace(/\\s+/g, " ").trim()
      .replace(/\\b(January|February|March|April|May|June|July|August|September|October|November|December|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\\b/g, "#")
      .replace(/[0-9][0-9.,:]*/g, "#"))
    .filter((text) => text);
  return texts.filter((text, at) => text !== texts[at - 1]);
}"""


def lines(now: datetime) -> str:
    """A ledger of thirty days, the same each time but for the date."""
    draw = random.Random(7)
    told = []
    for age in range(30):
        day = now - timedelta(days=age)
        quiet = day.weekday() >= 5
        for key, owner, team, _, daily, _ in KEYS:
            for _ in range(max(1, daily // 4) if quiet else daily + draw.randrange(4)):
                at = day.replace(hour=0, minute=0, second=0) + timedelta(seconds=draw.randrange(86_400))
                model = draw.choice(MODELS)
                source, accounts = SOURCES[model]
                failed = draw.random() < 0.03
                charge = None if failed else f"{draw.randrange(40_000, 900_000) / 1_000_000:.6f}"
                more: dict[str, Any] = {"trilane.key.team": team, "trilane.time_to_first_byte_us": draw.randrange(350_000, 1_900_000)}
                if failed:
                    more |= {"trilane.limit": "requests", "trilane.limit.scope": "key"}
                else:
                    account, busy = draw.choice(accounts), draw.random() < 0.02
                    more |= {"trilane.source": source, "trilane.account": account, "trilane.tries": 2 if busy else 1}
                    if busy:
                        more["trilane.tries.failed"] = [{"account": accounts[0], "kind": "rate_limited", "status": 429}]
                if at < now:
                    told.append(line(at, key, owner, model, charge, status=429 if failed else 200, **more))
    # Each has something of this very day and month, whenever that is.
    latest = now - timedelta(seconds=30)
    answered = {"trilane.account": "b-official-1", "trilane.tries": 1}
    told += [line(latest, key, owner, "claude-opus-4-5", "0.412500", **{"trilane.key.team": team, **answered}) for key, owner, team, *_ in KEYS]
    return "".join(sorted(told))


def enrolled(api: Api, envoy: str, secret: str) -> None:
    """An Envoy whose agent has everything in force."""
    agent = Api(api.url, api.post("/enrol", {"token": secret, "envoy": envoy})["token"])
    digest = api.get("/documents/current")["sha256"]
    clock = datetime.now(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")
    report = {"version": "0.2.0", "document": digest, "in_force": digest, "keys": len(KEYS), "ledger_waiting": 0, "clock": clock}
    assert agent.call("PUT", f"/envoys/{envoy}/report", report).status_code < 300


def fill(api: Api, secret: str) -> dict[str, str]:
    now = datetime.now(timezone.utc).replace(microsecond=0)
    for person, name in PEOPLE:
        api.post("/people", {"id": person, "name": name, "role": "member"})
    for key, owner, team, label, _, month in KEYS:
        api.new_key(key, "mixed", owner=owner, team=team, label=label, limits={"budget": {"per_month": month}})
    for name in sorted({account for _, accounts in SOURCES.values() for account in accounts} | {"a-official-reserve"}):
        assert api.call("PUT", f"/credentials/{name}", {"value": f"sk-of-{name}"}).status_code < 300, name
    for envoy in ENVOYS:
        enrolled(api, envoy, secret)
    api.take_in("frankfurt", lines(now))

    def cheaper(document: dict[str, Any]) -> None:
        document["groups"][0]["multiplier"] = "0.1000"

    # As somebody would leave it open.
    draft, _ = api.draft("A lower multiplier", cheaper)
    return {"draft": draft, "since": f"{now - timedelta(days=29):%Y-%m-%d}"}


@contextmanager
def pictured(place: Path) -> Iterator[SeededConsole]:
    """A console with a month of work in it."""
    document = ROOT / "envoy" / "gateway.json"
    with Console(place / "db", "--import-document", str(document), "--gateway-url", "https://ai.example.com") as console:
        site = SeededConsole(console)
        secret = place / "enrolment.secret"
        made = [str(COMMAND), "console", "enrolment-secret", "--database", str(place / "db"), str(secret)]
        subprocess.run(made, check=True, capture_output=True)
        site.named = fill(console.api, secret.read_text().strip())
        yield site


def looks() -> str:
    """A digest of the style sheets: with another one pages look otherwise."""
    digest = hashlib.sha256()
    for sheet in sorted((ROOT / "console" / "assets").glob("*.css")):
        digest.update(sheet.read_bytes())
    return digest.hexdigest()[:16]
