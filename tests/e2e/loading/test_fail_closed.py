"""Without a policy, or with an Envoy that is set up wrongly: nothing undecided ever reaches an upstream."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from e2e.loading.variants import (
    CALLS,
    Edit,
    Variant,
    client,
    error_type,
    loader_apart,
    loader_log,
    no_loader,
)
from e2e.support import Gateway, bearer, goog, run_dir, x_api_key
from waiting import until

#: Ways to have no policy.
WITHOUT: dict[str, list[Edit]] = {
    "no loader at all": [no_loader],
    "a loader with another vm_id": [loader_apart],
}


@pytest.fixture(scope="module", params=WITHOUT)
def without(request: pytest.FixtureRequest) -> Iterator[Gateway]:
    """A gateway that never has a policy."""
    edits = WITHOUT[request.param]
    with Variant(run_dir(f"closed-{request.param.replace(' ', '-')}"), *edits, ready=False) as stack:
        if loader_apart in edits:
            # The loader has done its work, where the filter cannot see it.
            until(lambda: any("is in force" in line for line in loader_log(stack)), check=stack.check)
        yield client(stack)


ERRORS = {"A": "server_error", "B": "api_error", "C": "UNAVAILABLE"}

#: Endpoints besides the generation requests: protocol, method, path, headers.
OTHERS = {
    "list": ("A", "GET", "/v1/models", bearer("key_a")),
    "list, B": ("B", "GET", "/v1/models", x_api_key("key_b")),
    "list, C": ("C", "GET", "/v1beta/models", goog("key_c")),
    "one model": ("A", "GET", "/v1/models/gpt-5.1", bearer("key_a")),
    "an unknown key": ("A", "GET", "/v1/models", bearer("nobody's")),
    "count_tokens": ("B", "POST", "/v1/messages/count_tokens", x_api_key("key_b")),
    "images": ("A", "POST", "/v1/images/generations", bearer("key_a")),
    "alias": ("A", "POST", "/responses", bearer("key_a")),
}


@pytest.mark.parametrize("protocol", CALLS)
def test_a_key_gets_503_never_401(without: Gateway, protocol: str) -> None:
    answer = CALLS[protocol].send(without)
    refused(answer, protocol)


@pytest.mark.parametrize(("protocol", "method", "path", "headers"), OTHERS.values(), ids=OTHERS)
def test_other_endpoints(without: Gateway, protocol: str, method: str, path: str, headers: dict[str, str]) -> None:
    body = None if method == "GET" else {"model": "gpt-5.1"}
    refused(without.request(method, path, headers, json=body), protocol)


def refused(answer: Any, protocol: str) -> None:
    assert answer.status == 503, answer.text
    assert error_type(protocol, answer.json()) == ERRORS[protocol]
    assert int(answer.headers["retry-after"]) >= 1
    assert answer.headers["x-trilane-error"] == "server_is_overloaded"
    assert answer.seen == []


def test_health_is_503(without: Gateway) -> None:
    answer = without.request("GET", "/healthz")
    assert answer.status == 503
    assert "retry-after" in answer.headers
    assert answer.seen == []


def test_what_needs_no_policy_is_answered_as_ever(without: Gateway) -> None:
    """These say nothing about a key."""
    assert without.request("GET", "/v1/v1/models", bearer("key_a")).status == 404
    assert without.request("GET", "/v1/models").status == 401
    assert without.request("DELETE", "/v1/models", bearer("key_a")).status == 405


# ---- Envoy without `allow_on_headers_stop_iteration`


def no_stop_iteration(text: str) -> str:
    return text.replace("allow_on_headers_stop_iteration: true", "allow_on_headers_stop_iteration: false")


@pytest.fixture(scope="module")
def without_flag() -> Iterator[Gateway]:
    with Variant(run_dir("closed-without-flag"), no_stop_iteration) as stack:
        yield client(stack)


BODIES = {
    "a model of the list": ({"model": "gpt-5.1", "messages": []}, False),
    "a model not of the list": ({"model": "gpt-forbidden", "messages": []}, False),
    "no model": ({"messages": []}, False),
    "a model not of the list, chunked": ({"model": "gpt-forbidden", "messages": []}, True),
}


@pytest.mark.parametrize(("body", "chunked"), BODIES.values(), ids=BODIES)
def test_without_the_flag_nothing_goes_through(without_flag: Gateway, body: dict[str, Any], chunked: bool) -> None:
    """Envoy then shows the filter no body while the head is held: the request hangs, and is never forwarded."""
    marker = f"flag-{json.dumps(body)}-{chunked}"
    target = urlsplit(without_flag.stack.base_url)
    connection = http.client.HTTPConnection(target.hostname or "", target.port, timeout=1)
    headers = {**bearer("key_a"), "content-type": "application/json", "x-sim-marker": marker}
    text = json.dumps(body).encode()
    sent = iter([text]) if chunked else text
    connection.request("POST", "/v1/chat/completions", sent, headers, encode_chunked=chunked)
    try:
        status = connection.getresponse().status
    except (socket.timeout, TimeoutError):
        status = 0
    finally:
        connection.close()
    assert status != 200, "it was let through"
    assert without_flag.seen(marker) == []
    # What needs no body works, so the worker is well.
    assert without_flag.request("GET", "/v1/models", bearer("key_a")).status == 200
