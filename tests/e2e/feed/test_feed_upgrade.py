"""An upgrade: gateways of 0.1.0 and of today, fed by today's `trilane serve`. `make upgrade-test` builds that filter first.

0.1.0 refuses a page with a member that it does not know whole, and removals with it: so it must not be given any.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Optional

import httpx
import pytest
from e2e.feed.feed_desk import TICK_MS, document, new, new_one
from e2e.feed.feed_keys import GROUP, digest
from e2e.feed.feed_served import Database
from e2e.feed.feed_watch import Workers
from e2e.loading.variants import Variant, loader_log, tick
from e2e.support import bearer, run_dir
from serving import Serving
from stack import WASM
from waiting import until

#: Where `make upgrade-test` puts the filter of 0.1.0.
RELEASED: Optional[str] = os.environ.get("TRILANE_RELEASED_WASM")

pytestmark = pytest.mark.skipif(not RELEASED, reason="the filter of 0.1.0 is not there: make upgrade-test builds it")


def known_to_0_1() -> dict[str, Any]:
    """The sample, without what a document could not say then, and without accounts: the way to them is another in today's `envoy.yaml`, with
    which both run here."""
    told = document()
    for group in told["groups"]:
        group.pop("failover", None)
        if group.pop("accounts", None):
            group["cluster"] = {"A": "a_official", "B": "b_official", "C": "c_official"}[group["protocol"]]
        for name in ("methods", "unreported"):
            group.pop(name, None)
        for model in group.get("models", []):
            model.pop("free", None)
            for name in ("input_audio", "output_audio", "output_image", "per_call", "tiers"):
                model.get("prices", {}).pop(name, None)
    return told


class Gateway:
    """An Envoy with one of the filters."""

    def __init__(self, name: str, wasm: Path, served: str) -> None:
        directory = run_dir(f"upgrade-{name}")
        self.stack = Variant(directory, tick(TICK_MS), document=known_to_0_1(), key_feed=served, wasm=wasm)
        self.workers: Optional[Workers] = None

    def __enter__(self) -> Gateway:
        try:
            self.stack.start()
            self.workers = Workers(self.stack)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self.workers:
            self.workers.close()
        self.stack.stop()

    def wait(self, value: str, status: int) -> None:
        assert self.workers
        workers = self.workers
        until(lambda: set(workers.ask(value).values()) == {status}, check=self.stack.check)

    def call(self, value: str) -> int:
        """Calls a model; the status."""
        body = {"model": "gpt-5.1", "messages": [{"role": "user", "content": "hi"}]}
        url = f"{self.stack.base_url}/v1/chat/completions"
        return httpx.post(url, json=body, headers=bearer(value), trust_env=False, timeout=30).status_code

    def owners(self, key: str) -> set[Optional[str]]:
        """Those that the ledger names with a key."""
        lines = self.stack.access_log.read_text().splitlines()
        records = [json.loads(line) for line in lines if line.startswith("{")]
        return {record.get("trilane.key.owner") for record in records if record.get("trilane.key.id") == key}

    def refused_pages(self) -> list[str]:
        return [line for line in loader_log(self.stack) if "keys feed: " in line and "what is known of keys stays" in line]


class Site:
    """A database, the service that gives it, a gateway of 0.1.0 and one of today."""

    def __init__(self, directory: Path, before: Gateway, today: Gateway) -> None:
        self.database = Database(directory / "keys.db")
        self.before, self.today = before, today

    def put(self, value: str, owner: Optional[str] = None, limits: Optional[dict[str, Any]] = None) -> str:
        """A key; its id."""
        name = digest(value)
        sql = "INSERT INTO keys (sha256, id, group_id, owner, label, limits) VALUES (?, ?, ?, ?, 'a label', ?)"
        row = (name, f"id_{name[:12]}", GROUP, owner, limits and json.dumps(limits))
        self.database.sql.execute(sql, row)
        return f"id_{name[:12]}"

    def wait(self, value: str, status: int) -> None:
        for gateway in (self.before, self.today):
            gateway.wait(value, status)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    directory = run_dir("upgrade").resolve()
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    file = directory / "served.json"
    file.write_text(json.dumps(known_to_0_1()))
    with ExitStack() as running:
        serving = running.enter_context(Serving(directory, file, "--sqlite", str(directory / "keys.db")))
        before = running.enter_context(Gateway("before", Path(RELEASED or ""), serving.address))
        today = running.enter_context(Gateway("today", WASM, serving.address))
        yield Site(directory, before, today)


def test_revocations_go_on_while_keys_with_owners_are_issued(site: Site) -> None:
    plain = new_one()
    site.put(plain)
    site.wait(plain, 200)
    removed, owned, limited = new(3)
    site.put(removed)
    site.wait(removed, 200)
    # In one page with what 0.1.0 does not know.
    site.database.sql.execute("BEGIN IMMEDIATE")
    owned_id = site.put(owned, owner="Zoë, sales")
    site.put(limited, owner="sales", limits={"requests_per_minute": 100, "concurrent_requests": 8})
    site.database.sql.execute("DELETE FROM keys WHERE sha256 = ?", (digest(removed),))
    site.database.sql.execute("COMMIT")
    site.wait(removed, 401)
    site.wait(owned, 200)
    site.wait(limited, 200)
    site.database.sql.execute("UPDATE keys SET owner = 'research' WHERE sha256 = ?", (digest(plain),))
    site.database.remove(owned)
    site.wait(owned, 401)
    site.wait(plain, 200)
    assert not site.before.refused_pages() and not site.today.refused_pages()
    until(lambda: site.today.owners(owned_id) == {"Zoë, sales"})
    until(lambda: site.before.owners(owned_id) == {None})
    for gateway in (site.before, site.today):
        assert "a label" not in gateway.stack.access_log.read_text()


def test_limits_of_today_hold_in_both(site: Site) -> None:
    value = new_one()
    site.put(value, owner="sales", limits={"requests_per_minute": 1})
    for gateway in (site.before, site.today):
        gateway.wait(value, 200)
        assert [gateway.call(value) for _ in range(3)] == [200, 429, 429]


def test_what_0_1_0_would_do_with_a_member_that_it_does_not_know(site: Site) -> None:
    """The ground for all this: the same filter refuses the whole page of a feed that heeds no announcement."""
    from e2e.feed.feed_service import FeedService

    service = FeedService().up()
    try:
        with Gateway("unheeded", Path(RELEASED or ""), service.address) as gateway:
            first, second = new(2)
            service.keys.put(first)
            gateway.wait(first, 200)
            service.keys.put(second, owner="sales")
            service.keys.remove(first)
            until(gateway.refused_pages, check=gateway.stack.check)
            gateway.wait(first, 200)
            announced = {asked.headers.get("x-trilane-feed-format") for asked in service.asked}
            assert announced == {None}
    finally:
        service.stop()
