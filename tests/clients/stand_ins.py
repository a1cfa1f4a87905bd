"""What stands in for npm and pip while a page runs: nothing is installed then, but what is there is looked at.

`make clients-test` has installed what `package.json` and the requirements name, and `tests/operator/test_client_versions.py` sees that the
pages say so. A page that asks for anything else fails, and so does one that names another version; what it asks for is put where npm and
pip would have put it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

#: Packages of Python with an environment of their own, and the program there that a page runs. What a page installs
#: together with one of them is in the same environment.
ENVIRONMENTS = {
    "aider-chat": ("venv-aider", "aider"),
    "llm": ("venv-llm", "llm"),
    "langchain-openai": ("venv-langchain", "python"),
    "pydantic-ai-slim": ("venv-pydantic-ai", "python"),
    "openai-agents": ("venv-openai-agents", "python"),
    "google-adk": ("venv-google-adk", "python"),
    "litellm": ("venv-litellm", "python"),
    "llama-index-llms-openai": ("venv-llama-index", "python"),
}


def main(program: str, installed: Path, bin_dir: Path, arguments: list[str]) -> None:
    """One call of npm or pip."""
    if arguments[:1] != ["install"]:
        sys.exit(f"{program}: only `install` is known here, not {arguments}")
    packages = [each for each in arguments[1:] if not each.startswith("-")]
    if program == "pip":
        pip_install(installed, bin_dir, packages)
        return
    for package in packages:
        npm_install(installed, bin_dir, package, everywhere="--global" in arguments)


def npm_install(installed: Path, bin_dir: Path, package: str, everywhere: bool) -> None:
    """A program for every folder, or a package for this one."""
    name, version = named(package, "@")
    home = installed / "node_modules" / name
    there = json.loads((home / "package.json").read_text(encoding="utf-8"))
    _compare("npm", name, version, there["version"])
    if not everywhere:
        _link(Path("node_modules"), installed / "node_modules")
        return
    commands = there["bin"]
    for command, path in commands.items() if isinstance(commands, dict) else [(name.split("/")[-1], commands)]:
        _link(bin_dir / command, home / path)


def pip_install(installed: Path, bin_dir: Path, packages: list[str]) -> None:
    """Links the Python that has the packages, or the program that one of them is."""
    asked = dict(named(package, "==") for package in packages)
    venv, command = next((ENVIRONMENTS[name] for name in asked if name in ENVIRONMENTS), ("venv", "python"))
    python = installed / venv / "bin" / "python"
    for name, version in asked.items():
        script = f"import importlib.metadata as m; print(m.version({name!r}))"
        there = subprocess.run([str(python), "-c", script], capture_output=True, text=True, check=True)
        _compare("pip", name, version, there.stdout.strip())
    # A script, since a linked interpreter would not find its environment.
    (bin_dir / command).write_text(f'#!/bin/sh\nexec "{installed / venv / "bin" / command}" "$@"\n')
    (bin_dir / command).chmod(0o755)


def named(package: str, sign: str) -> tuple[str, str]:
    """The name of a package, and the version that is asked for, if one is: `@scope/name@1.2.3`, `name[extra]==1.2.3`."""
    place = package.find(sign, 1)
    name, version = (package[:place], package[place + len(sign) :]) if place > 0 else (package, "")
    return name.partition("[")[0], version


def _compare(program: str, name: str, asked: str, there: str) -> None:
    if asked and asked != there:
        sys.exit(f"{program}: the page asks for {name} {asked!r}, {there} is installed and tested")


def _link(place: Path, target: Path) -> None:
    if not place.exists():
        os.symlink(target, place)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
