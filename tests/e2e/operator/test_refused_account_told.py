"""The terminal of `trilane up` says at once which account its vendor refused, and what to do."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import fetch
import httpx
from e2e.refusing_vendor import RefusingVendor
from e2e.support import run_dir, x_api_key
from stack import COMMAND, SAMPLE_DOCUMENT, WASM, Child

#: Seconds; a machine that is short of time takes many.
PATIENCE = 90
MESSAGE = {"model": "claude-haiku-4-5", "max_tokens": 16, "messages": [{"role": "user", "content": "Hello"}]}


def test_the_terminal_names_source_and_account(tmp_path: Path) -> None:
    with RefusingVendor() as vendor:
        _told(vendor.address, tmp_path)


def _told(vendor: str, tmp_path: Path) -> None:
    log = run_dir("refused-account-told") / "terminal.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    document = tmp_path / "gateway.json"
    document.write_bytes(SAMPLE_DOCUMENT.read_bytes())
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    for file in (SAMPLE_DOCUMENT.parent / "credentials").iterdir():
        (credentials / file.name).write_bytes(file.read_bytes())
    command = [
        str(COMMAND), "up", "--demo", "--data", str(tmp_path / "data"), "--document", str(document), "--upstream", vendor,
        "--port", "0", "--tls-port", "0", "--admin-port", "0", "--filter", str(WASM), "--envoy", str(fetch.envoy_binary()),
    ]  # fmt: skip
    run = Child(command, log)

    def said() -> str:
        return log.read_text(errors="replace")

    def until(words: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while words not in said():
            assert run.process.poll() is None and time.monotonic() < deadline, f"{words!r}: {said()}"
            time.sleep(0.05)

    try:
        until("Ctrl-C ends everything.")
        url = said().split("gateway    ", 1)[1].split()[0]
        for key in ("key_b", "key_b_low"):
            for _ in range(5):
                answer = httpx.post(
                    f"{url}/v1/messages", headers=x_api_key(key), json=MESSAGE, timeout=30, trust_env=False
                )
                assert answer.status_code == 502 and answer.headers["x-should-retry"] == "false", answer.text
        for account in ("b-official-1", "b-official-2"):
            sentence = (
                f"account refused: source b-official: account {account} was refused by its vendor (401). "
                "Its credential is wrong, expired or revoked: put a good one in its place. "
                f"It is in {credentials / account}: rename a new file into its place."
            )
            until(sentence)
        until(
            "account refused: source b-low-rate: the account of cluster b_low_rate was refused by its vendor (401). "
            "Its credential is wrong, expired or revoked: put a good one in its place.\n"
        )
        time.sleep(1)
        lines = [line for line in said().splitlines() if line.startswith("account refused: ")]
        assert len(lines) == 3, "one line an account, however many requests and workers"
    finally:
        run.process.send_signal(signal.SIGINT)
        run.process.wait(30)
        run.stop()
    assert run.process.returncode == 0, said()
