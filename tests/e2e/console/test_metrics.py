"""The metrics of console and agent, as Prometheus reads them: there, true, without a secret, and moving when something is away."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import httpx
from console_metrics import AGENT_METRICS, CONSOLE_METRICS, alert_metrics
from e2e.console.running import Console, agent_options, ask
from e2e.up.running import Up
from exposition import Scrape, scrape_own
from waiting import until


def families(scraped: Scrape, prefix: str) -> dict[str, str]:
    """Kind by name, as rules and pages name them."""
    suffix = {"counter": "_total", "info": "_info"}
    return {f"{name}{suffix.get(kind, '')}": kind for name, kind in scraped.kinds.items() if name.startswith(prefix)}


def test_one_page_on_one_machine(tmp_path: Path) -> None:
    with Up(tmp_path / "data", "--demo", "--console", "--console-port", "0") as up:
        key = re.search(r"tl\w*-\S+", (tmp_path / "data" / "admin.token").read_text())
        assert key, "the admin's token"
        until(lambda: scrape_own(up.metrics).value("trilane_console_envoy_document_current", envoy="local") == 1, 20)
        assert ask(up.url, "trilane-demo-b") == 200
        until(lambda: scrape_own(up.metrics).value("trilane_console_ledger_position_bytes", envoy="local") > 0, 20)
        until(lambda: scrape_own(up.metrics).value("trilane_agent_feed_read_age_seconds", feed="keys") < 3, 20)
        scraped = scrape_own(up.metrics)
        assert families(scraped, "trilane_console_") == {name: metric.kind for name, metric in CONSOLE_METRICS.items()}
        assert families(scraped, "trilane_agent_") == {name: metric.kind for name, metric in AGENT_METRICS.items()}
        labels = scraped.labels()
        for name, metric in {**CONSOLE_METRICS, **AGENT_METRICS}.items():
            names = {re.sub(r"_(bucket|count|sum)$", "", found): has for found, has in labels.items()}
            assert names.get(name, {frozenset(metric.labels)}) == {frozenset(metric.labels)}, name
        assert scraped.value("trilane_console_database_up") == 1
        assert scraped.value("trilane_agent_accounts_without_credential") == 0
        assert scraped.value("trilane_agent_keys_feed_version") == scraped.value("trilane_console_keys_feed_version") > 0
        assert scraped.value("trilane_console_requests_total", **{"class": "feed", "status": "200"}) > 0
        for secret in (key[0], '"key_', "tlc-", "tle-"):
            assert secret not in scraped.text


def test_envoys_page_of_metrics_is_beside_them_and_no_other_of_its_pages(tmp_path: Path) -> None:
    with Up(tmp_path / "data", "--demo", "--metrics-host", "127.0.0.7") as up:
        assert up.metrics.startswith("http://127.0.0.7:")
        assert ask(up.url, "trilane-demo-b") == 200
        page = httpx.get(f"{up.metrics}/stats/prometheus", trust_env=False)
        assert page.headers["content-type"].startswith("text/plain; version=0.0.4")
        assert re.search(r"^trilane_config_generation\{?.* 1$", page.text, re.MULTILINE), page.text[:2000]
        assert "envoy_http_downstream_rq_total" in page.text and "trilane-demo-b" not in page.text
        for path in ("/", "/stats", "/config_dump", "/certs", "/stats/prometheus/"):
            assert httpx.get(f"{up.metrics}{path}", trust_env=False).status_code == 404, path
        assert httpx.post(f"{up.metrics}/quitquitquit", trust_env=False).status_code == 404
        # Without Envoy there is nothing to pass on.
        (envoy,) = up.envoys
        os.kill(envoy, signal.SIGSTOP)
        try:
            assert httpx.get(f"{up.metrics}/stats/prometheus", timeout=20, trust_env=False).status_code == 502
        finally:
            os.kill(envoy, signal.SIGCONT)


def test_what_alerts_read_moves(tmp_path: Path, document: Path) -> None:
    console = Console(tmp_path / "console", "--import-document", str(document)).start()
    try:
        key = console.api.new_key("ann-1", "b-official")
        token = tmp_path / "token"
        token.write_text(console.api.post("/envoys", {"id": "edge-1"})["token"])
        options = ("--demo", *agent_options(console.url, token, document))
        with Up(tmp_path / "data", *options) as up:

            def agent(alert: str, **labels: str) -> float:
                (name,) = alert_metrics(alert, "trilane_agent_")
                return scrape_own(up.metrics).value(name, **labels)

            def of_console(alert: str, **labels: str) -> float:
                (name,) = alert_metrics(alert, "trilane_console_")
                return scrape_own(console.metrics).value(name, **labels)

            until(lambda: ask(up.url, key) == 200, 10)
            until(lambda: scrape_own(console.metrics).value("trilane_console_ledger_lines_total", envoy="edge-1", result="counted") >= 1, 15)
            until(lambda: scrape_own(up.metrics).value("trilane_agent_ledger_waiting_bytes") == 0, 15)
            assert agent("TrilaneConsoleAway") < 3 and agent("TrilaneAgentBehind") == 0 and agent("TrilaneAgentRefused") == 0
            assert agent("TrilaneAgentFeedStale", part="keys") < 3 and agent("TrilaneAgentSpendStale", part="spend") < 3
            assert of_console("TrilaneEnvoyNotSeen", envoy="edge-1") < 5

            # A line that is none is kept aside, and counted so on both sides.
            with up.ledger.open("a") as ledger:
                ledger.write("{\n")
            until(lambda: of_console("TrilaneLinesAside", envoy="edge-1", result="aside") == 1, 15)
            until(lambda: scrape_own(up.metrics).value("trilane_agent_ledger_lines_total", result="aside") == 1, 15)

            # The credential of an account goes: the gateway's agent says so.
            credential = min((document.parent / "credentials").iterdir())
            kept = credential.read_bytes()
            credential.write_bytes(b"")
            until(lambda: scrape_own(up.metrics).value("trilane_agent_accounts_without_credential") >= 1, 15)
            credential.write_bytes(kept)
            until(lambda: scrape_own(up.metrics).value("trilane_agent_accounts_without_credential") == 0, 15)

            # The console away: its agent says for how long, and what of the ledger is waiting, also what came meanwhile.
            console.kill()
            until(lambda: agent("TrilaneConsoleAway") >= 3, 20)
            before = scrape_own(up.metrics).value("trilane_agent_ledger_waiting_bytes")
            assert ask(up.url, key) == 200
            until(lambda: scrape_own(up.metrics).value("trilane_agent_ledger_waiting_bytes") > before, 20)
            until(lambda: agent("TrilaneAgentBehind") >= 2, 20)
            assert agent("TrilaneAgentFeedStale", part="keys") >= 3 and agent("TrilaneAgentSpendStale", part="spend") >= 3
            assert scrape_own(up.metrics).value("trilane_agent_trouble", part="ledger") == 1
            # Envoy reads its feed all the same: its own age is no sign of a console that is away.
            assert scrape_own(up.metrics).value("trilane_agent_feed_read_age_seconds", feed="keys") < 3
            console.start()
            until(lambda: agent("TrilaneAgentBehind") == 0 and agent("TrilaneConsoleAway") < 3, 30)
            until(lambda: agent("TrilaneAgentFeedStale", part="keys") < 3, 30)
            assert console.api.call("DELETE", "/envoys/edge-1").status_code == 204
            until(lambda: agent("TrilaneAgentRefused") == 1, 20)
            token.write_text("")
            console.api.post("/envoys", {"id": "edge-2"})
        # The agent away: the console says for how long. One that never said anything is not missed before it has enrolled.
        assert scrape_own(console.metrics).value("trilane_console_envoy_seen_age_seconds", envoy="edge-2") == 0
    finally:
        console.stop()


def test_an_envoy_that_is_gone(tmp_path: Path, document: Path) -> None:
    with Console(tmp_path / "console", "--import-document", str(document)) as console:
        token = tmp_path / "token"
        token.write_text(console.api.post("/envoys", {"id": "edge-1"})["token"])
        options = ("--demo", *agent_options(console.url, token, document))
        (name,) = alert_metrics("TrilaneEnvoyNotSeen", "trilane_console_")
        with Up(tmp_path / "data", *options):
            until(lambda: scrape_own(console.metrics).value("trilane_console_envoy_document_current", envoy="edge-1") == 1, 20)
            assert scrape_own(console.metrics).value(name, envoy="edge-1") < 5
        until(lambda: scrape_own(console.metrics).value(name, envoy="edge-1") >= 5, 30)
