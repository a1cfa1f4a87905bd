"""README.md, done as it says: the vendor is a stand-in, and the agent sends what it sends. How pip brings the command and its Envoy is
shown by tests/release."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
from e2e.guides.first_terminal import FirstTerminal, of_keys
from e2e.guides.reader import ROOT, Reader, shell
from ports import free_port
from vendors import AnthropicVendor

PAGE = ROOT / "README.md"
CREDENTIAL = "sk-of-the-vendor-0000000000000000"


def assert_console(said: str) -> None:
    """A link to the console is printed, and signs in."""
    link = re.findall(r"http://127\.0\.0\.1:\d+/sign-in/link\?token=\S+", said)[-1]
    answer = httpx.get(link, trust_env=False)
    assert answer.status_code == 200 and "Sign in" in answer.text


def test_everything_in_the_readme_works(tmp_path: Path) -> None:
    home, port = tmp_path / "home", free_port()
    home.mkdir()
    ledger = home / ".local/share/trilane/ledger/ledger.jsonl"
    with AnthropicVendor(CREDENTIAL) as vendor:
        changes = [
            ("http://127.0.0.1:10000", f"http://127.0.0.1:{port}"),
            # What init asks for (tests/e2e/init/test_init_dialogue.py).
            ("trilane init", f"trilane init --vendor anthropic={vendor.url} --budget-day 10"),
            ("claude -p", "claude -p --model claude-opus-4-8"),
        ]
        reader = Reader(home, changes, ANTHROPIC_API_KEY=CREDENTIAL)
        terminal = FirstTerminal(reader, port, tmp_path / "terminal.log", envoy=True)
        done: dict[str, str] = {}
        try:
            for block in shell(PAGE):
                for line in block.text.splitlines(keepends=True) if "trilane up" in block.text else [block.text]:
                    if line.startswith(FirstTerminal.COMMANDS):
                        terminal.run(line)
                        if "--console" in line or line.startswith("make"):
                            assert_console(terminal.said)
                        continue
                    if line.startswith("trilane usage"):
                        of_keys(ledger, 1)
                    done[line] = reader.does(line)
        finally:
            terminal.stop()

    def told(command: str) -> str:
        """What the block with this command printed."""
        (found,) = [output for text, output in done.items() if command in text]
        return found

    assert len(told("claude -p").strip()) > 3, "the agent's answer"
    for text in ("claude-opus-4-8", "first"):
        assert text in told("trilane explain"), f"{text} of the last request"
