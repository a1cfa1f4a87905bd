"""The command where a console is in charge: the line that a refusal prints, and publishing at a terminal."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from e2e.console.running import Api, ask
from e2e.console.signing_in import OPTIONS
from e2e.init.typed import ENTER, Terminal
from e2e.up.running import Up, environment
from stack import COMMAND
from waiting import until


class Machine:
    """A machine on which `trilane up --console` runs."""

    def __init__(self, up: Up) -> None:
        self.up = up
        self.url = up.said.rsplit("console    ", 1)[1].split()[0]
        self.token = up.data / "admin.token"
        self.api = Api(self.url, self.token.read_text().strip())

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([str(COMMAND), *words], env=environment(), capture_output=True, text=True, timeout=60)


@pytest.fixture(scope="module", name="machine")
def machine_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    with Up(tmp_path_factory.mktemp("machine") / "data", *OPTIONS) as up:
        yield Machine(up)


def test_the_line_that_is_printed_does_it(machine: Machine, tmp_path: Path) -> None:
    document = machine.up.data / "gateway.json"
    before = document.read_text()
    create = ("key", "create", "--document", str(document), "--id", "by-line", "--group", "b-official")
    refused = machine.command(*create)
    assert refused.returncode == 1 and refused.stdout == "", refused
    assert f"the console at {machine.url}, which has the document and the keys" in refused.stderr
    (line,) = re.findall(r"^  (trilane key create .*)$", refused.stderr, re.MULTILINE)
    assert line == f"trilane key create --id by-line --group b-official --server {machine.url} --token-file {machine.token}"
    assert document.read_text() == before
    path = f"{COMMAND.parent}:{os.environ['PATH']}"
    made = subprocess.run(["sh", "-c", line], env={**environment(), "PATH": path}, capture_output=True, text=True, timeout=60)
    assert made.returncode == 0, made.stderr
    key = made.stdout.strip()
    until(lambda: ask(machine.up.url, key) == 200, 10)
    assert key not in made.stderr


def test_publishing_asks(machine: Machine, tmp_path: Path) -> None:
    current = machine.api.get("/documents/current")
    changed = json.loads(current["body"])
    key = machine.api.new_key("looks", "b-official")
    (group,) = [group for group in changed["groups"] if group["id"] == "b-official"]
    gone = group["models"].pop()["id"]
    for mixed in changed["groups"]:
        if mixed["protocol"] == "Mixed":
            mixed["models"] = [model for model in mixed["models"] if model["id"] != gone]
    file = tmp_path / "gateway.json"
    file.write_text(json.dumps(changed))
    variables = {"TRILANE_SERVER": machine.url, "TRILANE_TOKEN": machine.token.read_text().strip()}
    for answer, code, version in (("n", 1, current["version"]), ("y", 0, current["version"] + 1)):
        with Terminal(str(COMMAND), "publish", "--note", "less", str(file), cwd=tmp_path, **variables) as terminal:
            terminal.until(f"lose {gone}")
            terminal.until(f"in force: version {current['version']}; it changes")
            terminal.until(f"Publish it at {machine.url}?")
            terminal.types(answer, ENTER)
            assert terminal.end() == code, terminal.shown
        now = machine.api.get("/documents/current")
        assert now["version"] == version and machine.api.get("/drafts")["items"] == [], terminal.shown
    assert now["note"] == "less"
    models = ("models", "--document", str(file), "--group", "b-official", "--format", "json")
    wanted = {model["id"] for model in json.loads(machine.command(*models).stdout)["data"]}
    assert gone not in wanted

    def served() -> set[str]:
        headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
        answer = httpx.get(f"{machine.up.url}/v1/models", headers=headers, trust_env=False)
        return {model["id"] for model in answer.json().get("data", [])}

    until(lambda: served() == wanted, 10)
