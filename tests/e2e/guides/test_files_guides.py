"""The commands of pages that work on files: documents, ledgers, prices. They are run as they stand, in a directory in place of the root."""

from __future__ import annotations

import csv
import gzip
import json
import shlex
import shutil
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from e2e.browser.seeded import line
from e2e.guides.reader import DOCS, Reader, shell
from e2e.init.typed import ENTER, Terminal
from stack import COMMAND, SAMPLE_CREDENTIALS, SAMPLE_DOCUMENT

#: The request that the pages look up begins so.
REQUEST = "0827174e-"
BY_JQ = pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not here: apt install jq")


class Desk:
    """A directory with the files that the pages name, and a terminal in it."""

    def __init__(self, place: Path) -> None:
        self.place = place
        for name in ("bin", "etc/trilane/document", "etc/trilane/upstreams", "var/log/trilane/edge-1"):
            (place / name).mkdir(parents=True)
        shutil.copytree(SAMPLE_CREDENTIALS, place / "etc/trilane/credentials")
        shutil.copy(SAMPLE_DOCUMENT, place / "gateway.json")
        shutil.copytree(SAMPLE_CREDENTIALS, place / "credentials")
        ledger = "".join(lines())
        (place / "ledger.jsonl").write_text(ledger)
        (place / "ledger.jsonl.1.gz").write_bytes(gzip.compress(lines()[0].encode()))
        (place / "var/log/trilane/edge-1/ledger-20261122.jsonl").write_text(lines()[0])
        (place / "var/log/trilane/edge-1/ledger.jsonl").write_text("".join(lines()[1:]))
        # No Envoy takes its time here, and no container has the ledger.
        self.stands_in("sleep", "")
        self.stands_in("docker", f"cat {place}/ledger.jsonl")
        self._reader = Reader(place, [(f"{each}/", f"{place}{each}/") for each in ("/etc/trilane", "/var/log")])

    def stands_in(self, program: str, script: str) -> None:
        (self.place / "bin" / program).write_text(f"#!/bin/sh\n{script}\n")
        (self.place / "bin" / program).chmod(0o755)

    def does(self, text: str) -> str:
        return self._reader.does(f"PATH={self.place}/bin:$PATH\n{text}", cwd=self.place)

    def json(self, name: str) -> Any:
        return json.loads((self.place / name).read_text())


def lines() -> list[str]:
    """What a key of the page on limits has spent, and what failed."""
    days = [(21, "19.250301", {}), (22, "1.25", {}), (22, None, {"status": 502, "error.type": "upstream_error"})]
    found = []
    for day, charge, more in days:
        at = datetime(2026, 11, day, 10, 15, 30 if charge else 29, tzinfo=timezone.utc)
        told = json.loads(line(at, "key_01", "ann", "claude-opus-4-5", charge, **more, duration_ms=0))
        found.append(json.dumps(told | {"request_id": f"{REQUEST}{day}-{charge}"}) + "\n")
    return found


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def block(page: str, words: str) -> str:
    """The block of a page with these words."""
    (found,) = [each.text for each in shell(DOCS / f"{page}.md") if words in each.text]
    return found


def test_a_document_is_put_in_force(desk: Desk) -> None:
    """docs/reference/envoy.md at once, docs/accounts.md by hand."""
    desk.does(block("reference/envoy", "trilane render"))
    assert desk.json("etc/trilane/document/gateway.json") == desk.json("gateway.json")
    clusters = (desk.place / "etc/trilane/upstreams/clusters/clusters.json").read_text()
    assert "b-official" in clusters and "c-official" in clusters
    new = desk.json("gateway.json")
    new["groups"] = [group for group in new["groups"] if group["id"] == "b-official"]
    new["keys"] = [key for key in new["keys"] if key["group"] == "b-official"]
    (desk.place / "new.json").write_text(json.dumps(new))
    desk.does(block("accounts", "trilane render"))
    assert desk.json("etc/trilane/document/gateway.json") == new
    clusters = (desk.place / "etc/trilane/upstreams/clusters/clusters.json").read_text()
    assert "b-official" in clusters and "c-official" not in clusters


def test_a_ledger_is_added_up(desk: Desk) -> None:
    text = block("ledger", "trilane usage")
    assert len(text.splitlines()) == 4
    said = desk.does(text)
    assert "key_01" in said and "claude-opus-4-5" in said
    rows = csv.DictReader((desk.place / "november.csv").read_text().splitlines())
    assert [(row["day"], row["charge"]) for row in rows] == [("2026-11-21", "19.25"), ("2026-11-22", "1.25"), ("", "20.50")]
    model = json.loads(desk.does(text.splitlines()[-1]))
    assert [(row["model"], row["charge"]) for row in model["rows"]] == [("claude-opus-4-5", "20.500301")]


@BY_JQ
def test_lines_are_looked_up(desk: Desk) -> None:
    text = block("operations", "jq -c").replace(f"{REQUEST}…", f"{REQUEST}22-1.25")
    found, counted = desk.does(text).splitlines()
    assert json.loads(found)["trilane.charge"] == "1.25"
    assert counted.split() == ["1", "refused", "upstream_error"]


@BY_JQ
def test_what_was_spent_comes_into_the_document(desk: Desk) -> None:
    document = desk.json("gateway.json")
    digest = "ab" * 32
    document["keys"] += [{"id": "key_01", "sha256": digest, "group": "mixed", "limits": {"budget": {"per_month": "50"}}}]
    (desk.place / "gateway.json").write_text(json.dumps(document))
    shown, put = block("limits", "$ trilane usage"), block("limits", "jq --slurpfile")
    command, output = shown.removeprefix("$ ").splitlines()
    said = json.loads(desk.does(command))
    key = json.loads(output.replace("{…}", "{}"))["keys"]["key_01"]
    assert said["keys"] == {"key_01": key} and said["groups"]["mixed"].keys() == key.keys()
    desk.does(put)
    budgets = {each["id"]: each["limits"]["budget"] for each in desk.json("gateway.json")["keys"] if "limits" in each}
    assert budgets == {"key_01": {"per_month": "50", "spent": key}}
    desk.does("trilane check --document gateway.json")


def test_prices_are_listed_checked_and_imported(desk: Desk) -> None:
    group = {"id": "b", "protocol": "B", "clients": "current", "multiplier": "1", "models": [{"id": "claude-opus-4-8", "prices": "catalogue"}]}
    group["accounts"] = [{"id": "one", "url": "https://api.anthropic.com", "credential": "b-official-1"}]
    (desk.place / "gateway.json").write_text(json.dumps({"groups": [group], "keys": []}))
    said = desk.does(block("reference/prices", "trilane prices list"))
    assert said.count("claude-opus-4-8") == 3, "listed, shown, checked"
    one = {"litellm_provider": "anthropic", "mode": "chat", "input_cost_per_token": 5e-06, "output_cost_per_token": 2.5e-05}
    (desk.place / "model_prices_and_context_window.json").write_text(json.dumps({"claude-of-a-test": one}))
    program, *arguments = shlex.split(block("reference/prices", "trilane prices import"))
    assert program == "trilane"
    with Terminal(str(COMMAND), *arguments, cwd=desk.place, HOME=str(desk.place)) as terminal:
        terminal.until("[y/N]")
        terminal.types("y", ENTER)
        assert terminal.end() == 0, terminal.shown
    assert "claude-of-a-test" in json.dumps(desk.json(".local/share/trilane/prices.json"))


def test_each_target_of_make_is_there(desk: Desk) -> None:
    """docs/benchmarks.md and CONTRIBUTING.md: the stand-in for `make` makes nothing, and fails for a target that is not there."""
    pages = [DOCS / "benchmarks.md", DOCS.parent / "CONTRIBUTING.md"]
    reader = Reader(desk.place)
    for text in [each.text for page in pages for each in shell(page)]:
        assert all(line.startswith("make ") for line in text.splitlines())
        reader.does(text)
