"""One reading of a body: what a content-type, an accept or the name of a form's part would make of it elsewhere."""

from __future__ import annotations

from typing import Any, Optional

import pytest
from e2e.abuse.abuse_desk import CHAT, GENERATE, MESSAGES, RESPONSES, Desk, Sent, forwarded, refused
from e2e.abuse.abuse_document import IMAGE_MODEL, MODELS, UNLISTED
from e2e.abuse.recorder import MARKER
from e2e.raw import Header, Http1, Http2
from e2e.support import credential

CONTENTS = {"contents": [{"parts": [{"text": "hi"}]}]}
MESSAGE = {"model": MODELS["B"], "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
IMAGE = {"model": IMAGE_MODEL, "prompt": "a lane"}
EDITS = "/v1/images/edits"
#: (group, path, body) of every endpoint that takes JSON.
JSON_ENDPOINTS: list[tuple[str, str, Any]] = [
    ("a", CHAT, {"model": MODELS["A"], "messages": [{"role": "user", "content": "hi"}]}),
    ("a", RESPONSES, {"model": MODELS["A"], "input": "hi"}),
    ("a-images", "/v1/images/generations", IMAGE),
    ("a-images", EDITS, IMAGE),
    ("b", MESSAGES, MESSAGE),
    ("b", f"{MESSAGES}/count_tokens", MESSAGE),
    ("c", GENERATE, CONTENTS),
    ("c-resources", "/v1beta/cachedContents", {"model": f"models/{MODELS['C']}", "ttl": "9s"}),
]
TYPES = [
    None,
    "application/json",
    "application/json; charset=utf-8",
    "application/json; charset=utf-7",
    "application/json;charset=utf-16",
    "Application/JSON",
    "application/x-www-form-urlencoded",
    "text/plain",
    "text/plain; multipart/form-data; boundary=x",
    "application/octet-stream",
    "application/x-protobuf",
    "application/json, application/x-www-form-urlencoded",
    "application/json\t; multipart",
    "x",
]


@pytest.mark.parametrize("endpoint", JSON_ENDPOINTS, ids=lambda endpoint: f"{endpoint[0]} {endpoint[1]}")
@pytest.mark.parametrize("content_type", TYPES)
def test_json_goes_on_as_json(desk: Desk, endpoint: tuple[str, str, Any], content_type: Optional[str]) -> None:
    group, path, body = endpoint
    sent = desk.send(group, path, body, content_type=content_type, name=str(content_type))
    forwarded(headers={"content-type": "application/json"})(sent)
    types = [value for name, value in sent.only().headers if name == "content-type"]
    assert types == ["application/json"], sent


@pytest.mark.parametrize("wire", ["h1", "h2"])
def test_content_types_that_are_repeated(desk: Desk, wire: str) -> None:
    """Whatever comes of them on the way, the upstream reads JSON or nothing."""
    for second in ("application/x-www-form-urlencoded", "application/json", "text/plain"):
        for pair in (("application/json", second), (second, "application/json")):
            key, value = desk.new_key("a")
            marker = f"repeated-{wire}-{key}"
            headers: list[Header] = [*credential("A", value).items(), *(("content-type", one) for one in pair), (MARKER, marker)]
            with (Http1 if wire == "h1" else Http2)(desk.stack.base_url) as client:
                body = b'{"model":"gpt-5.1","input":"hi"}'
                answer = client.request("POST", RESPONSES, headers, body)
            arrived = desk.recorder.settled(marker)
            assert answer.status == 200 and len(arrived) == 1, f"{pair}: {answer}"
            types = [text for name, text in arrived[0].headers if name == "content-type"]
            assert types == ["application/json"], f"{pair}: {types}"


@pytest.mark.parametrize("endpoint", JSON_ENDPOINTS, ids=lambda endpoint: f"{endpoint[0]} {endpoint[1]}")
@pytest.mark.parametrize(
    "content_type", ["multipart/form-data; boundary=B", "multipart/mixed; boundary=B", "Multipart/Related", "multipart/"]
)
def test_forms_on_json_endpoints(desk: Desk, endpoint: tuple[str, str, Any], content_type: str) -> None:
    group, path, body = endpoint
    if path == EDITS and "form-data" in content_type:
        pytest.skip("takes forms")
    sent = desk.send(group, path, body, content_type=content_type, name=content_type)
    refused(415, "unsupported_media_type")(sent)


# ---- Forms


def form(*parts: tuple[str, str], boundary: str = "B") -> bytes:
    """A form of parts, each its headers and its value."""
    text = "".join(f"--{boundary}\r\n{headers}\r\n\r\n{value}\r\n" for headers, value in parts)
    return f"{text}--{boundary}--\r\n".encode("latin-1")


MODEL = ('Content-Disposition: form-data; name="model"', IMAGE_MODEL)
FILE = ('Content-Disposition: form-data; name="image"; filename="a.png"\r\nContent-Type: image/png', "PNG")


def edit(desk: Desk, body: bytes, content_type: str = "multipart/form-data; boundary=B", name: str = "") -> Sent:
    return desk.send("a-images", EDITS, body, content_type=content_type, name=name or content_type)


@pytest.mark.parametrize(
    ("content_type", "goes_on"),
    [
        ("multipart/form-data; boundary=B", None),
        ("multipart/form-data;boundary=B", "multipart/form-data; boundary=B"),
        ("Multipart/Form-Data; BOUNDARY=B", "multipart/form-data; boundary=B"),
        ('multipart/form-data; boundary="B"', "multipart/form-data; boundary=B"),
        ("multipart/form-data; charset=utf-16; boundary=B", "multipart/form-data; boundary=B"),
        ('multipart/form-data; x="; a=b"; boundary=B', "multipart/form-data; boundary=B"),
        ("multipart/form-data; boundary=B; charset=utf-7", "multipart/form-data; boundary=B"),
    ],
)
def test_a_form_goes_on_as_the_form_that_was_read(desk: Desk, content_type: str, goes_on: Optional[str]) -> None:
    sent = edit(desk, form(MODEL, FILE), content_type)
    forwarded(headers={"content-type": goes_on or content_type})(sent)


def test_a_boundary_in_quotes(desk: Desk) -> None:
    content_type = 'multipart/form-data; boundary="a b"'
    forwarded(headers={"content-type": content_type})(edit(desk, form(MODEL, FILE, boundary="a b"), content_type))


#: Names of a second part, which some parser reads as `model` or `stream`.
NAMES = [
    *("'model'", "\"'model'\"", '"model\'"', '"`model`"', "'stream'", "'image'"),
    *('"=?utf-8?B?bW9kZWw=?="', '"=?utf-8?Q?model?="', '"=?utf-8?q?mo?= =?utf-8?q?del?="', "=?utf-8?B?bW9kZWw=?="),
    *('"%6dodel"', '"%6D%6F%64%65%6C"', '"%256dodel"', '"model%5B%5D"', '"%22model%22"', '"model%00"', '"%73tream"'),
    *('"&#109;odel"', '"&#x6d;odel"', '"&#0109odel"', '"&quot;model&quot;"', '"%26%23109;odel"', '"&apos;model&apos;"'),
    *('"Model"', '"model[]"', '" model"', '"model "', '"mo\\del"', '"model\x00"', '"\x01model"'),
]


@pytest.mark.parametrize("name", NAMES)
def test_names_of_parts(desk: Desk, name: str) -> None:
    """A second model under a name that only some parsers read as `model`."""
    value = "true" if "ream" in name else UNLISTED["A"]
    other = (f"Content-Disposition: form-data; name={name}", value)
    for parts in ((MODEL, other, FILE), (other, MODEL, FILE)):
        refused(400, "invalid_body")(edit(desk, form(*parts), name=name))


@pytest.mark.parametrize("name", ['"image[]"', "\"don't\"", '"100% mine"', '"a&b"', '"prompt"', "size"])
def test_names_of_parts_that_are_no_fields(desk: Desk, name: str) -> None:
    other = (f"Content-Disposition: form-data; name={name}", "x")
    forwarded()(edit(desk, form(MODEL, other, FILE), name=name))


@pytest.mark.parametrize(
    "line",
    [
        "Content-Type: text/plain; charset=utf-7",
        'Content-Type: text/plain; charset="utf-16le"',
        "Content-Type: text/plain; charset*=utf-8''ebcdic",
        "Content-Encoding: deflate",
        "Content-Transfer-Encoding: base64",
        "Content-Transfer-Encoding: quoted-printable",
    ],
)
def test_values_that_are_others_elsewhere(desk: Desk, line: str) -> None:
    refused(400, "invalid_body")(edit(desk, form((f"{MODEL[0]}\r\n{line}", MODEL[1]), FILE), name=line))


# ---- What the answer may be


@pytest.mark.parametrize(
    ("accept", "goes_on"),
    [
        ("*/*", "*/*"),
        ("application/json", "application/json"),
        ("text/event-stream", "text/event-stream"),
        ("application/json, text/event-stream", "application/json, text/event-stream"),
        ("application/json, text/plain, */*;q=0.5", "application/json, text/plain, */*;q=0.5"),
        ("application/x-protobuf", "*/*"),
        ("application/x-protobuf, */*;q=0.1", "*/*"),
        ("application/json;alt=proto", "*/*"),
        ("application/msgpack", "*/*"),
        ("application/json+protobuf", "*/*"),
        ("text/html", "*/*"),
    ],
)
def test_the_form_that_a_client_accepts(desk: Desk, accept: str, goes_on: str) -> None:
    for group, path, body in JSON_ENDPOINTS:
        sent = desk.send(group, path, body, headers=(("accept", accept),), name=accept)
        forwarded(headers={"accept": goes_on})(sent)
