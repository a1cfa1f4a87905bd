"""`trilane init` as a dialogue: what a person types, and what is never shown."""

from __future__ import annotations

import json
import stat
from pathlib import Path

from e2e.init.initialising import CREDENTIAL, init, key, trilane
from e2e.init.typed import DOWN, ENTER, INTERRUPT, SPACE, Terminal
from stack import COMMAND
from vendors import AnthropicVendor, LocalServer


def at_the_address(terminal: Terminal, url: str, protocol: int, name: str) -> None:
    """Chooses an address of one's own, which the stand-in has."""
    terminal.until("Which vendor?")
    terminal.types(*[DOWN] * 5, ENTER)
    terminal.until("Its base address")
    terminal.types(*["\x7f"] * 40, url, ENTER)
    terminal.until("What does it speak?")
    terminal.types(*[DOWN] * protocol, ENTER)
    terminal.until("A name for it")
    terminal.types(*["\x7f"] * 10, name, ENTER)


def typed_credential(terminal: Terminal, credential: str) -> None:
    terminal.until("Where is the credential")
    terminal.types(ENTER)
    terminal.until("The credential")
    terminal.types(credential, ENTER)


def test_a_person_is_asked_and_the_credential_is_never_shown(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with AnthropicVendor(CREDENTIAL) as vendor:
        with Terminal(str(COMMAND), "init", "--data", str(data), cwd=tmp_path) as terminal:
            at_the_address(terminal, vendor.url, 1, "claude")
            typed_credential(terminal, "sk-of-somebody-else")
            terminal.until("refused the credential (401)")
            terminal.until("Try another credential?")
            terminal.types("y")
            typed_credential(terminal, CREDENTIAL)
            terminal.until("claude: the credential works; 3 models")
            terminal.until("Which models?")
            terminal.types(DOWN, SPACE, ENTER)  # the second is taken out
            terminal.until("Another vendor?")
            terminal.types("n")
            terminal.until("What may the first key spend a day")
            terminal.types("0.01", ENTER)
            assert terminal.end() == 0, terminal.shown
    assert "claude-opus-4-8 (input 5, cached 0.5, output 25)" in terminal.shown
    assert CREDENTIAL not in terminal.shown and "somebody-else" not in terminal.shown
    assert key(data) not in terminal.shown, "the key is in its file"
    assert "export ANTHROPIC_BASE_URL=http://127.0.0.1:10000" in terminal.shown
    document = json.loads((data / "gateway.json").read_text())
    [group] = document["groups"]
    assert (group["id"], group["protocol"]) == ("claude", "B")
    assert [model["id"] for model in group["models"]] == ["claude-opus-4-8", "claude-haiku-4-5"]
    assert document["keys"][0]["limits"] == {"budget": {"per_day": "0.01"}}
    file = data / "credentials" / "claude-1"
    assert file.read_text().strip() == CREDENTIAL
    assert stat.S_IMODE(file.stat().st_mode) == 0o400
    trilane("check", "--strict", "--document", str(data / "gateway.json"))


def test_prices_are_asked_for_and_a_vendor_is_added(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with LocalServer("any") as vendor:
        first = init(data, "--vendor", f"compatible={vendor.url}", "--group", "one", "--no-credential", "--free")
        assert first.returncode == 0, first.stderr
        command = [str(COMMAND), "init", "--data", str(data)]
        with Terminal(*command, cwd=tmp_path) as terminal:
            terminal.until("is there already")
            terminal.types(ENTER)
            terminal.until("There is a key first already. A name for the new one")
            terminal.types("two", ENTER)
            at_the_address(terminal, vendor.url, 0, "two")
            terminal.until("The group one has this vendor already")
            terminal.types(DOWN, ENTER)
            terminal.until("Where is the credential")
            terminal.types(*[DOWN] * 3, ENTER)
            terminal.until(" answers; 2 models")
            terminal.until("Which models?")
            terminal.types(ENTER)
            terminal.until("2 of these have no known price")
            terminal.types(DOWN, ENTER)
            terminal.until("llama3.2:3b: INPUT/CACHED/OUTPUT")
            terminal.types("1/1/x", ENTER)
            terminal.until("the price x must be a plain decimal number")
            terminal.types("0.1/0.01/0.2", ENTER)
            terminal.until("qwen3:8b: INPUT/CACHED/OUTPUT")
            terminal.types(ENTER)
            terminal.until("Another vendor?")
            terminal.types("y")
            at_the_address(terminal, vendor.url, 0, "one")
            terminal.until("The group one has this vendor already")
            terminal.types(ENTER)
            terminal.until("Where is the credential")
            terminal.types(*[DOWN] * 3, ENTER)
            terminal.until("group one asks one-1, then one-2")
            terminal.until("Another vendor?")
            terminal.types("n")
            terminal.until("note: what these models cost is not counted")
            assert terminal.end() == 0, terminal.shown
    document = json.loads((data / "gateway.json").read_text())
    assert [group["id"] for group in document["groups"]] == ["one", "two", "all"], "what is added is in all"
    assert [account["id"] for account in document["groups"][0]["accounts"]] == ["one-1", "one-2"]
    models = document["groups"][1]["models"]
    assert {model.pop("created_at") for model in models} == {"2025-11-21T04:40:00Z"}, "as the vendor says"
    assert models == [{"id": "llama3.2:3b", "prices": {"input": "0.1", "cache_read": "0.01", "output": "0.2"}}, {"id": "qwen3:8b"}]


def test_what_is_there_can_stay_and_the_dialogue_can_be_ended(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "gateway.json").write_text('{"groups": [], "keys": []}')
    command = [str(COMMAND), "init", "--data", str(data)]
    with Terminal(*command, cwd=tmp_path) as terminal:
        terminal.until("is there already")
        terminal.types(DOWN, DOWN, ENTER)
        assert terminal.end() == 0, terminal.shown
    with Terminal(*command, cwd=tmp_path) as terminal:
        terminal.until("is there already")
        terminal.types(DOWN, ENTER)
        terminal.until("Which vendor?")
        terminal.types(INTERRUPT)
        assert terminal.end() != 0, terminal.shown
    assert [file.name for file in data.iterdir()] == ["gateway.json"]
    assert (data / "gateway.json").read_text() == '{"groups": [], "keys": []}'
