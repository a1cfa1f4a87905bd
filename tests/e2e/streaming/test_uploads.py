"""Large uploads: every byte arrives, the model is found and renamed wherever it stands, memory stays bounded."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import random
import time
from collections.abc import Callable, Iterator
from typing import Any, Optional

import brotli
import pytest
import zstandard
from e2e.raw import Answer, Header, Http1, Http2
from e2e.streaming.measure_uploads import MIB, measure, resident
from e2e.support import Gateway, by_hand, never_complete, run_dir
from e2e.uploading import CHAT, new_marker
from e2e.vitals import unharmed
from stack import SAMPLE_DOCUMENT, Document, Stack

MESSAGES, EDITS = "/v1/messages", "/v1/images/edits"
A: tuple[Header, ...] = (("authorization", "Bearer trilane-demo-a"),)
B: tuple[Header, ...] = (("x-api-key", "trilane-demo-b"), ("anthropic-version", "2023-06-01"))
C: tuple[Header, ...] = (("x-goog-api-key", "trilane-demo-c"),)
JSON_TYPE: Header = ("content-type", "application/json")
GENERATE = "/v1beta/models/gemini-2.5-flash:generateContent"
RENAMED, NEW_NAME = "claude-opus-4-5", "claude-opus-4-5-20251101"
WIRES = ["h1-length", "h1-chunked", "h2", "h2-length"]
#: Of the stack with limits of its own.
MAX_BODY = 4 * MIB
FILLER = b"the same words again " * (32 * MIB // 21)


pytestmark = pytest.mark.usefixtures("filter_lives")


def limited_document() -> dict[str, Any]:
    """The sample document with a small limit, and an image model that has another name upstream."""
    document: dict[str, Any] = json.loads(SAMPLE_DOCUMENT.read_bytes())
    document["max_body"] = MAX_BODY
    (source,) = (group for group in document["groups"] if group["id"] == "a-official")
    (model,) = (model for model in source["models"] if model["id"] == "gpt-image-1")
    model["upstream"] = "gpt-image-1-2025-04-23"
    return document


@pytest.fixture(scope="module")
def limited() -> Iterator[Gateway]:
    with Stack(run_dir("uploads"), document=limited_document()) as stack, unharmed(stack):
        yield Gateway(stack)


def post(
    stack: Stack, wire: str, path: str, headers: tuple[Header, ...], body: bytes, piece: Optional[int] = None
) -> Answer:
    """Sends a body over one of the wires, in pieces if so told."""
    step = piece or MIB
    pieces = (body[at : at + step] for at in range(0, len(body), step))
    length: Header = ("content-length", str(len(body)))
    if wire.startswith("h2"):
        with Http2(stack.base_url) as h2:
            stream = h2.start("POST", path, (*headers, length) if wire == "h2-length" else headers)
            for part in pieces:
                if not h2.data(stream, part):
                    break
            else:
                h2.data(stream, b"", end=True)
            return h2.answer(stream)
    with Http1(stack.base_url) as h1:
        if wire == "h1-length":
            h1.head("POST", path, (*headers, length))
            for part in pieces:
                h1.send(part)
        else:
            h1.head("POST", path, (*headers, ("transfer-encoding", "chunked")))
            for part in pieces:
                h1.chunk(part)
            h1.chunk(b"")
        return h1.answer()


def refused(case: str, answer: Answer, status: int, code: str) -> None:
    """An error in one of the three protocols' shapes."""
    assert answer.status == status and answer.complete, f"{case}: {answer}"
    assert answer.header("x-trilane-error") == code, f"{case}: {answer}"
    document = json.loads(answer.body)
    error = document["error"]
    given = error.get("details", {}).get("error_code") if "type" in document else error["code"]
    assert (error["details"][0]["reason"] if given == status else given) == code, f"{case}: {document}"


# ---- Every byte, and the one string that changes


def test_much_at_once_while_the_model_is_awaited(stack: Stack) -> None:
    """What is held and the next read together may pass every buffer but the one made for it: no 413 of Envoy's own."""
    chance = random.Random(1)
    line = chance.randbytes(150).hex()
    prompt = "".join(line + chance.randbytes(8).hex() for _ in range(20_000))
    plain = f'{{"messages":[{{"role":"user","content":"{prompt}"}}],"model":"gpt-5.1"}}'.encode()
    body = gzip.compress(plain, 6)
    assert 10 < len(plain) / len(body) < 40, "one read inflates to megabytes, and is not cut as a bomb"
    with Http1(stack.base_url) as h1:
        h1.head("POST", CHAT, (*A, JSON_TYPE, ("content-encoding", "gzip"), ("content-length", str(len(body)))))
        h1.send(body[:4000])
        time.sleep(0.2)  # so that it is a read of its own, and is held
        h1.send(body[4000:])
        answer = h1.answer()
    assert answer.status == 200, answer


@pytest.mark.parametrize("model", ["gpt-5.1", RENAMED], ids=["same name", "renamed"])
@pytest.mark.parametrize("place", ["model first", "model last"])
@pytest.mark.parametrize("wire", ["h1-length", "h1-chunked", "h2"])
def test_32_mebibytes(stack: Stack, gateway: Gateway, wire: str, place: str, model: str) -> None:
    marker, mark = new_marker()
    path, key = (MESSAGES, B) if model == RENAMED else (CHAT, A)

    def body(name: str) -> bytes:
        field = [f'"model": "{name}"'.encode()]
        prompt = [b'"messages":[{"role":"user","content":"', FILLER, b'"}]']
        first, second = (field, prompt) if place == "model first" else (prompt, field)
        # Of a stream it would not be known whether it must be asked for its usage.
        return b"".join([b'{"stream":false , ', *first, b" , ", *second, b"}"])

    sent, wanted = body(model), body(NEW_NAME if model == RENAMED else model)
    answer = post(stack, wire, path, (*key, JSON_TYPE, mark), sent)
    assert answer.status == 200, answer
    entry = gateway.wait_seen(marker, "answered")
    assert entry["body_bytes"] == len(wanted)
    assert entry["body_sha256"] == hashlib.sha256(wanted).hexdigest()
    length = dict(entry["headers"]).get("content-length")
    may_change_late = path == MESSAGES and place == "model last"
    if wire.endswith("length") and not may_change_late:
        assert length == str(len(wanted)), "the length is that of what arrives"
    else:
        assert length is None, "whoever cannot know the length must not name one"


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("model", ["claude-opus-4-8", RENAMED], ids=["same name", "renamed"])
def test_a_byte_at_a_time(stack: Stack, gateway: Gateway, model: str, wire: str) -> None:
    marker, mark = new_marker()
    text = '{"max_tokens":5, "messages":[{"role":"user","content":"model"}], "model" : "MODEL" ,"stream":false }'
    wanted = text.replace("MODEL", NEW_NAME if model == RENAMED else model)
    answer = post(stack, wire, MESSAGES, (*B, JSON_TYPE, mark), text.replace("MODEL", model).encode(), piece=1)
    assert answer.status == 200, answer
    assert gateway.wait_seen(marker, "answered")["body"] == wanted


#: Far behind what the filter looks at before it lets a body go: path, key, the field with its new value, cut within that.
LATE_NAMES: dict[str, tuple[str, tuple[Header, ...], bytes, bytes]] = {
    "A": (CHAT, A, b'"model":"gpt-5.1"', b'"model":"gpt-5.1"'),
    "B, renamed": (MESSAGES, B, b'"model":"%s"' % RENAMED.encode(), b'"model":"%s"' % NEW_NAME.encode()),
    "A, usage": (CHAT, A, b'"stream":true,"stream_options":null', b'"stream":true,"stream_options":{"include_usage":true}'),
}


@pytest.mark.parametrize("name", LATE_NAMES)
def test_late_names_are_cut(limited: Gateway, name: str) -> None:
    """By the end of a read, when the router keeps what went before for another attempt: the upstream gets each byte once."""
    path, key, field, new = LATE_NAMES[name]
    first = b'{"model":"gpt-5.1","x":"' if "usage" in name else b'{"x":"'
    head, tail = first + b"a" * 400_000, b'","max_tokens":5,"messages":[]}'
    body, wanted = head + b'",' + field + tail[1:], head + b'",' + new + tail[1:]
    value = body.index(field) + field.rindex(b":")
    for cut in range(value, body.index(field) + len(field) + 2):
        marker, mark = new_marker()
        with Http1(limited.stack.base_url) as h1:
            h1.head("POST", path, (*key, JSON_TYPE, mark, ("transfer-encoding", "chunked")))
            h1.chunk(body[:300_000])
            for piece in (body[300_000:cut], body[cut : cut + 1], body[cut + 1 :]):
                time.sleep(0.02)  # so that each is a read of its own
                h1.chunk(piece)
            h1.chunk(b"")
            answer = h1.answer()
        where = f"{name}, cut after {body[value:cut]!r}: {answer}"
        assert answer.status == 200, where
        assert limited.wait_seen(marker, "answered")["body_sha256"] == hashlib.sha256(wanted).hexdigest(), where


# ---- Forms (images edits)


def form(*parts: tuple[str, bytes], end: bytes = b"--\r\n") -> bytes:
    """multipart/form-data with the boundary `edge`; a name with a dot is a file's."""
    body = b""
    for name, value in parts:
        kind = b'; filename="%s"\r\ncontent-type: image/png' % name.encode() if "." in name else b""
        body += b'--edge\r\ncontent-disposition: form-data; name="%s"%s\r\n\r\n%s\r\n' % (
            name.partition(".")[0].encode(),
            kind,
            value,
        )
    return body + b"--edge" + end


FORM: Header = ("content-type", "multipart/form-data; boundary=edge")
IMAGE = ("image.png", b"\x89PNG\r\n\x1a\n--edg\r\n" + bytes(range(256)) * 4)
LARGE_IMAGE = ("image.png", b"\x89PNG\r\n" + bytes(range(256)) * 1500)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("model", ["gpt-image-1", "gpt-image-2"], ids=["renamed", "same name"])
@pytest.mark.parametrize("piece", [1, MIB], ids=["a byte at a time", "at once"])
def test_forms(limited: Gateway, model: str, wire: str, piece: int) -> None:
    marker, mark = new_marker()
    image = IMAGE if piece == 1 else LARGE_IMAGE
    parts = [("prompt", b"a cat"), image]
    wanted = form(*parts, ("model", b"gpt-image-1-2025-04-23" if model == "gpt-image-1" else b"gpt-image-2"))
    sent = form(*parts, ("model", model.encode()))
    answer = post(limited.stack, wire, EDITS, (*A, FORM, mark), sent, piece)
    assert answer.status == 200, answer
    entry = limited.wait_seen(marker, "answered")
    assert entry["body_sha256"] == hashlib.sha256(wanted).hexdigest()


BAD_FORMS = {
    "two models": (form(("model", b"gpt-image-1"), IMAGE, ("model", b"gpt-image-2")), "invalid_body"),
    "two models, far apart": (form(("model", b"gpt-image-1"), LARGE_IMAGE, ("model", b"gpt-image-2")), "invalid_body"),
    "no model": (form(("prompt", b"a cat"), IMAGE), "model_missing"),
    "no model, late end": (form(("prompt", b"a cat"), LARGE_IMAGE), "model_missing"),
    "no end": (form(("model", b"gpt-image-1"), IMAGE, end=b""), "invalid_body"),
    "no model, no end": (form(("prompt", b"a cat"), IMAGE, end=b""), "invalid_body"),
    # A lenient upstream would take this one, with a model of its own choice.
    "no model, no end, late": (form(("prompt", b"a cat"), LARGE_IMAGE, end=b""), "invalid_body"),
    "another boundary": (form(("model", b"gpt-image-1"), IMAGE).replace(b"--edge", b"--egde"), "invalid_body"),
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", BAD_FORMS)
def test_bad_forms(stack: Stack, gateway: Gateway, name: str, wire: str) -> None:
    body, code = BAD_FORMS[name]
    marker, mark = new_marker()
    answer = post(stack, wire, EDITS, (*A, FORM, mark), body)
    never_complete(gateway, marker, name)
    refused(name, answer, 400, code)


# ---- Too large


@pytest.mark.parametrize("wire", ["h1-length", "h2-length"])
@pytest.mark.parametrize(("path", "key"), [(CHAT, A), (MESSAGES, B), (GENERATE, C)], ids=["A", "B", "C"])
def test_too_large_by_its_length(stack: Stack, gateway: Gateway, path: str, key: tuple[Header, ...], wire: str) -> None:
    """The sample's 64 MiB. The head is enough to refuse it; nothing of the body is needed."""
    marker, mark = new_marker()
    headers = (*key, JSON_TYPE, mark, ("content-length", str(64 * MIB + 1)))
    if wire == "h2-length":
        with Http2(stack.base_url) as h2:
            answer = h2.answer(h2.start("POST", path, headers))
    else:
        with Http1(stack.base_url) as h1:
            h1.head("POST", path, headers)
            answer = h1.answer()
    refused(path, answer, 413, "request_too_large")
    assert not gateway.seen(marker)


def padded(size: int, model: str = "gpt-5.1") -> bytes:
    """A good request of exactly this size."""
    begin, end = f'{{"model":"{model}","messages":[{{"role":"user","content":"'.encode(), b'"}]}'
    return begin + b"a" * (size - len(begin) - len(end)) + end


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("model_last", [False, True], ids=["model first", "model last"])
def test_too_large_by_a_byte(limited: Gateway, wire: str, model_last: bool) -> None:
    for extra, status in ((0, 200), (1, 413)):
        marker, mark = new_marker()
        body = padded(MAX_BODY + extra)
        if model_last:
            body = b'{"x":"' + b"a" * (MAX_BODY + extra - 26) + b'","model":"gpt-5.1"}'
            assert len(body) == MAX_BODY + extra
        answer = post(limited.stack, wire, CHAT, (*A, JSON_TYPE, mark), body)
        if status == 200:
            assert answer.status == 200, answer
            assert limited.wait_seen(marker, "answered")["body_bytes"] == MAX_BODY
        else:
            refused(wire, answer, 413, "request_too_large")
            never_complete(limited, marker, wire)


def zstd_bomb(size: int) -> bytes:
    out = io.BytesIO()
    with zstandard.ZstdCompressor(level=3).stream_writer(out, closefd=False) as writer:
        for begin in range(0, size, MIB):
            writer.write((BOMB_BEGIN if begin == 0 else b"") + b" " * MIB)
        writer.write(BOMB_END)
    return out.getvalue()


def brotli_bomb(size: int) -> bytes:
    compressor = brotli.Compressor(quality=3)
    parts = [compressor.process(BOMB_BEGIN)]
    parts += [compressor.process(b" " * MIB) for _ in range(size // MIB)]
    return b"".join([*parts, compressor.process(BOMB_END), compressor.finish()])


def gzip_bomb(size: int) -> bytes:
    return gzip.compress(BOMB_BEGIN + b" " * size + BOMB_END, 6)


BOMB_BEGIN, BOMB_END = b'{"model":"gpt-5.1","x":"', b'"}'
BOMBS: dict[str, Callable[[int], bytes]] = {"gzip": gzip_bomb, "br": brotli_bomb, "zstd": zstd_bomb}


@pytest.mark.parametrize("encoding", BOMBS)
def test_bombs(stack: Stack, gateway: Gateway, encoding: str) -> None:
    """256 MiB in a few kilobytes: refused, and never unpacked in memory.

    Envoy inflates what it has read at once, up to 100 times as much, before the filter sees any of it; the filter
    must not copy all of that into its VM, whose memory never shrinks.
    """
    marker, mark = new_marker()
    bomb = BOMBS[encoding](256 * MIB)
    assert len(bomb) < MIB // 2
    before = resident(stack.pids["Envoy"])
    answer = post(stack, "h1-length", CHAT, (*A, JSON_TYPE, mark, ("content-encoding", encoding)), bomb)
    grown = resident(stack.pids["Envoy"]) - before
    assert answer.status in (400, 413) and answer.complete, answer
    assert answer.header("x-trilane-error") in ("invalid_body", "request_too_large"), answer
    never_complete(gateway, marker, encoding)
    assert grown < 64 * MIB, f"{encoding}: {grown / MIB:.1f} MiB"


# ---- Memory


#: How an upload may make Envoy grow, in MiB: without another account to send it to, what is on its way; else also what
#: was sent of it so far, 16 MiB at most.
MOST_GROWTH = {"one upstream": (by_hand(), 6), "accounts": (SAMPLE_DOCUMENT, 22)}


@pytest.mark.parametrize("wire", ["h1", "h2"])
@pytest.mark.parametrize(("document", "most"), MOST_GROWTH.values(), ids=MOST_GROWTH)
def test_memory_of_many_uploads(document: Document, most: int, wire: str) -> None:
    """20 uploads of 32 MiB to an upstream that hardly reads: what is buffered is bounded, not the uploads' size.

    See `measure_uploads.py` for the numbers of 50: 1 to 2 MiB an upload.
    """
    count = 20
    with Stack(run_dir("uploads-memory"), document=document) as stack:
        growth = measure(stack, wire, count, 32 * MIB, slow_ms=5000)
    assert growth.sent < count * 20 * MIB, "the upstream was not slow enough to prove anything"
    assert growth.sent > count * 2 * MIB, f"hardly anything was sent: {growth}"
    assert growth.grown < count * most * MIB, f"{growth.grown / MIB / count:.1f} MiB an upload"
