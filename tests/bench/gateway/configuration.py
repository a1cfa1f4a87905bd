"""Parts of `envoy.yaml` that are replaced, by exact text; a change there that they do not fit ends the run."""

from __future__ import annotations

import json
from typing import Any

from stack import StackError

#: The group that all keys are bound to, and its cluster.
GROUP, CLUSTER = "a-official", "a_official"

FILTER = f"{' ' * 18}- name: trilane\n{' ' * 20}typed_config:\n"
ROUTER = f"{' ' * 18}- name: envoy.filters.http.router\n"
BY_HEADER = "cluster_header: x-trilane-cluster # set by the filter for every request that it lets pass\n"
TO_SOURCE = f"{' ' * 28}cluster: {CLUSTER}\n"
ROUTE = f"{' ' * 24}- match: {{prefix: /}}\n{' ' * 26}route:\n{TO_SOURCE}"
LEDGER = "%FILTER_STATE(wasm.ledger:PLAIN)%"
LAST_DOOR = f"{' ' * 12}- name: envoy.filters.http.upstream_codec # sends the request; always last\n"
SECRETS = "static_resources:\n"

#: A rule for local replies that changes nothing.
LEAVE_ALONE = {
    "filter": {
        "extension_filter": {
            "name": "cel",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.access_loggers.filters.cel.v3.ExpressionFilter",
                "expression": "response.code_details == 'direct_response'",
            },
        }
    }
}


def with_upstream_credential(text: str) -> str:
    """Each request leaves with the credential of the source."""
    generic = typed(
        "envoy.extensions.http.injected_credentials.generic.v3.Generic",
        {"credential": {"name": "source_key"}, "header": "authorization", "header_value_prefix": "Bearer "},
    )
    injector = {
        "name": "envoy.filters.http.credential_injector",
        "typed_config": typed(
            "envoy.extensions.filters.http.credential_injector.v3.CredentialInjector",
            {"overwrite": True, "credential": {"name": "source_key", "typed_config": generic}},
        ),
    }
    secret = {"name": "source_key", "generic_secret": {"secret": {"inline_string": "the-key-of-the-source"}}}
    text = replaced(text, LAST_DOOR, f"{' ' * 12}- {yaml(injector)}\n{LAST_DOOR}")
    return replaced(text, SECRETS, f"{SECRETS}  secrets: [{yaml(secret)}]\n")


def direct_route(path: str, status: int, body: bytes) -> dict[str, Any]:
    kind = {"header": {"key": "content-type", "value": "application/json"}, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"}
    return {
        "match": {"path": path},
        "direct_response": {"status": status, "body": {"inline_string": body.decode()}},
        "response_headers_to_add": [kind],
    }


def http_filter(name: str, kind: str, config: dict[str, Any]) -> str:
    return f"{' ' * 18}- {yaml({'name': name, 'typed_config': typed(kind, config)})}\n"


def typed(kind: str, config: dict[str, Any]) -> dict[str, Any]:
    return {"@type": f"type.googleapis.com/{kind}", **config}


def yaml(value: object) -> str:
    """JSON, which YAML reads too."""
    return json.dumps(value)


def replaced(text: str, old: str, new: str) -> str:
    if text.count(old) != 1:
        raise StackError(f"envoy.yaml has {old!r} {text.count(old)} times; tests/bench/gateway expects it once.")
    return text.replace(old, new)


def without(text: str, start: str, end: str, new: str) -> str:
    """`text` with `new` for everything from `start` to before the next `end`."""
    before, found, rest = text.partition(start)
    _, also, after = rest.partition(end)
    if not found or not also:
        raise StackError(f"envoy.yaml has no {start!r} with {end!r} behind it; tests/bench/gateway expects them.")
    return before + new + end + after
