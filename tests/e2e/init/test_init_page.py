"""docs/real-vendor.md: each `trilane init` on it does what the page says, with stand-ins at the vendors' addresses. Its other commands are README.md's."""

from __future__ import annotations

import shlex
import subprocess
from contextlib import ExitStack
from pathlib import Path

from e2e.init.initialising import CREDENTIAL, environment
from pages import blocks
from stack import COMMAND
from vendors import AnthropicVendor, DeepSeekVendor, GeminiVendor, LocalServer, OpenAIVendor, OpenRouterVendor

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "real-vendor.md"
PRESETS = {
    "openai": OpenAIVendor,
    "anthropic": AnthropicVendor,
    "gemini": GeminiVendor,
    "openrouter": OpenRouterVendor,
    "deepseek": DeepSeekVendor,
}


def test_each_init_on_the_page(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    commands = [line for block in blocks(text, "sh") for line in block.text.splitlines()]
    commands = [shlex.split(line) for line in commands if line.startswith("trilane init --")]
    assert len(commands) == 5, commands
    for name in ("anthropic.key", "gemini.key", "second.key"):
        (tmp_path / name).write_text(CREDENTIAL)
    variables = {f"{name.upper()}_API_KEY": CREDENTIAL for name in PRESETS}
    with ExitStack() as running:
        urls = {name: running.enter_context(kind(CREDENTIAL)).url for name, kind in PRESETS.items()}
        local = running.enter_context(LocalServer("any")).url
        data = 0
        for command in commands:
            # One that adds goes on with the directory of the first.
            data = data if "--add" in command else data + 1
            directory = tmp_path / ("1" if "--add" in command else str(data))
            arguments = [f"{argument}={urls[argument]}" if argument in urls else argument for argument in command[2:]]
            arguments = with_ids(arguments, command, local)
            run = subprocess.run(
                [str(COMMAND), "init", "--data", str(directory), *arguments],
                cwd=tmp_path,
                env=environment(**variables),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=60,
            )
            assert run.returncode == 0, (command, run.stderr)
            assert "works; " in run.stderr or "answers; " in run.stderr, run.stderr
            checked = [str(COMMAND), "check", "--strict", str(directory / "gateway.json")]
            subprocess.run(checked, check=True, capture_output=True)


def test_the_other_commands_are_those_of_the_readme() -> None:
    """tests/e2e/guides/test_readme.py runs them."""
    mine, theirs = ([line for block in blocks(page.read_text(encoding="utf-8"), "sh") for line in block.text.splitlines()] for page in (PAGE, ROOT / "README.md"))
    others = [line for line in mine if not line.startswith("trilane init --") and line not in theirs]
    assert others == ["claude", "export OPENAI_API_KEY=… ANTHROPIC_API_KEY=… GEMINI_API_KEY=…"], "the agent, and what the test above sets"


def with_ids(arguments: list[str], command: list[str], local: str) -> list[str]:
    """The arguments with the stand-in's address of a compatible server, and the values of ids as the page has them."""
    ids = {"--key-id", "--group"}
    kept = [given if before in ids else now for before, given, now in zip(["", *command[2:]], command[2:], arguments)]
    return [f"compatible={local}" if argument.startswith("compatible=") else argument for argument in kept]


def test_each_preset_is_on_the_page_and_marked(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    run = subprocess.run([str(COMMAND), "init", "--vendor", "nobody"], capture_output=True, text=True, cwd=tmp_path)
    [listed] = [line.partition("expected one of ")[2] for line in run.stderr.splitlines() if "expected one of" in line]
    for name in listed.partition(".")[0].split(", "):
        [section] = [part for part in text.split("\n### ") if f"`--vendor {name}`" in part or f"--vendor {name}=http://127" in part]
        assert "Not tried against" in section, name
