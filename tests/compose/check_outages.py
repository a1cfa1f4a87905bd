"""Each container in turn: killed, so that it stays away and the rest goes on; crashed, so that Docker starts it."""

from __future__ import annotations

import time

from check_metrics import targets, value
from compose_tools import COMPOSE, GATEWAY, QUICK, check, clients, curl, eventually, healthy, inspect, run, say, service

#: How long something is away, at least: Envoy notices, and what it holds of connections is gone.
AWAY = 6.0


def outages() -> None:
    """Of everything that runs without the profile `scale`."""
    for name in ("upstream-2", "upstream-3", "render", "prometheus", "grafana"):
        say(f"{name} away")
        with clients(*QUICK) as answers:
            stopped(name)
            time.sleep(AWAY)
            start(name)
        check(f"... meanwhile {len(answers)} requests of three protocols, each with {set(answers)}", _all_well(answers))
    _first_simulator()
    _gateway()
    for name in ("upstream", "upstream-2", "upstream-3", "render", "prometheus", "grafana", "envoy"):
        crash(name)
    eventually("the gateway serves", lambda: all(curl(line).status == 200 for line in QUICK), 30)


def _first_simulator() -> None:
    """A source with another account goes on; one without says so, in its protocol's words."""
    say("upstream away, the only account of c-official")
    with clients(QUICK[0], QUICK[1]) as answers:
        stopped("upstream")
        eventually("C: 502 or 503", lambda: curl(QUICK[2], show=True).status in (502, 503), 30)
        check("... as an error of protocol C", curl(QUICK[2]).json["error"]["status"])
        time.sleep(AWAY)
        check("the gateway itself is well", curl(f"curl {GATEWAY}/healthz").status == 200)
        start("upstream")
        eventually("C: 200", lambda: curl(QUICK[2]).status == 200, 60)
    check(f"A and B: {len(answers)} requests, each with {set(answers)}, by other accounts", _all_well(answers))


def _gateway() -> None:
    """It comes back with the document that was in force, and Prometheus tells of it."""
    say("envoy away")
    stopped("envoy")
    check("no answer", curl(QUICK[0]).status == 0)
    eventually("Prometheus sees it", lambda: targets() == {"envoy:9902": "down"}, 60)
    check("... and has the time before", value('max_over_time(up{job="trilane"}[10m])') == 1)
    check("render goes on", healthy("render")())
    start("envoy")
    for line in QUICK:
        check("200", curl(line).status == 200)
    eventually("Prometheus sees it", lambda: targets() == {"envoy:9902": "up"}, 60)


def crash(name: str) -> None:
    """Its first process killed from outside, as by the kernel that has no memory left: Docker starts it again."""
    container = service(name)
    before = inspect(container)["State"]
    # By a container, since the processes may be another machine's.
    image = inspect(service("upstream"))["Image"]
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
