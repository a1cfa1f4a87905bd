"""Each part of a document that a page shows as JSON, in the smallest document around it: `trilane check` accepts it."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from e2e.guides.reader import DOCS
from e2e.guides.samples import sample
from stack import COMMAND

#: How many parts of a document there are on a page, beside pages of feeds, answers and lines of the ledger.
PARTS = {
    "keys-feed": 1,
    "limits": 3,
    "limits-service": 1,
    "one-key": 3,
    "reference/document": 4,
    "reference/endpoints": 1,
    "reference/failover": 1,
    "reference/prices": 1,
}
#: The members by which one of them is known.
MEMBERS = {"groups", "keys", "keys_feed", "spend_feed", "limits_service", "cors", "protocol", "prices", "sources", "entries"}
PROTOCOLS = {"responses": "A", "vb_messages": "B"}


def parts(page: str) -> list[dict[str, Any]]:
    """A page's parts of a document."""
    found = [value for value in sample(page) if isinstance(value, dict) and MEMBERS & value.keys()]
    return [value for value in found if "feed" not in value]


def model(name: str) -> dict[str, Any]:
    return {"id": name, "prices": {"input": "1", "output": "2"}}


def account(name: str) -> dict[str, Any]:
    return {"id": name, "url": f"https://{name}.example", "credential": name}


def source(name: str, protocol: str, models: set[str]) -> dict[str, Any]:
    """A group of its own with these models."""
    group = {"id": name, "protocol": protocol, "clients": "current", "multiplier": "1.0000", "accounts": [account(name)]}
    return group | {"models": [model(each) for each in sorted(models)]}


def with_sources(group: dict[str, Any]) -> list[dict[str, Any]]:
    """A Mixed group, and the groups that it names with the models that it has of them."""
    served: dict[tuple[str, str], set[str]] = {}
    for name, entry in group["entries"].items():
        named = [each["source"] for each in entry.get("sources", [entry])]
        for each in named:
            models = [one for one in group["models"] if one["entry"] == name]
            of_it = {one["id"] for one in models if each in one.get("sources", [one.get("source", each)])}
            served[each, PROTOCOLS[name]] = of_it
    return [*(source(name, protocol, models) for (name, protocol), models in served.items()), group]


def mixed(model_with_sources: dict[str, Any]) -> dict[str, Any]:
    """A Mixed group with a model that several sources serve."""
    entries = {model_with_sources["entry"]: {"sources": [{"source": each} for each in model_with_sources["sources"]]}}
    return {"id": "all", "protocol": "Mixed", "clients": "current", "entries": entries, "models": [model_with_sources]}


def around(part: dict[str, Any]) -> dict[str, Any]:
    """The smallest document that has this part of one."""
    part = json.loads(re.sub(r'"([0-9a-f]{4})…"', lambda digest: json.dumps(digest[1] * 16), json.dumps(part, ensure_ascii=False)))
    if "entry" in part:
        part = mixed(part)
    if "protocol" in part:
        return {"groups": with_sources(part) if "entries" in part else [part], "keys": []}
    if "id" in part:
        protocol = "B" if part["id"].startswith("claude") else "A"
        return {"groups": [source("one", protocol, set()) | {"models": [part]}], "keys": []}
    document = {"groups": [], "keys": [], **part}
    # A group that is shown for its limits has no more than these.
    shortened = {"entries": {"responses": {"source": "one"}}, "models": [{"id": "gpt-5.1", "entry": "responses"}]}
    document["groups"] = [each for group in document["groups"] for each in with_sources(shortened | group)]
    # A document has at least one group, and those of its keys.
    for name in {"one", *(each["group"] for each in document["keys"])} - {each["id"] for each in document["groups"]}:
        document["groups"].append(source(name, "A", {"gpt-5.1"}))
    return document


@pytest.mark.parametrize("page", PARTS)
def test_a_part_of_a_document_is_accepted(page: str, tmp_path: Path) -> None:
    found = parts(page)
    assert len(found) == PARTS[page], found
    for part in found:
        file = tmp_path / "gateway.json"
        file.write_text(json.dumps(around(part)))
        done = subprocess.run([COMMAND, "check", "--document", file], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{part}\n{done.stdout}{done.stderr}\n{file.read_text()}"


def test_no_page_is_forgotten() -> None:
    """docs/clients/README.md has parts of a document as well, which tests/clients adds to the sample. The Chinese pages have
    those of the English ones."""
    pages = {str(page.relative_to(DOCS))[:-3] for page in DOCS.rglob("*.md")} - {"clients/README"}
    assert {page for page in pages if not page.startswith(("clients/", "zh-CN/")) and parts(page)} == PARTS.keys()
