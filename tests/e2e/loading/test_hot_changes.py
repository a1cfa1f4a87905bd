"""The document changes while requests run: none is judged wrongly, none is lost, and what is revoked is revoked."""

from __future__ import annotations

import copy
import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Optional

import httpx
import pytest
from demo import DEMO_KEYS
from e2e.loading.variants import (
    CALLS,
    HELLO,
    PATIENCE,
    Variant,
    client,
    generation,
    loader_log,
    rejections,
    sample,
    stats,
    tick,
    wait_generation,
    wait_polls,
)
from e2e.support import Answer, Gateway, bearer, run_dir, x_api_key
from stack import Stack
from waiting import until


@pytest.fixture(scope="module")
def fast() -> Iterator[Stack]:
    """A stack whose loader looks ten times a second: a hundred changes take seconds."""
    with Variant(run_dir("hot-fast"), tick(100)) as running:
        yield running


@pytest.fixture(scope="module")
def plain() -> Iterator[Stack]:
    """A stack with the pace that ships."""
    with Stack(run_dir("hot-plain")) as running:
        yield running


@pytest.fixture(autouse=True)
def sample_again(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each test leaves the sample document in force."""
    yield
    for name in {"fast", "plain"} & set(request.fixturenames):
        stack = request.getfixturevalue(name)
        put(stack, sample())


def put(stack: Stack, document: Any) -> None:
    """Publishes a document and waits until it is in force. It must differ from the one before."""
    if stack.document == json.dumps(document).encode():
        return
    before = generation(stack)
    stack.publish(document)
    wait_generation(stack, before)


def key(identifier: str, group: str) -> dict[str, Any]:
    digest = hashlib.sha256(identifier.encode()).hexdigest()
    return {"id": identifier, "sha256": digest, "group": group}


def entry(document: dict[str, Any], part: str, identifier: str) -> dict[str, Any]:
    return next(entry for entry in document[part] if entry["id"] == identifier)


# ---- Many changes under load

CROWD = [key(f"crowd-{number}", "") for number in range(2000)]


def version(number: int) -> dict[str, Any]:
    """Version `number` of the document: multipliers, models, names, groups and keys all change with it.

    The multiplier of the B source says which version an answer was made with.
    """
    document = sample()
    even = number % 2 == 0
    entry(document, "groups", "b-official")["multiplier"] = f"2.{number:04d}"
    a_official = entry(document, "groups", "a-official")
    a_official["name"] = f"Channel {number}"
    a_official["models"].append({"id": f"gpt-of-{number}", "display_name": f"Version {number}"})
    # Each version has a group of its own, an odd one that of its predecessor as well: from even to odd a group is
    # only added, from odd to even one comes and two go.
    for other in {number - number % 2, number}:
        second = copy.deepcopy(a_official)
        del second["accounts"]
        second.update(id=f"a-second-{other}", cluster="b_low_rate", name="Comes and goes")
        document["groups"].append(second)
    own = f"a-second-{number}"
    # One key changes its group every time, one is in a group that is new each time, one comes and goes. The crowd
    # behind them makes the publication take long enough for requests to come in between.
    document["keys"].insert(0, key("roaming", "a-official" if even else own))
    document["keys"].insert(0, key("in-a-new-group", own))
    if even:
        document["keys"].append(key("coming-and-going", "a-official"))
    document["keys"] += [{**one, "group": own} for one in CROWD]
    return document


class Client:
    """One client that repeats one kind of request until it is told to stop, and notes what it got."""

    def __init__(self, stack: Stack, look: Callable[[httpx.Client], str]) -> None:
        self.seen: Counter[str] = Counter()
        self.fault: Optional[str] = None
        self._look = look
        self._stop = threading.Event()
        self._http = httpx.Client(base_url=stack.base_url, timeout=30, trust_env=False)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self.seen[self._look(self._http)] += 1
            except Exception as error:  # noqa: BLE001 - whatever it is, the test must hear of it
                self.fault = f"{type(error).__name__}: {error}"
                return

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(40)
        assert not self._thread.is_alive(), "a request never ended"
        self._http.close()


def asks(protocol: str, value: Optional[str] = None) -> Callable[[httpx.Client], str]:
    """One generation request: its status, and who answered it."""
    call = CALLS[protocol]
    headers = bearer(value) if value else call.headers

    def look(http: httpx.Client) -> str:
        response = http.post(call.path, headers=headers, json=call.json)
        return f"{response.status_code} {response.headers.get('x-sim-upstream', '-')}"

    return look


def lists(newest: list[int]) -> Callable[[httpx.Client], str]:
    """The list of the Mixed key: of one version throughout, never of an older one than before."""
    last = 0

    def look(http: httpx.Client) -> str:
        nonlocal last
        response = http.get("/v1/models", headers=bearer("key_mixed"))
        assert response.status_code == 200, response.text
        versions = {model["multiplier"] for model in response.json()["data"] if model["entry"] == "vb_messages"}
        assert len(versions) == 1, f"two documents in one answer: {versions}"
        number = int(versions.pop().removeprefix("2."))
        assert last <= number <= newest[0], f"version {number} after {last}, the newest is {newest[0]}"
        last = number
        return "one version"

    return look


def lists_own(newest: list[int]) -> Callable[[httpx.Client], str]:
    """The list of an A key: its group's models of one version, the odd one included."""
    steady = {model["id"] for model in entry(sample(), "groups", "a-official")["models"]}

    def look(http: httpx.Client) -> str:
        response = http.get("/v1/models", headers=bearer("key_a"))
        assert response.status_code == 200, response.text
        extra = {model["id"] for model in response.json()["data"]} ^ steady
        assert len(extra) <= 1 and all(name.startswith("gpt-of-") for name in extra), extra
        return "one version"

    return look


@pytest.mark.parametrize("changes", [30, pytest.param(100, marks=pytest.mark.long)])
def test_changes_under_load(fast: Stack, changes: int) -> None:
    newest = [0]
    put(fast, version(0))
    wanted = {
        "A": (asks("A"), {"200 a_official"}),
        "B": (asks("B"), {"200 b_official"}),
        "C": (asks("C"), {"200 c_official"}),
        "a key that moves": (asks("A", "roaming"), {"200 a_official", "200 b_low_rate"}),
        "a key whose group is new each time": (asks("A", "in-a-new-group"), {"200 b_low_rate"}),
        "a key that comes and goes": (asks("A", "coming-and-going"), {"200 a_official", "401 -"}),
        "an unknown key": (asks("A", "nobody's"), {"401 -"}),
        "the Mixed list": (lists(newest), {"one version"}),
        "the A list": (lists_own(newest), {"one version"}),
    }
    clients = {name: Client(fast, look) for name, (look, _) in wanted.items()}
    try:
        for number in range(1, changes + 1):
            newest[0] = number
            put(fast, version(number))
            assert all(client.fault is None for client in clients.values()), number
    finally:
        for client in clients.values():
            client.stop()
    for name, client in clients.items():
        assert client.fault is None, f"{name}: {client.fault}"
        assert set(client.seen) == wanted[name][1], f"{name}: {client.seen}"
        assert sum(client.seen.values()) >= changes / 2, f"{name}: too few to say anything: {client.seen}"
    assert rejections(fast, "invalid") == 0


# ---- Revocation


def disabled(document: dict[str, Any]) -> None:
    entry(document, "keys", "key_a")["disabled"] = True


def expired(document: dict[str, Any]) -> None:
    entry(document, "keys", "key_a")["expires_at"] = "2025-01-01T00:00:00Z"


def removed(document: dict[str, Any]) -> None:
    document["keys"].remove(entry(document, "keys", "key_a"))


def moved(document: dict[str, Any]) -> None:
    entry(document, "keys", "key_a")["group"] = "b-official"


def without_the_model(document: dict[str, Any]) -> None:
    # From the Mixed group over this source too, or the document would be refused.
    for name in ("a-official", "mixed"):
        group = entry(document, "groups", name)
        group["models"] = [model for model in group["models"] if model["id"] != "gpt-5.1"]


REVOCATIONS = {
    "disabled": (disabled, 401),
    "expired": (expired, 401),
    "removed": (removed, 401),
    "moved to another protocol": (moved, 403),
    "the model removed": (without_the_model, 404),
}


@pytest.mark.parametrize(("change", "status"), REVOCATIONS.values(), ids=REVOCATIONS)
def test_what_is_revoked_is_refused_everywhere(
    plain: Stack, change: Callable[[dict[str, Any]], None], status: int
) -> None:
    gateway = client(plain)
    assert CALLS["A"].send(gateway).status == 200
    document = sample()
    change(document)
    plain.publish(document)
    start = time.monotonic()
    until(lambda: fresh(gateway).status == status, check=plain.check)
    elapsed = time.monotonic() - start
    # Two ticks of 500 ms, and some for a machine that has other things to do.
    assert elapsed < 5.0, f"{elapsed:.2f} s"
    # A new connection may land on either worker: from now on both refuse.
    for attempt in range(30):
        answer = fresh(gateway)
        assert answer.status == status, f"connection {attempt}"
        assert answer.seen == [], f"connection {attempt}"
    put(plain, sample())
    assert {fresh(gateway).status for _ in range(30)} == {200}


def fresh(gateway: Gateway) -> Answer:
    """A request on a connection of its own."""
    call = CALLS["A"]
    return gateway.request("POST", call.path, {**call.headers, "connection": "close"}, json=call.json)


# ---- Broken documents


def problems() -> dict[str, Any]:
    document = sample()
    entry(document, "groups", "a-official")["multiplier"] = "cheap"
    entry(document, "groups", "b-official")["cluster"] = ""
    entry(document, "keys", "key_c")["group"] = "nobody"
    document["surprise"] = 1
    return document


def problems_of_sense() -> dict[str, Any]:
    document = problems()
    del document["surprise"]
    return document


BROKEN: dict[str, tuple[Any, list[str]]] = {
    "no JSON": (b'{"groups": [', ["not valid JSON"]),
    "not even text": (b"\x00\xff\xfe", ["not valid JSON"]),
    "an empty file": (b"", ["not valid JSON"]),
    "an empty object": (b"{}", ["groups: is missing", "keys: is missing"]),
    "an unknown field": (problems(), ["surprise: unknown field"]),
    "problems": (problems_of_sense(), ["groups[0].multiplier", "groups[1].cluster", "keys[4].group"]),
    "no keys": ({**sample(), "keys": None}, ["keys: is missing"]),
}


@pytest.mark.parametrize(("broken", "said"), BROKEN.values(), ids=BROKEN)
def test_a_broken_document_changes_nothing(fast: Stack, broken: Any, said: list[str]) -> None:
    gateway = client(fast)
    put(fast, {**sample(), "max_body": 50_000_000})
    before = stats(fast)
    logged = len(loader_log(fast))
    fast.publish(broken)
    counter = 'trilane_config_rejections_total{reason="invalid"}'
    until(lambda: stats(fast)[counter] == before[counter] + 1, check=fast.check)
    wait_polls(fast, 3)

    for name, call in CALLS.items():
        assert call.send(gateway).status == 200, name
    assert gateway.request("GET", "/healthz").status == 200
    after = stats(fast)
    for name in (counter, "trilane_config_generation{}", "trilane_config_keys{}"):
        want = before[name] + (1 if name == counter else 0)
        assert after[name] == want, f"{name}: a broken document is judged once"
    # Envoy writes its log in its own time.
    until(lambda: len(loader_log(fast)) > logged)
    lines = loader_log(fast)[logged:]
    assert len(lines) == 1, lines
    for part in said:
        assert part in lines[0], lines[0]
    until(lambda: stats(fast)["trilane_config_age_seconds{}"] >= 1, check=fast.check)

    put(fast, sample())
    until(lambda: stats(fast)["trilane_config_age_seconds{}"] == 0, check=fast.check)
    assert stats(fast)["trilane_config_keys{}"] == len(sample()["keys"])


# ---- Streams


def test_a_stream_survives_twenty_changes(fast: Stack) -> None:
    changes, events = 20, 40
    body = {"model": "claude-opus-5-5", "max_tokens": 9, "stream": True, "messages": HELLO}
    headers = {**x_api_key("key_b"), "x-sim-events": str(events), "x-sim-gap-ms": "150"}
    made = 0
    seen: list[str] = []
    with httpx.Client(base_url=fast.base_url, timeout=PATIENCE, trust_env=False) as http:
        with http.stream("POST", "/v1/messages", headers=headers, json=body) as response:
            assert response.status_code == 200
            lines = response.iter_lines()
            for line in lines:
                seen.append(line)
                if made < changes and line.startswith("event: content_block_delta"):
                    made += 1
                    document = version(made)
                    # Not even the key's own end ends what has begun.
                    document["keys"].remove(entry(document, "keys", "key_b"))
                    put(fast, document)
    assert made == changes
    assert seen.count("event: content_block_delta") == events
    assert "event: message_stop" in seen
    assert CALLS["B"].send(client(fast)).status == 401


def test_the_demo_keys_are_those_of_the_sample() -> None:
    """What the tests above call `key_a` is the key that they change."""
    digest = hashlib.sha256(DEMO_KEYS["key_a"].encode()).hexdigest()
    assert entry(sample(), "keys", "key_a")["sha256"] == digest
