"""All requests to an account share few connections inside Envoy: those of slow clients must not hold up the others."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

from e2e.accounts.accounts_desk import Desk
from e2e.accounts.document import document
from e2e.accounts.operations import BY_NAME

#: More than fit into the usual window of a connection (16 MiB) with a MiB each.
SLOW = 40
#: What waits for each of them: more than sockets and buffers take.
ANSWER = 24 << 20


@contextmanager
def reading_nothing(accounts: Desk, operation_name: str) -> Iterator[None]:
    """A client that asks for much and does not read it."""
    operation = BY_NAME[operation_name]
    path, body = operation.request()
    marker = accounts.new_marker()
    sim = {"body_bytes": ANSWER}
    headers = accounts.headers(operation, marker, key=0, session="slow", sim=sim)
    address = urlsplit(accounts.stack.base_url)
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(10)
        client.connect((address.hostname, address.port))
        lines = [f"POST {path} HTTP/1.1", "host: x", f"content-length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        client.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        assert client.recv(12) == b"HTTP/1.1 200"
        yield


def test_clients_who_do_not_read_hold_up_nobody(accounts: Desk) -> None:
    accounts.publish(document())
    with ExitStack() as slow:
        for _ in range(SLOW):
            slow.enter_context(reading_nothing(accounts, "messages"))
        time.sleep(0.5)  # all buffers are full by now
        # The same account, by the same way, on every worker.
        for attempt in range(12):
            begun = time.monotonic()
            asked = accounts.ask(BY_NAME["messages-stream"], key=0, session="slow", timeout=30)
            assert asked.status == 200 and len(asked.tried) == 1, f"{attempt}: {asked}"
            assert time.monotonic() - begun < 10, f"{attempt}: held up"
