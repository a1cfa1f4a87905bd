"""`trilane up --console`: keys issued by the console, on one machine."""

from __future__ import annotations

import signal
from pathlib import Path

from e2e.console.running import Api, ask, told_by_files, until
from e2e.up.running import Up

OPTIONS = ("--demo", "--console", "--console-port", "0")


def api(up: Up) -> Api:
    return Api(up.said.rsplit("console    ", 1)[1].split()[0], (up.data / "admin.token").read_text().strip())


def test_the_life_of_a_key(tmp_path: Path) -> None:
    with Up(tmp_path / "data", *OPTIONS) as up:
        console = api(up)
        key = console.new_key("ann-1", "b-official", owner="ann")
        assert ask(up.url, "tl-unknown") == 401
        until(lambda: ask(up.url, key) == 200, 10)
        assert ask(up.url, "trilane-demo-b") == 200, "keys of the document are still there"
        until(lambda: "ann-1" in console.usage(), 10)

        # Off, on again, and gone.
        assert console.call("PATCH", "/keys/ann-1", {"disabled": True}).status_code == 200
        until(lambda: ask(up.url, key) == 401, 10)
        assert console.call("PATCH", "/keys/ann-1", {"disabled": False}).status_code == 200
        until(lambda: ask(up.url, key) == 200, 10)

        # A document that the console publishes.
        version = console.publish(lambda document: document.update(keys=[key for key in document["keys"] if key["group"] != "b-low-rate"]))
        assert version == 2
        until(lambda: ask(up.url, "trilane-demo-b-low") == 401, 20)
        assert ask(up.url, key) == 200

        seen = until(lambda: console.get("/envoys/local").get("report"))
        assert seen["document"] and seen["keys"] and seen.get("troubles") is None

        # Another start: everything is as it was, and the ledger that came last is there too.
        up.send(signal.SIGINT)
        assert up.ended() == 0
        up.stop()
        up.start()
        console = api(up)
        assert ask(up.url, key) == 200 and ask(up.url, "trilane-demo-b-low") == 401
        assert console.call("DELETE", "/keys/ann-1").status_code == 204
        until(lambda: ask(up.url, key) == 401, 10)
        ledger = told_by_files(up.ledger)
        assert ledger["ann-1"][0] >= 4
        until(lambda: console.usage().get("ann-1") == told_by_files(up.ledger)["ann-1"], 10)


def test_a_lost_document_comes_again(tmp_path: Path) -> None:
    """The copies of the agent are copies: without them the console gives all of it again."""
    with Up(tmp_path / "data", *OPTIONS) as up:
        key = api(up).new_key("ann-1", "b-official")
        until(lambda: ask(up.url, key) == 200, 10)
    for name in ("gateway.json", "keys.db", "keys.db-wal", "keys.db-shm", "agent.json"):
        (up.data / "agent" / name).unlink(missing_ok=True)
    with up:
        until(lambda: ask(up.url, key) == 200, 10)
