"""What a scrape says: of Envoy's `/stats/prometheus`, or of a console or an agent."""

from __future__ import annotations

import re
import urllib.request
from collections import defaultdict

from gateway_metrics import base_name

Series = dict[tuple[str, frozenset[tuple[str, str]]], float]
_LINE = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)")
#: Whatever proxy the environment names: this page is on loopback.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Scrape:
    """One reading."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
        self.series: Series = {}
        for line in text.splitlines():
            if line and not line.startswith("#"):
                found = _LINE.fullmatch(line)
                assert found, f"no series: {line}"
                self.series[found[1], frozenset(_LABEL.findall(found[2] or ""))] = float(found[3])

    def value(self, name: str, **labels: str) -> float:
        """The sum of the series that have these labels."""
        wanted = set(labels.items())
        return sum(value for (metric, has), value in self.series.items() if metric == name and wanted <= has)

    def labels(self) -> dict[str, set[frozenset[str]]]:
        """Metric -> the label names of its series, `le` apart."""
        found = defaultdict(set)
        for name, labels in self.series:
            found[base_name(name)].add(frozenset(label for label, _ in labels) - {"le"})
        return found


def scrape_own(url: str) -> Scrape:
    """Reads the metrics of a console or an agent, as Prometheus does."""
    with _OPENER.open(f"{url}/metrics", timeout=30) as answer:
        assert answer.status == 200 and answer.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
        text = answer.read().decode()
        assert text.endswith("\n# EOF\n") and text.count("# EOF") == 1
        return Scrape(text)


def scrape(admin_url: str) -> Scrape:
    """Reads the page, as Prometheus does."""
    with _OPENER.open(f"{admin_url}/stats/prometheus", timeout=30) as answer:
        # Prometheus 3 reads nothing that does not say it is text.
        assert answer.status == 200 and answer.headers["content-type"].startswith("text/plain")
        return Scrape(answer.read().decode())
