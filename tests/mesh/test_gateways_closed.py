"""What a gateway does while a part of it is missing: nothing gets past, whatever a client says."""

from __future__ import annotations

import mesh_stack
import pytest
from mesh_stack import MeshStack
from e2e.support import Gateway, bearer, goog, run_dir

ORDERS = {"x-trilane-cluster": "source/a-official", "x-trilane-account": "account/a-official/a-official-1"}
BODY = {"model": "gpt-5.1", "messages": [{"role": "user", "content": "Hello"}]}

#: Which assembly, and what every request gets.
MISSING = {
    "istio_without_image": 403,
    "istio_without_patches": 503,
    "envoy_gateway_without_image": 502,
}


@pytest.mark.parametrize("name", MISSING)
def test_nothing_gets_past(name: str) -> None:
    status = MISSING[name]
    with MeshStack(run_dir(f"mesh-{name}"), getattr(mesh_stack, name), ready=status) as stack:
        gateway = Gateway(stack)
        gateway.http = stack.client()
        for headers in {}, bearer("key_a"), ORDERS, {**ORDERS, **bearer("key_a")}:
            answer = gateway.request("POST", "/v1/chat/completions", headers, json=BODY)
            assert (answer.status, answer.seen) == (status, []), f"{name}: {headers}: {answer.text}"


@pytest.mark.parametrize("name", ["istio_without_failover", "envoy_gateway_without_failover"])
def test_without_failover_no_other_account_is_asked(name: str) -> None:
    """The first attempt goes straight to its account. The way to another one is not there."""
    with MeshStack(run_dir(f"mesh-{name}"), getattr(mesh_stack, name)) as stack:
        gateway = Gateway(stack)
        gateway.http = stack.client()
        answer = gateway.request("POST", "/v1/chat/completions", bearer("key_a"), json=BODY)
        assert (answer.status, len(answer.seen)) == (200, 1), f"{name}, three accounts: {answer.text}"
        failing = {**bearer("key_a"), "x-sim-status": "529"}
        answer = gateway.request("POST", "/v1/chat/completions", failing, json=BODY)
        assert (answer.status, len(answer.seen)) == (502, 1), f"{name}, a failing account: {answer.text}"
        path = "/v1beta/models/gemini-2.5-flash:generateContent"
        body = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}
        answer = gateway.request("POST", path, goog("key_c"), json=body)
        assert answer.status == 200, f"{name}, one account: {answer.text}"
