"""Model lists: their shape, their pages, and that they say exactly what a key may use."""

from __future__ import annotations

import datetime
from typing import Any, Optional
from urllib.parse import quote, urlencode

import pytest
from e2e.request_table.cases_spec import ids
from e2e.request_table.documents import group_of, table_document
from e2e.request_table.rows import bearer, chat, contents, goog, image, messages, vc, x_api_key
from e2e.request_table.table import Caller, Headers, Refused, check_refused


DOCUMENT = table_document()
SHARED_MODEL = {"id", "object", "created", "owned_by", "type", "display_name", "created_at", "lifecycle"}
C_MODEL = {"name", "displayName", "supportedGenerationMethods"}
OFFER = {"entry", "multiplier"}


def get(table: Caller, target: str, headers: Headers) -> Any:
    reply = table.send("GET", target, headers)
    assert reply.status == 200, f"{target}: {reply.status} {reply.body!r}"
    assert reply.header("content-type") == "application/json", target
    assert table.seen(reply) == [], f"{target}: the upstream was asked"
    return reply.json()


# ---- Shapes

SHARED = [
    ("a", bearer("key_a"), "a-official", False),
    ("b", x_api_key("key_b"), "b-official", False),
    ("b-low", x_api_key("key_b_low"), "b-low-rate", False),
    ("b-current", bearer("key_b_current"), "b-current", False),
    ("mixed-by-bearer", bearer("key_mixed"), "mixed", True),
    ("mixed-by-x-api-key", x_api_key("key_mixed"), "mixed", True),
    ("mixed-current", bearer("key_mixed_current"), "mixed-current", True),
]


@pytest.mark.parametrize(("name", "headers", "group", "mixed"), SHARED, ids=[row[0] for row in SHARED])
def test_one_body_for_a_and_b(name: str, headers: Headers, group: str, mixed: bool, table: Caller) -> None:
    body = get(table, "/v1/models", headers)
    assert set(body) == {"object", "data", "first_id", "last_id", "has_more"}, name
    assert (body["object"], body["has_more"]) == ("list", False), name
    want = ids(group)
    assert [model["id"] for model in body["data"]] == want, name
    assert (body["first_id"], body["last_id"]) == (want[0], want[-1]), name
    for model in body["data"]:
        check_shared_model(name, model, mixed)


def check_shared_model(name: str, model: dict[str, Any], mixed: bool) -> None:
    """What the SDKs of A and B demand of an entry, strictly read."""
    where = f"{name}: {model}"
    assert set(model) == SHARED_MODEL | (OFFER if mixed else set()), where
    assert (model["object"], model["type"], model["lifecycle"]) == ("model", "model", "active"), where
    assert type(model["created"]) is int and model["created"] >= 0, where
    assert isinstance(model["owned_by"], str) and model["owned_by"], where
    assert isinstance(model["display_name"], str) and model["display_name"], where
    moment = datetime.datetime.strptime(model["created_at"], "%Y-%m-%dT%H:%M:%SZ")
    assert int(moment.replace(tzinfo=datetime.timezone.utc).timestamp()) == model["created"], where


def test_dates_and_names_come_from_the_document(table: Caller) -> None:
    models = {model["id"]: model for model in get(table, "/v1/models", bearer("key_a"))["data"]}
    assert models["gpt-5.1"]["created_at"] == "2025-11-13T00:00:00Z"
    assert models["gpt-5.1"]["created"] == 1762992000
    assert models["gpt-5.1"]["display_name"] == "GPT-5.1"
    (plain, *_) = get(table, "/v1/models", bearer("a_plain"))["data"]
    assert plain["display_name"] == "gpt-5.1", "the id, where the document has no name"


C_LISTS = [
    ("c", "/v1beta/models", goog("key_c"), ids("c-official"), False),
    ("c-neutral", "/v1beta/models", vc("key_c"), ids("c-official"), False),
    ("c-current", "/v1beta/models", goog("key_c_current"), ids("c-current"), False),
    ("c-current-under-v1", "/v1/models", goog("key_c_current"), ids("c-current"), False),
    ("mixed", "/v1beta/models", goog("mixed_all"), ["gemini-2.5-flash", "gemini-2.5-pro"], True),
    ("mixed-current-under-v1", "/v1/models", vc("key_mixed_current"), ids("c-official"), True),
    ("mixed-without-c-models", "/v1beta/models", goog("key_mixed"), [], True),
    ("mixed-without-a-c-entry", "/v1beta/models", goog("mixed_only_b"), [], True),
]


@pytest.mark.parametrize(("name", "target", "headers", "want", "mixed"), C_LISTS, ids=[row[0] for row in C_LISTS])
def test_c_has_a_body_of_its_own(
    name: str, target: str, headers: Headers, want: list[str], mixed: bool, table: Caller
) -> None:
    body = get(table, target, headers)
    assert set(body) == {"models"}, name
    assert [model["name"] for model in body["models"]] == [f"models/{model}" for model in want], name
    for model in body["models"]:
        assert set(model) == C_MODEL | (OFFER if mixed else set()), f"{name}: {model}"
        assert isinstance(model["displayName"], str) and model["displayName"], f"{name}: {model}"
        assert {"generateContent", "streamGenerateContent"} <= set(model["supportedGenerationMethods"]), (
            f"{name}: {model}"
        )


# ---- Mixed: the real entry and the final multiplier

OFFERS = [
    ("sample-b", "/v1/models", bearer("key_mixed"), "claude-opus-4-5", "vb_messages", "2.0000"),
    ("sample-a", "/v1/models", bearer("key_mixed_current"), "gpt-5.1", "responses", "0.2000"),
    ("sample-c", "/v1/models", bearer("key_mixed_current"), "gemini-2.5-pro", "vc_generate_content", "0.5000"),
    (
        "sample-c-in-its-shape",
        "/v1beta/models",
        goog("key_mixed_current"),
        "models/gemini-2.5-pro",
        "vc_generate_content",
        "0.5000",
    ),
    ("extra-a", "/v1/models", bearer("mixed_all"), "gpt-5.1", "responses", "0.3000"),
    ("extra-b", "/v1/models", x_api_key("mixed_all"), "claude-opus-4-5", "vb_messages", "3.0000"),
    ("extra-c", "/v1beta/models", vc("mixed_all"), "models/gemini-2.5-flash", "vc_generate_content", "0.7500"),
    ("low-rate", "/v1/models", bearer("mixed_low"), "claude-fable-5", "vb_messages", "0.4500"),
    ("vendors-name-of-the-entry", "/v1/models", bearer("mixed_vendor"), "claude-opus-4-5", "vb_messages", "3.0000"),
    ("another-source", "/v1/models", bearer("mixed_locked"), "gpt-5.1", "responses", "1.8750"),
]


@pytest.mark.parametrize(
    ("name", "target", "headers", "model", "entry", "multiplier"), OFFERS, ids=[row[0] for row in OFFERS]
)
def test_mixed_lists_say_entry_and_multiplier(
    name: str, target: str, headers: Headers, model: str, entry: str, multiplier: str, table: Caller
) -> None:
    body = get(table, target, headers)
    found = [m for m in body.get("data", body.get("models")) if model in (m.get("id"), m.get("name"))]
    assert [(m["entry"], m["multiplier"]) for m in found] == [(entry, multiplier)], name
    one = get(table, f"{target}/{model.removeprefix('models/')}", headers)
    assert one == found[0], f"{name}: the single model says the same"


# ---- Nothing, and less than there is


def test_empty_lists_are_valid_lists(table: Caller) -> None:
    empty: dict[str, Any] = {"object": "list", "data": [], "first_id": None, "last_id": None, "has_more": False}
    assert get(table, "/v1/models", bearer("a_empty")) == empty
    assert get(table, "/v1/models", x_api_key("b_empty")) == empty
    assert get(table, "/v1/models", bearer("mixed_empty")) == empty
    assert get(table, "/v1/models?limit=5", x_api_key("b_empty")) == empty
    assert get(table, "/v1beta/models", goog("c_empty")) == {"models": []}
    assert get(table, "/v1beta/models?pageSize=5", goog("mixed_empty")) == {"models": []}


LOCKED = [
    ("a", "/v1/models", bearer("a_plain"), "gpt-locked", ["gpt-5.1", "gpt-plain-2"]),
    ("b", "/v1/models", x_api_key("b_locked"), "claude-locked-1", ["claude-open-1"]),
    ("c", "/v1beta/models", goog("c_locked"), "gemini-locked", ["gemini-open"]),
    ("mixed", "/v1/models", bearer("mixed_locked"), "gpt-locked", ["gpt-5.1", "claude-open-1"]),
    ("mixed-c", "/v1beta/models", goog("mixed_locked"), "gemini-locked", []),
]


@pytest.mark.parametrize(("name", "target", "headers", "locked", "want"), LOCKED, ids=[row[0] for row in LOCKED])
def test_models_without_entitlement_are_not_listed(
    name: str, target: str, headers: Headers, locked: str, want: list[str], table: Caller
) -> None:
    body = get(table, target, headers)
    got = [m.get("id") or m["name"].removeprefix("models/") for m in body.get("data", body.get("models"))]
    assert got == want, name
    assert table.send("GET", f"{target}/{locked}", headers).status == 404, name


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


def test_a_client_that_asks_for_no_page_gets_everything(table: Caller) -> None:
    for query in ("", "?", "?limit=1000", "?beta=true", "?lifecycle[]=active", "?x=%2f&y"):
        body = get(table, f"/v1/models{query}", x_api_key("key_b_low"))
        assert len(body["data"]) == 18, query
        assert body["has_more"] is False, query


BAD_PAGES = [
    ("limit-0", "/v1/models?limit=0", x_api_key("key_b"), "B*", "limit"),
    ("limit-negative", "/v1/models?limit=-1", x_api_key("key_b"), "B*", "limit"),
    ("limit-1001", "/v1/models?limit=1001", x_api_key("key_b"), "B*", "limit"),
    ("limit-text", "/v1/models?limit=ten", x_api_key("key_b"), "B*", "limit"),
    ("limit-huge", "/v1/models?limit=99999999999999999999", bearer("key_a"), "A*", "limit"),
    ("after-unknown", "/v1/models?after_id=nobody", x_api_key("key_b"), "B*", "after_id"),
    ("before-unknown", "/v1/models?before_id=nobody", x_api_key("key_b"), "B*", "before_id"),
    ("after-of-another-key", "/v1/models?after_id=claude-fable-5", x_api_key("key_b"), "B*", "after_id"),
    ("both", "/v1/models?after_id=claude-opus-4-8&before_id=claude-opus-4-1", x_api_key("key_b"), "B*", "before_id"),
    ("c-size-text", "/v1beta/models?pageSize=ten", goog("key_c"), "C", "pageSize"),
    ("c-size-negative", "/v1beta/models?pageSize=-1", goog("key_c"), "C", "pageSize"),
    ("c-token-unknown", "/v1beta/models?pageToken=nobody", goog("key_c"), "C", "pageToken"),
    ("c-token-locked", "/v1beta/models?pageToken=gemini-locked", goog("c_locked"), "C", "pageToken"),
]


@pytest.mark.parametrize(("name", "target", "headers", "shape", "param"), BAD_PAGES, ids=[row[0] for row in BAD_PAGES])
def test_pages_that_cannot_be(name: str, target: str, headers: Headers, shape: str, param: str, table: Caller) -> None:
    reply = table.send("GET", target, headers)
    check_refused(name, Refused(400, shape, "invalid_parameter", param, param=param), reply, table)


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


# ---- Single models

SINGLE = [
    ("a", "/v1/models/gpt-5.1", bearer("key_a"), "gpt-5.1"),
    ("a-dated", "/v1/models/gpt-5.1-2025-11-13", bearer("key_a"), "gpt-5.1"),
    ("a-with-a-slash", "/v1/models/openai/gpt-5.1", bearer("a_edge"), "openai/gpt-5.1"),
    ("a-query", "/v1/models/gpt-5.1?x=1", bearer("key_a"), "gpt-5.1"),
    ("b", "/v1/models/claude-opus-4-5", x_api_key("key_b"), "claude-opus-4-5"),
    ("b-without-version", "/v1/models/claude-opus-4-5", x_api_key("key_b")[:1], "claude-opus-4-5"),
    ("b-dated", "/v1/models/claude-opus-4-5-20251101", x_api_key("key_b"), "claude-opus-4-5"),
    ("b-dotted", "/v1/models/claude-opus-4.5-thinking", x_api_key("key_b"), "claude-opus-4-5"),
    ("b-encoded", "/v1/models/claude-sonnet-4-5-20250929%5B1m%5D", x_api_key("key_b"), "claude-sonnet-4-5"),
    ("b-at-encoded", "/v1/models/claude-opus-4-1%4020250805", x_api_key("key_b"), "claude-opus-4-1"),
    ("b-alias", "/v1/models/claude-4-opus-20250514", x_api_key("key_b"), "claude-opus-4"),
    ("mixed", "/v1/models/claude-opus-4.5", bearer("mixed_all"), "claude-opus-4-5"),
    ("mixed-c-model", "/v1/models/gemini-2.5-pro", bearer("mixed_all"), "gemini-2.5-pro"),
    ("c", "/v1beta/models/gemini-2.5-flash", goog("key_c"), "models/gemini-2.5-flash"),
    ("c-prefix", "/v1beta/models/models/gemini-2.5-flash", goog("key_c"), "models/gemini-2.5-flash"),
    ("c-encoded", "/v1beta/models/gemini%2D2.5-flash", goog("key_c"), "models/gemini-2.5-flash"),
    ("c-current-under-v1", "/v1/models/gemini-2.5-flash", goog("key_c_current"), "models/gemini-2.5-flash"),
    ("mixed-c", "/v1beta/models/gemini-2.5-flash", vc("mixed_all"), "models/gemini-2.5-flash"),
]


@pytest.mark.parametrize(("name", "target", "headers", "want"), SINGLE, ids=[row[0] for row in SINGLE])
def test_single_model(name: str, target: str, headers: Headers, want: str, table: Caller) -> None:
    model = get(table, target, headers)
    mixed = name.startswith("mixed")
    if want.startswith("models/"):
        assert model["name"] == want, name
        assert set(model) == C_MODEL | (OFFER if mixed else set()), name
    else:
        assert model["id"] == want, name
        check_shared_model(name, model, mixed)


NO_SINGLE = [
    ("a", "/v1/models/nobody", bearer("key_a"), "A*", "nobody"),
    ("a-empty-list", "/v1/models/gpt-5.1", bearer("a_empty"), "A*", "gpt-5.1"),
    ("a-locked", "/v1/models/gpt-locked", bearer("a_plain"), "A*", "gpt-locked"),
    ("b", "/v1/models/claude-x", x_api_key("key_b"), "B*", "=model: claude-x"),
    ("b-of-another-group", "/v1/models/claude-fable-5", x_api_key("key_b"), "B*", "=model: claude-fable-5"),
    ("b-bearer", "/v1/models/claude-x", bearer("key_b_current"), "A*", "claude-x"),
    ("c", "/v1beta/models/gemini-x", goog("key_c"), "C", "models/gemini-x is not found"),
    ("c-under-v1", "/v1/models/gemini-x", goog("key_c_current"), "C*", "models/gemini-x is not found"),
    ("c-locked", "/v1beta/models/gemini-locked", goog("c_locked"), "C", "models/gemini-locked"),
    ("mixed-not-shown", "/v1/models/claude-opus-4-8", bearer("mixed_all"), "A*", "claude-opus-4-8"),
    ("mixed-b-model-in-the-c-list", "/v1beta/models/claude-opus-4-5", goog("mixed_all"), "C", "vb_messages"),
]


@pytest.mark.parametrize(("name", "target", "headers", "shape", "says"), NO_SINGLE, ids=[row[0] for row in NO_SINGLE])
def test_no_such_model(name: str, target: str, headers: Headers, shape: str, says: str, table: Caller) -> None:
    reply = table.send("GET", target, headers)
    param = None if shape == "C" else "model"
    check_refused(name, Refused(404, shape, "model_not_found", says, param=param), reply, table)
