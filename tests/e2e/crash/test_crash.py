"""The ledger is counted exactly once, whoever is killed and whenever.

Two Envoys are under load and their ledgers are rotated, while agents, consoles, PostgreSQL and the Envoys themselves are killed: at the
boundaries of transactions, which proxies and `strace` find, and at random. Then the console's sums must be those of `trilane usage` over
all files. `TRILANE_CRASH_SEED` and `TRILANE_CRASH_BLOWS` repeat or lengthen a run; what happens is printed (`pytest -s`).
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Optional

import pytest
from e2e.console.running import Api
from e2e.crash import books, fleet
from e2e.crash.blows import STRACE, Blows
from e2e.crash.fleet import FAKETIME, Gateway
from e2e.crash.postgres_server import PostgresServer
from e2e.crash.proxies import DATABASE_BOUNDARIES, HttpProxy, PostgresProxy, Traps
from stack import SAMPLE_DOCUMENT
from waiting import until

ENGINES = ("SQLite", "PostgreSQL")


@pytest.fixture(name="gateways", scope="module")
def gateways_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Gateway]]:
    place = tmp_path_factory.mktemp("gateways")
    gateways = [Gateway(name, place) for name in ("edge-1", "edge-2")]
    try:
        for gateway in gateways:
            gateway.start()
        yield gateways
    finally:
        for gateway in gateways:
            gateway.stack.stop()


@pytest.mark.parametrize("engine", ENGINES)
def test_crashes(tmp_path: Path, gateways: list[Gateway], engine: str) -> None:
    crash(tmp_path, gateways, engine, 8, seed=20 + ENGINES.index(engine), envoys=1 if engine == "SQLite" else 0)


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
def test_many_crashes(tmp_path: Path, gateways: list[Gateway], engine: str) -> None:
    dealt = crash(tmp_path, gateways, engine, 110, seed=random.SystemRandom().randrange(1 << 32), envoys=2)
    if engine == "PostgreSQL":
        assert set(DATABASE_BOUNDARIES) <= dealt.sprung.keys(), dealt.sprung
    elif STRACE:
        assert {"pwrite64", "fsync,fdatasync"} <= dealt.sprung.keys(), dealt.sprung


def crash(place: Path, gateways: list[Gateway], engine: str, count: int, seed: int, envoys: int) -> Blows:
    """One run: load, blows, quiet, and the books."""
    seed = int(os.environ.get("TRILANE_CRASH_SEED") or seed)
    count = int(os.environ.get("TRILANE_CRASH_BLOWS") or count)
    print(f"\n{engine}: {count} blows, TRILANE_CRASH_SEED={seed}")
    print(f"  strace: {STRACE or 'not there: no blows at system calls'}; libfaketime: {FAKETIME.exists() or 'not there: no clock steps'}")
    traps = Traps()
    postgres: Optional[PostgresServer] = None
    consoles = {}
    agents = {}
    proxies = []
    try:
        if engine == "PostgreSQL":
            postgres = PostgresServer(place / "postgres.log")
            postgres.start()
            for name in ("console-1", "console-2"):
                proxy = PostgresProxy(name, traps, postgres.connect)
                proxies.append(proxy)
                url = f"postgres://trilane@127.0.0.1:{proxy.port}/postgres?sslmode=disable"
                consoles[name] = fleet.console(name, place, url, SAMPLE_DOCUMENT)
        else:
            (place / "console").mkdir()
            consoles["console-1"] = fleet.console("console-1", place, str(place / "console"), SAMPLE_DOCUMENT)
        for console in consoles.values():
            console.start()
        ports = [(name, console.port) for name, console in consoles.items()]
        api = Api(f"http://127.0.0.1:{ports[0][1]}", (place / "admin.token").read_text().strip())
        for gateway in gateways:
            http = HttpProxy(gateway.name, traps, ports)
            token = api.post("/envoys", {"id": gateway.name})["token"]
            agents[gateway.name] = (fleet.agent(gateway.name, place, http.port, gateway.ledger, token), http)
            agents[gateway.name][0].start()
            gateway.begin()
        blows = Blows(seed, traps, consoles, agents, gateways, postgres)
        try:
            blows.deal(count, envoys)
        finally:
            for gateway in gateways:
                gateway.end()
        blows.revive()
        for gateway in gateways:
            gateway.settle()
        try:
            until(lambda: not books.waiting(api, gateways), 90)
        except AssertionError:
            pytest.fail(f"the console does not get all of it (seed {seed}): {books.waiting(api, gateways)}")
        found = [*blows.wrong, *books.differences(api, gateways)]
        assert not found, f"seed {seed}, {blows.dealt}:\n" + "\n".join(found)
        for gateway in gateways:
            # 503: Envoy has no document yet.
            assert gateway.statuses[200] > 100 and gateway.statuses.keys() <= {200, 503}, gateway.statuses
            print(*(f"  {line}" for line in books.unaccounted(gateway)), sep="\n")
        print(f"  {sum(bool(blow) for blow in blows.dealt)} blows dealt, at boundaries: {dict(blows.sprung)}")
        return blows
    finally:
        for agent, http in agents.values():
            agent.stop()
            http.close()
        for console in consoles.values():
            console.stop()
        for proxy in proxies:
            proxy.close()
        if postgres:
            postgres.stop()
