"""Where the document comes from, and what happens when it does not come."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from e2e.loading.variants import (
    CALLS,
    Edit,
    Service,
    Variant,
    client,
    filter_configuration,
    generation,
    loader,
    loader_log,
    no_loader,
    polls,
    rejections,
    sample,
    service,
    source_at,
    stats,
    tick,
    wait_generation,
)
from e2e.support import bearer, run_dir
from stack import Stack, StackError
from waiting import until

TICK_MS = 100
#: Enough for twenty thousand keys.
MAX_BYTES = 3_000_000
#: An upstream for tests that send nothing there: the simulator need not start.
NOWHERE = "127.0.0.1:1"
SOURCE = {"source": {"cluster": "config_source", "path": "/gateway.json", "max_bytes": MAX_BYTES}, "tick_ms": TICK_MS}
OTHER_REJECTIONS = [f'trilane_config_rejections_total{{reason="{reason}"}}' for reason in ("invalid", "unreachable")]


@pytest.fixture(scope="module")
def remote() -> Iterator[tuple[Variant, Service]]:
    """A gateway whose loader asks a service of the test."""
    with service(sample()) as told:
        with Variant(run_dir("loader-remote"), loader(SOURCE), source_at(told.port)) as stack:
            yield stack, told


restored = itertools.count()


@pytest.fixture(autouse=True)
def well_again(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each test leaves the service well and the sample in force."""
    yield
    if "remote" not in request.fixturenames:
        return
    stack, told = request.getfixturevalue("remote")
    told.status, told.headers = 200, {}
    told.go.set()
    before = generation(stack)
    # Unlike every document before, so that it is known when it has come.
    told.document({**sample(), "max_body": 2_000_000 + next(restored)})
    wait_generation(stack, before)
    assert all_pass(stack)


def all_pass(stack: Stack) -> bool:
    gateway = client(stack)
    return all(call.send(gateway).status == 200 for call in CALLS.values())


def changed(number: int) -> dict[str, Any]:
    """Another document: key A comes and goes with the number."""
    document = sample()
    document["max_body"] = 1_000_000 + number
    if number % 2:
        document["keys"] = [key for key in document["keys"] if key["id"] != "key_a"]
    return document


def test_etags(remote: tuple[Variant, Service]) -> None:
    stack, told = remote
    for number, etag in enumerate(['"one"', 'W/"two"', '"three"'], 1):
        before = generation(stack)
        told.document(changed(number), etag)
        wait_generation(stack, before)
        counted = told.not_modified
        until(lambda: told.not_modified >= counted + 3, check=stack.check)
        assert told.asked[-1].if_none_match == etag, etag
        # No group goes away here, so a document takes one generation.
        assert generation(stack) == before + 1, etag
        want = 401 if number % 2 else 200
        assert CALLS["A"].send(client(stack)).status == want, etag
    # A source that no longer gives one is not asked by an old one.
    before = generation(stack)
    told.document(changed(8))
    wait_generation(stack, before)
    told.wait_asked(2)
    assert told.asked[-1].if_none_match is None


def test_without_etag_the_same_bytes_are_not_loaded_again(remote: tuple[Variant, Service]) -> None:
    stack, told = remote
    before, logged = generation(stack), len(loader_log(stack))
    told.wait_asked(5)
    assert generation(stack) == before
    assert len(loader_log(stack)) == logged


Trouble = Callable[[Service], None]


def status(code: int, **headers: str) -> Trouble:
    def trouble(told: Service) -> None:
        told.document(changed(1))  # which must not be taken for good, as it comes with this status
        told.status, told.headers = code, headers

    return trouble


TROUBLES: dict[str, tuple[Trouble, str, str]] = {
    "500": (status(500), "unreachable", "status 500"),
    "503": (status(503), "unreachable", "status 503"),
    "404": (status(404), "unreachable", "status 404"),
    "401": (status(401), "unreachable", "status 401"),
    "a redirect is not followed": (status(302, location="/elsewhere"), "unreachable", "status 302"),
    "206": (status(206), "unreachable", "status 206"),
}


@pytest.mark.parametrize(("trouble", "reason", "said"), TROUBLES.values(), ids=TROUBLES)
def test_a_source_in_trouble(remote: tuple[Variant, Service], trouble: Trouble, reason: str, said: str) -> None:
    stack, told = remote
    before, counted, logged = generation(stack), rejections(stack, reason), len(loader_log(stack))
    trouble(told)
    until(lambda: rejections(stack, reason) >= counted + 3, check=stack.check)
    assert generation(stack) == before
    assert all_pass(stack), "the last good policy stays in force"
    until(lambda: stats(stack)["trilane_config_age_seconds{}"] >= 1, check=stack.check)
    until(lambda: len(loader_log(stack)) > logged)
    lines = loader_log(stack)[logged:]
    assert len(lines) == 1 and said in lines[0], lines
    # Well again.
    told.status = 200
    told.document(changed(3))
    wait_generation(stack, before)
    assert CALLS["A"].send(client(stack)).status == 401
    until(lambda: stats(stack)["trilane_config_age_seconds{}"] == 0, check=stack.check)


def test_a_source_that_goes_away_and_comes_back() -> None:
    with service(sample()) as told:
        port = told.port
        stack = Variant(run_dir("loader-away"), loader(SOURCE), source_at(port)).start()
    try:
        counted = rejections(stack, "unreachable")
        until(lambda: rejections(stack, "unreachable") >= counted + 3, check=stack.check)
        assert all_pass(stack)
        with service(changed(1), port):
            until(lambda: CALLS["A"].send(client(stack)).status == 401, check=stack.check)
            assert CALLS["B"].send(client(stack)).status == 200
    finally:
        stack.stop()


def test_a_slow_source(remote: tuple[Variant, Service]) -> None:
    """One question at a time, given up after five seconds; requests go on meanwhile."""
    stack, told = remote
    counted, before = rejections(stack, "unreachable"), generation(stack)
    told.go.clear()
    told.document(changed(1))
    told.wait_asked(1)
    asked = len(told.asked)
    assert all_pass(stack)
    until(lambda: rejections(stack, "unreachable") > counted, check=stack.check)
    waited = told.asked[-1].at - told.asked[asked - 1].at if len(told.asked) > asked else 5.0
    assert waited > 3, f"given up after {waited:.1f} s"
    assert len(told.asked) <= asked + 1
    assert generation(stack) == before
    told.go.set()
    until(lambda: CALLS["A"].send(client(stack)).status == 401, check=stack.check)


def test_a_document_that_is_too_long(remote: tuple[Variant, Service]) -> None:
    stack, told = remote
    before, counted = stats(stack), rejections(stack, "oversize")
    told.document(json.dumps(changed(1)).encode().ljust(MAX_BYTES + 1))
    until(lambda: rejections(stack, "oversize") >= counted + 2, check=stack.check)
    after = stats(stack)
    for name in ("trilane_config_generation{}", *OTHER_REJECTIONS):
        assert after[name] == before[name], name
    assert all_pass(stack)
    until(lambda: any(f"{MAX_BYTES} are allowed" in line for line in loader_log(stack)))
    told.document(json.dumps(changed(1)).encode().ljust(MAX_BYTES))
    until(lambda: CALLS["A"].send(client(stack)).status == 401, check=stack.check)


def test_twenty_thousand_keys(remote: tuple[Variant, Service]) -> None:
    stack, told = remote
    document = sample()
    document["keys"] += [
        {"id": f"many_{number}", "sha256": f"{number:064x}", "group": "a-official"} for number in range(20_000)
    ]
    gateway = client(stack)
    told.document(document)
    wanted = len(document["keys"])
    slowest = 0.0

    def published() -> bool:
        nonlocal slowest
        answer = CALLS["A"].send(gateway)
        assert answer.status == 200
        slowest = max(slowest, answer.response.elapsed.total_seconds())
        return stats(stack)["trilane_config_keys{}"] == wanted

    until(published, check=stack.check)
    assert slowest < 5, f"a request waited {slowest:.1f} s for the loader"
    # All of them go again.
    told.document(sample())
    until(lambda: stats(stack)["trilane_config_keys{}"] == len(sample()["keys"]), check=stack.check)
    assert all_pass(stack)


# ---- The document inside the configuration


INLINE: dict[str, list[Edit]] = {
    "in the loader": [loader({"inline": sample()})],
    "in the filter, without a loader": [no_loader, filter_configuration({"inline": sample()})],
}


@pytest.mark.parametrize("edits", INLINE.values(), ids=INLINE)
def test_an_inline_document(edits: list[Edit], request: pytest.FixtureRequest) -> None:
    name = request.node.callspec.id.replace(" ", "-").replace(",", "")
    with Variant(run_dir(f"loader-inline-{name}"), *edits, ready=False) as stack:
        # `start` has waited for any answer at all: that very first one was right.
        assert stack.first_health == 200
        assert all_pass(stack)
        assert generation(stack) == 1
        assert stats(stack)["trilane_config_keys{}"] == len(sample()["keys"])
        assert polls(stack) == 0
        assert "generation 1 is in force" in "".join(loader_log(stack))
        assert "generation 2 is in force" not in "".join(loader_log(stack))


# ---- Without a singleton


def test_the_filters_load_where_nobody_else_does() -> None:
    with service(sample()) as told:
        configuration = {**SOURCE, "tick_ms": 200}
        edits = [no_loader, filter_configuration(configuration), source_at(told.port)]
        with Variant(run_dir("loader-fallback"), *edits) as stack:
            assert all_pass(stack)
            # Two workers and the main thread have the filter, one of them asks: once a tick, not three times.
            told.wait_asked(5)
            first = len(told.asked)
            told.wait_asked(10)
            asked = told.asked[first:]
            each = (asked[-1].at - asked[0].at) / (len(asked) - 1)
            assert each > 0.15, f"asked every {each * 1000:.0f} ms at a tick of 200 ms"
            before = generation(stack)
            told.document(changed(1))
            wait_generation(stack, before)
            gateway = client(stack)
            call = CALLS["A"]
            for attempt in range(30):
                headers = {**call.headers, "connection": "close"}
                answer = gateway.request("POST", call.path, headers, json=call.json)
                assert answer.status == 401, f"connection {attempt}: both workers know"


def test_a_singleton_comes_before_the_filters() -> None:
    """Filters that could load do not, beside a loader."""
    with service(sample()) as told:
        edits = [tick(200), filter_configuration({**SOURCE, "tick_ms": 200}), source_at(told.port)]
        with Variant(run_dir("loader-both"), *edits) as stack:
            told.wait_asked(5)
            first = len(told.asked)
            told.wait_asked(10)
            asked = told.asked[first:]
            each = (asked[-1].at - asked[0].at) / (len(asked) - 1)
            assert each > 0.15, f"asked every {each * 1000:.0f} ms at a tick of 200 ms"
            assert all_pass(stack)


# ---- Configurations that Envoy does not start with


def broken() -> dict[str, Any]:
    document = sample()
    document["groups"][0]["multiplier"] = "cheap"
    document["keys"][0]["group"] = "nobody"
    return document


#: One for each way to refuse; what is refused is the wasm tier's to say.
REFUSED: dict[str, tuple[list[Edit], list[str]]] = {
    "loader: no JSON": ([loader("tick")], ["the plugin configuration is refused"]),
    "loader: inline with problems": (
        [loader({"inline": broken()})],
        ["groups[0].multiplier", "keys[0].group"],
    ),
    "filter: inline with problems": (
        [no_loader, filter_configuration({"inline": broken()})],
        ["groups[0].multiplier", "keys[0].group"],
    ),
}


@pytest.mark.parametrize(("edits", "said"), REFUSED.values(), ids=REFUSED)
def test_envoy_refuses_to_start(edits: list[Edit], said: list[str]) -> None:
    stack = Variant(run_dir("loader-refused"), *edits, ready=False, upstream=NOWHERE)
    with pytest.raises(StackError, match="Envoy .* ended with code 1"):
        stack.start(timeout=30)
    log = stack.envoy_log.read_text(errors="replace")
    for part in said:
        assert part in log, log[-2000:]


def test_a_source_whose_cluster_is_not_there() -> None:
    """Envoy starts, since clusters may come later; until then there is no policy."""
    edit = loader({"source": {"cluster": "nowhere"}, "tick_ms": TICK_MS})
    with Variant(run_dir("loader-no-cluster"), edit, ready=False, upstream=NOWHERE) as stack:
        until(lambda: rejections(stack, "unreachable") >= 3, check=stack.check)
        assert client(stack).request("GET", "/v1/models", bearer("key_a")).status == 503
        until(lambda: any("cluster is unknown" in line for line in loader_log(stack)))
        assert sum("cluster is unknown" in line for line in loader_log(stack)) == 1
