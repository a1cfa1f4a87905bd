"""The commands of docs/console-running.md for copies of the database, and of docs/operations.md for a smaller file, as they stand there."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from e2e.browser.seeded import line
from e2e.console.backed_up import KEYS, BackedUpDatabase, BusyGateway, PostgresBackedUp, SqliteBackedUp
from e2e.console.running import Api, Console, told_by_files
from e2e.crash import fleet
from e2e.crash.books import file_id
from e2e.guides.reader import DOCS, Reader, shell
from stack import SAMPLE_DOCUMENT
from waiting import until

ENVOY = "edge-1"


def taken(api: Api, ledger: Path) -> int:
    """Up to which byte the console has the ledger."""
    return int(api.get(f"/ledger/{ENVOY}/{file_id(ledger)}")["position"])


def sums_of(place: Path, lines: bytes) -> dict[str, tuple[int, str]]:
    file = place / "some-lines.jsonl"
    file.write_bytes(lines)
    return told_by_files(file)


def keys_here(agent: Path) -> set[str]:
    """The keys that a gateway's agent has."""
    with contextlib.closing(sqlite3.connect(f"file:{agent}/keys.db?mode=ro", uri=True)) as copy:
        return {str(row[0]) for row in copy.execute("SELECT change ->> '$.id' FROM keys WHERE removed_at IS NULL")}


@pytest.mark.parametrize("kind", [SqliteBackedUp, PostgresBackedUp])
def test_a_database_is_copied_lost_and_restored(tmp_path: Path, kind: Callable[[Path], BackedUpDatabase]) -> None:
    database = kind(tmp_path)
    ledger = tmp_path / "ledger.jsonl"
    ledger.touch()
    with contextlib.ExitStack() as ends:
        ends.callback(database.stop)
        console = ends.enter_context(Console(tmp_path / "console", "--import-document", str(SAMPLE_DOCUMENT), database=database.database))
        api = console.api
        token = api.post("/envoys", {"id": ENVOY})["token"]
        agent = fleet.agent(ENVOY, tmp_path, console.port, ledger, token)
        ends.callback(agent.stop)
        agent.start()
        for key in (*KEYS, "removed", "disabled"):
            api.new_key(key, "mixed")
        with BusyGateway(api, ledger) as busy:
            until(lambda: taken(api, ledger) > 50_000)
            for _ in range(20):
                before = busy.made, taken(api, ledger)
                database.back_up()
                after = busy.made, taken(api, ledger)
                if after[0] > before[0]:
                    break
                database.copy().unlink()  # on a slow machine it may be quicker than whoever makes keys
            assert after[0] > before[0], "nothing happened meanwhile"
            assert database.copy().stat().st_mode & 0o077 == 0
            # What the copy lacks, known to the gateway.
            api.new_key("made-later", "mixed")
            assert api.call("DELETE", "/keys/removed").status_code == 204
            assert api.call("PATCH", "/keys/disabled", {"disabled": True}).status_code == 200
            assert api.publish(lambda document: document["groups"][0].update(multiplier="3.0000")) == 2
            until(lambda: "made-later" in keys_here(tmp_path / ENVOY) and "removed" not in keys_here(tmp_path / ENVOY))
            until(lambda: taken(api, ledger) > after[1] + 20_000)
            cursor = api.get("/feed/keys?limit=5000")["cursor"]
        whole = ledger.read_bytes()
        until(lambda: taken(api, ledger) == len(whole))
        assert api.usage() == told_by_files(ledger)
        agent.stop()
        # As a database is lost, with a log that is not in its file.
        console.kill()

        database.restore()
        restored = Console(tmp_path / "console", database=database.database)
        restored.port = console.port
        ends.enter_context(restored)
        # Of one moment: what is counted are the lines up to some byte, each once, and all of them are there.
        position = taken(api, ledger)
        assert before[1] <= position <= after[1] < len(whole)
        assert api.usage() == sums_of(tmp_path, whole[:position]) == sums_of(tmp_path, database.lines().encode())
        made = [number for number in range(busy.made) if api.call("GET", f"/keys/made-{number}").status_code == 200]
        assert before[0] <= len(made) <= after[0] + 1 and made == list(range(len(made)))
        # What came after is gone, whether it was for good or ill.
        assert api.call("GET", "/keys/made-later").status_code == 404
        assert api.call("GET", "/keys/removed").status_code == 200
        assert not api.get("/keys/disabled").get("disabled")
        assert api.get("/documents/current")["version"] == 1
        # Versions have gone on beyond those that were lost, and yet nobody goes on from one of those.
        api.new_key("made-since", "mixed")
        assert api.call("GET", f"/feed/keys?cursor={cursor}").status_code == 410

        agent.start()
        until(lambda: {"removed", "made-since"} <= keys_here(tmp_path / ENVOY) and "made-later" not in keys_here(tmp_path / ENVOY))
        # Its gateway's lines come again, and count once.
        until(lambda: taken(api, ledger) == len(whole))
        assert api.usage() == told_by_files(ledger)
        assert any(entry["action"] == "database.restored" for entry in api.get("/audit")["items"])


def test_the_file_of_sqlite_shrinks(tmp_path: Path) -> None:
    (command,) = (block.text for block in shell(DOCS / "operations.md") if "VACUUM" in block.text)
    place = tmp_path / "console"
    file = place / "console.db"
    console = Console(place)
    with console:
        now = datetime.now(timezone.utc).replace(microsecond=0)
        lines = (line(now - timedelta(seconds=number), KEYS[number % 3], "ann", "claude-opus-4-5", "1.5") for number in range(2000))
        console.api.take_in(ENVOY, "".join(lines))
        sums = console.api.usage()
    # Long ago: the console forgets them when it starts.
    with contextlib.closing(sqlite3.connect(file)) as database, database:
        database.execute("UPDATE requests SET taken_on = '2020-01-01'")
    with console:
        until(lambda: not console.api.get("/requests")["items"])
    before = file.stat()
    Reader(tmp_path, [("/var/lib/trilane", str(place))], **with_sqlite(tmp_path)).does(command)
    after = file.stat()
    assert after.st_size < before.st_size / 2, (before.st_size, after.st_size)
    assert (after.st_mode, after.st_ino) == (before.st_mode, before.st_ino)
    with console:
        assert console.api.usage() == sums and len(sums) == 3
        console.api.new_key("k", "mixed")
        assert console.api.get("/storage")["bytes"] < before.st_size


def with_sqlite(place: Path) -> dict[str, str]:
    """A path of programs with `sqlite3`: this machine's, or Python's in its place."""
    programs = place / "programs"
    programs.mkdir()
    if not shutil.which("sqlite3"):
        program = programs / "sqlite3"
        program.write_text(f"#!{sys.executable}\nimport sqlite3, sys\nsqlite3.connect(sys.argv[1]).execute(sys.argv[2])\n")
        program.chmod(0o755)
    return {"PATH": f"{programs}:{os.environ['PATH']}"}
