"""What the name of a release's directory tells."""

from __future__ import annotations

from pathlib import Path


def version_of(release: Path) -> str:
    """Its version."""
    return release.name.removeprefix("trilane-")
