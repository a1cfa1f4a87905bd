"""Calls of every form in which an answer tells usage, and what each costs here."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Union

BOUNDARY = "ledger-boundary"
#: What the simulator reports.
USAGE = {"usage": "input=1001,output=509"}


@dataclasses.dataclass(frozen=True)
class Call:
    """A call, its group, and the charge of an answer with `USAGE`."""

    group: str
    path: str
    body: Union[dict[str, Any], bytes]
    charge: str
    content_type: str = "application/json"

    @property
    def data(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


def _call(charge: str, group: str, path: str, **body: Any) -> Call:
    return Call(group, path, body, charge)


_FORM = (
    f'--{BOUNDARY}\r\ncontent-disposition: form-data; name="model"\r\n\r\ngpt-image-1\r\n'
    f'--{BOUNDARY}\r\ncontent-disposition: form-data; name="image"; filename="a.png"\r\n'
    f"content-type: image/png\r\n\r\n\x89PNG\r\n--{BOUNDARY}--\r\n"
).encode("latin-1")

_TEXT, _PICTURE, _B, _C = "0.00126825", "0.007273", "0.03546", "0.0011796"
_chat: dict[str, Any] = {"model": "gpt-5.1", "messages": [{"role": "user", "content": "hi"}]}
_message: dict[str, Any] = {"model": "claude-opus-4-5", "max_tokens": 9, "messages": []}
_asking = {"stream": True, "stream_options": {"include_usage": True}}
_flash = "/v1beta/models/gemini-2.5-flash"

CALLS: dict[str, Call] = {
    "responses": _call(_TEXT, "a", "/v1/responses", model="gpt-5.1", input="hi"),
    "responses, stream": _call(_TEXT, "a", "/v1/responses", model="gpt-5.1", input="hi", stream=True),
    "chat": _call(_TEXT, "a", "/v1/chat/completions", **_chat),
    "chat, alias, stream": _call(_TEXT, "a", "/chat/completions", **_chat, **_asking),
    "compact": _call(_TEXT, "a", "/v1/responses/compact", model="gpt-5.1", input="hi"),
    "embeddings": _call("0.00025025", "a", "/v1/embeddings", model="gpt-5.1", input=["hi", "ho"]),
    "images": _call(_PICTURE, "a", "/v1/images/generations", model="gpt-image-1", prompt="a cat"),
    "edits, form": Call("a", "/v1/images/edits", _FORM, _PICTURE, f"multipart/form-data; boundary={BOUNDARY}"),
    "edits, stream": _call(_PICTURE, "a", "/v1/images/edits", model="gpt-image-1", prompt="a cat", stream=True),
    "messages": _call(_B, "b", "/v1/messages", **_message),
    "messages, stream": _call(_B, "b", "/v1/messages", **_message, stream=True),
    "generate": _call(_C, "c", f"{_flash}:generateContent", contents=[]),
    "generate, array": _call(_C, "c", f"{_flash}:streamGenerateContent", contents=[]),
    "generate, stream": _call(_C, "c", f"{_flash}:streamGenerateContent?alt=sse", contents=[]),
    "embed": _call("0.0001126125", "c", "/v1beta/models/gemini-embedding-001:embedContent", content={"parts": [{"text": "hi"}]}),
    "mixed": _call("0.05319", "mixed", "/v1/messages", **_message),
}
