"""The gateways that hostile requests are sent to."""

from __future__ import annotations

from e2e.shared_stacks import filter_lives, gateway, requests_go_on, stack, stack_by_hand

__all__ = ["filter_lives", "gateway", "requests_go_on", "stack", "stack_by_hand"]
