"""The desk itself: what it would see if a check were not there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from e2e.abuse.abuse_desk import CHAT, Desk, charged, cost, forwarded, in_chunks, leave_when_sent, refused
from e2e.abuse.abuse_document import MODELS
from e2e.abuse.recorder import whole

ROOT = Path(__file__).resolve().parents[3]

BODY = {"model": MODELS["A"], "messages": [{"role": "user", "content": "hi"}]}
ANSWER = whole({"id": "x", "object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant",
    "content": "hi"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1000, "completion_tokens": 500,
    "total_tokens": 1500}})  # fmt: skip


def test_a_good_request(desk: Desk) -> None:
    sent = desk.send("a", CHAT, BODY, name="good", answer=[ANSWER])
    forwarded()(sent)
    charged("complete", exactly=cost("A", input=1000, output=500))(sent)


def test_a_refused_request_does_not_pass_for_a_good_one(desk: Desk) -> None:
    sent = desk.send("a", CHAT, {**BODY, "model": "gpt-6"}, name="refused")
    refused(404, "model_not_found")(sent)
    with pytest.raises(AssertionError):
        forwarded()(sent)


def test_a_good_request_does_not_pass_for_a_refused_one(desk: Desk) -> None:
    sent = desk.send("a", CHAT, BODY, name="good", answer=[ANSWER])
    with pytest.raises(AssertionError):
        refused(200)(sent)


def test_what_arrives_in_part_is_not_complete(small_desk: Desk) -> None:
    body = b'{"model":"%s","messages":["%s"]}]' % (MODELS["A"].encode(), b"x" * 3000)
    sent = small_desk.send("a", CHAT, body, name="a bad end", act=in_chunks(1500, 1500))
    refused(400)(sent)


def test_a_client_that_leaves(desk: Desk) -> None:
    sent = desk.send("a", CHAT, BODY, name="leaves", act=leave_when_sent)
    assert sent.only().complete
    assert sent.record()["trilane.outcome"] == "client_abort"


def test_the_mutations_can_be_made() -> None:
    """`make mutations` takes these very texts out of the source."""
    command = [sys.executable, str(ROOT / "tests" / "mutations" / "run.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
