"""One reading of a body: what a content-type, an accept or the name of a form's part would make of it elsewhere."""

from __future__ import annotations

from typing import Optional

import pytest
from e2e.abuse.abuse_desk import RESPONSES, Desk, Sent, forwarded
from e2e.abuse.abuse_document import IMAGE_MODEL
from e2e.abuse.recorder import MARKER
from e2e.raw import Header, Http1, Http2
from e2e.support import credential

EDITS = "/v1/images/edits"


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
