"""Listeners that Envoy takes from a file (LDS), so that they can be changed while requests are under way."""

from __future__ import annotations

import json
from pathlib import Path

from e2e.loading.variants import Edit
from e2e.vitals import stats
from stack import Stack
from waiting import until

#: Where the listeners that clients come to begin in the configuration, and the first that they do not.
_FIRST, _AFTER = "    - name: gateway\n", "    # The way to one of several accounts of a source."
_TYPE = '      "@type": type.googleapis.com/envoy.config.listener.v3.Listener\n'
_DYNAMIC = "dynamic_resources:\n"
#: What Envoy has put in force, and what it goes on with for those who came before.
_DRAINING = r"^listener_manager\.(total_listeners_draining|total_filter_chains_draining)$"
_WARMING = r"^listener_manager\.total_listeners_warming$"


class ListenerFile:
    """The file with the listeners `gateway` and `gateway_tls`; `edit` moves them there out of the configuration."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._text = ""

    def edit(self, text: str) -> str:
        start, end = text.index(_FIRST), text.index(_AFTER)
        listeners = text[start:end]
        for name in ("gateway", "gateway_tls"):
            line = f"    - name: {name}\n"
            assert listeners.count(line) == 1, f"{name} stands {listeners.count(line)} times among the listeners"
            listeners = listeners.replace(line, line + _TYPE)
        self._put("resources:\n" + listeners)
        source = {"path": str(self._file), "watched_directory": {"path": str(self._file.parent)}}
        told = f"  lds_config: {json.dumps({'path_config_source': source})}\n"
        return (text[:start] + text[end:]).replace(_DYNAMIC, _DYNAMIC + told)

    def exchange(self, stack: Stack, edit: Edit) -> None:
        """Changes the listeners, and returns when new connections come to the new ones while the old ones drain."""
        before = sum(stats(stack, _DRAINING).values())
        changed = edit(self._text)
        assert changed != self._text, f"{edit} changes nothing"
        self._put(changed)

        def taken_over() -> bool:
            draining, warming = stats(stack, _DRAINING), stats(stack, _WARMING)
            return sum(draining.values()) > before and not any(warming.values())

        until(taken_over, check=stack.check)

    def _put(self, text: str) -> None:
        self._text = text
        self._file.parent.mkdir(parents=True, exist_ok=True)
        part = self._file.with_suffix(".part")
        part.write_text(text)
        part.replace(self._file)
