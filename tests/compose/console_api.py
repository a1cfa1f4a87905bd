"""The API of the stack's console, with the first admin's token."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import httpx
from compose_tools import COMPOSE, check, run

CONSOLE = f"http://127.0.0.1:{os.environ['CONSOLE_PORT']}"


def token() -> str:
    """The first admin's."""
    return run(COMPOSE, "exec", "-T", "gateway", "cat", "/data/admin.token").strip()


def call(method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
    """A request to the API."""
    headers["authorization"] = f"Bearer {token()}"
    return httpx.request(method, f"{CONSOLE}/api/v1{path}", json=body, headers=headers, timeout=30, trust_env=False)


def publish(change: Callable[[dict[str, Any]], None]) -> httpx.Response:
    """Publishes the document in force with a change; what is said to it."""
    draft = call("POST", "/drafts", {"note": "a test"}).json()
    body = json.loads(draft["body"])
    change(body)
    put = call(
        "PUT",
        f"/drafts/{draft['id']}",
        {"body": json.dumps(body), "note": "a test"},
        **{"if-match": f'"{draft["revision"]}"'},
    )
    check(f"a draft is saved: {put.status_code}", put.status_code == 200)
    return call("POST", f"/drafts/{draft['id']}/publish", **{"if-match": put.headers["etag"]})


def usage() -> dict[str, tuple[int, str]]:
    """Requests and charges by key."""
    found: dict[str, tuple[int, str]] = {}
    # What has no price, such as a list of models, is in no currency and so in a row of its own, without a charge.
    for item in call("GET", "/usage?by=key&limit=500").json()["items"]:
        key = item["values"]["key"]
        requests, charge = found.get(key, (0, "0"))
        found[key] = (requests + item["counts"]["requests"], item["charge"] if item["currency"] else charge)
    return found
