"""The gateway that streams go through."""

from __future__ import annotations

from e2e.shared_stacks import filter_lives, gateway, stack

__all__ = ["filter_lives", "gateway", "stack"]
