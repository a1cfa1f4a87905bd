"""A console whose database is copied, lost and restored as docs/console-running.md says, and the gateway that it belongs to."""

from __future__ import annotations

import sqlite3
import subprocess
import threading
from abc import ABC, abstractmethod
from datetime import datetime, timedelta, timezone
from pathlib import Path
from urllib.parse import quote

from e2e.browser.seeded import line
from e2e.console.running import Api
from e2e.crash.postgres_server import PostgresServer
from e2e.guides.reader import DOCS, Reader, shell
from postgres import fetch
from stack import COMMAND
from waiting import until

KEYS = ("k-0", "k-1", "k-2")


class BackedUpDatabase(ABC):
    """A database, and the page's commands for it."""

    #: Where it is; another place after it was restored.
    database: str
    #: Where the page's commands for this engine stand among those of their section: making a copy, restoring it.
    _turns: tuple[int, int]

    def __init__(self, place: Path, *changes: tuple[str, str], path: str = "") -> None:
        home = place / "home"
        home.mkdir()
        self._home = home
        programs = f"{path}{COMMAND.parent}:/usr/bin:/bin"
        self._reader = Reader(home, changes, PATH=programs, PGPASSFILE=str(home / "pgpass"))
        self._commands = [block.text for block in shell(DOCS / "console-running.md") if block.heading == "When something is lost"]
        assert len(self._commands) == 4, self._commands

    def back_up(self) -> None:
        self._reader.does(self._commands[self._turns[0]], cwd=self._home)

    def restore(self) -> None:
        self._reader.does(self._commands[self._turns[1]], cwd=self._home)

    @abstractmethod
    def copy(self) -> Path:
        """The copy that was made."""

    @abstractmethod
    def lines(self) -> str:
        """The lines of the ledger that the database has."""

    def stop(self) -> None:
        """Ends what serves it."""


class SqliteBackedUp(BackedUpDatabase):
    _turns = (0, 2)

    def __init__(self, place: Path) -> None:
        self.database = str(place / "console")
        super().__init__(place, ("/var/lib/trilane", self.database))

    def copy(self) -> Path:
        return self._home / "console.backup"

    def lines(self) -> str:
        with sqlite3.connect(f"file:{self.database}/console.db?mode=ro", uri=True) as database:
            return "".join(f"{row[0]}\n" for row in database.execute("SELECT line FROM requests"))


class PostgresBackedUp(BackedUpDatabase):
    _turns = (1, 3)

    def __init__(self, place: Path) -> None:
        programs = fetch.programs()
        assert programs, "there are no programs of PostgreSQL: `make postgres` fetches them"
        self._psql = programs / "psql"
        self._server = PostgresServer(place / "postgres.log")
        self._server.start()
        host = str(self._server.socket.parent)
        until(lambda: subprocess.run([programs / "pg_isready", "-q", "-h", host], check=False).returncode == 0)
        # As the page would have it: a user who owns the database, and nothing else.
        self._sql("postgres", "CREATE ROLE console LOGIN")
        self._sql("postgres", "CREATE DATABASE console OWNER console")
        url = f"postgres://console@{quote(host, safe='')}"
        self.database = f"{url}/console"
        self._restored = f"{url}/console_restored"
        file = place / "database"
        file.write_text(self._restored)
        super().__init__(
            place,
            ("--host=db.example.com --username=postgres", f"--host={host} --username=trilane"),
            ("postgres://console@db.example.com", url),
            ("/etc/trilane/database", str(file)),
            path=f"{programs}:",
        )

    def _sql(self, database: str, sql: str) -> str:
        command = [self._psql, "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql]
        place = ["-h", self._server.socket.parent, "-U", "trilane", "-d", database]
        return subprocess.run([*command, *place], capture_output=True, text=True, check=True).stdout

    def back_up(self) -> None:
        # A role that the server of the restored database does not have.
        if not self._sql("console", "SELECT 1 FROM pg_roles WHERE rolname = 'reader'"):
            self._sql("console", "CREATE ROLE reader")
        self._sql("console", "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
        super().back_up()

    def restore(self) -> None:
        self._sql("console", "DROP OWNED BY reader")
        self._sql("console", "DROP ROLE reader")
        super().restore()
        self.database = self._restored

    def copy(self) -> Path:
        return self._home / "console.dump"

    def lines(self) -> str:
        return self._sql(self.database.rpartition("/")[2], "SELECT line FROM requests")

    def stop(self) -> None:
        self._server.stop()


class BusyGateway:
    """Somebody who makes keys, and a ledger that grows, for as long as it is entered."""

    def __init__(self, api: Api, ledger: Path) -> None:
        self._api, self._ledger = api, ledger
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._go_on, daemon=True)
        #: How many keys were made.
        self.made = 0
        #: Why it ended before it was to.
        self.failure: Exception | None = None

    def __enter__(self) -> BusyGateway:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join(60)
        assert self.failure is None, self.failure

    def _go_on(self) -> None:
        at = datetime.now(timezone.utc).replace(microsecond=0) - timedelta(minutes=30)
        number = 0
        try:
            while not self._ends.wait(0.01):
                with self._ledger.open("a") as file:
                    for _ in range(5):
                        number += 1
                        moment = at + timedelta(milliseconds=number)
                        file.write(line(moment, KEYS[number % len(KEYS)], "ann", "claude-opus-4-5", f"{number % 7 + 1}.000{number % 10}01"))
                self._api.new_key(f"made-{self.made}", "mixed")
                self.made += 1
        except Exception as failure:  # noqa: BLE001: whatever it was, the test says it
            self.failure = failure
