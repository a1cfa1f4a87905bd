"""Ledger files that somebody else rotates, and budgets of an Envoy that restarts while its console is away."""

from __future__ import annotations

import os
import shutil
import signal
from decimal import Decimal
from pathlib import Path

import httpx
from e2e.console.running import Api, Console, agent_options, ask, told_by_files
from e2e.up.running import Up
from waiting import until


def _console(up: Up) -> Api:
    return Api(up.said.rsplit("console    ", 1)[1].split()[0], (up.data / "admin.token").read_text().strip())


def test_files_under_other_names(tmp_path: Path) -> None:
    with Up(tmp_path / "data", "--demo", "--console", "--console-port", "0") as up:
        api = _console(up)
        key = api.new_key("ann-1", "b-official")
        until(lambda: ask(up.url, key) == 200, 30)
        counted = 1

        def more() -> None:
            nonlocal counted
            assert ask(up.url, key) == 200
            counted += 1

        def all_counted() -> None:
            until(lambda: api.usage().get("ann-1", (0, ""))[0] == counted, 20)

        def reopen() -> None:
            assert httpx.post(f"{up.admin}/reopen_logs", trust_env=False).status_code == 200

        all_counted()
        # As logrotate does it: a rename, requests meanwhile, and then Envoy is told.
        numbered = up.ledger.with_name("ledger.jsonl.1")
        up.ledger.rename(numbered)
        more()
        reopen()
        more()
        all_counted()
        # The next day: the file before gets another number. And with a date.
        numbered.rename(up.ledger.with_name("ledger.jsonl.2"))
        up.ledger.rename(numbered)
        more()
        reopen()
        dated = up.ledger.with_name("ledger-20261128.jsonl")
        more()
        until(lambda: up.ledger.exists() and up.ledger.stat().st_size > 0, 10)
        up.ledger.rename(dated)
        more()
        reopen()
        # A copy of what is still written counts once.
        more()
        until(lambda: up.ledger.exists() and up.ledger.stat().st_size > 0, 10)
        shutil.copy(up.ledger, up.ledger.with_name("ledger.jsonl.bak"))
        more()
        all_counted()
        assert "became shorter" not in up.said
        # copytruncate: what is in the copy counts, and it is told.
        shutil.copy(up.ledger, up.ledger.with_name("ledger.jsonl.3"))
        with up.ledger.open("r+b") as ledger:
            ledger.truncate(0)
        up.until("became shorter")
        until(lambda: any("became shorter" in trouble for trouble in api.get("/envoys/local")["report"].get("troubles", [])), 20)
        more()
        all_counted()
        names = {file.name for file in up.ledger.parent.iterdir()}
        assert {"ledger.jsonl.1", "ledger.jsonl.2", "ledger.jsonl.3", "ledger.jsonl.bak", "ledger-20261128.jsonl"} <= names, "none is removed"


def test_restarts_with_the_console_away(tmp_path: Path, document: Path) -> None:
    """However often Envoy is killed while the console is away, a budget is spent once."""
    console = Console(tmp_path / "console", "--import-document", str(document)).start()
    try:
        api = console.api
        plain = api.new_key("plain", "b-official")
        token = tmp_path / "token"
        token.write_text(api.post("/envoys", {"id": "edge-1"})["token"])
        options = agent_options(console.url, token, document)
        with Up(tmp_path / "edge", "--demo", *options) as up:
            until(lambda: ask(up.url, plain) == 200, 30)
            until(lambda: "plain" in api.usage(), 20)
            one = Decimal(api.usage()["plain"][1])
            budget = one * 120
            key = api.new_key("poor", "b-official", limits={"budget": {"per_month": str(budget)}})
            until(lambda: ask(up.url, key) == 200, 20)
            until(lambda: "poor" in api.usage(), 20)
            console.kill()
            up.until("agent: spend: the console does not answer")
            served = 1
            while ask(up.url, key) == 200:
                served += 1
                assert served <= 121, "the budget of one process"
            assert served > 10 and ask(up.url, key) == 429
            # What a killed Envoy has not written yet is lost.
            until(lambda: told_by_files(up.ledger)["poor"][0] >= served + 2, 15)
            for restarts in (1, 2, 3):
                for envoy in up.envoys:
                    os.kill(envoy, signal.SIGKILL)
                up.until("ready again", restarts)
                # 503 until its agent has told it everything.
                until(lambda: ask(up.url, key) != 503, 15)
                assert ask(up.url, key) == 429, restarts
            # The agent and all of it, too.
            up.send(signal.SIGKILL)
            up.ended()
        with up:
            until(lambda: ask(up.url, key) != 503, 15)
            assert ask(up.url, key) == 429
            console.start()
            until(lambda: console.api.usage().get("poor", (0, ""))[1] == told_by_files(up.ledger)["poor"][1], 30)
            assert Decimal(console.api.usage()["poor"][1]) <= budget
            # The console's totals have it now, and it is not counted twice: another key of the same group is served.
            assert ask(up.url, key) == 429 and ask(up.url, plain) == 200
    finally:
        console.kill()
