"""docs/console-running.md and the console's part of docs/operations.md, done as they say: a console, the agents of two Envoys, approvals; keys
by the SQL of docs/keys-feed.md and docs/limits.md in its database; the gateway is drained as docs/release.md says."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime, timezone
from pathlib import Path

import fetch
import httpx
import pytest
from e2e.browser.seeded import line
from e2e.console.running import Api
from e2e.guides.reader import DOCS, Reader, shell
from pages import blocks
from ports import free_port
from stack import SAMPLE_DOCUMENT, WASM, Child
from waiting import until

#: The page's fingerprint.
FINGERPRINT = "1f3a-77c0-2b9e-40d1-9c55"
BY_SQL = pytest.mark.skipif(shutil.which("sqlite3") is None, reason="sqlite3 is not here: apt install sqlite3")


class Console:
    """The console of the page, the terminal of its machine, and what runs there."""

    def __init__(self, place: Path, running: ExitStack) -> None:
        self.place, self._running = place, running
        self.port, feed, admin = free_port(), free_port(), free_port()
        self.admin = f"http://127.0.0.1:{admin}"
        self.url, self.database = f"http://127.0.0.1:{self.port}", place / "var/lib/trilane"
        for name in ("var/lib", "var/log/envoy", "etc/trilane/document", "run"):
            (place / name).mkdir(parents=True)
        (place / "run/trilane").mkdir(mode=0o700)
        (place / "etc/trilane/database").write_text(str(self.database))
        free = {"PORT": "0", "TLS_PORT": "0", "ADMIN_PORT": str(admin), "METRICS_LISTEN": "127.0.0.1:0", "METRICS_PORT": "0", "WASM": str(WASM)}
        self.reader = Reader(
            place,
            [
                *((f"{each}/", f"{place}{each}/") for each in ("/var/lib", "/var/log", "/etc/trilane", "/run/trilane")),
                ("https://console.example.com", self.url),
                ("http://127.0.0.1:9901", self.admin),
                ("127.0.0.1:10093", f"127.0.0.1:{feed}"),
                # Places that are free here, and a document to begin with.
                ("--admin-token-file", f"--listen 127.0.0.1:{self.port} --import-document {SAMPLE_DOCUMENT} --admin-token-file"),
                ("trilane agent", f"trilane agent --listen 127.0.0.1:{feed}"),
            ],
            ENVOY=str(fetch.envoy_binary()),
            **{f"TRILANE_{name}": value for name, value in free.items()},
        )

    def does(self, text: str, given: str = "") -> str:
        return self.reader.does(text, given=given, cwd=self.place)

    def begins(self, text: str, words: str) -> Path:
        """Starts what goes on, and waits until it has said this; its log."""
        log = self.place / f"{text.split()[1]}.log"
        child = self.reader.begins(text, log, cwd=self.place)
        self._running.callback(child.stop)
        until(lambda: words in log.read_text(), says=log.read_text, check=lambda: still_runs(child, log))
        return log

    @property
    def api(self) -> Api:
        return Api(self.url, (self.place / "admin.token").read_text().strip())

    def approves(self, log: Path, text: str) -> None:
        """Approves the agent with the fingerprint that it has printed, by the page's command."""
        (found,) = set(re.findall(r"\b[0-9a-f]{4}(?:-[0-9a-f]{4}){4}\b", log.read_text()))
        assert FINGERPRINT in text
        self.does(text.replace(FINGERPRINT, found))

    def has_approved(self, envoy: str) -> bool:
        return bool(self.api.get(f"/envoys/{envoy}").get("approved"))


def still_runs(child: Child, log: Path) -> None:
    assert child.process.poll() is None, log.read_text()


def blocks_of(page: str, words: str) -> list[str]:
    """The blocks of a page with these words."""
    return [block.text for block in shell(DOCS / f"{page}.md") if words in block.text]


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with ExitStack() as running:
        console = Console(tmp_path_factory.mktemp("console"), running)
        (text,) = blocks_of("console-running", "--admin-token-file")
        make, start = text.splitlines(keepends=True)
        console.does(make)
        console.begins(start, "listening on")
        assert console.database.stat().st_mode & 0o777 == 0o700
        yield console


def test_an_envoy_of_trilane_up(console: Console) -> None:
    (text,) = blocks_of("console-running", "/api/v1/envoys")
    add, up, approve = [line for line in text.splitlines(keepends=True) if not line.startswith("#")]
    console.does('auth="Authorization: Bearer $(cat admin.token)"')
    (console.place / "token").write_text(json.loads(console.does(add))["token"])
    log = console.begins(up.replace("trilane up", f"trilane up --data {console.place}/up"), "fingerprint")
    assert not console.has_approved("edge-1")
    console.approves(log, approve)
    assert console.has_approved("edge-1")
    (console.place / "token").unlink()


def test_an_envoy_of_ones_own(console: Console) -> None:
    """docs/operations.md: with the agent beside it, and a configuration for it."""
    agent, approve = [text for text in blocks_of("operations", "trilane ") if "usage" not in text]
    install, start, config = re.split(r"^(?=trilane (?:agent|envoy-config))", agent, flags=re.MULTILINE)
    token = console.api.post("/envoys", {"id": "edge-2"})["token"]
    console.does(install, given=f"{token}\n")
    assert (console.place / "token").stat().st_mode & 0o777 == 0o600
    log = console.begins(start, "fingerprint")
    which, this = approve.splitlines(keepends=True)
    assert "edge-2" in console.does(f"{{\n{which}}} 2>&1")
    console.approves(log, this)
    assert console.has_approved("edge-2")
    console.does(config)
    written = (console.place / "etc/trilane/envoy.yaml").read_text()
    assert f"{console.place}/run/trilane/ads.sock" in written and "trilane_agent" in written


@BY_SQL
def test_keys_by_sql(console: Console) -> None:
    """What each statement makes of a key, the API says."""
    single, many = blocks_of("keys-feed", "db ")
    lines = single.splitlines(keepends=True)
    console.does("export KEY=tl-of-somebody")
    seen = {}
    for number, command in enumerate(lines):
        console.does(command)
        if command.startswith("db ") and "DELETE" not in command:
            seen[number] = console.api.get("/keys/key_01")
    first, *_, last = seen.values()
    assert first["group"] == "mixed" and not first["disabled"]
    assert (last["group"], last["expires_at"], last["limits"]) == ("b-official", "2027-01-01T00:00:00Z", {"requests_per_minute": 60})
    assert (last["models"], last["multiplier"], last["team"], last["disabled"]) == (["gpt-5.1", "claude-opus-4-5"], "0.15", "east", True)
    assert console.api.call("GET", "/keys/key_01").status_code == 404
    keys = [
        {"id": "key_01", "sha256": "ab" * 32, "group": "mixed", "limits": {"budget": {"per_month": "50"}}},
        {"id": "key_02", "sha256": "CD" * 32, "group": "mixed", "owner": "ann", "models": ["gpt-5.1"], "disabled": True},
    ]
    (console.place / "keys.jsonl").write_text("".join(f"{json.dumps(key)}\n" for key in keys))
    for _ in range(2):
        console.does(many)
    found = {item["id"]: item for item in console.api.get("/keys")["items"]}
    assert (found["key_01"]["limits"], found["key_01"]["disabled"]) == ({"budget": {"per_month": "50"}}, False)
    assert (found["key_02"]["owner"], found["key_02"]["models"], found["key_02"]["disabled"]) == ("ann", ["gpt-5.1"], True)


@BY_SQL
def test_what_was_spent_by_sql(console: Console) -> None:
    (text,) = blocks_of("limits", "db ")
    spent = {"at": "2026-11-22T10:15:30Z", "in_day": "1.25", "in_month": "20.500301"}
    (console.place / "spent.json").write_text(json.dumps({"keys": {"key_01": spent, "key_02": spent}, "groups": {}}))
    console.does(text)
    assert console.api.get("/keys/key_01")["limits"]["budget"] == {"per_month": "50", "spent": spent}
    assert "limits" not in console.api.get("/keys/key_02")


@BY_SQL
def test_the_charges_of_each_model(console: Console) -> None:
    """The statement of docs/console-inside.md."""
    (statement,) = [block.text for block in blocks((DOCS / "console-inside.md").read_text(encoding="utf-8"), "sql")]
    now = datetime.now(timezone.utc).replace(microsecond=0)
    console.api.take_in("edge-3", line(now, "key_01", "ann", "claude-opus-4-5", "1.5"))
    assert "claude-opus-4-5|" in console.does(f"db {shlex.quote(statement)}")


def test_a_gateway_is_drained(console: Console) -> None:
    (text,) = blocks_of("release", "/drain_listeners")
    until(lambda: httpx.get(f"{console.admin}/ready", trust_env=False).status_code == 200)
    assert console.does(text).splitlines() == ["OK", "http.gateway.downstream_rq_active: 0"]
