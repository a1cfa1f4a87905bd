"""A document follows its clusters when Envoy says that it has them, whatever `--lead` says."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator

import httpx
import pytest
from e2e.accounts.accounts_desk import AccountsStack, Desk
from e2e.accounts.document import ACCOUNT_OF, Credentials
from e2e.accounts.test_changes import Document, Traffic, account, beginning, group
from e2e.support import run_dir

#: So long that a document which waits for it does not come within a test.
NEVER = 600
PATIENCE = 30.0


class Watched:
    """A stack whose document is followed by `trilane render --watch`."""

    def __init__(self, stack: AccountsStack, *options: str) -> None:
        self.stack = stack
        stack.publisher.options = list(options)
        self.log = stack.watch()

    def said(self) -> str:
        return self.log.read_text()

    def put(self, document: Document) -> bytes:
        """Hands over a document, and returns it as it will be published."""
        text = self.stack._with_addresses(json.dumps(document).encode())
        self.stack.follow(text)
        return text

    def is_published(self, text: bytes) -> bool:
        return self.stack.document_path.read_bytes() == text

    def until_published(self, text: bytes, within: float = PATIENCE) -> float:
        """When it was."""
        deadline = time.monotonic() + within
        while not self.is_published(text):
            assert time.monotonic() < deadline, self.said()[-3000:]
            time.sleep(0.002)
        return time.monotonic()

    def active(self) -> set[str]:
        """The clusters that take requests in Envoy."""
        dump = httpx.get(f"{self.stack.admin_url}/config_dump?resource=dynamic_active_clusters", trust_env=False).json()
        return {config["cluster"]["name"] for config in dump.get("configs", [])}

    @property
    def admin(self) -> str:
        return self.stack.admin_url.removeprefix("http://")


@pytest.fixture(scope="module")
def desk() -> Iterator[Desk]:
    directory = run_dir("accounts-acknowledged")
    shutil.rmtree(directory / "credentials", ignore_errors=True)
    credentials = Credentials(directory / "credentials")
    for name in ACCOUNT_OF.values():
        for each in ("many", "one"):
            credentials.put(f"{each}.{name}")
    with AccountsStack(directory, document=beginning(), credentials=credentials.directory) as stack:
        with Desk(stack, credentials) as running:
            yield running


@pytest.fixture
def watched(desk: Desk, request: pytest.FixtureRequest) -> Iterator[Watched]:
    """With the first document in force, and Envoy asked; `param`: other options."""
    desk.stack.publisher.publish(desk.stack._with_addresses(json.dumps(beginning()).encode()), running=True)
    desk.stack.publisher.clean_up()
    asked = ["--lead", str(NEVER), "--admin", desk.stack.admin_url.removeprefix("http://")]
    watched = Watched(desk.stack, "--settle", "1", *getattr(request, "param", asked))
    text = watched.put(beginning())
    watched.until_published(text)
    yield watched
    desk.stack._children.pop("render").stop()
    desk.stack.publisher.options = []


def more(*names: str) -> Document:
    document = copy.deepcopy(beginning())
    group(document, "many")["accounts"] += [account("many", name, id=f"more-{name}") for name in names]
    return document


def test_an_account_is_added_under_load(desk: Desk, watched: Watched) -> None:
    """It comes with no wait that somebody chose, and no request finds its cluster missing."""
    with Traffic(desk, "many", "one") as traffic:
        traffic.wait()
        for document in (more("a4"), beginning(), more("a1", "a2")):
            begun = time.monotonic()
            text = watched.put(document)
            published = watched.until_published(text)
            # The file is looked at once a second; the rest is Envoy's.
            assert published - begun < 15, watched.said()
            named = {f"account/many/{each['id']}" for each in group(document, "many")["accounts"]}
            assert named <= watched.active(), "it has them when the document comes"
            traffic.wait()
            time.sleep(1.5)
        assert not traffic.trouble, traffic.trouble[:3]


def test_a_changed_cluster_is_told_from_the_one_before(desk: Desk, watched: Watched) -> None:
    """An Envoy that is busy takes it later, and the document waits for that, though a cluster of that name is there."""
    document = beginning()
    group(document, "one")["accounts"][0]["retries"] = 3
    envoy = desk.stack.pids["Envoy"]
    os.kill(envoy, signal.SIGSTOP)
    try:
        text = watched.put(document)
        clusters = desk.stack.upstreams_dir / "clusters" / "clusters.json"
        deadline = time.monotonic() + PATIENCE
        while '"num_retries": 3' not in clusters.read_text():
            assert time.monotonic() < deadline, f"it was never offered: {watched.said()}"
            time.sleep(0.02)
        time.sleep(2)  # what is to be seen is that the document does not come
        assert not watched.is_published(text), "it has come before Envoy had the cluster"
    finally:
        os.kill(envoy, signal.SIGCONT)
    watched.until_published(text)
    dump = httpx.get(f"{desk.stack.admin_url}/config_dump?resource=dynamic_active_clusters", trust_env=False).text
    assert '"num_retries": 3' in dump


def test_a_cluster_that_envoy_refuses(desk: Desk, watched: Watched) -> None:
    """Somebody tells what is wrong, at once, and the document does not wait for ever. Envoy goes on with what it has."""
    clusters = desk.stack.upstreams_dir / "clusters" / "clusters.json"
    over = threading.Event()

    def spoil() -> None:
        """Whatever is offered has a fault in it when Envoy reads it: the last rename wins."""
        last = ""
        while not over.is_set():
            text = clusters.read_text()
            if "more-a4" in text and text != last:
                spoilt = json.loads(text)
                for cluster in spoilt["resources"]:
                    if cluster["name"] == "account/many/more-a4":
                        cluster["lb_policy"] = "CLUSTER_PROVIDED"
                last = json.dumps(spoilt)
                part = clusters.with_name(".spoilt")
                part.write_text(last)
                part.rename(clusters)
            time.sleep(0.0005)

    envoy = desk.stack.pids["Envoy"]
    thread = threading.Thread(target=spoil)
    thread.start()
    try:
        # It looks when both have been written.
        os.kill(envoy, signal.SIGSTOP)
        text = watched.put(more("a4"))
        deadline = time.monotonic() + PATIENCE
        while "CLUSTER_PROVIDED" not in clusters.read_text():
            assert time.monotonic() < deadline, watched.said()
            time.sleep(0.01)
        time.sleep(0.5)
        os.kill(envoy, signal.SIGCONT)
        watched.until_published(text)
    finally:
        over.set()
        os.kill(envoy, signal.SIGCONT)
        thread.join()
    deadline = time.monotonic() + 5
    while "warning: Envoy " not in watched.said():
        assert time.monotonic() < deadline, watched.said()
        time.sleep(0.02)
    (warning,) = [line for line in watched.said().splitlines() if "warning: Envoy " in line]
    assert "account/many/more-a4" in warning and "source/one" not in warning, warning
    assert "config rejected" in desk.stack.envoy_log.read_text()
    # The others are as they were.
    with Traffic(desk, "one") as traffic:
        traffic.wait()
    assert not traffic.trouble, traffic.trouble[:3]


@pytest.mark.parametrize("watched", [["--lead", "2", "--admin", "127.0.0.1:1"]], indirect=True)
def test_where_nobody_answers_the_lead_stands(watched: Watched) -> None:
    begun = time.monotonic()
    published = watched.until_published(watched.put(more("a4")))
    assert published - begun >= 2, watched.said()
    until = time.monotonic() + 5
    while "Envoy cannot be asked" not in watched.said():
        assert time.monotonic() < until, watched.said()
        time.sleep(0.02)
    assert "2 s after its clusters" in watched.said()


def test_an_envoy_that_comes_late_has_both(desk: Desk, watched: Watched) -> None:
    """While it is away documents do not wait for it: it reads the clusters before it takes a request."""
    desk.stack.kill_envoy()
    without = beginning()
    group(without, "many")["accounts"][0]["weight"] = 7
    text = watched.put(without)
    watched.until_published(text)
    desk.stack.restart_envoy()
    with Traffic(desk, "many", "one") as traffic:
        traffic.wait()
    assert not traffic.trouble, traffic.trouble[:3]
    assert {"account/many/a1", "source/one"} <= watched.active()


def in_force(stack: AccountsStack) -> int:
    text = httpx.get(f"{stack.admin_url}/stats?filter=trilane_config_hash", trust_env=False).text
    return int(text.rpartition(": ")[2])


def test_the_gateway_shows_which_document_it_has_in_force(desk: Desk, watched: Watched) -> None:
    for document in (more("a4"), beginning()):
        text = watched.put(document)
        watched.until_published(text)
        want = int(hashlib.sha256(text).hexdigest()[:13], 16)
        assert want < 1 << 52
        deadline = time.monotonic() + 10
        while in_force(desk.stack) != want:
            assert time.monotonic() < deadline, (in_force(desk.stack), want)
            time.sleep(0.02)
        time.sleep(1.5)

