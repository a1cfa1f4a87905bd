"""The document of tests with an agent."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e.up.running import Up


@pytest.fixture(name="document")
def document_fixture(tmp_path: Path) -> Path:
    """The document of a demonstration, whose accounts are its simulators, and its credentials."""
    with Up(tmp_path / "sample", "--demo"):
        pass
    return tmp_path / "sample" / "gateway.json"
