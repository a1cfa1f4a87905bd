"""The tests of the clients' pages find the runner in `envoy/`, and what other tests have."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
for folder in (ROOT / "envoy", ROOT / "tests"):
    sys.path.insert(0, str(folder))
