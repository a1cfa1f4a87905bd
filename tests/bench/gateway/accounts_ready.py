"""How soon a gateway with many accounts is ready: each the only one of its group, and among others of a group, where answers are judged.

`trilane up` runs on every core, and nothing else is measured meanwhile.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import fetch
from house import House
from results import Table
from stack import COMMAND, StackError

#: The name of the table, and of the case on the command line.
NAME = "accounts_ready"
#: Groups, and the accounts of each, by the name of the row: each the only one of its group, or among several.
SHAPES = {"only": (1008, 1), "several": (16, 63)}
SHORT_SHAPES = {"only": (4, 1), "several": (2, 2)}
#: How often each is started.
STARTS = 5
#: The line that `trilane up` ends its start with, and seconds until a start is given up.
READY = "Ctrl-C ends everything."
PATIENCE = 120
#: A port where nobody listens: no account is asked.
NOBODY = 9

COLUMNS = ["groups", "accounts", "s", "quickest s", "slowest s"]
NOTE = "From the start of `trilane up` until all clusters are there and the document is in force, into a directory of its own: medians."


def run(house: House) -> None:
    """Starts a gateway of each shape, some times."""
    if not house.wanted(NAME):
        return
    rows: list[list[object]] = []
    for name, (groups, accounts) in (SHORT_SHAPES if house.options.short else SHAPES).items():
        print(f"trilane up: {groups} groups of {accounts} accounts", file=sys.stderr, flush=True)
        took = [_start(house.run_dir / NAME, groups, accounts) for _ in range(1 if house.options.short else STARTS)]
        rows.append([name, groups * accounts, statistics.median(took), min(took), max(took)])
    house.results.tables[NAME] = Table("A gateway with many accounts", COLUMNS, rows, NOTE)


def document(groups: int, accounts: int) -> dict[str, object]:
    """A document with so many groups of so many accounts."""

    def account(number: int) -> dict[str, str]:
        return {"id": f"account-{number}", "url": f"http://127.0.0.1:{NOBODY}", "credential": "key"}

    def group(number: int) -> dict[str, object]:
        return {
            "id": f"group-{number}",
            "name": f"Group {number}",
            "protocol": "A",
            "clients": "current",
            "multiplier": "1",
            "models": [{"id": "model"}],
            "accounts": [account(each) for each in range(accounts)],
        }

    return {"groups": [group(number) for number in range(groups)], "keys": []}


def _start(place: Path, groups: int, accounts: int) -> float:
    """One start: how many seconds until it is ready. It is ended afterwards."""
    shutil.rmtree(place, ignore_errors=True)
    credentials = place / "credentials"
    credentials.mkdir(parents=True)
    (credentials / "key").write_text("sk-nobody")
    file = place / "gateway.json"
    file.write_text(json.dumps(document(groups, accounts)))
    command = [str(COMMAND), "up", "--data", str(place / "data"), "--document", str(file), "--credentials", str(credentials)]
    command += ["--port", "0", "--tls-port", "0", "--admin-port", "0"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TRILANE_")}
    env = {**clean, "ENVOY": str(fetch.envoy_binary())}
    began = time.monotonic()
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as up:
        assert up.stdout
        try:
            said = ""
            for line in up.stdout:
                said += line
                if line.startswith(READY):
                    return time.monotonic() - began
            raise StackError(f"trilane up ended before it was ready: {said}")
        finally:
            up.send_signal(signal.SIGINT)
            try:
                up.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                up.kill()
