"""From nothing to ready: how long `trilane up --demo` takes on this machine, once it is built.

It runs as a newcomer starts it, on every core, and nothing else is measured meanwhile.
"""

from __future__ import annotations

import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import fetch
from house import House
from results import Table
from stack import COMMAND, StackError

#: How often each kind of start is timed.
STARTS = 5
#: What it says last, once it is ready.
READY = "Ctrl-C ends everything."
#: Seconds until a start is given up.
PATIENCE = 120
#: The name of the table, and of the case on the command line.
NAME = "up"

COLUMNS = ["start", "s", "quickest s", "slowest s"]
NOTE = (
    "From the start of the command to its last line, when the gateway has the document in force: medians. First: into an empty"
    " directory; again: into the one of before."
)


def seconds(data: Path) -> float:
    """One run in this directory: how long until it is ready. It is ended afterwards."""
    command = [str(COMMAND), "up", "--demo", "--data", str(data), "--port", "0", "--tls-port", "0", "--admin-port", "0"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TRILANE_")}
    env = {**clean, "ENVOY": str(fetch.envoy_binary())}
    begun = time.monotonic()
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as up:
        assert up.stdout
        try:
            said = ""
            for line in up.stdout:
                said += line
                if line.startswith(READY):
                    took = time.monotonic() - begun
                    check(said)
                    return took
            raise StackError(f"trilane up ended before it was ready: {said}")
        finally:
            up.send_signal(signal.SIGINT)
            try:
                up.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                up.kill()


def check(said: str) -> None:
    """Ready means that it answers."""
    url = said.split("gateway    ", 1)[1].split()[0]
    request = urllib.request.Request(f"{url}/v1/models", headers={"x-api-key": "trilane-demo-b"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert answer.status == 200


def run(house: House) -> None:
    """Starts it into empty directories, and into those again."""
    if not house.wanted(NAME):
        return
    print("trilane up --demo: time to ready", file=sys.stderr, flush=True)
    found: dict[str, list[float]] = {"first": [], "again": []}
    for number in range(1 if house.options.short else STARTS):
        data = house.run_dir / f"up-{number}"
        shutil.rmtree(data, ignore_errors=True)
        for start in found.values():
            start.append(seconds(data))
        shutil.rmtree(data)
    rows = [[name, statistics.median(took), min(took), max(took)] for name, took in found.items()]
    house.results.tables[NAME] = Table("From `trilane up --demo` to ready", COLUMNS, rows, NOTE)
