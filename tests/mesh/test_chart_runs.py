"""The chart's Envoy, started as its container starts it: its metrics, and a drain without a cut."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from chart import CHART, one, rendered
from stack import COMMAND, HERE, Stack
from e2e.support import Gateway, run_dir, x_api_key

ROOT = HERE.parent
HELLO = [{"role": "user", "content": "Hello"}]


class ChartStack(Stack):
    """The stack with the chart's second configuration."""

    metrics_port = 0

    def envoy_command(self, *arguments: str) -> list[str]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.metrics_port = free.getsockname()[1]
        text = one(rendered(), "ConfigMap", "gw-trilane-envoy")["data"]["metrics.yaml"]
        for old, new in {
            "address: 0.0.0.0, port_value: 9902": f"address: 127.0.0.1, port_value: {self.metrics_port}",
            "port_value: 9901": f"port_value: {self._wanted_ports['ADMIN_PORT']}",
        }.items():
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        return [*super().envoy_command(*arguments), "--config-yaml", text, "--drain-time-s", "60"]


@pytest.fixture(scope="module")
def stack() -> Iterator[ChartStack]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        admin_port = free.getsockname()[1]
    with ChartStack(run_dir("mesh-chart"), admin_port=admin_port) as running:
        yield running


#: Where the init container finds a filter: in the command's image, and in the volume of the filter's own.
FILTERS = {"command": "etc/trilane/filter/trilane.wasm", "image": "image/plugin.wasm"}


@pytest.mark.parametrize("source", FILTERS)
def test_the_filter_gets_to_envoy(source: str, tmp_path: Path) -> None:
    """The init container's own words, run by the command: Envoy finds the right filter, by the name in `envoy.yaml`."""
    pod = one(rendered({"filter": {"from": source}}), "Deployment")["spec"]["template"]["spec"]
    init = next(each for each in pod["initContainers"] if each["name"] == "filter")
    envoy = next(each for each in pod["containers"] if each["name"] == "envoy")
    for name, file in FILTERS.items():
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).write_bytes(b"\0asm" + name.encode())
        (tmp_path / file).with_name("trilane_judge.wasm").write_bytes(b"\0asm judge")
    (tmp_path / "filter").mkdir()
    (default,) = re.findall(r'default_value = "(\S+)"', (ROOT / "control/src/filter.rs").read_text())
    assert default == f"/{FILTERS['command']}"
    arguments = [*([] if "--from" in init["args"] else ["--from", default]), *init["args"][1:]]
    arguments = [re.sub("^/", f"{tmp_path}/", each) for each in arguments]
    subprocess.run([str(COMMAND), init["args"][0], *arguments], check=True, capture_output=True)
    assert (tmp_path / "filter/trilane.wasm").read_bytes() == b"\0asm" + source.encode()
    assert (tmp_path / "filter/trilane_judge.wasm").read_bytes() == b"\0asm judge"
    mounts = {each["name"]: each["mountPath"] for each in init["volumeMounts"]}
    assert mounts == {"filter": "/filter", **({"filter-image": "/image"} if source == "image" else {})}
    assert {"name": "filter", "mountPath": "/etc/trilane/filter", "readOnly": True} in envoy["volumeMounts"]
    assert "filename: /etc/trilane/filter/trilane.wasm" in (CHART / "files" / "envoy.yaml").read_text()


def get(stack: ChartStack, method: str, path: str) -> httpx.Response:
    return httpx.request(method, f"http://127.0.0.1:{stack.metrics_port}{path}", timeout=10, trust_env=False)


ADMIN: dict[str, tuple[str, str, int]] = {
    "metrics": ("GET", "/stats/prometheus", 200),
    "liveness": ("GET", "/ready", 200),
    "configuration": ("GET", "/config_dump", 404),
    "the end": ("POST", "/quitquitquit", 404),
    "the end, written otherwise": ("POST", "/ready/../quitquitquit", 404),
    "a change": ("POST", "/stats/prometheus", 404),
    "other forms": ("GET", "/stats", 404),
}


@pytest.mark.parametrize("case", ADMIN)
def test_only_two_paths_of_the_admin_interface_are_reachable(stack: ChartStack, case: str) -> None:
    method, path, status = ADMIN[case]
    assert get(stack, method, path).status_code == status, case


def test_metrics_are_the_filters_and_envoys(stack: ChartStack) -> None:
    text = get(stack, "GET", "/stats/prometheus").text
    assert "trilane_config_generation" in text
    # What the chart's HorizontalPodAutoscaler may go by.
    assert "envoy_http_downstream_rq_active{" in text


def test_a_drain_cuts_no_stream(stack: ChartStack) -> None:
    """Last in this module: afterwards the gateway takes nothing more."""
    gateway = Gateway(stack)
    body: dict[str, Any] = {"model": "claude-opus-4-5", "max_tokens": 9, "messages": HELLO, "stream": True}
    headers = {**x_api_key("key_b"), "x-sim-events": "30", "x-sim-gap-ms": "100"}
    begun, ended, whole = threading.Event(), [0.0], []

    def read() -> None:
        with gateway.http.stream("POST", "/v1/messages", headers=headers, json=body) as answer:
            for chunk in answer.iter_raw():
                whole.append(chunk)
                begun.set()
        ended[0] = time.monotonic()

    reader = threading.Thread(target=read)
    reader.start()
    assert begun.wait(10)
    started = time.monotonic()
    command = ["bash", str(CHART / "files" / "drain.sh"), "1", "30"]
    environment = {**os.environ, "ADMIN_PORT": str(stack._wanted_ports["ADMIN_PORT"])}
    drain = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    time.sleep(0.5)
    late = gateway.request("GET", "/healthz")
    assert (late.status, late.headers.get("connection")) == (200, "close"), (
        "others still come, and are sent elsewhere"
    )
    said, _ = drain.communicate(timeout=40)
    drained = time.monotonic()
    reader.join(30)
    assert drain.returncode == 0, said
    assert b"message_stop" in b"".join(whole), "cut"
    assert ended[0] - started > 1.5, "it lasted through the drain"
    assert ended[0] <= drained + 0.2, "not waited for"
    assert drained - ended[0] < 5, "waited although nothing was in flight any more"
    records = [json.loads(line) for line in Path(stack.access_log).read_text().splitlines()]
    assert any(
        record.get("trilane.stream") and record["trilane.usage.status"] == "complete" for record in records
    )
