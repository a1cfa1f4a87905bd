"""Compressed request bodies: the upstream gets them plain, or, if anything is wrong with them, not whole."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard
from e2e.raw import Header, Http1
from e2e.support import Gateway, never_complete
from e2e.uploading import A, CHAT, START, WIRES, Upload, new_marker, refused
from stack import Stack

MESSAGES = "/v1/messages"
B: tuple[Header, ...] = (
    ("x-api-key", "trilane-demo-b"),
    ("anthropic-version", "2023-06-01"),
    ("content-type", "application/json"),
)


pytestmark = pytest.mark.usefixtures("filter_lives", "requests_go_on")

#: Text that shrinks as prose does. What shrinks beyond 1 : 100 is taken for a bomb.
WORDS = " ".join(f"wörd{number * number % 9973}" for number in range(9000))
LONG = json.dumps({"model": "gpt-5.1", "messages": [{"role": "user", "content": WORDS}]}, ensure_ascii=False).encode()
Encoder = Callable[[bytes], bytes]
ENCODERS: dict[str, Encoder] = {
    "gzip": gzip.compress,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("encoding", ENCODERS)
def test_encoded_bodies_arrive_plain(stack: Stack, gateway: Gateway, encoding: str, wire: str) -> None:
    marker, mark = new_marker()
    body = ENCODERS[encoding](LONG)
    upload = Upload(stack, wire, CHAT, (*A, mark, ("content-encoding", encoding)), len(body))
    upload.piece(body)
    answer = upload.end()
    assert answer.status == 200, answer
    entry = gateway.wait_seen(marker, "answered")
    assert entry["body_sha256"] == hashlib.sha256(LONG).hexdigest()
    headers = dict(entry["headers"])
    assert "content-encoding" not in headers
    assert headers.get("content-length") in (None, str(len(LONG)))


@pytest.mark.parametrize("encoding", ENCODERS)
def test_encoded_bodies_are_renamed(stack: Stack, gateway: Gateway, encoding: str) -> None:
    marker, mark = new_marker()
    text = '{"max_tokens":5,"model":"MODEL","messages":[]}'
    body = ENCODERS[encoding](text.replace("MODEL", "claude-opus-4-5").encode())
    with Http1(stack.base_url) as client:
        answer = client.request("POST", MESSAGES, (*B, mark, ("content-encoding", encoding)), body)
    assert answer.status == 200, answer
    entry = gateway.wait_seen(marker, "answered")
    assert entry["body"] == text.replace("MODEL", "claude-opus-4-5-20251101")


def flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes(byte ^ 0x5A for byte in data[middle : middle + 8]) + data[middle + 8 :]


UNSUPPORTED = (415, "request_body_encoding_unsupported")
BROKEN = (400, "invalid_body")
NOISE = json.dumps({"model": "gpt-5.1", "x": [hashlib.sha256(bytes([n])).hexdigest() for n in range(200)]}).encode()
ENCODED: list[tuple[str, str, bytes, tuple[int, str]]] = [
    *((f"{name}, flipped bytes", name, flipped(encode(NOISE)), BROKEN) for name, encode in ENCODERS.items()),
    *((f"{name}, truncated", name, encode(NOISE)[:-200], BROKEN) for name, encode in ENCODERS.items()),
    *((f"{name}, truncated at once", name, encode(NOISE)[:3], BROKEN) for name, encode in ENCODERS.items()),
    *((f"{name}, plain text", name, NOISE, BROKEN) for name in ENCODERS),
    ("gzip, really br", "gzip", brotli.compress(NOISE), BROKEN),
    ("br, really gzip", "br", gzip.compress(NOISE), BROKEN),
    ("zstd, really gzip", "zstd", gzip.compress(NOISE), BROKEN),
    ("no label, really gzip", "", gzip.compress(NOISE), BROKEN),
    ("identity, really gzip", "identity", gzip.compress(NOISE), BROKEN),
    ("gzip, a second model inside", "gzip", gzip.compress(START + b',"model":"gpt-5.4"}'), BROKEN),
    ("deflate", "deflate", zlib.compress(NOISE), UNSUPPORTED),
    ("compress", "compress", NOISE, UNSUPPORTED),
    ("an unknown encoding", "snappy", NOISE, UNSUPPORTED),
]  # fmt: skip


@pytest.mark.parametrize(("name", "label", "body", "expected"), ENCODED, ids=[case[0] for case in ENCODED])
def test_bad_encodings(
    stack: Stack, gateway: Gateway, name: str, label: str, body: bytes, expected: tuple[int, str]
) -> None:
    marker, mark = new_marker()
    labels: tuple[Header, ...] = (("content-encoding", label),) if label else ()
    with Http1(stack.base_url) as client:
        answer = client.request("POST", CHAT, (*A, mark, *labels), body)
    refused(name, answer, *expected)
    never_complete(gateway, marker, name)


@pytest.mark.parametrize("twice", ["gzip, gzip", "gzip, br", "identity, gzip"])
@pytest.mark.parametrize("lines", [1, 2], ids=["one line", "two lines"])
def test_encoded_twice(stack: Stack, gateway: Gateway, twice: str, lines: int) -> None:
    """Either both are undone and the upstream gets the plain document, or nothing gets through."""
    marker, mark = new_marker()
    body = NOISE
    names = twice.split(", ")
    for name in names:
        body = ENCODERS.get(name, bytes)(body)
    labels = [("content-encoding", twice)] if lines == 1 else [("content-encoding", name) for name in names]
    with Http1(stack.base_url) as client:
        answer = client.request("POST", CHAT, (*A, mark, *labels), body)
    if answer.status == 200:
        entry = gateway.wait_seen(marker, "answered")
        assert entry["body_sha256"] == hashlib.sha256(NOISE).hexdigest(), twice
        assert "content-encoding" not in dict(entry["headers"]), twice
    else:
        assert answer.status in (400, 415), f"{twice}: {answer}"
        never_complete(gateway, marker, twice)
