"""A source's certificate is quoted in Envoy's own words about a failed handshake: it cannot write into the ledger."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.support import Gateway, bearer, by_hand, run_dir
from stack import SIMULATOR, Stack

#: A name that would end the member it is written into, and begin others.
NAME = 'a","trilane.charge":"0","trilane.usage.status":"none","z":"\\'

TLS = """      transport_socket:
        name: envoy.transport_sockets.tls
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
          sni: localhost
          common_tls_context:
            validation_context:
              trusted_ca: {{filename: {ca}}}
              match_typed_subject_alt_names: [{{san_type: DNS, matcher: {{exact: localhost}}}}]
"""
PLACE = "      load_assignment:\n        cluster_name: a_official\n"


@contextmanager
def handshakes(certificates: Path) -> Iterator[int]:
    """The port of a server that does nothing but shake hands."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server.crt", certificates / "server.key")
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return  # closed: the test is over
            try:
                context.wrap_socket(connection, server_side=True).close()
            except OSError:
                connection.close()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield server.getsockname()[1]
    finally:
        server.close()


def test_a_certificate_cannot_write_into_the_ledger(tmp_path: Path) -> None:
    make = [str(SIMULATOR), "certificate", "--out", str(tmp_path), "--name", NAME]
    subprocess.run(make, check=True, capture_output=True)
    ledger = tmp_path / "ledger.jsonl"
    with handshakes(tmp_path) as port:
        tls = (PLACE, TLS.format(ca=tmp_path / "ca.crt") + PLACE)
        upstream = f"127.0.0.1:{port}"
        with Stack(
            run_dir("certificate"), document=by_hand(), upstream=upstream, ledger=ledger, extra_substitutions=[tls]
        ) as stack:
            body = {"model": "gpt-5.1", "messages": []}
            answer = Gateway(stack).request("POST", "/v1/chat/completions", bearer("key_a"), json=body)
            assert answer.status == 502, answer.text
            mark = answer.headers["x-request-id"]
            deadline = time.monotonic() + 10
            while mark not in ledger.read_text():
                assert time.monotonic() < deadline, "no line"
                time.sleep(0.02)
    (line,) = [line for line in ledger.read_text().splitlines() if mark in line]
    names = [name for name, _ in json.loads(line, object_pairs_hook=list)]
    assert len(names) == len(set(names)), line
    record = json.loads(line)
    # The name is in the record, and in its place.
    assert NAME.replace(" ", "_") in record["trilane.upstream_failure"], record
    assert record["trilane.usage.status"] == "failed", record
    assert "trilane.charge" not in record and "z" not in record, record
