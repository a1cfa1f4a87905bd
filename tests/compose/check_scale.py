"""The profile `scale`: a limit that two gateways share, and what becomes of requests without the service."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor

from check_hardening import hardening
from check_outages import crash, start, stopped
from compose_page import Page
from compose_tools import (
    CHECKOUT,
    COMPOSE,
    DOCUMENT,
    GATEWAY,
    QUICK,
    PORT,
    SCALE,
    SERVICES,
    check,
    clients,
    curl,
    demo,
    edit,
    eventually,
    healthy,
    run,
    say,
)

#: key_mixed may do 60 requests a minute by envoy/ratelimit/limits.yaml.
LINE = QUICK[1].replace(demo.DEMO_KEYS["key_b"], demo.DEMO_KEYS["key_mixed"]).replace(',"stream":true', "")
SECOND = str(int(PORT) + 1)


def burst() -> set[int]:
    """More requests than a minute has leave for, ten at a time; the statuses."""
    with ThreadPoolExecutor(10) as pool:
        return set(pool.map(lambda _: curl(LINE).status, range(70)))


def scale(page: Page) -> None:
    """With the page's commands, and back again."""
    original = DOCUMENT.read_bytes()
    page.run("Limits that several Envoys share")
    _patience()
    page.run("Limits that several Envoys share")
    eventually("all services are up and healthy", healthy(*SERVICES, *SCALE), 120)
    hardening(SCALE)
    check("without a word in the document nobody asks the service", burst() == {200})
    edit(json.dumps({**json.loads(original), "limits_service": {}}).encode())
    _shared()
    _outages()
    edit(original)
    eventually("without a word in the document again", lambda: burst() == {200}, 60)


def _shared() -> None:
    """Used up at one gateway, it is used up at another."""
    say("two gateways, one limit")
    second = ["run", "--detach", "--no-deps", "--publish", f"127.0.0.1:{SECOND}:10000", "envoy"]
    container = run(COMPOSE, *second).split()[-1]
    other = LINE.replace(GATEWAY, f"http://127.0.0.1:{SECOND}")
    try:
        eventually("a second Envoy answers", lambda: curl(f"curl http://127.0.0.1:{SECOND}/healthz").status == 200, 60)
        eventually("the limit of key_mixed is reached: 429", lambda: 429 in burst(), 120)
        answer = curl(other, show=True)
        # The minute may have ended in between.
        if answer.status == 200:
            eventually("... again", lambda: 429 in burst(), 120)
            answer = curl(other, show=True)
        check("... at the second Envoy too", answer.status == 429)
        wait = int(answer.headers.get("retry-after", "0"))
        check(
            f"... in words of protocol B, and to be tried again in {wait} s",
            answer.json["type"] == "error" and 0 < wait <= 60,
        )
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


def _patience() -> None:
    """The stand-in of the service is slow, and this machine may be busy: Envoy waits for it longer than 20 ms."""
    made = CHECKOUT / "envoy" / "envoy-limits.yaml"
    text = made.read_text(encoding="utf-8")
    check(
        "the page's command made a configuration that asks the service, on both listeners",
        text.count("timeout: 0.02s") == 4 and "address: ratelimit" in text,
    )
    made.write_text(text.replace("timeout: 0.02s", "timeout: 1s"), encoding="utf-8")
