"""What a request for a model looks like, for every endpoint: drawn at random, and right in every way."""

from __future__ import annotations

import dataclasses
import gzip
import json
import random
import zlib
from typing import Any, Optional

from .documents import A_MODELS, B_MODELS, C_MODELS, KEYS, MIXED, SOURCES
from .limits import TIGHT_GROUPS, TIGHT_KEYS

BOUNDARY = "soak-boundary-0123456789"
JSON = ("content-type", "application/json")
#: The share of requests whose key may be refused by limits.
TIGHT = 0.08


@dataclasses.dataclass
class Plan:
    """One request, and what is to become of it."""

    marker: str
    ending: str
    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes
    #: The name of the key; empty where there is none.
    key: str = ""
    group: str = ""
    protocol: str = ""
    endpoint: str = ""
    #: The canonical model, where one is called.
    model: str = ""
    #: The form of the answer, as the meter reads it; empty where there is nothing to meter.
    form: str = ""
    stream: bool = False
    #: The answer comes in events (or array elements), each of which counts whole or not at all.
    events: bool = False
    #: Whether the answer tells usage; `None` where it is left to the journal.
    told: Optional[bool] = None
    #: What the client does: `request` and how much of the body it sends first, `wait` and for how many seconds, `body`
    #: and how many bytes of the answer it reads, `mark` and what it waits for. Empty: it reads to the end.
    leaves: str = ""
    leaves_at: Any = None
    #: It leaves by RST, where that cannot overtake what it has sent (HTTP/1).
    resets: bool = False
    #: The body's size as the gateway counts it.
    inflated: int = 0
    #: Which of the ways to end so.
    detail: str = ""

    def sends_all(self) -> bool:
        """Whether a client that leaves in its request has sent all that it asks: the rest says nothing more."""
        sent = self.body[: self.leaves_at]
        if sent[:2] == b"\x1f\x8b":
            return len(zlib.decompressobj(31).decompress(sent)) == self.inflated
        return sent.endswith(f"--{BOUNDARY}--".encode()) or sent.endswith(f"--{BOUNDARY}--\r".encode())


class Shapes:
    """Draws requests. The same seed and name always draw the same ones."""

    def __init__(self, seed: int, name: str) -> None:
        self._random = random.Random(f"{seed}/{name}")

    def _request(self, marker: str, ending: str) -> Plan:
        protocol = self._random.choice("AABBCC")
        groups = [name for name, source in SOURCES.items() if source.protocol == protocol]
        key = group = self._random.choice([*groups, *groups, *(name for name in MIXED if name not in TIGHT_GROUPS)])
        if self._random.random() < TIGHT:
            key = self._random.choice(list(TIGHT_KEYS))
            group = TIGHT_KEYS[key].group
        plan = Plan(marker, ending, "POST", "", self._credential(protocol, KEYS[key]), b"", key, group, protocol)
        plan.headers.append(("x-sim-marker", marker))
        getattr(self, "_shape_" + protocol.lower())(plan)
        return plan

    def _credential(self, protocol: str, key: str) -> list[tuple[str, str]]:
        if protocol == "A":
            return [("authorization", f"Bearer {key}")]
        if protocol == "B":
            return [("x-api-key", key), ("anthropic-version", "2023-06-01")]
        return [("x-goog-api-key", key)]

    def _text(self) -> str:
        # Either so short that the journal keeps it, or so long that it does not.
        draw = self._random
        return "word " * (draw.randint(16_000, 24_000) if draw.random() < 0.02 else draw.randint(1, 200))

    def _json(self, plan: Plan, members: dict[str, Any]) -> None:
        pairs = list(members.items())
        if self._random.random() < 0.5:
            pairs.reverse()
        plan.body = json.dumps(dict(pairs)).encode()
        plan.headers.append(JSON)
        packed = gzip.compress(plan.body, 1) if self._random.random() < 0.04 else b""
        # The gateway takes no body that inflates more than 50-fold.
        if len(packed) * 20 > len(plan.body):
            plan.inflated, plan.body = len(plan.body), packed
            plan.headers.append(("content-encoding", "gzip"))

    def _shape_a(self, plan: Plan) -> None:
        draw = self._random
        kind = draw.choice(("chat", "chat", "responses", "images") if plan.group in SOURCES else ("chat", "responses"))
        plan.form, plan.stream = kind, draw.random() < 0.6
        plan.events, plan.told = plan.stream, True
        stream = {"stream": True} if plan.stream else {}
        if kind == "images":
            self._images(plan, stream)
            return
        plan.model = draw.choice(A_MODELS[:3])
        spelled = plan.model
        if kind == "responses":
            plan.path, plan.endpoint = draw.choice(("/v1/responses", "/responses")), "responses"
            self._json(plan, {"model": spelled, **stream, "input": self._text()})
            return
        plan.path, plan.endpoint = draw.choice(("/v1/chat/completions", "/chat/completions")), "chat_completions"
        asks = plan.group in ("a-asks", "mixed-one")
        if plan.stream and draw.random() < 0.4:
            stream["stream_options"] = {"include_usage": True}
            asks = True
        plan.told = asks or not plan.stream
        self._json(plan, {"model": spelled, **stream, "messages": [{"role": "user", "content": self._text()}]})

    def _images(self, plan: Plan, stream: dict[str, Any]) -> None:
        draw = self._random
        plan.model = "gpt-image-1"
        count = {} if plan.stream else {"n": draw.randint(1, 3)}
        if draw.random() < 0.5:
            plan.path, plan.endpoint = "/v1/images/generations", "images_generations"
            self._json(plan, {"model": plan.model, "prompt": "a cat", **count, **stream})
            return
        plan.path, plan.endpoint = "/v1/images/edits", "images_edits"
        fields = {"model": plan.model, "prompt": "a hat", **({"stream": "true"} if plan.stream else {}), **count}
        parts = [f'content-disposition: form-data; name="{name}"\r\n\r\n{value}' for name, value in fields.items()]
        parts.append(
            'content-disposition: form-data; name="image"; filename="a.png"\r\ncontent-type: image/png\r\n\r\nPNG '
            + "x" * draw.randint(1, 2000)
        )
        plan.body = "".join(f"--{BOUNDARY}\r\n{part}\r\n" for part in parts).encode() + f"--{BOUNDARY}--\r\n".encode()
        plan.headers.append(("content-type", f"multipart/form-data; boundary={BOUNDARY}"))

    def _shape_b(self, plan: Plan) -> None:
        draw = self._random
        plan.path, plan.endpoint, plan.form = "/v1/messages", "messages", "messages"
        plan.stream = plan.events = draw.random() < 0.6
        plan.model, plan.told = draw.choice(B_MODELS), True
        spelled = draw.choice((plan.model, plan.model, f"{plan.model}-20251101", f"{plan.model}-thinking"))
        stream = {"stream": True} if plan.stream else {}
        messages = [{"role": "user", "content": self._text()}]
        self._json(plan, {"model": spelled, "max_tokens": 64, **stream, "messages": messages})

    def _shape_c(self, plan: Plan) -> None:
        draw = self._random
        plan.model, plan.told = draw.choice(C_MODELS), True
        plan.endpoint = draw.choice((*["generateContent"] * 3, *["streamGenerateContent"] * 5, "embedContent"))
        query = ""
        plan.form = "generate"
        content = {"parts": [{"text": self._text()}]}
        body: dict[str, Any] = {"contents": [{"role": "user", **content}]}
        if plan.endpoint == "streamGenerateContent":
            plan.stream = plan.events = True
            query = draw.choice(("", "?alt=sse", "?alt=sse"))
        elif plan.endpoint == "embedContent":
            plan.form, body = "embed", {"content": content}
        plan.path = f"/v1beta/models/{plan.model}:{plan.endpoint}{query}"
        self._json(plan, body)
