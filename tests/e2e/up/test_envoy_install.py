"""`trilane envoy install`: the tested Envoy from a file, from a server, or by pip; anything else is refused."""

from __future__ import annotations

import functools
import http.server
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e.envoy_wheel import envoy_wheel
from e2e.up.test_up_refusals import small_disk
from stack import COMMAND


@pytest.fixture(scope="module")
def wheel() -> Path:
    return envoy_wheel()


@pytest.fixture(scope="module")
def server(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of files: the package, half of it, and another file."""
    site = tmp_path_factory.mktemp("site")
    content = wheel.read_bytes()
    (site / "whole.whl").symlink_to(wheel)
    (site / "half.whl").write_bytes(content[: len(content) // 2])
    (site / "other.whl").write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


def install(data: Path, *options: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    proxies = ("http_proxy", "https_proxy", "all_proxy")
    clean = {name: value for name, value in os.environ.items() if name.lower() not in proxies}
    return subprocess.run(
        [COMMAND, "envoy", "install", "--data", data, *options],
        capture_output=True, text=True, check=False, env={**clean, **environment},
    )  # fmt: skip


def files(data: Path) -> list[str]:
    return sorted(str(file.relative_to(data)) for file in data.rglob("*") if file.is_file())


def test_from_a_server(tmp_path: Path, server: str) -> None:
    done = install(tmp_path, "--from", f"{server}/whole.whl")
    program = tmp_path / "envoy" / "envoy"
    assert (done.returncode, done.stdout) == (0, f"Envoy 1.40.0 is installed: {program}\n"), done.stderr
    assert files(tmp_path) == ["envoy/envoy"], "nothing else is left"
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    assert "/1.40.0/" in said
    again = install(tmp_path, "--from", f"{server}/nothing.whl")
    assert (again.returncode, again.stdout) == (0, f"Envoy 1.40.0 is installed already: {program}\n")


def test_from_a_file(tmp_path: Path, wheel: Path) -> None:
    done = install(tmp_path, TRILANE_ENVOY_FROM=str(wheel))
    assert done.returncode == 0, done.stderr
    assert files(tmp_path) == ["envoy/envoy"]


@pytest.mark.parametrize(
    ("name", "why"),
    [("half.whl", "this is not the tested Envoy: the SHA-256 is "), ("other.whl", "this is not the tested Envoy: the SHA-256 is "),
     ("nothing.whl", "status: 404")],
)  # fmt: skip
def test_anything_else_is_refused(tmp_path: Path, server: str, name: str, why: str) -> None:
    done = install(tmp_path, "--from", f"{server}/{name}")
    assert done.returncode == 1 and why in done.stderr, done
    assert files(tmp_path) == [], "and nothing is left"


def test_from_nowhere(tmp_path: Path) -> None:
    done = install(tmp_path, "--from", str(tmp_path / "missing.whl"))
    assert done.returncode == 1 and "missing.whl: No such file" in done.stderr
    done = install(tmp_path, "--from", "http://127.0.0.1:1/envoy.whl")
    assert done.returncode == 1 and "cannot fetch http://127.0.0.1:1/envoy.whl" in done.stderr


def test_a_full_disk(tmp_path: Path, wheel: Path) -> None:
    place = tmp_path / "small"
    if not small_disk(place):
        pytest.skip("no file system can be mounted here")
    try:
        done = install(place / "data", "--from", str(wheel))
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1] == (
            f"error: cannot write Envoy to {place}/data/envoy: No space left on device (os error 28)."
            " Free some space, or choose another place with --data DIR"
        )
        assert files(place / "data") == [], "and nothing is left"
    finally:
        subprocess.run(["umount", place], check=True)


def test_without_python_the_way_out_is_named(tmp_path: Path) -> None:
    done = install(tmp_path, PATH=str(tmp_path))
    assert done.returncode == 1 and "--from FILE" in done.stderr and "--from URL" in done.stderr


def test_by_pip(tmp_path: Path) -> None:
    done = install(tmp_path)
    assert done.returncode == 0, done.stderr
    assert files(tmp_path) == ["envoy/envoy"]
