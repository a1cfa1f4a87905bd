"""Requests for pictures, in each form that the images endpoints take."""

from __future__ import annotations

import json
from typing import Any

from e2e.limits.limited_document import IMAGE_MODEL

_GENERATIONS, _EDITS = "/v1/images/generations", "/v1/images/edits"
_BOUNDARY = "limits-boundary"
_FORM = (("content-type", f"multipart/form-data; boundary={_BOUNDARY}"),)
_ASKED = {"model": IMAGE_MODEL, "prompt": "a hat"}


def form(picture: bytes = b"\x89PNG\r\n", **fields: str) -> bytes:
    """What a client uploads to have a picture changed: the fields, and the picture."""
    parts = [
        f'--{_BOUNDARY}\r\ncontent-disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in {**_ASKED, **fields}.items()
    ]
    head = f'--{_BOUNDARY}\r\ncontent-disposition: form-data; name="image"; filename="a.png"\r\n'
    file = head.encode() + b"content-type: image/png\r\n\r\n" + picture
    return b"".join(parts) + file + f"\r\n--{_BOUNDARY}--\r\n".encode()


def uploaded(body: bytes) -> dict[str, Any]:
    """The form as a request: what `Desk.call` takes."""
    return {"path": _EDITS, "body": body, "headers": _FORM}


def _json(path: str, **more: Any) -> dict[str, Any]:
    return {"path": path, "body": json.dumps({**_ASKED, **more}).encode()}


#: What `Desk.call` takes for each.
FORMS: dict[str, dict[str, Any]] = {
    "generations": _json(_GENERATIONS),
    "generations, streamed": _json(_GENERATIONS, stream=True),
    "edits": _json(_EDITS),
    "edits, streamed": _json(_EDITS, stream=True),
    "edits by a form": uploaded(form()),
    "edits by a form, streamed": uploaded(form(stream="true")),
}
