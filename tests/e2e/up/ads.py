"""What tests of Envoy's stream of clusters and credentials have in common: vendors, documents, what Envoy has open and tells."""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
from e2e.up.running import Up
from vendors import Answer, Asked, VendorServer

KEY = "tl-ads-0123456789abcdef"
MODEL = "claude-opus-4-5"


def message(text: str = "Hi") -> dict[str, Any]:
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "stop_reason": "end_turn", "stop_sequence": None,
        "content": [{"type": "text", "text": text}], "usage": {"input_tokens": 3, "output_tokens": 1},
    }  # fmt: skip


class Vendor(VendorServer):
    """A vendor to whom any credential is good. Its streams have so many events, as far apart as `gap`."""

    events, gap = 20, 0.1

    def answer(self, asked: Asked) -> Answer:
        if (asked.json() or {}).get("stream"):
            return Answer(200, {}, events=self._events())  # type: ignore[arg-type]
        return Answer(200, message())

    def _events(self) -> Iterator[str]:
        start = {"type": "message_start", "message": {**message(), "content": [], "stop_reason": None}}
        yield f"event: message_start\ndata: {json.dumps(start)}\n\n"
        for number in range(self.events):
            time.sleep(self.gap)
            delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": f"{number} "}}
            yield f"event: content_block_delta\ndata: {json.dumps(delta)}\n\n"
        end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}
        yield f"event: message_delta\ndata: {json.dumps(end)}\n\n"
        yield 'event: message_stop\ndata: {"type": "message_stop"}\n\n'

    @property
    def seen(self) -> list[str]:
        """The credentials with which it was asked."""
        return [asked.headers["x-api-key"] for asked in self.asked]


class Site:
    """A document with groups of accounts, one key each, and their credentials: what `trilane up --document` takes."""

    def __init__(self, place: Path) -> None:
        self.document = place / "own" / "gateway.json"
        self.credentials = place / "own" / "credentials"
        self.credentials.mkdir(parents=True)

    @property
    def options(self) -> tuple[str, ...]:
        return ("--document", str(self.document), "--credentials", str(self.credentials))

    def give(self, name: str, value: str) -> None:
        """Puts a credential into place, as one should."""
        part = self.credentials / f".{name}.part"
        part.write_text(value)
        part.rename(self.credentials / name)

    def save(self, *groups: dict[str, Any]) -> None:
        keys = [
            {"id": f"key-{each['id']}", "sha256": hashlib.sha256(key_of(each["id"]).encode()).hexdigest(), "group": each["id"]}
            for each in groups
        ]
        part = self.document.with_name(".part")
        part.write_text(json.dumps({"currency": "USD", "keys": keys, "groups": groups}))
        part.rename(self.document)


def key_of(name: str) -> str:
    return f"{KEY}-{name}"


def group(name: str, url: str, *credentials: str, **more: Any) -> dict[str, Any]:
    """A group with an account for each credential."""
    accounts = [{"id": credential, "url": url, "credential": credential, **more} for credential in credentials]
    models = [{"id": MODEL, "free": True}]
    return {"id": name, "protocol": "B", "clients": "current", "multiplier": "1", "accounts": accounts, "models": models}


def many(site: Site, url: str, number: int) -> list[dict[str, Any]]:
    """So many groups, each with an account that has a credential of its own."""
    names = [f"account-{each:04}" for each in range(number)]
    for name in names:
        (site.credentials / name).write_text(f"sk-{name}")
    return [group(name, url, name) for name in names]


def ask(url: str, of: str, text: str = "Hello") -> httpx.Response:
    body = {"model": MODEL, "max_tokens": 16, "messages": [{"role": "user", "content": text}]}
    headers = {"x-api-key": key_of(of), "anthropic-version": "2023-06-01"}
    return httpx.post(f"{url}/v1/messages", headers=headers, json=body, timeout=30, trust_env=False)


def ads_socket(envoy_yaml: Path) -> Path:
    """The socket on which Envoy is served, by its configuration."""
    (path,) = re.findall(r"path: (\S*ads\.sock)", envoy_yaml.read_text())
    return Path(path)


def inotify_instances(pid: int) -> int:
    found = 0
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            found += os.readlink(file) == "anon_inode:inotify"
    return found


def told_by(admin: str) -> dict[str, str]:
    """What Envoy's admin interface tells of itself, by page."""
    pages = ("config_dump", "certs", "stats", "clusters", "init_dump")
    return {page: httpx.get(f"{admin}/{page}", timeout=60, trust_env=False).text for page in pages}


def admin_of(up: Up) -> str:
    """Where the Envoy of now has its admin interface."""
    return "http://" + (up.data / "run" / "admin-address").read_text().strip()


class Between:
    """Stands between Envoy and the socket that it is served on, and may change bytes for others of the same length on their way."""

    def __init__(self, path: Path) -> None:
        self._path, self._real = path, path.with_name("real.sock")
        #: What is changed, and into what.
        self.change: tuple[bytes, bytes] = (b"", b"")
        path.rename(self._real)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                envoy, _ = self._listener.accept()
            except OSError:
                return
            agent = socket.socket(socket.AF_UNIX)
            agent.connect(str(self._real))
            for one, other, changes in ((envoy, agent, False), (agent, envoy, True)):
                threading.Thread(target=self._pass, args=(one, other, changes), daemon=True).start()

    def _pass(self, one: socket.socket, other: socket.socket, changes: bool) -> None:
        with suppress(OSError):
            while data := one.recv(1 << 20):
                # What is looked for is not cut: these messages are small.
                other.sendall(data.replace(*self.change) if changes and self.change[0] else data)
        for each in (one, other):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.close()
