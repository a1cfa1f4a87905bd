"""The access loggers that `envoy.yaml` shows in comments: each works as it stands there."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

from e2e.operator.receivers import access_log_service, collector
from e2e.support import Gateway, bearer, run_dir
from stack import ENVOY_YAML, Stack

BODY = {"model": "gpt-5.1", "messages": []}

CLUSTER = """
    - name: {name}
      type: STATIC
      connect_timeout: 1s
      load_assignment:
        cluster_name: {name}
        endpoints: [{{lb_endpoints: [{{endpoint: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}}}}}]}}]
"""
HTTP2 = """
      typed_extension_protocol_options:
        envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
          "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
          explicit_http_config: {http2_protocol_options: {}}
"""


def loggers() -> dict[str, str]:
    """The commented loggers of `envoy.yaml`, by name, as they stand there."""
    blocks = re.findall(r"(?m)^ {18}# - name: (\S+)\n((?: {18}#   .*\n)+)", ENVOY_YAML.read_text())
    return {name: f"{' ' * 18}# - name: {name}\n{rest}" for name, rest in blocks}


def uncommented(block: str) -> str:
    return re.sub(r"(?m)^( {18})# ", r"\1", block)


def test_every_logger_in_a_comment_works(tmp_path: Path) -> None:
    blocks = loggers()
    assert set(blocks) == {
        "envoy.access_loggers.file",
        "envoy.access_loggers.open_telemetry",
        "envoy.access_loggers.http_grpc",
    }
    ledger = tmp_path / "ledger.jsonl"
    with collector() as otel, access_log_service() as grpc:
        clusters = CLUSTER.format(name="otel", port=otel.port)
        clusters += CLUSTER.format(name="access_log_service", port=grpc.port).rstrip("\n") + HTTP2
        substitutions = [(block, uncommented(block)) for block in blocks.values()]
        file = blocks["envoy.access_loggers.file"]
        substitutions[0] = (file, uncommented(file).replace("/var/log/trilane/ledger.jsonl", str(ledger)))
        substitutions.append(("\n  clusters:\n", f"\n  clusters:{clusters}"))
        with Stack(run_dir("loggers"), extra_substitutions=substitutions) as stack:
            gateway = Gateway(stack)
            answer = gateway.request("POST", "/v1/chat/completions", bearer("key_a"), json=BODY)
            assert answer.status == 200, answer.text
            mark = answer.json()["id"].encode()
            wanted = {
                "file": ledger.read_bytes,
                "OpenTelemetry": lambda: otel.at("/v1/logs"),
                "gRPC": lambda: grpc.at("/envoy.service.accesslog.v3.AccessLogService/StreamAccessLogs"),
            }
            deadline = time.monotonic() + 20
            for name, read in wanted.items():
                while not (mark in read() and b'"gen_ai.usage.input_tokens":1234' in read()):
                    assert time.monotonic() < deadline, f"{name}: no record: {read()!r}"
                    time.sleep(0.05)
            # What a collector gets is one JSON object, like the line.
            body = re.search(rb'\{"timestamp":.*?"trilane\.time_to_first_byte_us":\d+\}', otel.at("/v1/logs"))
            assert body and json.loads(body.group())["trilane.group"] == "a-official"
            # The line goes to the standard output as well, and both are the same.
            (line,) = [text for text in ledger.read_text().splitlines() if mark.decode() in text]
            while line not in stack.access_log.read_text():
                assert time.monotonic() < deadline, "no line on the standard output"
                time.sleep(0.05)
