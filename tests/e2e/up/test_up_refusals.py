"""`trilane up`: what is in the way gets one clear sentence, and the way out."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import httpx
import pytest
from e2e.up.running import FREE_PORTS, Up, environment, processes, refused
from stack import SAMPLE_DOCUMENT


def program(file: Path, text: str) -> Path:
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


def only_error(said: str) -> str:
    """The one line that begins with `error: `."""
    (line,) = [line for line in said.splitlines() if line.startswith("error: ")]
    return line


@pytest.mark.parametrize("option", ["--port", "--tls-port", "--admin-port"])
def test_a_port_that_is_taken(tmp_path: Path, option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ports = dict(zip(FREE_PORTS[::2], FREE_PORTS[1::2]))
        ports[option] = port
        code, said = refused(tmp_path, "--demo", *(word for pair in ports.items() for word in pair))
    assert code == 1
    error = only_error(said)
    assert f"port {port} of 127.0.0.1 cannot be used: Address already in use" in error and f"{option} PORT" in error
    assert processes(tmp_path) == []


def test_another_envoy(tmp_path: Path) -> None:
    version = "echo; echo '/opt/envoy  version: 0123abcd/{}/Clean/RELEASE/BoringSSL'; test $1 = --version"
    for number, code, want in (
        ("1.39.2", 1, "is Envoy 1.39.2, and this release needs 1.40.0. `trilane envoy install"),
        ("1.41.0-dev", 1, "is Envoy 1.41.0, and this release needs 1.40.0"),
        ("1.40.7", 1, "warning: {} is Envoy 1.40.7; this release is tested with 1.40.0"),
    ):
        envoy = program(tmp_path / "envoy", version.format(number))
        found, said = refused(tmp_path / "data", "--demo", *FREE_PORTS, "--envoy", str(envoy))
        assert found == code and want.format(envoy) in said, (number, said)
    envoy = program(tmp_path / "envoy", "echo nginx version: nginx/1.22.1")
    code, said = refused(tmp_path / "data", "--demo", *FREE_PORTS, "--envoy", str(envoy))
    assert code == 1 and "does not tell a version as Envoy does" in only_error(said)
    code, said = refused(tmp_path / "data", "--demo", *FREE_PORTS, "--envoy", str(tmp_path / "nothing"))
    assert code == 1 and f"--envoy: {tmp_path / 'nothing'} is no program" in only_error(said)


def test_an_envoy_that_ends_at_once(tmp_path: Path) -> None:
    text = "test \"$1\" = --version && echo 'envoy  version: 0/1.40.0/Clean/RELEASE/BoringSSL' && exit; echo no room; exit 3"
    envoy = program(tmp_path / "envoy", text)
    code, said = refused(tmp_path / "data", "--demo", *FREE_PORTS, "--envoy", str(envoy))
    assert code == 1 and "Envoy ended at its start (exit status: 3)." in only_error(said)
    assert f"The end of {tmp_path}/data/run/envoy.log:\n  no room" in said


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, said = refused(tmp_path / "file" / "data", "--demo")
    assert code in (1, 2) and "file/data" in only_error(said)
    read_only = Path("/proc/trilane")
    code, said = refused(read_only, "--demo")
    assert code == 1 and "cannot make the directory /proc/trilane" in only_error(said) and "--data DIR" in said


def test_a_directory_that_is_in_use(tmp_path: Path) -> None:
    with Up(tmp_path / "data", "--demo") as up:
        code, said = refused(up.data, "--demo", *FREE_PORTS)
        assert code == 1
        error = only_error(said)
        assert f"another `trilane up` (process {up.pid}) runs in {up.data}" in error and "--data DIR" in error
        assert httpx.get(f"{up.url}/healthz", trust_env=False).status_code == 200, "which goes on"


def test_no_document(tmp_path: Path) -> None:
    code, said = refused(tmp_path, *FREE_PORTS)
    assert code == 1
    error = only_error(said)
    assert f"there is no document {tmp_path}/gateway.json" in error
    assert "trilane init" in error and "--document FILE" in error and "trilane up --demo" in error


def test_a_broken_document(tmp_path: Path) -> None:
    document = json.loads(SAMPLE_DOCUMENT.read_text())
    document["groups"][0]["protocol"] = "D"
    document["groups"][1]["multiplier"] = "much"
    (tmp_path / "gateway.json").write_text(json.dumps(document))
    code, said = refused(tmp_path, "--demo", *FREE_PORTS)
    assert code == 1
    error = only_error(said)
    assert f"the document {tmp_path}/gateway.json cannot be put in force" in error and "trilane check --document" in error
    assert "document: error: groups[0].protocol" in said, said


def test_a_credential_that_no_header_can_hold(tmp_path: Path) -> None:
    with Up(tmp_path / "data", "--demo") as up:
        up.stop()
    credential = tmp_path / "data" / "credentials" / "a-official-1"
    credential.unlink()
    credential.write_text("two\nlines-of-a-secret\n")
    code, said = refused(tmp_path / "data", "--demo", *FREE_PORTS)
    assert code == 1 and "credential" in said and str(credential) in said and "cannot be put in force" in only_error(said)
    assert "lines-of-a-secret" not in said


def test_a_setting_that_there_is_not(tmp_path: Path) -> None:
    (tmp_path / "trilane.toml").write_text("prot = 8000\n")
    code, said = refused(tmp_path, "--demo")
    assert code == 2 and "trilane.toml" in said and "unknown field `prot`" in said
    (tmp_path / "trilane.toml").unlink()
    code, said = refused(tmp_path, "--demo", "--host", "localhost")
    assert code == 2 and "--host: localhost is no address" in only_error(said)


def test_no_filter(tmp_path: Path) -> None:
    wasm = tmp_path / "filter.wasm"
    code, said = refused(tmp_path / "data", "--demo", *FREE_PORTS, "--filter", str(wasm))
    assert code == 1 and f"cannot read the filter {wasm}" in only_error(said) and "--filter FILE" in said
    wasm.write_text("text")
    code, said = refused(tmp_path / "data", "--demo", *FREE_PORTS, "--filter", str(wasm))
    assert code == 1 and "is no WebAssembly module" in only_error(said)


def small_disk(place: Path) -> bool:
    """A file system of 2 MB, where this user may mount one."""
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place], capture_output=True, check=False)
    return mounted.returncode == 0


def test_a_full_disk(tmp_path: Path) -> None:
    place = tmp_path / "small"
    if not small_disk(place):
        pytest.skip("no file system can be mounted here")
    try:
        (place / "filling").write_bytes(bytes(1 << 20))
        code, said = refused(place / "data", "--demo", *FREE_PORTS)
        assert code == 1, said
        error = only_error(said)
        assert "No space left on device" in error and "Free some space" in error and "--data DIR" in error
    finally:
        subprocess.run(["umount", place], check=True)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_ledger_that_cannot_be_written(tmp_path: Path) -> None:
    """The disk fills up while the gateway runs: requests go on, and it is said that lines are lost."""
    with Up(tmp_path / "data", "--demo", "--ledger", "/dev/full") as up:
        deadline = time.monotonic() + 60
        while "ledger: /dev/full cannot be written, lines are lost: is the disk full?" not in up.said:
            assert httpx.get(f"{up.url}/v1/models", headers={"x-api-key": "trilane-demo-b"}, trust_env=False).status_code == 200
            assert time.monotonic() < deadline, up.said
            time.sleep(0.5)


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root and setpriv, for another user")
def test_a_ledger_that_is_another_users(tmp_path: Path) -> None:
    data = tmp_path / "data"
    ledger = tmp_path / "theirs"
    ledger.mkdir(mode=0o700)
    data.mkdir()
    for place in (data, *list(tmp_path.parents)[:3], tmp_path):
        if place.owner() == "root" and place != Path("/tmp"):
            place.chmod(0o755)
    os.chown(data, 65534, 65534)
    from stack import COMMAND

    if subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", str(COMMAND), "--version"], capture_output=True).returncode:
        pytest.skip("another user cannot run the command here")
    ran = subprocess.run(
        ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", str(COMMAND), "up", "--demo", "--data", str(data),
         *FREE_PORTS, "--ledger", str(ledger / "ledger.jsonl")],
        env=environment(), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert ran.returncode == 1
    assert "cannot write the ledger" in only_error(ran.stderr) and "Permission denied" in ran.stderr and "--ledger FILE" in ran.stderr
