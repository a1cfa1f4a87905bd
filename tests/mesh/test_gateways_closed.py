"""What a gateway does while a part of it is missing: nothing gets past, whatever a client says."""

from __future__ import annotations

import mesh_stack
import pytest
from mesh_stack import MeshStack
from e2e.support import Gateway, bearer, run_dir

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
