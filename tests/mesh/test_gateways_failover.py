"""Several accounts at the manifests' gateways: the first attempt goes straight to its account, those after a failure by way
of the account hop. Three parts of the filter must share a VM for that, wherever their code comes from."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import mesh_stack
import pytest
from account_vendor import AccountVendor
from mesh_stack import MeshStack
from test_gateways import recorded
from e2e.support import Gateway, run_dir, x_api_key
from waiting import until

BODY = {"model": "claude-opus-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello"}]}
#: Longer than a case takes that needs the account ejected, and short enough to wait for.
ASIDE_SECONDS = 3
#: How an account fails, and what the ledger says of it.
FAILURES: dict[str, tuple[int, dict[str, Any]]] = {
    "401": (401, {"kind": "unauthorized", "status": 401}),
    "429": (429, {"kind": "rate_limited", "status": 429}),
    "529": (529, {"kind": "overloaded", "status": 529}),
    "broken": (0, {"kind": "connection", "status": 0}),
}
CREDENTIALS = {"one": "b-official-1", "two": "b-official-2"}


@dataclass
class Mesh:
    """A gateway, and the vendor of its groups' accounts."""

    gateway: Gateway
    vendor: AccountVendor

    def ask(self, group: str) -> tuple[int, dict[str, Any], list[str]]:
        """A request with the key of a group: the status, the record, and which accounts were asked."""
        before = len(self.vendor.asked)
        answer = self.gateway.request("POST", "/v1/messages", x_api_key(group), json=BODY)
        asked = self.vendor.asked[before:]
        for account, headers in asked:
            credential = CREDENTIALS[account.rsplit(".", 1)[1]]
            assert headers["x-api-key"] == self.credential(credential), f"{account}: another's credential"
            foreign = [name for name in headers if name.startswith(("x-trilane-", "x-envoy-", "x-forwarded-"))]
            assert not foreign, f"{account}: {foreign}"
        record = recorded(self.gateway, answer.headers["x-request-id"])
        return answer.status, record, [account.rsplit(".", 1)[1] for account, _ in asked]

    def credential(self, file: str) -> str:
        return (self.gateway.stack.credentials_dir / file).read_text().strip()

    def ejected_until(self, group: str, account: str) -> float:
        """Of the metric; 0 where there is none."""
        text = httpx.get(f"{self.gateway.stack.admin_url}/stats/prometheus", timeout=10, trust_env=False).text
        name = "trilane_account_ejected_until_timestamp_seconds{"
        wanted = [f'source="{group}"', f'account="{account}"']
        lines = [line for line in text.splitlines() if name in line and all(each in line for each in wanted)]
        return max((float(line.rsplit(" ", 1)[1]) for line in lines), default=0.0)


def document(vendor: AccountVendor) -> dict[str, Any]:
    """A group for each case, so that none meets what another has left. The name of a group is its key."""
    groups = []
    for case in FAILURES:
        group = f"fails-{case}"
        accounts = [
            {"id": name, "url": vendor.url(f"{group}.{name}"), "credential": CREDENTIALS[name], "priority": rank}
            for rank, name in enumerate(CREDENTIALS)
        ]
        groups.append({
            "id": group, "protocol": "B", "clients": "current", "multiplier": "1", "accounts": accounts,
            "failover": {"set_aside_seconds": ASIDE_SECONDS},
            "models": [{"id": "claude-opus-4-5", "prices": {"input": "5", "output": "25"}}],
        })  # fmt: skip
    keys = [
        {"id": group["id"], "sha256": hashlib.sha256(group["id"].encode()).hexdigest(), "group": group["id"]}
        for group in groups
    ]
    return {"currency": "USD", "groups": groups, "keys": keys}


@pytest.fixture(scope="module", params=["istio", "envoy_gateway"])
def mesh(request: pytest.FixtureRequest) -> Iterator[Mesh]:
    assembly = getattr(mesh_stack, request.param)
    with AccountVendor() as vendor:
        run = run_dir(f"mesh-failover-{request.param}")
        with MeshStack(run, assembly, document=document(vendor)) as stack:
            gateway = Gateway(stack)
            gateway.http = stack.client()
            yield Mesh(gateway, vendor)


@pytest.mark.parametrize("case", FAILURES)
def test_another_account_answers(mesh: Mesh, case: str) -> None:
    status, failure = FAILURES[case]
    group = f"fails-{case}"
    first = f"{group}.one"

    # An account that has not answered yet is asked by way of the hop, afterwards it is asked directly.
    for by_hop in True, False:
        code, record, asked = mesh.ask(group)
        assert (code, asked, record["trilane.tries"]) == (200, ["one"], 1), record
        assert record["upstream"].startswith("envoy://account_hop") == by_hop, record
        assert "trilane.tries.failed" not in record, record
    assert mesh.ejected_until(group, "one") < time.time()

    mesh.vendor.statuses[first] = status
    code, record, asked = mesh.ask(group)
    assert (code, asked) == (200, ["one", "two"]), record
    assert (record["trilane.account"], record["trilane.tries"]) == ("two", 2), record
    (failed,) = record["trilane.tries.failed"]
    failed.pop("reason", None)
    assert failed == {"account": "one", **failure}, record
    assert record["trilane.usage.status"] == "complete" and record["gen_ai.usage.output_tokens"] == 5, record

    # It is ejected, for all requests.
    assert until(lambda: mesh.ejected_until(group, "one") > time.time() - ASIDE_SECONDS)
    code, record, asked = mesh.ask(group)
    assert (code, asked, record["trilane.tries"]) == (200, ["two"], 1), record

    # It returns.
    mesh.vendor.statuses[first] = 200
    code, record, asked = until(lambda: next((found for found in [mesh.ask(group)] if found[2] == ["one"]), None))
    assert (code, record["trilane.tries"]) == (200, 1), record


def test_where_both_fail_the_client_gets_the_last_answer(mesh: Mesh) -> None:
    group = "fails-529"
    mesh.vendor.statuses.update({f"{group}.one": 529, f"{group}.two": 429})
    code, record, asked = mesh.ask(group)
    status = {"one": 529, "two": 429}[asked[-1]]
    assert (code, sorted(asked), record["trilane.tries"]) == (status, ["one", "two"], 2), record
    assert [each["account"] for each in record["trilane.tries.failed"]] == asked, record
