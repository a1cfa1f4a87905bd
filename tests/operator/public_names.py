"""The names that people and programs rely on, read from the code: what document, ledger, answers, API and command promise."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from console_metrics import AGENT_METRICS, CONSOLE_METRICS
from gateway_metrics import FEED_METRICS, LEDGER_METRICS, METRICS, ROOT, SPEND_METRICS

LIST = Path(__file__).resolve().with_name("public_names.txt")


def _sources(*places: str) -> Iterator[str]:
    for place in places:
        for path in sorted((ROOT / place).rglob("*.rs")):
            if "tests" not in path.parts and path.name != "tests.rs":
                # Unit tests stand at the end of a file.
                yield path.read_text(encoding="utf-8").split("#[cfg(test)]\nmod tests {")[0]


def _document() -> Iterator[str]:
    """The members of the document's objects."""
    text = (ROOT / "src/config/document.rs").read_text(encoding="utf-8")
    objects = text[text.index("\nobjects! {") :]
    for name, members in re.findall(r"^    (\w+)Document \{\n(.*?)^    \}", f"{objects}", re.M | re.S):
        for member in re.findall(r"^        (?:r#)?(\w+): ", members, re.M):
            yield f"{name.lower()}.{member}"
    (root,) = re.findall(r"^    Document \{\n(.*?)^    \}", objects, re.M | re.S)
    yield from re.findall(r"^        (\w+): ", root, re.M)


def _commands(program: Path, *path: str) -> Iterator[str]:
    """The arguments of a command, and those of the commands below it."""
    asked = subprocess.run([program, *path, "--help"], capture_output=True, text=True, check=True, timeout=60)
    name = " ".join(("trilane", *path))
    yield name
    for option in re.findall(r"^ +(?:-\w, )?(--[\w-]+|<[A-Z_]+>|\[[A-Z_]+\])", asked.stdout, re.M):
        if option not in ("--help", "--version"):
            yield f"{name} {option}"
    below = asked.stdout.partition("\nCommands:\n")[2].partition("\n\n")[0]
    for command in re.findall(r"^  ([a-z-]+) ", below, re.M):
        if command != "help":
            yield from _commands(program, *path, command)


def public_names(program: Path) -> dict[str, list[str]]:
    """Every name, by its kind. `program`: the command."""
    everything = "\n".join(_sources("src", "control/src", "console/src"))
    rejection = (ROOT / "src/reply/rejection.rs").read_text(encoding="utf-8")
    codes = rejection[rejection.index("pub fn code(") : rejection.index("fn param(")]
    routes = re.findall(r"#\[utoipa::path\((\w+),.*?\bpath = \"([^\"]+)\"", everything, re.S)
    kinds = {
        "document": _document(),
        "ledger": re.findall(r'name!\("([\w.]+)"\)', "\n".join(_sources("src/ledger"))),
        "error": re.findall(r'"(\w+)"', codes),
        "header": re.findall(r'"(x-trilane-[a-z-]*[a-z])"', everything),
        "metric": [*METRICS, *FEED_METRICS, *SPEND_METRICS, *LEDGER_METRICS, *CONSOLE_METRICS, *AGENT_METRICS],
        "route": [f"{method.upper()} {path}" for method, path in routes],
        "environment": re.findall(r'"(TRILANE_[A-Z_]+)"', everything),
        "command": _commands(program),
    }
    return {kind: sorted(set(names)) for kind, names in kinds.items()}


def listed(program: Path) -> str:
    """The list as a text: one name in a line, behind its kind."""
    return "".join(f"{kind} {name}\n" for kind, names in public_names(program).items() for name in names)
