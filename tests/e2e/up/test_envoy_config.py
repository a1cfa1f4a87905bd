"""`trilane envoy-config`: Envoy takes what it prints, in every mode."""

from __future__ import annotations

import subprocess
from pathlib import Path

import fetch
import pytest
from stack import COMMAND, PROGRAMS, SAMPLE_DOCUMENT, WASM


@pytest.mark.parametrize("more", [[], ["--limits-service", "127.0.0.1:8081"], ["--demo"]], ids=["plain", "limits", "demo"])
@pytest.mark.parametrize("mode", ["laptop", "sidecar", "compose", "helm"])
def test_envoy_takes_it(tmp_path: Path, mode: str, more: list[str]) -> None:
    clusters = tmp_path / "upstreams" / "clusters"
    clusters.mkdir(parents=True)
    (clusters / "clusters.json").write_text('{"resources": []}')
    document = tmp_path / "document" / "gateway.json"
    document.parent.mkdir()
    document.write_bytes(SAMPLE_DOCUMENT.read_bytes())
    certs = tmp_path / "certs"
    subprocess.run([PROGRAMS / "trilane-upstream", "certificate", "--out", certs], check=True, capture_output=True)
    config = tmp_path / "envoy.yaml"
    subprocess.run(
        [COMMAND, "envoy-config", "--mode", mode, "--data", tmp_path, "--filter", WASM, "--document", document,
         "--upstreams", clusters.parent, "--certs", certs, "--ledger", tmp_path / "ledger.jsonl", *more, "--out", config],
        check=True,
    )  # fmt: skip
    checked = subprocess.run(
        [fetch.envoy_binary(), "--mode", "validate", "--config-path", config, "--log-level", "warning"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert checked.returncode == 0 and "OK" in checked.stdout, checked.stdout + checked.stderr
