"""What the metrics say of accounts, against what was sent, what the accounts saw, and the ledger's lines."""

from __future__ import annotations

import socket
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple, Optional

import pytest
from e2e.accounts.accounts_desk import EJECTED, Asked, Desk
from e2e.ledger_reader import Record
from e2e.accounts.document import ACCOUNT_OF
from e2e.accounts.health_document import ALONE, BARE, BROKEN, HEALTH, KINDS, SHORT, SOURCES, Impostor, health_document, key_of
from e2e.accounts.operations import BY_NAME
from e2e.support import run_dir
from exposition import Scrape, scrape
from gateway_metrics import METRICS
from promtool import Promtool, Unavailable

TRIES = "trilane_account_tries_total"
FIRST_TOKEN = "trilane_account_time_to_first_token"
PLAIN, STREAM = BY_NAME["messages"], BY_NAME["messages-stream"]

pytestmark = pytest.mark.usefixtures("honest")

#: Source, account, outcome -> tries.
Tries = Counter[tuple[str, str, str]]

#: How the simulator is told to fail, and what a try that meets it is counted as.
FAILURES: list[tuple[dict[str, Any], str]] = [
    ({"status": 429, "retry_after": 7}, "rate_limited"),
    ({"status": 503}, "overloaded"),
    ({"status": 529}, "overloaded"),
    ({"status": 500}, "server_error"),
    ({"status": 502}, "server_error"),
    ({"status": 504}, "server_error"),
    ({"status": 401}, "unauthorized"),
    ({"status": 402}, "unauthorized"),
    ({"status": 403}, "unauthorized"),
    ({"cut": "head"}, "connection"),
    ({"stall": "head"}, "no_answer"),
    # These are the request's fault: the account gave a good answer.
    ({"status": 400}, "answered"),
    ({"status": 404}, "answered"),
    ({"status": 413}, "answered"),
    # What comes after the first byte is no failed try.
    ({"cut": "body"}, "answered"),
]


class Measured(NamedTuple):
    """Everything that was sent, between two scrapes."""

    before: Scrape
    after: Scrape
    #: By what the accounts themselves saw; only those that can see.
    seen: Tries
    #: The lines of the sources' requests.
    records: list[Record]
    #: What the impostor got to read.
    stolen: bytes

    def grown(self, name: str, **labels: str) -> float:
        return self.after.value(name, **labels) - self.before.value(name, **labels)

    def tries(self, *sources: str) -> Tries:
        """The metric's growth, by its labels."""
        grown: Tries = Counter()
        for (name, labels), value in self.after.series.items():
            of = dict(labels)
            if name == TRIES and of["source"] in sources:
                before = self.before.series.get((name, labels), 0)
                grown[of["source"], of["account"], of["outcome"]] += int(value - before)
        return +grown


def answered(record: Record) -> bool:
    """Whether the last try gave an answer that counts, as docs/ledger.md says."""
    status = record["http.response.status_code"]
    return status > 0 and record["trilane.tries"] > len(record.get("trilane.tries.failed", []))


def streamed(record: Record) -> bool:
    """Whether it is in the histogram."""
    at_once = answered(record) and "trilane.tries.failed" not in record
    began = record["trilane.usage.status"] in ("complete", "estimated")
    return record["trilane.stream"] and at_once and began and "trilane.time_to_first_byte_us" in record


def by_ledger(records: list[Record], *sources: str) -> Tries:
    """The same from lines, as docs/ledger.md says."""
    tries: Tries = Counter()
    for record in records:
        source = record["trilane.source"]
        if source in sources:
            failed = record.get("trilane.tries.failed", [])
            tries.update((source, one["account"], one["kind"]) for one in failed)
            if answered(record):
                tries[source, record["trilane.account"], "answered"] += 1
    return tries


class Sender:
    """Sends to the sources, and counts what their accounts saw."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.sent: Counter[str] = Counter()
        self._steered: list[tuple[str, Asked, str, Optional[list[str]]]] = []

    def send(
        self, source: str, stream: bool = False, sim: Optional[dict[str, Any]] = None, kind: str = "answered",
        at: Optional[list[str]] = None, timeout: float = 30.0,
    ) -> Asked:  # fmt: skip
        operation = STREAM if stream else PLAIN
        asked = self._desk.ask(operation, sim=sim, at=at, headers=key_of(source), timeout=timeout)
        self.sent[source] += 1
        self._steered.append((source, asked, kind, at))
        return asked

    def seen(self) -> Tries:
        tries: Tries = Counter()
        for source, asked, kind, at in self._steered:
            for entry in asked.seen if kind else []:
                name = ACCOUNT_OF[entry["listener"]]
                tries[source, name, kind if at is None or name in at else "answered"] += 1
        return tries


@pytest.fixture(scope="module")
def promtool() -> Promtool:
    try:
        return Promtool()
    except Unavailable as reason:
        pytest.skip(f"no promtool: {reason}")


@pytest.fixture(scope="module")
def published(accounts: Desk) -> Iterator[Impostor]:
    """The document in force."""
    with socket.socket() as nobody, Impostor(run_dir("accounts-health") / "impostor") as impostor:
        nobody.bind(("127.0.0.1", 0))  # held and never listened on
        accounts.publish(health_document(impostor.port, nobody.getsockname()[1], accounts.stack.ca_file))
        yield impostor
        accounts.default()


@pytest.fixture(scope="module")
def measured(accounts: Desk, published: Impostor) -> Measured:
    begun = len(accounts.ledger.now())
    before = scrape(accounts.stack.admin_url)
    sender = Sender(accounts)
    for stream in (False, True):
        for sim, kind in FAILURES:
            # All of them, or all but one.
            sender.send(HEALTH, stream, sim, kind, ["a1", "a2", "a3"] if stream else None)
        for _ in range(5):
            assert sender.send(HEALTH, stream).status == 200
        assert sender.send(ALONE, stream).status == 200
        for status, kind in ((429, "rate_limited"), (403, "unauthorized"), (400, "answered")):
            sender.send(ALONE, stream, {"status": status}, kind)
        for _ in range(3):
            assert sender.send(BROKEN, stream).status == 502
        assert sender.send(BARE, stream).status == 502
    # Its first account uses up all the time there is.
    assert sender.send(SHORT, True, {"stall": "head"}, "no_answer").status == 502
    # The client leaves long before its account's time is up: no try has failed, and none was answered.
    assert sender.send(ALONE, True, {"stall": "head"}, "", timeout=0.3).trouble
    records = settled(accounts, begun, sender.sent)
    # The filter writes its counters every second, Envoy merges its workers' histograms every 5 s.
    streams = sum(map(streamed, records))
    made = sum(by_ledger(records, *SOURCES).values())
    deadline = time.monotonic() + 20
    while True:
        after = scrape(accounts.stack.admin_url)
        count = sum(
            after.value(f"{FIRST_TOKEN}_count", source=source) - before.value(f"{FIRST_TOKEN}_count", source=source)
            for source in SOURCES
        )
        measured = Measured(before, after, sender.seen(), records, published.received)
        tries = sum(measured.tries(*SOURCES).values())
        if count >= streams and tries >= made:
            return measured
        assert time.monotonic() < deadline, f"{count} of {streams} streams and {tries} of {made} tries are counted"
        time.sleep(0.25)


def settled(desk: Desk, begun: int, sent: Counter[str]) -> list[Record]:
    """The lines of all that was sent."""
    deadline = time.monotonic() + 20
    while True:
        records = [record for record in desk.ledger.now()[begun:] if record.get("trilane.source") in sent]
        if len(records) >= sum(sent.values()):
            assert Counter(record["trilane.source"] for record in records) == sent
            return records
        assert time.monotonic() < deadline, f"{len(records)} lines of {sum(sent.values())} requests"
        time.sleep(0.05)


def test_tries_are_what_the_accounts_saw(measured: Measured) -> None:
    """Those that an account got to see at all; a client that leaves counts nothing."""
    counted = measured.tries(HEALTH, ALONE)
    assert counted == +Counter({labels: n for labels, n in measured.seen.items() if labels[0] in (HEALTH, ALONE)})
    kinds = {outcome for source, _, outcome in counted if source == HEALTH}
    assert kinds == {kind for _, kind in FAILURES}
    assert {account for _, account, outcome in counted if outcome != "answered"} >= {"a1", "a2", "a3"}


def test_tries_are_the_ledgers(measured: Measured) -> None:
    assert measured.tries(*SOURCES) == by_ledger(measured.records, *SOURCES)


def test_accounts_that_nobody_can_reach(measured: Measured) -> None:
    counted = measured.tries(BROKEN)
    assert {account: outcome for _, account, outcome in counted} == KINDS, counted
    assert len(counted) == len(KINDS), counted
    assert measured.tries(BARE) == Counter({(BARE, "a2", "no_credential"): 2})
    assert measured.stolen == b""


def test_no_time_is_left(measured: Measured) -> None:
    """One account was asked, a second one was not."""
    outcomes: Counter[str] = Counter()
    for (_, _, outcome), number in measured.tries(SHORT).items():
        outcomes[outcome] += number
    assert outcomes == Counter(no_answer=1, no_time=1)


def test_every_kind_was_met(measured: Measured) -> None:
    kinds = {outcome for _, _, outcome in measured.tries(*SOURCES)}
    assert kinds == {
        *("answered", "rate_limited", "overloaded", "server_error", "unauthorized", "no_credential"),
        *("connection", "tls", "no_host", "no_answer", "no_time"),
    }


def test_time_to_first_token(measured: Measured) -> None:
    """Each account's histogram has the times of the ledger's lines, as well as a histogram can."""
    times: dict[tuple[str, str], list[int]] = {}
    for record in measured.records:
        if streamed(record):
            of = record["trilane.source"], record["trilane.account"]
            times.setdefault(of, []).append(record["trilane.time_to_first_byte_us"])
    assert {source for source, _ in times} == {HEALTH, ALONE}
    for (source, account), values in times.items():
        labels = {"source": source, "account": account}
        assert measured.grown(f"{FIRST_TOKEN}_count", **labels) == len(values), labels
        # Envoy keeps two digits of a time.
        assert measured.grown(f"{FIRST_TOKEN}_sum", **labels) == pytest.approx(sum(values), rel=0.06), labels
        bounds = {dict(has)["le"] for name, has in measured.after.series if name == f"{FIRST_TOKEN}_bucket"}
        assert len(bounds) > 10
        for bound in bounds:
            within = measured.grown(f"{FIRST_TOKEN}_bucket", le=bound, **labels)
            low, high = (sum(value <= float(bound) * near for value in values) for near in (0.9, 1.1))
            assert low <= within <= high, f"{labels} {bound} {sorted(values)}"


def test_labels_are_clean(measured: Measured) -> None:
    """Every label is taken out of the names, and ids come through as they are in the document."""
    text = [line for line in measured.after.text.splitlines() if "trilane_account_" in line]
    assert text and not [line for line in text if ";" in line or "wasmcustom" in line]
    names = {name for name in measured.after.kinds if name.startswith("trilane_account_")}
    assert names == {TRIES, FIRST_TOKEN, EJECTED}
    for name in names:
        assert measured.after.kinds[name] == METRICS[name].kind
        assert measured.after.labels()[name] == {frozenset(METRICS[name].labels)}
    labels = [dict(has) for name, has in measured.after.series if name == TRIES]
    assert {of["account"] for of in labels if of["source"] == BROKEN} == KINDS.keys()


def test_promtool_finds_nothing_to_complain_of(measured: Measured, promtool: Promtool) -> None:
    lines = []
    for line in measured.after.text.splitlines():
        if line.startswith("# TYPE trilane_account_"):
            name = line.split()[2]
            lines.append(f"# HELP {name} {METRICS[name].meaning}")
        if line.startswith(("# TYPE trilane_account_", "trilane_account_")):
            lines.append(line)
    linted = promtool("check", "metrics", given="\n".join(lines) + "\n")
    assert (linted.returncode, linted.stdout) == (0, "")


def test_envoys_own_stats_of_accounts(measured: Measured) -> None:
    """By names that the rules and the dashboard count on: `.` is written `=`, and `:` is written `%`."""
    cluster = "account~health=broken%1"
    tries = measured.tries(*SOURCES)
    connects = "envoy_cluster_upstream_cx_connect_fail"
    grown = {
        "refused": measured.grown(connects, envoy_cluster_name=f"{cluster}~refused%1"),
        "tls": measured.grown(connects, envoy_cluster_name=f"{cluster}~impostor_2"),
        "certificate": measured.grown("envoy_cluster_ssl_fail_verify_error", envoy_cluster_name=f"{cluster}~impostor_2"),
        "locked out": measured.grown(
            "envoy_cluster_credential_injector_failed", envoy_cluster_name=f"{cluster}~locked-out"
        ),
        "bare": measured.grown(
            "envoy_cluster_credential_injector_failed", envoy_cluster_name="account~health=bare~a2"
        ),
        "gone": measured.grown("envoy_cluster_upstream_cx_none_healthy", envoy_cluster_name=f"{cluster}~gone=eu"),
    }
    tls = tries[BROKEN, "impostor_2", "tls"]
    assert grown == {
        "refused": tries[BROKEN, "refused:1", "connection"],
        "tls": tls,
        "certificate": tls,
        "locked out": tries[BROKEN, "locked-out", "no_credential"],
        "bare": tries[BARE, "a2", "no_credential"],
        "gone": tries[BROKEN, "gone.eu", "no_host"],
    }
    for account in ("a1", "a2", "a3", "a4"):
        answers = "envoy_cluster_upstream_rq_time_count"
        assert measured.grown(answers, envoy_cluster_name=f"account~health~{account}") > 0, account
    again = measured.grown("envoy_cluster_upstream_rq_total", envoy_cluster_name="account/hop")
    tries_made = sum(record["trilane.tries"] - 1 for record in measured.records if record["trilane.source"] == HEALTH)
    # First attempts at accounts that had not answered before go there as well.
    assert again >= tries_made > 0
    missing = {"envoy_xds_resource_name": f"{cluster}~locked-out"}
    assert measured.after.value("envoy_sds_update_success", **missing) == 0
    assert measured.after.value("envoy_sds_update_rejected", **missing) >= 1


def in_use(desk: Desk) -> dict[str, float]:
    """Account -> whether it is in use now (1) or ejected (0)."""
    series = scrape(desk.stack.admin_url).series.items()
    until = {dict(labels)["account"]: value for (name, labels), value in series if (name, dict(labels).get("source")) == (EJECTED, HEALTH)}
    return {account: float(value <= time.time()) for account, value in until.items()}


def wait_in_use(desk: Desk, wanted: dict[str, float]) -> None:
    deadline = time.monotonic() + 15
    while (found := in_use(desk)) != wanted:
        assert time.monotonic() < deadline, f"{found}, not {wanted}"
        time.sleep(0.05)


def test_who_is_set_aside_now(accounts: Desk, measured: Measured) -> None:
    everyone = dict.fromkeys(("a1", "a2", "a3", "a4"), 1.0)
    wait_in_use(accounts, everyone)
    sender = Sender(accounts)
    assert sender.send(HEALTH, False, {"status": 429}, "rate_limited", ["a1", "a2"]).status == 200
    wait_in_use(accounts, {**everyone, "a1": 0, "a2": 0})
    wait_in_use(accounts, everyone)
