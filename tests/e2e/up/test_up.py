"""`trilane up`: ready from nothing, what it does while it runs, and how it ends."""

from __future__ import annotations

import json
import signal
import ssl
import subprocess
import threading
import time
from pathlib import Path

import fetch
import httpx
from e2e.up.running import PATIENCE, Up, environment, processes
from stack import COMMAND
from waiting import until

HEADERS = {"x-api-key": "trilane-demo-b", "anthropic-version": "2023-06-01"}
MESSAGE = {"model": "claude-opus-4-5", "max_tokens": 256, "messages": [{"role": "user", "content": "Hello"}]}


def ask(url: str, **headers: str) -> httpx.Response:
    return httpx.post(f"{url}/v1/messages", headers={**HEADERS, **headers}, json=MESSAGE, timeout=30, trust_env=False)


def until_asked(url: str) -> None:
    """Until a request is answered."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            if ask(url).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        assert time.monotonic() < deadline
        time.sleep(0.05)


def lines(ledger: Path) -> list[dict[str, object]]:
    """The lines of requests with a key; each one that is written is whole."""
    return [line for line in map(json.loads, ledger.read_text().splitlines()) if "trilane.key.id" in line]


class Stream:
    """A streamed answer that is read in a thread."""

    def __init__(self, url: str, events: int, gap: float) -> None:
        self.text = ""
        self.error: Exception | None = None
        self.begun = threading.Event()
        self._url, self._events, self._gap = url, events, gap
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        assert self.begun.wait(20)

    def _read(self) -> None:
        pace = {"x-sim-events": str(self._events), "x-sim-gap-ms": str(round(self._gap * 1000))}
        body = {**MESSAGE, "stream": True}
        try:
            with httpx.stream("POST", f"{self._url}/v1/messages", headers={**HEADERS, **pace}, json=body, timeout=60, trust_env=False) as answer:
                for piece in answer.iter_text():
                    self.text += piece
                    self.begun.set()
        except httpx.HTTPError as error:
            self.error = error
        self.begun.set()

    def join(self) -> None:
        self._thread.join(60)
        assert not self._thread.is_alive()


def test_from_an_empty_directory_to_an_answer_and_back(tmp_path: Path) -> None:
    with Up(tmp_path / "data", "--demo", env=environment(TRILANE_VERBOSE="0")) as up:
        assert len(up.curls) == 3
        said = [line.split()[0] for line in up.said.splitlines() if line.strip()]
        assert said == ["starting", "trilane", "gateway", "document", "try", "curl", "curl", "curl", "Ctrl-C"], up.said
        for curl in up.curls:
            answer = subprocess.run(["bash", "-c", f"{curl} --fail --silent --show-error"], capture_output=True, text=True, check=False)
            assert answer.returncode == 0 and "pong" in answer.stdout, (curl, answer)
        until(lambda: len(lines(up.ledger)) == 3, 10)
        identity = str(lines(up.ledger)[0]["request_id"])
        # Nothing names the data directory: it is that of a gateway that runs here.
        explained = subprocess.run([COMMAND, "explain", identity], env={"HOME": str(tmp_path)}, capture_output=True, text=True, check=False)
        assert explained.returncode == 0 and "POST /v1/chat/completions" in explained.stdout, explained
        secure = httpx.get(f"{up.tls_url}/healthz", verify=ssl.create_default_context(cafile=up.data / "certs" / "ca.crt"), trust_env=False)
        assert secure.status_code == 200
        (envoy,) = up.envoys
        up.send(signal.SIGINT)
        assert up.ended() == 0
        assert up.envoys == [], envoy
        assert len(lines(up.ledger)) == 3, "none is lost at the end"
        for directory, mode in (("", 0o700), ("credentials", 0o700), ("ledger", 0o700)):
            assert (up.data / directory).stat().st_mode & 0o777 == mode
        assert {file.stat().st_mode & 0o777 for file in (up.data / "credentials").iterdir()} == {0o400}


def test_sigterm_lets_a_stream_end(tmp_path: Path) -> None:
    with Up(tmp_path / "data", "--demo") as up:
        stream = Stream(up.url, events=10, gap=0.3)
        up.send(signal.SIGTERM)
        stream.join()
        assert stream.error is None and "message_stop" in stream.text
        assert up.ended() == 0 and up.envoys == []
        assert "draining: requests in flight have 60 s to end" in up.said
        (line,) = lines(up.ledger)
        assert line["trilane.outcome"] == "finished"


def test_a_drain_has_an_end(tmp_path: Path) -> None:
    with Up(tmp_path / "data", "--demo", "--drain", "1s") as up:
        stream = Stream(up.url, events=200, gap=0.3)
        begun = time.monotonic()
        up.send(signal.SIGTERM)
        assert up.ended() == 0 and up.envoys == []
        assert time.monotonic() - begun < 15
        assert "draining: 1 requests are cut off" in up.said
        stream.join()
        assert "message_stop" not in stream.text


def test_ctrl_c_during_a_drain_ends_it(tmp_path: Path) -> None:
    with Up(tmp_path / "data", "--demo") as up:
        stream = Stream(up.url, events=200, gap=0.3)
        up.send(signal.SIGTERM)
        up.until("draining")
        begun = time.monotonic()
        up.send(signal.SIGINT)
        assert up.ended() == 0 and up.envoys == []
        assert time.monotonic() - begun < 15
        stream.join()


def test_an_envoy_that_is_killed_comes_back(tmp_path: Path) -> None:
    with Up(tmp_path / "data", "--demo") as up:
        assert ask(up.url).status_code == 200
        for round_number in (1, 2):
            (envoy,) = up.envoys
            subprocess.run(["kill", "-KILL", str(envoy)], check=True)
            up.until("ready again", round_number)
            assert up.envoys != [envoy]
            assert ask(up.url).status_code == 200, "at the same port"
        assert "Envoy ended (signal: 9 (SIGKILL)); it is started again in 100 ms" in up.said
        assert "it is started again in 200 ms" in up.said
        up.send(signal.SIGINT)
        assert up.ended() == 0


def test_a_supervisor_that_is_killed_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with Up(data, "--demo") as first:
        assert ask(first.url).status_code == 200
        ports = [text.rpartition(":")[2] for text in (first.url, first.tls_url, first.admin)]
        first.send(signal.SIGKILL)
        assert first.ended() == -signal.SIGKILL
    options = ["--demo", *(word for pair in zip(("--port", "--tls-port", "--admin-port"), ports) for word in pair)]
    with Up(data, *options, ports=False) as second:
        assert ask(second.url).status_code == 200
        assert len(second.envoys) == 1
        second.send(signal.SIGINT)
        assert second.ended() == 0
        assert len(lines(second.ledger)) >= 1


def test_an_envoy_that_was_left_over_is_ended(tmp_path: Path) -> None:
    """Where the system does not end it with its supervisor."""
    data = tmp_path / "data"
    with Up(data, "--demo") as up:
        up.send(signal.SIGINT)
        assert up.ended() == 0
    left = subprocess.Popen(
        [fetch.envoy_binary(), "--config-path", data / "run" / "envoy.yaml", "--disable-hot-restart", "--concurrency", "1"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    reaper = threading.Thread(target=left.wait, daemon=True)
    reaper.start()
    with Up(data, "--demo") as up:
        assert f"ended an Envoy that was left over (process {left.pid})" in up.said
        assert ask(up.url).status_code == 200
    reaper.join(10)
    assert left.returncode is not None and processes(data) == []


def test_a_document_takes_effect_when_it_is_saved(tmp_path: Path) -> None:
    with Up(tmp_path / "data", "--demo") as up:
        file = up.data / "gateway.json"
        document = json.loads(file.read_text())
        assert ask(up.url).status_code == 200
        file.write_text("{")
        up.until("document: error: the document")
        assert "document: error: nothing was written, what was there before stays in force" in up.said
        assert ask(up.url).status_code == 200
        document["keys"] = []
        file.write_text(json.dumps(document))
        deadline = time.monotonic() + PATIENCE
        while ask(up.url).status_code != 401:
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_the_ledger_is_rotated_and_nothing_is_lost(tmp_path: Path) -> None:
    with Up(tmp_path / "data", "--demo", "--ledger-max-size", "4k") as up:
        deadline = time.monotonic() + PATIENCE
        asked = 0
        while up.said.count("is complete") < 3:
            assert time.monotonic() < deadline, up.said
            for _ in range(5):
                assert ask(up.url).status_code == 200
                asked += 1
            time.sleep(0.3)
        up.send(signal.SIGINT)
        assert up.ended() == 0
        files = sorted(up.ledger.parent.glob("ledger*.jsonl"))
        assert len(files) >= 4
        assert sum(len(lines(file)) for file in files) == asked
    with Up(tmp_path / "data", "--demo", "--ledger-max-size", "1k", "--ledger-keep", "2") as up:
        for _ in range(5):
            assert ask(up.url).status_code == 200
        up.until("ledger: removed ")
        assert len(list(up.ledger.parent.glob("ledger-*.jsonl"))) == 2


def test_a_line_that_a_kill_cut_off_costs_no_other(tmp_path: Path) -> None:
    data = tmp_path / "data"
    torn = '{"timestamp":"2026-11-24T00:00:00.000Z", "request_id":"cut'
    for number in range(2):
        with Up(data, "--demo") as up:
            assert ask(up.url).status_code == 200
            up.send(signal.SIGINT)
            assert up.ended() == 0
            assert ("ledger: the last line was cut off when Envoy was killed" in up.said) == bool(number)
        with up.ledger.open("a") as ledger:
            ledger.write(torn)
    text = up.ledger.read_text().splitlines()
    assert text.count(torn) == 2, "it stands on a line of its own"
    requests = [json.loads(line) for line in text if line != torn]
    assert len([line for line in requests if "trilane.key.id" in line]) == 2, "all others are whole"


def test_settings_come_from_file_environment_and_command_line(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "trilane.toml").write_text(
        "demo = true\nport = 1\ntls-port = 0\nadmin-port = 0\nledger = 'mine.jsonl'\nconcurrency = 1\ndrain = '3s'\n"
    )
    env = environment(TRILANE_PORT="0", TRILANE_LEDGER_KEEP="3", TRILANE_DRAIN="2s")
    with Up(data, "--drain", "1s", env=env, ports=False) as up:
        assert ask(up.url).status_code == 200, "not port 1"
        (envoy,) = up.envoys
        arguments = Path(f"/proc/{envoy}/cmdline").read_text().split("\0")
        assert arguments[arguments.index("--concurrency") + 1] == "1"
        up.send(signal.SIGTERM)
        assert up.ended() == 0
        assert "draining: requests in flight have 1 s to end" in up.said
        assert len(lines(data / "mine.jsonl")) == 1


def test_a_document_with_a_fault_keeps_nothing_from_starting(tmp_path: Path) -> None:
    """Of one's own; the last good one is still there."""
    data = tmp_path / "data"
    with Up(data, "--demo") as up:
        document = (data / "gateway.json").read_text()
        # Without simulators there is nobody behind the accounts, but the gateway itself responds.
        up.send(signal.SIGINT)
        assert up.ended() == 0
    (data / "gateway.json").write_text(json.dumps({**json.loads(document), "groups": [g for g in json.loads(document)["groups"] if g.get("accounts")], "keys": []}))
    with Up(data) as up:
        up.send(signal.SIGINT)
        assert up.ended() == 0
    good = (data / "gateway.json").read_text()
    (data / "gateway.json").write_text(good[:-1])
    with Up(data) as up:
        assert "the last good one stays in force" in up.said
        assert httpx.get(f"{up.url}/healthz", trust_env=False).status_code == 200
        (data / "gateway.json").write_text(good)
        up.until("document: accounts: ")


def test_while_it_starts_a_signal_ends_it(tmp_path: Path) -> None:
    for pause in (0.0, 0.05, 0.2, 0.5):
        up = Up(tmp_path / "data", "--demo").begin()
        time.sleep(pause)
        up.send(signal.SIGINT)
        assert up.ended() in (0, -signal.SIGINT), up.said
        assert processes(tmp_path / "data") == []
        up.stop()
