"""The tests of the manifests find the tests' runner and the helpers of the end-to-end tests."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
for folder in (ROOT / "envoy", ROOT / "tests" / "runner", ROOT / "tests", ROOT / "tests" / "e2e"):
    sys.path.insert(0, str(folder))
