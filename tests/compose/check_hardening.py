"""What each container may not do, by Docker's word, by the kernel's, and by trying."""

from __future__ import annotations

import os

from compose_tools import COMPOSE, CREDENTIALS, PORT, TLS_PORT, check, demo, inspect, run, service

#: User of each service; 10001 where none is named.
USERS = {"prometheus": 65534, "grafana": 472, "ratelimit": 65532, "redis": 999}
#: Where a write must fail, as nothing but the root is read-only there.
PLACES = "/ /etc /usr/bin /var"
#: What is published, and by whom.
PUBLISHED = {
    "gateway": {PORT, TLS_PORT, os.environ["CONSOLE_PORT"]},
    "prometheus": {os.environ["PROMETHEUS_PORT"]},
    "grafana": {os.environ["GRAFANA_PORT"]},
}


def hardening(names: list[str], *secrets: str) -> None:
    """Of these services' containers, in which these secrets must not be seen, nor any of the sample's."""
    for name in names:
        _privileges(name)
        _writes(name)
        _ports(name)
        _no_secret(name, secrets)


def _privileges(name: str) -> None:
    host = inspect(service(name))["HostConfig"]
    check(
        f"{name}: Docker was told so",
        host["ReadonlyRootfs"]
        and host["CapDrop"] == ["ALL"]
        and not host["CapAdd"]
        and not host["Privileged"]
        and any(option.startswith("no-new-privileges") for option in host["SecurityOpt"])
        and host["RestartPolicy"]["Name"] == "unless-stopped",
    )
    lines = run(COMPOSE, "exec", "-T", name, "cat", "/proc/1/status").splitlines()
    said = {key: value.split() for key, _, value in (line.partition(":") for line in lines)}
    user = str(USERS.get(name, 10001))
    check(f"{name}: user {user}, each of its four ids", said["Uid"] == [user] * 4 and "0" not in said["Gid"])
    sets = {said[kind][0] for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}
    check(
        f"{name}: no capability, and none to be had",
        {int(one, 16) for one in sets} == {0} and said["NoNewPrivs"] == ["1"],
    )


def _writes(name: str) -> None:
    # In a shell of its own each, since a failed redirection of `:` ends one.
    script = f'for place in {PLACES}; do sh -c ": > $place/x" 2>&1; done; exit 0'
    said = run(COMPOSE, "exec", "-T", name, "sh", "-c", script).lower()
    check(f"{name}: a write to {PLACES} fails", said.count("read-only file system") == len(PLACES.split()))


def _ports(name: str) -> None:
    ports = inspect(service(name))["NetworkSettings"]["Ports"] or {}
    bound = {(one["HostIp"], one["HostPort"]) for ones in ports.values() for one in ones or []}
    check(
        f"{name}: published {sorted(bound) or 'nowhere'}",
        bound == {("127.0.0.1", port) for port in PUBLISHED.get(name, ())},
    )


def _no_secret(name: str, more: tuple[str, ...]) -> None:
    """Not in what Docker says of container and image, not in the environment of its first process."""
    secrets = [*more] + [file.read_text().strip() for file in CREDENTIALS.iterdir()] + list(demo.DEMO_KEYS.values())
    container = service(name)
    said = run(["docker"], "inspect", container) + run(["docker"], "inspect", inspect(container)["Image"])
    said += run(["docker"], "history", "--no-trunc", inspect(container)["Image"])
    said += run(COMPOSE, "exec", "-T", name, "cat", "/proc/1/environ")
    found = [secret for secret in secrets if secret in said]
    check(
        f"{name}: no credential and no key in `docker inspect`, image and environment", len(secrets) > 10 and not found
    )
    check(f"{name}: no private key there", "PRIVATE KEY" not in said)
