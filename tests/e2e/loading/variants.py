"""Stacks that differ from the shared one: another loader, another source of the document, or none at all."""

from __future__ import annotations

import json
import re
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional
from weakref import WeakKeyDictionary

import httpx
from e2e.support import Gateway, bearer, goog, x_api_key
from loopback import Handler, LoopbackServer
from stack import SAMPLE_DOCUMENT, Stack
from waiting import until

#: The loader's configuration as it stands in `envoy.yaml`.
LOADER = """'{"source": {"cluster": "config_source", "path": "/gateway.json"}, "tick_ms": 500}'"""
#: The filter's.
FILTER = 'value: "{}"}'
#: How long anything may take that needs a tick or two, on a busy machine.
PATIENCE = 45.0

Edit = Callable[[str], str]


class Variant(Stack):
    """A stack whose rendered configuration is edited, and which may never have a policy."""

    def __init__(self, run_dir: Path, *edits: Edit, ready: bool = True, **arguments: Any) -> None:
        super().__init__(run_dir, **arguments)
        self._edits = edits
        self._ready = ready
        #: The status of the first answer of its life, where any will do.
        self.first_health = 0

    def render(self) -> Path:
        path = super().render()
        text = path.read_text()
        for edit in self._edits:
            changed = edit(text)
            assert changed != text, f"{edit} changes nothing"
            text = changed
        path.write_text(text)
        return path

    def wait_ready(self, timeout: float = 60.0) -> None:
        """Without a policy to wait for, any answer will do."""
        if self._ready:
            super().wait_ready(timeout)
        else:
            self.first_health = until(
                lambda: httpx.get(f"{self.base_url}/healthz", trust_env=False).status_code, check=self.check, timeout=timeout
            )


# ---- Edits of the configuration


def loader(configuration: Any) -> Edit:
    """The loader with this configuration: JSON, or text where it must not be JSON."""
    return _replace(LOADER, _text(configuration))


def filter_configuration(configuration: Any) -> Edit:
    """The filter with this configuration."""
    return _replace(FILTER, f"value: {_text(configuration)}}}")


def tick(milliseconds: int) -> Edit:
    """The loader at another pace."""
    return _replace('"tick_ms": 500', f'"tick_ms": {milliseconds}')


def no_loader(text: str) -> str:
    """Without the singleton."""
    start, end = text.index("  # The configuration loader: "), text.index("static_resources:")
    return text[:start] + text[end:]


def loader_apart(text: str) -> str:
    """The loader with a `vm_id` of its own, thus with shared data of its own."""
    start, end = text.index("bootstrap_extensions:"), text.index("static_resources:")
    return text[:start] + text[start:end].replace("vm_id: trilane ", "vm_id: elsewhere ") + text[end:]


def source_at(port: int) -> Edit:
    """The cluster `config_source` at a port of this machine."""
    pattern = re.compile(r"(cluster_name: config_source\n.*port_value: )\d+")
    return lambda text: pattern.sub(rf"\g<1>{port}", text)


def _replace(old: str, new: str) -> Edit:
    def edit(text: str) -> str:
        assert text.count(old) == 1, f"{old} stands {text.count(old)} times in the configuration"
        return text.replace(old, new)

    return edit


def _text(configuration: Any) -> str:
    text = configuration if isinstance(configuration, str) else json.dumps(configuration)
    return json.dumps(text)  # a JSON string is a YAML string


# ---- What Envoy says of itself


def stats(stack: Stack) -> dict[str, float]:
    """The loader's stats as Prometheus gets them: `name{labels}` -> value. All there are would be thousands."""
    url = f"{stack.admin_url}/stats/prometheus?filter=trilane_config|config_source.upstream_rq_completed"
    with urllib.request.urlopen(url, timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    pairs = (line.rpartition(" ") for line in lines if line[:1] != "#")
    return {name: float(value) for name, _, value in pairs if name}


def rejections(stack: Stack, reason: str) -> float:
    return stats(stack)[f'trilane_config_rejections_total{{reason="{reason}"}}']


def generation(stack: Stack) -> float:
    return stats(stack).get("trilane_config_generation{}", 0)


#: A worker looks for what is new every 10 ms at most.
WORKERS_LAG = 0.02


def wait_generation(stack: Stack, before: float) -> None:
    """Waits until a document after that generation is in force on every worker."""
    until(lambda: generation(stack) > before, check=stack.check)
    time.sleep(WORKERS_LAG)


def polls(stack: Stack) -> float:
    """How often the document was asked for, with an answer."""
    return stats(stack).get('envoy_cluster_upstream_rq_completed{envoy_cluster_name="config_source"}', 0)


def wait_polls(stack: Stack, more: int) -> None:
    """Waits until the document was asked for that many times more."""
    target = polls(stack) + more
    until(lambda: polls(stack) >= target, check=stack.check)


def loader_log(stack: Stack) -> list[str]:
    """What the loader, or a filter in its place, has logged."""
    lines = stack.envoy_log.read_text(errors="replace").splitlines()
    return [line for line in lines if "wasm log" in line]


# ---- Requests that work with the sample document


_clients: WeakKeyDictionary[Stack, Gateway] = WeakKeyDictionary()


def client(stack: Stack) -> Gateway:
    """The client of this stack: to make one takes longer than most requests."""
    if stack not in _clients:
        _clients[stack] = Gateway(stack)
    return _clients[stack]


def sample() -> dict[str, Any]:
    """The sample document, to change."""
    return json.loads(SAMPLE_DOCUMENT.read_text())


@dataclass(frozen=True)
class Call:
    """A generation request of one protocol."""

    path: str
    headers: dict[str, str]
    json: dict[str, Any]

    def send(self, gateway: Gateway, **arguments: Any) -> Any:
        return gateway.request("POST", self.path, self.headers, json=self.json, **arguments)


HELLO = [{"role": "user", "content": "Hello"}]
CALLS = {
    "A": Call("/v1/chat/completions", bearer("key_a"), {"model": "gpt-5.1", "messages": HELLO}),
    "B": Call("/v1/messages", x_api_key("key_b"), {"model": "claude-opus-5-5", "max_tokens": 9, "messages": HELLO}),
    "C": Call(
        "/v1beta/models/gemini-2.5-flash:generateContent",
        goog("key_c"),
        {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]},
    ),
}


def error_type(protocol: str, body: Any) -> str:
    """The error's type, from where clients of the protocol read it."""
    if protocol == "B":
        assert body["type"] == "error", body
    return body["error"]["status" if protocol == "C" else "type"]


# ---- A configuration service


@dataclass
class Asked:
    """One request to the configuration service."""

    at: float
    path: str
    if_none_match: Optional[str]


@dataclass
class Service:
    """A configuration service on loopback, which does as it is told."""

    body: bytes = b""
    status: int = 200
    etag: Optional[str] = None
    headers: dict[str, str] = field(default_factory=dict)
    #: While this is cleared, answers wait.
    go: threading.Event = field(default_factory=threading.Event)
    asked: list[Asked] = field(default_factory=list)
    not_modified: int = 0
    gone: bool = False
    port: int = 0

    def document(self, document: Any, etag: Optional[str] = None) -> None:
        """Serves another document; `etag` must change with it."""
        self.etag, self.body = etag, document if isinstance(document, bytes) else json.dumps(document).encode()

    def wait_asked(self, more: int = 1, timeout: float = PATIENCE) -> None:
        """Waits until it was asked that many times more."""
        target = len(self.asked) + more
        until(lambda: len(self.asked) >= target, timeout=timeout)


@contextmanager
def service(document: Any, port: int = 0) -> Iterator[Service]:
    """Runs a configuration service with this document."""
    told = Service()
    told.document(document)
    told.go.set()

    class Answers(Handler):
        def do_GET(self) -> None:
            match = self.headers.get("if-none-match")
            told.asked.append(Asked(time.monotonic(), self.path, match))
            told.go.wait(30)
            if told.gone:
                self.close_connection = True  # a connection that Envoy has kept is no way in either
                return
            status, body = told.status, told.body
            if status == 200 and told.etag and match == told.etag:
                status, body = 304, b""
                told.not_modified += 1
            self.send_response(status)
            for name, value in {**told.headers, **({"etag": told.etag} if told.etag else {})}.items():
                self.send_header(name, value)
            if status != 304:
                self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with LoopbackServer(Answers, port=port) as server:
        told.port = server.port
        try:
            yield told
        finally:
            told.gone = True
            told.go.set()
