"""What a record must say of usage that nobody reported, computed here from what was sent and what was seen."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Optional

Record = dict[str, Any]
Kinds = dict[str, int]

BYTES_PER_TOKEN = 4
#: What a model is taken to write in a second, where its answer was not awaited.
TOKENS_PER_SECOND = 100
#: What a request without a cap may make a model write.
UNCAPPED = 1000
#: How far Envoy's clock of a request and the gateway's may be apart, in milliseconds, on a busy machine.
APART = 250

#: The kinds that are written; all others but the images are read.
WRITTEN = ("output", "reasoning", "output_audio", "output_image")
INPUT_MEMBER = "trilane.estimated.input_tokens"
OUTPUT_MEMBER = "trilane.estimated.output_tokens"


def text_tokens(size: int) -> int:
    """Tokens of so many bytes of text."""
    return -(-size // BYTES_PER_TOKEN)


#: Tokens of an image.
IMAGE_TOKENS = 1600
_FILES = re.compile(rb'filename="[^"]*"\r\n(?:[^\r\n]+\r\n)*\r\n(.*?)\r\n--', re.S)


#: The most that a picture which had begun is estimated at, with the partial pictures before it.
PICTURE_TOKENS = 6240 + 3 * 100


def input_tokens(body: bytes, content_type: str = "application/json") -> int:
    """Tokens of a request's body. In a form each file is an image, whatever its length."""
    files = _FILES.findall(body) if content_type.startswith("multipart/") else []
    return text_tokens(len(body) - sum(map(len, files))) + IMAGE_TOKENS * len(files)


def added(record: Record) -> tuple[int, int]:
    """How many of a record's tokens are estimated, read and written."""
    return record.get(INPUT_MEMBER, 0), record.get(OUTPUT_MEMBER, 0)


def read_and_written(kinds: Kinds) -> tuple[int, int]:
    """All tokens that were read, and all that were written."""
    written = sum(kinds.get(kind, 0) for kind in WRITTEN)
    return sum(kinds.values()) - kinds.get("images", 0) - written, written


def reported_part(kinds: Optional[Kinds], record: Record) -> Optional[Kinds]:
    """A record's numbers without what is estimated; `None` where nothing is left."""
    read, written = added(record)
    for number in (record.get(INPUT_MEMBER), record.get(OUTPUT_MEMBER)):
        assert number is None or number > 0, f"what is zero is left out: {record}"
    if kinds is None:
        assert not read and not written, record
        return None
    # A picture is estimated as tokens of its own kind.
    pictures = min(written, kinds.get("output_image", 0))
    rest = {**kinds, "input": kinds["input"] - read, "output": kinds["output"] - (written - pictures)}
    if pictures:
        rest["output_image"] -= pictures
    assert min(rest.values()) >= 0, f"more is estimated than there is: {record}"
    images = record.get("trilane.estimated.images", 0)
    assert bool(images) <= not_awaited(record), record
    if images:
        # One image was asked for.
        assert images == 1, record
        rest["images"] -= images
    return rest if any(rest.values()) or "trilane.usage.reported" in record else None


def not_awaited(record: Record) -> bool:
    """Whether the client did not wait for an answer that comes whole or not at all, and pays by the time."""
    left = record["trilane.outcome"] in ("client_abort", "timeout")
    whole = not record["trilane.stream"] or record["gen_ai.operation.name"] == "image_generation"
    return record["trilane.usage.status"] == "estimated" and left and whole


_TEXT = rb'"((?:[^"\\]|\\.)*)'
#: Where the simulator's answers of each form have what the model wrote.
_PLACES = {
    "chat": rb'"(?:delta|message)":\{[^{}]*?"content":' + _TEXT,
    "responses": rb'"type":"(?:response\.output_text\.delta"[^\n]*?"delta|output_text","text)":' + _TEXT,
    "messages": rb'"type":"text(?:_delta)?","text":' + _TEXT,
    "generate": rb'\{"text":' + _TEXT,
}


def written_bytes(form: str, stream: bool, body: bytes) -> int:
    """How long the text is that the model wrote, in what is there of an answer."""
    if form not in _PLACES:
        return 0
    pieces = _events(body) if stream else [body]
    if form == "responses" and stream:  # What its later events repeat.
        pieces = [piece for piece in pieces if b'"response.output_text.delta"' in piece]
    return sum(len(text) for piece in pieces for text in re.findall(_PLACES[form], piece))


def _events(body: bytes) -> Iterator[bytes]:
    """The events of a stream, and what is there of the one that its end cuts."""
    if body.startswith(b"["):
        text, at = body.decode(), 1
        while start := re.compile(r"[\s,]*(?=\{)").match(text, at):
            try:
                _, at = json.JSONDecoder().raw_decode(text, start.end())
            except ValueError:
                at = len(text)
            yield text[start.end() : at].encode()
        return
    yield from re.split(rb"\r\n\r\n|\n\n|\r\r", body)


def check_estimates(
    record: Record,
    kinds: Kinds,
    form: str,
    body: bytes,
    content_type: str = "application/json",
    got: Optional[bytes] = None,
) -> None:
    """Of each side there is the greater of what was reported and what is estimated. `got`: what came of the answer."""
    rest = reported_part(kinds, record) or {}
    read, written = read_and_written(kinds)
    read_reported, written_reported = read_and_written(rest)
    assert read == max(read_reported, input_tokens(body, content_type)), f"{read_reported} reported: {record}"
    least, most = written_bounds(record, form, body, got)
    assert max(written_reported, least) <= written <= max(written_reported, most), (
        f"{written} written, {written_reported} reported, {least} to {most} estimated: {record}"
    )


def written_bounds(record: Record, form: str, body: bytes, got: Optional[bytes]) -> tuple[int, int]:
    """How many tokens of the output may be estimated: one number where the client got all that passed."""
    stream, size = record["trilane.stream"], record["http.response.body.size"]
    least = most = text_tokens(written_bytes(form, stream, got or b""))
    if len(got or b"") != size:
        assert len(got or b"") < size, record
        most = text_tokens(size)
    if form == "images":
        most = PICTURE_TOKENS
    if form == "embed":
        most = 0
    if not_awaited(record) and record["gen_ai.operation.name"] != "embeddings":
        cap = json.loads(body).get("max_tokens", UNCAPPED) if body.startswith(b"{") else UNCAPPED
        waited = record["duration_ms"]
        least = max(least, min(cap, max(0, waited - APART) * TOKENS_PER_SECOND // 1000))
        most = max(most, min(cap, (waited + APART) * TOKENS_PER_SECOND // 1000))
    return least, most
