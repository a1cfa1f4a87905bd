"""docs/laptop.md, done as it says: the vendor is the simulator behind TLS, and the agent sends what agents send."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from e2e.guides.first_terminal import PATIENCE, FirstTerminal, of_keys
from e2e.guides.reader import DOCS, Reader, commands_in_tables, shell
from e2e.guides.vendor import Vendor
from ports import free_port

PAGE = DOCS / "laptop.md"
VENDOR_KEY = "sk-of-the-vendor"
MESSAGE = {"model": "claude-haiku-4-5", "max_tokens": 16, "messages": [{"role": "user", "content": "Hello"}]}


@pytest.fixture
def vendor(tmp_path: Path) -> Iterator[Vendor]:
    with Vendor(tmp_path / "vendor") as running:
        yield running


def test_everything_on_the_page_works(vendor: Vendor, tmp_path: Path) -> None:
    home, port = tmp_path / "home", free_port()
    home.mkdir()
    changes = [("http://127.0.0.1:10000", f"http://127.0.0.1:{port}"), vendor.account("https://api.anthropic.com")]
    reader = Reader(home, changes)
    terminal = FirstTerminal(reader, port, tmp_path / "terminal.log", envoy=True)
    said = {}
    try:
        for block in shell(PAGE):
            if block.text.startswith(FirstTerminal.COMMANDS):
                terminal.run(block.text)
            else:
                given = f"{VENDOR_KEY}\n" if "read -rs" in block.text else ""
                said[block.text.split()[0]] = reader.does(block.text, given=given)
        assert json.loads(said["curl"])["type"] == "message"
        assert "model_not_found" not in said["export"] and len(said["export"].strip()) > 3, "the agent's answer"
        looks(reader, vendor, port)
        from_day_to_day(reader, vendor, port)
        terminal.interrupt()
        with pytest.raises(httpx.ConnectError):
            message(port, (home / "trilane" / "laptop-2.key").read_text().strip())
    finally:
        terminal.stop()


def message(port: int, key: str) -> httpx.Response:
    headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
    url = f"http://127.0.0.1:{port}/v1/messages"
    return httpx.post(url, headers=headers, json=MESSAGE, trust_env=False, timeout=30)


def credentials(vendor: Vendor) -> list[str]:
    """What the vendor was sent as its key, with each request."""
    return [dict(request["headers"])["x-api-key"] for request in vendor.requests]


def looks(reader: Reader, vendor: Vendor, port: int) -> None:
    """What the page promises of the agent's request: the vendor's key, the record, the limits."""
    key = (reader.home / "trilane" / "laptop.key").read_text().strip()
    assert credentials(vendor) == [VENDOR_KEY], "one request of the agent"
    assert key not in json.dumps(vendor.requests)
    (line,) = of_keys(reader.home / "trilane" / "ledger" / "ledger.jsonl")
    assert (line["trilane.key.id"], line["trilane.account"], line["trilane.outcome"]) == ("laptop", "mine", "finished")
    assert line["trilane.spent.group.day"] == line["trilane.charge"] != "0", "the budget counts"
    assert message(port, key).headers["anthropic-ratelimit-requests-limit"] == "120"
    totals = reader.does("trilane usage --format json ~/trilane/ledger/ledger.jsonl")
    assert '"laptop"' in totals and '"claude-opus-4-5"' in totals


def from_day_to_day(reader: Reader, vendor: Vendor, port: int) -> None:
    """The table's commands, in their order, and a new credential."""
    rotate, disable = commands_in_tables(PAGE, "trilane")
    key = (reader.home / "trilane" / "laptop.key").read_text().strip()
    reader.does("cd ~/trilane/credentials && echo sk-new > anthropic.new && mv anthropic.new anthropic")
    deadline = time.monotonic() + PATIENCE
    while message(port, key).status_code == 200 and credentials(vendor)[-1] != "sk-new":
        assert time.monotonic() < deadline, "the credential that was renamed into place is used"
    reader.does(rotate)
    new = (reader.home / "trilane" / "laptop-2.key").read_text().strip()
    until(port, new, 200)
    assert message(port, key).status_code == 200, "the old one overlaps"
    reader.does(disable)
    until(port, new, 401)


def until(port: int, key: str, status: int) -> None:
    """The document is in force."""
    deadline = time.monotonic() + PATIENCE
    while (found := message(port, key).status_code) != status:
        assert time.monotonic() < deadline, f"{found}, not {status}"
        time.sleep(0.1)
