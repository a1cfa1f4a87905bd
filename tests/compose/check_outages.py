"""Each container in turn: killed, so that it stays away and the rest goes on; crashed, so that Docker starts it."""

from __future__ import annotations

import json
import time

from check_metrics import TARGETS, targets, value
from compose_tools import (
    COMPOSE,
    QUICK,
    check,
    clients,
    curl,
    eventually,
    healthy,
    inspect,
    ledger,
    output,
    run,
    say,
    service,
)
from console_api import call, usage

#: How long something is away, at least: Envoy notices, and what it holds of connections is gone.
AWAY = 6.0


def outages() -> None:
    """Of everything that runs without the profile `scale`."""
    for name in ("prometheus", "grafana"):
        say(f"{name} away")
        with clients(*QUICK) as answers:
            stopped(name)
            time.sleep(AWAY)
            start(name)
        check(f"... meanwhile {len(answers)} requests of three protocols, each with {set(answers)}", _all_well(answers))
    _gateway()
    _envoy()
    for name in ("prometheus", "grafana", "gateway"):
        before = _kept() if name == "gateway" else None
        crash(name)
        if before:
            _nothing_is_lost(before)
    eventually("the gateway serves", lambda: all(curl(line).status == 200 for line in QUICK), 30)


def _gateway() -> None:
    """It comes back with all that it had, and Prometheus tells of it."""
    say("gateway away")
    before = _kept()
    stopped("gateway")
    check("no answer", curl(QUICK[0]).status == 0)
    eventually("Prometheus sees it", lambda: set(targets().values()) == {"down"}, 60)
    check("... and has the time before", value('max_over_time(up{job="trilane"}[10m])') == 1)
    start("gateway")
    for line in QUICK:
        check("200", curl(line).status == 200)
    eventually("Prometheus sees it", lambda: targets() == TARGETS, 60)
    _nothing_is_lost(before)
    say("gateway restarted")
    before = _kept()
    run(COMPOSE, "restart", "--timeout", "75", "gateway")
    eventually("it is healthy", healthy("gateway"), 90)
    _nothing_is_lost(before)


def _envoy() -> None:
    """Envoy alone is started again by `trilane up`."""
    say("Envoy killed within the gateway")
    count = output("gateway").count("ready again")
    find = 'for each in /proc/[0-9]*; do if [ "$(readlink "$each/exe")" = /usr/local/bin/envoy ]; then kill -KILL "${each#/proc/}"; fi; done'
    run(COMPOSE, "exec", "-T", "gateway", "bash", "-c", find)
    eventually("... it is started again", lambda: output("gateway").count("ready again") > count, 60)
    check("... 200", curl(QUICK[0]).status == 200)


def _kept() -> tuple[int, dict[str, tuple[int, str]]]:
    """The lines of the ledger, and what the console has of them, once it says the same as `trilane usage` of the file."""
    deadline = time.monotonic() + 60
    while _of_keys(usage()) != _told_by_file() and time.monotonic() < deadline:
        time.sleep(0.5)
    ours, theirs = _of_keys(usage()), _told_by_file()
    check(f"the console has the ledger, to the last digit: {ours}, and the file {theirs}", ours == theirs)
    return len(ledger()), usage()


def _told_by_file() -> dict[str, tuple[int, str]]:
    rows = ["trilane", "usage", "--by", "key", "--format", "json", "/data/ledger/ledger.jsonl"]
    said = json.loads(run(COMPOSE, "exec", "-T", "gateway", *rows))["rows"]
    return _of_keys({row["key"]: (row["requests"], row["charge"]) for row in said})


def _of_keys(sums: dict[str, tuple[int, str]]) -> dict[str, tuple[int, str]]:
    """Without the requests of nobody."""
    return {key: each for key, each in sums.items() if key}


def _nothing_is_lost(before: tuple[int, dict[str, tuple[int, str]]]) -> None:
    lines, sums = before
    check(f"... the ledger has its {lines} lines", len(ledger()) >= lines > 0)
    now = usage()
    check("... the console has what it had", all(now[key][0] >= count for key, (count, _) in sums.items()))
    check("... and the key that was disabled is so", call("GET", "/keys/key_new").json()["disabled"] is True)


def crash(name: str) -> None:
    """Its first process killed from outside, as by the kernel that has no memory left: Docker starts it again."""
    container = service(name)
    before = inspect(container)["State"]
    # By a container, since the processes may be another machine's.
    image = inspect(service("gateway"))["Image"]
    kill = ["docker", "run", "--rm", "--pid=host", "--network=none", "--user=0", "--entrypoint=bash", image, "-c"]
    run(kill, f"kill -KILL {before['Pid']}")
    eventually(
        f"{name} killed from outside: Docker starts it again", lambda: _restarted(container, before["StartedAt"]), 30
    )
    eventually("... healthy", healthy(name), 90)


def _restarted(container: str, before: str) -> bool:
    now = inspect(container)
    return bool(now["RestartCount"] and now["State"]["Running"] and now["State"]["StartedAt"] != before)


def stopped(name: str) -> None:
    """It does not come back by itself: Docker takes it for what somebody wanted."""
    run(["docker"], "kill", service(name))
    eventually(f"{name} is killed", lambda: not inspect(service(name))["State"]["Running"], 20)


def start(name: str) -> None:
    run(COMPOSE, "start", name)
    eventually(f"{name} is started, and healthy", healthy(name), 90)


def _all_well(answers: list[int]) -> bool:
    return set(answers) == {200} and len(answers) > 20
