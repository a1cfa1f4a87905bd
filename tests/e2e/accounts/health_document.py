"""Sources whose accounts fail in every way, for the tests of metrics."""

from __future__ import annotations

import hashlib
import socket
import ssl
import subprocess
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

from e2e.accounts.document import ACCOUNTS, GROUPS, MODELS, account, credential_file, document
from stack import SIMULATOR

#: Four accounts in two tiers, all good unless a request steers the simulator.
HEALTH = "health"
#: Four accounts in two tiers that nobody can reach, by id; the ids need every character that ids may have.
BROKEN = "health.broken:1"
KINDS = {"gone.eu": "no_host", "refused:1": "connection", "locked-out": "no_credential", "impostor_2": "tls"}
#: Four accounts in two tiers, of which no other is asked after a second.
SHORT = "health.short"
#: One account, and one without a credential.
ALONE = "health.alone"
BARE = "health.bare"
SOURCES = (HEALTH, BROKEN, SHORT, ALONE, BARE)

#: Four tries, a second for each answer, and a second out of use after a failure.
PACE = {"tries": 4, "answer_seconds": 1, "stream_answer_seconds": 1, "set_aside_seconds": 1, "set_aside_max_seconds": 1, "prompt_cache_seconds": 0}


def key_of(source: str) -> dict[str, str]:
    """The header that says who asks."""
    return {"x-api-key": f"sk-client-{source}"}


class Impostor:
    """A TLS server on 127.0.0.1 with a certificate of an authority that nobody trusts."""

    def __init__(self, directory: Path) -> None:
        subprocess.run([SIMULATOR, "certificate", "--out", directory], check=True, capture_output=True)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(directory / "server.crt", directory / "server.key")
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        #: What got through to it, and should not have.
        self.received = b""
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> Impostor:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            try:
                with self._context.wrap_socket(peer, server_side=True) as connection:
                    connection.settimeout(5)
                    self.received += connection.recv(65536)
            except OSError:
                peer.close()


def health_document(impostor: int, nobody: int, authority: Path) -> dict[str, Any]:
    """The document. `impostor` and `nobody` are ports; `authority` is not the impostor's."""
    good = [account("B", name, tier) for name, tier in zip(ACCOUNTS, (0, 0, 1, 1))]
    credential = {"credential": credential_file("B", "a1")}
    broken = [
        {"id": "gone.eu", "url": "http://no-such-host.invalid", "priority": 0, **credential},
        {"id": "refused:1", "url": f"http://127.0.0.1:{nobody}", "priority": 0, **credential},
        {"id": "locked-out", "url": "http://upstream:9101", "priority": 1, "credential": "no-such-file"},
        {
            "id": "impostor_2",
            "url": f"https://127.0.0.1:{impostor}",
            "priority": 1,
            "ca": str(authority),
            **credential,
        },
    ]
    groups = [
        _group(HEALTH, good, PACE),
        _group(BROKEN, broken, PACE),
        # What the first one may take is longer: were both equal, either could be over first.
        _group(SHORT, good, {**PACE, "stream_answer_seconds": 2, "total_seconds": 1}),
        _group(ALONE, [account("B", "a1")], {}),
        _group(BARE, [{**account("B", "a2"), "credential": "no-such-file"}], {}),
    ]
    # The usual groups of protocol A, for whoever asks whether the gateway lives.
    usual = document(protocols="A", tiers=(1,))
    mine = [
        {"id": source, "sha256": hashlib.sha256(key_of(source)["x-api-key"].encode()).hexdigest(), "group": source}
        for source in SOURCES
    ]
    assert not set(SOURCES) & set(GROUPS.values())
    return {**usual, "groups": [*usual["groups"], *groups], "keys": [*usual["keys"], *mine]}


def _group(name: str, accounts: list[dict[str, Any]], failover: dict[str, Any]) -> dict[str, Any]:
    group = {"id": name, "protocol": "B", "multiplier": "1.0000", "accounts": accounts, "models": MODELS["B"]}
    return {**group, "failover": failover} if failover else group
