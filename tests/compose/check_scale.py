"""The profile `scale`: a limit that two gateways share, and what becomes of requests without the service."""

from __future__ import annotations

import json
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from check_hardening import hardening
from check_outages import crash, start, stopped
from compose_page import Page
from compose_tools import (
    CHECKOUT,
    COMPOSE,
    GATEWAY,
    PORT,
    QUICK,
    SCALE,
    SERVICES,
    check,
    clients,
    curl,
    demo,
    eventually,
    healthy,
    run,
    say,
)
from console_api import publish

#: key_mixed may do 60 requests a minute by envoy/ratelimit/limits.yaml.
LINE = QUICK[1].replace(demo.DEMO_KEYS["key_b"], demo.DEMO_KEYS["key_mixed"]).replace(',"stream":true', "")
SECOND = str(int(PORT) + 1)


def burst() -> set[int]:
    """More requests than a minute has leave for, ten at a time; the statuses."""
    with ThreadPoolExecutor(10) as pool:
        return set(pool.map(lambda _: curl(LINE).status, range(70)))


def scale(page: Page) -> None:
    """With the page's commands, and back again."""
    page.run("Limits that several Envoys share")
    eventually("all services are up and healthy", healthy(*SERVICES, *SCALE), 120)
    hardening(SCALE)
    check("without a word in the document nobody asks the service", burst() == {200})
    check("the document asks it", publish(lambda document: document.update(limits_service={})).status_code == 201)
    _shared()
    _outages()
    check("the document does not", publish(lambda document: document.pop("limits_service")).status_code == 201)
    eventually("without a word in the document again", lambda: burst() == {200}, 60)


def _shared() -> None:
    """Used up at one gateway, it is used up at another."""
    say("two gateways, one limit")
    place = ["run", "--detach", "--no-deps", "--publish", f"127.0.0.1:{SECOND}:{SECOND}", "-e", "TRILANE_CONSOLE=false"]
    place += ["-e", f"TRILANE_PORT={SECOND}", "gateway", "up", "--data=/data/second", "--host=0.0.0.0"]
    container = run(COMPOSE, *place).split()[-1]
    other = LINE.replace(GATEWAY, f"http://127.0.0.1:{SECOND}")
    try:
        eventually(
            "a second gateway answers", lambda: curl(f"curl http://127.0.0.1:{SECOND}/healthz").status == 200, 60
        )
        document = json.dumps({**json.loads((CHECKOUT / "envoy" / "gateway.json").read_text()), "limits_service": {}})
        subprocess.run(
            ["docker", "exec", "-i", container, "sh", "-c", "cat > /data/second/gateway.json"],
            input=document.encode(),
            check=True,
        )
        eventually("the limit of key_mixed is reached: 429", lambda: 429 in burst(), 120)
        # The minute may end in between, and a busy machine may be later than Envoy waits for the service.
        eventually("... at the second gateway too", lambda: 429 in burst() and curl(other).status == 429, 120)
        check("... while other keys go on", curl(QUICK[0]).status == 200)
    finally:
        run(["docker"], "rm", "--force", container)


def _outages() -> None:
    """The document says nothing of failures, which means "open": requests pass uncounted."""
    for name in ("redis", "ratelimit"):
        say(f"{name} away")
        with clients(*QUICK) as answers:
            stopped(name)
            eventually("what had reached its limit passes", lambda: burst() == {200}, 90)
            start(name)
        check(f"... meanwhile {len(answers)} requests of other keys, each with {set(answers)}", set(answers) == {200})
        eventually("... and is refused again", lambda: 429 in burst(), 180)
        crash(name)
    eventually("all services are up and healthy", healthy(*SERVICES, *SCALE), 90)
    time.sleep(1)
    eventually("the limit holds", lambda: 429 in burst(), 180)
