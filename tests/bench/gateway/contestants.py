"""Who competes: one Envoy each, all from the `envoy.yaml` that is shipped, with another filter in it or none."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Optional

from bodies import MODEL
from machine import Cores, pinned, resident
from stack import SAMPLE_DOCUMENT, SOURCES, TARGET, Stack, StackError

NOOP_WASM = TARGET / "wasm32-wasip1" / "release" / "trilane_noop.wasm"

#: Digits of a key's number. The load generator fills them in where its header has as many `#`.
DIGITS = 9
WRONG_KEY = "bench-wrong"
#: The group that all keys are bound to, and its cluster.
GROUP, CLUSTER = "a-official", "a_official"

#: The file that holds the source's credential, where there are accounts.
CREDENTIAL = "source_key"

#: The longest document that `envoy.yaml` serves to its loader, in bytes.
DOCUMENT_LIMIT = 8388608


def key(number: int) -> str:
    return f"bench-{number:0{DIGITS}}"


def document(keys: int, accounts: int = 0) -> bytes:
    """The sample document with these keys instead of its own, and for their group as many accounts or a cluster by hand."""
    base = json.loads(SAMPLE_DOCUMENT.read_bytes())
    for group in base["groups"]:
        if group.pop("accounts", None):
            group["cluster"] = CLUSTER
        group.pop("failover", None)
        if group["id"] == GROUP and accounts:
            del group["cluster"]
            group["accounts"] = [
                {"id": f"account-{number}", "url": f"http://upstream:{SOURCES[CLUSTER]}", "credential": CREDENTIAL}
                for number in range(accounts)
            ]
    base["keys"] = [
        {"id": f"k{number}", "sha256": hashlib.sha256(key(number).encode()).hexdigest(), "group": GROUP}
        for number in range(keys)
    ]
    return json.dumps(base, separators=(",", ":")).encode()


class Contestant(Stack):
    """A gateway on its own ports, in front of the mock."""

    def __init__(self, name: str, title: str, run_dir: Path, mock: str, cores: Cores, keys: int, accounts: int = 0) -> None:
        """`keys` is how many keys it knows, `accounts` how many upstream accounts of the document it has."""
        super().__init__(
            run_dir / name,
            document=document(keys, accounts),
            upstream=mock,
            concurrency=1,
            envoy_log_level="error",
        )
        self.name = name
        self.title = title
        self.keys = keys
        self.cores = cores

    def render(self) -> Path:
        """The configuration of this contestant."""
        path = super().render()
        path.write_text(self.configured(path.read_text(encoding="utf-8")), encoding="utf-8")
        return path

    def configured(self, text: str) -> str:
        """What makes it this contestant."""
        return text

    def _start_envoy(self) -> None:
        with pinned(self.cores.gateway):
            super()._start_envoy()

    @property
    def pid(self) -> int:
        return self.pids["Envoy"]

    @property
    def address(self) -> str:
        return self.base_url.removeprefix("http://")

    @property
    def resident(self) -> int:
        """Resident memory, in bytes."""
        return resident(self.pid)

    @property
    def rejected_path(self) -> Optional[str]:
        """Where 401 is answered, if that does not depend on the key."""
        return None

    def forget_log(self) -> None:
        """Its access log grows by gigabytes otherwise. The hole that stays in the file takes no room."""
        with self.access_log.open("rb+") as log:
            log.truncate(0)


class Trilane(Contestant):
    """The shipped configuration, and an upstream credential, as any real source needs one."""

    def configured(self, text: str) -> str:
        if len(self.document) > DOCUMENT_LIMIT or f"max_direct_response_body_size_bytes: {DOCUMENT_LIMIT}\n" not in text:
            raise StackError(f"envoy.yaml does not serve a document of {len(self.document)} bytes.")
        return _with_upstream_credential(text)


class Accounts(Trilane):
    """The same with several accounts of the document: the way to them, the filter of tries, the choice among them."""

    def configured(self, text: str) -> str:
        return text

    def prepare(self) -> None:
        self.credentials_dir.mkdir(parents=True, exist_ok=True)
        (self.credentials_dir / CREDENTIAL).write_text("the-key-of-the-source")
        super().prepare()


class Bare(Contestant):
    """The same Envoy without the filter; lists and refusals are direct responses of the same bytes."""

    def __init__(self, *arguments: Any, answers: dict[str, bytes], **more: Any) -> None:
        """`answers` are trilane's own: `list` and `rejected`."""
        super().__init__(*arguments, **more)
        self.answers = answers

    @property
    def rejected_path(self) -> Optional[str]:
        return "/rejected"

    def configured(self, text: str) -> str:
        text = _without(text, "  # The configuration loader:", "static_resources:\n", "")
        text = _without(text, FILTER, ROUTER, self.filters())
        text = _replace(text, BY_HEADER, f"cluster: {CLUSTER}\n")
        # The replies of the sample's `local_reply_config` are not for these.
        text = _replace(text, "                  mappers:\n", f"                  mappers:\n{' ' * 20}- {_yaml(LEAVE_ALONE)}\n")
        return _replace(text, ROUTE, "".join(f"{' ' * 24}- {_yaml(route)}\n" for route in self.routes()) + ROUTE)

    def filters(self) -> str:
        """What stands in the filter's place."""
        return ""

    def routes(self) -> list[dict[str, Any]]:
        """The routes before the one that forwards."""
        return [
            {"match": {"path": "/healthz"}, "direct_response": {"status": 200}},
            _direct("/v1/models", 200, self.answers["list"]),
            _direct("/rejected", 401, self.answers["rejected"]),
        ]


class Noop(Bare):
    """A wasm filter that does nothing, set up as trilane is."""

    def filters(self) -> str:
        config = {
            "name": "noop",
            "allow_on_headers_stop_iteration": True,
            "failure_policy": "FAIL_RELOAD",
            "vm_config": {
                "vm_id": "noop",
                "runtime": "envoy.wasm.runtime.v8",
                "code": {"local": {"filename": str(NOOP_WASM)}},
            },
        }
        return _filter("noop", "envoy.extensions.filters.http.wasm.v3.Wasm", {"config": config})

    def prepare(self) -> None:
        if not NOOP_WASM.exists():
            raise StackError(f"The empty filter is not built: {NOOP_WASM} does not exist. Run `make bench`.")
        super().prepare()


class Native(Bare):
    """Envoy's own filters, as far as they do the same: key, model, entitlement, upstream credential, usage.

    They know no groups, lists, prices or protocols' own errors, and publish the usage where no text log can read it.
    """

    @property
    def rejected_path(self) -> Optional[str]:
        return None

    def configured(self, text: str) -> str:
        text = super().configured(text)
        members = ',"trilane.key.id":"%REQ(X-CLIENT)%","gen_ai.request.model":"%FILTER_STATE(envoy.ai.model.request:PLAIN)%"'
        text = _replace(text, f"{' ' * 28}{LEDGER}}}\n", f"{' ' * 28}{LEDGER}{members}}}\n")
        manager = "envoy.extensions.filters.http.ai_protocol_manager.v3.AiProtocolManagerPerRoute"
        per_route = _any(manager, {"request": {"llm_protocol": "OPENAI_CHAT_COMPLETIONS"}})
        declared = _yaml({"envoy.filters.http.ai_protocol_manager": per_route})
        text = _replace(text, ROUTE, f"{' ' * 24}- match: {{prefix: /}}\n{' ' * 26}typed_per_filter_config: {declared}\n{' ' * 26}route:\n{TO_SOURCE}")
        return _with_upstream_credential(text)

    def filters(self) -> str:
        models = [model["id"] for group in json.loads(self.document)["groups"] if group["id"] == GROUP for model in group["models"]]
        if MODEL not in models:
            raise StackError(f"the sample document has no model {MODEL} in {GROUP}")
        keys = {
            # The client's name tells its group.
            "credentials": [{"client": f"{GROUP}/k{number}", "key": key(number)} for number in range(self.keys)],
            "key_sources": [{"header": "authorization"}],
            "forwarding": {"header": "x-client", "hide_credentials": True},
        }
        manager = {
            "request_handling": {},
            "response_handling": {"token_usage": {}},
            "filters": [
                {
                    "name": "envoy.http.ai_filters.request_info",
                    "typed_config": _any("envoy.extensions.http.ai_filters.request_info.v3.RequestInfo", {}),
                }
            ],
        }
        entitled = [{"filter_state": {"key": "envoy.ai.model.request", "string_match": {"exact": model}}} for model in models]
        client = {"header": {"name": "x-client", "string_match": {"prefix": f"{GROUP}/"}}}
        rules = {
            "action": "ALLOW",
            "policies": {
                "models": {
                    "permissions": [{"any": True}],
                    "principals": [{"and_ids": {"ids": [client, {"or_ids": {"ids": entitled}}]}}],
                },
                "lists": {
                    "permissions": [{"url_path": {"path": {"exact": path}}} for path in ("/v1/models", "/healthz")],
                    "principals": [{"any": True}],
                },
            },
        }
        http = "envoy.extensions.filters.http"
        return (
            _filter("envoy.filters.http.api_key_auth", f"{http}.api_key_auth.v3.ApiKeyAuth", keys)
            + _filter("envoy.filters.http.ai_protocol_manager", f"{http}.ai_protocol_manager.v3.AiProtocolManager", manager)
            + _filter("envoy.filters.http.rbac", f"{http}.rbac.v3.RBAC", {"rules": rules})
        )

    def routes(self) -> list[dict[str, Any]]:
        health, models, _ = super().routes()
        switched_off = _any("envoy.config.route.v3.FilterConfig", {"disabled": True})
        health["typed_per_filter_config"] = {"envoy.filters.http.api_key_auth": switched_off}
        return [health, models]


# ---- Parts of `envoy.yaml` that are replaced, by exact text; a change there that they do not fit ends the run

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


def _with_upstream_credential(text: str) -> str:
    """Each request leaves with the credential of the source."""
    generic = _any(
        "envoy.extensions.http.injected_credentials.generic.v3.Generic",
        {"credential": {"name": "source_key"}, "header": "authorization", "header_value_prefix": "Bearer "},
    )
    injector = {
        "name": "envoy.filters.http.credential_injector",
        "typed_config": _any(
            "envoy.extensions.filters.http.credential_injector.v3.CredentialInjector",
            {"overwrite": True, "credential": {"name": "source_key", "typed_config": generic}},
        ),
    }
    secret = {"name": "source_key", "generic_secret": {"secret": {"inline_string": "the-key-of-the-source"}}}
    text = _replace(text, LAST_DOOR, f"{' ' * 12}- {_yaml(injector)}\n{LAST_DOOR}")
    return _replace(text, SECRETS, f"{SECRETS}  secrets: [{_yaml(secret)}]\n")


def _direct(path: str, status: int, body: bytes) -> dict[str, Any]:
    kind = {"header": {"key": "content-type", "value": "application/json"}, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"}
    return {
        "match": {"path": path},
        "direct_response": {"status": status, "body": {"inline_string": body.decode()}},
        "response_headers_to_add": [kind],
    }


def _filter(name: str, kind: str, config: dict[str, Any]) -> str:
    return f"{' ' * 18}- {_yaml({'name': name, 'typed_config': _any(kind, config)})}\n"


def _any(kind: str, config: dict[str, Any]) -> dict[str, Any]:
    return {"@type": f"type.googleapis.com/{kind}", **config}


def _yaml(value: object) -> str:
    """JSON, which YAML reads too."""
    return json.dumps(value)


def _replace(text: str, old: str, new: str) -> str:
    if text.count(old) != 1:
        raise StackError(f"envoy.yaml has {old!r} {text.count(old)} times; tests/bench/gateway expects it once.")
    return text.replace(old, new)


def _without(text: str, start: str, end: str, new: str) -> str:
    """`text` with `new` for everything from `start` to before the next `end`."""
    before, found, rest = text.partition(start)
    _, also, after = rest.partition(end)
    if not found or not also:
        raise StackError(f"envoy.yaml has no {start!r} with {end!r} behind it; tests/bench/gateway expects them.")
    return before + new + end + after


#: How many keys a contestant has that no other number is said of.
FEW = 10


def lineup(run_dir: Path, mock: str, cores: Cores, answers: dict[str, bytes]) -> list[Contestant]:
    """The contestants but trilane itself, whose answers the others borrow."""
    return [
        Bare("bare", "bare Envoy", run_dir, mock, cores, FEW, answers=answers),
        Noop("noop", "no-op wasm filter", run_dir, mock, cores, FEW, answers=answers),
        with_keys("native", FEW, run_dir, mock, cores, answers),
        Accounts("accounts", "trilane, two accounts", run_dir, mock, cores, FEW, accounts=2),
    ]


def with_keys(
    kind: str, keys: int, run_dir: Path, mock: str, cores: Cores, answers: Optional[dict[str, bytes]] = None
) -> Contestant:
    """Trilane, or with `kind` `native` Envoy's own filters, with so many keys."""
    name, title = kind, {"trilane": "trilane", "native": "Envoy's AI filters"}[kind]
    if keys != FEW:
        name, title = f"{kind}-{keys}", title + ", " + f"{keys:,}".replace(",", " ") + " keys"
    if kind == "native":
        return Native(name, title, run_dir, mock, cores, keys, answers=answers or {})
    return Trilane(name, title, run_dir, mock, cores, keys)
