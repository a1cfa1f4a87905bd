"""One key for several vendors: each model goes to the source that it names, at that source's prices and multiplier."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import httpx
import pytest
from e2e.accounts.accounts_desk import Asked, Desk
from e2e.accounts.document import CREDENTIAL_HEADERS, account
from e2e.accounts.operations import BY_NAME, OPERATIONS, Operation
from e2e.accounts.own_groups import document_of, key_of

pytestmark = pytest.mark.usefixtures("honest")

#: What every stand-in reports.
USAGE = {"input": 1000, "output": 100}
SIM = {"usage": ",".join(f"{kind}={number}" for kind, number in USAGE.items())}

#: Source -> its protocol, its account, its multiplier, its model with prices, and the model's name there.
SOURCES: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "openai": ("A", "a1", "1.0000", {"id": "gpt-6", "prices": {"input": "2", "output": "10"}}),
    "openrouter": ("A", "a2", "1.1000", {"id": "qwen-9", "upstream": "qwen/qwen-9", "prices": {"input": "0.37", "output": "1.5"}}),
    "deepseek": ("A", "a3", "0.3333", {"id": "deepseek-chat", "prices": {"input": "0.15", "output": "0.6"}}),
    "vllm": ("A", "a4", "0.0000", {"id": "llama-9", "prices": {"input": "1", "output": "1"}}),
    "anthropic": ("B", "a1", "2.0000", {"id": "claude-opus-9", "prices": {"input": "5", "output": "25"}}),
    "deepseek-b": ("B", "a3", "0.5000", {"id": "deepseek-coder", "prices": {"input": "0.15", "output": "0.6"}}),
    "gemini": ("C", "a4", "1.0000", {"id": "gemini-9", "prices": {"input": "0.3", "output": "2.5"}}),
    "vertex": ("C", "a2", "1.0000", {"id": "gemini-9-pro", "upstream": "gemini-9-pro-001", "prices": {"input": "1", "output": "4"}}),
}
ENTRIES = {"A": "responses", "B": "vb_messages", "C": "vc_generate_content"}
#: What an entry adds to a source's multiplier.
EXTRA = {"deepseek": "1.5000", "vertex": "0.1250"}
MODELS = {model["id"]: source for source, (_, _, _, model) in SOURCES.items()}


def _group(source: str, **fields: Any) -> dict[str, Any]:
    protocol, at, multiplier, model = SOURCES[source]
    return {
        "id": source,
        "protocol": protocol,
        "multiplier": multiplier,
        "clients": "current",
        "accounts": [account(protocol, at)],
        "models": [model],
        **fields,
    }


def _document(**of_all: Any) -> dict[str, Any]:
    """All sources, and a group that has all of them."""
    entries: dict[str, Any] = {}
    for source, (protocol, *_) in SOURCES.items():
        sources = entries.setdefault(ENTRIES[protocol], {"sources": []})["sources"]
        sources.append({"source": source, "extra_multiplier": EXTRA.get(source, "1.0000")})
    models = [{"id": model, "entry": ENTRIES[SOURCES[source][0]], "source": source} for model, source in MODELS.items()]
    everything = {"id": "all", "protocol": "Mixed", "clients": "current", "entries": entries, "models": models, **of_all}
    return document_of(*(_group(source) for source in SOURCES), everything)


def _key(protocol: str) -> dict[str, str]:
    name, prefix = CREDENTIAL_HEADERS[protocol]
    return {name: prefix + key_of({"id": "all"})}


def _ask(accounts: Desk, operation: Operation, model: str, **named: Any) -> Asked:
    return accounts.ask(operation, model=model, headers=_key(operation.protocol), **{"sim": SIM, **named})


def _check(asked: Asked, source: str) -> None:
    """It went to the stand-in of this source alone, and its line has that source's price and multiplier."""
    _, at, multiplier, model = SOURCES[source]
    assert asked.status == 200 and asked.tried == [at], asked
    record = asked.record()
    final = Decimal(multiplier) * Decimal(EXTRA.get(source, "1"))
    assert record["trilane.group"] == "all" and record["trilane.source"] == source, record
    assert record["trilane.account"] == at, record
    assert record["trilane.model"] == model["id"], record
    assert record["trilane.upstream_model"] == model.get("upstream", model["id"]), record
    assert Decimal(record["trilane.multiplier"]) == round(final, 4), record
    listed = sum(number * Decimal(model["prices"][kind]) for kind, number in USAGE.items()) / 1_000_000
    assert Decimal(record["trilane.charge"]) == listed * final, record


@pytest.fixture
def every_source(accounts: Desk) -> Iterator[Desk]:
    accounts.publish(_document())
    yield accounts


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_each_model_goes_to_its_own_source(every_source: Desk, operation: Operation) -> None:
    mine = [(model, source) for model, source in MODELS.items() if SOURCES[source][0] == operation.protocol]
    assert len(mine) > 1
    for model, source in mine:
        _check(_ask(every_source, operation, model), source)


def test_a_failing_source_hurts_no_other(every_source: Desk) -> None:
    operation = BY_NAME["chat"]
    failed = _ask(every_source, operation, "qwen-9", sim={"status": 503})
    assert failed.status == 503 and failed.tried == ["a2"], failed
    assert failed.record()["trilane.source"] == "openrouter", failed
    for model in ("gpt-6", "deepseek-chat", "llama-9"):
        _check(_ask(every_source, operation, model), MODELS[model])


def test_accounts_of_a_source_stand_in_for_each_other(accounts: Desk) -> None:
    wanted = _document()
    two = [account("A", "a2"), account("A", "a4", 1)]
    wanted["groups"] = [
        {**group, "accounts": two, "failover": {"failures": 100}} if group["id"] == "openrouter" else group
        for group in wanted["groups"]
    ]
    accounts.publish(wanted)
    operation = BY_NAME["chat-stream"]
    _check(_ask(accounts, operation, "qwen-9"), "openrouter")
    asked = _ask(accounts, operation, "qwen-9", sim={"status": 429}, at=["a2"])
    assert asked.status == 200 and asked.tried == ["a2", "a4"], asked
    record = asked.record()
    assert (record["trilane.source"], record["trilane.account"]) == ("openrouter", "a4"), record
    _check(_ask(accounts, operation, "gpt-6"), "openai")


def _late(model: str, size: int) -> bytes:
    """A body that names its model behind everything else, as the SDKs of two vendors do."""
    return json.dumps({"messages": [{"role": "user", "content": "x" * size}], "model": model}).encode()


@pytest.mark.parametrize("http2", [False, True], ids=["HTTP/1.1", "HTTP/2"])
@pytest.mark.parametrize("size", [300_000, 5_000_000, 11_000_000])
def test_a_model_behind_a_long_body(every_source: Desk, size: int, http2: bool) -> None:
    url, marker = every_source.stack.base_url, every_source.new_marker()
    body = _late("deepseek-chat", size)
    headers = {**_key("A"), "content-type": "application/json", "x-sim-marker": marker}
    with httpx.Client(http1=not http2, http2=http2, timeout=60.0, trust_env=False) as client:
        answer = client.post(f"{url}/v1/chat/completions", headers=headers, content=body)
    assert answer.status_code == 200, answer.text
    (entry,) = every_source.journal.of(marker)
    assert entry["listener"] == "b_low_rate" and entry["body_bytes"] == len(body), entry


def test_a_model_behind_what_is_held(every_source: Desk) -> None:
    marker = every_source.new_marker()
    headers = {**_key("A"), "content-type": "application/json", "x-sim-marker": marker}
    answer = every_source.http.post("/v1/chat/completions", headers=headers, content=_late("gpt-6", 13_000_000))
    assert answer.status_code == 413, answer.text
    assert "does not name its model in its first 12582912 bytes" in answer.json()["error"]["message"]
    assert every_source.journal.of(marker) == []


def test_a_model_that_moves(accounts: Desk) -> None:
    """The next request goes to the source that the document names then."""
    before, operation = _document(), BY_NAME["responses"]
    after = copy.deepcopy(before)
    for group in after["groups"]:
        if group["id"] == "deepseek":
            group["models"] = [*group["models"], SOURCES["openai"][3]]
        for model in group["models"]:
            if group["id"] == "all" and model["id"] == "gpt-6":
                model["source"] = "deepseek"
    accounts.publish(before)
    _check(_ask(accounts, operation, "gpt-6"), "openai")
    accounts.publish(after)
    asked = _ask(accounts, operation, "gpt-6")
    assert asked.tried == ["a3"] and asked.record()["trilane.source"] == "deepseek", asked


def _listed(accounts: Desk, protocol: str) -> dict[str, tuple[str, str]]:
    """Model -> entry and final multiplier, as a client of the protocol sees them."""
    path = "/v1beta/models" if protocol == "C" else "/v1/models"
    found = accounts.http.get(path, headers={**_key(protocol), "anthropic-version": "2023-06-01"}).json()
    items = found.get("data", found.get("models"))
    return {
        item.get("id", item.get("name", "")).removeprefix("models/"): (item["entry"], item["multiplier"]) for item in items
    }


@pytest.mark.parametrize("lists", [None, "whole", "by_protocol"])
def test_lists(accounts: Desk, lists: str | None) -> None:
    accounts.publish(_document(**({"lists": lists} if lists else {})))
    every = {}
    for model, source in MODELS.items():
        protocol, _, multiplier, _ = SOURCES[source]
        final = round(Decimal(multiplier) * Decimal(EXTRA.get(source, "1")), 4)
        every[model] = (ENTRIES[protocol], f"{final:.4f}")
    for protocol, entry in ENTRIES.items():
        of_entry = {model: said for model, said in every.items() if said[0] == entry}
        whole = protocol != "C" and lists != "by_protocol"
        assert _listed(accounts, protocol) == (every if whole else of_entry), protocol
