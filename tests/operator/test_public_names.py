"""The list of public names is what the code has, so that no change of one goes unseen.

A change that is meant: `TRILANE_WRITE_NAMES=1 make operator-test`, and the commit's message names it.
"""

from __future__ import annotations

import os
from pathlib import Path

from gateway_metrics import ROOT
from public_names import LIST, listed, public_names

PROGRAM = Path(os.environ.get("TRILANE_PROGRAMS", ROOT / "target" / "debug")) / "trilane"


def test_the_list_is_that_of_the_code() -> None:
    text = listed(PROGRAM)
    if os.environ.get("TRILANE_WRITE_NAMES"):
        LIST.write_text(text, encoding="utf-8")
    now, before = set(text.splitlines()), set(LIST.read_text(encoding="utf-8").splitlines())
    assert not now ^ before, f"new: {sorted(now - before)}; gone: {sorted(before - now)}"


def test_each_kind_is_found() -> None:
    """The list is worth something: it has what is known to be there."""
    names = public_names(PROGRAM)
    for kind, name in {
        "document": "group.passes",
        "ledger": "trilane.usage.doubt",
        "error": "model_not_priced",
        "header": "x-trilane-error",
        "metric": "trilane_console_envoy_approved",
        "route": "POST /api/v1/keys",
        "environment": "TRILANE_DATABASE",
        "command": "trilane console approve",
    }.items():
        assert name in names[kind], f"{kind} {name}: {names[kind]}"
