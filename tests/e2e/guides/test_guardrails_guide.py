"""docs/guardrails.md, done as it says, on a host that docs/hot-restart.md has set up: the checker is the page's own."""

from __future__ import annotations

import dataclasses
import gzip
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from child import Child
from e2e.guides.envoy_host import (
    EnvoyHost, added_cluster, another_listener, filter_in_front_of, first_mapper, in_the_listener, page_blocks, without_filter,
    without_first_mapper,
)  # fmt: skip
from e2e.guides.host import CHAT, host_of
from e2e.guides.processor import CARD, MASK
from e2e.guides.reader import DOCS
from loopback import Handler, LoopbackServer
from ports import free_port
from waiting import until

PAGE = "guardrails.md"
DENIED = {**CHAT, "messages": [{"role": "user", "content": "-----BEGIN PRIVATE KEY-----"}]}
#: More than the checker may be asked about.
TOO_LONG = {**CHAT, "messages": [{"role": "user", "content": "x" * 10_500_000}]}
AUTHZ, CLUSTER, MAPPER, PROCESSOR = page_blocks(PAGE, "yaml")

host = host_of(EnvoyHost)


@pytest.fixture(scope="module")
def port() -> int:
    """The checker's."""
    return free_port()


@pytest.fixture(scope="module")
def checker(host: EnvoyHost, port: int) -> Iterator[Child]:
    """The page's checker, as it stands there."""
    (program,) = page_blocks(PAGE, "python")
    (command,) = [each.text for each in page_blocks(PAGE, "sh") if "checker.py" in each.text]
    place = host.root / "etc" / "trilane" / "checker.py"
    place.write_text(program.text.replace("9191", str(port)))
    child = Child(["bash", "-c", f"exec {host.changed(command)}"], host.root / "checker.log")
    yield child
    child.stop()


def post(host: EnvoyHost, body: object, port: int = 0, **headers: str) -> httpx.Response:
    """A request of the application with another body, to this listener or the page's own."""
    key = (host.root / host.key).read_text().strip()
    given = {"authorization": f"Bearer {key}", "content-type": "application/json", **headers}
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    url = f"http://127.0.0.1:{port or host.port}/v1/chat/completions"
    return httpx.post(url, content=content, headers=given, trust_env=False, timeout=60)


def test_the_host_is_set_up(host: EnvoyHost) -> None:
    host.is_set_up()


def test_the_checker_is_asked(host: EnvoyHost, checker: Child, port: int) -> None:
    """The three parts, and the commands behind them."""
    at = ("9191", str(port))
    host.edit(
        in_the_listener(filter_in_front_of("trilane", host.part(AUTHZ, at)), first_mapper(host.part(MAPPER))),
        added_cluster(host.part(CLUSTER, at)),
    )
    start, ask = [each for each in page_blocks(PAGE, "sh") if "checker.py" not in each.text]
    host.does(start.text)
    host.is_taken_over(1)
    until(host.is_well)
    (wanted,) = [each.text for each in page_blocks(PAGE, "text") if each.text.startswith("{")]
    assert host.does(ask.text).startswith(wanted.partition(" …")[0].removesuffix(",")), "what the page shows"


def test_a_denied_request_goes_nowhere(host: EnvoyHost, checker: Child) -> None:
    """The checker's words, for each of the SDKs; compressed as well; nothing goes to the vendor, and SDKs do not ask again."""
    before = len(host.vendor.requests)
    packed = gzip.compress(json.dumps(DENIED).encode())
    for answer in (post(host, DENIED), post(host, packed, **{"content-encoding": "gzip"})):
        assert answer.status_code == 403 and answer.headers["x-should-retry"] == "false"
        assert answer.headers["x-trilane-error"] == "guardrail" and answer.json()["error"]["code"] == "guardrail"
    assert len(host.vendor.requests) == before


def test_its_ledger_line_has_the_checkers_id(host: EnvoyHost, checker: Child) -> None:
    post(host, DENIED)

    def line() -> dict[str, object]:
        denied = [json.loads(each) for each in host.said("trilane-envoy@1").splitlines() if '"ext_authz_denied"' in each and each.endswith("}")]
        return denied[-1] if denied else {}

    until(lambda: line().get("request_id") == checker.log.read_text().split()[-1])
    assert line()["http.response.status_code"] == 403 and not {"trilane.key.id", "trilane.charge"} & set(line())


def test_a_long_body_is_not_checked(host: EnvoyHost, checker: Child) -> None:
    asked = checker.log.read_text()
    answer = post(host, TOO_LONG)
    assert answer.status_code == 413 and answer.json()["error"]["code"] == "request_too_large"
    assert checker.log.read_text() == asked


def test_without_the_checker_nothing_passes(host: EnvoyHost, checker: Child, port: int) -> None:
    """503, also for the probe. What another one on its port is told: no key, nothing of the client but two headers."""
    checker.stop()
    assert host.ask().status_code == 503
    assert httpx.get(f"http://127.0.0.1:{host.port}/healthz", trust_env=False).status_code == 503
    seen: list[tuple[str, dict[str, str]]] = []

    class Recorder(Handler):
        def do_POST(self) -> None:
            self.read_body()
            seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            self.respond(200, b"")

        do_GET = do_POST

    key = (host.root / host.key).read_text().strip()
    with LoopbackServer(Recorder, port=port):
        until(host.answers)
        headers = {"authorization": "Bearer wrong", "x-api-key": key, "x-custom": "own"}
        assert httpx.get(f"http://127.0.0.1:{host.port}/v1/models", headers=headers, trust_env=False).status_code == 401
    assert seen[-1][0] == "/v1/models", "it is asked about wrong keys and lists, too"
    of_envoy = {"host", "content-length", "x-envoy-auth-partial-body", "x-envoy-internal", "x-envoy-expected-rq-timeout-ms"}
    for _, told in seen:
        assert set(told) <= {*of_envoy, "x-request-id", "content-type"} and key not in str(told), told


@dataclasses.dataclass(frozen=True)
class Ways:
    """Ports of listeners that differ from the page's in one thing each."""

    behind: int = dataclasses.field(default_factory=free_port)
    no_mapper: int = dataclasses.field(default_factory=free_port)
    processor: int = dataclasses.field(default_factory=free_port)
    skips_headers: int = dataclasses.field(default_factory=free_port)
    #: Where the processor listens.
    at: int = dataclasses.field(default_factory=free_port)


@pytest.fixture(scope="module")
def ways(host: EnvoyHost, port: int) -> Ways:
    """The other ways, each in a listener of its own."""
    ways, at = Ways(), ("9191", str(port))
    authz, processor = host.part(AUTHZ, at), host.part(PROCESSOR)
    skipping = host.part(PROCESSOR, ("request_header_mode: SEND", "request_header_mode: SKIP"))
    cluster = host.part(CLUSTER, ("9191", str(ways.at)), ("name: checker", "name: processor"))
    http2 = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
    cluster["typed_extension_protocol_options"] = {
        http2: {"@type": f"type.googleapis.com/{http2}", "explicit_http_config": {"http2_protocol_options": {}}}
    }
    denied = first_mapper(host.part(MAPPER, ("'ext_authz_denied'", "'guardrail'")))
    no_checker = without_filter(authz["name"])
    host.edit(
        another_listener(ways.behind, filter_in_front_of("envoy.filters.http.router", authz)),
        another_listener(ways.no_mapper, without_first_mapper),
        another_listener(ways.processor, no_checker, filter_in_front_of("trilane", processor), denied),
        another_listener(ways.skips_headers, no_checker, filter_in_front_of("trilane", skipping), denied),
        added_cluster(cluster),
    )
    host.takes_over(2)
    return ways


@contextmanager
def checking(host: EnvoyHost) -> Iterator[None]:
    """The page's checker, once more."""
    again = Child([sys.executable, str(host.root / "etc" / "trilane" / "checker.py")], host.root / "checker-2.log")
    try:
        until(lambda: host.answers())
        yield
    finally:
        again.stop()


@contextmanager
def processing(host: EnvoyHost, ways: Ways, *words: str) -> Iterator[None]:
    """An external processor."""
    program = Path(__file__).with_name("processor.py")
    running = Child([sys.executable, str(program), str(ways.at), *words], host.root / f"processor{len(words)}.log")
    try:
        until(lambda: post(host, CHAT, ways.processor).status_code == 200, says=lambda: running.log.read_text())
        yield
    finally:
        running.stop()


def test_behind_the_filter_a_denial_is_a_failure(host: EnvoyHost, ways: Ways) -> None:
    """Why the page says where it stands."""
    with checking(host):
        assert post(host, CHAT, ways.behind).status_code == 200
        assert post(host, DENIED, ways.behind).status_code == 502


def test_without_the_mapper_its_words_are_lost(host: EnvoyHost, ways: Ways) -> None:
    with checking(host):
        answer = post(host, DENIED, ways.no_mapper)
    (said,) = [part for part in (DOCS / PAGE).read_text().split("`") if part.startswith("The request is not valid")]
    assert answer.status_code == 403 and answer.json()["error"]["message"].startswith(said)


def test_a_processor_changes_prompts(host: EnvoyHost, ways: Ways) -> None:
    """The vendor gets the changed prompt; a denial, a stream, a mistake with the length, and no processor at all."""
    masked = {**CHAT, "messages": [{"role": "user", "content": f"My card is {CARD.decode()}"}]}
    with processing(host, ways):
        assert post(host, masked, ways.processor).status_code == 200
        sent = host.vendor.requests[-1]["body"]
        assert MASK.decode() in sent and CARD.decode() not in sent
        answer = post(host, DENIED, ways.processor)
        assert answer.status_code == 403 and answer.json() == {"error": {"code": "guardrail"}}
        assert pieces_come_as_they_are_written(host, ways.processor)
        assert post(host, CHAT, ways.skips_headers).status_code == 200
        assert post(host, DENIED, ways.skips_headers).status_code == 502, "it must hold the headers"
    assert post(host, CHAT, ways.processor).status_code == 500, "no processor"
    with processing(host, ways, "keep-length"):
        assert post(host, masked, ways.processor).status_code == 500, "a body of another length"


def pieces_come_as_they_are_written(host: EnvoyHost, port: int) -> bool:
    """Whether a stream of two seconds is passed on while it is written."""
    key = (host.root / host.key).read_text().strip()
    headers = {"authorization": f"Bearer {key}", "x-sim-events": "10", "x-sim-gap-ms": "200"}
    url = f"http://127.0.0.1:{port}/v1/chat/completions"
    with httpx.stream("POST", url, headers=headers, json={**CHAT, "stream": True}, trust_env=False, timeout=30) as response:
        times = [time.monotonic() for _ in response.iter_raw()]
    return len(times) > 5 and times[-1] - times[0] > 1
