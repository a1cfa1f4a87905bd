"""Model lists: their shape, their pages, and that they say exactly what a key may use."""

from __future__ import annotations

from typing import Any, Optional
from urllib.parse import quote, urlencode

import pytest
from e2e.request_table.cases_spec import ids
from e2e.request_table.documents import group_of, table_document
from e2e.request_table.rows import bearer, chat, contents, goog, image, messages, x_api_key
from e2e.request_table.table import Caller, Headers


DOCUMENT = table_document()


def get(table: Caller, target: str, headers: Headers) -> Any:
    reply = table.send("GET", target, headers)
    assert reply.status == 200, f"{target}: {reply.status} {reply.body!r}"
    assert reply.header("content-type") == "application/json", target
    assert table.seen(reply) == [], f"{target}: the upstream was asked"
    return reply.json()


# ---- Pages


@pytest.mark.parametrize("limit", [1, 2, 4, 10, 11, 12, 1000])
def test_pages_of_b_walk_through_everything(limit: int, table: Caller) -> None:
    headers, want = x_api_key("key_b"), ids("b-official")
    for direction, edge in (("after_id", "last_id"), ("before_id", "first_id")):
        walked: list[str] = []
        cursor: Optional[str] = None
        if direction == "before_id":
            cursor = want[-1]
            walked = [want[-1]]
        for _ in range(len(want) + 1):
            query = urlencode({"limit": limit, **({direction: cursor} if cursor else {})})
            page = get(table, f"/v1/models?{query}", headers)
            page_ids = [model["id"] for model in page["data"]]
            assert len(page_ids) <= limit, f"{direction} {limit}"
            assert page["first_id"] == (page_ids[0] if page_ids else None), f"{direction} {limit}"
            assert page["last_id"] == (page_ids[-1] if page_ids else None), f"{direction} {limit}"
            walked = walked + page_ids if direction == "after_id" else page_ids + walked
            if not page["has_more"]:
                break
            assert len(page_ids) == limit, f"{direction} {limit}: a page that is not the last is full"
            cursor = page[edge]
        assert walked == want, f"{direction} {limit}"


@pytest.mark.parametrize(
    ("target", "headers", "group"),
    [("/v1beta/models", goog("key_c"), "c-official"), ("/v1/models", goog("key_c_current"), "c-current")],
    ids=["v1beta", "v1"],
)
@pytest.mark.parametrize("size", [1, 3, 9, 10, 11, 1000])
def test_pages_of_c_walk_through_everything(
    size: int, target: str, headers: Headers, group: str, table: Caller
) -> None:
    want = ids(group)
    walked: list[str] = []
    token: Optional[str] = None
    for _ in range(len(want) + 1):
        query = urlencode({"pageSize": size, **({"pageToken": token} if token else {})})
        page = get(table, f"{target}?{query}", headers)
        assert set(page) <= {"models", "nextPageToken"}, size
        walked += [model["name"].removeprefix("models/") for model in page["models"]]
        assert len(page["models"]) <= size
        token = page.get("nextPageToken")
        if token is None:
            break
        assert isinstance(token, str) and token, size
    assert walked == want, f"page size {size}"


def test_pages_of_a_mixed_list(table: Caller) -> None:
    """The pages of a Mixed key's C list count its C models only."""
    page = get(table, "/v1beta/models?pageSize=1", goog("mixed_all"))
    assert [m["name"] for m in page["models"]] == ["models/gemini-2.5-flash"]
    rest = get(table, f"/v1beta/models?pageSize=1&pageToken={quote(page['nextPageToken'])}", goog("mixed_all"))
    assert [m["name"] for m in rest["models"]] == ["models/gemini-2.5-pro"]
    assert "nextPageToken" not in rest
    page = get(table, "/v1/models?limit=2&after_id=gpt-5.1", x_api_key("mixed_all"))
    assert [m["id"] for m in page["data"]] == ["claude-opus-4-5", "gemini-2.5-flash"]
    assert page["has_more"] is True


# ---- The list is the truth: what it shows can be used, what it does not show cannot


def _generation(model: dict[str, Any], protocol: str, key: str) -> tuple[str, Headers, bytes]:
    """A generation request that asks for this model the way its protocol does."""
    name = model["id"]
    if protocol == "A":
        of_images = model.get("kind") == "image"
        return (
            "/v1/images/generations" if of_images else "/v1/chat/completions",
            bearer(key),
            image(name) if of_images else chat(name),
        )
    if protocol == "B":
        return "/v1/messages", x_api_key(key), messages(name)
    return f"/v1beta/models/{name}:generateContent", goog(key), contents()


KEYS_BY_PROTOCOL = [
    ("key_a", "a-official", "A"),
    ("key_b", "b-official", "B"),
    ("key_b_low", "b-low-rate", "B"),
    ("key_c", "c-official", "C"),
    ("a_plain", "t-a-plain", "A"),
    ("b_names", "t-b-names", "B"),
    ("c_locked", "t-c-locked", "C"),
]


@pytest.mark.parametrize(("key", "group", "protocol"), KEYS_BY_PROTOCOL, ids=[row[0] for row in KEYS_BY_PROTOCOL])
def test_what_is_listed_can_be_used_and_nothing_else(key: str, group: str, protocol: str, table: Caller) -> None:
    own = group_of(DOCUMENT, group)
    if protocol == "C":
        shown = {m["name"].removeprefix("models/") for m in get(table, "/v1beta/models", goog(key))["models"]}
    else:
        shown = {m["id"] for m in get(table, "/v1/models", bearer(key) if protocol == "A" else x_api_key(key))["data"]}
    everywhere = {m["id"]: m for g in DOCUMENT["groups"] if g["protocol"] == protocol for m in g["models"]}
    everywhere.update({m["id"]: m for m in own["models"]})
    assert shown and shown < set(everywhere), "there is something to compare"
    for name, model in everywhere.items():
        target, headers, body = _generation(
            {**model, "kind": model.get("kind") if own.get("image_generation") else None}, protocol, key
        )
        reply = table.send("POST", target, headers, body)
        if name in shown:
            assert reply.status == 200, f"{key}: {name} is listed: {reply.status} {reply.body!r}"
        else:
            want = (403, "model_not_entitled") if model in own["models"] else (404, "model_not_found")
            assert (reply.status, reply.header("x-trilane-error")) == want, f"{key}: {name} is not listed"
            assert table.seen(reply) == [], f"{key}: {name} reached the upstream"


@pytest.mark.parametrize("key", ["key_mixed", "key_mixed_current", "mixed_all", "mixed_locked"])
def test_what_a_mixed_list_shows_works_at_its_entry_and_nowhere_else(key: str, table: Caller) -> None:
    protocols = {"responses": "A", "vb_messages": "B", "vc_generate_content": "C"}
    shown = get(table, "/v1/models", bearer(key))["data"]
    assert shown
    for model in shown:
        for entry, protocol in protocols.items():
            target, headers, body = _generation(model, protocol, key)
            reply = table.send("POST", target, headers, body)
            if entry == model["entry"]:
                assert reply.status == 200, f"{key}: {model['id']} at {entry}: {reply.body!r}"
            else:
                assert (reply.status, reply.header("x-trilane-error")) == (404, "model_not_found"), (
                    f"{key}: {model['id']} at {entry}"
                )
                assert model["entry"] in reply.json()["error"]["message"], f"{key}: {model['id']} at {entry}"
                assert table.seen(reply) == [], f"{key}: {model['id']} at {entry}"
