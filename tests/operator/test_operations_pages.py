"""The pages for operators against the code: every metric, ledger member, ending and alert is there, and no other."""

from __future__ import annotations

import re

import pytest
from console_metrics import AGENT_METRICS, CONSOLE_METRICS
from gateway_metrics import FEED_METRICS, LEDGER_METRICS, METRICS, ROOT, RULES, SPEND_METRICS, Metric

LEDGER = (ROOT / "docs" / "ledger.md").read_text(encoding="utf-8")
FEED = (ROOT / "docs" / "keys-feed.md").read_text(encoding="utf-8")
LIMITS = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
OPERATIONS = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
ENVOY_YAML = (ROOT / "envoy" / "envoy.yaml").read_text(encoding="utf-8")


def rows(text: str, heading: str) -> list[list[str]]:
    """The cells of the table below the row that begins so."""
    lines = text.split(f"\n{heading}", 1)[1].splitlines()[2:]
    table = lines[: next((number for number, line in enumerate(lines) if not line.startswith("|")), len(lines))]
    assert table, heading
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in table]


def names(table: list[list[str]]) -> list[str]:
    """What the first column names, in their order."""
    return [name for row in table for name in re.findall(r"`([^`]+)`", row[0])]


def code(*files: str) -> str:
    """Sources of the filter without their tests."""
    return "\n".join((ROOT / "src" / file).read_text(encoding="utf-8").split("#[cfg(test)]")[0] for file in files)


def words(file: str, kind: str) -> list[str]:
    """The names that the variants of an enum have, in the function `name` of its first `impl`."""
    found = re.search(rf"^impl {kind} \{{(.*?)^\}}", code(file), re.MULTILINE | re.DOTALL)
    assert found, f"{file}: {kind}"
    return re.findall(r'=> "(\w+)"', found[1])


def test_every_member_of_a_line_is_explained() -> None:
    (line,) = re.findall(r"inline_string: >\n((?: {28}.*\n)+)", ENVOY_YAML)
    envoys = re.findall(r'"([\w.]+)":', line)
    written = code("ledger/json.rs", "ledger/attempts.rs")
    filters = re.findall(r'"((?:http|url|error|gen_ai|trilane)\.[a-z0-9_.]+)"', written)
    assert len(envoys) > 8 and len(filters) > 40, "they are not where they were"
    told = names(rows(LEDGER, "| member | meaning |"))
    assert sorted(told) == sorted({*envoys, *filters})


@pytest.mark.parametrize(
    ("heading", "file", "kind"),
    [
        ("| `trilane.usage.status` | |", "ledger/ending.rs", "UsageStatus"),
        ("| `trilane.outcome` | |", "ledger/ending.rs", "Ending"),
        ("| kind | | status |", "ledger/attempts.rs", "AttemptFailure"),
    ],
)
def test_every_ending_is_explained(heading: str, file: str, kind: str) -> None:
    known = words(file, kind)
    assert len(known) > 3, "they are not where they were"
    if kind == "AttemptFailure":
        known.remove("request")  # is no failed try, and never in a record
    assert sorted(names(rows(LEDGER, heading))) == sorted(known)


def test_every_limit_is_named() -> None:
    limits = [*words("limits/rate.rs", "Rate"), *words("limits/violation.rs", "Limit")]
    assert len(limits) == 8, "they are not where they were"
    (row,) = [row for row in rows(LEDGER, "| member | meaning |") if row[0].startswith("`trilane.limit`")]
    (listed,) = re.findall(r"refused the request \(([^)]*)\)", row[1])
    assert sorted(re.findall(r"`(\w+)`", listed)) == sorted(limits)


def test_every_metric_is_explained() -> None:
    """Which ones there are, and their labels, is compared with a real Envoy in tests/e2e/operator."""
    told = {name: row for row in rows(LEDGER, "| metric | labels | |") for name in re.findall(r"`([^`]+)`", row[0])}
    assert told.keys() == METRICS.keys()
    for name, metric in METRICS.items():
        # Behind a colon are a label's values.
        labels = re.findall(r"`(\w+)`", told[name][1].split(":")[0])
        assert tuple(labels) == metric.labels, name
        assert ("histogram" in told[name][2]) == (metric.kind == "histogram"), name


def test_every_metric_of_a_feed_is_explained() -> None:
    defined = re.findall(r"\b(gauge|counter)\(\"(trilane_keys_feed_\w+)\"\)", code("metrics/feed.rs"))
    defined += [("counter", name) for name in re.findall(r'"(trilane_\w+);reason=', code("metrics/feed.rs"))]
    assert {name: kind for kind, name in defined} == {name: each.kind for name, each in FEED_METRICS.items()}
    assert names(rows(FEED, "| metric | meaning |")) == list(FEED_METRICS)


def test_every_metric_of_a_spend_feed_is_explained() -> None:
    text = code("metrics/spend.rs")
    defined = [("gauge", name) for name in re.findall(r'Gauge, "(trilane_\w+)"', text)]
    defined += [("counter", name) for name in re.findall(r'counter\("(trilane_\w+)"\)|"(trilane_\w+);reason=', text) for name in name if name]
    assert {name: kind for kind, name in defined} == {name: each.kind for name, each in SPEND_METRICS.items()}
    assert names(rows(LIMITS, "| metric of the loader | meaning |")) == list(SPEND_METRICS)


def test_every_metric_of_the_ledger_is_explained() -> None:
    defined = re.findall(r'gauge\("(trilane_\w+)"\)', code("metrics/ledger.rs"))
    assert defined == list(LEDGER_METRICS)
    assert names(rows(OPERATIONS, "| metric of the loader, with this setting | meaning |")) == defined


@pytest.mark.parametrize(
    ("heading", "metrics"),
    [("| metric of a console | labels | |", CONSOLE_METRICS), ("| metric of an agent | labels | |", AGENT_METRICS)],
    ids=["console", "agent"],
)
def test_every_metric_of_console_and_agent_is_explained(heading: str, metrics: dict[str, Metric]) -> None:
    """Which ones there are, and their labels, is compared with real ones in tests/e2e/console/test_metrics.py."""
    told = {name: row for row in rows(OPERATIONS, heading) for name in re.findall(r"`([^`]+)`", row[0])}
    assert told.keys() == metrics.keys()
    for name, metric in metrics.items():
        labels = re.findall(r"`(\w+)`", told[name][1].split(":")[0])
        assert tuple(labels) == metric.labels, name
        assert ("histogram" in told[name][2]) == (metric.kind == "histogram"), name


def test_what_to_do_about_each_alert_of_the_console() -> None:
    text = RULES.read_text(encoding="utf-8").split("- name: trilane-console\n")[1]
    told = names(rows(OPERATIONS, "| alert | do |"))
    assert sorted(told) == sorted(set(re.findall(r"- alert: (\w+)", text)))


@pytest.mark.parametrize(
    ("text", "heading", "metric", "file", "reason"),
    [
        (LEDGER, "| metric | labels | |", "trilane_config_rejections_total", "metrics/configuration.rs", r'Self::\w+ => "(\w+)"'),
        (LIMITS, "| metric of the loader | meaning |", "trilane_spend_feed_rejections_total", "metrics/spend.rs", r'rejections\("(\w+)"\)'),
        (FEED, "| metric | meaning |", "trilane_keys_feed_rejections_total", "metrics/feed.rs", r'rejections\("(\w+)"\)'),
    ],
    ids=["document", "spend", "feed"],
)
def test_every_reason_is_named(text: str, heading: str, metric: str, file: str, reason: str) -> None:
    reasons = re.findall(reason, code(file))
    assert len(reasons) > 2, "they are not where they were"
    (row,) = [row for row in rows(text, heading) if f"`{metric}`" in row[0]]
    assert sorted(re.findall(r"`(\w+)`", row[1].split("`reason`:")[1])) == sorted(reasons)


def test_every_alert_answers_a_question() -> None:
    """Once, in the table of what to alert on."""
    alerts = set(re.findall(r"- alert: (\w+)", RULES.read_text(encoding="utf-8")))
    told = "".join(row[1] for row in rows(OPERATIONS, "| question | alerts |"))
    assert sorted(re.findall(r"`(Trilane\w+)`", told)) == sorted(alerts)


def test_no_alert_asks_a_ledger_line_for_the_client() -> None:
    """Lines hold no client's address, so nobody is to be sent there for it."""
    (line,) = re.findall(r"inline_string: >\n((?: {28}.*\n)+)", ENVOY_YAML)
    assert not re.search(r"DOWNSTREAM|FORWARDED", line)
    (block,) = re.findall(r"- alert: TrilaneUnauthenticatedSpike\n(?:        .*\n)+", RULES.read_text(encoding="utf-8"))
    assert "hold no client's address" in " ".join(block.split())


def figures(text: str) -> set[tuple[float, str]]:
    """The numbers that have a unit."""
    return {(float(number), unit) for number, unit in re.findall(r"(\d+(?:\.\d+)?) (µs|KB|MB)\b", text)}


def test_the_memory_it_takes_was_measured() -> None:
    """Who measures anew must plan anew: each figure stands in the page of those that were measured, perhaps rounded."""
    told = figures("\n".join(" | ".join(row) for row in rows(OPERATIONS.split("## How much it takes")[1], "| | |")))
    assert len(told) > 2, "they are not where they were"
    measured = figures((ROOT / "docs" / "memory.md").read_text(encoding="utf-8"))
    for number, unit in told:
        assert any(unit == of and number in (found, round(found)) for found, of in measured), f"{number} {unit}"
