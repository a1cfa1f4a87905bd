"""Prometheus scrapes and has the rules, Grafana has the dashboard and asks that Prometheus, and no more than that."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

from compose_tools import CHECKOUT, COMPOSE, GRAFANA, PROMETHEUS, check, curl, eventually, run

RULES = CHECKOUT / "envoy" / "prometheus" / "rules.yml"
#: What is scraped, when it is up.
TARGETS = {"trilane gateway:10094": "up", "trilane-console gateway:10094": "up"}
DASHBOARD = CHECKOUT / "envoy" / "grafana" / "dashboard.json"


def prometheus() -> None:
    """Targets, rules, and that what is asked there has answers."""
    eventually("Prometheus: its targets, the gateway and its console, are up", lambda: targets() == TARGETS, 60)
    text = RULES.read_text(encoding="utf-8")
    groups = asked("/api/v1/rules")["groups"]
    loaded = [rule["name"] for group in groups for rule in group["rules"]]
    wanted = re.findall(r"^ +- (?:alert|record): (\S+)$", text, re.MULTILINE)
    check(f"... {len(loaded)} rules, those of rules.yml", sorted(loaded) == sorted(wanted) and len(loaded) > 40)
    eventually("... each evaluated, without an error", _evaluated, 60)
    eventually("... the requests so far are counted", lambda: value("sum(trilane_requests_total)") > 0, 60)
    eventually("... and the console's requests", lambda: value("sum(trilane_console_requests_total)") > 0, 60)
    eventually("... and the policy in force", lambda: value("trilane_config_generation") > 0, 60)
    firing = [one["labels"]["alertname"] for one in asked("/api/v1/alerts")["alerts"] if one["state"] == "firing"]
    # For ten minutes after an account had no credential, as it was before.
    check(f"... no other alert fires {firing}", set(firing) <= {"TrilaneAccountWithoutCredential"})
    # It reaches one page of the admin interface, by reading, and nothing else of it.
    ask = "wget -S -O - http://gateway:10094{} 2>&1 || true"
    said = run(COMPOSE, "exec", "-T", "prometheus", "sh", "-c", ask.format("/stats/prometheus"))
    check("Envoy's admin interface: its metrics can be read", "200 OK" in said and "trilane_config_generation" in said)
    for path in ("/", "/config_dump", "/stats", "/quitquitquit", "/certs"):
        said = run(COMPOSE, "exec", "-T", "prometheus", "sh", "-c", ask.format(path))
        check(f"... {path} cannot", "404 Not Found" in said)
    said = run(COMPOSE, "exec", "-T", "prometheus", "sh", "-c", "wget -O - http://gateway:9901/ 2>&1 || true")
    check("... and its port is closed", "refused" in said)


def grafana() -> None:
    """The files are provisioned, and the data source answers, to somebody who has not logged in."""
    health = curl(f"curl {GRAFANA}/api/health").json
    check(f"Grafana is well: {health}", health.get("database") == "ok")
    found = curl(f"curl {GRAFANA}/api/dashboards/uid/trilane").json.get("dashboard", {})
    wanted = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    titles = [panel["title"] for panel in wanted["panels"]]
    check(f"... it has the dashboard, {len(titles)} panels", [panel["title"] for panel in found["panels"]] == titles)
    query = shlex.quote(f"{GRAFANA}/api/datasources/proxy/uid/prometheus/api/v1/query?query=trilane_config_generation")
    answer = curl(f"curl {query}")
    check("... its data source is that Prometheus", answer.json.get("data", {}).get("result"))
    check(
        "... nobody can change a thing",
        curl(f"curl -X DELETE {GRAFANA}/api/dashboards/uid/trilane").status in (401, 403),
    )


def targets() -> dict[str, str]:
    """What Prometheus knows, and how each is."""
    active = asked("/api/v1/targets").get("activeTargets", [])
    return {f"{one['labels']['job']} {one['labels']['instance']}": one["health"] for one in active}


def value(query: str) -> float:
    """What a query has for an answer; 0 if none."""
    answer = curl(f"curl -G {PROMETHEUS}/api/v1/query --data-urlencode {shlex.quote('query=' + query)}")
    result = answer.json.get("data", {}).get("result", [])
    return float(result[0]["value"][1]) if result else 0.0


def asked(path: str) -> Any:
    """A page of Prometheus' interface."""
    return curl(f"curl {PROMETHEUS}{path}").json.get("data", {})


def _evaluated() -> bool:
    rules = [rule for group in asked("/api/v1/rules")["groups"] for rule in group["rules"]]
    return all(rule["health"] == "ok" and not rule.get("lastError") for rule in rules)
