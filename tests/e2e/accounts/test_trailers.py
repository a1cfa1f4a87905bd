"""Trailers of answers: those that would not pass as headers do not pass either."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator

import h2.config
import h2.connection
import h2.events
import pytest
from e2e.accounts.accounts_desk import Desk
from e2e.accounts.document import MODEL, account
from e2e.accounts.fronts import CHAT
from e2e.accounts.own_groups import USUAL, document_of, group_of, headers_of
from e2e.raw import Http2

VALUE = "a-value-to-be-found"
WITHHELD = ["location", "refresh", "set-cookie", "openai-organization", "x-trilane-error", "access-control-allow-origin"]
RELAYED = ["x-checksum", "server-timing"]


@pytest.fixture
def port() -> Iterator[int]:
    """An upstream over HTTP/2 that ends each answer with trailers."""
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    yield int(listener.getsockname()[1])
    listener.close()


def serve(peer: socket.socket) -> None:
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="latin-1"))
    connection.initiate_connection()
    with peer, contextlib.suppress(OSError):
        while True:
            peer.sendall(connection.data_to_send())
            data = peer.recv(1 << 16)
            if not data:
                return
            for event in connection.receive_data(data):
                if isinstance(event, h2.events.StreamEnded):
                    assert event.stream_id
                    connection.send_headers(event.stream_id, [(":status", "200"), ("content-type", "application/json")])
                    connection.send_data(event.stream_id, json.dumps(CHAT).encode())
                    trailers = [(name, VALUE) for name in (*WITHHELD, *RELAYED)]
                    connection.send_headers(event.stream_id, trailers, end_stream=True)


def test_trailers(accounts: Desk, port: int) -> None:
    group = group_of("trailers", "A", [account("A", "a1", url=f"http://127.0.0.1:{port}", http="2")])
    accounts.publish(document_of(group))
    path, body = USUAL["A"][0].request(MODEL["A"])
    headers = {**headers_of(group, USUAL["A"][0]), "content-type": "application/json"}
    with Http2(accounts.stack.base_url) as client:
        answer = client.request("POST", path, headers.items(), body)
    assert answer.status == 200 and answer.complete and json.loads(answer.body) == CHAT, answer
    assert sorted(answer.trailers) == sorted((name, VALUE) for name in RELAYED), answer.trailers
