"""What Prometheus reads of a real Envoy: the metrics that are promised, and all that rules and dashboard ask for."""

from __future__ import annotations

import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple, Optional

import pytest
from console_metrics import AGENT_METRICS, CONSOLE_METRICS
from e2e.operator.metered import LIMITED_KEY, METERED, METERED_KEY, ODD, ODD_ANSWER, ODD_KEY
from e2e.support import Gateway, bearer, goog, x_api_key
from exposition import Scrape, scrape
from gateway_metrics import FEED_METRICS, LEDGER_METRICS, METRICS, RULES, SPEND_METRICS, base_name, dropped, expressions, names, rules_names
from promtool import Promtool
from stack import Stack

HELLO = [{"role": "user", "content": "Hello"}]
CHAT = "/v1/chat/completions"
MESSAGES = "/v1/messages"
MODELS = "/v1beta/models/gemini-2.5-flash"
CONTENTS = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}
B = {"model": "claude-opus-4-5", "max_tokens": 64, "messages": HELLO}

#: Where the requests below are counted: group, entry, model.
A_SERIES = ("a-official", "responses", "gpt-5.1")
B_SERIES = ("b-official", "vb_messages", "claude-opus-4-5")
METERED_SERIES = (METERED, "vb_messages", "claude-opus-4-5")
ODD_SERIES = (ODD, "vb_messages", "claude-opus-4-5")
C_SERIES = ("c-official", "vc_generate_content", "gemini-2.5-flash")


class Request(NamedTuple):
    """A request, and how it ends: its status, outcome and usage status."""

    name: str
    path: str
    headers: dict[str, str]
    body: Optional[dict[str, Any]]
    series: tuple[str, str, str]
    status: int = 200
    outcome: str = "finished"
    usage: str = "complete"


REQUESTS = [
    Request("A", CHAT, bearer("key_a"), {"model": "gpt-5.1", "messages": HELLO}, A_SERIES),
    Request(
        "A, stream",
        CHAT,
        bearer("key_a"),
        {"model": "gpt-5.1", "stream": True, "stream_options": {"include_usage": True}, "messages": HELLO},
        A_SERIES,
    ),
    Request(
        "A, responses", "/v1/responses", bearer("key_a"), {"model": "gpt-5.1", "stream": True, "input": "Hi"}, A_SERIES
    ),
    Request(
        "A, images",
        "/v1/images/generations",
        bearer("key_a"),
        {"model": "gpt-image-1", "prompt": "a cat"},
        ("a-official", "responses", "gpt-image-1"),
    ),
    Request("B", MESSAGES, x_api_key("key_b"), B, B_SERIES),
    Request("B, stream", MESSAGES, x_api_key("key_b"), {**B, "stream": True}, B_SERIES),
    Request("C", f"{MODELS}:generateContent", goog("key_c"), CONTENTS, C_SERIES),
    Request("C, stream", f"{MODELS}:streamGenerateContent?alt=sse", goog("key_c"), CONTENTS, C_SERIES),
    Request("accounts, stream", MESSAGES, x_api_key(METERED_KEY), {**B, "stream": True}, METERED_SERIES),
    Request("limits", MESSAGES, x_api_key(LIMITED_KEY), B, METERED_SERIES),
    Request("limits, one more", MESSAGES, x_api_key(LIMITED_KEY), B, METERED_SERIES, 429, "refused", "none"),
    Request("searches", MESSAGES, {**x_api_key(ODD_KEY), ODD_ANSWER: "searched"}, B, ODD_SERIES),
    Request(
        "numbers in doubt",
        MESSAGES,
        {**x_api_key(ODD_KEY), ODD_ANSWER: "doubted"},
        B,
        ODD_SERIES,
        usage="estimated",
    ),
    Request(
        "an answer that is not read",
        MESSAGES,
        {**x_api_key(ODD_KEY), ODD_ANSWER: "unreadable"},
        B,
        ODD_SERIES,
        outcome="truncated",
        usage="estimated",
    ),
    Request(
        "429",
        CHAT,
        {**bearer("key_a"), "x-sim-status": "429"},
        {"model": "gpt-5.1", "messages": HELLO},
        A_SERIES,
        429,
        "upstream_error",
        "failed",
    ),
    Request(
        "500",
        MESSAGES,
        {**x_api_key("key_b"), "x-sim-status": "500"},
        B,
        B_SERIES,
        500,
        "upstream_error",
        "failed",
    ),
    Request(
        "our account refused",
        CHAT,
        {**bearer("key_a"), "x-sim-status": "401"},
        {"model": "gpt-5.1", "messages": HELLO},
        A_SERIES,
        502,
        "upstream_failed",
        "failed",
    ),
]


@pytest.fixture(scope="module")
def scrapes(stack: Stack, gateway: Gateway) -> Iterator[tuple[Scrape, Scrape]]:
    """Before and after a few requests of each protocol, once they are counted."""
    time.sleep(2.5)  # what was sent before is written by then, too: the filter writes its counters every second
    before = scrape(stack.admin_url)
    for request in REQUESTS:
        answer = gateway.request("POST", request.path, request.headers, json=request.body)
        assert answer.status == request.status, f"{request.name}: {answer.text}"
    assert gateway.request("POST", CHAT, bearer("nobody"), json={}).status == 401
    assert gateway.request("POST", CHAT, bearer("key_a"), json={"model": "no-such", "messages": []}).status == 404
    assert gateway.request("GET", "/v1/models", bearer("key_a")).status == 200
    yield before, settled(stack, before, len(REQUESTS) + 3)


def settled(stack: Stack, before: Scrape, requests: int) -> Scrape:
    """A scrape with all of the requests in it. Envoy merges its workers' histograms every 5 s."""
    deadline = time.monotonic() + 20
    began = time.monotonic()
    while True:
        after = scrape(stack.admin_url)
        counted = after.value("trilane_requests_total") - before.value("trilane_requests_total")
        if counted >= requests and time.monotonic() > began + 6:
            return after
        assert time.monotonic() < deadline, f"{counted} of {requests} requests are counted"
        time.sleep(0.25)


@pytest.fixture(scope="module")
def after(scrapes: tuple[Scrape, Scrape]) -> Scrape:
    return scrapes[1]


def test_promtool_finds_nothing_to_complain_of(after: Scrape, promtool: Promtool) -> None:
    """Envoy writes no HELP lines, so ours stand in for them; all else is as Envoy wrote it."""
    lines = []
    for line in after.text.splitlines():
        kind = re.match(r"# TYPE (trilane_\w+)", line)
        if kind:
            assert kind[1] in METRICS, f"an unknown metric, or a label that envoy.yaml does not take out: {kind[1]}"
            lines.append(f"# HELP {kind[1]} {METRICS[kind[1]].meaning}")
        if kind or line.startswith("trilane_"):
            lines.append(line)
    assert len(lines) > len(METRICS)
    linted = promtool("check", "metrics", given="\n".join(lines) + "\n")
    assert (linted.returncode, linted.stdout) == (0, "")


def test_promtool_reads_the_whole_page(after: Scrape, promtool: Promtool) -> None:
    """Of Envoy's own names it has much to say, but it can read them: one odd line, and Prometheus drops the scrape."""
    linted = promtool("check", "metrics", given=after.text)
    assert linted.returncode in (0, 3) and "error while linting" not in linted.stdout, linted.stdout


@pytest.mark.parametrize("name", METRICS)
def test_metric(after: Scrape, name: str) -> None:
    metric = METRICS[name]
    assert after.kinds.get(name) == metric.kind
    assert after.labels()[name] == {frozenset(metric.labels)}


def test_nothing_else_is_there(after: Scrape) -> None:
    assert {name for name in after.kinds if name.startswith("trilane_")} == METRICS.keys()


def test_rules_and_dashboard_ask_for_what_there_is(after: Scrape) -> None:
    asked = rules_names().union(*(names(expression) for _, expression in expressions()))
    there = {name for name, _ in after.series} | METRICS.keys() | FEED_METRICS.keys() | SPEND_METRICS.keys() | LEDGER_METRICS.keys()
    # Those of console and agents are compared with real ones in tests/e2e/console/test_metrics.py.
    there |= CONSOLE_METRICS.keys() | AGENT_METRICS.keys()
    assert {base_name(name) if name.startswith("trilane_console_") else name for name in asked} <= there
    kept = {name for name in asked if not dropped().fullmatch(name)}
    assert kept == asked, "prometheus.yml drops them"


def test_what_is_dropped_is_worth_it(after: Scrape) -> None:
    sizes = [bool(dropped().fullmatch(name)) for name, _ in after.series]
    assert sum(sizes) > len(sizes) // 4, f"{sum(sizes)} of {len(sizes)} series"


def test_requests_are_counted(scrapes: tuple[Scrape, Scrape]) -> None:
    before, after = scrapes
    wanted: dict[tuple[str, tuple[tuple[str, str], ...]], int] = defaultdict(int)
    for request in REQUESTS:
        labels = tuple(zip(("group", "entry", "model"), request.series))
        wanted["trilane_requests_total", (*labels, ("outcome", request.outcome))] += 1
        wanted["trilane_usage_records_total", (*labels, ("status", request.usage))] += 1
    odd = tuple(zip(("group", "entry", "model"), ODD_SERIES))
    wanted["trilane_calls_total", (*odd, ("kind", "web_search"))] += 2
    wanted["trilane_uncovered_total", (*odd, ("reason", "web_search"))] += 1
    wanted["trilane_unread_answers_total", odd] += 1
    wanted["trilane_requests_total", (("outcome", "refused"),)] += 3
    wanted["trilane_requests_total", (("outcome", "answered"),)] += 1
    wanted["trilane_usage_records_total", (("status", "none"),)] += 4
    wanted["trilane_rejections_total", (("group", METERED), ("reason", "rate_limit_exceeded"))] += 1
    wanted["trilane_limited_total", (("group", METERED), ("limit", "requests"), ("scope", "key"))] += 1
    wanted["trilane_limited_total", ()] += 1
    wanted["trilane_limit_lost_total", ()] += 0
    wanted["trilane_rejections_total", (("group", ""), ("reason", "invalid_api_key"))] += 1
    wanted["trilane_rejections_total", (("group", "a-official"), ("reason", "model_not_found"))] += 1
    counted = {
        (name, labels): after.value(name, **dict(labels)) - before.value(name, **dict(labels))
        for name, labels in wanted
    }
    assert counted == wanted


def test_answers_of_sources_are_counted(scrapes: tuple[Scrape, Scrape]) -> None:
    """As the alerts count them: once a request, however many accounts of the source were asked."""
    for status, outcome in (("401", "unauthorized"), ("429", "rate_limited"), ("500", "server_error")):
        before, after = (final_answers(scrape, status, outcome) for scrape in scrapes)
        assert after - before == 1, status


def final_answers(scrape: Scrape, status: str, outcome: str) -> float:
    """What sources answered in the end: without what was asked again of another account."""
    clusters = {dict(labels).get("envoy_cluster_name", "") for _, labels in scrape.series}
    of_accounts = Counter(name.rpartition("~")[0] for name in clusters if name.startswith("account~"))
    of_one = {name for name in clusters if name != "account/hop" and of_accounts[name.rpartition("~")[0]] <= 1}
    return scrape.value("trilane_source_failures_total", outcome=outcome) + sum(
        scrape.value("envoy_cluster_upstream_rq", envoy_cluster_name=name, envoy_response_code=status)
        for name in of_one
    )


def test_usage_is_counted(scrapes: tuple[Scrape, Scrape]) -> None:
    before, after = scrapes
    for group, entry, model in (A_SERIES, B_SERIES, C_SERIES, METERED_SERIES):
        for name, further in (
            ("trilane_tokens_total", {"kind": "input"}),
            ("trilane_tokens_total", {"kind": "output"}),
            ("trilane_charge_nanos_total", {}),
            ("trilane_time_to_first_token_count", {}),
            ("trilane_time_per_output_token_count", {}),
        ):
            labels = {"group": group, "entry": entry, "model": model, **further}
            assert after.value(name, **labels) > before.value(name, **labels), f"{name}{labels}"
    assert after.value("trilane_images_total", model="gpt-image-1") > before.value("trilane_images_total")


def test_every_request_has_a_usage_record(after: Scrape) -> None:
    assert after.value("trilane_requests_total") == after.value("trilane_usage_records_total")


def test_alert_threshold_is_a_bucket(after: Scrape) -> None:
    """Between the bounds of buckets a quantile is a guess; beyond the last it never comes."""
    found = re.search(r"time_to_first_token_seconds:p95_rate10m > (\d+)", RULES.read_text(encoding="utf-8"))
    assert found
    name = "trilane_time_to_first_token_bucket"
    bounds = {float(dict(labels)["le"]) for metric, labels in after.series if metric == name}
    assert int(found[1]) * 1e6 in bounds and len(bounds) > 10, sorted(bounds)


def test_no_label_is_what_a_client_chose(after: Scrape) -> None:
    assert "no-such" not in after.text and "nobody" not in after.text
