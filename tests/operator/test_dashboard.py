"""The dashboard: Grafana will take it, every query is PromQL, and asks for what there is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from console_metrics import AGENT_METRICS, CONSOLE_METRICS
from gateway_metrics import DASHBOARD, METRICS, base_name, dropped, expressions, names, panels
from promtool import Promtool

DOCUMENT = json.loads(DASHBOARD.read_text(encoding="utf-8"))
ROWS = ["Traffic", "Usage and charge", "Latency", "Errors", "Upstream accounts", "Limits", "Configuration", "Envoy", "Console and agents"]


def test_queries_parse(promtool: Promtool, tmp_path: Path) -> None:
    rules = [{"record": name, "expr": expression} for name, expression in expressions()]
    assert len(rules) > 40
    file = tmp_path / "queries.yml"  # JSON is YAML
    file.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    checked = promtool("check", "rules", file)
    assert checked.returncode == 0 and f"{len(rules)} rules found" in checked.stdout, checked.stdout


def test_queries_ask_for_what_there_is() -> None:
    """The filter's metrics by the list; Envoy's are compared with a real Envoy in tests/e2e/operator."""
    asked = set().union(*(names(expression) for _, expression in expressions()))
    ours = {base_name(name) for name in asked if name.startswith("trilane_")}
    of_console = {name for name in ours if name.startswith(("trilane_console_", "trilane_agent_"))}
    assert ours - of_console == METRICS.keys(), "each is shown"
    assert of_console and of_console <= CONSOLE_METRICS.keys() | AGENT_METRICS.keys()
    thrown_away = {name for name in asked if dropped().fullmatch(name)}
    assert not thrown_away, "prometheus.yml drops them"


@pytest.mark.parametrize("place, expression", expressions())
def test_query_keeps_to_the_gateways(place: str, expression: str) -> None:
    """Another Envoy in the same Prometheus must not get in; the filter's own names need no such care."""
    for name in names(expression):
        if name.startswith("envoy_"):
            assert f'{name}{{job="trilane"' in expression, f"{place}: {name} of all Envoys"


def test_document() -> None:
    assert DOCUMENT["uid"] == "trilane" and DOCUMENT["schemaVersion"] >= 39
    assert [panel["title"] for panel in DOCUMENT["panels"] if panel["type"] == "row"] == ROWS
    assert [variable["name"] for variable in DOCUMENT["templating"]["list"]] == ["datasource", "group", "model", "source"]
    identities = [panel["id"] for panel in DOCUMENT["panels"]]
    assert len(identities) == len(set(identities)), "each panel has an id of its own"


def test_panels_stand_side_by_side() -> None:
    taken: dict[tuple[int, int], str] = {}
    for panel in DOCUMENT["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24, panel["title"]
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                other = taken.setdefault((x, y), panel["title"])
                assert other == panel["title"], f"{panel['title']} lies on {other}"


@pytest.mark.parametrize("panel", panels(), ids=lambda panel: panel["title"])
def test_panel(panel: dict) -> None:  # type: ignore[type-arg]
    assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}, "the one that was chosen"
    assert panel["fieldConfig"]["defaults"]["unit"], "a unit"
    references = [target["refId"] for target in panel["targets"]]
    assert references and len(references) == len(set(references)), "each query has a letter of its own"
    for target in panel["targets"]:
        expression = target["expr"]
        if "model" in METRICS.get(base_name(min(names(expression))), METRICS["trilane_config_keys"]).labels:
            chosen = 'group=~"$group"' in expression and 'model=~"$model"' in expression
            assert chosen or panel["title"] == "Requests without a usage record", expression
