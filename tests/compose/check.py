#!/usr/bin/env python3
"""Runs `docker-compose.yaml` by the commands of docs/compose.md and checks it from outside.

Called by `run.sh` with the directory that it runs from (a copy) and the
compose command, by a Python that has the SDKs.
"""

from __future__ import annotations

import json
import os
import sqlite3

import check_console as console
import check_gateway as gateway
import check_metrics as metrics
from check_hardening import hardening
from check_outages import outages
from check_scale import scale
from compose_page import Page
from compose_tools import (
    CHECKOUT,
    COMPOSE,
    LINES,
    SERVICES,
    check,
    curl,
    eventually,
    healthy,
    output,
    run,
    say,
    service,
)
from console_api import call, usage


def main() -> None:
    """Every check, in an order in which each leaves things as it found them."""
    page = Page()
    page.run("Starting it")
    eventually("all services are up and healthy", healthy(*SERVICES), 120)
    said = page.run("Starting it")
    check("the page's first request: a chat completion", '"object":"chat.completion"' in said.replace(" ", ""))
    say("the gateway")
    check("three curl lines", len(LINES) == 3)
    gateway.three_lines()
    gateway.tls(page)
    gateway.credentials(page)
    say("the console")
    console.console(page)
    say("what no container may do")
    hardening(SERVICES, *console.secrets())
    say("Prometheus and Grafana")
    metrics.prometheus()
    metrics.grafana()
    said = page.run("Prometheus and Grafana")
    check("the page's query has an answer", json.loads(said.splitlines()[0])["data"]["result"])
    outages()
    scale(page)
    say("the rest of the page")
    kept(page)
    gateway.own_certificate(page)
    updating(page)
    gateway.logs(console.secrets())
    ending(page)
    check("no command of the page was left out", not page.left())


def updating(page: Page) -> None:
    """With a `git` that has nothing new: this copy is no clone."""
    tools = CHECKOUT.parent / "bin"
    tools.mkdir()
    (tools / "git").write_text("#!/bin/sh\nexit 0\n")
    (tools / "git").chmod(0o755)
    before = service("gateway")
    os.environ["PATH"] = f"{tools}:{os.environ['PATH']}"
    page.run("Updating")
    eventually("updated: healthy", healthy(*SERVICES), 120)
    check("... what has not changed goes on as it was", service("gateway") == before)
    check("... 200", curl(LINES[0]).status == 200)


def kept(page: Page) -> None:
    """What the page's commands take out of the volume."""
    said = page.run("Where data is kept")
    lines = [json.loads(line) for line in (CHECKOUT / "ledger.jsonl").read_text().splitlines()]
    check(f"the ledger, {len(lines)} lines", len(lines) > 100 and all("trilane.outcome" in line for line in lines))
    check("... and its sums", "key_new" in said)
    page.run("Where data is kept")
    with sqlite3.connect(CHECKOUT / "backup.db") as copy:
        (keys,) = copy.execute("SELECT count(*) FROM keys WHERE id = 'key_new'").fetchone()
    check("a copy of the console's database, with the key", keys == 1)
    check("... and of what seals", (CHECKOUT / "sealing.keys").stat().st_size > 40)


def ending(page: Page) -> None:
    """First without, then with all that was kept."""
    name = os.environ["COMPOSE_PROJECT_NAME"]
    volumes = ["docker", "volume", "ls", "--quiet", "--filter", f"name={name}_"]
    before = usage()
    page.run("Ending it")  # `scale` is in .env by now
    check("down: no container is left", not run(["docker"], "ps", "--all", "--quiet", "--filter", f"name={name}"))
    check("... but the volumes are", len(run(volumes).split()) == 4)
    run(COMPOSE, "up", "--detach")
    eventually("up again: healthy", healthy(*SERVICES), 120)
    check("... the console has what it had", all(usage()[key][0] >= count for key, (count, _) in before.items()))
    first_run(page)
    gateway.document_in_a_file(page)
    page.run("Ending it")
    check("down --volumes: nothing is left", not run(volumes).split())


def first_run(page: Page) -> None:
    """Without the sample: the console waits for somebody who adds vendors."""
    page.run("Your own vendors")
    eventually("without a document: healthy", healthy("gateway"), 120)
    check(
        "... it says where to begin",
        "nothing is served yet" in output("gateway") and "/sign-in/link?token=" in output("gateway"),
    )
    check("... the console answers", call("GET", "/setup").status_code == 200)
    check("... the gateway does not", curl(LINES[0]).status == 0)


if __name__ == "__main__":
    main()
