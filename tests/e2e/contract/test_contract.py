"""The API is what its OpenAPI document says: by a linter, a generated client, and a fuzzer with the token of each role."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import httpx
import pytest
from e2e.console.running import Console
from e2e.contract import generating
from e2e.crash.postgres_server import PostgresServer
from openapi_spec_validator import OpenAPIV31SpecValidator
from stack import SAMPLE_DOCUMENT

HERE = Path(__file__).resolve().parent
#: The admin comes last: it changes and revokes the others.
ROLES = ("viewer", "member", "agent", "admin")
#: What is there for whoever guesses ids.
KNOWN = ("key-of-member", "somebody", "edge-1")
#: Where a list leads to them, they would end the run's own sign-in, and whom others name: they have a turn of their own then, the last.
TAKES_AWAY = ("remove_token", "erase_person_data")
EVERY_PHASE = "examples,coverage,fuzzing,stateful"
METHODS = ("get", "put", "post", "delete", "patch")


@dataclass
class Served:
    """A console, and a token of each role."""

    console: Console
    tokens: dict[str, str]
    document: dict[str, Any]


def serve(place: Path, database: Optional[str] = None) -> Iterator[Served]:
    with Console(place / "console", "--import-document", str(SAMPLE_DOCUMENT), database=database) as console:
        api = console.api
        tokens = {"admin": (place / "console" / "admin.token").read_text().strip()}
        for role in ("viewer", "member"):
            api.post("/people", {"id": role, "name": role, "role": role})
            tokens[role] = api.post("/tokens", {"name": "a test", "person": role})["value"]
        api.post("/keys", {"id": "key-of-member", "group": "b-official", "owner": "member"})
        api.post("/people", {"id": "somebody", "name": "Somebody", "role": "viewer"})
        api.post("/envoys", {"id": "edge-1"})
        enrolment = api.post("/envoys", {"id": "agent"})["token"]
        enrolled = httpx.post(f"{console.url}/api/v1/enrol", json={"token": enrolment}, trust_env=False)
        tokens["agent"] = enrolled.json()["token"]
        document = httpx.get(f"{console.url}/api/openapi.json", trust_env=False).json()
        yield Served(console, tokens, document)


@pytest.fixture(name="served", scope="module")
def served_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    yield from serve(tmp_path_factory.mktemp("sqlite"))


@pytest.fixture(name="served_by_postgres", scope="module")
def served_by_postgres_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    place = tmp_path_factory.mktemp("postgres")
    server = PostgresServer(place / "postgres.log")
    try:
        server.start()
        yield from serve(place, f"postgres://trilane@localhost/postgres?host={server.socket.parent}")
    finally:
        server.stop()


def operations(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """By their ids."""
    found = [item[method] for item in document["paths"].values() for method in METHODS if method in item]
    ids = [operation["operationId"] for operation in found]
    assert len(ids) == len(set(ids)) >= 40, ids
    return dict(zip(ids, found))


def test_the_document(served: Served) -> None:
    document = served.document
    errors = [f"{'/'.join(map(str, error.path))}: {error.message}" for error in OpenAPIV31SpecValidator(document).iter_errors()]
    assert not errors, errors
    for name, operation in operations(document).items():
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", name), name
        assert operation.get("tags") and operation.get("summary"), f"{name} has no tag, or does not say what it does"
        assert "default" in operation["responses"], f"{name} does not say how it refuses"
        assert any(status.startswith("2") for status in operation["responses"]), f"{name} does not say how it succeeds"
    used = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(document)))
    assert used <= document["components"]["schemas"].keys()


def test_a_generated_client(served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that nobody of ours has written, for all of a key's life."""
    described = tmp_path / "openapi.json"
    described.write_text(json.dumps(served.document))
    settings = tmp_path / "settings.yaml"
    settings.write_text("post_hooks: []\n")
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--path", described, "--output-path", tmp_path / "generated_client"]
    ran = subprocess.run([*command, "--meta", "none", "--config", settings], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    modules = {file.stem for file in (tmp_path / "generated_client" / "api").glob("*/*.py")} - {"__init__"}
    # The generator knows no lines of JSON.
    assert modules == operations(served.document).keys() - {"send_ledger"}, ran.stdout

    monkeypatch.syspath_prepend(str(tmp_path))
    generated = importlib.import_module("generated_client")
    models = importlib.import_module("generated_client.models")
    client = generated.AuthenticatedClient(base_url=served.console.url, token=served.tokens["admin"], httpx_args={"trust_env": False})

    def call(tag: str, name: str, *args: Any, **more: Any) -> Any:
        return importlib.import_module(f"generated_client.api.{tag}.{name}").sync(*args, client=client, **more)

    body = models.NewKeyBody(group="b-official", id="generated", owner="member", label="from a client")
    made = call("keys", "create_key", body=body, idempotency_key="once")
    assert isinstance(made, models.CreatedKey) and made.value.startswith("tl-") and made.key.owner == "member", made
    again = call("keys", "create_key", body=body, idempotency_key="once")
    assert again.key.id == "generated" and not again.value, "the secret is shown once"
    assert isinstance(call("keys", "create_key", body=body), models.ApiProblem), "the id is taken"
    changed = call("keys", "change_key", "generated", body=models.KeyChangeBody(disabled=True, label="off"))
    assert changed.disabled and changed.label == "off"
    # It has what the key has spent, too.
    seen = call("keys", "get_key", "generated")
    assert (seen.id, seen.label, seen.disabled, seen.created_at) == ("generated", "off", True, changed.created_at)
    listed = call("keys", "list_keys", limit=500)
    assert isinstance(listed, models.ItemPageKeyView) and "generated" in [key.id for key in listed.items]
    usage = call("usage", "list_usage", by="key", key="generated")
    assert isinstance(usage, models.ItemPageUsageView) and usage.items == []
    spent = call("usage", "get_spend", kind=models.GetSpendKind.KEY, subject="generated", period="2026-11")
    assert isinstance(spent, models.SpendView) and spent.spent == []
    assert call("keys", "remove_key", "generated") is None
    gone = call("keys", "get_key", "generated")
    assert isinstance(gone, models.ApiProblem) and gone.status == 404
    entries = [entry for entry in call("people", "list_audit").items if entry.object_.endswith("generated")]
    assert len(entries) == 3, "made, changed, removed"


def fuzz(served: Served, place: Path, role: str, examples: int, phases: str, seed: int = 20) -> None:
    described = place / "openapi.json"
    described.write_text(json.dumps(served.document))
    token = served.tokens[role]
    env = {**os.environ, "PYTHONPATH": str(HERE.parents[1]), generating.KNOWN: ",".join(KNOWN), "PYTHONDONTWRITEBYTECODE": "1"}
    shared = [
        *(sys.executable, "-m", "schemathesis.cli", "--config-file", HERE / "schemathesis.toml", "run", described),
        *("--url", served.console.url, "--header", f"Authorization: Bearer {token}", "--no-color", "--continue-on-failure"),
        *("--max-examples", str(examples), "--seed", str(seed), "--warnings", "off", "--phases", phases),
    ]

    def run(choice: str, named: tuple[str, ...]) -> str:
        chosen = [part for name in named for part in (choice, name)]
        ran = subprocess.run([*shared, *chosen], cwd=place, env=env, capture_output=True, text=True, check=False)
        said = ran.stdout + ran.stderr
        assert token not in said
        assert ran.returncode == 0, f"{role}, {examples} examples, seed {seed}: {said[-8000:]}"
        return said

    kept_back = TAKES_AWAY if "stateful" in phases else ()
    said = run("--exclude-operation-id", kept_back)
    me = httpx.get(f"{served.console.url}/api/v1/me", headers={"authorization": f"Bearer {token}"}, trust_env=False)
    assert me.status_code == 200, f"{role} is signed out: most of the run has shown nothing"
    tested = re.search(r"Tested: +(\d+)", said)
    assert tested and int(tested.group(1)) == len(operations(served.document)) - len(kept_back), said
    if kept_back:
        run("--include-operation-id", kept_back)
    assert '"event":"error"' not in served.console.log.read_text(), served.console.log.read_text()[-3000:]


@pytest.mark.parametrize("role", ROLES)
def test_no_schema_is_violated(served: Served, tmp_path: Path, role: str) -> None:
    # Of the others nearly everything is 403.
    fuzz(served, tmp_path, role, *((5, EVERY_PHASE) if role == "admin" else (2, "fuzzing")))


@pytest.mark.long
@pytest.mark.parametrize("role", ROLES)
def test_no_schema_is_violated_for_long(served_by_postgres: Served, tmp_path: Path, role: str) -> None:
    fuzz(served_by_postgres, tmp_path, role, 200 if role == "admin" else 50, EVERY_PHASE, seed=int.from_bytes(os.urandom(3)))
