#!/usr/bin/env python3
"""Runs `docker-compose.yaml` by the commands of docs/compose.md and checks it from outside.

Called by `run.sh` with the directory that it runs from (a copy: the document in it is edited here) and the
compose command, by a Python that has the SDKs.
"""

from __future__ import annotations

import json
import os

import check_gateway as gateway
import check_metrics as metrics
from check_hardening import hardening
from check_outages import outages
from check_scale import scale
from compose_page import Page
from compose_tools import (
    CHECKOUT,
    CREDENTIALS,
    DOCUMENT,
    LINES,
    SERVICES,
    check,
    curl,
    eventually,
    healthy,
    run,
    say,
    service,
    state,
)


def main() -> None:
    """Every check, in an order in which each leaves things as it found them."""
    page = Page()
    page.run("Starting it")
    eventually("all services are up and healthy", healthy(*SERVICES), 120)
    check(
        "the certificate was made", state("certificate")["Status"] == "exited" and state("certificate")["ExitCode"] == 0
    )
    said = page.run("Starting it")
    check("the page's first request: a chat completion", '"object":"chat.completion"' in said.replace(" ", ""))
    say("what no container may do")
    hardening(SERVICES)
    say("the gateway")
    check("three curl lines", len(LINES) == 3)
    gateway.three_lines()
    gateway.tls(page)
    gateway.document(page)
    gateway.accounts(page)
    gateway.renderer()
    say("Prometheus and Grafana")
    metrics.prometheus()
    metrics.grafana()
    said = page.run("Prometheus and Grafana")
    check("the page's query has an answer", json.loads(said.splitlines()[0])["data"]["result"])
    outages()
    scale(page)
    say("the rest of the page")
    ledger(page)
    gateway.own_certificate(page)
    updating(page)
    gateway.logs()
    ending(page)
    check("no command of the page was left out", not page.left())


def updating(page: Page) -> None:
    """With a `git` that has nothing new: this copy is no clone."""
    tools = CHECKOUT.parent / "bin"
    tools.mkdir()
    (tools / "git").write_text("#!/bin/sh\nexit 0\n")
    (tools / "git").chmod(0o755)
    before = service("envoy")
    os.environ["PATH"] = f"{tools}:{os.environ['PATH']}"
    page.run("Updating")
    eventually("updated: healthy", healthy(*SERVICES), 120)
    check("... what has not changed goes on as it was", service("envoy") == before)
    check("... 200", curl(LINES[0]).status == 200)


def ledger(page: Page) -> None:
    """What the page's command takes out of Docker's log."""
    page.run("Where data is kept")
    lines = [json.loads(line) for line in (CHECKOUT / "ledger.jsonl").read_text().splitlines()]
    check(f"the ledger, {len(lines)} lines", len(lines) > 100 and all("trilane.outcome" in line for line in lines))


def own_models(page: Page) -> None:
    """Without simulators, from other places than the sample's."""
    mine = CHECKOUT / "mine"
    mine.mkdir()
    (DOCUMENT.rename(mine / DOCUMENT.name), CREDENTIALS.rename(mine / CREDENTIALS.name))
    page.run("Your own models")
    eventually("a gateway without simulators", healthy("render", "envoy", "prometheus", "grafana"), 120)
    check("... it knows its keys", curl(LINES[0].replace("trilane-demo-a", "wrong")).status == 401)
    answer = curl(LINES[0])
    check(
        f"... and says that nobody is there: {answer.status}",
        answer.status in (502, 503) and answer.json["error"]["message"],
    )
    check("... no simulator runs", not service("upstream"))


def ending(page: Page) -> None:
    """First without, then with all that was kept."""
    name = os.environ["COMPOSE_PROJECT_NAME"]
    volumes = ["docker", "volume", "ls", "--quiet", "--filter", f"name={name}_"]
    page.run("Ending it")  # `scale` is in .env by now
    check("down: no container is left", not run(["docker"], "ps", "--all", "--quiet", "--filter", f"name={name}"))
    check("... but the volumes are", len(run(volumes).split()) == 4)
    own_models(page)
    page.run("Ending it")
    check("down --volumes: nothing is left", not run(volumes).split())


if __name__ == "__main__":
    main()
