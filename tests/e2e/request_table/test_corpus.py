"""Real requests of today's clients, replayed byte for byte.

Each captured request goes over a socket as its client sent it; only the key is put in. It must reach the upstream with an
unchanged body.
"""

from __future__ import annotations

import gzip
import http.client
import itertools
import json
import re
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

import pytest
import zstandard
from e2e.request_table.documents import KEYS
from e2e.request_table.table import Caller, Reply, check_body, check_clean


CORPUS = Path("tests/fixtures/requests")
_markers = itertools.count(1)


@dataclass(frozen=True)
class Capture:
    file: str
    endpoint: str
    method: str
    target: str
    auth: tuple[str, ...]
    version: Optional[str]
    model: Optional[str]
    encoding: Optional[str]

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def is_c(self) -> bool:
        return "x-goog-api-key" in self.auth or "query:key" in self.auth

    def body(self) -> bytes:
        """The body as the upstream must see it: what the client meant, without its encoding."""
        raw = (CORPUS / self.file).read_bytes().partition(b"\r\n\r\n")[2]
        if self.encoding == "gzip":
            return gzip.decompress(raw)
        if self.encoding == "zstd":
            return zstandard.ZstdDecompressor().decompressobj().decompress(raw)
        return raw

    def replay(self, caller: Caller, key: str) -> Reply:
        """Sends the capture with a key, and a marker behind its request line."""
        marker = f"c{next(_markers)}"
        request = (CORPUS / self.file).read_bytes().replace(b"<API_KEY>", KEYS[key].encode())
        line, rest = request.split(b"\r\n", 1)
        host, _, port = caller.stack.base_url.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            connection.sendall(line + b"\r\nx-sim-marker: " + marker.encode() + b"\r\n" + rest)
            response = http.client.HTTPResponse(connection, method=self.method)
            response.begin()
            return Reply(response.status, response.getheaders(), response.read(), marker)


def _captures() -> list[Capture]:
    lines = json.loads((CORPUS / "manifest.json").read_text(encoding="utf-8"))
    return [
        Capture(
            line["file"],
            str(line["endpoint"]),
            line["method"],
            line["target"],
            tuple(line["auth"]),
            line["version"],
            line["model"],
            line["encoding"],
        )
        for line in lines
    ]


CAPTURES = _captures()
#: Captures that no table of endpoints has, and yet served: newer clients of C call these.
SERVED_OTHERS = re.compile(r"/v1(beta)?/models/gemini-2\.5-[a-z]+:\w+|/v1/embeddings|/v1/responses/(compact|input_tokens)")
IS_CALL = {"3", "4", "5", "6", "7", "8", "9", "10", "11", "12"}
CALLS = [c for c in CAPTURES if c.method == "POST" and (c.endpoint in IS_CALL or SERVED_OTHERS.fullmatch(c.path))]


def _id(capture: Capture) -> str:
    return capture.file.removesuffix(".http")


def test_the_corpus_is_there() -> None:
    assert len(CALLS) >= 95 and {call.endpoint for call in CALLS} >= IS_CALL - {"4"}


def _key_and_listener(capture: Capture) -> tuple[str, str]:
    if capture.is_c:
        return "key_c_current", "c_official"
    if capture.path.startswith("/v1/messages"):
        return "b_names", "b_official"
    return "a_corpus", "a_official"


def _upstream_target(capture: Capture) -> str:
    """As the client wrote it, but the aliases in full, C under /v1beta, and no key."""
    path, mark, query = capture.target.partition("?")
    if path == "/chat/completions":
        path = "/v1/chat/completions"
    if capture.is_c:
        path = path.replace("/v1/models/", "/v1beta/models/")
    kept = [part for part in query.split("&") if not part.startswith("key=")]
    return path + (mark + "&".join(kept) if query and kept else "")


@pytest.mark.parametrize("capture", CALLS, ids=_id)
def test_calls_arrive_unchanged(capture: Capture, table: Caller) -> None:
    key, listener = _key_and_listener(capture)
    reply = capture.replay(table, key)
    assert reply.status == 200, f"{capture.file}: {reply.status} {reply.body[:300]!r}"
    entry = table.only(reply)
    assert (entry["listener"], entry["method"]) == (listener, "POST"), capture.file
    assert entry["path"] == _upstream_target(capture), capture.file
    check_body(capture.file, entry, capture.body())
    check_clean(capture.file, entry)
    check_headers(capture, dict(entry["headers"]))


def check_headers(capture: Capture, seen: dict[str, str]) -> None:
    """What the client said of itself and of the request arrives; B's version does whatever it is."""
    head = (CORPUS / capture.file).read_bytes().partition(b"\r\n\r\n")[0].decode()
    hop_by_hop = {"host", "connection", "accept-encoding", "content-length", "content-encoding", "transfer-encoding"}
    for line in head.split("\r\n")[1:]:
        name, _, value = line.partition(":")
        if "<API_KEY>" in value or name.lower() in hop_by_hop:
            continue
        assert seen.get(name.lower()) == value.strip(), f"{capture.file}: {name}"
    if capture.path.startswith("/v1/messages"):
        assert seen.get("anthropic-version") == (capture.version or "2023-06-01"), capture.file
    assert "content-encoding" not in seen, f"{capture.file}: Envoy has undone it"
