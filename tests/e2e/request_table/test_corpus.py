"""Real requests of today's clients, replayed byte for byte.

Each captured request goes over a socket as its client sent it; only the key is put in. What the gateway serves must
reach the upstream with an unchanged body, and what it does not serve must get the documented refusal.
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
from typing import Any, Optional

import pytest
import zstandard
from e2e.request_table.cases_spec import ids
from e2e.request_table.documents import B_NAMES, KEYS
from e2e.request_table.table import Caller, Refused, Reply, check_body, check_clean, check_refused


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
SERVED_OTHERS = re.compile(r"/v1(beta)?/models/gemini-2\.5-[a-z]+:\w+")
IS_CALL = {"3", "4", "5", "6", "7", "8", "9", "10", "11", "12"}
CALLS = [c for c in CAPTURES if c.method == "POST" and (c.endpoint in IS_CALL or SERVED_OTHERS.fullmatch(c.path))]
LISTS = [c for c in CAPTURES if c.endpoint in ("1", "1b", "2", "2b")]
REFUSED = [c for c in CAPTURES if c not in CALLS and c not in LISTS]


def _id(capture: Capture) -> str:
    return capture.file.removesuffix(".http")


def test_the_corpus_is_there() -> None:
    assert len(CAPTURES) >= 160
    assert len(CALLS) >= 95 and len(LISTS) >= 30 and len(REFUSED) >= 25
    assert {c.endpoint for c in CAPTURES} == {
        "1",
        "1b",
        "2",
        "2b",
        "3",
        "5",
        "6",
        "7",
        "8",
        "9",
        "10",
        "11",
        "12",
        "other",
    }


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


RENAMED = [c for c in CALLS if c.model == "claude-opus-4-5" and c.encoding is None]


@pytest.mark.parametrize("capture", RENAMED, ids=_id)
def test_a_rename_changes_one_string_of_a_real_body(capture: Capture, table: Caller) -> None:
    """The sample's group knows this model by another name upstream."""
    reply = capture.replay(table, "key_b_current")
    assert reply.status == 200, f"{capture.file}: {reply.status} {reply.body[:300]!r}"
    body = capture.body()
    assert body.count(b'"claude-opus-4-5"') == 1, f"{capture.file}: there is one place to change"
    check_body(capture.file, table.only(reply), body.replace(b'"claude-opus-4-5"', b'"claude-opus-4-5-20251101"'))


STRICT = [c for c in CALLS if c.path.startswith("/v1/messages") and c.model in ids("b-official")]


@pytest.mark.parametrize("capture", STRICT, ids=_id)
def test_strict_groups_take_the_documented_form_only(capture: Capture, table: Caller) -> None:
    """`x-api-key` with the version constant passes; what newer SDKs send is for `"clients": "current"`."""
    reply = capture.replay(table, "key_b")
    if "x-api-key" in capture.auth and capture.version == "2023-06-01":
        assert reply.status == 200, f"{capture.file}: {reply.status} {reply.body[:300]!r}"
    else:
        check_refused(capture.file, Refused(401, "B", "invalid_api_key", "=invalid x-api-key"), reply, table)


@pytest.mark.parametrize("capture", [c for c in CALLS if c.is_c], ids=_id)
def test_strict_c_groups_serve_v1beta_only(capture: Capture, table: Caller) -> None:
    reply = capture.replay(table, "key_c")
    if capture.path.startswith("/v1beta/"):
        assert reply.status == 200, f"{capture.file}: {reply.status} {reply.body[:300]!r}"
        check_body(capture.file, table.only(reply), capture.body())
    else:
        check_refused(capture.file, Refused(404, "C", "not_found", "/v1beta/models"), reply, table)


@pytest.mark.parametrize("capture", LISTS, ids=_id)
def test_lists_answer_every_client(capture: Capture, table: Caller) -> None:
    of_b = capture.version is not None or "x-api-key" in capture.auth
    key, want = (
        ("key_c_current", ids("c-current"))
        if capture.is_c
        else ("b_names", B_NAMES)
        if of_b
        else ("a_corpus", ids("t-a-corpus"))
    )
    reply = capture.replay(table, key)
    assert reply.status == 200, f"{capture.file}: {reply.status} {reply.body[:300]!r}"
    assert table.seen(reply) == [], capture.file
    body: Any = reply.json()
    asked = capture.path.rpartition("/models")[2].strip("/")
    if asked:
        assert body["name" if capture.is_c else "id"].removeprefix("models/") == asked, capture.file
        return
    shown = (
        [m["name"].removeprefix("models/") for m in body["models"]] if capture.is_c else [m["id"] for m in body["data"]]
    )
    size = re.search(r"(?:limit|pageSize)=(\d+)", capture.target)
    after = re.search(r"after_id=([^&]+)", capture.target)
    start = want.index(after.group(1)) + 1 if after else 0
    assert shown == want[start:][: int(size.group(1)) if size else None], capture.file


#: What the gateway does not serve: path -> status, shape, code.
REFUSALS: list[tuple[str, int, str, str]] = [
    (r"/v1/v1/messages", 404, "B", "not_found"),
    (r"/v1/messages/batches", 404, "B", "not_found"),
    (r"/v1/(embeddings|completions)", 404, "A", "not_found"),
    (r"/v1/responses/.+", 404, "A", "not_found"),
    (r"/v1beta/models/gemini-embedding-001:\w+", 404, "C", "model_not_found"),
    (r"/v1beta/models/imagen-4\.0-generate-001:predict", 404, "C", "not_found"),
    (r"/v1/models/gemini-embedding-001:\w+", 404, "C", "model_not_found"),
    (r"/v1beta/(files|cachedContents|tunedModels/x:generateContent)", 404, "C", "not_found"),
    (r"/v1/(cachedContents|interactions|tunedModels/.+)", 404, "C", "not_found"),
    (r"/(v1/files|models/.+)", 404, "C*", "not_found"),
    (r"/v1/files", 404, "A*", "not_found"),
    (r"/v1/(conversations|audio/transcriptions)", 404, "A", "not_found"),
]


def _refusal(capture: Capture) -> Refused:
    for pattern, status, shape, code in REFUSALS:
        if shape == "C*" and not capture.is_c:
            continue
        if re.fullmatch(pattern, capture.path):
            is_b = shape == "A*" and (capture.version is not None or "x-api-key" in capture.auth)
            return Refused(status, "B*" if is_b else shape, code)
    raise AssertionError(f"no row for {capture.path}")


@pytest.mark.parametrize("capture", [c for c in REFUSED if c.method != "HEAD" and c.endpoint == "other"], ids=_id)
def test_others_are_refused_as_documented(capture: Capture, table: Caller) -> None:
    key, _ = _key_and_listener(capture)
    check_refused(capture.file, _refusal(capture), capture.replay(table, key), table)


@pytest.mark.parametrize("capture", [c for c in REFUSED if c.method == "HEAD"], ids=_id)
def test_probes_without_a_key(capture: Capture, table: Caller) -> None:
    """An agent asks whether somebody is there, and takes any answer for yes."""
    reply = capture.replay(table, "unknown")
    assert (reply.status, reply.body) == (404, b""), capture.file
    assert reply.header("x-trilane-error") == "not_found", capture.file
    assert table.seen(reply) == [], capture.file


@pytest.mark.parametrize("key", ["key_a", "unknown", "key_mixed"])
def test_the_websocket_of_codex(key: str, table: Caller) -> None:
    """426 makes it send one plain POST at once; any other answer costs it seven tries. No key is looked at."""
    (capture,) = [c for c in CAPTURES if c.endpoint == "3" and c.method == "GET"]
    reply = capture.replay(table, key)
    assert reply.status == 426, reply.body
    assert reply.header("x-trilane-error") == "upgrade_required"
    assert reply.header("x-should-retry") == "false"
    assert reply.header("x-request-id")
    error = reply.json()["error"]
    assert (error["type"], error["code"], error["param"]) == ("invalid_request_error", "upgrade_required", None)
    assert "POST" in error["message"]
    assert table.seen(reply) == []
