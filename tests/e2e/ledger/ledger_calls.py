"""The calls that make something, and what their records must say, computed apart from the gateway."""

from __future__ import annotations

import dataclasses
import decimal
import re
from decimal import Decimal
from typing import Any, Optional

from e2e.ledger.ledger_desk import Sent
from e2e.ledger.ledger_document import GROUPS
from e2e.ledger_reader import Record

decimal.getcontext().prec = 100

BOUNDARY = "ledger-boundary"
FORM_TYPE = f"multipart/form-data; boundary={BOUNDARY}"

Kinds = dict[str, int]


@dataclasses.dataclass(frozen=True)
class Call:
    """A call, in the form in which its answer tells usage."""

    form: str
    path: str
    endpoint: str
    body: dict[str, Any]
    #: The model: as the client writes it, canonical, and as it goes upstream.
    model: tuple[str, str, str]
    stream: bool = False
    multipart: bool = False
    operation: str = "chat"
    finish: Optional[str] = None

    @property
    def protocol(self) -> str:
        return {"chat": "A", "responses": "A", "images": "A", "messages": "B"}.get(self.form, "C")

    def body_bytes(self) -> Any:
        return multipart(self.body) if self.multipart else self.body

    @property
    def content_type(self) -> str:
        return FORM_TYPE if self.multipart else "application/json"

    def named(self, requested: str, model: str, upstream: str) -> Call:
        """The same call of another model."""
        body = {**self.body, "model": requested} if "model" in self.body else self.body
        path = self.path.replace(self.model[0], requested)
        return dataclasses.replace(self, body=body, path=path, model=(requested, model, upstream))


def multipart(fields: dict[str, Any]) -> bytes:
    parts = [
        f'--{BOUNDARY}\r\ncontent-disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    ]
    picture = (
        f'--{BOUNDARY}\r\ncontent-disposition: form-data; name="image"; filename="a.png"\r\n'
        "content-type: image/png\r\n\r\n\x89PNG\r\n"
    )
    return ("".join(parts) + picture).encode("latin-1") + f"--{BOUNDARY}--\r\n".encode()


GPT = ("gpt-5.1",) * 3
IMAGE = ("gpt-image-1",) * 3
OPUS = ("claude-opus-4-5", "claude-opus-4-5", "claude-opus-4-5-20251101")
FLASH = ("gemini-2.5-flash",) * 3
EMBEDDING = ("gemini-embedding-001",) * 3

_responses = {"model": GPT[0], "input": "hi"}
_chat = {"model": GPT[0], "messages": [{"role": "user", "content": "hi"}]}
_asking = {**_chat, "stream": True, "stream_options": {"include_usage": True}}
_picture = {"model": IMAGE[0], "prompt": "a cat"}
_message = {"model": OPUS[0], "max_tokens": 9, "messages": []}
_images: dict[str, Any] = {"operation": "image_generation"}
_generate: dict[str, Any] = {"operation": "generate_content", "finish": "STOP"}
_flash = f"/v1beta/models/{FLASH[0]}"

CALLS: dict[str, Call] = {
    "responses": Call("responses", "/v1/responses", "responses", _responses, GPT, finish="completed"),
    "responses, stream": Call(
        "responses", "/v1/responses", "responses", {**_responses, "stream": True}, GPT, True, finish="completed"
    ),
    "responses, alias": Call("responses", "/responses", "responses", _responses, GPT, finish="completed"),
    "chat": Call("chat", "/v1/chat/completions", "chat_completions", _chat, GPT, finish="stop"),
    "chat, stream": Call("chat", "/v1/chat/completions", "chat_completions", _asking, GPT, True, finish="stop"),
    "chat, alias, stream": Call("chat", "/chat/completions", "chat_completions", _asking, GPT, True, finish="stop"),
    "images": Call("images", "/v1/images/generations", "images_generations", _picture, IMAGE, **_images),
    "images, stream": Call(
        "images", "/v1/images/generations", "images_generations", {**_picture, "stream": True}, IMAGE, True, **_images
    ),
    "edits": Call("images", "/v1/images/edits", "images_edits", _picture, IMAGE, **_images),
    "edits, form": Call("images", "/v1/images/edits", "images_edits", _picture, IMAGE, multipart=True, **_images),
    "edits, stream": Call(
        "images", "/v1/images/edits", "images_edits", {**_picture, "stream": True}, IMAGE, True, **_images
    ),
    "messages": Call("messages", "/v1/messages", "messages", _message, OPUS, finish="end_turn"),
    "messages, stream": Call(
        "messages", "/v1/messages", "messages", {**_message, "stream": True}, OPUS, True, finish="end_turn"
    ),
    "generate": Call(
        "generate", f"{_flash}:generateContent", "generateContent", {"contents": []}, FLASH, **_generate
    ),
    "generate, array": Call(
        "generate",
        f"{_flash}:streamGenerateContent",
        "streamGenerateContent",
        {"contents": []},
        FLASH,
        True,
        **_generate,
    ),
    "generate, stream": Call(
        "generate",
        f"{_flash}:streamGenerateContent?alt=sse",
        "streamGenerateContent",
        {"contents": []},
        FLASH,
        True,
        **_generate,
    ),
    "embed": Call(
        "embed",
        f"/v1beta/models/{EMBEDDING[0]}:embedContent",
        "embedContent",
        {"content": {"parts": [{"text": "hi"}]}},
        EMBEDDING,
        operation="embeddings",
    ),
}

#: The kinds that an answer of each form can tell. What it calls otherwise is moved by `told`.
TELLS = {
    "chat": ("input", "cache_read", "cache_write_5m", "output", "reasoning"),
    "responses": ("input", "cache_read", "cache_write_5m", "output", "reasoning"),
    "images": ("input", "input_image", "output_image", "images"),
    "messages": ("input", "cache_read", "cache_write_5m", "cache_write_1h", "output"),
    "generate": ("input", "cache_read", "tool_use", "output", "reasoning"),
    "embed": ("input",),
}


def told(form: str, asked: Kinds) -> Kinds:
    """What an answer of this form tells of the numbers that the simulator was asked to report."""
    kinds = dict(asked)
    if form in ("chat", "responses"):
        kinds["cache_write_5m"] = kinds.get("cache_write_5m", 0) + kinds.pop("cache_write_1h", 0)
    if form == "messages":
        kinds["output"] = kinds.get("output", 0) + kinds.pop("reasoning", 0)
    if form == "images":
        kinds["output_image"] = kinds.pop("output", 0)
    return {kind: kinds[kind] for kind in TELLS[form] if kinds.get(kind)}


def reported(form: str, kinds: Kinds) -> Record:
    """The numbers in the protocol's own words; what is zero is left out."""
    kind = lambda *names: sum(kinds.get(name, 0) for name in names)  # noqa: E731
    read, written = kind("cache_read"), kind("cache_write_5m", "cache_write_1h")
    numbers: Record = {}
    if form in ("chat", "responses"):
        into, out = ("prompt", "completion") if form == "chat" else ("input", "output")
        numbers = {
            f"{into}_tokens": kind("input") + read + written,
            f"{into}_tokens_details.cached_tokens": read,
            f"{into}_tokens_details.cache_write_tokens": written,
            f"{out}_tokens": kind("output", "reasoning"),
            f"{out}_tokens_details.reasoning_tokens": kind("reasoning"),
        }
        numbers["total_tokens"] = numbers[f"{into}_tokens"] + numbers[f"{out}_tokens"]
    elif form == "images":
        numbers = {
            "input_tokens": kind("input", "input_image"),
            "input_tokens_details.text_tokens": kind("input"),
            "input_tokens_details.image_tokens": kind("input_image"),
            "output_tokens": kind("output_image"),
            "output_tokens_details.image_tokens": kind("output_image"),
            "total_tokens": kind("input", "input_image", "output_image"),
        }
    elif form == "messages":
        numbers = {
            "input_tokens": kind("input"),
            "output_tokens": kind("output"),
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
            "cache_creation.ephemeral_5m_input_tokens": kind("cache_write_5m"),
            "cache_creation.ephemeral_1h_input_tokens": kind("cache_write_1h"),
        }
    elif form == "generate":
        numbers = {
            "promptTokenCount": kind("input") + read,
            "cachedContentTokenCount": read,
            "toolUsePromptTokenCount": kind("tool_use"),
            "candidatesTokenCount": kind("output"),
            "thoughtsTokenCount": kind("reasoning"),
            "totalTokenCount": kind("input", "tool_use", "output", "reasoning") + read,
        }
    else:
        numbers = {"promptTokenCount": kind("input")}
    return {name: number for name, number in numbers.items() if number}


def usage_members(kinds: Kinds) -> Record:
    """Totals always, parts where there are any."""
    kind = lambda *names: sum(kinds.get(name, 0) for name in names)  # noqa: E731
    parts = {
        "gen_ai.usage.cache_read.input_tokens": kind("cache_read"),
        "gen_ai.usage.cache_creation.input_tokens": kind("cache_write_5m", "cache_write_1h"),
        "trilane.usage.cache_creation_5m.input_tokens": kind("cache_write_5m"),
        "trilane.usage.cache_creation_1h.input_tokens": kind("cache_write_1h"),
        "trilane.usage.tool_use.input_tokens": kind("tool_use"),
        "trilane.usage.image.input_tokens": kind("input_image"),
        "trilane.usage.audio.input_tokens": kind("input_audio"),
        "gen_ai.usage.reasoning.output_tokens": kind("reasoning"),
        "trilane.usage.audio.output_tokens": kind("output_audio"),
        "trilane.usage.image.output_tokens": kind("output_image"),
        "trilane.usage.images": kind("images"),
    }
    inputs = kind(
        "input", "input_image", "input_audio", "cache_read", "cache_write_5m", "cache_write_1h", "tool_use"
    )
    return {
        "gen_ai.usage.input_tokens": inputs,
        "gen_ai.usage.output_tokens": kind("output", "reasoning", "output_audio", "output_image"),
        **{name: number for name, number in parts.items() if number},
    }


def kinds_of(record: Record) -> Optional[Kinds]:
    """The numbers of a record by kinds that do not overlap; `None` where it has none."""
    if "gen_ai.usage.input_tokens" not in record:
        return None
    kinds = {
        "cache_read": record.get("gen_ai.usage.cache_read.input_tokens", 0),
        "cache_write_5m": record.get("trilane.usage.cache_creation_5m.input_tokens", 0),
        "cache_write_1h": record.get("trilane.usage.cache_creation_1h.input_tokens", 0),
        "tool_use": record.get("trilane.usage.tool_use.input_tokens", 0),
        "input_image": record.get("trilane.usage.image.input_tokens", 0),
        "input_audio": record.get("trilane.usage.audio.input_tokens", 0),
    }
    kinds["input"] = record["gen_ai.usage.input_tokens"] - sum(kinds.values())
    parts = {
        "reasoning": record.get("gen_ai.usage.reasoning.output_tokens", 0),
        "output_audio": record.get("trilane.usage.audio.output_tokens", 0),
        "output_image": record.get("trilane.usage.image.output_tokens", 0),
    }
    kinds |= {**parts, "output": record["gen_ai.usage.output_tokens"] - sum(parts.values())}
    kinds["images"] = record.get("trilane.usage.images", 0)
    assert all(number >= 0 for number in kinds.values()), f"parts exceed their total: {record}"
    return kinds


def route_of(group: str, protocol: str) -> tuple[dict[str, Any], Decimal]:
    """The source group of a request, and its final multiplier."""
    by_id = {entry["id"]: entry for entry in GROUPS}
    own = by_id[group]
    if own["protocol"] != "Mixed":
        return own, Decimal(own["multiplier"])
    entry = own["entries"][ENTRIES[protocol]]
    source = by_id[entry["source"]]
    return source, Decimal(source["multiplier"]) * Decimal(entry["extra_multiplier"])


ENTRIES = {"A": "responses", "B": "vb_messages", "C": "vc_generate_content"}

#: What stands in for a price that a model does not have.
INSTEAD = {
    "cache_read": "input",
    "cache_write_5m": "input",
    "cache_write_1h": "cache_write_5m",
    "tool_use": "input",
    "input_image": "input",
    "input_audio": "input",
    "reasoning": "output",
    "output_audio": "output",
    "output_image": "output",
}


def price(prices: dict[str, str], kind: str) -> Decimal:
    if kind in prices:
        return Decimal(prices[kind])
    return price(prices, INSTEAD[kind]) if kind in INSTEAD else Decimal(0)


def is_charged_as_input(prices: dict[str, str], kind: str) -> bool:
    """Whether cached tokens have no price of their own, and cost what input costs."""
    while kind != "input" and kind not in prices and kind in INSTEAD:
        kind = INSTEAD[kind]
    return kind == "input" and bool(Decimal(prices.get("input", "0")))


def charge(kinds: Kinds, prices: dict[str, str], multiplier: Decimal) -> str:
    """All digits, in plain notation."""
    total = Decimal(0)
    for kind, number in kinds.items():
        one = price(prices, "image") if kind == "images" else price(prices, kind) / Decimal(1_000_000)
        total += number * one
    text = f"{total * multiplier:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def prices_of(source: dict[str, Any], model: str) -> Optional[dict[str, str]]:
    return next(entry.get("prices") for entry in source["models"] if entry["id"] == model)


def asked_members(sent: Sent, call: Call) -> Record:
    """What a record says of a request that was let pass."""
    source, multiplier = route_of(sent.group, call.protocol)
    requested, model, upstream = call.model
    return {
        "http.request.method": "POST",
        "url.path": call.path.partition("?")[0],
        "trilane.endpoint": call.endpoint,
        "trilane.protocol": call.protocol,
        "trilane.key.id": sent.key,
        "trilane.group": sent.group,
        "trilane.source": source["id"],
        "trilane.entry": ENTRIES[call.protocol],
        "trilane.cluster": source["cluster"],
        "trilane.multiplier": str(multiplier.quantize(Decimal("0.0001"), decimal.ROUND_HALF_UP)),
        "gen_ai.operation.name": call.operation,
        "gen_ai.request.model": requested,
        "trilane.model": model,
        "trilane.upstream_model": upstream,
        "trilane.stream": call.stream,
        "http.request.body.size": len(sent.post.body or b""),
    }


def charge_members(sent: Sent, call: Call, kinds: Kinds) -> Record:
    source, multiplier = route_of(sent.group, call.protocol)
    prices = prices_of(source, call.model[1])
    if prices is None:
        return {}
    cached = {"cache_read": ("cache_read",), "cache_write": ("cache_write_5m", "cache_write_1h")}
    gaps = [gap for gap, names in cached.items() if any(kinds.get(kind) and is_charged_as_input(prices, kind) for kind in names)]
    return {
        "trilane.charge": charge(kinds, prices, multiplier),
        "trilane.currency": "EUR",
        **({"trilane.uncovered": gaps} if gaps else {}),
    }


_ID = re.compile(rb'"(?:id|responseId)": ?"((?:chatcmpl-|resp_|msg_)?sim\d+)"')
_TIER = re.compile(rb'"service_tier": ?"(\w+)"')


def answer_members(sent: Sent, call: Call) -> Record:
    """What a record says of an answer that was relayed, read from its body."""
    assert sent.answer
    body = sent.answer.body
    found: Record = {
        "trilane.upstream_request_id": sent.answer.header("x-request-id"),
        "http.response.body.size": len(body),
    }
    if identity := _ID.search(body):
        found["gen_ai.response.id"] = identity[1].decode()
        found["gen_ai.response.model"] = call.model[2]
    if tier := _TIER.search(body):
        found["trilane.service_tier"] = tier[1].decode()
    return found


def complete_members(sent: Sent, call: Call, kinds: Kinds) -> Record:
    """The filter's part of the record of a call that came to its end, but for the time."""
    expected = {
        **asked_members(sent, call),
        **answer_members(sent, call),
        "trilane.outcome": "finished",
        "trilane.usage.status": "complete",
        **usage_members(kinds),
        "trilane.usage.reported": reported(call.form, kinds),
        **charge_members(sent, call, kinds),
    }
    if call.finish:
        expected["gen_ai.response.finish_reasons"] = [call.finish]
    return expected


def without_time(record: Record) -> Record:
    """The filter's part, its one time checked and taken out."""
    found = {name: value for name, value in record.items() if name.count(".") and name != "http.response.status_code"}
    time_us = found.pop("trilane.time_to_first_byte_us", None)
    if found.get("http.response.body.size"):
        assert isinstance(time_us, int) and 0 <= time_us <= record["duration_ms"] * 1000 + 1000, record
    return found
