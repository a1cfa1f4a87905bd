"""What the tests of `trilane init` have in common."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from stack import COMMAND

#: The credential of every vendor here.
CREDENTIAL = "sk-of-the-vendor-0000000000000000"
#: Where no upstream is: the simulator is not needed.
NOWHERE = "127.0.0.1:9"


def environment(**more: str) -> dict[str, str]:
    """This one without proxies and credentials of somebody else, and with these variables."""
    foreign = ("_PROXY", "_API_KEY")
    own = {name: value for name, value in os.environ.items() if not name.upper().endswith(foreign)}
    return {**own, **more}


def init(data: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs `trilane init` and looks that it prints no credential."""
    command = [str(COMMAND), "init", "--data", str(data), *arguments]
    run = subprocess.run(
        command, env=environment(**variables), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
    )
    assert CREDENTIAL not in run.stdout + run.stderr
    return run


def credential_file(directory: Path, credential: str = CREDENTIAL) -> str:
    """A file with a vendor's credential."""
    file = directory / "vendor.key"
    file.write_text(f"{credential}\n")
    return str(file)


def key(data: Path, name: str = "first") -> str:
    """The value of a key that was made."""
    return (data / f"{name}.key").read_text().strip()


def trilane(*arguments: str) -> str:
    """What another subcommand prints."""
    run = subprocess.run([str(COMMAND), *arguments], capture_output=True, text=True, check=True, timeout=60)
    return run.stdout


def curl(url: str, body: dict[str, Any], *headers: str) -> dict[str, Any]:
    """A request by curl, and its response."""
    options = [option for header in headers for option in ("-H", header)]
    command = ["curl", "-sS", "--noproxy", "*", "--max-time", "30", *options, "-H", "content-type: application/json"]
    run = subprocess.run([*command, "-d", json.dumps(body), url], capture_output=True, text=True, check=True)
    return json.loads(run.stdout)
