"""Who competes: one Envoy each, all but one from the `envoy.yaml` that is shipped, with another filter in it or none.

Every one of these puts the source's credential into what it forwards (Envoy's `credential_injector`), since no source
takes requests without: what trilane costs is its difference to the same Envoy that has to do that too. The other one is
an Envoy that does nothing but forward (`plain.yaml`): against it stands the cost of the whole gateway.
"""

from __future__ import annotations

import hashlib
import json
import re
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

from bodies import MODEL
from configuration import (
    BY_HEADER,
    CLUSTER,
    FILTER,
    GROUP,
    LEAVE_ALONE,
    LEDGER,
    ROUTE,
    ROUTER,
    TO_SOURCE,
    direct_route,
    http_filter,
    replaced,
    typed,
    with_upstream_credential,
    without,
    yaml,
)
from machine import Cores, pinned, resident
from stack import SAMPLE_DOCUMENT, SOURCES, TARGET, WASM, Stack, StackError

#: The configuration of the Envoy that does nothing but forward.
PLAIN_YAML = Path(__file__).with_name("plain.yaml")
NOOP_WASM = TARGET / "wasm32-wasip1" / "release" / "trilane_noop.wasm"

#: Digits of a key's number. The load generator fills them in where its header has as many `#`.
DIGITS = 9
WRONG_KEY = "bench-wrong"
#: A port of this machine where nobody listens (RFC 1078, long gone).
NOBODY = 1
#: The file that holds the source's credential, where there are accounts.
CREDENTIAL = "source_key"

#: The longest document that `envoy.yaml` serves to its loader, in bytes.
DOCUMENT_LIMIT = 8388608


def key(number: int) -> str:
    return f"bench-{number:0{DIGITS}}"


def document(keys: int, accounts: int = 0, *, first_is_away: bool = False) -> bytes:
    """The sample document with these keys instead of its own, and for their group as many accounts or a cluster by hand. Where the first
    account is away, nobody listens at its address, and the others are asked after it."""
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
            if first_is_away:
                first, *others = group["accounts"]
                first["url"] = f"http://127.0.0.1:{NOBODY}"
                for other in others:
                    other["priority"] = 1
    base["keys"] = [
        {"id": f"k{number}", "sha256": hashlib.sha256(key(number).encode()).hexdigest(), "group": GROUP}
        for number in range(keys)
    ]
    return json.dumps(base, separators=(",", ":")).encode()


class Contestant(Stack):
    """A gateway on its own ports, in front of the mock."""

    #: Whether the credential of the source is put in by the cluster that `envoy.yaml` has for it.
    injects = True
    #: What stands where the configuration has the filter.
    filter_file = WASM
    #: Whether Envoy writes the ledger to a file itself, as `make run LEDGER=file` does, instead of to its output.
    has_ledger_file = False
    #: Whether the first of its accounts cannot be reached.
    first_is_away = False
    #: What runs Envoy, such as valgrind; nothing runs it as it is.
    under: Sequence[str] = ()

    def __init__(self, name: str, title: str, run_dir: Path, mock: str, cores: Cores, keys: int, accounts: int = 0) -> None:
        """`keys` is how many keys it knows, `accounts` how many upstream accounts of the document it has."""
        super().__init__(
            run_dir / name,
            document=document(keys, accounts, first_is_away=self.first_is_away),
            upstream=mock,
            concurrency=1,
            envoy_log_level="error",
            wasm=self.filter_file,
            ledger=run_dir / name / "ledger.jsonl" if self.has_ledger_file else None,
        )
        self.name = name
        self.title = title
        self.keys = keys
        self.cores = cores

    def render(self) -> Path:
        """The configuration of this contestant."""
        path = super().render()
        text = self.configured(path.read_text(encoding="utf-8"))
        path.write_text(with_upstream_credential(text) if self.injects else text, encoding="utf-8")
        return path

    def configured(self, text: str) -> str:
        """What makes it this contestant."""
        return text

    def envoy_command(self, *arguments: str) -> list[str]:
        return [*self.under, *super().envoy_command(*arguments)]

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

    def stat(self, pattern: str) -> int:
        """The sum of Envoy's counters and gauges whose names match."""
        with urllib.request.urlopen(f"{self.admin_url}/stats?usedonly", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        pairs = (line.rsplit(": ", 1) for line in lines if ": " in line)
        return sum(int(value) for name, value in pairs if value.isdigit() and re.search(pattern, name))

    @property
    def rejected_path(self) -> Optional[str]:
        """Where 401 is answered, if that does not depend on the key."""
        return None

    def forget_log(self) -> None:
        """Its access log grows by gigabytes otherwise. The hole that stays in the file takes no room."""
        with self.access_log.open("rb+") as log:
            log.truncate(0)


#: Where the log of attempts begins, and the filter of attempts.
ATTEMPT_LOG = "                      # Tells the filter of attempts"
ATTEMPTS = "            - name: envoy.filters.http.wasm\n"


class Trilane(Contestant):
    """The shipped configuration."""

    def configured(self, text: str) -> str:
        if len(self.document) > DOCUMENT_LIMIT or f"max_direct_response_body_size_bytes: {DOCUMENT_LIMIT}\n" not in text:
            raise StackError(f"envoy.yaml does not serve a document of {len(self.document)} bytes.")
        return text


class TrilaneToFile(Trilane):
    """The same with the ledger in a file."""

    has_ledger_file = True


class Floor(Trilane):
    """The same with a filter in it that makes trilane's host calls and decides nothing."""

    filter_file = NOOP_WASM


class Accounts(Trilane):
    """The same with several accounts of the document: the way to them, the filter of tries, the choice among them."""

    #: The clusters of its accounts do, which `trilane render` makes.
    injects = False

    def prepare(self) -> None:
        self.credentials_dir.mkdir(parents=True, exist_ok=True)
        (self.credentials_dir / CREDENTIAL).write_text("the-key-of-the-source")
        super().prepare()


class Unjudged(Accounts):
    """The same without the judge in the clusters of its accounts."""

    judges = False


class Ejected(Accounts):
    """The same where the account that comes first cannot be reached, so that it is ejected nearly always."""

    first_is_away = True


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
        text = without(text, "  # The configuration loader:", "static_resources:\n", "")
        text = without(text, FILTER, ROUTER, self.filters())
        text = without(text, ATTEMPT_LOG, "\n    - name: gateway_tls\n", "")
        text = without(text, ATTEMPTS, "            - name: envoy.filters.http.upstream_codec", "")
        text = replaced(text, BY_HEADER, f"cluster: {CLUSTER}\n")
        # The replies of the sample's `local_reply_config` are not for these.
        text = replaced(text, "                  mappers:\n", f"                  mappers:\n{' ' * 20}- {yaml(LEAVE_ALONE)}\n")
        return replaced(text, ROUTE, "".join(f"{' ' * 24}- {yaml(route)}\n" for route in self.routes()) + ROUTE)

    def filters(self) -> str:
        """What stands in the filter's place."""
        return ""

    def routes(self) -> list[dict[str, Any]]:
        """The routes before the one that forwards."""
        return [
            {"match": {"path": "/healthz"}, "direct_response": {"status": 200}},
            direct_route("/v1/models", 200, self.answers["list"]),
            direct_route("/rejected", 401, self.answers["rejected"]),
        ]


class BareToFile(Bare):
    """Bare Envoy with its access log in a file."""

    has_ledger_file = True


class Uncredentialed(Bare):
    """Bare Envoy that forwards without a credential: what putting it in costs by itself."""

    injects = False


class Retrying(Bare):
    """Bare Envoy that may send a request again, as it may to a group with several accounts: the router keeps a copy of the body."""

    def configured(self, text: str) -> str:
        policy = yaml({"retry_on": "reset,retriable-status-codes", "retriable_status_codes": [503], "num_retries": 40})
        return replaced(super().configured(text), TO_SOURCE, f"{TO_SOURCE}{' ' * 28}retry_policy: {policy}\n")


class Plain(Bare):
    """An Envoy that does nothing but forward, from a configuration of its own. It has the direct responses of `Bare`."""

    injects = False

    def configured(self, text: str) -> str:
        host, port, _ = self._source_address(CLUSTER)
        plain = PLAIN_YAML.read_text(encoding="utf-8")
        routes = [*self.routes(), {"match": {"prefix": "/"}, "route": {"cluster": "source"}}]
        plain = replaced(plain, "port_value: PORT}", f"port_value: {self._ports['PORT']}}}")
        plain = replaced(plain, "socket_address: SOURCE}", f"socket_address: {yaml({'address': host, 'port_value': port})}}}")
        return replaced(plain, "routes: ROUTES\n", f"routes: {yaml(routes)}\n")


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
        return http_filter("noop", "envoy.extensions.filters.http.wasm.v3.Wasm", {"config": config})

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
        text = replaced(text, f"{' ' * 28}{LEDGER}}}\n", f"{' ' * 28}{LEDGER}{members}}}\n")
        manager = "envoy.extensions.filters.http.ai_protocol_manager.v3.AiProtocolManagerPerRoute"
        per_route = typed(manager, {"request": {"llm_protocol": "OPENAI_CHAT_COMPLETIONS"}})
        declared = yaml({"envoy.filters.http.ai_protocol_manager": per_route})
        text = replaced(text, ROUTE, f"{' ' * 24}- match: {{prefix: /}}\n{' ' * 26}typed_per_filter_config: {declared}\n{' ' * 26}route:\n{TO_SOURCE}")
        return text

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
                    "typed_config": typed("envoy.extensions.http.ai_filters.request_info.v3.RequestInfo", {}),
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
            http_filter("envoy.filters.http.api_key_auth", f"{http}.api_key_auth.v3.ApiKeyAuth", keys)
            + http_filter("envoy.filters.http.ai_protocol_manager", f"{http}.ai_protocol_manager.v3.AiProtocolManager", manager)
            + http_filter("envoy.filters.http.rbac", f"{http}.rbac.v3.RBAC", {"rules": rules})
        )

    def routes(self) -> list[dict[str, Any]]:
        health, models, _ = super().routes()
        switched_off = typed("envoy.config.route.v3.FilterConfig", {"disabled": True})
        health["typed_per_filter_config"] = {"envoy.filters.http.api_key_auth": switched_off}
        return [health, models]


#: How many keys a contestant has that no other number is said of.
FEW = 10
#: The classes of contestants, and what they are called.
KINDS: dict[str, tuple[type[Contestant], str]] = {
    "bare": (Bare, "bare Envoy"),
    "plain": (Plain, "plain Envoy"),
    "noop": (Noop, "no-op wasm filter"),
    "floor": (Floor, "trilane's host calls alone"),
    "trilane": (Trilane, "trilane"),
    "accounts": (Accounts, "trilane, two accounts"),
    "unjudged": (Unjudged, "trilane, two accounts, not judged"),
    "ejected": (Ejected, "trilane, the first of two accounts ejected"),
    "native": (Native, "Envoy's AI filters"),
    "bare-file": (BareToFile, "bare Envoy, log to a file"),
    "trilane-file": (TrilaneToFile, "trilane, ledger to a file"),
    "retrying": (Retrying, "bare Envoy that may retry"),
    "uncredentialed": (Uncredentialed, "bare Envoy without credential"),
}


def contestant(kind: str, run_dir: Path, mock: str, cores: Cores, answers: dict[str, bytes], keys: int = FEW) -> Contestant:
    """One of this kind, not yet started. `answers` are trilane's own, for those that have none."""
    made, title = KINDS[kind]
    name = kind
    if keys != FEW:
        name, title = f"{kind}-{keys}", title + ", " + f"{keys:,}".replace(",", " ") + " keys"
    if issubclass(made, Bare):
        return made(name, title, run_dir, mock, cores, keys, answers=answers)
    return made(name, title, run_dir, mock, cores, keys, accounts=2 if issubclass(made, Accounts) else 0)
