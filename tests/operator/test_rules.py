"""The alerts and recording rules: they parse, each has been seen to fire and to stay quiet, and each says what to do."""

from __future__ import annotations

import re

import pytest
from console_metrics import AGENT_METRICS, CONSOLE_METRICS
from gateway_metrics import CONFIG, FEED_METRICS, LEDGER_METRICS, METRICS, RULES, RULES_TEST, SPEND_METRICS, base_name, dropped, rules_names
from promtool import Promtool

_BLOCKS = re.split(r"^      - (?=alert: |record: )", RULES.read_text(encoding="utf-8"), flags=re.M)[1:]
ALERTS = [(re.match(r"alert: (\w+)", block)[1], block) for block in _BLOCKS if block.startswith("alert: ")]  # type: ignore[index]


def test_configuration_and_rules_are_valid(promtool: Promtool) -> None:
    checked = promtool("check", "config", CONFIG)
    assert checked.returncode == 0, checked.stdout
    checked = promtool("check", "rules", RULES)
    assert checked.returncode == 0 and f"{len(_BLOCKS)} rules found" in checked.stdout, checked.stdout
    assert "duplicate" not in checked.stdout, checked.stdout


def test_rules_do_what_they_should(promtool: Promtool) -> None:
    tested = promtool("test", "rules", RULES_TEST)
    assert tested.returncode == 0, tested.stdout


@pytest.mark.parametrize("name, block", ALERTS, ids=[f"{name}-{n}" for n, (name, _) in enumerate(ALERTS)])
def test_alert(name: str, block: str) -> None:
    severity = re.search(r"labels: \{severity: (critical|warning|info)\}", block)
    assert severity, "a severity"
    assert re.search(r"^          summary: \S", block, re.M), "what happens"
    description = re.search(r"^          description: >-\n((?:            .*\n)+)", block, re.M)
    assert description and "First:" in description[1], "what it means, and what to do first"
    tests = RULES_TEST.read_text(encoding="utf-8")
    fires = rf'ALERTS{{alertname="{name}",alertstate="firing",severity="{severity[1]}"'
    assert fires in tests, "a test in which it fires"
    assert re.search(rf'ALERTS{{alertname="{name}"[^\n]*exp_samples: \[\]', tests), "a test in which it does not"


def test_metrics_exist() -> None:
    """The filter's by the list; Envoy's are compared with a real Envoy in tests/e2e/operator."""
    used = rules_names()
    known = METRICS.keys() | FEED_METRICS.keys() | SPEND_METRICS.keys() | LEDGER_METRICS.keys() | CONSOLE_METRICS.keys() | AGENT_METRICS.keys()
    assert {base_name(name) for name in used if name.startswith("trilane_")} <= known
    thrown_away = {name for name in used if dropped().fullmatch(name)}
    assert not thrown_away, "prometheus.yml drops them"
