"""The filter's metrics as they are promised to operators, and which metrics the rules and the dashboard use."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent
PROMETHEUS = ROOT / "envoy" / "prometheus"
CONFIG = PROMETHEUS / "prometheus.yml"
RULES = PROMETHEUS / "rules.yml"
RULES_TEST = Path(__file__).resolve().with_name("rules_test.yml")
DASHBOARD = ROOT / "envoy" / "grafana" / "dashboard.json"


class Metric(NamedTuple):
    kind: str
    labels: tuple[str, ...]
    meaning: str


#: Prometheus name -> what it is. A histogram's name is that without `_bucket`, `_sum` and `_count`.
METRICS = {
    "trilane_requests_total": Metric("counter", ("group", "entry", "model", "outcome"), "Requests by how they ended."),
    "trilane_usage_records_total": Metric("counter", ("group", "entry", "model", "status"), "Usage records written."),
    "trilane_rejections_total": Metric("counter", ("group", "reason"), "Requests refused by the gateway."),
    "trilane_tokens_total": Metric("counter", ("group", "entry", "model", "kind"), "Tokens, each in one kind."),
    "trilane_probes_total": Metric("counter", (), "Probes: health checks and HEAD /, which have no line in the ledger."),
    "trilane_images_total": Metric("counter", ("group", "entry", "model"), "Images made."),
    "trilane_calls_total": Metric("counter", ("group", "entry", "model", "kind"), "Calls of the vendor's own tools."),
    "trilane_charge_nanos_total": Metric("counter", ("group", "entry", "model"), "Charge, 10^-9 of the currency."),
    "trilane_estimated_charge_nanos_total": Metric("counter", ("group", "entry", "model"), "The estimated part of it."),
    "trilane_uncovered_total": Metric(
        "counter", ("group", "entry", "model", "reason"), "Answers that report what no price covers."
    ),
    "trilane_unread_answers_total": Metric("counter", ("group", "entry", "model"), "Answers that could not be read."),
    "trilane_usage_doubts_total": Metric(
        "counter", ("group", "entry", "model"), "Answers whose numbers contradict each other."
    ),
    "trilane_time_to_first_token": Metric("histogram", ("group", "entry", "model"), "Of streams, microseconds."),
    "trilane_time_per_output_token": Metric("histogram", ("group", "entry", "model"), "Of streams, microseconds."),
    "trilane_account_tries_total": Metric(
        "counter", ("source", "account", "outcome"), "Tries at upstream accounts by how they ended."
    ),
    "trilane_account_time_to_first_token": Metric("histogram", ("source", "account"), "Of streams, microseconds."),
    "trilane_account_ejected_until_timestamp_seconds": Metric(
        "gauge", ("source", "account"), "Until when an account is ejected, Unix time; 0: it is not."
    ),
    "trilane_source_failures_total": Metric(
        "counter", ("source", "outcome"), "Requests that no account of a source answered, by the last failure."
    ),
    "trilane_limited_total": Metric("counter", ("group", "limit", "scope"), "Requests refused by limits."),
    "trilane_limit_lost_total": Metric("counter", (), "Exchanges whose use could not be counted against limits."),
    "trilane_config_generation": Metric("gauge", (), "The policy in force; 0 is none."),
    "trilane_config_age_seconds": Metric("gauge", (), "Since the source last confirmed what is in force."),
    "trilane_config_keys": Metric("gauge", (), "Keys of the policy in force."),
    "trilane_config_hash": Metric("gauge", (), "Which document is in force: the first 52 bits of its SHA-256; 0 is none."),
    "trilane_config_rejections_total": Metric("counter", ("reason",), "Documents that did not come into force."),
}

#: Those of a gateway whose document names a feed of keys (docs/keys-feed.md).
FEED_METRICS = {
    "trilane_keys_feed_version": Metric("gauge", (), "The greatest version that the feed has told."),
    "trilane_keys_feed_keys": Metric("gauge", (), "Keys of the feed that are good."),
    "trilane_keys_feed_age_ms": Metric("gauge", (), "Since the feed last said that there is nothing more."),
    "trilane_keys_feed_changes_total": Metric("counter", (), "Changes taken."),
    "trilane_keys_feed_stale_total": Metric("counter", (), "Changes older than what is known."),
    "trilane_keys_feed_rejections_total": Metric("counter", ("reason",), "Answers of the feed that were not taken."),
}

#: Those of a gateway whose document names a spend feed (docs/limits.md).
SPEND_METRICS = {
    "trilane_spend_feed_age_ms": Metric("gauge", (), "Since the feed last said that there is nothing more."),
    "trilane_spend_feed_changes_total": Metric("counter", (), "Subjects that were told."),
    "trilane_spend_feed_rejections_total": Metric("counter", ("reason",), "Answers of the feed that were not taken."),
}

#: Those of a gateway whose document refuses requests while the ledger cannot be written (docs/operations.md).
LEDGER_METRICS = {
    "trilane_ledger_unwritable": Metric("gauge", (), "1: requests that would be charged are refused."),
    "trilane_ledger_answer_age_ms": Metric("gauge", (), "Since it was last said whether the ledger can be written."),
}

#: Those of a console (console_metrics.py has all of them).
CONSOLE_HISTOGRAMS = {
    "trilane_console_database_change_seconds",
    "trilane_console_key_change_seconds",
    "trilane_console_request_seconds",
}

#: What begins like a metric of Envoy's and is a label.
ENVOY_LABELS = {
    "envoy_cluster_name",
    "envoy_endpoint_address",
    "envoy_endpoint_hostname",
    "envoy_http_conn_manager_prefix",
    "envoy_listener_address",
    "envoy_response_code",
    "envoy_response_code_class",
    "envoy_worker_id",
    "envoy_xds_resource_name",
}

_NAME = re.compile(r"(?<![\w:])(?:trilane|envoy)_\w+(?![\w:*])")


def base_name(name: str) -> str:
    """A histogram's name for that of one of its series."""
    base = re.sub(r"_(bucket|sum|count)$", "", name)
    known = METRICS.get(base)
    return base if base in CONSOLE_HISTOGRAMS or known and known.kind == "histogram" else name


def names(text: str) -> set[str]:
    """The metrics that PromQL, or prose about it, names."""
    return {name for name in _NAME.findall(text) if name not in ENVOY_LABELS}


def rules_names() -> set[str]:
    """All that rules.yml names, in expressions and in what it tells the operator to look at."""
    return names(RULES.read_text(encoding="utf-8"))


def panels() -> list[dict[str, Any]]:
    """The dashboard's panels, without rows."""
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def expressions() -> Iterator[tuple[str, str]]:
    """Every query of the dashboard, by a name that says where it is, with Grafana's variables filled in."""
    for panel in panels():
        for target in panel["targets"]:
            yield f"panel_{panel['id']}_{target['refId']}", filled(target["expr"])
    for variable in json.loads(DASHBOARD.read_text(encoding="utf-8"))["templating"]["list"]:
        if variable["type"] == "query":
            series = re.fullmatch(r"label_values\((.*), \w+\)", variable["query"]["query"])
            assert series, variable
            yield f"variable_{variable['name']}", filled(series[1])


def filled(expression: str) -> str:
    """A query as Grafana sends it, with everything chosen."""
    values = {"__rate_interval": "1m", "__range": "3h", "group": ".*", "model": ".*", "source": ".*"}
    return re.sub(r"\$(\w+)", lambda variable: values[variable[1]], expression)


def dropped() -> re.Pattern[str]:
    """What prometheus.yml throws away of a scrape."""
    found = re.search(r"^\s+regex: (\S+)\n\s+action: drop$", CONFIG.read_text(encoding="utf-8"), re.M)
    assert found, CONFIG
    return re.compile(found[1])
