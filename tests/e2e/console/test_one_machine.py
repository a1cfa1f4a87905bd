"""`trilane up --console`: keys issued by the console, on one machine."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from decimal import Decimal
from pathlib import Path
from typing import Any, Optional

import httpx
from e2e.console.running import Api, ask, told_by_files
from e2e.up.running import Up
from waiting import until

OPTIONS = ("--demo", "--console", "--console-port", "0")


def api(up: Up) -> Api:
    return Api(up.said.rsplit("console    ", 1)[1].split()[0], (up.data / "admin.token").read_text().strip())


def test_the_life_of_a_key(tmp_path: Path) -> None:
    with Up(tmp_path / "data", *OPTIONS) as up:
        console = api(up)
        key = console.new_key("ann-1", "b-official", owner="ann")
        assert ask(up.url, "tl-unknown") == 401
        until(lambda: ask(up.url, key) == 200, 10)
        assert ask(up.url, "trilane-demo-b") == 200, "keys of the document are the console's"
        assert json.loads(console.get("/documents/current")["body"])["keys"] == []
        assert "key_b" in {item["id"] for item in console.get("/keys")["items"]}
        until(lambda: "ann-1" in console.usage(), 10)

        # Off, on again, and gone.
        assert console.call("PATCH", "/keys/ann-1", {"disabled": True}).status_code == 200
        until(lambda: ask(up.url, key) == 401, 10)
        assert console.call("PATCH", "/keys/ann-1", {"disabled": False}).status_code == 200
        until(lambda: ask(up.url, key) == 200, 10)

        # A document that the console publishes.
        written = {"id": "written", "sha256": hashlib.sha256(b"tl-written").hexdigest(), "group": "b-official"}
        assert console.publish(lambda document: document.update(keys=[written])) == 2
        until(lambda: ask(up.url, "tl-written") == 200, 20)
        assert console.publish(lambda document: document.update(keys=[])) == 3
        until(lambda: ask(up.url, "tl-written") == 401, 20)
        assert ask(up.url, key) == 200

        seen = until(lambda: console.get("/envoys/local").get("report"))
        assert seen["document"] and seen["keys"] and seen.get("troubles") is None

        # Another start: everything is as it was, and the ledger that came last is there too.
        up.send(signal.SIGINT)
        assert up.ended() == 0
        up.stop()
        up.start()
        console = api(up)
        assert ask(up.url, key) == 200 and ask(up.url, "tl-written") == 401
        assert console.call("DELETE", "/keys/ann-1").status_code == 204
        until(lambda: ask(up.url, key) == 401, 10)
        ledger = told_by_files(up.ledger)
        assert ledger["ann-1"][0] >= 4
        until(lambda: console.usage().get("ann-1") == told_by_files(up.ledger)["ann-1"], 10)


def test_a_console_in_a_container_takes_connections_of_its_host_alone(tmp_path: Path) -> None:
    """The addresses of loopback stand for those of a container's network."""

    def asked_from(address: str) -> Optional[int]:
        url = f"{console.url}/healthz"
        with httpx.Client(transport=httpx.HTTPTransport(local_address=address), timeout=10) as client:
            try:
                return client.get(url).status_code
            except httpx.TransportError:
                return None

    with Up(tmp_path / "data", *OPTIONS, "--console-peer", "127.0.0.9") as up:
        console = api(up)
        assert {each: asked_from(each) for each in ("127.0.0.1", "127.0.0.9", "127.0.0.8")} == {"127.0.0.1": 200, "127.0.0.9": 200, "127.0.0.8": None}
        up.until("a connection from 127.0.0.8 was closed: only 127.0.0.1, ::1, 127.0.0.9 may connect")
        key = console.new_key("ann-1", "b-official")
        until(lambda: ask(up.url, key) == 200, 10)


def lines_of(up: Up, key: str) -> list[dict[str, Any]]:
    """The ledger's lines of a key that name a model."""
    told = (json.loads(line) for line in up.ledger.read_text().splitlines())
    return [line for line in told if line.get("trilane.key.id") == key and line.get("trilane.model")]


def test_models_and_a_multiplier_of_its_own(tmp_path: Path) -> None:
    """What the console says of a key is what the gateway allows and charges, and so is what it says later."""
    with Up(tmp_path / "data", *OPTIONS) as up:
        console = api(up)
        own = {"models": ["claude-opus-4-5"], "multiplier": "0.15", "team": "east"}
        key = console.new_key("ann-1", "b-official", **own)
        seen = console.get("/keys/ann-1")
        assert {name: seen[name] for name in own} == own
        until(lambda: ask(up.url, key) == 200, 10)
        assert ask(up.url, key, model="claude-opus-4-6") == 404, "its group has it, the key has not"

        def settled(count: int) -> dict[str, Any]:
            until(lambda: len(lines_of(up, "ann-1")) >= count, 10)
            return lines_of(up, "ann-1")[-1]

        first = settled(1)
        assert (first["trilane.multiplier"], first["trilane.key.team"]) == ("0.1500", "east")
        before = len(lines_of(up, "ann-1"))

        # Another model at twenty times the multiplier.
        changed = console.call("PATCH", "/keys/ann-1", {"models": ["claude-opus-4-6"], "multiplier": "3", "team": None})
        assert changed.status_code == 200, changed.text
        until(lambda: ask(up.url, key, model="claude-opus-4-6") == 200, 10)
        assert ask(up.url, key) == 404
        later = settled(before + 1)
        assert (later["trilane.multiplier"], later.get("trilane.key.team")) == ("3.0000", None)
        # The two models have the same prices, and the simulator uses the same for both.
        assert Decimal(later["trilane.charge"]) == 20 * Decimal(first["trilane.charge"]) > 0

        # And nothing of its own.
        changed = console.call("PATCH", "/keys/ann-1", {"models": None, "multiplier": None})
        assert changed.status_code == 200, changed.text
        assert not {"models", "multiplier"} & console.get("/keys/ann-1").keys()
        until(lambda: ask(up.url, key) == 200, 10)
        until(lambda: lines_of(up, "ann-1")[-1]["trilane.multiplier"] == "2.0000", 10)

        # Its only source is dearer than the key pays, then no more.
        for most, status in [("1.9999", 403), ("2", 200)]:
            changed = console.call("PATCH", "/keys/ann-1", {"max_multiplier": most})
            assert changed.status_code == 200, changed.text
            until(lambda status=status: ask(up.url, key) == status, 10)


def test_a_lost_document_comes_again(tmp_path: Path) -> None:
    """The copies of the agent are copies: without them the console gives all of it again."""
    with Up(tmp_path / "data", *OPTIONS) as up:
        key = api(up).new_key("ann-1", "b-official")
        until(lambda: ask(up.url, key) == 200, 10)
    for name in ("gateway.json", "keys.db", "keys.db-wal", "keys.db-shm", "agent.json"):
        (up.data / "agent" / name).unlink(missing_ok=True)
    with up:
        until(lambda: ask(up.url, key) == 200, 10)


def test_what_is_in_force_is_what_envoy_says(tmp_path: Path) -> None:
    """Not what the agent has written: while Envoy does not answer, its agent says nothing of it."""
    with Up(tmp_path / "data", *OPTIONS) as up:
        console = api(up)

        def says(digest: str) -> bool:
            report = console.get("/envoys/local").get("report", {})
            return bool(report.get("in_force") == digest)

        until(lambda: says(console.get("/documents/current")["sha256"]), 20)
        console.publish(lambda document: document["groups"][0].update(multiplier="3.0000"))
        until(lambda: says(console.get("/documents/current")["sha256"]), 20)
        os.kill(up.envoys[0], signal.SIGSTOP)
        try:
            until(lambda: says(""), 20)
            assert console.get("/envoys/local")["report"]["document"] == console.get("/documents/current")["sha256"]
        finally:
            os.kill(up.envoys[0], signal.SIGCONT)
        until(lambda: says(console.get("/documents/current")["sha256"]), 20)
