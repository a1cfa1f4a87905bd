"""What the rows of the request table are made of: credentials, bodies, and rows that must pass or be refused."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Optional

from e2e.request_table.documents import KEYS
from e2e.request_table.table import Body, Case, Forwarded, Headers, Listed, Refused


def bearer(key: str) -> Headers:
    """Protocol A's credential, by key id."""
    return (("authorization", f"Bearer {KEYS[key]}"),)


def x_api_key(key: str) -> Headers:
    """Protocol B's credential and version."""
    return (("x-api-key", KEYS[key]), *VERSION)


def goog(key: str) -> Headers:
    """Protocol C's credential under its vendor's name."""
    return (("x-goog-api-key", KEYS[key]),)


def vc(key: str) -> Headers:
    """Protocol C's credential under its neutral name."""
    return (("x-vc-api-key", KEYS[key]),)


VERSION: Headers = (("anthropic-version", "2023-06-01"),)


def compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def chat(model: Any = "gpt-5.1", **more: Any) -> bytes:
    return compact({"model": model, "messages": [{"role": "user", "content": "Hello"}], **more})


def responses(model: Any = "gpt-5.1", **more: Any) -> bytes:
    return compact({"model": model, "input": "Hello", **more})


def image(model: Any = "gpt-image-1") -> bytes:
    return compact({"model": model, "prompt": "a lane"})


def messages(model: Any = "claude-opus-5-5", **more: Any) -> bytes:
    return compact({"model": model, "max_tokens": 64, "messages": [{"role": "user", "content": "Hello"}], **more})


def count(model: Any = "claude-opus-5-5") -> bytes:
    return compact({"model": model, "messages": [{"role": "user", "content": "Hello"}]})


def contents(**more: Any) -> bytes:
    return compact({"contents": [{"role": "user", "parts": [{"text": "Hello"}]}], **more})


def form(model: Optional[str] = "gpt-image-1", *, last: bool = False) -> tuple[Headers, bytes]:
    """An images edit as the SDKs send it: `model` first or last. Gives the content type too."""
    name = b'--xyz\r\nContent-Disposition: form-data; name="model"\r\n\r\n'
    part = b"" if model is None else name + model.encode() + b"\r\n"
    rest = (
        b'--xyz\r\nContent-Disposition: form-data; name="prompt"\r\n\r\nx\r\n'
        b'--xyz\r\nContent-Disposition: form-data; name="image"; filename="a.png"\r\n'
        b"Content-Type: image/png\r\n\r\n\x89PNG\x00\xff model \r\n"
    )
    body = (rest + part if last else part + rest) + b"--xyz--\r\n"
    return (("content-type", "multipart/form-data; boundary=xyz"),), body


JSON: Headers = (("content-type", "application/json"),)


def ok(
    name: str, target: str, headers: Headers, body: Body, listener: str, /, *, method: str = "POST", **expect: Any
) -> Case:
    """A row whose request must arrive upstream; `upstream` names its target there if that is another."""
    expect["target"] = expect.pop("upstream", None)
    return Case(name, method, target, headers, body, Forwarded(listener, **expect))


def no(
    name: str,
    target: str,
    headers: Headers,
    body: Body,
    status: int,
    shape: str,
    code: str,
    says: str = "",
    *,
    method: str = "POST",
    **expect: Any,
) -> Case:
    """A row whose request the gateway must refuse."""
    return Case(name, method, target, headers, body, Refused(status, shape, code, says, **expect))


def listed(name: str, target: str, headers: Headers, shape: str, ids: Iterable[str]) -> Case:
    """A row that asks for a list or for one model."""
    return Case(name, "GET", target, headers, None, Listed(shape, tuple(ids)))
