"""What a record may say of usage that nobody reported: docs/estimates.md, computed here from what was sent and seen."""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping
from typing import Any

from .seen import Seen
from .shapes import Plan

BYTES_PER_TOKEN = 4
TOKENS_PER_SECOND = 100
#: Tokens that a request without a cap reserves.
UNCAPPED = 1000
#: Tokens of a picture of which the request says nothing, and of a partial one. The requests ask for three at most.
PICTURE, PARTIAL, PICTURES = 4160, 100, 3
#: A partial picture of the simulator is longer than so many bytes.
PARTIAL_BYTES = 200
_ESCAPE = re.compile(rb"\\u[0-9a-fA-F]{4}")


def text_tokens(size: int) -> int:
    """Tokens of so many bytes of text."""
    return -(-size // BYTES_PER_TOKEN)


def added(line: Mapping[str, Any]) -> tuple[int, int]:
    """How many of a record's tokens are estimated, input and output."""
    return line.get("trilane.estimated.input_tokens", 0), line.get("trilane.estimated.output_tokens", 0)


def reported(usage: Mapping[str, int], line: Mapping[str, Any]) -> dict[str, int]:
    """The record's usage without what is estimated."""
    read, written = added(line)
    # Silence of a model that reasons.
    silence = min(written, usage["reasoning"]) if _may_be_silence(line) else 0
    return {
        **usage,
        "input": usage["input"] - read,
        "output": usage["output"] - (written - silence),
        "reasoning": usage["reasoning"] - silence,
        "images": usage["images"] - line.get("trilane.estimated.images", 0),
    }


def _may_be_silence(line: Mapping[str, Any]) -> bool:
    """Whether silence counts as reasoning: the client left a stream, whose model reasons."""
    return line["trilane.outcome"] == "client_abort" and line.get("gen_ai.request.model", "").endswith("-thinking")


def wrong_estimates(plan: Plan, seen: Seen, usage: Mapping[str, int], line: Mapping[str, Any]) -> list[str]:
    """What is wrong with the estimates of a record."""
    read, written = added(line)
    if line["trilane.usage.status"] != "estimated":
        return [f"{read} and {written} tokens are estimated"] if read or written else []
    wrong = []
    all_written = usage["output"] + usage["reasoning"]
    all_read = sum(tokens for kind, tokens in usage.items() if kind not in ("output", "reasoning", "images"))
    body = gzip.decompress(plan.body) if plan.body[:2] == b"\x1f\x8b" else plan.body
    # Parts of a form are another matter.
    if body.startswith(b"{") and line["http.request.body.size"] == len(body):
        size = text_tokens(len(body) - 3 * len(_ESCAPE.findall(body)))
        least = all_read - read
        if all_read != max(size, least):
            wrong.append(f"{all_read} input tokens instead of {size} estimated and {least} reported")
    if written:
        passed = text_tokens(line["http.response.body.size"])
        # The clock of the client begins later and ends earlier, and another second is for a machine that stands still.
        waited = int((line["duration_ms"] / 1000 + 1) * TOKENS_PER_SECOND)
        most = passed if plan.stream else max(passed, min(waited, UNCAPPED))
        if plan.form == "images":
            most = PICTURES * PICTURE + line["http.response.body.size"] // PARTIAL_BYTES * PARTIAL
        elif _may_be_silence(line):
            most += waited
        if all_written > most:
            wrong.append(f"{all_written} output tokens, but {passed} passed")
    return wrong
