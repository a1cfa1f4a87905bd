"""The soak (`make soak`) in its short form. It runs in a process of its own, with a stack of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from e2e.support import run_dir

SOAK = Path("tests/soak/soak.py")
#: Long enough for three documents and a stalled source or two.
SECONDS = 9
#: The same requests each time, so that a failure concerns the change at hand. `make soak` draws new ones.
SEED = 1


def test_every_ending_at_load_leaves_books_that_balance() -> None:
    given = ["--seconds", str(SECONDS), "--seed", str(SEED), "--run-dir", str(run_dir("soak"))]
    done = subprocess.run([sys.executable, str(SOAK), *given], capture_output=True, text=True, timeout=120)
    # What differs first: a report of many lines may be cut.
    said = f"{done.stderr}\n{done.stdout}"
    assert done.returncode == 0, said
    assert "The books balance." in done.stdout, said
