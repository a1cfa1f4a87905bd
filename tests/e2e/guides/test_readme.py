"""README.md, done as it says: the vendors are the simulator behind TLS, and the agents send what agents send."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
from e2e.guides.first_terminal import FirstTerminal, of_keys
from pages import blocks
from e2e.guides.reader import ROOT, Reader, free_port, shell
from e2e.guides.vendor import Vendor

PAGE = ROOT / "README.md"
VENDOR_KEYS = "sk-of-anthropic\nsk-of-openai\n"


def assert_console(said: str) -> None:
    """`make run` prints where the console is, with a link that signs in."""
    (link,) = re.findall(r"http://127\.0\.0\.1:\d+/sign-in/link\?token=\S+", said)
    answer = httpx.get(link, trust_env=False)
    assert answer.status_code == 200 and "Sign in" in answer.text


def test_everything_in_the_readme_works(tmp_path: Path) -> None:
    home, port = tmp_path / "home", free_port()
    (home / ".codex").mkdir(parents=True)
    with Vendor(tmp_path / "anthropic") as anthropic, Vendor(tmp_path / "openai") as openai:
        here = f"http://127.0.0.1:{port}"
        changes = [
            ("http://127.0.0.1:10000", here),
            anthropic.account("https://api.anthropic.com"),
            openai.account("https://api.openai.com"),
        ]
        (settings,) = [block.text for block in blocks(PAGE.read_text(encoding="utf-8"), "toml")]
        (home / ".codex" / "config.toml").write_text(settings.replace("http://127.0.0.1:10000", here), encoding="utf-8")
        reader = Reader(home, changes)
        terminal = FirstTerminal(reader, port, tmp_path / "terminal.log")
        said: list[tuple[str, str]] = []
        try:
            for block in shell(PAGE):
                if block.text.startswith(FirstTerminal.COMMANDS):
                    terminal.run(block.text)
                    if block.text.startswith("make run"):
                        assert_console(terminal.said)
                    continue
                if block.text.startswith(("trilane usage", "trilane explain")):
                    of_keys(home / "trilane" / "ledger" / "ledger.jsonl", 2)
                said.append((block.text, reader.does(block.text, given=VENDOR_KEYS if "read -rsp" in block.text else "")))
        finally:
            terminal.stop()

        def told(command: str) -> str:
            """What the block with this command printed."""
            (found,) = [output for text, output in said if command in text]
            return found

        assert json.loads(told("curl "))["object"] == "chat.completion"
        assert len(told("claude -p").strip()) > 3 and len(told("codex exec").strip()) > 3, "the agents' answers"
        assert "good (3 groups, 1 key)" in told("trilane check")
        for name, vendor, header, value in (
            ("anthropic", anthropic, "x-api-key", "sk-of-anthropic"),
            ("openai", openai, "authorization", "Bearer sk-of-openai"),
        ):
            (request,) = vendor.requests
            assert dict(request["headers"])[header] == value, name
        lines = of_keys(home / "trilane" / "ledger" / "ledger.jsonl", 2)
        assert [(line["trilane.key.id"], line["trilane.key.owner"]) for line in lines] == [("anna-laptop", "anna")] * 2
        assert lines[-1]["trilane.spent.key.day"] != "0", "the budget counts"
        csv = told("trilane usage").partition("owner,model")
        csv = f"{csv[1]}{csv[2]}".splitlines()
        assert csv[0].startswith("owner,model,day,requests"), csv[0]
        assert {row.split(",")[1] for row in csv[1:] if row.startswith("anna,")} == {"claude-opus-4-5", "gpt-5.1-codex"}
        assert str(lines[-1]["trilane.model"]) in told("trilane explain"), "the last request"
