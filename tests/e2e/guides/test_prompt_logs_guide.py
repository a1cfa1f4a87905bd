"""docs/prompt-logs.md, done as it says, on a host that docs/hot-restart.md has set up: what a recording has, and what it must not have."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from e2e.guides.envoy_host import EnvoyHost, another_listener, filter_in_front_of, in_the_listener, page_blocks
from e2e.guides.host import CHAT, VENDOR_KEY, host_of
from ports import free_port
from waiting import until

PAGE = "prompt-logs.md"
BY_ADMIN, WHAT, INTO_FILES = page_blocks(PAGE, "yaml")
ROUTER = "envoy.filters.http.router"
CHECK_AND_START, RECORD, DIRECTORY, REMOVE, SHOW = page_blocks(PAGE, "sh")

host = host_of(EnvoyHost)


def key(host: EnvoyHost) -> str:
    return (host.root / host.key).read_text().strip()


def here(host: EnvoyHost, text: str) -> str:
    """With the place of the recordings."""
    return text.replace("/var/lib/trilane", str(host.root / "var" / "lib" / "trilane"))


@pytest.fixture(scope="module")
def traps() -> tuple[int, int]:
    """Ports of listeners that record as the page warns of: without `streaming`, and in front of the filter."""
    return free_port(), free_port()


def into_files(host: EnvoyHost, prefix: str = "request", streaming: bool = True) -> dict[str, Any]:
    """The filter that records every request into files of this name."""
    part = host.part(INTO_FILES)
    config = part["typed_config"]["common_config"]["static_config"]
    assert config["match"] and config["output_config"]["streaming"] is True
    config["match"] = {"any_match": True}
    config["output_config"]["streaming"] = streaming
    (sink,) = config["output_config"]["sinks"]
    sink["file_per_tap"]["path_prefix"] = here(host, sink["file_per_tap"]["path_prefix"]).replace("request", prefix)
    return part


def segments(text: str) -> list[dict[str, Any]]:
    """The parts of a recording, whole ones."""
    decoder, found, place = json.JSONDecoder(), [], 0
    while (start := text.find("{", place)) >= 0:
        try:
            part, place = decoder.raw_decode(text, start)
        except ValueError:
            break
        found.append(part["http_streamed_trace_segment"])
    return found


def recordings(host: EnvoyHost, prefix: str = "request") -> list[Path]:
    return sorted((host.root / "var" / "lib" / "trilane" / "prompts").glob(f"{prefix}_*.json"))


def test_the_host_is_set_up(host: EnvoyHost) -> None:
    host.is_set_up()


def test_a_recording_in_a_terminal(host: EnvoyHost) -> None:
    """It has the request as it left, and the response piece by piece; no secret; and the id that the ledger has."""
    host.edit(in_the_listener(filter_in_front_of(ROUTER, host.part(BY_ADMIN))))
    (host.root / "etc" / "trilane" / "tap.yaml").write_text(host.changed(WHAT.text))
    host.does(CHECK_AND_START.text)
    host.is_taken_over(1)
    until(host.is_well)
    recording = host.root / "prompts.json"
    command = host.changed(RECORD.text).replace("--max-time 60", "--max-time 8")
    process = subprocess.Popen(["bash", "-c", command], cwd=host.root, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{host.admin}/tap"
    until(lambda: recording.exists() and httpx.post(url, content=host.changed(WHAT.text), trust_env=False, timeout=5).status_code != 200)
    assert host.ask(stream=True).status_code == 200
    assert httpx.get(f"http://127.0.0.1:{host.port}/v1/models", headers={"authorization": f"Bearer {key(host)}"}, trust_env=False).is_success
    process.wait(30)
    assert host.ask().status_code == 200, "after the recording"
    text = recording.read_text()
    assert recording.stat().st_mode & 0o777 == 0o600
    assert key(host) not in text and VENDOR_KEY not in text
    parts = segments(text)
    (head,) = [part["request_headers"]["headers"] for part in parts if "request_headers" in part]
    names = {each["key"]: each["value"] for each in head}
    assert names[":path"] == "/v1/chat/completions" and "user-agent" in names
    bodies = [part["request_body_chunk"]["as_string"] for part in parts if "request_body_chunk" in part]
    assert json.loads("".join(bodies))["stream_options"] == {"include_usage": True}, "what the gateway adds"
    assert "".join(part["response_body_chunk"]["as_string"] for part in parts if "response_body_chunk" in part).endswith("data: [DONE]\n\n")

    def ids() -> list[str]:
        lines = [each for each in host.said("trilane-envoy@1").splitlines() if each.startswith("{") and each.endswith("}")]
        return [json.loads(each)["request_id"] for each in lines if '"trilane.key.id":"app"' in each]

    until(lambda: names["x-request-id"] in ids())


def test_recordings_in_files(host: EnvoyHost, traps: tuple[int, int]) -> None:
    host.does(here(host, DIRECTORY.text))
    directory = host.root / "var" / "lib" / "trilane" / "prompts"
    assert directory.stat().st_mode & 0o777 == 0o700
    host.edit(
        in_the_listener(filter_in_front_of(ROUTER, into_files(host))),
        another_listener(traps[0], filter_in_front_of(ROUTER, into_files(host, "buffered", streaming=False))),
        another_listener(traps[1], filter_in_front_of("trilane", into_files(host, "in-front"))),
    )
    host.takes_over(2)
    until(host.is_well)
    until(lambda: recordings(host))
    long = {"model": "gpt-5.1", "messages": [{"role": "user", "content": "x" * 300_000}]}
    headers = {"authorization": f"Bearer {key(host)}"}
    url = f"http://127.0.0.1:{host.port}/v1/chat/completions"
    assert httpx.post(url, json=long, headers=headers, trust_env=False, timeout=30).status_code == 200
    assert httpx.post(url, json=long, headers={"authorization": "Bearer wrong"}, trust_env=False, timeout=30).status_code == 401
    texts = until(lambda: (found := [each.read_text() for each in recordings(host)]) and any("xxxx" in each for each in found) and found)
    assert not any(secret in text for text in texts for secret in (key(host), VENDOR_KEY, "Bearer"))
    (cut,) = [segments(text) for text in texts if "xxxx" in text]
    pieces = [part["request_body_chunk"] for part in cut if "request_body_chunk" in part]
    assert any(piece.get("truncated") for piece in pieces) and all(len(piece["as_string"]) <= 65536 for piece in pieces)
    assert "Hello" in host.does(here(host, SHOW.text))
    host.does(here(host, REMOVE.text))
    assert recordings(host), "a day has not passed"
    host.does(here(host, REMOVE.text.replace("-mmin +1440", "-mmin -1440")))
    assert not recordings(host)


def test_without_the_directory_nothing_is_recorded(host: EnvoyHost) -> None:
    directory = host.root / "var" / "lib" / "trilane" / "prompts"
    shutil.rmtree(directory)
    assert host.ask().status_code == 200 and not recordings(host)


def test_why_it_streams_and_where_it_stands(host: EnvoyHost, traps: tuple[int, int]) -> None:
    """The traps that the page names: without `streaming` the vendor's credential, in front of the filter clients' keys."""
    host.does(here(host, DIRECTORY.text))

    def some_with(secret: str, port: int, prefix: str) -> bool:
        """Whether one has it. The first attempt at an account that has not answered yet goes another way."""
        headers = {"authorization": f"Bearer {key(host)}"}
        assert httpx.post(f"http://127.0.0.1:{port}/v1/chat/completions", json=CHAT, headers=headers, trust_env=False, timeout=30).is_success
        time.sleep(0.1)
        return any(secret in each.read_text() for each in recordings(host, prefix))

    until(lambda: some_with(VENDOR_KEY, traps[0], "buffered"))
    until(lambda: some_with(key(host), traps[1], "in-front"))
