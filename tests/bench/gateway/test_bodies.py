"""The requests of the benchmark: they are JSON of the sizes and the kinds that their cases promise."""

from __future__ import annotations

import json

import pytest
from agents import TOOLS, agent, image, languages
from bodies import MODEL, chat


@pytest.mark.parametrize("size", [1024, 100 * 1024])
@pytest.mark.parametrize("model_first", [True, False])
def test_a_chat_has_just_so_many_bytes(size: int, model_first: bool) -> None:
    body = chat(size, model_first=model_first)
    assert len(body) == size
    assert (list(json.loads(body))[0] == "model") == model_first


def test_an_agent_brings_tools_and_a_history() -> None:
    body = agent(64 * 1024)
    told = json.loads(body)
    assert told["model"] == MODEL and len(told["tools"]) == TOOLS
    calls = [call["id"] for message in told["messages"] for call in message.get("tool_calls", [])]
    results = [message for message in told["messages"] if message["role"] == "tool"]
    assert calls and calls == [message["tool_call_id"] for message in results]
    assert all(json.loads(message["content"])["metadata"]["exit_code"] == 0 for message in results), "JSON within JSON"
    assert 64 * 1024 <= len(body) < 72 * 1024
    assert body.count(b'\\"') > 100 and body.count(b"\\n") > 1000


def test_languages_are_the_same_in_escapes() -> None:
    plain, escaped = languages(32 * 1024), languages(32 * 1024, escaped=True)
    texts = [{message["content"] for message in json.loads(body)["messages"]} for body in (plain, escaped)]
    assert texts[0] == texts[1]
    assert sum(byte > 127 for byte in plain) > len(plain) / 2 and b"\\u" not in plain
    assert escaped.isascii() and escaped.count(b"\\u") > 4000
    for body in (plain, escaped):
        assert 24 * 1024 < len(body) <= 33 * 1024


def test_an_image_is_one_long_string() -> None:
    body = image()
    assert 1024 * 1024 <= len(body) < 1024 * 1024 + 1024
    assert max(map(len, body.split(b'"'))) > 1024 * 1024
