"""`trilane up --console` over TLS of its own, for people on other machines."""

from __future__ import annotations

import os
import re
import shutil
import ssl
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from e2e.console.signing_in import Team
from e2e.guides.form_browser import FormBrowser
from e2e.up.running import Up
from ports import free_port
from stack import COMMAND, SIMULATOR, Child
from waiting import until


def certificate(place: Path) -> Path:
    place.mkdir(exist_ok=True)
    subprocess.run([str(SIMULATOR), "certificate", "--out", str(place)], check=True, capture_output=True)
    return place / "ca.crt"


def served(ca: Path, address: str) -> bytes:
    host, _, port = address.rpartition(":")
    return ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate((host, int(port)), ca_certs=str(ca)))


def test_people_reach_it_over_tls(tmp_path: Path) -> None:
    port = free_port()
    address = f"https://localhost:{port}"
    files = tmp_path / "tls"
    ca = certificate(files)
    options = (
        *("--demo", "--console", "--console-port", "0", "--console-url", address, "--console-tls-listen", f"127.0.0.1:{port}"),
        *("--console-tls-cert", str(files / "server.crt"), "--console-tls-key", str(files / "server.key")),
    )
    with Up(tmp_path / "data", *options) as up:
        link = up.said.split("sign in    ", 1)[1].split()[0]
        assert link.startswith(f"{address}/sign-in/link?"), link
        trust = ssl.create_default_context(cafile=str(ca))
        browser = FormBrowser(address, trust)
        browser.sign_in(link)
        # Plain text at that port is none of its.
        with pytest.raises(httpx.TransportError):
            httpx.get(f"http://localhost:{port}/healthz", timeout=5)
        assert httpx.get(f"{address}/healthz", verify=trust).json() == {"ok": True}

        # Another certificate is taken without a restart; a pair that does not fit is told, and the one before stays.
        first = served(ca, f"localhost:{port}")
        (files / "server.key").write_text("no key\n")
        until(lambda: served(ca, f"localhost:{port}") == first and "the certificate stays the one of before" in up.said, 30)
        for name in ("ca.crt", "ca.key", "server.crt", "server.key"):
            (files / name).unlink(missing_ok=True)
        certificate(files)
        until(lambda: served(ca, f"localhost:{port}") != first, 30)


def test_what_it_needs(tmp_path: Path) -> None:
    files = tmp_path / "tls"
    certificate(files)
    pair = ("--console-tls-cert", str(files / "server.crt"), "--console-tls-key", str(files / "server.key"))
    for case, options, said in (
        ("no address of its own", ("--console", "--console-tls-listen", "127.0.0.1:0", *pair), "needs --console, --console-url"),
        ("no key", ("--console", "--console-url", "https://localhost:1", "--console-tls-listen", "127.0.0.1:0", *pair[:2]), "needs --console, --console-url"),
    ):
        ran = subprocess.run([str(COMMAND), "up", "--demo", "--data", str(tmp_path / "data"), *options], capture_output=True, text=True, check=False)
        assert ran.returncode == 2 and said in ran.stderr, (case, ran.stderr)


@pytest.fixture(name="elsewhere")
def elsewhere_fixture() -> Iterator[tuple[str, str, list[str]]]:
    """Another machine, as a network namespace: the address of this one, that of the other, and how to run something there."""
    name = f"tl-{uuid.uuid4().hex[:8]}"
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("a network namespace needs root and iproute2")
    number = int(name[3:], 16) % 16000
    base = f"10.{200 + number // 4000}.{number // 64 % 64}"
    here, there = f"{base}.{number % 64 * 4 + 1}", f"{base}.{number % 64 * 4 + 2}"
    within = ["ip", "netns", "exec", name]
    steps = [
        ["ip", "netns", "add", name],
        ["ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name],
        ["ip", "addr", "add", f"{here}/30", "dev", name],
        ["ip", "link", "set", name, "up"],
        [*within, "ip", "addr", "add", f"{there}/30", "dev", "eth0"],
        [*within, "ip", "link", "set", "eth0", "up"],
        [*within, "ip", "link", "set", "lo", "up"],
    ]
    try:
        for step in steps:
            done = subprocess.run(step, capture_output=True, text=True, check=False)
            if done.returncode != 0 and "not permitted" in done.stderr:
                pytest.skip(f"no network namespace: {done.stderr}")
            assert done.returncode == 0, (step, done.stderr)
        yield here, there, within
    finally:
        subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


def test_two_machines(tmp_path: Path, elsewhere: tuple[str, str, list[str]]) -> None:
    """Somebody at another machine signs in there, and uses the gateway."""
    here, there, within = elsewhere
    port, files = free_port(), tmp_path / "tls"
    files.mkdir()
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "9", "-subj", "/CN=ai"]
    names = ["-addext", f"subjectAltName=IP:{here}", "-addext", "basicConstraints=critical,CA:FALSE"]
    subprocess.run([*command, *names, "-keyout", str(files / "key.pem"), "-out", str(files / "cert.pem")], check=True, capture_output=True)
    address, gateway_port = f"https://{here}:{port}", free_port()
    options = (
        *("--demo", "--console", "--console-port", "0", "--console-url", address, "--console-tls-listen", f"{here}:{port}"),
        *("--console-tls-cert", str(files / "cert.pem"), "--console-tls-key", str(files / "key.pem")),
        *("--host", here, "--port", str(gateway_port), "--tls-port", "0", "--admin-port", "0", "--gateway-url", f"http://{here}:{gateway_port}"),
    )
    home = tmp_path / "home"
    home.mkdir()
    trust = ssl.create_default_context(cafile=str(files / "cert.pem"))
    with Up(tmp_path / "data", *options, ports=False) as up:
        team = Team(up, home, trust=trust)
        environment = [f"{name}={value}" for name, value in team.env.items()]
        log = tmp_path / "login.log"
        child = Child([*within, "env", "-i", *environment, str(COMMAND), "login", address, "--ca", str(files / "cert.pem")], log)
        try:
            said = until(lambda: re.search(r"Open (\S+) in a browser", log.read_text(errors="replace")), 20)
            assert there in team.browser.get(said[1]).text, "the page says from where it is asked"
            team.decide(said[1], "approve")
            assert child.process.wait(30) == 0, log.read_text()
        finally:
            child.stop()
        key = team.token()
        body = '{"model":"claude-opus-4-5","max_tokens":64,"messages":[{"role":"user","content":"Hello"}]}'
        asked = [
            *("curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", f"http://{here}:{gateway_port}/v1/messages", "-H", f"x-api-key: {key}"),
            *("-H", "anthropic-version: 2023-06-01", "-H", "content-type: application/json", "-d", body),
        ]
        assert subprocess.run([*within, *asked], capture_output=True, text=True, check=True, timeout=60).stdout == "200"
