"""A body that is held takes up what it is long, however small the pieces are that it comes in."""

from __future__ import annotations

import json
import time
import urllib.request

import pytest
from e2e.support import Gateway
from e2e.uploading import CHAT, Upload, A, new_marker
from stack import Stack

UPLOADS, PIECES = 40, 64
#: Pieces that Envoy joins by itself, the longest of them, and pieces that it does not join, in bytes.
PIECE = [1, 511, 512, 700]
#: Per upload: what it is long, what a connection and a request cost, and eight chunks of 16 KiB.
ROOM = 320_000


def allocated(stack: Stack) -> int:
    """What Envoy's allocator has given out, in bytes."""
    with urllib.request.urlopen(f"{stack.admin_url}/memory", timeout=10) as answer:
        return int(json.load(answer)["allocated"])


@pytest.mark.parametrize("piece", PIECE)
@pytest.mark.parametrize("wire", ["h1-length", "h1-chunked", "h2"])
def test_small_pieces_are_packed(gateway: Gateway, wire: str, piece: int) -> None:
    start, end = b'{"messages":[{"role":"user","content":"', b'"}],"model":"gpt-5.1"}'
    length = len(start) + PIECES * piece + len(end)
    before = allocated(gateway.stack)
    uploads = [Upload(gateway.stack, wire, CHAT, (*A, new_marker()[1]), length) for _ in range(UPLOADS)]
    for upload in uploads:
        upload.piece(start)
    for _ in range(PIECES):
        for upload in uploads:
            upload.piece(b"x" * piece)
        time.sleep(0.005)  # each is to be read by itself
    grown = (allocated(gateway.stack) - before) / UPLOADS
    for upload in uploads:
        upload.piece(end)
    statuses = {upload.end().status for upload in uploads}
    assert statuses == {200}
    assert grown < ROOM, f"{grown:.0f} bytes for {length} held"
