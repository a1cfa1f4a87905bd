"""The answers in `tests/fixtures/responses`: how to ask for each, and what the ledger must say of it.

What must come out of each body stands in the manifest beside them, `expect`. What must come out of its end (whole,
or broken off) is said here.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, Mapping, Optional

FIXTURES = Path("tests/fixtures/responses")

#: The models of `usage_document.py`.
TEXT_MODELS = {"A": "gpt-5.1", "B": "claude-sonnet-5-5", "C": "gemini-2.5-flash"}
IMAGE_MODEL = "gpt-image-1"

#: Streams with an error before anything was written.
NOTHING_MADE = ("responses-stream-failed.sse", "messages-stream-error.sse", "responses-stream-error-event.sse")

#: Parts of `expect`, and the ledger's names for them; what is zero is left out of a line.
NAMES = {
    "input_total": "gen_ai.usage.input_tokens",
    "output": "gen_ai.usage.output_tokens",
    "cache_read": "gen_ai.usage.cache_read.input_tokens",
    "cache_write": "gen_ai.usage.cache_creation.input_tokens",
    "cache_write_1h": "trilane.usage.cache_creation_1h.input_tokens",
    "tool_use_prompt": "trilane.usage.tool_use.input_tokens",
    "reasoning": "gen_ai.usage.reasoning.output_tokens",
    "images": "trilane.usage.images",
}


@dataclasses.dataclass(frozen=True)
class Fixture:
    """One answer of an upstream."""

    name: str
    protocol: str
    #: The number of its endpoint in the manifest; `err` for errors, `x` for token counts.
    endpoint: str
    status: int
    content_type: str
    headers: Mapping[str, str]
    #: Empty where the body is no answer of a model.
    expect: Mapping[str, Any]
    body: bytes

    @property
    def is_stream(self) -> bool:
        return self.name.endswith(".sse")

    @property
    def is_counted(self) -> bool:
        """Whether it answers an order that uses tokens."""
        return bool(self.expect) and self.expect.get("billable", True) and self.name not in NOTHING_MADE

    @property
    def lacks_its_end(self) -> bool:
        """It ends before its protocol says that it has, without an error."""
        return not self.expect.get("complete") and not self.expect.get("error")

    def request(self) -> tuple[str, dict[str, str], bytes]:
        """Path, headers and body that ask for it, without the key."""
        model = TEXT_MODELS[self.protocol]
        json_type = {"content-type": "application/json"}
        turn = {"model": model, "messages": [{"role": "user", "content": "ping"}], "stream": self.is_stream}
        if self.protocol == "C":
            method = "generateContent" if self.endpoint != "x" else "countTokens"
            method = "streamGenerateContent?alt=sse" if self.is_stream else method
            asked: dict[str, Any] = {"contents": [{"parts": [{"text": "ping"}]}]}
            return f"/v1beta/models/{model}:{method}", json_type, json.dumps(asked).encode()
        if self.protocol == "B":
            version = {"anthropic-version": "2023-06-01", **json_type}
            return "/v1/messages", version, json.dumps({**turn, "max_tokens": 64}).encode()
        if self.endpoint == "3":
            asked = {"model": model, "input": "ping", "stream": self.is_stream}
            return "/v1/responses", json_type, json.dumps(asked).encode()
        if self.endpoint in ("7", "8"):
            path = "/v1/images/generations" if self.endpoint == "7" else "/v1/images/edits"
            asked = {"model": IMAGE_MODEL, "prompt": "a dot", "stream": self.is_stream}
            return path, json_type, json.dumps(asked).encode()
        return "/v1/chat/completions", json_type, json.dumps(turn).encode()

    def usage_members(self) -> dict[str, Any]:
        """The line's members about usage, absent ones as `None`."""
        expect = {} if self.name in NOTHING_MADE else self.expect
        parts = {name: expect.get(part) or None for part, name in NAMES.items()}
        if expect and self.is_counted and expect.get("usage", expect) is not None:
            # The two totals stand there even where they are zero.
            parts["gen_ai.usage.input_tokens"] = self.expect["input_total"]
            parts["gen_ai.usage.output_tokens"] = self.expect["output"]
        return parts

    def ending_members(self, end: str) -> dict[str, Any]:
        """The line's members about the ending; `end` is how the upstream ended it, as in `replaying.py`."""
        ended = end == "end"
        if self.status == 401:
            return _ending("upstream_failed", "failed", "bad_gateway", replaced=401)
        if self.status == 403:
            return _ending("upstream_failed", "failed", "model_not_entitled", replaced=403)
        if self.status >= 400:
            # An upstream that says that it failed has made nothing, whether or not its words came whole.
            outcome = "upstream_error" if ended else "upstream_reset"
            return _ending(outcome, "failed", _error_type(self))
        if not self.expect.get("billable", True):
            return _ending("finished" if ended else "upstream_reset", "none")
        if self.expect.get("complete"):
            # Its protocol's end came: what HTTP does afterwards changes nothing.
            return _ending("finished", "complete")
        if not self.expect:
            # Nor after a whole JSON document, though this one reports nothing.
            return _ending("finished", "partial")
        # An error in the place of an answer.
        status = "failed" if self.name in NOTHING_MADE else "partial"
        if not ended:
            return _ending("upstream_reset", status, self.expect.get("error"))
        if self.expect.get("error"):
            return _ending("error_event", status, self.expect["error"])
        return _ending("truncated", "partial")

    def uncached(self, line: Mapping[str, Any]) -> int:
        """The line's input that was neither read from a cache nor written to one."""
        whole = line["gen_ai.usage.input_tokens"]
        return int(whole - line.get(NAMES["cache_read"], 0) - line.get(NAMES["cache_write"], 0))


def _ending(outcome: str, status: str, error: Optional[str] = None, replaced: Optional[int] = None) -> dict[str, Any]:
    return {
        "trilane.outcome": outcome,
        "trilane.usage.status": status,
        "error.type": error,
        "trilane.upstream_status": replaced,
    }


def _error_type(fixture: Fixture) -> str:
    inner = json.loads(fixture.body)["error"]
    return str(inner["status"] if fixture.protocol == "C" else inner["type"])


def _load() -> list[Fixture]:
    made = []
    for entry in json.loads((FIXTURES / "manifest.json").read_text(encoding="utf-8")):
        made.append(
            Fixture(
                name=entry["file"],
                # One list of models serves two protocols.
                protocol=entry["proto"][0],
                endpoint=str(entry["endpoint"]),
                status=entry["status"],
                content_type=entry["ct"],
                headers=entry["headers"],
                expect=entry["expect"] or {},
                body=(FIXTURES / entry["file"]).read_bytes(),
            )
        )
    return made


#: All of them, by name.
ALL = {fixture.name: fixture for fixture in _load()}
ERRORS = [fixture for fixture in ALL.values() if fixture.endpoint == "err"]
#: What an SDK reads as the answer to a call of its own; a list of models is the gateway's to answer.
ANSWERS = [fixture for fixture in ALL.values() if fixture.endpoint not in ("err", "1", "2")]
